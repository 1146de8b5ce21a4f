//! What a check says, before anybody knows at which characters.

use diag::{Severity, Slug};

/// One finding about a launch. The caller maps [`About`] to characters.
#[derive(Clone, PartialEq, Eq, Debug)]
#[must_use = "a finding that is not reported is lost"]
pub struct Finding {
    /// Which rule speaks.
    pub slug: Slug,
    /// How much it weighs.
    pub severity: Severity,
    /// What it is about.
    pub about: About,
    /// What is wrong: a phrase, lowercase, no full stop, names in backticks.
    pub message: String,
    /// Second places, each with what to see there.
    pub others: Vec<(About, String)>,
    /// Why.
    pub notes: Vec<String>,
    /// What to do.
    pub help: Vec<String>,
    /// What to write in the place of what it is about, if that repairs it.
    pub replacement: Option<String>,
    /// Where upstream's own text or code says so.
    pub evidence: Vec<String>,
    /// The rule that speaks, by which it is waived; empty for what the engine's parser would say.
    pub rule: &'static str,
}

/// What a finding is about.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum About {
    /// The name of an argument, by its place in [`crate::Launch::arguments`].
    Name(usize),
    /// The value of an argument, and the path to the member at fault inside a JSON value.
    Value(usize, Vec<String>),
    /// The name of an environment variable.
    Variable(String),
    /// The value of an environment variable.
    VariableValue(String),
    /// A field of the recipe, as a path: `image`, `speculative.acceptance.length`, `parallel.tp`.
    Field(String),
    /// A member of the engine's configuration file.
    Config(Vec<String>),
    /// The launch as a whole.
    Launch,
}

/// A rule that could not be applied because a fact is not known.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, serde::Serialize)]
pub struct Skipped {
    /// The rule's slug.
    pub slug: String,
    /// The fact that it needs, as a phrase.
    pub needs: String,
}

/// What checks found, and what they could not look at.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Report {
    /// The findings, in the order of the arguments they are about.
    pub findings: Vec<Finding>,
    /// Rules that lacked a fact: reported as skipped, never as passed.
    pub skipped: Vec<Skipped>,
    /// Rules that the launch waives and that had something to say, or lacked a fact to tell.
    pub waived: Vec<&'static str>,
}

impl Finding {
    /// Starts an error.
    pub fn error(slug: Slug, about: About, message: impl Into<String>) -> Self {
        Self::new(slug, Severity::Error, about, message.into())
    }

    /// Starts a warning.
    pub fn warning(slug: Slug, about: About, message: impl Into<String>) -> Self {
        Self::new(slug, Severity::Warning, about, message.into())
    }

    /// Starts a note.
    pub fn note(slug: Slug, about: About, message: impl Into<String>) -> Self {
        Self::new(slug, Severity::Note, about, message.into())
    }

    fn new(slug: Slug, severity: Severity, about: About, message: String) -> Self {
        Self {
            slug,
            severity,
            about,
            message,
            others: Vec::new(),
            notes: Vec::new(),
            help: Vec::new(),
            replacement: None,
            evidence: Vec::new(),
            rule: "",
        }
    }

    /// Says why.
    pub fn why(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    /// Says what to do.
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help.push(help.into());
        self
    }

    /// Offers a replacement for what the finding is about.
    pub fn replace(mut self, text: impl Into<String>) -> Self {
        self.replacement = Some(text.into());
        self
    }

    /// Adds a second place.
    pub fn also(mut self, about: About, text: impl Into<String>) -> Self {
        self.others.push((about, text.into()));
        self
    }

    /// Says where upstream has it.
    pub fn evidence(mut self, source: impl Into<String>) -> Self {
        self.evidence.push(source.into());
        self
    }
}
