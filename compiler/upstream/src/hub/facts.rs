//! What the small files of a checkpoint say of it.

use std::collections::BTreeMap;

use diag::{Diagnostic, slugs::upstream as slug};
use engine::known::{Checkpoint, Fact, Source};
use serde_json::Value;

/// The small files of a checkpoint, by path. Every byte was checked against the tree.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Documents {
    /// Texts by path.
    pub texts: BTreeMap<String, String>,
}

impl Documents {
    /// Returns what they state; a fact that they do not state is unknown, not false.
    #[must_use]
    pub fn facts(&self, weight_bytes: u64) -> Checkpoint {
        let config = self.json("config.json").unwrap_or(Value::Null);
        // Multimodal models state the language model's own numbers one level down.
        let text = ["text_config", "llm_config", "language_config"]
            .iter()
            .find_map(|name| config.get(name))
            .unwrap_or(&config);
        let number = |names: &[&str]| {
            let found = names.iter().find_map(|name| text.get(name).or_else(|| config.get(name)));
            found.and_then(Value::as_u64).map(pinned)
        };
        let quantization = self.quantization();
        let template = self.template();
        let block = self.own_quantization().get("weight_block_size").and_then(Value::as_array).cloned();
        let block = block.and_then(|edges| edges.iter().filter_map(Value::as_u64).max());
        // One family counts its shared experts, another states the width of its only one.
        let shared = number(&["n_shared_experts", "num_shared_experts"]).or_else(|| {
            let width = number(&["shared_expert_intermediate_size"])?;
            Some(pinned(u64::from(width.value > 0)))
        });
        let ssm = text.get("mamba_ssm_dtype").or_else(|| config.get("mamba_ssm_dtype")).and_then(word);
        Checkpoint {
            architecture: config.pointer("/architectures/0").and_then(word).map(pinned),
            context: number(&["max_position_embeddings", "max_sequence_length", "seq_length", "n_positions"]),
            heads: number(&["num_attention_heads", "n_head"]),
            kv_heads: number(&["num_key_value_heads"]),
            experts: number(&["num_experts", "n_routed_experts", "num_local_experts", "moe_num_experts"]),
            shared_experts: shared,
            expert_width: number(&["moe_intermediate_size"]),
            plain_head: number(&["qk_nope_head_dim"]),
            ssm_type: ssm.map(pinned),
            quantization: quantization.method.map(pinned),
            quantization_algorithm: quantization.algorithm.map(pinned),
            quantization_block: block.map(pinned),
            producer: quantization.producer.map(pinned),
            kv_cache_quantization: self.kv_cache().map(pinned),
            kv_scales: self.kv_scales().map(pinned),
            chat_template: Some(pinned(template.is_some())),
            thinks_by_default: template.as_deref().and_then(thinks_by_default).map(pinned),
            weight_bytes: Some(pinned(weight_bytes)),
            draft_layers: number(&["num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_modules"]),
            draft_block: number(&["dspark_block_size"]),
            config_members: members(&config).map(pinned),
            schemes: self.schemes().map(pinned),
        }
    }

    /// The scheme of each kind of module, in whichever of the two files says it.
    fn schemes(&self) -> Option<BTreeMap<String, String>> {
        let both = [self.separate_quantization(), self.own_quantization()];
        both.iter().map(super::schemes::schemes).max_by_key(BTreeMap::len).filter(|found| !found.is_empty())
    }

    /// What the checkpoint says of its KV cache, in either of its two files.
    fn kv_cache(&self) -> Option<String> {
        kv_cache(&self.own_quantization()).or_else(|| kv_cache(&self.separate_quantization()))
    }

    /// Whether the index names scales of the KV cache; unknown where there is no index, since the
    /// names of tensors are inside the weights then.
    fn kv_scales(&self) -> Option<bool> {
        let index = self.json("model.safetensors.index.json")?;
        let names = index.get("weight_map")?.as_object()?;
        let scale =
            |name: &String| [".k_scale", ".v_scale", ".kv_scale"].iter().any(|end| name.ends_with(end));
        Some(names.keys().any(scale))
    }

