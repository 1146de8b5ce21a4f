//! Slugs of the stage `syntax`.

crate::slug::slugs! { "syntax":
}
