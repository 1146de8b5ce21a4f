//! Slugs of the stage `lock`.

crate::slug::slugs! { "lock":
}
