//! The rules, one file each. Each gives verdicts with evidence; none looks anything up by a
//! recipe's name.

pub(crate) mod architecture;
pub(crate) mod cookbook;
pub(crate) mod deprecation;
pub(crate) mod engine_first;
pub(crate) mod golden;
pub(crate) mod image;
pub(crate) mod offload;
pub(crate) mod pins;
pub(crate) mod shipped;
pub(crate) mod template;

use recipe::plan::Plan;

use crate::claim::Subject;
use crate::cookbook::Class;
use crate::verdict::{Evidence, Outcome, Verdict};

/// Starts a verdict on a recipe.
pub(crate) fn verdict(
    subject: &Subject<'_>,
    slug: diag::Slug,
    outcome: Outcome,
    message: impl Into<String>,
) -> Verdict {
    Verdict {
        recipe: subject.recipe.clone(),
        points: Vec::new(),
        slug: slug.as_str(),
        verdict: outcome,
        facets: Vec::new(),
        cell: None,
        evidence: Vec::new(),
        message: message.into(),
        advisory: false,
    }
}

/// Returns the ids of the points of plans, each once, in order.
fn all_points(subject: &Subject<'_>, plans: &[&Plan]) -> Vec<String> {
    let mut all: Vec<(u32, String)> = Vec::new();
    for plan in plans {
        for point in subject.points(plan) {
            let entry = (plan.job.unwrap_or_default(), point);
            if !all.contains(&entry) {
                all.push(entry);
            }
        }
    }
    all.sort_by_key(|(job, _)| *job);
    all.into_iter().map(|(_, point)| point).collect()
}

/// Returns a number of things in words: `1 job`, `2 jobs`.
pub(crate) fn counted(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

/// Evidence in a file of policy, which names its own sources.
fn policy_file(name: &str) -> Evidence {
    Evidence {
        repo: String::new(),
        commit: String::new(),
        path: format!("manifests/policy/{name}"),
        line: 0,
        class: Class::Independent,
    }
}
