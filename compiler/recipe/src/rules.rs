//! The rules over recipes, targets and plans, one file a rule.

pub(crate) mod concurrencies;
pub(crate) mod duplicate_key;
pub(crate) mod engine_findings;
pub(crate) mod field_without_effect;
pub(crate) mod gpus;
pub(crate) mod offload;
pub(crate) mod repeated_width;
pub(crate) mod router;
pub(crate) mod sizes;
pub(crate) mod unknown_target;
pub(crate) mod unreached_branch;

use diag::Diagnostics;

use crate::check::Corpus;

/// Applies the rules that need no plan.
pub(crate) fn static_rules(corpus: &Corpus, out: &mut Diagnostics) {
    duplicate_key::report(corpus, out);
    for recipe in &corpus.recipes {
        unknown_target::report(recipe, corpus, out);
        concurrencies::report(recipe, out);
        gpus::report(recipe, corpus, out);
    }
}
