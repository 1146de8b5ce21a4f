//! Slugs of the stage `recipe`.

crate::slug::slugs! { "recipe":
}
