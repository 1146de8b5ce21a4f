//! SGLang: rules about backends, parallelism, caches and graphs.
//!
//! Read in `sglang/srt/server_args.py` and `sglang/srt/arg_groups` of the releases named.

use diag::slugs::engine as slugs;

use super::{Rule, either};
use crate::Engine;
use crate::finding::Finding;
use crate::launch::Role;
use crate::view::{Set, View};

pub(super) const fn rule(
    id: &'static str,
    evidence: &'static str,
    check: fn(&View<'_>) -> Vec<Finding>,
) -> Rule {
    Rule { id, engine: Some(Engine::Sglang), from: "0.5.12", to: "", evidence, check }
}

pub(super) const RULES: &[Rule] = &[
    rule("sg-dcp-comm", "sglang 0.5.18 srt/server_args.py:3991", dcp_backend),
    Rule { from: "0.5.18", ..rule("sg-dcp-hicache", "sglang 0.5.18 srt/server_args.py:7401", dcp_hicache) },
    rule("sg-tp-dp", "sglang 0.5.16 srt/server_args.py:5607", dp_divides_tp),
    rule("sg-dp-chunk", "sglang 0.5.16 srt/server_args.py:5605", dp_chunk),
    until_attention_size(rule("sg-dp1-reset", "sglang 0.5.16 srt/arg_groups/overrides.py:1940", dp_of_one)),
    until_attention_size(rule("sg-dplmhead", "sglang 0.5.16 srt/arg_groups/overrides.py:1950", dp_lm_head)),
    rule("sg-a2a-ep", "sglang 0.5.16 srt/server_args.py:5816", all_to_all_ep),
    until_attention_size(rule("sg-fi-a2a", "sglang 0.5.16 srt/server_args.py:5866", flashinfer_all_to_all)),
    rule("sg-cutlass-ep", "sglang 0.5.16 srt/server_args.py:5663", runner_ep),
    rule("sg-trtllm-quant", "sglang 0.5.16 srt/server_args.py:5688", runner_quantization),
    rule("sg-moedense", "sglang 0.5.16 srt/server_args.py:7608", dense_tp),
    rule("sg-nodes", "sglang 0.5.16 srt/server_args.py:7577", nodes_divide),
    until_attention_size(rule("sg-mn-dp", "sglang 0.5.16 srt/server_args.py:7601", dp_over_nodes)),
    rule("sg-pp", "sglang 0.5.16 srt/server_args.py:7597", pipeline),
    rule("sg-chunk-page", "sglang 0.5.16 srt/server_args.py:7635", chunk_of_pages),
    rule("sg-page-rewrite", "sglang 0.5.16 srt/arg_groups/overrides.py:1682", page_rewritten),
    rule("sg-hicache-radix", "sglang 0.5.16 srt/server_args.py:6712", hicache_needs_radix),
    rule("sg-dsa-kv", "sglang 0.5.16 srt/arg_groups/overrides.py:1234", dsa_kv),
    rule("sg-tbo", "sglang 0.5.16 srt/server_args.py:7568", two_batch_overlap),
    rule("sg-tok-workers", "sglang 0.5.16 srt/server_args.py:7664", tokenizer_workers),
];

/// Since 0.5.23 attention has a size of its own (`--attn-dp-size`), and these hold no longer.
const fn until_attention_size(rule: Rule) -> Rule {
    Rule { to: "0.5.18", ..rule }
}

pub(super) fn some(finding: Finding) -> Vec<Finding> {
    vec![finding]
}

/// A backend whose half, prefill or decode, may be given apart from the whole.
pub(super) fn backend<'v>(view: &'v View<'_>, whole: &str, half: &str) -> Option<Set<'v>> {
    view.set(half).or_else(|| view.set(whole))
}

fn dcp_backend(view: &View<'_>) -> Vec<Finding> {
    let Some(backend) = view.one_of("--dcp-comm-backend", &["a2a", "fi_a2a"]) else { return Vec::new() };
    if view.number("--dcp-size", 1) > 1 {
        return Vec::new();
    }
    some(Finding::error(
        slugs::NEEDS_ANOTHER_FLAG,
        backend.value,
        format!("`--dcp-comm-backend {}` needs `--dcp-size` above 1", backend.text),
    ))
}

fn dcp_hicache(view: &View<'_>) -> Vec<Finding> {
    let (Some((_, dcp)), Some(cache)) = (
        view.given_number("--dcp-size").filter(|(size, _)| *size > 1),
        view.on("--enable-hierarchical-cache"),
    ) else {
        return Vec::new();
    };
    let mut findings = Vec::new();
    let mut says = |other: Set<'_>, what: String| {
        findings.push(
            Finding::error(
                slugs::EXCLUDED_FLAGS,
                other.value,
                format!("{what} with `--dcp-size` and `--enable-hierarchical-cache`"),
            )
            .also(dcp.value.clone(), "decode context parallelism")
            .also(cache.name.clone(), "the hierarchical cache"),
        );
    };
    if let Some(storage) =
        view.set("--hicache-storage-backend").filter(|_| view.table.is_within("", "0.5.18"))
    {
        says(storage, "no storage behind the cache goes".to_owned());
    }
    if let Some(algorithm) = view.set("--speculative-algorithm").filter(|set| set.text != "DSPARK") {
        let what = format!("`{}` does not go", algorithm.text);
        says(algorithm, what);
    }
    findings
}

