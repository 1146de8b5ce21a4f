//! `recipec lock --check`: whether the locks are what these manifests give, with no network.

use std::collections::BTreeSet;

use ::lock::Change;
use ::lock::summary::{self, Comparison, Language};
use diag::slugs::lock::{LOCK_MISSING, LOCK_STALE, LOCK_UNPINNED};
use diag::{Diagnostic, Diagnostics};
use recipe::{Corpus, Recipe};
use serde_json::json;

use crate::corpus::{self, Loaded};
use crate::lock::platforms;
use crate::outcome::{Answer, Document, Failure, Outcome};

/// A difference as an answer.
pub(crate) struct Compared {
    pub(crate) comparison: Comparison,
    pub(crate) language: Language,
}

/// Compares the locks with what the manifests give.
pub(crate) fn run(mut loaded: Loaded<'_, '_>, require_pins: bool) -> Outcome {
    let corpus = std::mem::take(&mut loaded.corpus);
    let mut comparison = Comparison::default();
    let mut failures: BTreeSet<Failure> = loaded.findings.iter().filter_map(Failure::of_error).collect();
    let mut locks = BTreeSet::new();
    for recipe in &corpus.recipes {
        locks.insert(corpus::lock_path(recipe));
        let findings = check_one(&mut loaded, &corpus, recipe, require_pins, &mut comparison);
        failures.extend(findings.iter().filter_map(Failure::of_error));
        loaded.findings.extend(findings);
    }
    // Only who looks at everything can say that a lock has no recipe.
    if !corpus.partial && !failures.contains(&Failure::Manifest) {
        for path in orphans(&loaded, &locks) {
            failures.insert(Failure::Stale);
            let key = path.rsplit('/').next().unwrap_or(&path).trim_end_matches(".lock.json");
            comparison.removed.push(key.to_owned());
            let finding = Diagnostic::error(LOCK_STALE, format!("`{path}` is of no recipe"));
            loaded.findings.push(finding.help("delete it with the recipe that it was of"));
        }
    }
    let mut outcome = loaded.finish("lock", Compared { comparison, language: Language::English });
    outcome.failures = failures;
    outcome.explicit = true;
    outcome
}

fn check_one(
    loaded: &mut Loaded<'_, '_>,
    corpus: &Corpus,
    recipe: &Recipe,
    require_pins: bool,
    comparison: &mut Comparison,
) -> Diagnostics {
    let mut findings = Diagnostics::new();
    let key = &recipe.key.value;
    let at = |mut finding: Diagnostic| {
        finding.span = recipe.key.at;
        finding
    };
    let found = match loaded.lock(recipe) {
        Ok(Some(found)) => found,
        Ok(None) => {
            comparison.added.push(key.clone());
            let finding = Diagnostic::error(LOCK_MISSING, format!("`{key}` has no lock"));
            findings.push(at(finding.help(format!("run `recipec lock {key}`"))));
            return findings;
        }
        Err(finding) => {
            findings.push(finding);
            return findings;
        }
    };
    let whole = !found.findings.has_errors();
    findings.extend(found.findings);
    // What somebody typed into a lock says nothing of the manifest.
    let Some(lock) = found.lock.filter(|_| whole) else { return findings };
    let (plans, problems) = recipe::plans(&mut loaded.session, corpus, recipe, &lock.known);
    let planned = !problems.has_errors();
    findings.extend(problems);
    let wants = recipe.wants(&platforms(corpus, recipe));
    let changes = ::lock::check(&lock, &plans, &wants);
    if !planned {
        return findings;
    }
    if changes.is_empty() {
        comparison.unchanged += 1;
    } else {
        findings.push(stale(recipe, &changes));
        comparison.changes.extend(changes);
    }
    for want in &wants {
        let name = want.name();
        let Some((_, reason)) = lock.unpinned().find(|(unpinned, _)| *unpinned == name) else { continue };
        let message = format!("`{name}` has no pin");
        let finding = if require_pins {
            Diagnostic::error(LOCK_UNPINNED, message)
        } else {
            Diagnostic::warning(LOCK_UNPINNED, message)
        };
        findings.push(finding.why(reason).help("run `recipec lock` where the network reaches it"));
    }
    findings
}

/// Returns the finding for a lock that is not what the manifest gives.
pub(crate) fn stale(recipe: &Recipe, changes: &[Change]) -> Diagnostic {
    let key = &recipe.key.value;
    let mut finding =
        Diagnostic::error(LOCK_STALE, format!("the lock of `{key}` is not what its manifest gives"));
    for change in changes.iter().take(3) {
        finding = finding.why(format!("`{}`: {} in the lock, {} now", change.path, change.old, change.new));
    }
    if let Some(more) = changes.len().checked_sub(3).filter(|more| *more > 0) {
        finding = finding.why(format!("and {}", crate::words::count(more, "more change")));
    }
    finding.span = recipe.key.at;
    finding.help(format!("run `recipec lock {key}` and look at `recipec diff`"))
}

/// Returns the locks below `lockfiles/` that are of no recipe.
fn orphans(loaded: &Loaded<'_, '_>, locks: &BTreeSet<String>) -> Vec<String> {
    let found = loaded.workspace.root.walk("lockfiles", ".lock.json").unwrap_or_default();
    found.into_iter().filter(|path| !locks.contains(path)).collect()
}

impl Answer for Compared {
    fn human(&self) -> String {
        summary::human(&self.comparison, self.language)
    }

    fn document(&self) -> Document {
        let Comparison { changes, added, removed, unchanged } = &self.comparison;
        let fields =
            json!({ "changes": changes, "added": added, "removed": removed, "unchanged": unchanged });
        Document::Fields(fields.as_object().cloned().unwrap_or_default())
    }

    fn markdown(&self) -> Option<String> {
        Some(summary::markdown(&self.comparison, self.language))
    }
}
