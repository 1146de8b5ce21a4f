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
            Some(Standing::Same) => (Outcome::Holds, format!("`{name}` still resolves to its pin")),
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
        found.evidence.push(Evidence {
            repo: name.clone(),
            commit: content(pin),
            path: String::new(),
            line: 0,
            class: Class::Independent,
        });
        verdicts.push(found);
    }
    verdicts
}

/// Returns the digest or commit of a pin.
fn content(pin: &Pin) -> String {
    match pin {
        Pin::Image(image) => image.digest.to_string(),
        Pin::Checkpoint(snapshot) | Pin::Dataset(snapshot) => snapshot.commit.clone(),
        Pin::Source(source) => source.commit.clone(),
    }
}