    /// Returns the warnings of files that contradict each other.
    #[must_use]
    pub fn conflicts(&self, repository: &str) -> Vec<Diagnostic> {
        let mut found = Vec::new();
        for path in ["config.json", "hf_quant_config.json"] {
            if self.texts.contains_key(path) && self.json(path).is_none() {
                found.push(
                    Diagnostic::warning(
                        slug::CONFIG_UNREADABLE,
                        format!("`{path}` of `{repository}` is no JSON"),
                    )
                    .why("the facts that it should state are unknown, so rules that need them are skipped")
                    .help("take a revision whose configuration can be read"),
                );
            }
        }
        let (config, separate) = (self.own_quantization(), self.separate_quantization());
        for (what, ours, theirs) in [
            ("algorithm", algorithm(&config), algorithm(&separate)),
            ("KV cache", kv_cache(&config), kv_cache(&separate)),
        ] {
            if let (Some(ours), Some(theirs)) = (ours, theirs)
                && !ours.eq_ignore_ascii_case(&theirs)
            {
                found.push(
                    Diagnostic::warning(
                        slug::QUANTIZATION_CONFLICT,
                        format!("two files of `{repository}` state another quantization ({what})"),
                    )
                    .why(format!("`config.json` says `{ours}`, `hf_quant_config.json` says `{theirs}`"))
                    .why("which one counts depends on the engine")
                    .help("take a revision whose files agree, or ask its owner"),
                );
            }
        }
        found
    }

    fn json(&self, path: &str) -> Option<Value> {
        serde_json::from_str(self.texts.get(path)?).ok()
    }

    /// `quantization_config` of `config.json`, wherever a multimodal model keeps it.
    fn own_quantization(&self) -> Value {
        let config = self.json("config.json").unwrap_or(Value::Null);
        let places =
            ["/quantization_config", "/text_config/quantization_config", "/llm_config/quantization_config"];
        places.iter().find_map(|place| config.pointer(place)).cloned().unwrap_or(Value::Null)
    }

    /// `quantization` of `hf_quant_config.json`, which modelopt writes beside it.
    fn separate_quantization(&self) -> Value {
        self.json("hf_quant_config.json")
            .and_then(|all| all.get("quantization").cloned())
            .unwrap_or(Value::Null)
    }

    fn quantization(&self) -> Quantization {
        let (config, separate) = (self.own_quantization(), self.separate_quantization());
        let outer = self.json("hf_quant_config.json").unwrap_or(Value::Null);
        let producer = |of: &Value| {
            let name = of.pointer("/producer/name").and_then(word)?;
            Some(match of.pointer("/producer/version").and_then(word) {
                Some(version) => format!("{name} {version}"),
                None => name,
            })
        };
        let method = config.get("quant_method").and_then(word).or_else(|| {
            // Older modelopt exports have the separate file alone.
            (!separate.is_null()).then(|| outer.pointer("/producer/name").and_then(word)).flatten()
        });
        Quantization {
            method,
            algorithm: algorithm(&config).or_else(|| algorithm(&separate)),
            producer: producer(&config).or_else(|| producer(&outer)),
        }
    }

    /// Returns the chat template, from whichever file holds it.
    fn template(&self) -> Option<String> {
        if let Some(text) = self.texts.get("chat_template.jinja") {
            return Some(text.clone());
        }
        let found = ["chat_template.json", "tokenizer_config.json"]
            .iter()
            .find_map(|path| self.json(path)?.get("chat_template").cloned())?;
        match found {
            Value::String(text) => Some(text),
            // Several named templates; the one that is used unless told otherwise is `default`.
            Value::Array(list) => {
                let named = |entry: &Value| entry.get("name").and_then(Value::as_str) == Some("default");
                let entry = list.iter().find(|entry| named(entry)).or_else(|| list.first())?;
                entry.get("template").and_then(Value::as_str).map(str::to_owned)
            }
            _ => None,
        }
    }
}

struct Quantization {
    method: Option<String>,
    algorithm: Option<String>,
    producer: Option<String>,
}