fn dp_attention<'v>(view: &'v View<'_>) -> Option<Set<'v>> {
    view.on("--enable-dp-attention")
}

fn dp_divides_tp(view: &View<'_>) -> Vec<Finding> {
    let Some(on) = dp_attention(view) else { return Vec::new() };
    let (tp, dp) = (view.number("--tp-size", 1), view.number("--dp-size", 1));
    if dp < 1 || tp % dp == 0 {
        return Vec::new();
    }
    let about = view.set("--dp-size").map_or(on.name.clone(), |set| set.value);
    some(
        Finding::error(
            slugs::INDIVISIBLE,
            about,
            format!("attention over {dp} data-parallel ranks does not divide {tp} GPUs"),
        )
        .why("with data-parallel attention each rank takes `tp / dp` GPUs")
        .also(on.name, "asks for data-parallel attention"),
    )
}

fn dp_chunk(view: &View<'_>) -> Vec<Finding> {
    let (Some(_), Some((chunk, set))) = (dp_attention(view), view.given_number("--chunked-prefill-size"))
    else {
        return Vec::new();
    };
    let dp = view.number("--dp-size", 1);
    if dp <= 1 || chunk <= 0 {
        return Vec::new();
    }
    some(
        Finding::note(
            slugs::SILENT_REWRITE,
            set.value,
            format!("each of {dp} data-parallel ranks prefills chunks of {}, not of {chunk}", chunk / dp),
        )
        .why("with data-parallel attention the engine divides `--chunked-prefill-size` by `--dp-size`"),
    )
}

fn dp_of_one(view: &View<'_>) -> Vec<Finding> {
    let Some(on) = dp_attention(view) else { return Vec::new() };
    if view.number("--dp-size", 1) != 1 {
        return Vec::new();
    }
    some(
        Finding::warning(slugs::SILENT_REWRITE, on.name, "data-parallel attention over one rank is switched off again")
            .why("with `--dp-size 1` the engine resets `--enable-dp-attention` and `--enable-dp-lm-head` without a message")
            .help("give `--dp-size`, or drop the flag"),
    )
}

fn dp_lm_head(view: &View<'_>) -> Vec<Finding> {
    let Some(head) = view.on("--enable-dp-lm-head") else { return Vec::new() };
    if dp_attention(view).is_some() {
        return Vec::new();
    }
    some(Finding::error(
        slugs::NEEDS_ANOTHER_FLAG,
        head.name,
        "`--enable-dp-lm-head` needs `--enable-dp-attention`",
    ))
}

