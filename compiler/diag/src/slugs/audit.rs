//! Slugs of the stage `audit`.

crate::slug::slugs! { "audit":
    ATTESTATION_FALSE = "attestation-false";
    ATTESTED_FAILURE = "attested-failure";
    CHECKPOINT_ARRIVING = "checkpoint-arriving";
    CHECKPOINT_DIFFERENT = "checkpoint-different";
    CHECKPOINT_INCOMPLETE = "checkpoint-incomplete";
    CHECKPOINT_UNREADABLE = "checkpoint-unreadable";
    IMAGE_DIFFERENT = "image-different";
    IMAGE_UNPROVEN = "image-unproven";
    INDEX_WRONG = "index-wrong";
    NODES_UNREPORTED = "nodes-unreported";
    NOT_REMEMBERED = "not-remembered";
    NO_CHECKPOINT = "no-checkpoint";
    NO_IMAGE = "no-image";
    NO_RESULTS = "no-results";
    RUN_ACCEPTANCE = "run-acceptance";
    RUN_CHECKPOINT = "run-checkpoint";
    RUN_COMMAND = "run-command";
    RUN_COVERAGE = "run-coverage";
    RUN_ENDED = "run-ended";
    RUN_ENVIRONMENT = "run-environment";
    RUN_HARNESS = "run-harness";
    RUN_IMAGE = "run-image";
    RUN_PLAN = "run-plan";
    RUN_REQUESTS = "run-requests";
    RUN_RESULT = "run-result";
    RUN_SCORE = "run-score";
    RUN_WORKLOAD = "run-workload";
}
