//! SGLang: what it does by itself for some models, and what those models refuse.
//!
//! Read in `sglang/srt/arg_groups` of the releases named.

use diag::slugs::engine as slugs;

use super::sglang::{backend, rule, some};
use super::{Rule, arch, either};
use crate::finding::{About, Finding};
use crate::view::View;

pub(super) const RULES: &[Rule] = &[
    Rule {
        from: "0.5.17",
        ..rule("sg-k3-dcp-attn", "sglang 0.5.18 srt/arg_groups/overrides.py:432", kimi_dcp)
    },
    Rule {
        from: "0.5.17",
        to: "0.5.18",
        ..rule("sg-symm-k3", "sglang 0.5.18 srt/arg_groups/kimi_k3_hook.py:76", kimi_symmetric)
    },
    Rule {
        from: "0.5.14",
        ..rule("sg-allreduce-auto", "sglang 0.5.16 srt/arg_groups/overrides.py:1537", all_reduce)
    },
    rule("sg-nextn-alias", "sglang 0.5.16 srt/arg_groups/speculative_hook.py:52", next_n),
];

/// Returns the checkpoint's architecture, or records that the rule is skipped for want of it.
fn architecture<'v>(view: &'v View<'_>, slug: diag::Slug) -> Option<&'v str> {
    let facts = view.launch.model.as_ref().map(|model| &model.facts);
    let known = facts.and_then(|facts| facts.architecture.as_ref());
    view.need(slug, known, "the checkpoint's architecture").map(|of| of.value.as_str())
}

fn kimi_dcp(view: &View<'_>) -> Vec<Finding> {
    let Some((dcp, size)) = view.given_number("--dcp-size").filter(|(size, _)| *size > 1) else {
        return Vec::new();
    };
    let Some(of) = architecture(view, slugs::FAMILY_BACKEND).filter(|of| of.starts_with("KimiK3")) else {
        return Vec::new();
    };
    let mut findings = Vec::new();
    let decoders: &[&str] = if view.table.is_within("0.5.23", "") {
        &["cutedsl_mla", "aiter"]
    } else {
        &["cutedsl_mla", "tokenspeed_mla"]
    };
    if let Some(set) = backend(view, "--attention-backend", "--decode-attention-backend")
        .filter(|set| !decoders.contains(&set.text.as_str()))
    {
        findings.push(
            Finding::error(
                slugs::FAMILY_BACKEND,
                set.value,
                format!(
                    "`{of}` over {dcp} context-parallel ranks decodes with {}, not with `{}`",
                    either(decoders),
                    set.text
                ),
            )
            .also(size.value.clone(), "decode context parallelism")
            .help("leave the backend out: the engine takes the one that can"),
        );
    }
    if let Some(mode) = view.variable("SGLANG_RAGGED_VERIFY_MODE").filter(|mode| *mode != "static")
        && let Some(algorithm) = view.is("--speculative-algorithm", "DSPARK")
    {
        let about = About::VariableValue("SGLANG_RAGGED_VERIFY_MODE".to_owned());
        findings.push(
            Finding::error(
                slugs::EXCLUDED_FLAGS,
                about,
                format!("`{of}` over {dcp} context-parallel ranks verifies in mode `static`, not `{mode}`"),
            )
            .also(algorithm.value, "the drafts that are verified")
            .also(size.value.clone(), "decode context parallelism")
            .replace("static"),
        );
    }
    if let Some(symmetric) = view.on("--enable-symm-mem") {
        findings.push(
            Finding::warning(
                slugs::SILENT_REWRITE,
                symmetric.name,
                "`--enable-symm-mem` is switched off again",
            )
            .why(format!("`{of}` over several context-parallel ranks is wrong with it under graphs"))
            .also(size.value, "decode context parallelism"),
        );
    }
    findings
}

