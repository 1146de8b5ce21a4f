//! What a value looks like from outside: made to be matched.

use std::sync::Arc;

use diag::{Diagnostic, Span};

use crate::Value;

/// A value evaluated at the top. What is inside lists and sets stays unevaluated until it is
/// forced in turn.
#[derive(Clone, Debug)]
pub enum View {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A float.
    Float(f64),
    /// A string; bytes that are not UTF-8 are shown as U+FFFD.
    String(Arc<str>),
    /// A path below the root, beginning with `/`.
    Path(Arc<str>),
    /// The elements in order.
    List(Vec<Element>),
    /// The attributes in the order of their names' bytes.
    Attrs(Vec<Attribute>),
    /// A function, a builtin or a builtin that has got some of its arguments.
    Function,
}

impl View {
    /// Returns the type as people call it, with its article: `a string`, `an integer`.
    #[must_use]
    pub fn described(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "a Boolean",
            Self::Int(_) => "an integer",
            Self::Float(_) => "a float",
            Self::String(_) => "a string",
            Self::Path(_) => "a path",
            Self::List(_) => "a list",
            Self::Attrs(_) => "a set",
            Self::Function => "a function",
        }
    }
}

/// One element of a list.
#[derive(Clone, Debug)]
pub struct Element {
    /// Its value, perhaps not yet evaluated.
    pub value: Value,
    /// Its expression; the call where a builtin made it; `None` where Rust made it.
    pub span: Option<Span>,
}

/// One attribute of a set.
#[derive(Clone, Debug)]
pub struct Attribute {
    /// Its name.
    pub name: Arc<str>,
    /// Its value, perhaps not yet evaluated.
    pub value: Value,
    /// Where it was written.
    pub origin: Origin,
}

/// Where an attribute was written, and what it overrode.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Origin {
    /// The characters of its name; the call where a builtin made it; `None` where Rust made it.
    pub name: Option<Span>,
    /// The expression of its value.
    pub value: Option<Span>,
    /// The names that `//` overrode with this one, the latest first; at most eight.
    pub shadowed: Vec<Span>,
}

/// What a function takes.
#[derive(Clone, Debug)]
pub struct Formals {
    /// The characters of the parameter: a name or a whole pattern.
    pub span: Option<Span>,
    /// The named arguments of the pattern in the order written; `None` for `name: body`.
    pub names: Option<Vec<Formal>>,
    /// True where the function takes attributes beyond the named ones: `...`, or no pattern.
    pub open: bool,
}

/// One named argument of a pattern.
#[derive(Clone, Debug)]
pub struct Formal {
    /// Its name.
    pub name: Arc<str>,
    /// The characters of the name.
    pub span: Option<Span>,
    /// True if it has a default.
    pub optional: bool,
}

/// Why an evaluation failed: one diagnostic, at the user's characters, with the calls that led
/// there as labels.
#[derive(Clone, Debug)]
pub struct Error(pub(crate) Box<crate::failure::Failure>);

impl Error {
    /// Returns what to report.
    pub fn diagnostic(&self) -> &Diagnostic {
        &self.0.diagnostic
    }

    /// Returns what to report.
    pub fn into_diagnostic(self) -> Diagnostic {
        self.0.diagnostic
    }

    /// Returns all that there is to report: several findings where an imported file cannot be read.
    pub fn into_diagnostics(self) -> diag::Diagnostics {
        std::iter::once(self.0.diagnostic).chain(self.0.more).collect()
    }

    /// Returns true for what `tryEval` catches: `throw` and a failed `assert`.
    #[must_use]
    pub fn is_catchable(&self) -> bool {
        self.0.catchable
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0.diagnostic.message)
    }
}

impl std::error::Error for Error {}
