//! vLLM: rules across its flags.
//!
//! Read in `vllm/config` of the releases named.

use diag::slugs::engine as slugs;
use serde_json::{Map, Value as Json};

use super::Rule;
use crate::Engine;
use crate::decimal::Decimal;
use crate::finding::{About, Finding};
use crate::view::{Set, View};

pub(super) const fn rule(
    id: &'static str,
    evidence: &'static str,
    check: fn(&View<'_>) -> Vec<Finding>,
) -> Rule {
    Rule { id, engine: Some(Engine::Vllm), from: "", to: "", evidence, check }
}

// Rules up to 0.27.1 are gone from the source of 0.33.0, or hold for its older model runner alone.
pub(super) const RULES: &[Rule] = &[
    rule("vl-syn", "vllm 0.27.1 config/speculative.py:1303", synthetic),
    rule("vl-spec-n", "vllm 0.27.1 config/speculative.py:1022", token_count),
    rule("vl-spec-tp", "vllm 0.27.1 config/speculative.py:1227", draft_tp),
    rule("vl-dcp-tp", "vllm 0.27.1 config/parallel.py:532", dcp_divides),
    Rule { to: "0.27.1", ..rule("vl-dcp-a2a", "vllm 0.27.1 config/parallel.py:542", dcp_backend) },
    Rule { from: "0.27.1", to: "0.27.1", ..rule("vl-pcp-dp", "vllm 0.27.1 config/parallel.py:528", pcp_dp) },
    rule("vl-eplb", "vllm 0.27.1 config/parallel.py:495", eplb),
    rule("vl-mbt-seqs", "vllm 0.27.1 config/scheduler.py:264", tokens_and_sequences),
    rule("vl-chunk-off", "vllm 0.27.1 config/scheduler.py:250", without_chunks),
    rule("vl-longprefill", "vllm 0.27.1 config/scheduler.py:279", long_prefill),
    rule("vl-spec-slots", "vllm 0.27.1 config/vllm.py:1748", draft_slots),
    Rule { to: "0.27.1", ..rule("vl-cg-spec", "vllm 0.27.1 config/compilation.py:1528", graph_sizes) },
    Rule { to: "0.27.1", ..rule("vl-async-spec", "vllm 0.27.1 config/vllm.py:1069", asynchronous) },
    rule(
        "vl-toolparser",
        "vllm 0.27.1 entrypoints/openai/cli_args.py validate_parsed_serve_args",
        tool_parser,
    ),
    rule("vl-dp-lb", "vllm 0.27.1 engine/arg_utils.py:2020", load_balancing),
    rule("vl-dsv4-attn", "vllm 0.27.1 models/deepseek_v4/nvidia/model.py:771", deepseek_v4_attention),
    rule("vl-rust-frontend", "https://github.com/SemiAnalysisAI/InferenceX/pull/2498", rust_frontend),
];

/// The speculative configuration with its setting.
pub(crate) fn speculation<'v>(view: &'v View<'_>) -> Option<(Map<String, Json>, Set<'v>)> {
    let (json, set) = view.json("--speculative-config")?;
    Some((json.as_object()?.clone(), set))
}

/// Where a member of a JSON value stands.
pub(super) fn member(view: &View<'_>, set: &Set<'_>, name: &str) -> About {
    view.value_of(set.given, &[name.to_owned()])
}

pub(super) fn number(map: &Map<String, Json>, name: &str) -> Option<i64> {
    map.get(name)?.as_i64()
}

pub(super) fn text<'m>(map: &'m Map<String, Json>, name: &str) -> Option<&'m str> {
    map.get(name)?.as_str()
}

