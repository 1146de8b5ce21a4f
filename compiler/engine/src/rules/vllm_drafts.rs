//! vLLM: rules about drafts that depend on what drafts.
//!
//! Read in `vllm/config/speculative.py` of the releases named.

use diag::slugs::engine as slugs;

use super::Rule;
use super::vllm::{member, number, rule, speculation, text};
use crate::finding::Finding;
use crate::view::View;

// 0.33.0 drafts over context-parallel ranks, and takes the block for the default only.
pub(super) const RULES: &[Rule] = &[
    Rule {
        from: "0.27.1",
        to: "0.27.1",
        ..rule("vl-dspark-dcp", "vllm 0.27.1 config/speculative.py:986", dspark_dcp)
    },
    Rule {
        from: "0.27.1",
        to: "0.27.1",
        ..rule("vl-dspark-block", "vllm 0.27.1 config/speculative.py:1036", dspark_block)
    },
    rule("vl-npredict", "vllm 0.27.1 config/speculative.py:1009", multiples_of_the_head),
];

fn dspark_dcp(view: &View<'_>) -> Vec<Finding> {
    let Some((map, set)) = speculation(view) else { return Vec::new() };
    let Some((dcp, size)) = view.given_number("--decode-context-parallel-size").filter(|(size, _)| *size > 1)
    else {
        return Vec::new();
    };
    let kimi = view.launch.model.as_ref().and_then(|model| model.facts.architecture.as_ref());
    if text(&map, "method") != Some("dspark") || kimi.is_some_and(|of| !of.value.starts_with("Kimi")) {
        return Vec::new();
    }
    vec![
        Finding::error(
            slugs::EXCLUDED_FLAGS,
            size.value,
            format!("DSpark does not go with decode context parallelism {dcp} in this release"),
        )
        .also(member(view, &set, "method"), "the method")
        .help("where the image is a branch that can, say so: `waivers.vl-dspark-dcp = \"why\";`"),
    ]
}

/// A block drafter makes its block whole.
fn dspark_block(view: &View<'_>) -> Vec<Finding> {
    let Some((map, set)) = speculation(view) else { return Vec::new() };
    let Some(drafts) = number(&map, "num_speculative_tokens") else { return Vec::new() };
    if text(&map, "method") != Some("dspark") {
        return Vec::new();
    }
    // The draft is a model of its own, or part of the checkpoint that serves.
    let drafter = if map.contains_key("model") { &view.launch.draft } else { &view.launch.model };
    let Some(drafter) = drafter else { return Vec::new() };
    let Some(block) = view.need(
        slugs::DRAFT_TOKENS,
        drafter.facts.draft_block.as_ref(),
        "the block size of the draft checkpoint",
    ) else {
        return Vec::new();
    };
    if u64::try_from(drafts).is_ok_and(|drafts| drafts >= block.value) {
        return Vec::new();
    }
    vec![
        Finding::error(
            slugs::DRAFT_TOKENS,
            member(view, &set, "num_speculative_tokens"),
            format!("`{}` drafts blocks of {}, and {drafts} are asked for", drafter.repository, block.value),
        )
        .why("part of a block is garbled output, not a lower acceptance, so the engine refuses")
        .help(format!("write {}, or more", block.value))
        .replace(block.value.to_string()),
    ]
}

/// A head of several layers is used again as a whole.
fn multiples_of_the_head(view: &View<'_>) -> Vec<Finding> {
    let Some((map, set)) = speculation(view) else { return Vec::new() };
    let Some(drafts) = number(&map, "num_speculative_tokens").and_then(|drafts| u64::try_from(drafts).ok())
    else {
        return Vec::new();
    };
    if !text(&map, "method").is_some_and(|method| method.ends_with("mtp")) || map.contains_key("model") {
        return Vec::new();
    }
    let Some(model) = &view.launch.model else { return Vec::new() };
    let facts = &model.facts;
    // These are given a number of layers by the engine, whatever their config says.
    let fixed = ["MiMo", "Inkling", "Gemma4"];
    if facts.architecture.as_ref().is_some_and(|of| fixed.iter().any(|family| of.value.starts_with(family))) {
        return Vec::new();
    }
    let Some(layers) =
        view.need(slugs::DRAFT_TOKENS, facts.draft_layers.as_ref(), "the number of layers of the draft head")
    else {
        return Vec::new();
    };
    let layers = layers.value;
    if layers == 0 || drafts <= layers || drafts % layers == 0 {
        return Vec::new();
    }
    let below = drafts - drafts % layers;
    vec![
        Finding::error(
            slugs::DRAFT_TOKENS,
            member(view, &set, "num_speculative_tokens"),
            format!("{drafts} draft tokens are no multiple of the {layers} layers of the draft head"),
        )
        .why("beyond its own layers the head is run again as a whole")
        .help(format!("write {below}, or {}", below.saturating_add(layers))),
    ]
}
