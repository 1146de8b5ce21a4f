//! One finding, and a collection of them.

use crate::{FileId, Slug, Span};

/// How much a finding weighs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing; nothing is wrong.
    Note,
    /// Probably not what was meant; the work goes on.
    Warning,
    /// The work cannot be trusted.
    Error,
}

/// A second place that helps to understand a finding.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Label {
    /// The characters.
    pub span: Span,
    /// What to see there, as a phrase.
    pub text: String,
}

/// A replacement that repairs the finding when applied.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fix {
    /// The characters to replace; an empty span inserts.
    pub span: Span,
    /// What to put there.
    pub text: String,
    /// Which of the finding's helps speaks of it, counted from 0.
    pub help: usize,
}

/// One finding: what is wrong in a phrase, at the smallest span; why in notes; what to do in helps.
#[derive(Clone, PartialEq, Eq, Debug)]
#[must_use = "a diagnostic that is not reported is lost"]
pub struct Diagnostic {
    /// Which rule speaks.
    pub slug: Slug,
    /// How much it weighs.
    pub severity: Severity,
    /// What is wrong: a phrase, lowercase, no full stop, names in backticks.
    pub message: String,
    /// The characters underlined; `None` where the fault is in no text.
    pub span: Option<Span>,
    /// What the primary span shows; empty if the message says it all.
    pub label: String,
    /// Second places.
    pub labels: Vec<Label>,
    /// Why.
    pub notes: Vec<String>,
    /// What to do.
    pub help: Vec<String>,
    /// Machine-applicable repairs.
    pub fixes: Vec<Fix>,
}

impl Diagnostic {
    /// Starts an error.
    pub fn error(slug: Slug, message: impl Into<String>) -> Self {
        Self::new(slug, Severity::Error, message)
    }

    /// Starts a warning.
    pub fn warning(slug: Slug, message: impl Into<String>) -> Self {
        Self::new(slug, Severity::Warning, message)
    }

    /// Starts a note.
    pub fn note(slug: Slug, message: impl Into<String>) -> Self {
        Self::new(slug, Severity::Note, message)
    }

    fn new(slug: Slug, severity: Severity, message: impl Into<String>) -> Self {
        Self {
            slug,
            severity,
            message: message.into(),
            span: None,
            label: String::new(),
            labels: Vec::new(),
            notes: Vec::new(),
            help: Vec::new(),
            fixes: Vec::new(),
        }
    }

    /// Points at the characters at fault.
    pub fn at(mut self, span: Span) -> Self {
        self.span = Some(span);
        self
    }

    /// Points at the characters at fault and says what they show.
    pub fn at_labelled(mut self, span: Span, label: impl Into<String>) -> Self {
        self.span = Some(span);
        self.label = label.into();
        self
    }

    /// Adds a second place.
    pub fn label(mut self, span: Span, text: impl Into<String>) -> Self {
        self.labels.push(Label { span, text: text.into() });
        self
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

    /// Moves every place of the finding into another file, for stages that see one text at a time.
    pub fn in_file(mut self, file: FileId) -> Self {
        let spans = self.span.iter_mut();
        let labels = self.labels.iter_mut().map(|label| &mut label.span);
        let fixes = self.fixes.iter_mut().map(|fix| &mut fix.span);
        for span in spans.chain(labels).chain(fixes) {
            span.file = file;
        }
        self
    }

    /// Offers a replacement, and says so.
    pub fn fix(mut self, span: Span, text: impl Into<String>, help: impl Into<String>) -> Self {
        self.fixes.push(Fix { span, text: text.into(), help: self.help.len() });
        self.help.push(help.into());
        self
    }
}

/// The findings of a stage: stages report all they find and then stop.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Diagnostics {
    list: Vec<Diagnostic>,
}

impl Diagnostics {
    /// Returns an empty collection.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a finding, unless the same one is there already.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        if !self.list.contains(&diagnostic) {
            self.list.push(diagnostic);
        }
    }

    /// Returns true if any finding is an error.
    #[must_use]
    pub fn has_errors(&self) -> bool {
        self.list.iter().any(|diagnostic| diagnostic.severity == Severity::Error)
    }

    /// Returns true if there is nothing to report.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Returns the findings in the order they were added.
    pub fn iter(&self) -> std::slice::Iter<'_, Diagnostic> {
        self.list.iter()
    }

    /// Sorts by file, place, then slug, so that the order of work cannot be seen.
    pub fn sort(&mut self) {
        self.list.sort_by(|a, b| {
            (a.span.is_none(), a.span, a.slug, &a.message).cmp(&(
                b.span.is_none(),
                b.span,
                b.slug,
                &b.message,
            ))
        });
    }
}

impl Extend<Diagnostic> for Diagnostics {
    fn extend<T: IntoIterator<Item = Diagnostic>>(&mut self, iter: T) {
        for diagnostic in iter {
            self.push(diagnostic);
        }
    }
}

impl IntoIterator for Diagnostics {
    type Item = Diagnostic;
    type IntoIter = std::vec::IntoIter<Diagnostic>;

    fn into_iter(self) -> Self::IntoIter {
        self.list.into_iter()
    }
}

impl FromIterator<Diagnostic> for Diagnostics {
    fn from_iter<T: IntoIterator<Item = Diagnostic>>(iter: T) -> Self {
        let mut all = Self::new();
        all.extend(iter);
        all
    }
}
