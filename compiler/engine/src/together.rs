//! Two halves of one engine: what a prefill and a decode process must say alike.
//!
//! Cache blocks travel from one to the other as bytes. What decides their layout is checked by the
//! engines when the first request moves, long after both have started.

use diag::slugs::engine as slugs;
use serde_json::Value as Json;

use crate::Engine;
use crate::finding::{About, Finding, Report};
use crate::launch::Launch;
use crate::view::{Set, View};

/// Checks what a prefill and a decode process of one deployment say of the cache that they share.
/// Findings are about the decode process.
#[must_use]
pub fn together(prefill: &Launch, decode: &Launch) -> Report {
    let (prefill, decode) = (View::new(prefill), View::new(decode));
    let mut findings = Vec::new();
    if prefill.table.engine() == decode.table.engine() {
        cache_type(&prefill, &decode, &mut findings);
        match decode.table.engine() {
            Engine::Sglang => sglang(&prefill, &decode, &mut findings),
            Engine::Vllm => vllm(&prefill, &decode, &mut findings),
            Engine::Trtllm | Engine::Atom => {}
        }
    }
    Report { findings, skipped: decode.skipped.into_inner(), waived: Vec::new() }
}

fn differ(about: About, message: String, why: &str, evidence: &str) -> Finding {
    Finding::error(slugs::ROLES_DIFFER, about, message).why(why).evidence(evidence)
}

/// The words of one type of the cache.
fn canonical(kv: &str) -> &str {
    match kv {
        "bf16" => "bfloat16",
        "fp8" | "fp8_e4m3" => "fp8_e4m3",
        other => other,
    }
}

/// What a process keeps its cache in: as told, else as the checkpoint says. `None` where neither
/// is known.
fn resolved(view: &View<'_>) -> Option<String> {
    let told = view.set("--kv-cache-dtype").map(|set| set.text).filter(|text| text != "auto");
    if let Some(told) = told {
        return Some(canonical(&told).to_owned());
    }
    let facts = &view.launch.model.as_ref()?.facts;
    if let Some(own) = &facts.kv_cache_quantization {
        return own.value.to_uppercase().contains("FP8").then(|| "fp8_e4m3".to_owned());
    }
    // Sparse attention of some families chooses by the machine.
    let of = facts.architecture.as_ref()?;
    let chooses = ["DeepseekV32", "DeepseekV4", "GlmMoeDsa"].iter().any(|name| of.value.starts_with(name));
    (!chooses).then(|| "bfloat16".to_owned())
}

fn cache_type(prefill: &View<'_>, decode: &View<'_>, findings: &mut Vec<Finding>) {
    let told = |view: &View<'_>| view.set("--kv-cache-dtype").map(|set| canonical(&set.text).to_owned());
    if told(prefill) == told(decode) {
        return;
    }
    let both = resolved(prefill).zip(resolved(decode));
    let Some((first, second)) =
        decode.need(slugs::ROLES_DIFFER, both, "the type of the KV cache that the checkpoint asks for")
    else {
        return;
    };
    if first == second {
        return;
    }
    let about = decode.set("--kv-cache-dtype").map_or(About::Launch, |set| set.value);
    findings.push(
        differ(
            about,
            format!("decode keeps its cache in `{second}`, and prefill fills it in `{first}`"),
            "blocks are moved as they are: one side's bytes are read as the other's type",
            "https://github.com/sgl-project/sglang/pull/19398",
        )
        .help("give both the same `kv-cache-dtype`"),
    );
}

/// Both sides of a setting where they differ, as text; the default of the version where it is unset.
fn sides<'v>(
    prefill: &View<'_>,
    decode: &'v View<'_>,
    flag: &str,
) -> Option<(String, String, Option<Set<'v>>)> {
    let default = |view: &View<'_>| {
        let text = view.table.flag(flag).and_then(|(flag, _)| flag.default).unwrap_or_default();
        text.trim_matches('"').to_owned()
    };
    let first = prefill.set(flag).map_or_else(|| default(prefill), |set| set.text);
    let set = decode.set(flag);
    let second = set.as_ref().map_or_else(|| default(decode), |set| set.text.clone());
    (first != second).then_some((first, second, set))
}

