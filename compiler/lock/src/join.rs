//! Merging lockfiles as a version control system hands them over: three texts in, one out.

use diag::Diagnostics;
use serde_json::Value;
use similar::{Algorithm, DiffOp, capture_diff_slices};

use crate::merge::{Conflict, merge, repair};
use crate::{Lock, pretty, wire};

/// What three texts of one lockfile give.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Joined {
    /// One lock, whole and sealed.
    Clean(String),
    /// What both sides changed, and differently.
    Conflicted {
        /// All that could be merged, with conflict markers around what could not.
        text: String,
        /// What a person or a manifest must decide.
        conflicts: Vec<Conflict>,
    },
    /// A side that is no whole lock: nothing is merged, and nothing is sealed that was edited.
    Unread {
        /// Both sides, with conflict markers around all that differs.
        text: String,
        /// What is wrong with the sides.
        findings: Diagnostics,
    },
}

/// Merges the texts of a lock. `path` is named in what goes wrong. An ancestor that cannot be read
/// counts as none: then all in which the sides differ is a conflict, and nothing is guessed.
#[must_use]
pub fn join(path: &str, base: &str, ours: &str, theirs: &str) -> Joined {
    let (mine, other) = match (Lock::read(path, ours), Lock::read(path, theirs)) {
        (Ok(mine), Ok(other)) => (mine, other),
        (mine, other) => {
            let findings = [mine.err(), other.err()].into_iter().flatten().flatten().collect();
            return Joined::Unread { text: marked(ours, theirs), findings };
        }
    };
    // The ancestor of a merge of merges has markers itself.
    let base = match Lock::read(path, base) {
        Ok(lock) => Some(lock),
        Err(_) => {
            repair(path, base).ok().filter(|merged| merged.conflicts.is_empty()).map(|merged| merged.lock)
        }
    };
    let merged = merge(base.as_ref(), &mine, &other);
    if merged.conflicts.is_empty() {
        return Joined::Clean(merged.lock.write());
    }
    let mut turned = merge(base.as_ref(), &other, &mine).lock;
    // No person can choose between digests: where the plans are the same ones, planning anew tells.
    if turned.plans.keys().eq(merged.lock.plans.keys()) {
        turned.plans.clone_from(&merged.lock.plans);
    }
    let text = marked(&unsealed(&merged.lock), &unsealed(&turned));
    Joined::Conflicted { text, conflicts: merged.conflicts }
}

/// Returns a lock's text without its seal, which no choice of lines could keep.
fn unsealed(lock: &Lock) -> String {
    let mut document = wire::write(lock);
    if let Value::Object(map) = &mut document {
        map.remove("seal");
    }
    pretty(&document)
}

/// Lines beyond which two texts are not compared line by line.
const LONGEST: usize = 50_000;

/// Returns one text with conflict markers around the lines in which two differ.
fn marked(ours: &str, theirs: &str) -> String {
    let lines = |text: &'_ str| text.lines().map(str::to_owned).collect::<Vec<String>>();
    let (ours, theirs) = (lines(ours), lines(theirs));
    let whole = DiffOp::Replace { old_index: 0, old_len: ours.len(), new_index: 0, new_len: theirs.len() };
    let operations = if ours.len().max(theirs.len()) > LONGEST {
        vec![whole]
    } else {
        capture_diff_slices(Algorithm::Patience, &ours, &theirs)
    };
    let mut text = String::new();
    let mut add = |lines: &[String]| {
        for line in lines {
            text.push_str(line);
            text.push('\n');
        }
    };
    for operation in operations {
        let (mine, other) = (&ours[operation.old_range()], &theirs[operation.new_range()]);
        if matches!(operation, DiffOp::Equal { .. }) {
            add(mine);
            continue;
        }
        add(&["<<<<<<< ours".to_owned()]);
        add(mine);
        add(&["=======".to_owned()]);
        add(other);
        add(&[">>>>>>> theirs".to_owned()]);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lines_that_differ_stand_between_markers() {
        let text = marked("{\n  \"a\": 1,\n  \"b\": 1\n}\n", "{\n  \"a\": 1,\n  \"b\": 2\n}\n");
        let expected = "{\n  \"a\": 1,\n<<<<<<< ours\n  \"b\": 1\n=======\n  \"b\": 2\n>>>>>>> theirs\n}\n";
        assert_eq!(text, expected);
        let sides = crate::sides(&text).map(|sides| (sides.ours, sides.theirs));
        let expected =
            ("{\n  \"a\": 1,\n  \"b\": 1\n}\n".to_owned(), "{\n  \"a\": 1,\n  \"b\": 2\n}\n".to_owned());
        assert_eq!(sides, Some(expected));
    }

    #[test]
    fn texts_too_long_to_compare_are_a_conflict_as_a_whole() {
        let long = "x\n".repeat(LONGEST + 1);
        let text = marked(&long, "y\n");
        assert!(text.starts_with("<<<<<<< ours\nx\n") && text.ends_with("=======\ny\n>>>>>>> theirs\n"));
    }
}
