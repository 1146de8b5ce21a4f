//! Slugs of the stage `verify`.

crate::slug::slugs! { "verify":
}
