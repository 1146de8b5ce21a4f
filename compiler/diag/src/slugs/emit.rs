//! Slugs of the stage `emit`.

crate::slug::slugs! { "emit":
    SCRIPT_CHECKPOINT = "script-checkpoint";
    SCRIPT_PLATFORM = "script-platform";
    SCRIPT_TEXT = "script-text";
    SCRIPT_TOPOLOGY = "script-topology";
}
