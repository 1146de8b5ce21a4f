//! The quantization flag against what the checkpoint says of itself.

use diag::slugs::engine as slugs;

use super::Rule;
use crate::finding::{About, Finding};
use crate::known::Checkpoint;
use crate::view::View;
use crate::{Engine, Version};

const fn any(id: &'static str, evidence: &'static str, check: fn(&View<'_>) -> Vec<Finding>) -> Rule {
    Rule { id, engine: None, from: "", to: "", evidence, check }
}

pub(super) const RULES: &[Rule] = &[
    any("quant-flag", "https://github.com/sgl-project/sglang/issues/31274", flag_and_checkpoint),
    any("quant-unstated", "https://github.com/sgl-project/sglang/issues/14285", unstated),
    any("kv-scales", "https://github.com/sgl-project/sgl-cookbook/pull/237", kv_scales),
    Rule {
        engine: Some(Engine::Vllm),
        ..any("gguf-config", "https://github.com/vllm-project/vllm/issues/19050", config_of_another)
    },
    any("hf-overrides", "https://github.com/vllm-project/recipes", overrides),
];

/// The flag's words for one method that a checkpoint's config names in another way.
fn methods(facts: &Checkpoint) -> Option<Vec<&'static str>> {
    let method = facts.quantization.as_ref().map(|fact| fact.value.to_lowercase());
    let algorithm =
        facts.quantization_algorithm.as_ref().map(|fact| fact.value.to_uppercase()).unwrap_or_default();
    Some(match method.as_deref()? {
        "modelopt" | "modelopt_fp4" | "modelopt_fp8" | "modelopt_mixed" => match algorithm.as_str() {
            text if text.contains("MIXED") => vec!["modelopt_mixed", "modelopt"],
            text if text.contains("FP4") => vec!["modelopt_fp4", "modelopt"],
            text if text.contains("FP8") => vec!["modelopt_fp8", "modelopt", "fp8"],
            _ => vec!["modelopt", "modelopt_fp4", "modelopt_fp8", "modelopt_mixed"],
        },
        "compressed-tensors" => vec!["compressed-tensors", "compressed_tensors"],
        "fp8" => vec!["fp8", "deepseek_v4_fp8", "w8a8_fp8"],
        "mxfp4" => vec!["mxfp4", "quark", "quark_mxfp4", "gpt_oss_mxfp4"],
        "mxfp8" => vec!["mxfp8", "fp8"],
        "quark" => vec!["quark", "quark_mxfp4", "mxfp4"],
        "gptq" => vec!["gptq", "gptq_marlin"],
        "awq" => vec!["awq", "awq_marlin", "moe_wna16"],
        _ => return None,
    })
}

/// Flags that quantize a plain checkpoint as it is loaded.
const ONLINE: &[&str] = &[
    "fp8",
    "nvfp4_online",
    "mxfp8",
    "bitsandbytes",
    "w8a8_fp8",
    "w8a8_int8",
    "quark_int4fp8_moe",
    "unquant",
    "ptpc_fp8",
];

fn flag_and_checkpoint(view: &View<'_>) -> Vec<Finding> {
    let Some(flag) = view.set("--quantization") else { return Vec::new() };
    let Some(model) = &view.launch.model else { return Vec::new() };
    let facts = &model.facts;
    let Some(method) = view.need(
        slugs::QUANTIZATION_MISMATCH,
        facts.quantization.as_ref(),
        "the checkpoint's own quantization",
    ) else {
        return Vec::new();
    };
    let plain = ["none", "", "bf16", "bfloat16", "fp16"].contains(&method.value.to_lowercase().as_str());
    if plain {
        if ONLINE.contains(&flag.text.as_str()) {
            return Vec::new();
        }
        return vec![
            Finding::error(
                slugs::QUANTIZATION_MISMATCH,
                flag.value,
                format!("`{}` is not quantized, and `{}` is a format on disk", model.repository, flag.text),
            )
            .why("the flag says how to read the weights; it does not convert them")
            .help("drop the flag, or name the quantized checkpoint"),
        ];
    }
    let Some(legal) = methods(facts) else { return Vec::new() };
    let says = match &facts.quantization_algorithm {
        Some(algorithm) => format!("`{}` ({})", method.value, algorithm.value),
        None => format!("`{}`", method.value),
    };
    if !legal.contains(&flag.text.as_str()) {
        return vec![
            Finding::error(slugs::QUANTIZATION_MISMATCH, flag.value, format!("`{}` is quantized with {says}, and the flag says `{}`", model.repository, flag.text))
                .why("the checkpoint's own config wins or the load fails; a name of a directory or a label proves nothing")
                .help(format!("write `{}`, or leave the flag out", legal.first().copied().unwrap_or(""))),
        ];
    }
    let detected = ["fp8", "compressed-tensors", "mxfp4"].contains(&flag.text.as_str());
    if detected && flag.text == method.value {
        return vec![
            Finding::note(
                slugs::QUANTIZATION_REDUNDANT,
                flag.name,
                format!("the checkpoint says `{}` itself", flag.text),
            )
            .why("the engine reads it from the config; stated and detected are the same"),
        ];
    }
    Vec::new()
}

