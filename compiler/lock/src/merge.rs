//! Merging locks after two branches changed one recipe, and repairing conflict markers.

use std::collections::{BTreeMap, BTreeSet};

use diag::slugs::lock::LOCK_CONFLICT;
use diag::{Diagnostic, Diagnostics};
use serde_json::Value;

use crate::pin::Entry;
use crate::{Lock, wire};

/// What both sides changed, and differently.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Conflict {
    /// The field: a want's name, `known.…`, or a plan.
    pub path: String,
    /// What the one side says.
    pub ours: Value,
    /// What the other side says.
    pub theirs: Value,
}

/// A merged lock, and what could not be decided: there, `ours` stands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Merged {
    /// The lock. Its launch and plans are right only if there is no conflict among them; a lock
    /// that is built anew from manifests takes only pins and facts from here.
    pub lock: Lock,
    /// What a person or a manifest must decide.
    pub conflicts: Vec<Conflict>,
}

/// Merges two locks of one recipe, three ways if the common ancestor is given.
#[must_use]
pub fn merge(base: Option<&Lock>, ours: &Lock, theirs: &Lock) -> Merged {
    let mut conflicts = Vec::new();
    let empty = Lock::default();
    let base = base.unwrap_or(&empty);
    let mut lock = Lock { recipe: ours.recipe.clone(), ..Lock::default() };
    if ours.recipe != theirs.recipe {
        conflict(&mut conflicts, "recipe", &ours.recipe, &theirs.recipe);
    }
    lock.pins = three_way(&base.pins, &ours.pins, &theirs.pins, pinned_first, |name, a, b| {
        conflict(&mut conflicts, name, a, b);
    });
    macro_rules! facts {
        ($section:ident) => {
            lock.known.$section = three_way(
                &base.known.$section,
                &ours.known.$section,
                &theirs.known.$section,
                |_, _| None,
                |name, a, b| {
                    conflict(&mut conflicts, &format!("known.{}.{name}", stringify!($section)), a, b);
                },
            );
        };
    }
    facts!(checkpoints);
    facts!(images);
    facts!(curves);
    // Digests of plans cannot be merged: where both sides changed a plan, only planning anew tells.
    // One side may have renumbered the jobs, so behaviour is taken whole or not at all.
    let behaviour = |lock: &Lock| (lock.jobs.clone(), lock.launch.clone(), lock.plans.clone());
    let (base_behaviour, ours_behaviour, theirs_behaviour) =
        (behaviour(base), behaviour(ours), behaviour(theirs));
    let theirs_only = ours_behaviour == base_behaviour;
    if !theirs_only && theirs_behaviour != base_behaviour && ours_behaviour != theirs_behaviour {
        let plans = |lock: &Lock| -> Value {
            lock.plans.iter().map(|(key, print)| format!("{key} {}", print.plan)).collect()
        };
        conflicts.push(Conflict { path: "plans".to_owned(), ours: plans(ours), theirs: plans(theirs) });
    }
    (lock.jobs, lock.launch, lock.plans) = if theirs_only { theirs_behaviour } else { ours_behaviour };
    Merged { lock, conflicts }
}

fn conflict<T: serde::Serialize>(conflicts: &mut Vec<Conflict>, path: &str, ours: &T, theirs: &T) {
    let json = |side: &T| serde_json::to_value(side).unwrap_or_default();
    conflicts.push(Conflict { path: path.to_owned(), ours: json(ours), theirs: json(theirs) });
}

/// A pin beats the absence of one, whichever side has it.
fn pinned_first(ours: &Entry, theirs: &Entry) -> Option<Entry> {
    match (ours, theirs) {
        (Entry::Pinned { .. }, Entry::Unpinned { .. }) => Some(ours.clone()),
        (Entry::Unpinned { .. }, Entry::Pinned { .. } | Entry::Unpinned { .. }) => Some(theirs.clone()),
        (Entry::Pinned { .. }, Entry::Pinned { .. }) => None,
    }
}

fn three_way<T: Clone + PartialEq>(
    base: &BTreeMap<String, T>,
    ours: &BTreeMap<String, T>,
    theirs: &BTreeMap<String, T>,
    decide: impl Fn(&T, &T) -> Option<T>,
    mut conflict: impl FnMut(&str, &T, &T),
) -> BTreeMap<String, T> {
    let names: BTreeSet<&String> = base.keys().chain(ours.keys()).chain(theirs.keys()).collect();
    let mut merged = BTreeMap::new();
    for name in names {
        let (was, mine, other) = (base.get(name), ours.get(name), theirs.get(name));
        let value = if mine == other || other == was {
            mine.cloned()
        } else if mine == was {
            other.cloned()
        } else {
            match (mine, other) {
                (Some(mine), Some(other)) => Some(decide(mine, other).unwrap_or_else(|| {
                    conflict(name, mine, other);
                    mine.clone()
                })),
                // One side removed what the other changed: what is used is decided by manifests,
                // so the changed one stays, and building anew drops it if nobody wants it.
                (one, two) => one.or(two).cloned(),
            }
        };
        if let Some(value) = value {
            merged.insert(name.clone(), value);
        }
    }
    merged
}

