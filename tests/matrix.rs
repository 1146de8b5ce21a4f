//! The jobs of every recipe beside those of upstream's own generator.

use eval::{Limits, Session};
use serde_json::Value;

use crate::oracle::{gz, load, manifests};
use crate::support::{repository, shared};

/// Recipes that are newer than the recorded matrix.
pub const NEWER: [&str; 2] =
    ["qwen3.8next-fp4-b200-sglang-agentic-mtp", "qwen3.8next-fp4-h200-sglang-agentic-mtp"];

#[test]
fn every_matrix_equals_upstreams_field_for_field() {
    let Some(shared) = shared("every_matrix_equals_upstreams_field_for_field") else { return };
    let recorded = gz(&shared.join("oracles/matrix.json.gz"));
    let (files, recipes, targets) = manifests(repository());
    let mut session = Session::new(&files, Limits::default());
    let corpus = load(&mut session, &recipes, &targets);
    let mut jobs = 0;
    for recipe in &corpus.recipes {
        let key = &recipe.key.value;
        if NEWER.contains(&key.as_str()) {
            continue;
        }
        let theirs = recorded[key].as_array().unwrap_or_else(|| panic!("upstream has no {key}"));
        let ours = recipe::matrix(recipe, &corpus.targets);
        assert_eq!(theirs.len(), ours.len(), "{key} has as many jobs");
        for (theirs, ours) in theirs.iter().zip(&ours) {
            assert_eq!(theirs, &Value::Object(ours.row.clone()), "{key} job {:?}", ours.index);
        }
        jobs += ours.len();
    }
    println!("{jobs} jobs of {} recipes", corpus.recipes.len());
    assert!(jobs > 0);
}
