//! Slugs of the stage `lock`.

crate::slug::slugs! { "lock":
    LOCK_CONFLICT = "lock-conflict";
    LOCK_EDITED = "lock-edited";
    LOCK_MISSING = "lock-missing";
    LOCK_STALE = "lock-stale";
    LOCK_UNPINNED = "lock-unpinned";
    LOCK_UNREADABLE = "lock-unreadable";
    LOCK_VERSION = "lock-version";
    MERGE_CHOICE = "merge-choice";
    STATED_CONTRADICTED = "stated-contradicted";
}
