//! Slugs of the command line itself.

crate::slug::slugs! { "cli":
    UNKNOWN_SLUG = "unknown-slug";
    NO_SUCH_RECIPE = "no-such-recipe";
    NO_ROOT = "no-root";
}
