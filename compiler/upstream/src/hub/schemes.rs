//! Which scheme each kind of module is quantized with: what "mixed precision" is a mixture of.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// The most kinds that are told apart; published checkpoints have about ten.
const KINDS: usize = 64;
/// The most names that are looked at; a large mixture of experts lists some hundred thousand.
const NAMES: usize = 2_000_000;

/// What is left alone.
const NONE: &str = "none";
/// Every module that nothing else is said of.
const OTHERS: &str = "*";

/// Reads the schemes out of a quantization section, as modelopt, compressed-tensors, quark, and
/// configs with `modules_to_not_convert` write them. Empty where it says nothing of modules.
pub(super) fn schemes(section: &Value) -> BTreeMap<String, String> {
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut add = |module: &str, scheme: String| {
        let kind = kind(module);
        if found.len() < KINDS || found.contains_key(&kind) {
            found.entry(kind).or_default().insert(scheme);
        }
    };
    let layers = section.get("quantized_layers").and_then(Value::as_object);
    for (module, layer) in layers.into_iter().flatten().take(NAMES) {
        if let Some(scheme) = layer.get("quant_algo").and_then(super::facts::word) {
            add(module, scheme);
        }
    }
    let groups = section.get("config_groups").and_then(Value::as_object);
    for (_, group) in groups.into_iter().flatten().take(KINDS) {
        let Some(scheme) = group.get("weights").and_then(weights) else { continue };
        for target in texts(group.get("targets")) {
            add(target, scheme.clone());
        }
    }
    let quark = section.get("layer_quant_config").and_then(Value::as_object);
    for (module, layer) in quark.into_iter().flatten().take(NAMES) {
        if let Some(scheme) = layer.pointer("/weight/dtype").and_then(super::facts::word) {
            add(module, scheme);
        }
    }
    let ignored = ["exclude_modules", "ignore", "exclude", "modules_to_not_convert"];
    let mut left_alone = ignored.iter().flat_map(|name| texts(section.get(name))).take(NAMES).peekable();
    let says = layers.is_some() || groups.is_some() || left_alone.peek().is_some();
    for module in left_alone {
        add(module, NONE.to_owned());
    }
    // One scheme for all else, where there is one.
    let overall = section.pointer("/global_quant_config/weight/dtype").and_then(super::facts::word);
    let overall = overall.or_else(|| {
        let named = ["quant_algo", "quant_method"]
            .iter()
            .find_map(|name| section.get(name))
            .and_then(super::facts::word);
        named.filter(|name| says && layers.is_none() && groups.is_none() && name != "MIXED_PRECISION")
    });
    if let Some(scheme) = overall {
        add(OTHERS, scheme);
    }
    found
        .into_iter()
        .map(|(kind, schemes)| (kind, schemes.into_iter().collect::<Vec<_>>().join("+")))
        .collect()
}

fn texts(value: Option<&Value>) -> impl Iterator<Item = &str> {
    value.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

/// `float4`, `int8`: how compressed-tensors describes weights.
fn weights(weights: &Value) -> Option<String> {
    let bits = weights.get("num_bits").and_then(Value::as_u64)?;
    let kind = weights.get("type").and_then(super::facts::word)?;
    Some(match weights.get("group_size").and_then(Value::as_u64) {
        Some(size) => format!("{kind}{bits}, groups of {size}"),
        None => format!("{kind}{bits}"),
    })
}

/// Returns the kind of a module: its path without numbers, wildcards, what all paths begin with, and
/// the projection at its end, so that thousands of layers and experts are one kind.
fn kind(module: &str) -> String {
    if matches!(module, "*" | "Linear") {
        return OTHERS.to_owned();
    }
    let module = module.strip_prefix("re:").unwrap_or(module);
    let parts = module.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let mut parts: Vec<&str> = parts
        .filter(|part| !part.is_empty() && !part.bytes().all(|byte| byte.is_ascii_digit()))
        .filter(|part| !matches!(*part, "model" | "language_model" | "layers" | "d"))
        .collect();
    if parts.len() > 1 && parts.last().is_some_and(|last| last.ends_with("_proj") || *last == "proj") {
        parts.pop();
    }
    let kind = parts.join(".");
    if kind.is_empty() || kind.len() > 100 { OTHERS.to_owned() } else { kind }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(section: &Value) -> Vec<String> {
        schemes(section).into_iter().map(|(kind, scheme)| format!("{kind} {scheme}")).collect()
    }

    #[test]
    fn a_mixture_is_told_by_kinds_of_modules() {
        let section = json!({
            "quant_algo": "MIXED_PRECISION",
            "exclude_modules": ["lm_head", "model.layers.0.self_attn*"],
            "quantized_layers": {
                "model.layers.0.mlp.experts.0.gate_proj": { "quant_algo": "NVFP4" },
                "model.layers.1.mlp.experts.511.down_proj": { "quant_algo": "NVFP4" },
                "model.layers.1.mlp.shared_expert.down_proj": { "quant_algo": "FP8" },
                "model.layers.2.linear_attn.in_proj": { "quant_algo": "FP8" },
                "model.layers.3.linear_attn.out_proj": { "quant_algo": "W8A16" }
            }
        });
        let expected = [
            "linear_attn FP8+W8A16",
            "lm_head none",
            "mlp.experts NVFP4",
            "mlp.shared_expert FP8",
            "self_attn none",
        ];
        assert_eq!(of(&section), expected);
    }

    #[test]
    fn every_writer_is_read_in_its_own_form() {
        let modelopt = json!({ "quant_algo": "NVFP4", "exclude_modules": ["lm_head", "*mlp.gate"] });
        assert_eq!(of(&modelopt), ["* NVFP4", "lm_head none", "mlp.gate none"]);
        let tensors = json!({
            "config_groups": {
                "group_0": { "targets": ["Linear"], "weights": { "num_bits": 4, "type": "float", "group_size": 16 } },
                "group_1": { "targets": ["re:.*self_attn.*"], "weights": { "num_bits": 8, "type": "float" } }
            },
            "ignore": ["lm_head"], "quant_method": "compressed-tensors"
        });
        assert_eq!(of(&tensors), ["* float4, groups of 16", "lm_head none", "self_attn float8"]);
        let fp8 = json!({ "quant_method": "fp8", "modules_to_not_convert": ["lm_head"] });
        assert_eq!(of(&fp8), ["* fp8", "lm_head none"]);
        let quark = json!({
            "quant_method": "quark", "global_quant_config": { "weight": { "dtype": "fp4" } },
            "layer_quant_config": { "*self_attn*": { "weight": { "dtype": "fp8_e4m3" } } }, "exclude": ["lm_head"]
        });
        assert_eq!(of(&quark), ["* fp4", "lm_head none", "self_attn fp8_e4m3"]);
        assert!(schemes(&json!({ "quant_method": "fp8" })).is_empty(), "nothing is said of modules");
        assert!(schemes(&Value::Null).is_empty());
    }

    #[test]
    fn names_without_end_stay_few() {
        let layers: serde_json::Map<String, Value> =
            (0..5000).map(|at| (format!("m.k{at}x"), json!({ "quant_algo": "FP8" }))).collect();
        assert_eq!(schemes(&json!({ "quantized_layers": layers })).len(), KINDS);
    }
}
