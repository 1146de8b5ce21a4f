//! The rules, one file each. Each gives verdicts with evidence; none looks anything up by a
//! recipe's name.

pub(crate) mod cookbook;
pub(crate) mod deprecation;
pub(crate) mod golden;
pub(crate) mod image;
pub(crate) mod pins;
pub(crate) mod template;

use crate::claim::Subject;
use crate::cookbook::Class;
use crate::verdict::{Evidence, Outcome, Verdict};

/// Starts a verdict on a recipe.
fn verdict(subject: &Subject<'_>, slug: diag::Slug, outcome: Outcome, message: impl Into<String>) -> Verdict {
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
