//! `recipec diff`: what differs in behaviour and pins between two sets of locks.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use ::lock::pin::Entry;
use ::lock::summary::{Comparison, Files, Language};
use ::lock::{Change, Digest, Lock, diff, facts};
use diag::slugs::cli::{NO_SUCH_RECIPE, NO_SUCH_REVISION};
use diag::slugs::host::CANNOT_READ;
use diag::{Diagnostic, Diagnostics};
use engine::known::Known;
use recipe::{Corpus, Recipe};

use crate::arguments::{Diff, Options, Recipes, Words};
use crate::corpus::{self, Loaded, by_key};
use crate::lock::platforms;
use crate::lock_check::Compared;
use crate::outcome::{Failure, Outcome};
use crate::{glob, siblings, workspace};

/// One side of a comparison.
struct Side {
    locks: BTreeMap<String, Lock>,
    /// A side of one lock is compared with another of one lock whatever their keys are.
    single: bool,
}

/// Compares two sides; the working tree is what the manifests give now, with the pins that it has.
pub(crate) fn run(verb: &Diff, options: &Options) -> Outcome {
    let recipes = Recipes { operands: Vec::new(), bounds: verb.bounds.clone() };
    corpus::with("diff", &recipes, options, |mut loaded| {
        let corpus = std::mem::take(&mut loaded.corpus);
        let compared = match recipes_of(&corpus, verb) {
            Some((old, new)) => siblings::differences(&mut loaded, &corpus, old, new).map(beside),
            None => sides(&mut loaded, &corpus, verb).map(|(old, new)| compare(&old, &new)),
        };
        let mut comparison = match compared {
            Ok(comparison) => except(comparison, &verb.except),
            Err(findings) => {
                loaded.findings.extend(findings);
                return loaded.finish("diff", crate::outcome::Silence);
            }
        };
        comparison.files = files(&loaded, &comparison.changes, verb);
        let language = match verb.lang {
            Words::En => Language::English,
            Words::Zh => Language::Chinese,
        };
        let differs =
            !(comparison.changes.is_empty() && comparison.added.is_empty() && comparison.removed.is_empty());
        let mut outcome = loaded.finish("diff", Compared { comparison, language });
        if differs && verb.exit_code {
            outcome.failures.insert(Failure::Stale);
        }
        outcome
    })
}

/// Compares some recipes as they are now with their locks at a revision. What has no lock there is
/// new; before there is any revision, everything is.
pub(crate) fn since(
    loaded: &mut Loaded<'_, '_>,
    corpus: &Corpus,
    recipes: &[&Recipe],
    name: &str,
) -> Result<Comparison, Diagnostics> {
    let mut old = revision(loaded, name)?;
    let mut locks = BTreeMap::new();
    for recipe in recipes {
        locks.insert(recipe.key.value.clone(), now(loaded, corpus, recipe)?);
    }
    old.locks.retain(|key, _| locks.contains_key(key));
    Ok(compare(&old, &Side { locks, single: false }))
}

/// Returns the locks of a revision by config key.
pub(crate) fn locks_at(loaded: &Loaded<'_, '_>, name: &str) -> Result<BTreeMap<String, Lock>, Diagnostics> {
    Ok(revision(loaded, name)?.locks)
}

/// Returns the two recipes, if both operands are recipes.
fn recipes_of<'c>(corpus: &'c Corpus, verb: &Diff) -> Option<(&'c Recipe, &'c Recipe)> {
    let recipe = |operand: &Option<String>| match kind(corpus, operand.as_deref()?) {
        Kind::Recipe(key) => by_key(corpus).get(key).copied(),
        Kind::File(_) | Kind::Revision(_) => None,
    };
    Some((recipe(&verb.old)?, recipe(&verb.new)?))
}

fn beside(changes: Vec<Change>) -> Comparison {
    let unchanged = usize::from(changes.is_empty());
    Comparison { changes, unchanged, ..Comparison::default() }
}

/// Leaves out what is declared to differ.
fn except(mut comparison: Comparison, declared: &[String]) -> Comparison {
    let recipes = |changes: &[Change]| -> BTreeSet<String> {
        changes.iter().map(|change| change.recipe.clone()).collect()
    };
    let before = recipes(&comparison.changes).len();
    comparison.changes.retain(|change| !declared.iter().any(|pattern| glob::matches(pattern, &change.path)));
    comparison.unchanged += before - recipes(&comparison.changes).len();
    comparison
}

