//! What the lock pins is still what its names resolve to.

use std::collections::BTreeMap;

use diag::slugs::verify::PIN_VALID;
use lock::Lock;
use lock::pin::{Entry, Pin};

use super::verdict;
use crate::claim::Subject;
use crate::cookbook::Class;
use crate::judge::Standing;
use crate::verdict::{Evidence, Outcome, Verdict};

pub(crate) fn judge(
    subject: &Subject<'_>,
    lock: Option<&Lock>,
    standing: &BTreeMap<String, Standing>,
) -> Vec<Verdict> {
    let Some(lock) = lock else {
        return vec![verdict(
            subject,
            PIN_VALID,
            Outcome::Unreadable,
            "the recipe has no lock; run `recipec lock`",
        )];
    };
    let mut verdicts = Vec::new();
    let mut same = Vec::new();
    for (name, entry) in &lock.pins {
        let pin = match entry {
            Entry::Unpinned { reason, .. } => {
                let mut found =
                    verdict(subject, PIN_VALID, Outcome::Silent, format!("`{name}` has no pin: {reason}"));
                found.advisory = true;
                verdicts.push(found);
                continue;
            }
            Entry::Pinned { pin, .. } => pin,
        };
        let (outcome, message) = match standing.get(name) {
            None => continue,
            Some(Standing::Same) => {
                same.push(evidence(name, pin));
                continue;
            }
            Some(Standing::Moved(now)) => (
                Outcome::Drifts,
                format!(
                    "`{name}` moved: pinned {}, now {now}; the pin stays what was measured",
                    content(pin)
                ),
            ),
            Some(Standing::Gone(why)) => (Outcome::Drifts, format!("`{name}` is gone: {why}")),
            Some(Standing::Unreachable(why)) => {
                (Outcome::Unreadable, format!("`{name}` could not be asked: {why}"))
            }
        };
        let mut found = verdict(subject, PIN_VALID, outcome, message);
        found.evidence.push(evidence(name, pin));
        verdicts.push(found);
    }
    if !same.is_empty() {
        let message = match same.as_slice() {
            [one] => format!("`{}` still resolves to its pin", one.repo),
            all => format!("{} names still resolve to their pins", all.len()),
        };
        let mut found = verdict(subject, PIN_VALID, Outcome::Holds, message);
        found.evidence = same;
        verdicts.push(found);
    }
    verdicts
}

fn evidence(name: &str, pin: &Pin) -> Evidence {
    Evidence {
        repo: name.to_owned(),
        commit: content(pin),
        path: String::new(),
        line: 0,
        class: Class::Independent,
    }
}

/// Returns the digest or commit of a pin.
fn content(pin: &Pin) -> String {
    match pin {
        Pin::Image(image) => image.digest.to_string(),
        Pin::Checkpoint(snapshot) | Pin::Dataset(snapshot) => snapshot.commit.clone(),
        Pin::Source(source) => source.commit.clone(),
    }
}