fn all_to_all_ep(view: &View<'_>) -> Vec<Finding> {
    let adjusting = ["deepep", "mooncake", "nixl", "mori", "megamoe", "flashinfer", "ascend_fuseep"];
    let Some(backend) = view.one_of("--moe-a2a-backend", &adjusting) else { return Vec::new() };
    let tp = view.number("--tp-size", 1);
    match view.given_number("--ep-size") {
        Some((ep, set)) if ep != tp => some(
            Finding::warning(
                slugs::SILENT_REWRITE,
                set.value,
                format!("expert parallelism {ep} becomes {tp}"),
            )
            .why(format!(
                "with `--moe-a2a-backend {}` the engine sets `--ep-size` to `--tp-size`",
                backend.text
            ))
            .also(backend.value, "the backend that decides it"),
        ),
        _ => Vec::new(),
    }
}

fn flashinfer_all_to_all(view: &View<'_>) -> Vec<Finding> {
    let Some(backend) = view.is("--moe-a2a-backend", "flashinfer") else { return Vec::new() };
    let mut findings = Vec::new();
    let (tp, dp) = (view.number("--tp-size", 1), view.number("--dp-size", 1));
    if dp_attention(view).is_none() || tp != dp {
        findings.push(Finding::error(
            slugs::NEEDS_ANOTHER_FLAG,
            backend.value.clone(),
            format!("`--moe-a2a-backend flashinfer` needs `--enable-dp-attention` and `--dp-size {tp}`"),
        ));
    }
    let runners = ["flashinfer_cutlass", "flashinfer_cutedsl", "flashinfer_trtllm_routed"];
    if let Some(runner) = view
        .set("--moe-runner-backend")
        .filter(|set| !runners.contains(&set.text.as_str()) && set.text != "auto")
    {
        findings.push(Finding::error(
            slugs::EXCLUDED_FLAGS,
            runner.value,
            format!(
                "`--moe-a2a-backend flashinfer` goes with {}, not with `{}`",
                either(&runners),
                runner.text
            ),
        ));
    }
    findings
}

fn runner_ep(view: &View<'_>) -> Vec<Finding> {
    let Some(runner) = view.one_of("--moe-runner-backend", &["flashinfer_cutlass", "flashinfer_cutedsl"])
    else {
        return Vec::new();
    };
    let tp = view.number("--tp-size", 1);
    let mut findings = Vec::new();
    if let Some((ep, set)) = view.given_number("--ep-size").filter(|(ep, _)| *ep != 1 && *ep != tp) {
        findings.push(
            Finding::error(
                slugs::EXPERT_PARALLELISM,
                set.value,
                format!("expert parallelism {ep} does not go with `{}`", runner.text),
            )
            .why(format!("this runner takes 1 or the tensor-parallel size, {tp}"))
            .also(runner.value.clone(), "the runner"),
        );
    }
    let all_to_all = ["none", "deepep", "flashinfer"];
    if runner.text == "flashinfer_cutedsl"
        && let Some(backend) =
            view.set("--moe-a2a-backend").filter(|set| !all_to_all.contains(&set.text.as_str()))
    {
        findings.push(Finding::error(
            slugs::EXCLUDED_FLAGS,
            backend.value,
            format!(
                "`flashinfer_cutedsl` goes with `--moe-a2a-backend` {}, not with `{}`",
                either(&all_to_all),
                backend.text
            ),
        ));
    }
    findings
}

