//! Renderers: one list of findings, many readers.
//!
//! Every renderer takes any span. One that fits no text is reported without its characters; none
//! of them fails. Text that came from a manifest or from the network may hold control characters;
//! [`harmless`] makes them visible before a terminal sees them.

mod brief;
mod github;
mod human;
mod json;
mod markdown;
mod sarif;

use std::borrow::Cow;

pub use brief::brief;
pub use github::github;
pub use human::{Look, human};
pub use json::{json, json_one, json_span};
pub use markdown::markdown;
pub use sarif::{Tool, sarif};

use crate::Severity;

impl Severity {
    /// Returns the word that people and machines read: `error`, `warning` or `note`.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Note => "note",
        }
    }
}

/// Returns `text` with control and text-direction characters written as escapes. Line feeds and
/// tabs stay.
#[must_use]
pub fn harmless(text: &str) -> Cow<'_, str> {
    let harms = |c: char| {
        (c.is_control() && c != '\n' && c != '\t')
            || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}')
    };
    if !text.contains(harms) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if harms(c) { out.extend(c.escape_unicode()) } else { out.push(c) }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests;