fn pinned<T>(value: T) -> Fact<T> {
    Fact { value, source: Source::Pinned }
}

/// The names of a config's members, sorted; none where there are more than any config has.
fn members(config: &Value) -> Option<Vec<String>> {
    let names = config.as_object()?;
    let mut names: Vec<String> = names.keys().filter(|name| name.len() <= 100).take(1000).cloned().collect();
    names.sort_unstable();
    Some(names)
}

/// A text that is short enough for a lock.
pub(super) fn word(value: &Value) -> Option<String> {
    let text = value.as_str()?;
    (!text.is_empty() && text.len() <= 200 && !text.chars().any(char::is_control)).then(|| text.to_owned())
}

/// The algorithm within a method: `quant_algo` of modelopt, `format` of compressed-tensors.
fn algorithm(quantization: &Value) -> Option<String> {
    ["quant_algo", "format"].iter().find_map(|name| quantization.get(name).and_then(word))
}

/// The KV cache's scheme: modelopt writes an object for FP8 and a text otherwise.
fn kv_cache(quantization: &Value) -> Option<String> {
    if let Some(text) = quantization.get("kv_cache_quant_algo").and_then(word) {
        return Some(text);
    }
    match quantization.get("kv_cache_scheme")? {
        Value::String(text) => Some(text.clone()),
        Value::Object(scheme) => {
            let bits = scheme.get("num_bits").and_then(Value::as_u64)?;
            let float = scheme.get("type").and_then(Value::as_str) == Some("float");
            Some(format!("{}{bits}", if float { "FP" } else { "INT" }))
        }
        _ => None,
    }
}