fn synthetic(view: &View<'_>) -> Vec<Finding> {
    let Some((map, set)) = speculation(view) else { return Vec::new() };
    let length = map.get("synthetic_acceptance_length").filter(|value| !value.is_null());
    let rates = map.get("synthetic_acceptance_rates").filter(|value| !value.is_null());
    let mut findings = Vec::new();
    let synthetic = text(&map, "rejection_sample_method") == Some("synthetic");
    if (length.is_some() || rates.is_some()) && !synthetic {
        let name =
            if length.is_some() { "synthetic_acceptance_length" } else { "synthetic_acceptance_rates" };
        findings.push(Finding::error(
            slugs::ACCEPTANCE_INCOMPLETE,
            member(view, &set, name),
            format!("`{name}` needs `\"rejection_sample_method\": \"synthetic\"` beside it"),
        ));
    }
    match (length, rates, synthetic) {
        (Some(_), Some(_), _) => findings.push(
            Finding::error(
                slugs::ACCEPTANCE_CONFLICT,
                member(view, &set, "synthetic_acceptance_rates"),
                "acceptance is given twice: as a length and as rates",
            )
            .also(member(view, &set, "synthetic_acceptance_length"), "the length"),
        ),
        (None, None, true) => findings.push(Finding::error(
            slugs::ACCEPTANCE_INCOMPLETE,
            member(view, &set, "rejection_sample_method"),
            "`synthetic` rejection sampling needs `synthetic_acceptance_length`",
        )),
        _ => {}
    }
    let tokens = number(&map, "num_speculative_tokens").and_then(|n| u32::try_from(n).ok());
    if let (Some(length), Some(tokens)) =
        (length.and_then(|length| Decimal::parse(&length.to_string())), tokens)
    {
        findings.extend(crate::acceptance::in_range(
            length,
            tokens,
            member(view, &set, "synthetic_acceptance_length"),
        ));
    }
    if let Some(rates) = rates.and_then(Json::as_array) {
        let rates: Vec<f64> = rates.iter().filter_map(Json::as_f64).collect();
        let outside = rates.iter().any(|rate| !(0.0..=1.0).contains(rate));
        let rising = rates.windows(2).any(|pair| matches!(pair, [earlier, later] if later > earlier));
        if outside || rising {
            findings.push(Finding::error(
                slugs::ACCEPTANCE_OUT_OF_RANGE,
                member(view, &set, "synthetic_acceptance_rates"),
                "acceptance rates are between 0 and 1 and never rise from one draft token to the next",
            ));
        }
    }
    findings
}

fn token_count(view: &View<'_>) -> Vec<Finding> {
    let Some((map, set)) = speculation(view) else { return Vec::new() };
    match map.get("num_speculative_tokens") {
        None if map.contains_key("model") || map.contains_key("method") => {
            // A head of the checkpoint's own knows its number; a model of its own does not.
            if map.contains_key("model") {
                vec![Finding::error(
                    slugs::SPECULATION_INCOMPLETE,
                    member(view, &set, "model"),
                    "a draft model needs `num_speculative_tokens` beside it",
                )]
            } else {
                Vec::new()
            }
        }
        Some(tokens) if tokens.as_i64().is_some_and(|tokens| tokens < 1) => {
            vec![Finding::error(
                slugs::SPECULATION_INCOMPLETE,
                member(view, &set, "num_speculative_tokens"),
                format!("a step drafts at least one token, not {tokens}"),
            )]
        }
        _ => Vec::new(),
    }
}

fn draft_tp(view: &View<'_>) -> Vec<Finding> {
    let Some((map, set)) = speculation(view) else { return Vec::new() };
    let tp = view.number("--tensor-parallel-size", 1);
    let mut findings = Vec::new();
    if map.contains_key("tensor_parallel_size") {
        findings.push(
            Finding::error(
                slugs::UNKNOWN_MEMBER,
                member(view, &set, "tensor_parallel_size"),
                "the draft's width is called `draft_tensor_parallel_size`",
            )
            .replace("draft_tensor_parallel_size"),
        );
    }
    if let Some(draft) =
        number(&map, "draft_tensor_parallel_size").filter(|draft| *draft != 1 && *draft != tp)
    {
        findings.push(Finding::error(
            slugs::INDIVISIBLE,
            member(view, &set, "draft_tensor_parallel_size"),
            format!("the draft runs on 1 GPU or on all {tp} of the target's, not on {draft}"),
        ));
    }
    findings
}

