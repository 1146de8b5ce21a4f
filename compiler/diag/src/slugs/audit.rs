//! Slugs of the stage `audit`.

crate::slug::slugs! { "audit":
    CHECKPOINT_ARRIVING = "checkpoint-arriving";
    CHECKPOINT_DIFFERENT = "checkpoint-different";
    CHECKPOINT_INCOMPLETE = "checkpoint-incomplete";
    CHECKPOINT_UNREADABLE = "checkpoint-unreadable";
    NO_CHECKPOINT = "no-checkpoint";
}