fn runner_quantization(view: &View<'_>) -> Vec<Finding> {
    let Some(runner) = view.set("--moe-runner-backend") else { return Vec::new() };
    let legal: &[&str] = match runner.text.as_str() {
        "flashinfer_trtllm" | "experimental_sgl_trtllm" => &[
            "modelopt_fp4",
            "nvfp4_online",
            "fp8",
            "mxfp8",
            "modelopt_fp8",
            "modelopt_mixed",
            "compressed-tensors",
        ],
        "flashinfer_cutlass" => &["modelopt_fp4", "modelopt_fp8", "modelopt_mixed"],
        "flashinfer_cutedsl" => &["modelopt_fp4", "modelopt_mixed"],
        _ => return Vec::new(),
    };
    match view.set("--quantization") {
        Some(method) if !legal.contains(&method.text.as_str()) => some(
            Finding::error(
                slugs::RUNNER_QUANTIZATION,
                runner.value,
                format!("`{}` does not run weights of `{}`", runner.text, method.text),
            )
            .why(format!("it takes {}", either(legal)))
            .also(method.value, "the quantization"),
        ),
        _ => Vec::new(),
    }
}

fn dense_tp(view: &View<'_>) -> Vec<Finding> {
    let tp = view.number("--tp-size", 1);
    match view.given_number("--moe-dense-tp-size") {
        Some((dense, set)) if dense != 1 && dense != tp => some(Finding::error(
            slugs::INDIVISIBLE,
            set.value,
            format!("`--moe-dense-tp-size` is 1 or the tensor-parallel size {tp}, not {dense}"),
        )),
        _ => Vec::new(),
    }
}

fn nodes_divide(view: &View<'_>) -> Vec<Finding> {
    let (tp, pp) = (view.number("--tp-size", 1), view.number("--pp-size", 1));
    match view.given_number("--nnodes") {
        Some((nodes, set)) if nodes > 1 && tp.saturating_mul(pp) % nodes != 0 => some(Finding::error(
            slugs::INDIVISIBLE,
            set.value,
            format!(
                "{} GPUs (tensor {tp} times pipeline {pp}) do not spread evenly over {nodes} nodes",
                tp.saturating_mul(pp)
            ),
        )),
        _ => Vec::new(),
    }
}

fn dp_over_nodes(view: &View<'_>) -> Vec<Finding> {
    let Some((_, dp)) = view.given_number("--dp-size").filter(|(size, _)| *size > 1) else {
        return Vec::new();
    };
    if view.number("--nnodes", 1) <= 1 || dp_attention(view).is_some() {
        return Vec::new();
    }
    some(Finding::error(
        slugs::NEEDS_ANOTHER_FLAG,
        dp.value,
        "data parallelism over several nodes needs `--enable-dp-attention`",
    ))
}

fn pipeline(view: &View<'_>) -> Vec<Finding> {
    let Some((pp, set)) = view.given_number("--pp-size").filter(|(size, _)| *size > 1) else {
        return Vec::new();
    };
    match view.set("--speculative-algorithm") {
        Some(algorithm) => some(
            Finding::error(
                slugs::EXCLUDED_FLAGS,
                algorithm.value,
                format!("speculative decoding does not go with {pp} pipeline stages"),
            )
            .also(set.value, "pipeline parallelism"),
        ),
        None => Vec::new(),
    }
}

/// The page sizes that an attention backend takes, and the one it falls back to.
fn pages(backend: &str) -> Option<(&'static [i64], i64)> {
    Some(match backend {
        "flashmla" => (&[64], 64),
        "cutlass_mla" => (&[128], 128),
        "trtllm_mla" | "tokenspeed_mla" | "cutedsl_mla" => (&[32, 64], 64),
        "trtllm_mha" => (&[16, 32, 64], 64),
        _ => return None,
    })
}

/// The page size after the engine's own rewrites, as far as they are known.
pub(super) fn page(view: &View<'_>) -> i64 {
    let given = view.number("--page-size", 1);
    let backends =
        ["--attention-backend", "--decode-attention-backend"].into_iter().filter_map(|flag| view.set(flag));
    backends
        .filter_map(|set| pages(&set.text))
        .fold(given, |page, (legal, otherwise)| if legal.contains(&page) { page } else { otherwise })
}