fn dcp_divides(view: &View<'_>) -> Vec<Finding> {
    let tp = view.number("--tensor-parallel-size", 1);
    match view.given_number("--decode-context-parallel-size") {
        Some((dcp, set))
            if dcp > 1 && tp % dcp != 0 && view.number("--prefill-context-parallel-size", 1) == 1 =>
        {
            vec![Finding::error(
                slugs::INDIVISIBLE,
                set.value,
                format!("decode context parallelism {dcp} does not divide tensor parallelism {tp}"),
            )]
        }
        _ => Vec::new(),
    }
}

fn dcp_backend(view: &View<'_>) -> Vec<Finding> {
    match view.is("--dcp-comm-backend", "a2a") {
        Some(backend) if view.number("--decode-context-parallel-size", 1) <= 1 => vec![Finding::error(
            slugs::NEEDS_ANOTHER_FLAG,
            backend.value,
            "`--dcp-comm-backend a2a` needs `--decode-context-parallel-size` above 1",
        )],
        _ => Vec::new(),
    }
}

fn pcp_dp(view: &View<'_>) -> Vec<Finding> {
    let dp = view.number("--data-parallel-size", 1);
    match view.given_number("--prefill-context-parallel-size") {
        Some((pcp, set)) if pcp > 1 && dp > 1 => vec![Finding::error(
            slugs::EXCLUDED_FLAGS,
            set.value,
            format!("prefill context parallelism {pcp} does not go with data parallelism {dp}"),
        )],
        _ => Vec::new(),
    }
}

fn eplb(view: &View<'_>) -> Vec<Finding> {
    let on = view.on("--enable-eplb");
    let mut findings = Vec::new();
    if let Some(on) = &on {
        let ranks = ["--tensor-parallel-size", "--prefill-context-parallel-size", "--data-parallel-size"]
            .iter()
            .fold(1_i64, |all, flag| all.saturating_mul(view.number(flag, 1)));
        if view.on("--enable-expert-parallel").is_none() || ranks <= 1 {
            findings.push(Finding::error(
                slugs::NEEDS_ANOTHER_FLAG,
                on.name.clone(),
                "`--enable-eplb` needs `--enable-expert-parallel` over more than one GPU",
            ));
        }
    }
    if on.is_none()
        && let Some((json, set)) = view.json("--eplb-config")
        && json.get("num_redundant_experts").and_then(Json::as_i64).is_some_and(|count| count > 0)
    {
        findings.push(Finding::error(
            slugs::NEEDS_ANOTHER_FLAG,
            member(view, &set, "num_redundant_experts"),
            "redundant experts need `--enable-eplb`",
        ));
    }
    findings
}

fn tokens_and_sequences(view: &View<'_>) -> Vec<Finding> {
    match (view.given_number("--max-num-batched-tokens"), view.given_number("--max-num-seqs")) {
        (Some((tokens, set)), Some((sequences, other))) if tokens >= 0 && tokens < sequences => vec![
            Finding::error(
                slugs::BATCH_TOO_SMALL,
                set.value,
                format!("{tokens} tokens a batch cannot hold {sequences} sequences"),
            )
            .also(other.value, "the sequences"),
        ],
        _ => Vec::new(),
    }
}

fn without_chunks(view: &View<'_>) -> Vec<Finding> {
    let Some(off) = view.is("--enable-chunked-prefill", "false") else { return Vec::new() };
    match (view.given_number("--max-num-batched-tokens"), view.given_number("--max-model-len")) {
        (Some((tokens, set)), Some((length, _))) if tokens >= 0 && tokens < length => vec![
            Finding::error(
                slugs::BATCH_TOO_SMALL,
                set.value,
                format!("without chunks a batch of {tokens} tokens cannot hold a prompt of {length}"),
            )
            .also(off.name, "switches chunks off"),
        ],
        _ => Vec::new(),
    }
}

