//! What a verb gives back, and the one place where exit codes are decided.

use std::collections::BTreeSet;

use diag::{Diagnostic, Diagnostics, Severity, SourceMap, page};
use serde_json::{Map, Value};

/// Exit code of a fault in recipec itself.
pub(crate) const INTERNAL: u8 = 70;

/// Kinds of failure, the one that decides the exit code first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Failure {
    /// The command line asks for something that is not there.
    Usage,
    /// The manifest is wrong.
    Manifest,
    /// The outside disagrees: drift, a failed verdict, a broken or different checkpoint.
    Outside,
    /// Something could not be reached or read.
    Unreachable,
    /// The lock is stale, missing, or unpinned where a pin is needed.
    Stale,
}

impl Failure {
    /// Returns the exit code of this kind.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Usage => 2,
            Self::Manifest => 1,
            Self::Outside => 4,
            Self::Unreachable => 5,
            Self::Stale => 3,
        }
    }

    /// Returns the kind of a finding, if it is an error.
    pub(crate) fn of_error(finding: &Diagnostic) -> Option<Self> {
        (finding.severity == Severity::Error).then(|| Self::of(finding))
    }

    /// Returns the kind that an error finding stands for, by the stage that reports it.
    pub(crate) fn of(finding: &Diagnostic) -> Self {
        match page(finding.slug.as_str()).map_or("", |page| page.stage) {
            "cli" => Self::Usage,
            "host" => Self::Unreachable,
            "upstream" | "verify" | "audit" => Self::Outside,
            "lock" => Self::Stale,
            _ => Self::Manifest,
        }
    }
}

/// A document as machines read it.
#[derive(Debug)]
pub(crate) enum Document {
    /// Fields that stand beside `version`, `command`, `exit` and `diagnostics`.
    Fields(Map<String, Value>),
    /// The whole text, without an envelope.
    Bare(String),
}

/// What was asked for, in the forms that someone may want.
pub(crate) trait Answer {
    /// Returns the text for people; empty where silence is the answer.
    fn human(&self) -> String;
    /// Returns the document for machines.
    fn document(&self) -> Document;
    /// Returns the text for a pull request, where it differs from the list of findings.
    fn markdown(&self) -> Option<String> {
        None
    }
}

/// An answer of nothing but findings.
#[derive(Debug)]
pub(crate) struct Silence;

impl Answer for Silence {
    fn human(&self) -> String {
        String::new()
    }

    fn document(&self) -> Document {
        Document::Fields(Map::new())
    }
}

/// What a verb gives back.
pub(crate) struct Outcome {
    /// The verb, as the JSON envelope names it.
    pub(crate) command: &'static str,
    /// What was asked for.
    pub(crate) answer: Box<dyn Answer>,
    /// What was found.
    pub(crate) findings: Diagnostics,
    /// The texts that findings point into.
    pub(crate) sources: SourceMap,
    /// What failed, beyond what errors among the findings say by themselves.
    pub(crate) failures: BTreeSet<Failure>,
    /// Kinds of the errors among the findings are told by `failures` alone.
    pub(crate) explicit: bool,
}

impl Outcome {
    /// Returns an outcome without findings.
    pub(crate) fn new(command: &'static str, answer: impl Answer + 'static) -> Self {
        Self {
            command,
            answer: Box::new(answer),
            findings: Diagnostics::new(),
            sources: SourceMap::new(),
            failures: BTreeSet::new(),
            explicit: false,
        }
    }

    /// Returns an outcome of one finding and no answer.
    pub(crate) fn refusal(command: &'static str, finding: Diagnostic) -> Self {
        let mut outcome = Self::new(command, Silence);
        outcome.findings.push(finding);
        outcome
    }

    /// Adds findings and the texts that they point into.
    pub(crate) fn with(mut self, findings: Diagnostics, sources: SourceMap) -> Self {
        self.findings = findings;
        self.sources = sources;
        self
    }

    /// Returns the exit code: the first of usage, manifest, outside, unreachable and stale that
    /// holds, else 0. Warnings count as the manifest's fault where they are denied.
    pub(crate) fn exit(&self, deny_warnings: bool) -> u8 {
        let mut failures = self.failures.clone();
        for finding in self.findings.iter() {
            match finding.severity {
                Severity::Error if !self.explicit => {
                    failures.insert(Failure::of(finding));
                }
                Severity::Warning if deny_warnings => {
                    failures.insert(Failure::Manifest);
                }
                _ => {}
            }
        }
        failures.first().map_or(0, |failure| failure.code())
    }
}

#[cfg(test)]
mod tests {
    use diag::slugs::cli::NO_SUCH_RECIPE;

    use super::*;

    #[test]
    fn the_first_failure_of_the_documented_order_decides() {
        let order =
            [Failure::Usage, Failure::Manifest, Failure::Outside, Failure::Unreachable, Failure::Stale];
        for (index, first) in order.iter().enumerate() {
            let mut outcome = Outcome::new("check", Silence);
            outcome.failures.extend(order.iter().skip(index));
            assert_eq!(outcome.exit(false), first.code());
        }
        assert_eq!(order.map(Failure::code), [2, 1, 4, 5, 3]);
        assert_eq!(Outcome::new("check", Silence).exit(false), 0);
    }

    #[test]
    fn warnings_count_only_where_they_are_denied() {
        let mut outcome = Outcome::new("check", Silence);
        outcome.findings.push(Diagnostic::warning(NO_SUCH_RECIPE, "x"));
        assert_eq!((outcome.exit(false), outcome.exit(true)), (0, 1));
    }
}
