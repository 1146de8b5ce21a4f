//! The two stories that must come out right, as far as recipes and plans go.

use std::collections::BTreeMap;

use diag::{Diagnostic, Severity};
use engine::known::Known;
use eval::{Limits, Session};
use recipe::Checked;
use recipe::plan::Plan;

use crate::oracle::{load, manifests};
use crate::support::repository;

const MOVED: [&str; 4] = [
    "qwen3.5-fp4-b200-sglang",
    "qwen3.5-fp4-b200-sglang-mtp",
    "qwen3.5-fp4-b300-sglang",
    "qwen3.5-fp4-b300-sglang-mtp",
];

/// Checks a fixture root; the second part has, for each finding, the characters that it is at.
fn check(folder: &str) -> (Checked, Vec<(Diagnostic, String)>) {
    let (files, recipes, targets) = manifests(&repository().join("fixtures/manifests").join(folder));
    let mut session = Session::new(&files, Limits::default());
    let corpus = load(&mut session, &recipes, &targets);
    let checked = recipe::check(&mut session, &corpus, &Known::default());
    let at = |finding: &Diagnostic| match finding.span {
        Some(span) => {
            let file = session.sources().get(span.file).unwrap();
            let line = file.position(span.start).line;
            format!("{}:{line} {}", file.path, session.sources().text(span))
        }
        None => String::new(),
    };
    let findings = checked.diagnostics.iter().map(|finding| (finding.clone(), at(finding))).collect();
    (checked, findings)
}

fn by_id(checked: Checked) -> BTreeMap<String, Plan> {
    checked.plans.into_iter().map(|plan| (plan.id(), plan)).collect()
}

fn texts(plan: &Plan) -> String {
    format!("{:?} {:?} {:?}", plan.groups, plan.container, plan.mounts)
}

#[test]
fn moving_one_checkpoint_changes_exactly_the_four_recipes_that_name_it() {
    let (before, _) = check("v1-to-v2/before");
    let (after, findings) = check("v1-to-v2/after");
    assert!(findings.is_empty(), "{findings:#?}");
    let (before, after) = (by_id(before), by_id(after));
    assert_eq!(before.keys().collect::<Vec<_>>(), after.keys().collect::<Vec<_>>());
    let mut changed: BTreeMap<&str, usize> = BTreeMap::new();
    for (id, old) in &before {
        if *old != after[id] {
            *changed.entry(old.recipe.as_str()).or_default() += 1;
        }
    }
    // Six plans each: three points, throughput and eval.
    assert_eq!(changed.into_iter().collect::<Vec<_>>(), MOVED.map(|key| (key, 6)));
}

#[test]
fn no_target_serves_the_new_checkpoint_to_the_recipe_that_stays() {
    let (after, _) = check("v1-to-v2/after");
    let mut seen = 0;
    for plan in &after.plans {
        let moved = MOVED.contains(&plan.recipe.as_str());
        assert_eq!(texts(plan).contains("NVFP4-V2"), moved, "{}", plan.id());
        let wanted = plan.wants.iter().any(|want| want.contains("NVFP4-V2"));
        assert_eq!(wanted, moved, "{}", plan.id());
        seen += usize::from(!moved);
    }
    assert_eq!(seen, 6);
}

#[test]
fn the_real_recipes_tell_the_two_checkpoints_apart_on_every_target() {
    let (files, recipes, targets) = manifests(repository());
    let mut session = Session::new(&files, Limits::default());
    let corpus = load(&mut session, &recipes, &targets);
    let checked = recipe::check(&mut session, &corpus, &Known::default());
    assert!(!checked.diagnostics.has_errors(), "{:#?}", checked.diagnostics);
    for plan in &checked.plans {
        let recipe = corpus.recipes.iter().find(|recipe| recipe.key.value == plan.recipe).unwrap();
        let new = recipe.model.repository.value.ends_with("NVFP4-V2");
        assert_eq!(texts(plan).contains("NVFP4-V2"), new, "{}", plan.id());
    }
}

#[test]
fn what_a_copied_agentic_recipe_has_wrong_is_found_at_its_characters() {
    let (_, findings) = check("agentic-copy");
    let found: Vec<(&str, Severity, &str)> =
        findings.iter().map(|(finding, at)| (finding.slug.as_str(), finding.severity, at.as_str())).collect();
    assert_eq!(
        found,
        [
            (
                "no-place-for-checkpoint",
                Severity::Error,
                "manifests/copy.nix:11 \"example/Flash-Next-NVFP4\""
            ),
            ("acceptance-off-curve", Severity::Error, "manifests/copy.nix:24 3.24"),
            ("linear-attention-state", Severity::Error, "manifests/copy.nix:29 \"float32\""),
            ("unreached-branch", Severity::Warning, "manifests/copy.nix:31 6"),
            // The engine knows the algorithm under another name.
            ("silent-rewrite", Severity::Note, "manifests/lib/parts.nix:12 speculative.algorithm"),
        ]
    );
    let fixed = &findings[1].0.fixes[0].text;
    assert_eq!(fixed, "2.32");
}
