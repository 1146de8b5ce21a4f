//! Slugs of the stage `emit`.

crate::slug::slugs! { "emit":
    SCRIPT_TEXT = "script-text";
    SCRIPT_TOPOLOGY = "script-topology";
}
