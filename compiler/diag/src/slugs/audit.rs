//! Slugs of the stage `audit`.

crate::slug::slugs! { "audit":
    CHECKPOINT_ARRIVING = "checkpoint-arriving";
    CHECKPOINT_DIFFERENT = "checkpoint-different";
    CHECKPOINT_INCOMPLETE = "checkpoint-incomplete";
    CHECKPOINT_UNREADABLE = "checkpoint-unreadable";
    IMAGE_DIFFERENT = "image-different";
    IMAGE_UNPROVEN = "image-unproven";
    INDEX_WRONG = "index-wrong";
    NO_IMAGE = "no-image";
    NO_CHECKPOINT = "no-checkpoint";
    NOT_REMEMBERED = "not-remembered";
}