fn long_prefill(view: &View<'_>) -> Vec<Finding> {
    match (view.given_number("--long-prefill-token-threshold"), view.given_number("--max-model-len")) {
        (Some((threshold, set)), Some((length, _))) if length > 0 && threshold > length => {
            vec![Finding::error(
                slugs::BATCH_TOO_SMALL,
                set.value,
                format!("no prompt of at most {length} tokens reaches the threshold of {threshold}"),
            )]
        }
        _ => Vec::new(),
    }
}

fn draft_slots(view: &View<'_>) -> Vec<Finding> {
    let Some((map, _)) = speculation(view) else { return Vec::new() };
    let (Some(drafts), Some((tokens, set)), Some((sequences, other))) = (
        number(&map, "num_speculative_tokens"),
        view.given_number("--max-num-batched-tokens"),
        view.given_number("--max-num-seqs"),
    ) else {
        return Vec::new();
    };
    // Drafters that make all tokens at once take a slot for each; a draft model takes one more.
    let parallel = map.get("parallel_drafting").and_then(Json::as_bool) == Some(true)
        || matches!(text(&map, "method"), Some("dspark" | "dflash"));
    let own = i64::from(text(&map, "method") == Some("draft_model"));
    let each = if parallel { drafts.saturating_sub(1) } else { 0 }.saturating_add(own);
    let slots = sequences.saturating_mul(each);
    if each == 0 || tokens < 0 || tokens > slots {
        return Vec::new();
    }
    vec![
        Finding::error(
            slugs::BATCH_TOO_SMALL,
            set.value,
            format!("{sequences} sequences with {drafts} drafts leave no room in a batch of {tokens} tokens"),
        )
        .also(other.value, "the sequences"),
    ]
}

fn graph_sizes(view: &View<'_>) -> Vec<Finding> {
    let Some((map, _)) = speculation(view) else { return Vec::new() };
    let Some(drafts) = number(&map, "num_speculative_tokens").filter(|drafts| *drafts > 0) else {
        return Vec::new();
    };
    let step = drafts.saturating_add(1);
    let Some((json, set)) = view.json("--compilation-config") else { return Vec::new() };
    let Some(sizes) = json.get("cudagraph_capture_sizes").and_then(Json::as_array) else { return Vec::new() };
    let sizes: Vec<i64> = sizes.iter().filter_map(Json::as_i64).collect();
    let odd: Vec<String> = sizes.iter().filter(|size| **size % step != 0).map(ToString::to_string).collect();
    let about = member(view, &set, "cudagraph_capture_sizes");
    let Some(most) = sizes.iter().max() else { return Vec::new() };
    if *most < step {
        return vec![Finding::error(
            slugs::GRAPHS_TOO_SMALL,
            about,
            format!(
                "no graph is left: a sequence with {drafts} drafts verifies {step} tokens, and the largest graph holds {most}"
            ),
        )];
    }
    if odd.is_empty() {
        return Vec::new();
    }
    vec![
        Finding::note(
            slugs::SILENT_REWRITE,
            about,
            format!("sizes {} are rounded up to multiples of {step}", odd.join(", ")),
        )
        .why(format!("with {drafts} drafts every sequence verifies {step} tokens at once")),
    ]
}

fn asynchronous(view: &View<'_>) -> Vec<Finding> {
    let Some(on) = view.on("--async-scheduling") else { return Vec::new() };
    let Some((map, set)) = speculation(view) else { return Vec::new() };
    let Some(method) = text(&map, "method") else { return Vec::new() };
    let fine = method.contains("eagle")
        || method.contains("mtp")
        || ["draft_model", "ngram_gpu", "dspark", "dflash", "extract_hidden_states"].contains(&method);
    if fine {
        return Vec::new();
    }
    vec![
        Finding::error(
            slugs::EXCLUDED_FLAGS,
            on.name,
            format!("asynchronous scheduling does not go with drafts of `{method}`"),
        )
        .also(member(view, &set, "method"), "the method"),
    ]
}

