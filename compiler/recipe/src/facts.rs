//! What is known of a recipe's checkpoint: what a lock has pinned, before what the manifest states.

use engine::known::{self, Checkpoint, Known};

use crate::recipe::{Curve, Recipe, Speculative};

/// Returns the facts of a recipe's checkpoint; a pinned fact goes before a stated one.
#[must_use]
pub fn checkpoint(recipe: &Recipe, known: &Known) -> Checkpoint {
    let stated = &recipe.model.facts;
    let Some(pinned) = known.checkpoints.get(&recipe.model.repository.value) else {
        return stated.clone();
    };
    macro_rules! first {
        ($($field:ident),* $(,)?) => {
            Checkpoint { $($field: pinned.$field.clone().or_else(|| stated.$field.clone()),)* }
        };
    }
    first!(
        architecture,
        context,
        heads,
        kv_heads,
        experts,
        quantization,
        quantization_algorithm,
        producer,
        chat_template,
        thinks_by_default,
        weight_bytes,
        shared_experts,
        expert_width,
        quantization_block,
        plain_head,
        kv_cache_quantization,
        kv_scales,
        ssm_type,
        draft_layers,
        draft_block,
        config_members,
        schemes,
    )
}

/// Returns everything that a recipe states, as a lock keeps it.
#[must_use]
pub fn stated(recipe: &Recipe) -> Known {
    let mut known = Known::default();
    known.checkpoints.insert(recipe.model.repository.value.clone(), recipe.model.facts.clone());
    for curve in named_curve(recipe.speculative.always()).into_iter().chain(&recipe.curves) {
        if let Some(stated) = &curve.stated {
            known.curves.insert(curve.name.value.clone(), stated.clone());
        }
    }
    known
}

fn named_curve(speculative: Option<&Speculative>) -> Option<&Curve> {
    speculative?.acceptance.as_ref()?.curve.as_ref()
}

/// Returns the golden curve that a recipe's acceptance names, read as [`of_name`] reads it.
#[must_use]
pub fn curve<'a>(speculative: &'a Speculative, known: &'a Known) -> Option<&'a known::Curve> {
    of_name(named_curve(Some(speculative))?, known)
}

/// Returns what a named curve says: as a lock has it, as the manifest states it, or as upstream has
/// committed it.
#[must_use]
pub fn of_name<'a>(curve: &'a Curve, known: &'a Known) -> Option<&'a known::Curve> {
    let name = curve.name.value.as_str();
    known
        .curves
        .get(name)
        .or(curve.stated.as_ref())
        .or_else(|| engine::curves::committed().get(name).map(|committed| &committed.curve))
}

/// Returns `on` or `off`: whether a recipe's traffic thinks. `None` where nobody says.
#[must_use]
pub fn thinking(recipe: &Recipe, facts: &Checkpoint) -> Option<&'static str> {
    let thinks = recipe.model.thinking.as_ref().map(|thinking| thinking.value);
    let thinks = thinks.or_else(|| facts.thinks_by_default.as_ref().map(|fact| fact.value))?;
    Some(if thinks { "on" } else { "off" })
}
