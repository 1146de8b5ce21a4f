//! SGLang: rules about speculative decoding.
//!
//! Read in `sglang/srt/arg_groups/speculative_hook.py` of the releases named.

use diag::slugs::engine as slugs;

use super::{Rule, either};
use crate::Engine;
use crate::finding::Finding;
use crate::view::{Set, View};

const fn rule(id: &'static str, evidence: &'static str, check: fn(&View<'_>) -> Vec<Finding>) -> Rule {
    Rule { id, engine: Some(Engine::Sglang), from: "0.5.12", to: "", evidence, check }
}

pub(super) const RULES: &[Rule] = &[
    rule("sg-spec-maxreq-48", "sglang 0.5.16 srt/arg_groups/speculative_hook.py:507", requests_capped),
    rule("sg-spec-algorithm", "https://github.com/SemiAnalysisAI/InferenceX/pull/2305", without_algorithm),
    rule("sg-spec-trio", "sglang 0.5.16 srt/arg_groups/speculative_hook.py:558", trio),
    rule("sg-draft-tokens", "sglang 0.5.16 srt/arg_groups/speculative_hook.py:625", draft_tokens),
    rule("sg-trtllm-mha-topk", "sglang 0.5.16 srt/arg_groups/speculative_hook.py:569", topk_of_trtllm),
    rule("sg-topk-page", "sglang 0.5.16 srt/arg_groups/speculative_hook.py:640", topk_and_pages),
    rule("sg-dspark", "sglang 0.5.16 srt/arg_groups/speculative_hook.py:276", dspark),
    Rule {
        from: "0.5.16",
        to: "0.5.16",
        ..rule("sg-dcp-spec", "sglang 0.5.16 srt/server_args.py:3165", dcp)
    },
    rule("sg-dsv4-spec", "sglang 0.5.16 srt/arg_groups/deepseek_v4_hook.py:56", deepseek_v4),
    rule("sg-mixed-chunk", "sglang 0.5.16 srt/arg_groups/speculative_hook.py:523", mixed_chunk),
    rule("sg-hisparse-spec", "https://github.com/SemiAnalysisAI/InferenceX/pull/2529", hisparse),
    rule("sg-spec-draft", "https://github.com/sgl-project/sgl-cookbook/pull/63", needs_draft),
    rule("sg-spec-graphs", "sglang 0.5.16 srt/server_args.py: cuda_graph_max_bs_decode", graphs),
];

fn algorithm<'v>(view: &'v View<'_>) -> Option<Set<'v>> {
    view.set("--speculative-algorithm")
}

fn is_eagle(name: &str) -> bool {
    ["EAGLE", "EAGLE3", "NEXTN", "STANDALONE"].contains(&name)
}

fn is_deepseek_v4(view: &View<'_>) -> bool {
    let facts = view.launch.model.as_ref().map(|model| &model.facts);
    facts.and_then(|facts| facts.architecture.as_ref()).is_some_and(|of| of.value.starts_with("DeepseekV4"))
}

fn requests_capped(view: &View<'_>) -> Vec<Finding> {
    let Some(algorithm) = algorithm(view) else { return Vec::new() };
    if view.set("--max-running-requests").is_some() {
        return Vec::new();
    }
    let cap = if is_deepseek_v4(view) { 256 } else { 48 };
    let asked = view.launch.workload.concurrency;
    let mut finding = Finding::warning(
        slugs::REQUESTS_CAPPED,
        algorithm.name,
        match asked {
            Some(asked) if asked > cap => {
                format!("{asked} requests are asked for at once, and {cap} will run")
            }
            _ => format!("at most {cap} requests will run at once"),
        },
    )
    .why(format!(
        "with speculative decoding SGLang {} sets `--max-running-requests` to {cap} where it is not given",
        view.table.version()
    ));
    if let Some(asked) = asked {
        finding = finding.help(format!("give `max-running-requests`: {asked} or more for this point"));
    }
    // Where fewer are asked for, the cap changes nothing yet.
    if asked.is_some_and(|asked| asked <= cap) {
        finding.severity = diag::Severity::Note;
    }
    vec![finding]
}

fn without_algorithm(view: &View<'_>) -> Vec<Finding> {
    if algorithm(view).is_some() {
        return Vec::new();
    }
    let parts = [
        "--speculative-num-steps",
        "--speculative-num-draft-tokens",
        "--speculative-eagle-topk",
        "--speculative-draft-model-path",
    ];
    parts
        .iter()
        .find_map(|flag| Some((flag, view.set(flag)?)))
        .map(|(flag, set)| {
            Finding::error(
                slugs::SPECULATION_INCOMPLETE,
                set.name,
                format!("`{flag}` does nothing without `--speculative-algorithm`"),
            )
            .why("the server would start and decode one token at a time, without a message")
            .help("name the algorithm, or drop the flags of speculative decoding")
        })
        .into_iter()
        .collect()
}

fn trio(view: &View<'_>) -> Vec<Finding> {
    if algorithm(view).is_none_or(|set| !is_eagle(&set.text)) || view.on("--speculative-adaptive").is_some() {
        return Vec::new();
    }
    if view.set("--speculative-num-steps").is_some() {
        return Vec::new();
    }
    ["--speculative-eagle-topk", "--speculative-num-draft-tokens"]
        .iter()
        .find_map(|flag| Some((flag, view.set(flag)?)))
        .map(|(flag, set)| {
            Finding::error(
                slugs::SPECULATION_INCOMPLETE,
                set.name,
                format!("`{flag}` needs `--speculative-num-steps` beside it"),
            )
            .why("the engine takes all three as given, or chooses all three itself")
        })
        .into_iter()
        .collect()
}

fn draft_tokens(view: &View<'_>) -> Vec<Finding> {
    if algorithm(view).is_none_or(|set| !is_eagle(&set.text))
        || view.number("--speculative-eagle-topk", 0) != 1
    {
        return Vec::new();
    }
    let (Some((steps, of)), Some((tokens, set))) =
        (view.given_number("--speculative-num-steps"), view.given_number("--speculative-num-draft-tokens"))
    else {
        return Vec::new();
    };
    if tokens == steps.saturating_add(1) {
        return Vec::new();
    }
    vec![
        Finding::warning(slugs::DRAFT_TOKENS, set.value, format!("{tokens} draft tokens become {}", steps.saturating_add(1)))
            .why("without branches a chain of drafts has one token a step and the one that starts it, and the engine sets it so")
            .also(of.value, format!("{steps} steps"))
            .replace(steps.saturating_add(1).to_string()),
    ]
}

fn topk_of_trtllm(view: &View<'_>) -> Vec<Finding> {
    let Some((topk, set)) = view.given_number("--speculative-eagle-topk").filter(|(topk, _)| *topk > 1)
    else {
        return Vec::new();
    };
    ["--attention-backend", "--decode-attention-backend", "--prefill-attention-backend"]
        .iter()
        .find_map(|flag| view.is(flag, "trtllm_mha"))
        .map(|backend| {
            Finding::error(
                slugs::DRAFT_TREE,
                set.value.clone(),
                format!("`trtllm_mha` verifies chains of drafts, not trees of {topk} branches"),
            )
            .also(backend.value, "the attention backend")
            .replace("1")
        })
        .into_iter()
        .collect()
}

fn topk_and_pages(view: &View<'_>) -> Vec<Finding> {
    let Some((topk, set)) = view.given_number("--speculative-eagle-topk").filter(|(topk, _)| *topk > 1)
    else {
        return Vec::new();
    };
    let Some((page, _)) = view.given_number("--page-size").filter(|(page, _)| *page > 1) else {
        return Vec::new();
    };
    let trees = ["flashinfer", "fa3", "triton"];
    match view.set("--attention-backend") {
        Some(backend) if !trees.contains(&backend.text.as_str()) && backend.text != "trtllm_mha" => vec![
            Finding::error(
                slugs::DRAFT_TREE,
                set.value,
                format!(
                    "trees of {topk} branches over pages of {page} tokens go with {}, not with `{}`",
                    either(&trees),
                    backend.text
                ),
            )
            .also(backend.value, "the attention backend"),
        ],
        _ => Vec::new(),
    }
}

fn dspark(view: &View<'_>) -> Vec<Finding> {
    let Some(algorithm) = algorithm(view).filter(|set| set.text == "DSPARK") else { return Vec::new() };
    let mut findings = Vec::new();
    let mut says = |slug, about, message: String| {
        findings.push(Finding::error(slug, about, message).also(algorithm.value.clone(), "the algorithm"));
    };
    if let Some((pp, set)) = view.given_number("--pp-size").filter(|(pp, _)| *pp > 1) {
        says(slugs::EXCLUDED_FLAGS, set.value, format!("DSpark does not go with {pp} pipeline stages"));
    }
    let newer = view.table.is_within("0.5.17", "");
    let alone = newer && view.number("--dp-size", 1) <= 1;
    if let Some(on) = view.on("--enable-dp-attention").filter(|_| !alone) {
        if view.on("--enable-dp-lm-head").is_none() {
            says(
                slugs::NEEDS_ANOTHER_FLAG,
                on.name,
                "DSpark with data-parallel attention needs `--enable-dp-lm-head`".to_owned(),
            );
        }
        if let Some(backend) = view
            .set("--moe-a2a-backend")
            .filter(|set| set.text != "none" && !(newer && set.text == "megamoe"))
        {
            says(
                slugs::EXCLUDED_FLAGS,
                backend.value,
                format!(
                    "DSpark with data-parallel attention does not go with `--moe-a2a-backend {}`",
                    backend.text
                ),
            );
        }
        if let Some((cp, set)) = view.given_number("--attn-cp-size").filter(|(cp, _)| *cp > 1) {
            says(
                slugs::EXCLUDED_FLAGS,
                set.value,
                format!("DSpark with data-parallel attention does not go with context parallelism {cp}"),
            );
        }
    }
    if let (Some((tokens, set)), Some((block, _))) = (
        view.given_number("--speculative-num-draft-tokens"),
        view.given_number("--speculative-dspark-block-size"),
    ) && tokens != block.saturating_add(1)
    {
        says(
            slugs::DRAFT_TOKENS,
            set.value,
            format!(
                "DSpark with blocks of {block} verifies {} tokens, not {tokens}",
                block.saturating_add(1)
            ),
        );
    }
    findings
}

fn dcp(view: &View<'_>) -> Vec<Finding> {
    let Some((dcp, set)) = view.given_number("--dcp-size").filter(|(size, _)| *size > 1) else {
        return Vec::new();
    };
    let Some(algorithm) = algorithm(view) else { return Vec::new() };
    let amd =
        view.launch.hardware.as_ref().is_some_and(|hardware| super::arch::is_amd(&hardware.architecture));
    if amd {
        return Vec::new();
    }
    vec![
        Finding::error(
            slugs::EXCLUDED_FLAGS,
            algorithm.value,
            format!("speculative decoding does not go with decode context parallelism {dcp} in this version"),
        )
        .why("0.5.17 lifts this")
        .also(set.value, "decode context parallelism"),
    ]
}

fn deepseek_v4(view: &View<'_>) -> Vec<Finding> {
    let Some(algorithm) = algorithm(view) else { return Vec::new() };
    let facts = view.launch.model.as_ref().map(|model| &model.facts);
    let Some(of) = view.need(
        slugs::FAMILY_ALGORITHM,
        facts.and_then(|facts| facts.architecture.as_ref()),
        "the checkpoint's architecture",
    ) else {
        return Vec::new();
    };
    if !of.value.starts_with("DeepseekV4") {
        return Vec::new();
    }
    let mut findings = Vec::new();
    if !["EAGLE", "DSPARK"].contains(&algorithm.text.as_str()) {
        findings.push(
            Finding::error(slugs::FAMILY_ALGORITHM, algorithm.value.clone(), format!("`{}` drafts with `EAGLE` or `DSPARK`, not with `{}`", of.value, algorithm.text))
                .why("`NEXTN` is the word of an older family; here the draft is in the checkpoint and `EAGLE` finds it")
                .help("write `EAGLE`, and no draft path")
                .replace("EAGLE"),
        );
    }
    if algorithm.text == "EAGLE"
        && let Some((topk, set)) =
            view.given_number("--speculative-eagle-topk").filter(|(topk, _)| *topk != 1)
    {
        findings.push(
            Finding::error(
                slugs::DRAFT_TREE,
                set.value,
                format!("`{}` drafts chains, not trees of {topk} branches", of.value),
            )
            .replace("1"),
        );
    }
    findings
}

fn mixed_chunk(view: &View<'_>) -> Vec<Finding> {
    match (algorithm(view), view.on("--enable-mixed-chunk")) {
        (Some(algorithm), Some(mixed)) => vec![
            Finding::warning(
                slugs::SILENT_REWRITE,
                mixed.name,
                "`--enable-mixed-chunk` is switched off again",
            )
            .why("speculative decoding does not mix prefill into its batches")
            .also(algorithm.value, "the algorithm"),
        ],
        _ => Vec::new(),
    }
}

fn hisparse(view: &View<'_>) -> Vec<Finding> {
    match (algorithm(view), view.on("--enable-hisparse")) {
        (Some(algorithm), Some(sparse)) => vec![
            Finding::error(
                slugs::EXCLUDED_FLAGS,
                sparse.name,
                "`--enable-hisparse` and speculative decoding exclude each other",
            )
            .why("no release serves the two together")
            .also(algorithm.value, "the algorithm"),
        ],
        _ => Vec::new(),
    }
}

/// Architectures whose checkpoint holds a draft head of its own.
const OWN_HEAD: &[&str] = &[
    "Deepseek",
    "Glm4",
    "GlmMoe",
    "Qwen3_5",
    "Qwen3Next",
    "BailingMoe",
    "MiMo",
    "HYV3",
    "Step3",
    "Ernie4_5",
    "LongcatFlash",
    "NemotronH",
];

fn needs_draft(view: &View<'_>) -> Vec<Finding> {
    let Some(algorithm) = algorithm(view)
        .filter(|set| ["EAGLE", "EAGLE3", "NEXTN", "STANDALONE", "DSPARK"].contains(&set.text.as_str()))
    else {
        return Vec::new();
    };
    if view.set("--speculative-draft-model-path").is_some() {
        return Vec::new();
    }
    let facts = view.launch.model.as_ref().map(|model| &model.facts);
    let Some(of) = view.need(
        slugs::SPECULATION_NEEDS_DRAFT,
        facts.and_then(|facts| facts.architecture.as_ref()),
        "the checkpoint's architecture",
    ) else {
        return Vec::new();
    };
    // An own head serves EAGLE and NEXTN; EAGLE3 and STANDALONE draft with a model of their own.
    let own = OWN_HEAD.iter().any(|prefix| of.value.starts_with(prefix));
    if own && ["EAGLE", "NEXTN", "DSPARK"].contains(&algorithm.text.as_str()) {
        return Vec::new();
    }
    vec![
        Finding::error(
            slugs::SPECULATION_NEEDS_DRAFT,
            algorithm.value,
            format!("`{}` of `{}` needs a draft checkpoint, and none is given", algorithm.text, of.value),
        )
        .help("give `speculative-draft-model-path`"),
    ]
}

fn graphs(view: &View<'_>) -> Vec<Finding> {
    let Some(asked) = view.launch.workload.concurrency else { return Vec::new() };
    if algorithm(view).is_none() {
        return Vec::new();
    }
    let Some((most, set)) =
        view.given_number("--cuda-graph-max-bs").or_else(|| view.given_number("--cuda-graph-max-bs-decode"))
    else {
        return Vec::new();
    };
    let ranks =
        if view.on("--enable-dp-attention").is_some() { view.number("--dp-size", 1).max(1) } else { 1 };
    let each = asked.div_ceil(u64::try_from(ranks).unwrap_or(1));
    if u64::try_from(most).is_ok_and(|most| most >= each) {
        return Vec::new();
    }
    vec![
        Finding::note(
            slugs::GRAPHS_TOO_SMALL,
            set.value,
            format!("graphs hold {most} sequences, and a rank may get {each}"),
        )
        .why("larger batches run without a graph, which costs most where every step also drafts"),
    ]
}
