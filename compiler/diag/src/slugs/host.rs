//! Slugs of the stage `host`.

crate::slug::slugs! { "host":
}
