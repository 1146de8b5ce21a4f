//! vLLM: rules about the KV cache and what carries it away.
//!
//! Read in `vllm/config` of the releases named.

use diag::slugs::engine as slugs;
use serde_json::Value as Json;

use super::Rule;
use super::vllm::{member, rule, speculation, text};
use crate::finding::{About, Finding};
use crate::view::View;

pub(super) const RULES: &[Rule] = &[
    rule("vl-kv-expandable", "vllm 0.27.1 config/vllm.py:929", expandable_segments),
    rule("vl-kv-role", "vllm 0.27.1 config/kv_transfer.py:97", kv_role),
    rule("vl-nvfp4-mla", "vllm 0.27.1 config/vllm.py:2316", nvfp4_mla),
    rule("vl-retention", "https://github.com/SemiAnalysisAI/InferenceX/pull/2391", retention),
    rule("vl-hybrid-kv", "vllm 0.27.1 config/vllm.py:1610", hybrid),
];

fn expandable_segments(view: &View<'_>) -> Vec<Finding> {
    let Some((json, set)) = view.json("--kv-transfer-config") else { return Vec::new() };
    if json.get("kv_connector").is_none() || view.on("--enable-cumem-allocator").is_some() {
        return Vec::new();
    }
    let expandable = |name: &str| {
        view.variable(name)
            .is_some_and(|value| value.to_lowercase().replace(' ', "").contains("expandable_segments:true"))
    };
    if expandable("PYTORCH_CUDA_ALLOC_CONF") {
        return vec![
            Finding::error(
                slugs::EXPANDABLE_SEGMENTS,
                About::VariableValue("PYTORCH_CUDA_ALLOC_CONF".to_owned()),
                "a KV connector does not go with expandable segments",
            )
            .why("memory that moves cannot be registered for transfer")
            .help("add `enable-cumem-allocator`, or leave the segments as they are")
            .also(set.value, "the connector"),
        ];
    }
    if expandable("PYTORCH_ALLOC_CONF") {
        return vec![
            Finding::warning(
                slugs::EXPANDABLE_SEGMENTS,
                About::VariableValue("PYTORCH_ALLOC_CONF".to_owned()),
                "a KV connector does not go with expandable segments",
            )
            .why("vLLM looks for `PYTORCH_CUDA_ALLOC_CONF` only, so under this name it does not notice")
            .help("add `enable-cumem-allocator`, or leave the segments as they are"),
        ];
    }
    Vec::new()
}

fn kv_role(view: &View<'_>) -> Vec<Finding> {
    let Some((json, set)) = view.json("--kv-transfer-config") else { return Vec::new() };
    if json.get("kv_connector").is_none_or(Json::is_null) {
        return Vec::new();
    }
    match json.get("kv_role").and_then(Json::as_str) {
        Some("kv_producer" | "kv_consumer" | "kv_both") => Vec::new(),
        Some(other) => vec![
            Finding::error(
                slugs::UNKNOWN_VALUE,
                member(view, &set, "kv_role"),
                format!("`{other}` is no role of a KV connector"),
            )
            .help("one of `kv_producer`, `kv_consumer`, `kv_both`"),
        ],
        None => vec![Finding::error(
            slugs::NEEDS_ANOTHER_FLAG,
            member(view, &set, "kv_connector"),
            "a KV connector needs `kv_role` beside it",
        )],
    }
}

fn nvfp4_mla(view: &View<'_>) -> Vec<Finding> {
    let Some(kv) = view.is("--kv-cache-dtype", "nvfp4") else { return Vec::new() };
    let Some(model) = &view.launch.model else { return Vec::new() };
    // Only latent attention has a part of each head without rotary position.
    match &model.facts.plain_head {
        Some(_) => vec![Finding::error(
            slugs::KV_CACHE_TYPE,
            kv.value,
            "latent attention keeps no KV cache in `nvfp4`",
        )],
        None => Vec::new(),
    }
}

/// The scheduler block of Kimi-K3, in tokens, of which a retention interval is a multiple.
const KIMI_BLOCK: u64 = 3_145_728;

fn retention(view: &View<'_>) -> Vec<Finding> {
    let name = "VLLM_PREFIX_CACHE_RETENTION_INTERVAL";
    let Some(interval) = view.variable(name).and_then(|value| value.trim().parse::<u64>().ok()) else {
        return Vec::new();
    };
    let Some(model) = &view.launch.model else { return Vec::new() };
    let Some(of) = view.need(
        slugs::RETENTION_INTERVAL,
        model.facts.architecture.as_ref(),
        "the checkpoint's architecture",
    ) else {
        return Vec::new();
    };
    if !of.value.starts_with("KimiK3") || interval % KIMI_BLOCK == 0 {
        return Vec::new();
    }
    let next = interval.div_ceil(KIMI_BLOCK).saturating_mul(KIMI_BLOCK);
    vec![
        Finding::error(slugs::RETENTION_INTERVAL, About::VariableValue(name.to_owned()), format!("{interval} is no multiple of {KIMI_BLOCK}"))
            .why(format!("the cache of `{}` is kept in blocks of {KIMI_BLOCK} tokens, and the engine refuses any other interval", of.value))
            .help(format!("write 0, or {next}"))
            .replace(next.to_string()),
    ]
}

/// The hybrid manager, asked for although the model's chunked attention cannot have it.
fn hybrid(view: &View<'_>) -> Vec<Finding> {
    let Some(asked) = view.is("--disable-hybrid-kv-cache-manager", "false") else { return Vec::new() };
    let Some(model) = &view.launch.model else { return Vec::new() };
    let facts = &model.facts;
    let Some(of) =
        view.need(slugs::EXCLUDED_FLAGS, facts.architecture.as_ref(), "the checkpoint's architecture")
    else {
        return Vec::new();
    };
    let member_of_config = |name: &str| {
        facts.config_members.as_ref().is_some_and(|members| members.value.iter().any(|known| known == name))
    };
    if !of.value.starts_with("Llama4") && !member_of_config("attention_chunk_size") {
        return Vec::new();
    }
    let drafts = speculation(view).filter(|(map, _)| {
        text(map, "method").is_some_and(|method| {
            method.contains("eagle") || method.contains("mtp") || ["dflash", "dspark"].contains(&method)
        })
    });
    let (why, help) = match &drafts {
        Some(_) => (
            "chunked local attention with drafts has no hybrid KV cache",
            "drop the flag: the engine then decides by itself",
        ),
        None if view.variable_on("VLLM_ALLOW_CHUNKED_LOCAL_ATTN_WITH_HYBRID_KV_CACHE") => return Vec::new(),
        None => (
            "chunked local attention is slower with the hybrid KV cache, so the engine refuses unless it is told",
            "drop the flag, or set `VLLM_ALLOW_CHUNKED_LOCAL_ATTN_WITH_HYBRID_KV_CACHE=1`",
        ),
    };
    let mut finding = Finding::error(
        slugs::EXCLUDED_FLAGS,
        asked.name,
        format!("`{}` does not go with the hybrid KV cache manager", of.value),
    )
    .why(why)
    .help(help);
    if let Some((_, set)) = drafts {
        finding = finding.also(member(view, &set, "method"), "the drafts");
    }
    vec![finding]
}
