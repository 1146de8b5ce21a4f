//! `recipec lock --check`: whether the locks are what these manifests give, with no network.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::ScopedJoinHandle;

use ::lock::summary::{self, Comparison, Language};
use ::lock::{Change, Lock};
use diag::slugs::lock::{LOCK_MISSING, LOCK_STALE, LOCK_UNPINNED};
use diag::{Diagnostic, Diagnostics};
use recipe::{Corpus, Recipe};
use serde_json::json;

use crate::arguments::{self, Options};
use crate::corpus::{self, Loaded};
use crate::lock::platforms;
use crate::outcome::{Answer, Document, Failure, Outcome};

/// A difference as an answer.
pub(crate) struct Compared {
    pub(crate) comparison: Comparison,
    pub(crate) language: Language,
}

/// Compares the locks with what the manifests give.
pub(crate) fn run(verb: &arguments::Lock, options: &Options) -> Outcome {
    // Each helper reads the manifests for itself, which is worth it where there are many recipes.
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let helpers = if verb.recipes.operands.is_empty() { cores.min(MOST_THREADS) - 1 } else { 0 };
    let queue = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        let helpers = (0..helpers).map(|_| scope.spawn(|| prove(verb, options, &queue))).collect();
        corpus::with("lock", &verb.recipes, options, |loaded| {
            check(loaded, verb.require_pins, &queue, helpers)
        })
    })
}

/// Beyond this many, reading the manifests once more costs what another thread saves.
const MOST_THREADS: usize = 4;

/// Recipes whose lock is current, by key, with the wants that have no pin.
type Proven = BTreeMap<String, Vec<(String, String)>>;

/// Takes recipes from the queue and proves that their locks are current. What is not as it should be
/// is left to the one thread that reports, so that a finding is found in one way.
fn prove(verb: &arguments::Lock, options: &Options, queue: &AtomicUsize) -> Proven {
    let mut proven = Proven::new();
    corpus::with("lock", &verb.recipes, options, |mut loaded| {
        let corpus = std::mem::take(&mut loaded.corpus);
        while let Some(recipe) = corpus.recipes.get(queue.fetch_add(1, Ordering::Relaxed)) {
            let Ok(Some((_, text))) = loaded.lock_text(recipe) else { continue };
            let Some(lock) = Lock::brief(&text) else { continue };
            let (plans, findings) = recipe::plans(&mut loaded.session, &corpus, recipe, &lock.known);
            let wants = recipe.wants(&platforms(&corpus, recipe));
            if findings.is_empty() && ::lock::current(&lock, &plans, &wants) {
                let unpinned = lock.unpinned().map(|(name, why)| (name.to_owned(), why.to_owned()));
                proven.insert(recipe.key.value.clone(), unpinned.collect());
            }
        }
        loaded.corpus = corpus;
        loaded.finish("lock", crate::outcome::Silence)
    });
    proven
}

fn check(
    mut loaded: Loaded<'_, '_>,
    require_pins: bool,
    queue: &AtomicUsize,
    helpers: Vec<ScopedJoinHandle<'_, Proven>>,
) -> Outcome {
    let corpus = std::mem::take(&mut loaded.corpus);
    let mut comparison = Comparison::default();
    let mut failures: BTreeSet<Failure> = loaded.findings.iter().filter_map(Failure::of_error).collect();
    // By place in the corpus: which thread looked at what changes no byte of the answer.
    let mut answers: BTreeMap<usize, (Diagnostics, Comparison)> = BTreeMap::new();
    loop {
        let index = queue.fetch_add(1, Ordering::Relaxed);
        let Some(recipe) = corpus.recipes.get(index) else { break };
        answers.insert(index, check_one(&mut loaded, &corpus, recipe, require_pins));
    }
    let mut proven = Proven::new();
    for helper in helpers {
        proven.extend(helper.join().unwrap_or_default());
    }
    let mut locks = BTreeSet::new();
    for (index, recipe) in corpus.recipes.iter().enumerate() {
        locks.insert(corpus::lock_path(recipe));
        let (findings, one) = match (answers.remove(&index), proven.get(&recipe.key.value)) {
            (Some(answer), _) => answer,
            (None, Some(missing)) => {
                let missing = missing.iter().map(|(name, why)| (&**name, &**why));
                let current = Comparison { unchanged: 1, ..Comparison::default() };
                (unpinned(missing, require_pins).collect(), current)
            }
            (None, None) => check_one(&mut loaded, &corpus, recipe, require_pins),
        };
        comparison.changes.extend(one.changes);
        comparison.added.extend(one.added);
        comparison.unchanged += one.unchanged;
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
) -> (Diagnostics, Comparison) {
    let (mut findings, mut comparison) = (Diagnostics::new(), Comparison::default());
    let key = &recipe.key.value;
    let at = |mut finding: Diagnostic| {
        finding.span = recipe.key.at;
        finding
    };
    let (path, text) = match loaded.lock_text(recipe) {
        Ok(Some(found)) => found,
        Ok(None) => {
            comparison.added.push(key.clone());
            let finding = Diagnostic::error(LOCK_MISSING, format!("`{key}` has no lock"));
            findings.push(at(finding.help(format!("run `recipec lock {key}`"))));
            return (findings, comparison);
        }
        Err(finding) => {
            findings.push(finding);
            return (findings, comparison);
        }
    };
    // Whether a lock is current needs no table of behaviour; what it is behind in does.
    let brief = Lock::brief(&text);
    let found = if brief.is_some() { (brief, Diagnostics::new()) } else { Lock::open(&path, &text) };
    let whole = !found.1.has_errors();
    findings.extend(found.1);
    // What somebody typed into a lock says nothing of the manifest.
    let Some(lock) = found.0.filter(|_| whole) else { return (findings, comparison) };
    let (plans, problems) = recipe::plans(&mut loaded.session, corpus, recipe, &lock.known);
    let planned = !problems.has_errors();
    findings.extend(problems);
    if !planned {
        return (findings, comparison);
    }
    let wants = recipe.wants(&platforms(corpus, recipe));
    if ::lock::current(&lock, &plans, &wants) {
        comparison.unchanged += 1;
    } else {
        let (whole, problems) = Lock::open(&path, &text);
        findings.extend(problems);
        let changes = whole.map(|lock| ::lock::check(&lock, &plans, &wants)).unwrap_or_default();
        findings.push(stale(recipe, &changes));
        comparison.changes.extend(changes);
    }
    findings.extend(unpinned(
        lock.unpinned().filter(|(name, _)| wants.iter().any(|want| want.name() == *name)),
        require_pins,
    ));
    (findings, comparison)
}

/// Returns a finding for each want without a pin.
fn unpinned<'n>(
    missing: impl Iterator<Item = (&'n str, &'n str)>,
    require_pins: bool,
) -> impl Iterator<Item = Diagnostic> {
    missing.map(move |(name, reason)| {
        let message = format!("`{name}` has no pin");
        let finding = if require_pins {
            Diagnostic::error(LOCK_UNPINNED, message)
        } else {
            Diagnostic::warning(LOCK_UNPINNED, message)
        };
        finding.why(reason).help("run `recipec lock` where the network reaches it")
    })
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
        let Comparison { changes, added, removed, unchanged, files } = &self.comparison;
        let fields = json!({ "changes": changes, "added": added, "removed": removed, "unchanged": unchanged, "files": files });
        Document::Fields(fields.as_object().cloned().unwrap_or_default())
    }

    fn markdown(&self) -> Option<String> {
        Some(summary::markdown(&self.comparison, self.language))
    }
}
