//! What must fit where: weights in a GPU's memory, cache pools in a node's.

use diag::slugs::engine as slugs;

use super::Rule;
use crate::Engine;
use crate::decimal::Decimal;
use crate::finding::{About, Finding};
use crate::view::View;

const fn any(id: &'static str, evidence: &'static str, check: fn(&View<'_>) -> Vec<Finding>) -> Rule {
    Rule { id, engine: None, from: "", to: "", evidence, check }
}

pub(super) const RULES: &[Rule] = &[
    any("weights-fit", "https://github.com/vllm-project/recipes", weights),
    any("host-memory", "https://github.com/sgl-project/sglang", host),
    any("graph-headroom", "https://github.com/SemiAnalysisAI/InferenceX", headroom),
    any("per-rank-sizes", "https://github.com/vllm-project/vllm", per_rank),
];

/// GPUs that hold one copy of the weights.
fn gpus(view: &View<'_>) -> Option<(u64, About)> {
    let number = |flag: &str| {
        view.given_number(flag).and_then(|(number, set)| Some((u64::try_from(number).ok()?, set.value)))
    };
    let engine = view.table.engine();
    let tp_flag = if engine == Engine::Trtllm { "--tp_size" } else { "--tensor-parallel-size" };
    let pp_flag = if engine == Engine::Trtllm { "--pp_size" } else { "--pipeline-parallel-size" };
    let label = view.launch.parallel;
    let (tp, about) = number(tp_flag)
        .or_else(|| label.map(|label| (u64::from(label.tp), About::Field("parallel.tp".to_owned()))))?;
    let pp = number(pp_flag).map(|(pp, _)| pp).or(label.map(|label| u64::from(label.pp))).unwrap_or(1);
    // vLLM spreads experts over data-parallel ranks too, and the experts are nearly all of the weights.
    let experts = engine == Engine::Vllm && view.on("--enable-expert-parallel").is_some();
    let dp = if experts { number("--data-parallel-size").map_or(1, |(dp, _)| dp) } else { 1 };
    Some((tp.saturating_mul(pp).saturating_mul(dp).max(1), about))
}

fn gigabytes(bytes: u64) -> String {
    format!("{} GB", bytes.saturating_add(500_000_000) / 1_000_000_000)
}

fn weights(view: &View<'_>) -> Vec<Finding> {
    let Some(model) = &view.launch.model else { return Vec::new() };
    let Some(hardware) = &view.launch.hardware else { return Vec::new() };
    let slug = slugs::WEIGHTS_TOO_BIG;
    let (Some(bytes), Some(hbm)) = (
        view.need(slug, model.facts.weight_bytes.as_ref(), "the bytes of the checkpoint's weights"),
        view.need(slug, hardware.hbm, "the memory of the target's GPU"),
    ) else {
        return Vec::new();
    };
    let Some((gpus, about)) = gpus(view) else { return Vec::new() };
    let each = bytes.value / gpus;
    if each < hbm {
        return Vec::new();
    }
    let least = bytes.value.checked_div(hbm).unwrap_or(0).saturating_add(1);
    vec![
        Finding::error(
            slug,
            about,
            format!(
                "{} of weights over {gpus} GPUs are {} each, and `{}` has {}",
                gigabytes(bytes.value),
                gigabytes(each),
                hardware.sku,
                gigabytes(hbm)
            ),
        )
        .why("before any KV cache")
        .help(format!("the weights alone need {} GPUs or more", least.next_power_of_two())),
    ]
}

fn host(view: &View<'_>) -> Vec<Finding> {
    if view.table.engine() != Engine::Sglang {
        return Vec::new();
    }
    let Some(hardware) = &view.launch.hardware else { return Vec::new() };
    if view.on("--enable-hierarchical-cache").is_none() {
        return Vec::new();
    }
    let ranks = u64::try_from(view.number("--tp-size", 1)).unwrap_or(1).max(1);
    let slug = slugs::HOST_MEMORY;
    let Some(dram) = view.need(slug, hardware.dram, "the memory of the target's node") else {
        return Vec::new();
    };
    // A size is decimal gigabytes a rank and pool, and wins over a ratio.
    if let Some((size, set)) = view.given_number("--hicache-size").filter(|(size, _)| *size > 0) {
        let all = u64::try_from(size).unwrap_or(0).saturating_mul(1_000_000_000).saturating_mul(ranks);
        return if all > dram {
            vec![Finding::error(
                slug,
                set.value,
                format!(
                    "{size} GB on each of {ranks} ranks are {}, and the node has {}",
                    gigabytes(all),
                    gigabytes(dram)
                ),
            )]
        } else {
            Vec::new()
        };
    }
    let Some(ratio) = view.set("--hicache-ratio") else { return Vec::new() };
    let (Some(hbm), Some(times)) =
        (view.need(slug, hardware.hbm, "the memory of the target's GPU"), Decimal::parse(&ratio.text))
    else {
        return Vec::new();
    };
    let fraction =
        view.set("--mem-fraction-static").and_then(|set| set.text.parse::<f64>().ok()).unwrap_or(0.9);
    let bytes = view.launch.model.as_ref().and_then(|model| model.facts.weight_bytes.as_ref());
    let Some(bytes) = view.need(slug, bytes, "the bytes of the checkpoint's weights") else {
        return Vec::new();
    };
    let weights = bytes.value / ranks;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "an estimate in gigabytes"
    )]
    let pool = ((hbm as f64 * fraction) as u64).saturating_sub(weights);
    let whole = times.to_string().parse::<f64>().unwrap_or(0.0);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "an estimate in gigabytes"
    )]
    let all = (pool as f64 * whole * ranks as f64) as u64;
    if all <= dram / 10 * 9 {
        return Vec::new();
    }
    vec![
        Finding::warning(
            slug,
            ratio.value,
            format!(
                "{whole} times a pool of about {} on each of {ranks} ranks are {}, and the node has {}",
                gigabytes(pool),
                gigabytes(all),
                gigabytes(dram)
            ),
        )
        .why("the pool in host memory is as many times as large as the GPU's, on every rank")
        .help("give `hicache-size` in its place: gigabytes for each rank"),
    ]
}