/// Says whether a chat template thinks unless it is told otherwise; `None` where it follows none
/// of the ways that published templates have.
fn thinks_by_default(template: &str) -> Option<bool> {
    let squeezed = template.split_whitespace().collect::<Vec<_>>().join(" ");
    let has = |pattern: &str| squeezed.contains(pattern);
    ["enable_thinking", "thinking"].iter().find_map(|name| {
        // A template that acts on "false" or on "not defined" thinks; one that acts on "true" does not.
        let off = [
            format!("{name} is defined and {name} is false"),
            format!("{name} is defined and not {name}"),
            format!("{name} is not defined or {name}"),
            format!("{name} | default(true)"),
            format!("{name}|default(true)"),
        ];
        let on = [
            format!("{name} is defined and {name} is true"),
            format!("{name} is defined and {name} %}}"),
            format!("not {name} is defined"),
            format!("{name} is not defined %}}"),
            format!("{name} | default(false)"),
            format!("{name}|default(false)"),
        ];
        let (off, on) = (off.iter().any(|pattern| has(pattern)), on.iter().any(|pattern| has(pattern)));
        (off != on).then_some(off)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn documents(files: &[(&str, &str)]) -> Documents {
        Documents {
            texts: files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect(),
        }
    }

    #[test]
    fn a_multimodal_config_states_the_language_model_one_level_down() {
        let facts = documents(&[(
            "config.json",
            r#"{"architectures":["Qwen3_5MoeForConditionalGeneration"],"text_config":{"num_attention_heads":32,"mamba_ssm_dtype":"float32",
                "moe_intermediate_size":1024,"shared_expert_intermediate_size":1024,
                "num_key_value_heads":2,"num_experts":512,"max_position_embeddings":262144},
                "quantization_config":{"quant_method":"modelopt","quant_algo":"NVFP4","producer":{"name":"modelopt","version":"0.45.0"}}}"#,
        )])
        .facts(7);
        assert_eq!(facts.architecture, Some(pinned("Qwen3_5MoeForConditionalGeneration".to_owned())));
        assert_eq!(
            (facts.heads, facts.kv_heads, facts.experts, facts.context),
            (Some(pinned(32)), Some(pinned(2)), Some(pinned(512)), Some(pinned(262_144)))
        );
        assert_eq!(facts.quantization, Some(pinned("modelopt".to_owned())));
        assert_eq!(facts.quantization_algorithm, Some(pinned("NVFP4".to_owned())));
        assert_eq!(facts.producer, Some(pinned("modelopt 0.45.0".to_owned())));
        assert_eq!((facts.chat_template, facts.weight_bytes), (Some(pinned(false)), Some(pinned(7))));
        assert_eq!((facts.shared_experts, facts.expert_width), (Some(pinned(1)), Some(pinned(1024))));
        assert_eq!(facts.ssm_type, Some(pinned("float32".to_owned())));
        let members = ["architectures", "quantization_config", "text_config"].map(str::to_owned);
        assert_eq!(facts.config_members, Some(pinned(members.to_vec())));
        assert_eq!((facts.kv_scales, facts.kv_cache_quantization, facts.plain_head), (None, None, None));
    }

    #[test]
    fn what_latent_attention_and_blocks_state_is_read() {
        let facts = documents(&[
            (
                "config.json",
                r#"{"n_routed_experts":256,"n_shared_experts":1,"qk_nope_head_dim":128,
                    "quantization_config":{"quant_method":"fp8","weight_block_size":[128,64]}}"#,
            ),
            ("hf_quant_config.json", r#"{"quantization":{"kv_cache_quant_algo":"FP8"}}"#),
            ("model.safetensors.index.json", r#"{"weight_map":{"a.k_proj.k_scale":"m.safetensors"}}"#),
        ])
        .facts(0);
        assert_eq!((facts.experts, facts.shared_experts), (Some(pinned(256)), Some(pinned(1))));
        assert_eq!((facts.plain_head, facts.quantization_block), (Some(pinned(128)), Some(pinned(128))));
        assert_eq!(facts.kv_cache_quantization, Some(pinned("FP8".to_owned())));
        assert_eq!(facts.kv_scales, Some(pinned(true)));
    }

    #[test]
    fn a_fact_that_nobody_states_is_unknown() {
        let facts = documents(&[("config.json", "[not json")]).facts(0);
        assert_eq!((facts.architecture, facts.heads, facts.quantization), (None, None, None));
        let conflicts = documents(&[("config.json", "[not json")]).conflicts("a/b");
        assert_eq!(conflicts.len(), 1);
    }

    #[test]
    fn two_files_that_disagree_on_the_quantization_are_reported() {
        let of = |config: &str, separate: &str| {
            documents(&[("config.json", config), ("hf_quant_config.json", separate)]).conflicts("a/b")
        };
        let config = r#"{"quantization_config":{"quant_algo":"NVFP4","kv_cache_scheme":{"num_bits":8,"type":"float"}}}"#;
        let agrees = r#"{"quantization":{"quant_algo":"NVFP4","kv_cache_quant_algo":"FP8"}}"#;
        let differs = r#"{"quantization":{"quant_algo":"MIXED_PRECISION","kv_cache_quant_algo":"NVFP4"}}"#;
        assert!(of(config, agrees).is_empty());
        assert_eq!(of(config, differs).len(), 2);
    }

    #[test]
    fn the_default_of_a_template_is_read_only_where_it_is_plain() {
        assert_eq!(
            thinks_by_default("{%- if enable_thinking is defined and enable_thinking is false %}"),
            Some(true)
        );
        assert_eq!(
            thinks_by_default("{% if enable_thinking is defined and enable_thinking is true %}"),
            Some(false)
        );
        assert_eq!(
            thinks_by_default("{% if not thinking is defined %}{% set thinking = false %}{% endif %}"),
            Some(false)
        );
        assert_eq!(thinks_by_default("<|im_start|>{{ message }}"), None);
    }

    #[test]
    fn a_template_is_found_in_every_file_that_may_hold_it() {
        for (path, text) in [
            ("chat_template.jinja", "{{ x }}"),
            ("chat_template.json", r#"{"chat_template":"{{ x }}"}"#),
            (
                "tokenizer_config.json",
                r#"{"chat_template":[{"name":"tool_use","template":"y"},{"name":"default","template":"{{ x }}"}]}"#,
            ),
        ] {
            assert_eq!(documents(&[(path, text)]).template().as_deref(), Some("{{ x }}"), "{path}");
        }
    }
}