fn sglang(prefill: &View<'_>, decode: &View<'_>, findings: &mut Vec<Finding>) {
    let source = "sglang 0.5.18 srt/disaggregation/common/conn.py:534";
    // Unset, a page is what the attention backend of each side wants.
    if let (Some((first, _)), Some((second, set))) =
        (prefill.given_number("--page-size"), decode.given_number("--page-size"))
        && first != second
    {
        findings.push(differ(
            set.value,
            format!("decode has pages of {second} tokens, and prefill of {first}"),
            "blocks are moved page by page, and the receiver refuses another size",
            source,
        ));
    }
    if let Some((first, second, set)) = sides(prefill, decode, "--disaggregation-transfer-backend") {
        findings.push(differ(
            set.map_or(About::Launch, |set| set.value),
            format!("decode receives with `{second}`, and prefill sends with `{first}`"),
            "the two do not speak with each other",
            source,
        ));
    }
    for (view, role) in [(prefill, "prefill"), (decode, "decode")] {
        if let Some(mode) = view.set("--disaggregation-mode").filter(|set| set.text != role) {
            let about = if role == "decode" { mode.value } else { About::Launch };
            let message = format!("the {role} process is told `--disaggregation-mode {}`", mode.text);
            findings.push(differ(
                about,
                message,
                "both halves of a request have to be done by somebody",
                source,
            ));
        }
    }
    drafts(prefill, decode, findings);
}

/// Presence of drafts, and with what; how many each side makes is its own affair.
fn drafts(prefill: &View<'_>, decode: &View<'_>, findings: &mut Vec<Finding>) {
    let source = "https://github.com/SemiAnalysisAI/InferenceX/pull/2305";
    let algorithm = |view: &View<'_>| {
        let text = view.set("--speculative-algorithm")?.text;
        Some(if text == "NEXTN" { "EAGLE".to_owned() } else { text })
    };
    match (algorithm(prefill), algorithm(decode)) {
        (None, Some(second)) => findings.push(
            differ(
                decode.set("--speculative-algorithm").map_or(About::Launch, |set| set.name),
                format!("decode drafts with `{second}`, and prefill with nothing"),
                "the layer of the draft has no cache from prefill, and answers get worse without a message",
                source,
            )
            .help("give both the same algorithm and draft"),
        ),
        (Some(first), Some(second)) if first != second => findings.push(differ(
            decode.set("--speculative-algorithm").map_or(About::Launch, |set| set.value),
            format!("decode drafts with `{second}`, and prefill with `{first}`"),
            "each fills the cache of its own draft",
            source,
        )),
        (Some(_), Some(_)) => {
            if let Some((first, second, set)) = sides(prefill, decode, "--speculative-draft-model-path") {
                let name = |text: &str| {
                    if text.is_empty() { "the checkpoint's own head".to_owned() } else { format!("`{text}`") }
                };
                findings.push(differ(
                    set.map_or(About::Launch, |set| set.value),
                    format!("decode drafts with {}, and prefill with {}", name(&second), name(&first)),
                    "each fills the cache of its own draft",
                    source,
                ));
            }
        }
        (_, None) => {}
    }
}

fn vllm(prefill: &View<'_>, decode: &View<'_>, findings: &mut Vec<Finding>) {
    let transfer = |view: &View<'_>| view.json("--kv-transfer-config").map(|(json, _)| json);
    let (Some(sends), Some((receives, set))) = (transfer(prefill), decode.json("--kv-transfer-config"))
    else {
        return;
    };
    let text = |json: &Json, name: &str| json.get(name).and_then(Json::as_str).map(str::to_owned);
    let place = |name: &str| decode.value_of(set.given, &[name.to_owned()]);
    let source = "vllm 0.27.1 kv_connector/v1/nixl/metadata.py:81";
    let connectors = (text(&sends, "kv_connector"), text(&receives, "kv_connector"));
    if let (Some(first), Some(second)) = &connectors
        && first != second
    {
        findings.push(differ(
            place("kv_connector"),
            format!("decode receives with `{second}`, and prefill sends with `{first}`"),
            "the two do not speak with each other",
            source,
        ));
    }
    for (json, wrong, role) in [(&sends, "kv_consumer", "prefill"), (&receives, "kv_producer", "decode")] {
        if text(json, "kv_role").as_deref() == Some(wrong) {
            let about = if role == "decode" { place("kv_role") } else { About::Launch };
            let message = format!("the {role} process is told to be a `{wrong}`");
            findings.push(differ(
                about,
                message,
                "prefill produces the cache and decode consumes it",
                source,
            ));
        }
    }
    let checks = |json: &Json| {
        json.pointer("/kv_connector_extra_config/enforce_handshake_compat").and_then(Json::as_bool)
            != Some(false)
    };
    let nixl = connectors.1.is_some_and(|name| name.starts_with("Nixl"));
    if !nixl || !checks(&sends) || !checks(&receives) {
        return;
    }
    for flag in ["--attention-backend", "--dtype"] {
        // Unset, each side chooses; only what both say can be compared.
        if let (Some(first), Some(second)) = (prefill.set(flag), decode.set(flag))
            && !first.text.eq_ignore_ascii_case(&second.text)
        {
            findings.push(differ(
                second.value,
                format!("decode has `{flag} {}`, and prefill `{flag} {}`", second.text, first.text),
                "both sides make a sum of what decides the layout of the cache, and the first handshake fails where it differs",
                source,
            ));
        }
    }
}
