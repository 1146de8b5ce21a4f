//! Rules about how flags go together with each other, the hardware, the checkpoint and the recipe.
//!
//! Each rule names the engine and the versions for which it was read in upstream's source, and
//! where. A rule is a function from what is given to at most a few findings; what every rule does
//! alike (versions, waivers, evidence, how certain the table is) is done here.

mod draft_pair;
mod hardware;
mod image;
pub(crate) mod labels;
mod memory;
mod quantization;
mod sglang;
mod sglang_models;
mod sglang_speculation;
mod sglang_state;
mod topology;
pub(crate) mod vllm;
mod vllm_cache;
mod vllm_drafts;
mod workload;

use diag::Severity;

use crate::Engine;
use crate::finding::Finding;
use crate::view::View;

/// One rule.
pub(crate) struct Rule {
    /// The name by which an image or a recipe waives it.
    pub id: &'static str,
    /// The engine; `None` for every one.
    pub engine: Option<Engine>,
    /// The first version it holds for; empty for all.
    pub from: &'static str,
    /// The last version it holds for; empty for all.
    pub to: &'static str,
    /// Where upstream's own source or record says so.
    pub evidence: &'static str,
    /// What it says.
    pub check: fn(&View<'_>) -> Vec<Finding>,
}

const WAIVERS: &str = include_str!("../tables/waivers.table");

const GROUPS: [&[Rule]; 15] = [
    sglang::RULES,
    sglang_state::RULES,
    sglang_speculation::RULES,
    sglang_models::RULES,
    vllm::RULES,
    vllm_cache::RULES,
    vllm_drafts::RULES,
    hardware::RULES,
    quantization::RULES,
    topology::RULES,
    memory::RULES,
    workload::RULES,
    labels::RULES,
    draft_pair::RULES,
    image::RULES,
];

/// Returns the name of each rule, by which a recipe waives it.
pub fn rule_names() -> impl Iterator<Item = &'static str> {
    GROUPS.into_iter().flatten().map(|rule| rule.id)
}

/// What is to be told of a rule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RuleFacts {
    /// Its name.
    pub name: &'static str,
    /// The engine; `None` for every one.
    pub engine: Option<Engine>,
    /// The first version it holds for; empty for all.
    pub from: &'static str,
    /// The last version it holds for; empty for all.
    pub to: &'static str,
    /// Where upstream's own source or record says so.
    pub evidence: &'static str,
}

/// Returns a rule by its name.
#[must_use]
pub fn rule(name: &str) -> Option<RuleFacts> {
    GROUPS.into_iter().flatten().find(|rule| rule.id == name).map(|rule| RuleFacts {
        name: rule.id,
        engine: rule.engine,
        from: rule.from,
        to: rule.to,
        evidence: rule.evidence,
    })
}

/// Returns whether a rule has this name.
#[must_use]
pub fn is_rule(name: &str) -> bool {
    rule_names().any(|known| known == name)
}

/// Applies every rule. Returns the rules that the launch waives and needed to waive.
pub(crate) fn check(view: &View<'_>, findings: &mut Vec<Finding>) -> Vec<&'static str> {
    let engine = view.table.engine();
    let mut waived = Vec::new();
    for rule in GROUPS.into_iter().flatten() {
        let other = rule.engine.is_some_and(|of| of != engine);
        if other || !view.table.is_within(rule.from, rule.to) || is_waived_by_image(view, rule.id) {
            continue;
        }
        if view.launch.waivers.contains_key(rule.id) {
            let known = view.skipped.borrow().clone();
            let silent = (rule.check)(view).is_empty();
            let skipped = view.skipped.replace(known.clone());
            if !silent || skipped != known {
                waived.push(rule.id);
            }
            continue;
        }
        for mut finding in (rule.check)(view) {
            finding.rule = rule.id;
            if !rule.evidence.is_empty() {
                finding = finding.evidence(rule.evidence);
            }
            // Read in one version's source; a build between two releases may differ.
            if rule.engine.is_some()
                && !view.launch.chosen.exact
                && finding.severity == Severity::Error
                && let Some(note) = &view.launch.chosen.note
            {
                finding.severity = Severity::Warning;
                finding = finding.why(note.clone());
            }
            findings.push(finding);
        }
    }
    waived
}

/// Returns whether the table of images waives a rule: a branch image may differ from the release
/// that it states.
fn is_waived_by_image(view: &View<'_>, rule: &str) -> bool {
    let image = view.launch.image.split('@').next().unwrap_or("");
    WAIVERS.lines().any(|line| {
        let mut cells = line.split('\t');
        cells.next() == Some("waive") && cells.next() == Some(image) && cells.next() == Some(rule)
    })
}

/// Architectures by name. A range of numbers would put `sm_120` with `sm_100`, and they differ.
pub(crate) mod arch {
    /// Hopper.
    pub(crate) const HOPPER: &[&str] = &["sm_90"];
    /// Blackwell of data centres, which SGLang calls SM100.
    pub(crate) const SM100: &[&str] = &["sm_100", "sm_103"];
    /// Blackwell of workstations.
    pub(crate) const SM120: &[&str] = &["sm_120", "sm_121"];
    /// Every Blackwell.
    pub(crate) const BLACKWELL: &[&str] = &["sm_100", "sm_103", "sm_120", "sm_121"];

    pub(crate) fn is_amd(name: &str) -> bool {
        name.starts_with("gfx")
    }

    pub(crate) fn is_nvidia(name: &str) -> bool {
        name.starts_with("sm_")
    }
}

/// Says a list as `a`, `b` or `c`.
pub(crate) fn either(words: &[&str]) -> String {
    match words {
        [] => String::new(),
        [one] => format!("`{one}`"),
        [most @ .., last] => {
            format!(
                "{} or `{last}`",
                most.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
            )
        }
    }
}