/// The sides of a file with conflict markers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sides {
    /// The one side.
    pub ours: String,
    /// The other.
    pub theirs: String,
    /// The common ancestor, where the markers have it (`merge.conflictStyle=diff3`).
    pub base: Option<String>,
}

/// Returns true if a text has conflict markers as git writes them.
pub(crate) fn has_markers(text: &str) -> bool {
    text.lines().any(|line| line.starts_with("<<<<<<< ") || line == "<<<<<<<")
}

/// Splits a file with conflict markers into its sides; `None` if it has none, or if they do not
/// match up.
#[must_use]
pub fn sides(text: &str) -> Option<Sides> {
    #[derive(PartialEq, Clone, Copy)]
    enum In {
        Both,
        Ours,
        Base,
        Theirs,
    }
    if !has_markers(text) {
        return None;
    }
    let mut state = In::Both;
    let (mut ours, mut base, mut theirs) = (String::new(), String::new(), String::new());
    let mut with_base = false;
    for line in text.split_inclusive('\n') {
        let mark = line.get(..7).filter(|_| line[7..].is_empty() || line[7..].starts_with([' ', '\n', '\r']));
        state = match (mark, state) {
            (Some("<<<<<<<"), In::Both) => In::Ours,
            (Some("|||||||"), In::Ours) => {
                with_base = true;
                In::Base
            }
            (Some("======="), In::Ours | In::Base) => In::Theirs,
            (Some(">>>>>>>"), In::Theirs) => In::Both,
            (Some("<<<<<<<" | ">>>>>>>"), _) => return None,
            (_, state) => {
                if matches!(state, In::Both | In::Ours) {
                    ours.push_str(line);
                }
                if matches!(state, In::Both | In::Base) {
                    base.push_str(line);
                }
                if matches!(state, In::Both | In::Theirs) {
                    theirs.push_str(line);
                }
                state
            }
        };
    }
    (state == In::Both).then_some(Sides { ours, theirs, base: with_base.then_some(base) })
}

/// Reads both sides of a conflicted file and merges what they pin and know. Behaviour is left
/// empty: git may have merged parts of it already, so only planning anew gives it.
///
/// # Errors
/// If there are no markers that match up, or a side is no lock.
pub fn repair(path: &str, text: &str) -> Result<Merged, Diagnostics> {
    let Some(sides) = sides(text) else {
        let message = format!("cannot read `{path}`: its conflict markers do not match up");
        let found = Diagnostic::error(LOCK_CONFLICT, message)
            .help("take one side from version control, then run `recipec lock`");
        return Err(Diagnostics::from_iter([found]));
    };
    let read = |side: &str| wire::read_pins(path, side);
    let base = sides.base.as_deref().and_then(|base| read(base).ok());
    Ok(merge(base.as_ref(), &read(&sides.ours)?, &read(&sides.theirs)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sides_of_a_conflict_are_found() {
        let text =
            "{\n<<<<<<< HEAD\n  \"a\": 1\n||||||| base\n  \"a\": 0\n=======\n  \"a\": 2\n>>>>>>> other\n}\n";
        let sides = sides(text);
        let expected = Sides {
            ours: "{\n  \"a\": 1\n}\n".to_owned(),
            theirs: "{\n  \"a\": 2\n}\n".to_owned(),
            base: Some("{\n  \"a\": 0\n}\n".to_owned()),
        };
        assert_eq!(sides, Some(expected));
    }

    #[test]
    fn markers_that_do_not_match_up_are_refused() {
        for text in
            ["{}", "<<<<<<< a\n", "<<<<<<< a\n=======\n<<<<<<< b\n>>>>>>> c\n", "é\n<<<<<<< a\n=======\n"]
        {
            assert_eq!(sides(text), None, "{text}");
        }
    }

    #[test]
    fn a_change_of_one_side_is_taken_and_two_changes_are_a_conflict() {
        let map = |pairs: &[(&str, i32)]| {
            pairs.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect::<BTreeMap<_, _>>()
        };
        let mut found = Vec::new();
        let base = map(&[("a", 1), ("b", 1), ("c", 1), ("gone", 1)]);
        let ours = map(&[("a", 2), ("b", 1), ("c", 2)]);
        let theirs = map(&[("a", 1), ("b", 3), ("c", 3), ("gone", 1), ("new", 1)]);
        let merged = three_way(&base, &ours, &theirs, |_, _| None, |name, _, _| found.push(name.to_owned()));
        assert_eq!(merged, map(&[("a", 2), ("b", 3), ("c", 2), ("new", 1)]));
        assert_eq!(found, ["c"]);
    }
}
