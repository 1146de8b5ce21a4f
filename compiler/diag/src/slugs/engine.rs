//! Slugs of the stage `engine`.

crate::slug::slugs! { "engine":
}
