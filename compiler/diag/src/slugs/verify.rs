//! Slugs of the stage `verify`.

crate::slug::slugs! { "verify":
    CHAT_TEMPLATE = "chat-template";
    COOKBOOK_MATCH = "cookbook-match";
    DEPRECATED = "deprecated";
    GOLDEN_ACCEPTANCE = "golden-acceptance";
    IMAGE_ORGANIZATION = "image-organization";
    PIN_VALID = "pin-valid";
    POLICY_UNREADABLE = "policy-unreadable";
}
