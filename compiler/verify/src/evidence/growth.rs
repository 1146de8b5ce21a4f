//! A curve that only grows: every point that was there is there byte for byte, with the same image,
//! and the new ones are named.

use std::collections::BTreeMap;

use diag::slugs::verify::APPEND_ONLY;
use lock::pin::{Entry, Pin};
use lock::{Digest, Lock, fingerprint};
use recipe::want::Want;

use crate::claim::Subject;
use crate::rules;
use crate::verdict::{Outcome, Verdict};

/// Judges a recipe beside its lock of before; `lock` is that of now.
#[must_use]
pub fn judge(subject: &Subject<'_>, before: Option<&Lock>, lock: Option<&Lock>) -> Verdict {
    let Some(before) = before else {
        let message = "it was not there before: a new recipe is no growth of an old curve";
        return rules::verdict(subject, APPEND_ONLY, Outcome::Drifts, message);
    };
    // A plan's digest is free of its place, so each is matched with one of the same.
    let mut now: BTreeMap<Digest, Vec<(u32, String)>> = BTreeMap::new();
    for plan in subject.plans {
        let points = subject.points(plan).join(" ");
        let entry = now.entry(fingerprint(plan).plan).or_default();
        entry.push((plan.job.unwrap_or_default(), points));
    }
    let mut lost: BTreeMap<u32, String> = BTreeMap::new();
    for (key, fingerprint) in &before.plans {
        let same = now.get_mut(&fingerprint.plan).and_then(Vec::pop);
        if same.is_none() {
            lost.insert(key.job, named(before, key.job));
        }
    }
    let mut new: Vec<(u32, String)> = now.into_values().flatten().collect();
    new.sort();
    new.dedup();
    let ids: Vec<String> = new.iter().map(|(_, id)| id.clone()).filter(|id| !id.is_empty()).collect();
    let moved = lock.is_some_and(|lock| image(lock) != image(before));
    let mut wrong: Vec<String> = Vec::new();
    if !lost.is_empty() {
        let lost: Vec<&str> = lost.values().take(4).map(String::as_str).collect();
        wrong.push(format!("no longer there as it was: {}", lost.join("; ")));
    }
    if moved {
        wrong.push("the image is another one".to_owned());
    }
    let (outcome, message) = match (wrong.is_empty(), ids.as_slice()) {
        (false, _) => (Outcome::Drifts, wrong.join("; ")),
        (true, []) => (Outcome::Holds, "every point is as it was, and none is new".to_owned()),
        (true, ids) => {
            (Outcome::Holds, format!("every point is as it was; {} new: {}", ids.len(), ids.join(", ")))
        }
    };
    let mut verdict = rules::verdict(subject, APPEND_ONLY, outcome, message);
    verdict.points = ids;
    verdict
}

/// Returns what told a job apart.
fn named(lock: &Lock, job: u32) -> String {
    let fields = lock.jobs.get(&job).map(|fields| {
        let shown = fields.iter().map(|(name, value)| format!("{name}={}", crate::facet::plain(value)));
        shown.collect::<Vec<_>>().join(" ")
    });
    format!("#{job} {}", fields.unwrap_or_default()).trim_end().to_owned()
}

/// Returns the digests of the images that a lock pins.
fn image(lock: &Lock) -> Vec<String> {
    let images = lock.pins.iter().filter_map(|(name, entry)| match entry {
        Entry::Pinned { pin: Pin::Image(image), .. } => Some(image.digest.to_string()),
        Entry::Unpinned { want: Want::Image { .. }, .. } => Some(name.clone()),
        _ => None,
    });
    images.collect()
}
