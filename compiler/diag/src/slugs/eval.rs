//! Slugs of the stage `eval`.

crate::slug::slugs! { "eval":
    ABORTED = "aborted";
    ASSERTION_FAILED = "assertion-failed";
    BAD_ARGUMENT = "bad-argument";
    DIVISION_BY_ZERO = "division-by-zero";
    FILE_NOT_FOUND = "file-not-found";
    FILE_UNREADABLE = "file-unreadable";
    IMPORT_CYCLE = "import-cycle";
    INFINITE_RECURSION = "infinite-recursion";
    INTEGER_OVERFLOW = "integer-overflow";
    INVALID_JSON = "invalid-json";
    INVALID_REGEX = "invalid-regex";
    INVALID_TOML = "invalid-toml";
    LEFT_OUT_BUILTIN = "left-out-builtin";
    MISSING_ARGUMENT = "missing-argument";
    MISSING_ATTRIBUTE = "missing-attribute";
    NOT_A_FUNCTION = "not-a-function";
    NOT_DATA = "not-data";
    NOT_UNICODE = "not-unicode";
    PATH_IN_STRING = "path-in-string";
    PATH_OUTSIDE_ROOT = "path-outside-root";
    REPEATED_NAME = "repeated-name";
    THROWN = "thrown";
    TOO_DEEP = "too-deep";
    TOO_MANY_IMPORTS = "too-many-imports";
    TOO_MANY_STEPS = "too-many-steps";
    TOO_MUCH_MEMORY = "too-much-memory";
    TOO_MUCH_OUTPUT = "too-much-output";
    UNDEFINED_VARIABLE = "undefined-variable";
    UNEXPECTED_ARGUMENT = "unexpected-argument";
    WRONG_TYPE = "type-mismatch";
}