fn sides(loaded: &mut Loaded<'_, '_>, corpus: &Corpus, verb: &Diff) -> Result<(Side, Side), Diagnostics> {
    match (&verb.old, &verb.new) {
        (None, _) => Ok((revision(loaded, "HEAD")?, working(loaded, corpus)?)),
        (Some(old), Some(new)) => Ok((side(loaded, corpus, old)?, side(loaded, corpus, new)?)),
        // One lock is set beside the working tree's of that recipe, and a recipe beside HEAD's.
        (Some(operand), None) => {
            let given = side(loaded, corpus, operand)?;
            let mut all = match kind(corpus, operand) {
                Kind::Recipe(_) => revision(loaded, "HEAD")?,
                Kind::File(_) | Kind::Revision(_) => working(loaded, corpus)?,
            };
            if given.single {
                all.locks.retain(|key, _| given.locks.contains_key(key));
            }
            let recipe = matches!(kind(corpus, operand), Kind::Recipe(_));
            let given = Side { single: false, ..given };
            Ok(if recipe { (all, given) } else { (given, all) })
        }
    }
}

/// What an operand names.
enum Kind<'o> {
    Recipe(&'o str),
    Revision(&'o str),
    File(&'o str),
}

fn kind<'o>(corpus: &Corpus, operand: &'o str) -> Kind<'o> {
    match operand.split_once(':') {
        Some(("recipe", key)) => Kind::Recipe(key),
        Some(("rev", revision)) => Kind::Revision(revision),
        Some(("file", path)) => Kind::File(path),
        _ if workspace::is_there(Path::new(operand)) => Kind::File(operand),
        _ if by_key(corpus).contains_key(operand) => Kind::Recipe(operand),
        _ => Kind::Revision(operand),
    }
}

fn side(loaded: &mut Loaded<'_, '_>, corpus: &Corpus, operand: &str) -> Result<Side, Diagnostics> {
    match kind(corpus, operand) {
        Kind::Revision(name) => revision(loaded, name),
        Kind::File(path) => file(path),
        Kind::Recipe(key) => {
            let Some(recipe) = by_key(corpus).get(key).copied() else {
                let finding = Diagnostic::error(NO_SUCH_RECIPE, format!("`{key}` is no recipe here"));
                return Err([finding].into_iter().collect());
            };
            let lock = now(loaded, corpus, recipe)?;
            Ok(Side { locks: BTreeMap::from([(key.to_owned(), lock)]), single: true })
        }
    }
}

/// Reads all locks of a revision.
fn revision(loaded: &Loaded<'_, '_>, name: &str) -> Result<Side, Diagnostics> {
    let one = |finding: Diagnostic| Diagnostics::from_iter([finding]);
    let folder = loaded.workspace.root.folder();
    let texts = host::history::texts_at(folder, name, "lockfiles", ".lock.json").map_err(|error| {
        one(Diagnostic::error(CANNOT_READ, format!("cannot read the locks of `{name}`"))
            .why(error.to_string()))
    })?;
    let Some(texts) = texts else {
        return Err(one(Diagnostic::error(NO_SUCH_REVISION, format!("git knows no revision `{name}` here"))
            .help("an operand is `recipe:KEY`, `rev:REVISION` or `file:LOCK`")));
    };
    let mut locks = BTreeMap::new();
    for (path, text) in texts {
        let lock = Lock::read(&format!("{name}:{path}"), &text)?;
        locks.insert(lock.recipe.clone(), lock);
    }
    Ok(Side { locks, single: false })
}

/// Reads one lock.
fn file(path: &str) -> Result<Side, Diagnostics> {
    let bytes = workspace::read(Path::new(path), corpus::LOCK_LIMIT)
        .map_err(|finding| Diagnostics::from_iter([finding]))?;
    let lock = Lock::read(path, &String::from_utf8_lossy(&bytes))?;
    Ok(Side { locks: BTreeMap::from([(lock.recipe.clone(), lock)]), single: true })
}

/// Makes the locks that the manifests give now.
fn working(loaded: &mut Loaded<'_, '_>, corpus: &Corpus) -> Result<Side, Diagnostics> {
    let mut locks = BTreeMap::new();
    for recipe in &corpus.recipes {
        let lock = now(loaded, corpus, recipe)?;
        locks.insert(recipe.key.value.clone(), lock);
    }
    Ok(Side { locks, single: false })
}

