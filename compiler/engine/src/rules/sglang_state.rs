//! SGLang: rules about the state of linear attention and Mamba layers.
//!
//! Read in `sglang/srt/server_args.py` of the releases named.

use diag::slugs::engine as slugs;

use super::sglang::{backend, page, rule, some};
use super::{Rule, arch};
use crate::finding::Finding;
use crate::view::{Set, View};

pub(super) const RULES: &[Rule] = &[
    rule("sg-linattn-decode-ssm", "sglang 0.5.16 srt/server_args.py:5286", linear_attention_state),
    rule("sg-linattn-prefill-cuda13", "sglang 0.5.16 srt/server_args.py:5300", linear_attention_cuda),
    rule("sg-mamba-nobuf", "sglang 0.5.16 srt/server_args.py:4822", mamba_no_buffer),
    rule("sg-mamba-extrabuf", "sglang 0.5.16 srt/server_args.py:4834", mamba_extra_buffer),
];

fn linear_attention_state(view: &View<'_>) -> Vec<Finding> {
    let Some(backend) = backend(view, "--linear-attn-backend", "--linear-attn-decode-backend") else {
        return Vec::new();
    };
    if backend.text != "flashinfer" {
        return Vec::new();
    }
    let slug = slugs::LINEAR_ATTENTION_STATE;
    let Some(name) = view.architecture(slug) else { return Vec::new() };
    let given = view.set("--mamba-ssm-dtype");
    let speculates = view.one_of("--speculative-algorithm", &["NEXTN", "EAGLE"]);
    let (wants, why) = if arch::SM100.contains(&name) {
        ("bfloat16", "on SM100 FlashInfer's kernel of linear attention keeps its state in bfloat16 only")
    } else if arch::HOPPER.contains(&name) && speculates.is_some() {
        (
            "float32",
            "on SM90 FlashInfer's kernel that verifies drafts keeps its state in float32 only; capturing its graph aborts",
        )
    } else {
        return Vec::new();
    };
    let has = given.as_ref().map(|set| set.text.as_str());
    if has == Some(wants) {
        return Vec::new();
    }
    let about = given.as_ref().map_or_else(|| backend.name.clone(), |set| set.value.clone());
    let message = match has {
        Some(has) => format!(
            "the SSM state is `{has}`, and `{name}` with linear attention of `flashinfer` wants `{wants}`"
        ),
        None => format!(
            "linear attention of `flashinfer` on `{name}` wants `--mamba-ssm-dtype {wants}`, and none is given"
        ),
    };
    let mut finding =
        Finding::error(slug, about, message).why(why).also(backend.value, "the backend that wants it");
    finding = if has.is_some() {
        finding.help(format!("write `{wants}` on `{name}`")).replace(wants)
    } else {
        finding.help(format!("add `mamba-ssm-dtype = \"{wants}\";`"))
    };
    some(finding.why("SM90 and SM100 want opposite types: let the value depend on the target's architecture"))
}

fn linear_attention_cuda(view: &View<'_>) -> Vec<Finding> {
    let Some(backend) = backend(view, "--linear-attn-backend", "--linear-attn-prefill-backend") else {
        return Vec::new();
    };
    if backend.text != "flashinfer" {
        return Vec::new();
    }
    let Some(name) = view.architecture(slugs::LINEAR_ATTENTION_CUDA) else { return Vec::new() };
    // The tag says the CUDA of the image: `v0.5.14-cu130`.
    let tag = view.launch.image.split('@').next().unwrap_or("");
    let cuda =
        tag.split(['-', '_', ':']).find_map(|part| part.strip_prefix("cu")?.get(..2)?.parse::<u32>().ok());
    let Some(cuda) = view.need(slugs::LINEAR_ATTENTION_CUDA, cuda, "the image's CUDA version") else {
        return Vec::new();
    };
    if !arch::SM100.contains(&name) || cuda >= 13 {
        return Vec::new();
    }
    some(
        Finding::error(
            slugs::LINEAR_ATTENTION_CUDA,
            backend.value,
            format!("prefill of linear attention with `flashinfer` on `{name}` wants CUDA 13, and the image has CUDA {cuda}"),
        )
        .help("take the image's `cu130` build"),
    )
}

/// The Mamba strategy under either of its flags; the radix cache must be on for it to matter.
fn mamba_strategy<'v>(view: &'v View<'_>) -> Option<Set<'v>> {
    if view.on("--disable-radix-cache").is_some() {
        return None;
    }
    view.set("--mamba-radix-cache-strategy").or_else(|| view.set("--mamba-scheduler-strategy"))
}

fn mamba_no_buffer(view: &View<'_>) -> Vec<Finding> {
    let Some(strategy) = mamba_strategy(view).filter(|set| set.text == "no_buffer") else {
        return Vec::new();
    };
    let mut findings = Vec::new();
    let mut says = |about, message: String| {
        findings.push(
            Finding::error(slugs::EXCLUDED_FLAGS, about, message)
                .also(strategy.value.clone(), "the strategy"),
        );
    };
    if let Some((page, set)) = view.given_number("--page-size").filter(|(size, _)| *size != 1) {
        says(set.value, format!("`no_buffer` takes pages of one token, not of {page}"));
    }
    if let Some(attention) = view.is("--attention-backend", "trtllm_mha") {
        says(attention.value, "`no_buffer` does not go with `trtllm_mha`".to_owned());
    }
    if view.on("--disable-overlap-schedule").is_none() {
        says(strategy.value.clone(), "`no_buffer` needs `--disable-overlap-schedule`".to_owned());
    }
    findings
}

fn mamba_extra_buffer(view: &View<'_>) -> Vec<Finding> {
    let Some(strategy) = mamba_strategy(view).filter(|set| set.text.starts_with("extra_buffer")) else {
        return Vec::new();
    };
    let mut findings = Vec::new();
    let interval = view.number("--mamba-track-interval", 256);
    if let Some((tokens, set)) = view.given_number("--speculative-num-draft-tokens") {
        if strategy.text == "extra_buffer_lazy" {
            findings.push(Finding::error(
                slugs::EXCLUDED_FLAGS,
                strategy.value.clone(),
                "`extra_buffer_lazy` does not go with speculative decoding",
            ));
        }
        if interval < tokens {
            findings.push(Finding::error(
                slugs::INDIVISIBLE,
                set.value,
                format!("`--mamba-track-interval` {interval} is less than the {tokens} tokens of one draft"),
            ));
        }
    }
    let page = page(view);
    if page > 0 && interval % page != 0 {
        let about = view.set("--mamba-track-interval").map_or(strategy.value.clone(), |set| set.value);
        findings.push(Finding::error(
            slugs::INDIVISIBLE,
            about,
            format!("`--mamba-track-interval` {interval} is no multiple of the page of {page}"),
        ));
    }
    findings
}
