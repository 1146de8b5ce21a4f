//! Slugs of the stage `verify`.

crate::slug::slugs! { "verify":
    ARCHITECTURE_OVERRIDE = "architecture-override";
    CHAT_TEMPLATE = "chat-template";
    COOKBOOK_MATCH = "cookbook-match";
    DEPRECATED = "deprecated";
    ENGINE_FIRST = "engine-first";
    ENGINE_PATCH = "engine-patch";
    GOLDEN_ACCEPTANCE = "golden-acceptance";
    IMAGE_ORGANIZATION = "image-organization";
    OFFLOAD_SHARE = "offload-share";
    PIN_VALID = "pin-valid";
    POLICY_UNREADABLE = "policy-unreadable";
}