fn tool_parser(view: &View<'_>) -> Vec<Finding> {
    match view.on("--enable-auto-tool-choice") {
        Some(on) if view.set("--tool-call-parser").is_none() => {
            vec![Finding::error(
                slugs::NEEDS_ANOTHER_FLAG,
                on.name,
                "`--enable-auto-tool-choice` needs `--tool-call-parser`",
            )]
        }
        _ => Vec::new(),
    }
}

fn load_balancing(view: &View<'_>) -> Vec<Finding> {
    let (hybrid, external) = (view.on("--data-parallel-hybrid-lb"), view.on("--data-parallel-external-lb"));
    let mut findings = Vec::new();
    if let (Some(hybrid), Some(external)) = (&hybrid, &external) {
        findings.push(
            Finding::error(
                slugs::EXCLUDED_FLAGS,
                external.name.clone(),
                "hybrid and external load balancing exclude each other",
            )
            .also(hybrid.name.clone(), "asks for the other"),
        );
    }
    if let Some(hybrid) = &hybrid
        && view.set("--data-parallel-size-local").is_none()
    {
        findings.push(Finding::error(
            slugs::NEEDS_ANOTHER_FLAG,
            hybrid.name.clone(),
            "`--data-parallel-hybrid-lb` needs `--data-parallel-size-local`",
        ));
    }
    if let Some((nodes, set)) = view.given_number("--nnodes").filter(|(nodes, _)| *nodes > 1)
        && let Some(backend) = view.set("--distributed-executor-backend").filter(|set| set.text != "mp")
    {
        findings.push(
            Finding::error(
                slugs::EXCLUDED_FLAGS,
                backend.value,
                format!("{nodes} nodes need the executor `mp`, not `{}`", backend.text),
            )
            .also(set.value, "the nodes"),
        );
    }
    findings
}

fn deepseek_v4_attention(view: &View<'_>) -> Vec<Finding> {
    let facts = view.launch.model.as_ref().map(|model| &model.facts);
    if !facts
        .and_then(|facts| facts.architecture.as_ref())
        .is_some_and(|of| of.value.starts_with("DeepseekV4"))
    {
        return Vec::new();
    }
    let named = view.set("--attention-backend").map(|set| (set.text.clone(), set.value));
    let nested = view.json("--attention-config").and_then(|(json, set)| {
        Some((json.get("backend")?.as_str()?.to_owned(), member(view, &set, "backend")))
    });
    match named.or(nested) {
        Some((backend, about))
            if ["FLASHINFER_MLA_SPARSE", "FLASHINFER_MLA_SPARSE_SM120"]
                .contains(&backend.to_uppercase().as_str()) =>
        {
            vec![
                Finding::error(
                    slugs::FAMILY_BACKEND,
                    about,
                    format!("`{backend}` does not serve DeepSeek-V4"),
                )
                .help("write `FLASHINFER_MLA_SPARSE_DSV4`, or leave it out")
                .replace("FLASHINFER_MLA_SPARSE_DSV4"),
            ]
        }
        _ => Vec::new(),
    }
}

fn rust_frontend(view: &View<'_>) -> Vec<Finding> {
    if !view.variable_on("VLLM_USE_RUST_FRONTEND") {
        return Vec::new();
    }
    match view.set("--stream-interval") {
        Some(interval) => vec![
            Finding::error(
                slugs::FRONTEND_LACKS_FLAG,
                interval.name,
                "the Rust frontend knows no `--stream-interval`",
            )
            .also(About::Variable("VLLM_USE_RUST_FRONTEND".to_owned()), "puts that frontend in place"),
        ],
        None => Vec::new(),
    }
}
