//! What an architecture can run: backends, types and kernels, per architecture by name.

use diag::slugs::engine as slugs;
use serde_json::Value as Json;

use super::arch::{BLACKWELL, HOPPER, SM100, SM120, is_amd, is_nvidia};
use super::sglang::backend;
use super::{Rule, either};
use crate::Engine;
use crate::finding::{About, Finding};
use crate::view::View;

const fn sglang(id: &'static str, evidence: &'static str, check: fn(&View<'_>) -> Vec<Finding>) -> Rule {
    Rule { id, engine: Some(Engine::Sglang), from: "", to: "", evidence, check }
}

const fn vllm(id: &'static str, evidence: &'static str, check: fn(&View<'_>) -> Vec<Finding>) -> Rule {
    Rule { id, engine: Some(Engine::Vllm), from: "", to: "", evidence, check }
}

pub(super) const RULES: &[Rule] = &[
    sglang("sg-trtllm-mha-hw", "sglang 0.5.16 srt/server_args.py:5020", trtllm_mha),
    sglang("sg-mla-kv", "sglang 0.5.16 srt/arg_groups/overrides.py:1758", mla_kv),
    sglang("sg-fp4idx", "sglang 0.5.16 srt/server_args.py:6676", fp4_indexer),
    sglang("sg-dsv4-attn", "https://github.com/sgl-project/sglang/pull/30805", deepseek_v4_attention),
    sglang("sg-dsv4-gfx942", "https://github.com/SemiAnalysisAI/InferenceX/pull/2194", deepseek_v4_on_gfx942),
    vllm("vl-mega-moe", "https://github.com/vllm-project/recipes/pull/752", mega_moe),
    vllm("vl-fp4-indexer", "https://github.com/vllm-project/recipes/pull/760", vllm_fp4_indexer),
    vllm("vl-draft-attn-rocm", "https://github.com/vllm-project/recipes/pull/740", draft_attention),
    vllm("vl-moe-emulation", "https://github.com/SemiAnalysisAI/InferenceX/pull/1964", moe_emulation),
    vllm("vl-mla-sm120", "https://github.com/vllm-project/vllm/issues/35577", mla_on_sm120),
    vllm("vl-fp8-kv-gfx942", "https://github.com/SemiAnalysisAI/InferenceX/pull/1759", fp8_kv_on_gfx942),
    Rule {
        id: "hw-nvfp4",
        engine: None,
        from: "",
        to: "",
        evidence: "https://docs.nvidia.com/cuda/parallel-thread-execution/ (NVFP4 needs SM100 or later)",
        check: nvfp4,
    },
];

fn trtllm_mha(view: &View<'_>) -> Vec<Finding> {
    let prefill = backend(view, "--attention-backend", "--prefill-attention-backend")
        .filter(|set| set.text == "trtllm_mha");
    let decode = backend(view, "--attention-backend", "--decode-attention-backend")
        .filter(|set| set.text == "trtllm_mha");
    if prefill.is_none() && decode.is_none() {
        return Vec::new();
    }
    let Some(name) = view.architecture(slugs::BACKEND_HARDWARE) else { return Vec::new() };
    let mut findings = Vec::new();
    let prefills = prefill.is_some();
    // 0.5.23 has kernels for the others.
    let everywhere = view.table.is_within("0.5.23", "");
    let can = SM100.contains(&name) || everywhere && [HOPPER, SM120].iter().any(|set| set.contains(&name));
    if let Some(set) = prefill.filter(|_| !can) {
        findings.push(
            Finding::error(
                slugs::BACKEND_HARDWARE,
                set.value,
                format!("`trtllm_mha` cannot prefill on `{name}`"),
            )
            .why(format!(
                "its prefill kernels are of {}; `{name}` shares a name of the generation and not the kernels",
                either(SM100)
            ))
            .help("give another `prefill-attention-backend`"),
        );
    }
    let decodes = [HOPPER, SM100, SM120].iter().any(|set| set.contains(&name));
    if let Some(set) = decode.filter(|_| !decodes) {
        // One flag for both halves needs one finding.
        if !(prefills && view.set("--decode-attention-backend").is_none()) {
            findings.push(Finding::error(
                slugs::BACKEND_HARDWARE,
                set.value,
                format!("`trtllm_mha` cannot decode on `{name}`"),
            ));
        }
    }
    findings
}

fn mla_kv(view: &View<'_>) -> Vec<Finding> {
    let Some(backend) = backend(view, "--attention-backend", "--decode-attention-backend")
        .filter(|set| ["trtllm_mla", "tokenspeed_mla"].contains(&set.text.as_str()))
    else {
        return Vec::new();
    };
    let mut findings = Vec::new();
    let kv = view.set("--kv-cache-dtype");
    let legal: &[&str] =
        if backend.text == "trtllm_mla" { &["fp8_e4m3", "fp4_e2m1", "bf16", "auto"] } else { &["fp8_e4m3"] };
    let has = kv.as_ref().map_or("auto", |set| set.text.as_str());
    // Left to the engine, the type follows the model; only what is written can be judged.
    if let Some(kv) = kv.as_ref().filter(|_| !legal.contains(&has)) {
        findings.push(
            Finding::error(
                slugs::KV_CACHE_TYPE,
                kv.value.clone(),
                format!("`{}` keeps its KV cache in {}, not in `{has}`", backend.text, either(legal)),
            )
            .also(backend.value.clone(), "the attention backend"),
        );
    }
    if let Some(name) = view.architecture(slugs::BACKEND_HARDWARE)
        && !BLACKWELL.contains(&name)
    {
        findings.push(Finding::error(
            slugs::BACKEND_HARDWARE,
            backend.value,
            format!("`{}` runs on Blackwell, not on `{name}`", backend.text),
        ));
    }
    findings
}

fn fp4_indexer(view: &View<'_>) -> Vec<Finding> {
    let Some(on) = view.on("--enable-deepseek-v4-fp4-indexer") else { return Vec::new() };
    let Some(name) = view.architecture(slugs::BACKEND_HARDWARE) else { return Vec::new() };
    let newer = crate::Version::parse(view.table.version()) >= crate::Version::parse("0.5.18");
    if SM100.contains(&name) || newer && SM120.contains(&name) {
        return Vec::new();
    }
    vec![Finding::error(
        slugs::BACKEND_HARDWARE,
        on.name,
        format!("the FP4 indexer of DeepSeek-V4 does not run on `{name}`"),
    )]
}

fn deepseek_v4_attention(view: &View<'_>) -> Vec<Finding> {
    let Some(backend) = view.is("--dsv4-attn-backend", "trtllm") else { return Vec::new() };
    let mut findings = Vec::new();
    if let Some(kv) = view.set("--kv-cache-dtype").filter(|set| set.text != "fp8_e4m3" && set.text != "auto")
    {
        findings.push(
            Finding::error(
                slugs::KV_CACHE_TYPE,
                kv.value,
                format!(
                    "`--dsv4-attn-backend trtllm` keeps its KV cache in `fp8_e4m3`, not in `{}`",
                    kv.text
                ),
            )
            .also(backend.value.clone(), "the attention backend"),
        );
    }
    if let Some(name) = view.architecture(slugs::BACKEND_HARDWARE)
        && !SM100.contains(&name)
    {
        findings.push(Finding::error(
            slugs::BACKEND_HARDWARE,
            backend.value,
            format!("`--dsv4-attn-backend trtllm` runs on {}, not on `{name}`", either(SM100)),
        ));
    }
    findings
}

fn is_deepseek_v4(view: &View<'_>) -> bool {
    let facts = view.launch.model.as_ref().map(|model| &model.facts);
    facts.and_then(|facts| facts.architecture.as_ref()).is_some_and(|of| of.value.starts_with("DeepseekV4"))
}

/// Whether the checkpoint's experts are in a 4-bit float, by its own words.
fn four_bit(view: &View<'_>) -> Option<&'static str> {
    let facts = &view.launch.model.as_ref()?.facts;
    let words = [&facts.quantization, &facts.quantization_algorithm];
    let has = |word: &str| {
        words.iter().any(|fact| fact.as_ref().is_some_and(|fact| fact.value.to_lowercase().contains(word)))
    };
    if has("nvfp4") || has("modelopt_fp4") {
        Some("NVFP4")
    } else if has("mxfp4") {
        Some("MXFP4")
    } else {
        None
    }
}

fn deepseek_v4_on_gfx942(view: &View<'_>) -> Vec<Finding> {
    if !is_deepseek_v4(view) || four_bit(view).is_none() {
        return Vec::new();
    }
    match view.architecture(slugs::BACKEND_HARDWARE) {
        Some("gfx942") => vec![
            Finding::error(
                slugs::BACKEND_HARDWARE,
                About::Field("model".to_owned()),
                "SGLang has no kernels of DeepSeek-V4 with 4-bit experts for `gfx942`",
            )
            .help("serve it with vLLM and `--quantization deepseek_v4_fp8`, which widens the experts"),
        ],
        _ => Vec::new(),
    }
}

fn mega_moe(view: &View<'_>) -> Vec<Finding> {
    let Some(moe) = view
        .set("--moe-backend")
        .filter(|set| set.text.replace('-', "_").to_lowercase() == "deep_gemm_mega_moe")
    else {
        return Vec::new();
    };
    let Some(hardware) =
        view.need(slugs::BACKEND_HARDWARE, view.launch.hardware.as_ref(), "the target's hardware")
    else {
        return Vec::new();
    };
    let nodes =
        view.number("--nnodes", 1).max(if view.set("--data-parallel-address").is_some() { 2 } else { 1 });
    // Within a node every Blackwell has the links; over nodes only the NVL racks have.
    let rack = hardware.sku.starts_with("gb");
    let fits = SM100.contains(&hardware.architecture.as_str()) && (rack || nodes == 1);
    if fits {
        return Vec::new();
    }
    vec![
        Finding::error(
            slugs::BACKEND_HARDWARE,
            moe.value,
            format!("`{}` over {nodes} nodes does not run on `{}`", moe.text, hardware.sku),
        )
        .why("its experts write into each other's memory, which reaches over nodes on GB200 and GB300 only"),
    ]
}

fn vllm_fp4_indexer(view: &View<'_>) -> Vec<Finding> {
    let Some((json, set)) = view.json("--attention-config") else { return Vec::new() };
    if json.get("use_fp4_indexer_cache") != Some(&Json::Bool(true)) {
        return Vec::new();
    }
    match view.architecture(slugs::BACKEND_HARDWARE) {
        Some(name) if !SM100.contains(&name) => vec![
            Finding::error(
                slugs::BACKEND_HARDWARE,
                view.value_of(set.given, &["use_fp4_indexer_cache".to_owned()]),
                format!("the FP4 cache of the indexer runs on {}, not on `{name}`", either(SM100)),
            )
            .why("`sm_120` is a Blackwell too, and has no such kernel"),
        ],
        _ => Vec::new(),
    }
}

fn draft_attention(view: &View<'_>) -> Vec<Finding> {
    let Some((map, set)) = super::vllm::speculation(view) else { return Vec::new() };
    let Some(backend) = map.get("attention_backend").and_then(Json::as_str) else { return Vec::new() };
    let cuda_only =
        backend.starts_with("FLASH") || backend.starts_with("CUTLASS") || backend.starts_with("TOKENSPEED");
    match view.architecture(slugs::BACKEND_HARDWARE) {
        Some(name) if is_amd(name) && cuda_only => vec![
            Finding::error(
                slugs::BACKEND_HARDWARE,
                view.value_of(set.given, &["attention_backend".to_owned()]),
                format!("the draft's attention `{backend}` does not run on `{name}`"),
            )
            .help("write `TRITON_ATTN` on AMD")
            .replace("TRITON_ATTN"),
        ],
        Some(name) if is_nvidia(name) && backend.starts_with("ROCM") => vec![Finding::error(
            slugs::BACKEND_HARDWARE,
            view.value_of(set.given, &["attention_backend".to_owned()]),
            format!("the draft's attention `{backend}` does not run on `{name}`"),
        )],
        _ => Vec::new(),
    }
}

fn moe_emulation(view: &View<'_>) -> Vec<Finding> {
    if view.set("--moe-backend").is_some_and(|set| set.text != "auto")
        || view.on("--enable-expert-parallel").is_none()
    {
        return Vec::new();
    }
    if four_bit(view) != Some("MXFP4")
        || view.number("--tensor-parallel-size", 1).saturating_mul(view.number("--data-parallel-size", 1))
            <= 1
    {
        return Vec::new();
    }
    match (view.architecture(slugs::MOE_EMULATION), view.on("--enable-expert-parallel")) {
        (Some("gfx950"), Some(on)) => vec![
            Finding::warning(slugs::MOE_EMULATION, on.name, "left to itself, the MoE backend is an emulation here")
                .why("with MXFP4 and expert parallelism on `gfx950` the automatic choice falls back to a kernel that emulates, and compiles it for hours")
                .help("give `moe-backend = \"aiter\";`"),
        ],
        _ => Vec::new(),
    }
}

fn mla_on_sm120(view: &View<'_>) -> Vec<Finding> {
    let Some(kv) = view.set("--kv-cache-dtype").filter(|set| set.text.starts_with("fp8")) else {
        return Vec::new();
    };
    let Some(model) = &view.launch.model else { return Vec::new() };
    let Some(head) = &model.facts.plain_head else { return Vec::new() };
    match view.architecture(slugs::BACKEND_HARDWARE) {
        Some(name) if SM120.contains(&name) && head.value != 128 => vec![
            Finding::error(slugs::BACKEND_HARDWARE, kv.value, format!("no backend serves latent attention with heads of {} and an FP8 cache on `{name}`", head.value))
                .why(format!(
                    "FLASHMLA, CUTLASS_MLA and FLASHINFER_MLA have no kernels for `{name}`; TRITON_MLA has, and takes no FP8 cache with such heads"
                ))
                .help("keep the KV cache in `auto`"),
        ],
        _ => Vec::new(),
    }
}

fn fp8_kv_on_gfx942(view: &View<'_>) -> Vec<Finding> {
    let Some(kv) = view.set("--kv-cache-dtype").filter(|set| set.text.starts_with("fp8")) else {
        return Vec::new();
    };
    let Some(model) = &view.launch.model else { return Vec::new() };
    let Some(of) =
        view.need(slugs::KV_CACHE_TYPE, model.facts.architecture.as_ref(), "the checkpoint's architecture")
    else {
        return Vec::new();
    };
    match view.architecture(slugs::KV_CACHE_TYPE) {
        Some("gfx942") if of.value.starts_with("MiniMaxM3") => vec![
            Finding::error(
                slugs::KV_CACHE_TYPE,
                kv.value,
                format!("the KV cache of `{}` has no scales for FP8 on `gfx942`", of.value),
            )
            .help("write `auto`")
            .replace("auto"),
        ],
        _ => Vec::new(),
    }
}

fn nvfp4(view: &View<'_>) -> Vec<Finding> {
    let told = view
        .set("--quantization")
        .filter(|set| ["modelopt_fp4", "nvfp4", "nvfp4_online", "petit_nvfp4"].contains(&set.text.as_str()));
    let is = told.is_some() || four_bit(view) == Some("NVFP4");
    if !is {
        return Vec::new();
    }
    let Some(name) = view.architecture(slugs::FORMAT_HARDWARE) else { return Vec::new() };
    // Petit unpacks NVFP4 on AMD; Marlin unpacks it on older NVIDIA parts, at a cost that upstream accepts.
    let unpacked = told.as_ref().is_some_and(|set| set.text == "petit_nvfp4");
    if !is_amd(name) || unpacked {
        return Vec::new();
    }
    let about = told.map_or_else(|| About::Field("model".to_owned()), |set| set.value);
    vec![
        Finding::error(slugs::FORMAT_HARDWARE, about, format!("NVFP4 does not run on `{name}`"))
            .why("NVFP4 is NVIDIA's format, with blocks of 16 and FP8 scales; AMD's 4-bit float is MXFP4, which `gfx950` runs")
            .help("take the checkpoint's MXFP4 build on AMD"),
    ]
}
