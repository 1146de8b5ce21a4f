//! Facts about pinned things, as plain data.
//!
//! `Known` stands low in the order of crates so that planning needs no lock. A rule that lacks a
//! fact is reported as skipped, never as passed.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Where a fact comes from.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// Read from the very bytes that a pin names.
    Pinned,
    /// Stated by a manifest, with where its author has it from; a pin that contradicts it is an error.
    Stated(String),
}

/// A fact with its source.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Fact<T> {
    /// The fact.
    pub value: T,
    /// Where it comes from.
    pub source: Source,
}

/// Everything known of what a recipe names.
#[derive(Clone, Default, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub struct Known {
    /// Facts of each checkpoint, by repository id (`nvidia/Qwen3.5-397B-A17B-NVFP4-V2`).
    pub checkpoints: BTreeMap<String, Checkpoint>,
    /// Facts of each image, by the reference as the manifest writes it.
    pub images: BTreeMap<String, Image>,
    /// Golden acceptance-length curves, by the name of the file that holds them.
    pub curves: BTreeMap<String, Curve>,
}

/// Facts of a checkpoint, read from `config.json`, `hf_quant_config.json`,
/// `generation_config.json` and the file list of the hub. Absent facts are unknown, not false.
#[derive(Clone, Default, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub struct Checkpoint {
    /// `architectures[0]`, such as `Qwen3_5MoeForConditionalGeneration`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub architecture: Option<Fact<String>>,
    /// Native context in tokens (`max_position_embeddings` of the text model).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<Fact<u64>>,
    /// Attention heads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub heads: Option<Fact<u64>>,
    /// Key/value heads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kv_heads: Option<Fact<u64>>,
    /// Routed experts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub experts: Option<Fact<u64>>,
    /// Quantization method as the checkpoint's own config names it (`modelopt`, `modelopt_mixed`,
    /// `compressed-tensors`, `fp8`, `mxfp4`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quantization: Option<Fact<String>>,
    /// Quantization algorithm within the method (`NVFP4`, `MIXED_PRECISION`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quantization_algorithm: Option<Fact<String>>,
    /// What produced the quantization and its version (`modelopt 0.45.0`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub producer: Option<Fact<String>>,
    /// Whether a chat template is there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chat_template: Option<Fact<bool>>,
    /// Whether the chat template thinks unless told otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thinks_by_default: Option<Fact<bool>>,
    /// Bytes of all weight files together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight_bytes: Option<Fact<u64>>,
    /// Experts that every token passes, beside the routed ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shared_experts: Option<Fact<u64>>,
    /// Width of one expert's feed-forward layer (`moe_intermediate_size`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expert_width: Option<Fact<u64>>,
    /// Edge of a quantization block (the larger of `weight_block_size`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quantization_block: Option<Fact<u64>>,
    /// Part of a head without rotary position (`qk_nope_head_dim`); only latent attention has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plain_head: Option<Fact<u64>>,
    /// What the checkpoint says its KV cache is quantized to (`kv_cache_quant_algo`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kv_cache_quantization: Option<Fact<String>>,
    /// Whether there are tensors with scales of the KV cache (`*.k_scale`, `*.v_scale`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kv_scales: Option<Fact<bool>>,
    /// Type of the SSM state that the config names (`mamba_ssm_dtype`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ssm_type: Option<Fact<String>>,
    /// Layers of the draft head that the checkpoint brings (`num_nextn_predict_layers`,
    /// `mtp_num_hidden_layers`, `num_mtp_modules`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub draft_layers: Option<Fact<u64>>,
    /// Tokens that a block drafter makes at once (`dspark_block_size`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub draft_block: Option<Fact<u64>>,
    /// Names of the members of `config.json`, sorted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config_members: Option<Fact<Vec<String>>>,
    /// Quantization scheme of each kind of module (`mlp.experts`, `lm_head`; `*` for all others), `none`
    /// for what is left alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schemes: Option<Fact<BTreeMap<String, String>>>,
}

/// Facts of an image.
#[derive(Clone, Default, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub struct Image {
    /// Version of the engine inside, such as `0.5.14`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub engine_version: Option<Fact<String>>,
    /// Platforms that the image has (`linux/amd64`).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub platforms: Vec<String>,
}

/// A golden acceptance-length curve and the conditions it was measured under.
///
/// Curves are not monotone (measured), and two files may share a model key: a curve is identified
/// by model, draft, method and sampling, never by its key alone.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Curve {
    /// Model key as the curve file has it.
    pub model: String,
    /// Checkpoints that this curve speaks for, by repository id.
    pub checkpoints: Vec<String>,
    /// Draft checkpoint, if the draft is a model of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub draft: Option<String>,
    /// Speculative method, such as `mtp`, `eagle3`, `dspark`.
    pub method: String,
    /// How the draft samples, where that matters: `greedy` or `probabilistic`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub draft_sampling: Option<String>,
    /// Acceptance length by thinking mode (`on`, `off`), then by number of draft tokens, as the
    /// decimal that the file writes.
    pub lengths: BTreeMap<String, BTreeMap<u32, String>>,
}
