//! Slugs of the command line itself.

crate::slug::slugs! { "cli":
    NO_ROOT = "no-root";
    NO_SUCH_RECIPE = "no-such-recipe";
    UNKNOWN_SLUG = "unknown-slug";
    UNREADABLE_FILE = "unreadable-file";
    UNWRITABLE_FILE = "unwritable-file";
}
