//! Slugs of the stage `recipe`.

crate::slug::slugs! { "recipe":
    DASHED_OPTION = "dashed-option";
    DCP_DOES_NOT_DIVIDE_TP = "dcp-does-not-divide-tp";
    DUPLICATE_CONCURRENCY = "duplicate-concurrency";
    DUPLICATE_KEY = "duplicate-key";
    ENTRY_CANNOT_SAY = "entry-cannot-say";
    ENTRY_NOT_READ = "entry-not-read";
    FIELD_WITHOUT_EFFECT = "field-without-effect";
    FLAG_GIVEN_TWICE = "flag-given-twice";
    MISSING_FIELD = "missing-field";
    MORE_GPUS_THAN_NODE = "more-gpus-than-node";
    MOUNT_NOT_WRITABLE = "mount-not-writable";
    NO_PLACE_FOR_CHECKPOINT = "no-place-for-checkpoint";
    NO_ROUTE = "no-route";
    NOT_A_VARIABLE = "not-a-variable";
    NOT_A_WORD = "not-a-word";
    NOTHING_TO_MEASURE = "nothing-to-measure";
    OFFLOAD_BEYOND_SHARE = "offload-beyond-share";
    OUT_OF_RANGE = "out-of-range";
    REPEATED_WIDTH = "repeated-width";
    ROLES_DISAGREE = "roles-disagree";
    ROLE_WIDER_THAN_WORKER = "role-wider-than-worker";
    ROUTER_NOT_AS_NAMED = "router-not-as-named";
    SIZE_OF_ANOTHER_KIND = "size-of-another-kind";
    SIZE_WITHOUT_UNIT = "size-without-unit";
    SOURCE_NOT_NAMED = "source-not-named";
    TOO_FEW_NODES = "too-few-nodes";
    UNKNOWN_CHOICE = "unknown-choice";
    UNKNOWN_FIELD = "unknown-field";
    UNKNOWN_TARGET = "unknown-target";
    UNREACHED_BRANCH = "unreached-branch";
    UNSORTED_CONCURRENCIES = "unsorted-concurrencies";
    UNUSED_WAIVER = "unused-waiver";
    VARIANT_NOT_FOUND = "variant-not-found";
    WRONG_TYPE = "wrong-type";
}
