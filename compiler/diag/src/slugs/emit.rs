//! Slugs of the stage `emit`.

crate::slug::slugs! { "emit":
}