fn chunk_of_pages(view: &View<'_>) -> Vec<Finding> {
    if view.launch.role == Role::Decode {
        return Vec::new();
    }
    let Some((chunk, set)) = view.given_number("--chunked-prefill-size").filter(|(size, _)| *size > 0) else {
        return Vec::new();
    };
    let page = page(view);
    let chunk = if dp_attention(view).is_some() { chunk / view.number("--dp-size", 1).max(1) } else { chunk };
    if page < 1 || chunk % page == 0 {
        return Vec::new();
    }
    some(
        Finding::error(
            slugs::INDIVISIBLE,
            set.value,
            format!("chunks of {chunk} tokens are no whole number of pages of {page}"),
        )
        .help(format!("write a multiple of {page}")),
    )
}

fn page_rewritten(view: &View<'_>) -> Vec<Finding> {
    let Some((given, set)) = view.given_number("--page-size") else { return Vec::new() };
    let now = page(view);
    if now == given {
        return Vec::new();
    }
    some(
        Finding::warning(
            slugs::SILENT_REWRITE,
            set.value,
            format!("a page of {given} tokens becomes one of {now}"),
        )
        .why("the attention backend takes other sizes, and the engine changes the page to fit"),
    )
}

fn hicache_needs_radix(view: &View<'_>) -> Vec<Finding> {
    let (Some(cache), Some(off)) = (view.on("--enable-hierarchical-cache"), view.on("--disable-radix-cache"))
    else {
        return Vec::new();
    };
    some(
        Finding::error(
            slugs::EXCLUDED_FLAGS,
            cache.name,
            "`--enable-hierarchical-cache` and `--disable-radix-cache` exclude each other",
        )
        .why("the hierarchical cache is a lower layer of the radix cache")
        .also(off.name, "switches the radix cache off"),
    )
}

/// Architectures with DeepSeek's sparse attention.
const SPARSE: &[&str] = &["DeepseekV32ForCausalLM", "GlmMoeDsaForCausalLM"];

fn dsa_kv(view: &View<'_>) -> Vec<Finding> {
    let Some(kv) = view.set("--kv-cache-dtype") else { return Vec::new() };
    let Some(model) = &view.launch.model else { return Vec::new() };
    let Some(of) =
        view.need(slugs::KV_CACHE_TYPE, model.facts.architecture.as_ref(), "the checkpoint's architecture")
    else {
        return Vec::new();
    };
    if !SPARSE.contains(&of.value.as_str())
        || ["auto", "bfloat16", "bf16", "fp8_e4m3"].contains(&kv.text.as_str())
    {
        return Vec::new();
    }
    some(Finding::error(
        slugs::KV_CACHE_TYPE,
        kv.value,
        format!("`{}` keeps its KV cache in `bfloat16` or `fp8_e4m3`, not in `{}`", of.value, kv.text),
    ))
}

fn two_batch_overlap(view: &View<'_>) -> Vec<Finding> {
    let Some(overlap) = view.on("--enable-two-batch-overlap") else { return Vec::new() };
    let alone = view.set("--moe-a2a-backend").is_none_or(|set| set.text == "none");
    if !alone || dp_attention(view).is_some() {
        return Vec::new();
    }
    some(Finding::error(
        slugs::NEEDS_ANOTHER_FLAG,
        overlap.name,
        "`--enable-two-batch-overlap` needs `--enable-dp-attention` where no `--moe-a2a-backend` is given",
    ))
}

fn tokenizer_workers(view: &View<'_>) -> Vec<Finding> {
    let Some((workers, set)) = view.given_number("--tokenizer-worker-num") else { return Vec::new() };
    if workers < 1 {
        return some(Finding::error(
            slugs::WRONG_VALUE_TYPE,
            set.value,
            format!("`--tokenizer-worker-num` is at least 1, not {workers}"),
        ));
    }
    match view.set("--grpc-port") {
        Some(port) if workers > 1 => some(
            Finding::error(
                slugs::EXCLUDED_FLAGS,
                set.value,
                format!("{workers} tokenizer workers do not go with `--grpc-port`"),
            )
            .also(port.name, "the port"),
        ),
        _ => Vec::new(),
    }
}
