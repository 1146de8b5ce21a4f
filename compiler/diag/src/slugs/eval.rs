//! Slugs of the stage `eval`.

crate::slug::slugs! { "eval":
}