/// Weights in one file that names its own types, read by a config that says other ones.
fn config_of_another(view: &View<'_>) -> Vec<Finding> {
    let Some(path) = view.set("--hf-config-path") else { return Vec::new() };
    let is_gguf = |word: &str| word.to_lowercase().ends_with(".gguf");
    let given = view.set("--model").filter(|set| is_gguf(&set.text)).map(|set| set.value);
    let tag = view.reading.positionals.iter().find(|(_, word)| is_gguf(word));
    let Some(weights) = given.or_else(|| tag.map(|(at, _)| About::Name(view.owner(*at)))) else {
        return Vec::new();
    };
    let Some(model) = &view.launch.model else { return Vec::new() };
    let Some(method) = view.need(
        slugs::QUANTIZATION_MISMATCH,
        model.facts.quantization.as_ref(),
        "the quantization that the config says",
    ) else {
        return Vec::new();
    };
    if ["gguf", "none", ""].contains(&method.value.to_lowercase().as_str()) {
        return Vec::new();
    }
    vec![
        Finding::error(
            slugs::QUANTIZATION_MISMATCH,
            path.value,
            format!("the weights are GGUF, and the config says `{}`", method.value),
        )
        .why("a config from beside the weights says how to read them, and the load fails where it speaks of others")
        .help("name a config without quantization")
        .also(weights, "the weights"),
    ]
}

/// SGLang reads ModelOpt's configs as FP8 unless it is told.
fn unstated(view: &View<'_>) -> Vec<Finding> {
    if view.table.engine() != Engine::Sglang || view.set("--quantization").is_some() {
        return Vec::new();
    }
    let Some(model) = &view.launch.model else { return Vec::new() };
    let facts = &model.facts;
    let modelopt = facts.quantization.as_ref().is_some_and(|fact| fact.value.starts_with("modelopt"));
    let four =
        facts.quantization_algorithm.as_ref().is_some_and(|fact| fact.value.to_uppercase().contains("FP4"));
    if !modelopt || !four {
        return Vec::new();
    }
    let told = "modelopt_fp4";
    let message =
        format!("`{}` is quantized to NVFP4 by ModelOpt, and nothing tells the engine", model.repository);
    let about = About::Field("quantization.method".to_owned());
    // Later releases look at the algorithm; earlier ones took the class for FP8 and stopped.
    let finding = if Version::parse(&view.launch.chosen.version) < Version::parse("0.5.12") {
        Finding::error(slugs::QUANTIZATION_UNSTATED, about, message)
    } else {
        Finding::warning(slugs::QUANTIZATION_UNSTATED, about, message)
    };
    vec![
        finding
            .why("releases differ in what they detect of ModelOpt's formats")
            .help(format!("give `--quantization {told}`")),
    ]
}

fn kv_scales(view: &View<'_>) -> Vec<Finding> {
    let Some(kv) = view.set("--kv-cache-dtype").filter(|set| set.text.starts_with("fp8")) else {
        return promised_scales(view);
    };
    let Some(model) = &view.launch.model else { return Vec::new() };
    let facts = &model.facts;
    let Some(scales) = view.need(
        slugs::KV_SCALES,
        facts.kv_scales.as_ref(),
        "whether the checkpoint has scales of its KV cache",
    ) else {
        return Vec::new();
    };
    if scales.value || facts.kv_cache_quantization.is_some() {
        return promised_scales(view);
    }
    vec![
        Finding::warning(
            slugs::KV_SCALES,
            kv.value,
            format!("the KV cache is `{}`, and `{}` has no scales for it", kv.text, model.repository),
        )
        .why("the engine takes 1.0 for every scale, which may cost accuracy"),
    ]
}

fn promised_scales(view: &View<'_>) -> Vec<Finding> {
    let Some(model) = &view.launch.model else { return Vec::new() };
    match (&model.facts.kv_cache_quantization, &model.facts.kv_scales) {
        (Some(promised), Some(scales)) if !scales.value => vec![
            Finding::warning(
                slugs::KV_SCALES,
                About::Field("model".to_owned()),
                format!(
                    "`{}` says its KV cache is `{}`, and no tensor holds a scale",
                    model.repository, promised.value
                ),
            )
            .why("the converter wrote the promise without the scales, and the engine takes 1.0"),
        ],
        _ => Vec::new(),
    }
}

/// Members of a config that a recipe may add: they choose code and change no arithmetic.
const ADDABLE: &[&str] = &[
    "architectures",
    "rope_scaling",
    "rope_parameters",
    "max_position_embeddings",
    "text_config",
    "vision_config",
];

fn overrides(view: &View<'_>) -> Vec<Finding> {
    let flags = ["--hf-overrides", "--json-model-override-args"];
    let Some((json, set)) = flags.iter().find_map(|flag| view.json(flag)) else { return Vec::new() };
    let Some(map) = json.as_object() else { return Vec::new() };
    let Some(model) = &view.launch.model else { return Vec::new() };
    let Some(known) = view.need(
        slugs::MODEL_OVERRIDE,
        model.facts.config_members.as_ref(),
        "the members of the checkpoint's config",
    ) else {
        return Vec::new();
    };
    map.keys()
        .filter(|key| !known.value.contains(key) && !ADDABLE.contains(&key.as_str()))
        .map(|key| {
            Finding::error(
                slugs::MODEL_OVERRIDE,
                view.value_of(set.given, std::slice::from_ref(key)),
                format!("`{key}` is no member of the config of `{}`", model.repository),
            )
            .why("a switch that the checkpoint does not have changes what the model computes, and the benchmark is of another model")
        })
        .collect()
}