/// Makes the lock that a recipe's manifest gives now, with the pins of the lockfile that is there.
fn now(loaded: &mut Loaded<'_, '_>, corpus: &Corpus, recipe: &Recipe) -> Result<Lock, Diagnostics> {
    let (pins, known) = pinned(loaded, corpus, recipe)?;
    let (plans, findings) = recipe::plans(&mut loaded.session, corpus, recipe, &known);
    loaded.findings.extend(findings);
    Ok(::lock::build(&recipe.key.value, &plans, pins, known))
}

/// Returns what a recipe names now, with the pins of the lockfile that is there, and what is known.
pub(crate) fn pinned(
    loaded: &mut Loaded<'_, '_>,
    corpus: &Corpus,
    recipe: &Recipe,
) -> Result<(BTreeMap<String, Entry>, Known), Diagnostics> {
    let found = loaded.lock(recipe).map_err(|finding| Diagnostics::from_iter([finding]))?;
    let mut old = Lock::default();
    if let Some(found) = found {
        loaded.findings.extend(found.findings);
        old = found.lock.unwrap_or_default();
    }
    let wants = recipe.wants(&platforms(corpus, recipe));
    let pins: BTreeMap<String, Entry> = wants
        .iter()
        .map(|want| {
            let name = want.name();
            let entry = match old.pins.get(&name) {
                Some(Entry::Pinned { pin, .. }) => Entry::Pinned { want: want.clone(), pin: pin.clone() },
                Some(Entry::Unpinned { reason, .. }) => {
                    Entry::Unpinned { want: want.clone(), reason: reason.clone() }
                }
                None => Entry::Unpinned { want: want.clone(), reason: "not resolved yet".to_owned() },
            };
            (name, entry)
        })
        .collect();
    let kept = crate::lock::wanted(&old.known, &wants);
    let (known, findings) = facts::settle(&recipe::facts::stated(recipe), &kept, &Known::default());
    loaded.findings.extend(findings);
    Ok((pins, known))
}

/// Compares the files of checkpoints that changed. A list is in the working tree or at one of the
/// revisions that are compared; where one is nowhere, nothing is said of files.
fn files(loaded: &Loaded<'_, '_>, changes: &[Change], verb: &Diff) -> Vec<Files> {
    let pairs: BTreeSet<(&str, &str)> = changes
        .iter()
        .filter(|change| change.path.starts_with("pins.checkpoint") && change.path.ends_with(".files"))
        .filter_map(|change| Some((change.old.as_str()?, change.new.as_str()?)))
        .collect();
    let operands = [&verb.old, &verb.new].into_iter().flatten();
    let revisions: Vec<&str> =
        operands.map(|operand| operand.strip_prefix("rev:").unwrap_or(operand)).chain(["HEAD"]).collect();
    let list = |digest: &str| {
        let digest: Digest = digest.parse().ok()?;
        let path = ::lock::files::path(&digest);
        let root = &loaded.workspace.root;
        let here = root
            .bytes(&path, corpus::LOCK_LIMIT)
            .ok()
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        let there = || {
            revisions.iter().find_map(|name| {
                let texts = host::history::texts_at(root.folder(), name, &path, ".json").ok()??;
                texts.into_iter().next().map(|(_, text)| text)
            })
        };
        ::lock::files::read(&digest, &here.or_else(there)?).ok()
    };
    let compared = pairs.into_iter().filter_map(|(old, new)| {
        let difference = ::lock::files::compare(&list(old)?, &list(new)?);
        Some(Files { old: old.to_owned(), new: new.to_owned(), difference })
    });
    compared.collect()
}

fn compare(old: &Side, new: &Side) -> Comparison {
    let mut comparison = Comparison::default();
    let mut pair = |old: &Lock, new: &Lock| {
        let changes = diff(old, new);
        if changes.is_empty() {
            comparison.unchanged += 1;
        }
        comparison.changes.extend(changes);
    };
    if let (true, true, Some(a), Some(b)) =
        (old.single, new.single, old.locks.values().next(), new.locks.values().next())
    {
        pair(a, b);
        return comparison;
    }
    for (key, now) in &new.locks {
        if let Some(before) = old.locks.get(key) {
            pair(before, now);
        }
    }
    let only =
        |a: &Side, b: &Side| a.locks.keys().filter(|key| !b.locks.contains_key(*key)).cloned().collect();
    comparison.added = only(new, old);
    comparison.removed = only(old, new);
    comparison
}
