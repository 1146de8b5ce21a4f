//! Slugs of the stage `upstream`.

crate::slug::slugs! { "upstream":
}
