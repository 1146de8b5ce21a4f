//! Slugs of the command line itself.

crate::slug::slugs! { "cli":
    NO_ROOT = "no-root";
    NO_SUCH_RECIPE = "no-such-recipe";
    NO_SUCH_REVISION = "no-such-revision";
    NO_SUCH_TARGET = "no-such-target";
    OPTION_NOT_READ = "option-not-read";
    UNKNOWN_SLUG = "unknown-slug";
}