/// Gigabytes that graphs, a draft head and activations were seen to need beside the static part.
const LEAST_HEADROOM: u64 = 31;

fn headroom(view: &View<'_>) -> Vec<Finding> {
    if view.table.engine() != Engine::Sglang || view.set("--speculative-algorithm").is_none() {
        return Vec::new();
    }
    let Some(fraction) = view.set("--mem-fraction-static") else { return Vec::new() };
    let Some(hardware) = &view.launch.hardware else { return Vec::new() };
    let (Some(hbm), architecture) = (hardware.hbm, hardware.architecture.as_str()) else { return Vec::new() };
    let Some(part) = Decimal::parse(&fraction.text).filter(|part| *part <= Decimal::ONE) else {
        return Vec::new();
    };
    let hundredths = part.two_places().replace('.', "").parse::<u64>().unwrap_or(100).min(100);
    let left = hbm / 100 * (100 - hundredths);
    let drafts = view.number("--speculative-num-draft-tokens", 0);
    if left >= LEAST_HEADROOM * 1_000_000_000 || drafts < 4 || !super::arch::SM100.contains(&architecture) {
        return Vec::new();
    }
    let fits = 100_u64
        .saturating_sub(LEAST_HEADROOM.saturating_mul(100_000_000_000).checked_div(hbm).unwrap_or(0))
        .saturating_sub(1);
    vec![
        Finding::note(slugs::LITTLE_HEADROOM, fraction.value, format!("a static part of {} leaves {} of {}", fraction.text, gigabytes(left), gigabytes(hbm)))
            .why(format!("a draft head and graphs of large batches were seen to need about {LEAST_HEADROOM} GB beside it; the same fraction leaves more on a larger GPU"))
            .help(format!("write 0.{fits:02} or less")),
    ]
}

fn per_rank(view: &View<'_>) -> Vec<Finding> {
    if view.table.engine() != Engine::Vllm {
        return Vec::new();
    }
    let Some(asked) = view.launch.workload.concurrency else { return Vec::new() };
    let dp = u64::try_from(view.number("--data-parallel-size", 1)).unwrap_or(1);
    if dp <= 1 {
        return Vec::new();
    }
    let each = asked.div_ceil(dp);
    ["--max-num-seqs", "--max-cudagraph-capture-size"]
        .iter()
        .filter_map(|flag| Some((flag, view.given_number(flag)?)))
        .filter_map(|(flag, (limit, set))| Some((flag, u64::try_from(limit).ok()?, set)))
        // A little room costs nothing; a limit of the whole load on every rank costs memory.
        .filter(|(_, limit, _)| *limit >= asked && *limit >= each.saturating_mul(4) && *limit >= 1024)
        .map(|(flag, limit, set)| {
            Finding::warning(
                slugs::PER_RANK_SIZE,
                set.value,
                format!(
                    "`{flag}` {limit} is for each of {dp} ranks, and a rank gets {each} of {asked} requests"
                ),
            )
            .why("limits and graphs are sized for each data-parallel rank")
            .help(format!("write {each} or a little more"))
        })
        .collect()
}
