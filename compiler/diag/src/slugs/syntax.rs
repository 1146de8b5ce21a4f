//! Slugs of the stage `syntax`.

crate::slug::slugs! { "syntax":
    CHAINED_COMPARISON = "chained-comparison";
    DUPLICATE_ARGUMENT = "duplicate-argument";
    DUPLICATE_ATTRIBUTE = "duplicate-attribute";
    DYNAMIC_NAME = "dynamic-name";
    ELLIPSIS_NOT_LAST = "ellipsis-not-last";
    EMPTY_FILE = "empty-file";
    HOME_PATH = "home-path";
    KEYWORD_AS_NAME = "keyword-as-name";
    LEGACY_LET = "legacy-let";
    LIST_SEPARATOR = "list-separator";
    LONE_CARRIAGE_RETURN = "lone-carriage-return";
    MISSING_ELSE = "missing-else";
    MISSING_IN = "missing-in";
    MISSING_SEMICOLON = "missing-semicolon";
    NEEDS_PARENTHESES = "needs-parentheses";
    NESTING_TOO_DEEP = "nesting-too-deep";
    NUMBER_OUT_OF_RANGE = "number-out-of-range";
    OR_AS_NAME = "or-as-name";
    PATH_SLASH = "path-slash";
    PIPE_OPERATOR = "pipe-operator";
    SEARCH_PATH = "search-path";
    TEXT_TOO_LONG = "text-too-long";
    UNCLOSED_BRACKET = "unclosed-bracket";
    UNEXPECTED_TOKEN = "unexpected-token";
    UNKNOWN_CHARACTER = "unknown-character";
    UNMATCHED_BRACKET = "unmatched-bracket";
    UNTERMINATED_COMMENT = "unterminated-comment";
    UNTERMINATED_STRING = "unterminated-string";
    URL_LITERAL = "url-literal";
}