fn kimi_symmetric(view: &View<'_>) -> Vec<Finding> {
    let Some(symmetric) = view.on("--enable-symm-mem") else { return Vec::new() };
    let family = ["KimiLinear", "KimiK3"];
    let Some(of) = architecture(view, slugs::SILENT_REWRITE)
        .filter(|of| family.iter().any(|prefix| of.starts_with(prefix)))
    else {
        return Vec::new();
    };
    let eager = view.on("--disable-cuda-graph").is_some()
        || ["--cuda-graph-backend-decode", "--cuda-graph-backend-prefill"]
            .iter()
            .all(|flag| view.is(flag, "disabled").is_some());
    // With context parallelism the neighbour says it.
    if eager || view.number("--dcp-size", 1) > 1 {
        return Vec::new();
    }
    some(
        Finding::warning(slugs::SILENT_REWRITE, symmetric.name, "`--enable-symm-mem` is switched off again")
            .why(format!(
                "`{of}` is wrong with symmetric memory under captured graphs, so the engine drops it"
            ))
            .help("drop the flag, or capture no graph in either phase"),
    )
}

/// Architectures for which SGLang fuses the all-reduce unless it is told otherwise.
const FUSES: &[&str] = &[
    "DeepseekV3ForCausalLM",
    "DeepseekV32ForCausalLM",
    "GptOssForCausalLM",
    "GlmMoeDsaForCausalLM",
    "Glm4MoeForCausalLM",
    "Glm4MoeLiteForCausalLM",
    "MistralLarge3ForCausalLM",
    "Qwen3MoeForCausalLM",
    "Qwen3VLMoeForConditionalGeneration",
    "Qwen3NextForCausalLM",
    "KimiK25ForConditionalGeneration",
    "Qwen3_5MoeForConditionalGeneration",
    "InternS2PreviewForConditionalGeneration",
    "Qwen3_5ForConditionalGeneration",
    "NemotronHForCausalLM",
    "NemotronHPuzzleForCausalLM",
];

/// Two ways to say something that contradicts what the engine would do by itself.
fn all_reduce(view: &View<'_>) -> Vec<Finding> {
    let Some(off) = view.on("--enforce-disable-flashinfer-allreduce-fusion") else { return Vec::new() };
    if let Some(backend) = view.set("--flashinfer-allreduce-fusion-backend") {
        return some(
            Finding::warning(
                slugs::SILENT_REWRITE,
                backend.value,
                format!("the backend `{}` is dropped again", backend.text),
            )
            .why("the switch that forbids the fusion wins over the backend")
            .also(off.name, "forbids it"),
        );
    }
    let Some(of) = architecture(view, slugs::SILENT_REWRITE) else { return Vec::new() };
    let Some(machine) = view.architecture(slugs::SILENT_REWRITE) else { return Vec::new() };
    // DeepSeek-V4 joined them later.
    let fuses = FUSES.contains(&of) || of == "DeepseekV4ForCausalLM" && view.table.is_within("0.5.18", "");
    let large = arch::SM100.contains(&machine);
    let would = fuses
        && (large || arch::HOPPER.contains(&machine) && view.number("--nnodes", 1) == 1)
        && view.number("--tp-size", 1) > 1
        && view.on("--enable-dp-attention").is_none()
        && view.set("--moe-a2a-backend").is_none_or(|set| set.text == "none");
    if would {
        return Vec::new();
    }
    some(
        Finding::note(
            slugs::SILENT_REWRITE,
            off.name,
            "the all-reduce would not have been fused here",
        )
        .why(format!("SGLang fuses it by itself for some architectures on Hopper and on Blackwell of data centres, and not for `{of}` as it is served here")),
    )
}

fn next_n(view: &View<'_>) -> Vec<Finding> {
    let Some(algorithm) = view.is("--speculative-algorithm", "NEXTN") else { return Vec::new() };
    let draft = view.launch.draft.as_ref().and_then(|draft| draft.facts.architecture.as_ref());
    let becomes = match draft {
        Some(of) if of.value.starts_with("Gemma4") => "FROZEN_KV_MTP",
        _ => "EAGLE",
    };
    some(
        Finding::note(slugs::SILENT_REWRITE, algorithm.value, format!("`NEXTN` becomes `{becomes}`"))
            .why("the engine knows the older word as another name, and its logs and metrics say the new one"),
    )
}
