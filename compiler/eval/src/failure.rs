//! A failed evaluation on its way out.

use diag::Diagnostic;

use crate::slot::SlotId;

/// What is being computed, or why it cannot be.
pub(crate) type Outcome<T> = Result<T, Box<Failure>>;

/// Why an evaluation failed. It gathers the calls that led to the fault while it travels outward.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub(crate) diagnostic: Diagnostic,
    /// What else is wrong: a file that cannot be read reports everything at once.
    pub(crate) more: Vec<Diagnostic>,
    /// True for what `tryEval` catches.
    pub(crate) catchable: bool,
    /// The slot whose evaluation asked for itself, until the way out has passed it.
    pub(crate) cycle: Option<SlotId>,
    /// The names of the cycle's members that the way out has passed, the innermost first.
    pub(crate) members: Vec<String>,
    /// How many labels of the diagnostic are calls.
    pub(crate) calls: u32,
}

impl Failure {
    pub(crate) fn new(diagnostic: Diagnostic) -> Box<Self> {
        Box::new(Self {
            diagnostic,
            more: Vec::new(),
            catchable: false,
            cycle: None,
            members: Vec::new(),
            calls: 0,
        })
    }

    pub(crate) fn catchable(diagnostic: Diagnostic) -> Box<Self> {
        Box::new(Self {
            diagnostic,
            more: Vec::new(),
            catchable: true,
            cycle: None,
            members: Vec::new(),
            calls: 0,
        })
    }
}

impl From<Diagnostic> for Box<Failure> {
    fn from(diagnostic: Diagnostic) -> Self {
        Failure::new(diagnostic)
    }
}
