//! The engines that come first serve a model on a GPU before others do.

use diag::slugs::verify::ENGINE_FIRST;

use super::{policy_file, verdict};
use crate::claim::Subject;
use crate::judge::Neighbours;
use crate::policy::Policy;
use crate::verdict::{Outcome, Verdict};

pub(crate) fn judge(subject: &Subject<'_>, neighbours: &Neighbours, policy: &Policy) -> Vec<Verdict> {
    let is_first = |engine: &str| policy.engines.first.iter().any(|first| first == engine);
    if is_first(subject.engine.name()) {
        return Vec::new();
    }
    let mut skus: Vec<&str> = subject.hardware.values().map(|gpu| gpu.sku.as_str()).collect();
    skus.retain(|sku| policy.engines.skus.iter().any(|one| one.eq_ignore_ascii_case(sku)));
    skus.sort_unstable();
    skus.dedup();
    let judged = skus.into_iter().map(|sku| {
        let first = neighbours.all.iter().find(|other| {
            is_first(&other.engine)
                && other.prefix == subject.prefix
                && other.skus.iter().any(|one| one.eq_ignore_ascii_case(sku))
        });
        let exception = policy.engines.exceptions.iter().find(|exception| {
            exception.prefix == subject.prefix
                && (exception.skus.is_empty()
                    || exception.skus.iter().any(|one| one.eq_ignore_ascii_case(sku)))
        });
        let gpu = sku.to_uppercase();
        let (outcome, message) = match (first, exception) {
            (Some(other), _) => (
                Outcome::Holds,
                format!("`{}` serves {} on {gpu} with {}", other.recipe, subject.prefix, other.engine),
            ),
            (None, Some(exception)) => {
                (Outcome::Holds, format!("{} is an exception on {gpu}: {}", subject.prefix, exception.why))
            }
            (None, None) if neighbours.partial => (
                Outcome::Unreadable,
                "only some recipes were read, and none of them comes first; give keys instead of files"
                    .to_owned(),
            ),
            (None, None) => (
                Outcome::Drifts,
                format!(
                    "no recipe serves {} on {gpu} with {}, and one of them comes before {}",
                    subject.prefix,
                    policy.engines.first.join(" or "),
                    subject.engine.title()
                ),
            ),
        };
        let mut found = verdict(subject, ENGINE_FIRST, outcome, message);
        found.evidence.push(policy_file("engines.json"));
        found
    });
    judged.collect()
}
