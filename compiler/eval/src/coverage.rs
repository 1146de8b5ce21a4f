//! Which arms of the conditionals were evaluated, and how often.

use diag::Span;

/// Which construct a [`Branch`] is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BranchKind {
    /// `if condition then first else second`
    If,
    /// `condition && second`: the first arm is the short way, where the condition is false.
    And,
    /// `condition || second`: the first arm is the short way, where the condition is true.
    Or,
    /// `condition -> second`: the first arm is the short way, where the condition is false.
    Implies,
    /// `set.path or second`: the first arm is the way without the default.
    Default,
}

/// One conditional of a loaded file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Branch {
    /// Which construct it is.
    pub kind: BranchKind,
    /// The characters of the condition; of `set.path` for a default.
    pub condition: Span,
    /// The characters of the first arm; `None` where it has none of its own.
    pub first: Option<Span>,
    /// The characters of the second arm.
    pub second: Span,
    /// How often the first arm was chosen.
    pub first_taken: u64,
    /// How often the second arm was chosen.
    pub second_taken: u64,
}

/// Every conditional of every loaded file, in the order of loading and of the text.
#[derive(Clone, Default, Debug)]
pub struct Coverage {
    /// The conditionals.
    pub branches: Vec<Branch>,
}

impl Coverage {
    /// Returns the conditionals that were reached but of which one arm never was.
    pub fn one_sided(&self) -> impl Iterator<Item = &Branch> {
        self.branches.iter().filter(|branch| (branch.first_taken == 0) != (branch.second_taken == 0))
    }
}
