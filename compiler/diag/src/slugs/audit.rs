//! Slugs of the stage `audit`.

crate::slug::slugs! { "audit":
    CHECKPOINT_ARRIVING = "checkpoint-arriving";
    CHECKPOINT_DIFFERENT = "checkpoint-different";
    CHECKPOINT_INCOMPLETE = "checkpoint-incomplete";
    CHECKPOINT_UNREADABLE = "checkpoint-unreadable";
    INDEX_WRONG = "index-wrong";
    NO_CHECKPOINT = "no-checkpoint";
    NOT_REMEMBERED = "not-remembered";
}
