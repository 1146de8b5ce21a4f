//! Slugs of the command line itself.

crate::slug::slugs! { "cli":
    CURVE_NOT_READ = "curve-not-read";
    NO_ROOT = "no-root";
    NO_SUCH_ENGINE = "no-such-engine";
    NO_SUCH_FLAG = "no-such-flag";
    NO_SUCH_RECIPE = "no-such-recipe";
    NO_SUCH_REVISION = "no-such-revision";
    NO_SUCH_TARGET = "no-such-target";
    OPTION_NOT_READ = "option-not-read";
    UNFORMATTED = "unformatted";
    UNKNOWN_SLUG = "unknown-slug";
}
