//! Slugs of the stage `verify`.

crate::slug::slugs! { "verify":
    APPEND_ONLY = "append-only";
    ARCHITECTURE_OVERRIDE = "architecture-override";
    CHANGELOG_HISTORY = "changelog-history";
    CHANGELOG_LINK = "changelog-link";
    CHANGELOG_SPACING = "changelog-spacing";
    CHAT_TEMPLATE = "chat-template";
    CODE_OWNER = "code-owner";
    COOKBOOK_MATCH = "cookbook-match";
    DEPRECATED = "deprecated";
    ENGINE_FIRST = "engine-first";
    ENGINE_PATCH = "engine-patch";
    EVAL_PASSED = "eval-passed";
    EVIDENCE_CURRENT = "evidence-current";
    GOLDEN_ACCEPTANCE = "golden-acceptance";
    IMAGE_ORGANIZATION = "image-organization";
    OFFLOAD_SHARE = "offload-share";
    PIN_VALID = "pin-valid";
    POLICY_UNREADABLE = "policy-unreadable";
    REUSE_AUTHORIZED = "reuse-authorized";
    SIGNOFF_CURRENT = "signoff-current";
    SWEEP_COMPLETE = "sweep-complete";
}
