//! How heads, experts and quantization blocks divide over GPUs: all that fail together, with the
//! sizes that pass.

use diag::slugs::engine as slugs;

use super::Rule;
use crate::Engine;
use crate::finding::{About, Finding};
use crate::view::View;

const fn any(id: &'static str, evidence: &'static str, check: fn(&View<'_>) -> Vec<Finding>) -> Rule {
    Rule { id, engine: None, from: "", to: "", evidence, check }
}

pub(super) const RULES: &[Rule] = &[
    any("topology", "https://docs.vllm.ai/en/latest/serving/parallelism_scaling.html", divisions),
    any("mori-shared", "https://github.com/sgl-project/sglang", shared_expert),
];

/// Widths of the parallel dimensions: as flags give them, else as the point is labelled.
struct Widths {
    tp: u64,
    ep: u64,
    /// GPUs that attention heads are spread over.
    attention: u64,
    about: About,
}

fn widths(view: &View<'_>) -> Option<Widths> {
    let engine = view.table.engine();
    let flag = match engine {
        Engine::Trtllm => "--tp_size",
        _ => "--tensor-parallel-size",
    };
    let given = view.given_number(flag);
    let label = view.launch.parallel;
    let tp = given.as_ref().map(|(tp, _)| *tp).or(label.map(|label| i64::from(label.tp)))?;
    let tp = u64::try_from(tp).ok().filter(|tp| *tp > 0)?;
    let about = given.map_or_else(|| About::Field("parallel.tp".to_owned()), |(_, set)| set.value);
    let number = |flag: &str| view.given_number(flag).and_then(|(number, _)| u64::try_from(number).ok());
    let dp = number("--data-parallel-size").unwrap_or(1).max(1);
    let ep = match engine {
        Engine::Sglang => number("--ep-size"),
        Engine::Vllm => view.on("--enable-expert-parallel").map(|_| tp.saturating_mul(dp)),
        Engine::Trtllm => number("--ep_size"),
        Engine::Atom => None,
    };
    let ep = ep.or(label.map(|label| u64::from(label.ep))).unwrap_or(1).max(1);
    // With data-parallel attention SGLang spreads heads over `tp / dp` GPUs.
    let apart = engine == Engine::Sglang && view.on("--enable-dp-attention").is_some();
    let attention = if apart { (tp / dp).max(1) } else { tp };
    Some(Widths { tp, ep, attention, about })
}

fn divisions(view: &View<'_>) -> Vec<Finding> {
    let Some(model) = &view.launch.model else { return Vec::new() };
    let facts = &model.facts;
    let Some(widths) = widths(view) else { return Vec::new() };
    let slug = slugs::INDIVISIBLE;
    let heads =
        view.need(slug, facts.heads.as_ref(), "the checkpoint's attention heads").map(|fact| fact.value);
    let experts = facts.experts.as_ref().map(|fact| fact.value).filter(|experts| *experts > 0);
    let blocks = match (&facts.expert_width, &facts.quantization_block) {
        (Some(width), Some(block)) if block.value > 0 => Some((width.value, block.value)),
        _ => None,
    };
    let mut broken = Vec::new();
    if let Some(heads) = heads.filter(|heads| heads % widths.attention != 0) {
        broken.push(format!("{heads} attention heads do not divide by {}", widths.attention));
    }
    if let Some(experts) = experts.filter(|experts| experts % widths.ep != 0) {
        broken.push(format!("{experts} experts do not divide by {}", widths.ep));
    }
    // Experts that are spread whole are not cut.
    let cut = (widths.tp / widths.ep.max(1)).max(1);
    if let Some((width, block)) = blocks.filter(|(width, block)| !slices(*width, *block, cut)) {
        broken.push(slice(width, block, cut));
    }
    if broken.is_empty() {
        return Vec::new();
    }
    let passes = |tp: u64| {
        heads.is_none_or(|heads| heads.is_multiple_of(tp))
            && (widths.ep > 1 || blocks.is_none_or(|(width, block)| slices(width, block, tp)))
            && (widths.ep == 1 || experts.is_none_or(|experts| experts.is_multiple_of(tp)))
    };
    let most = heads.unwrap_or(64).min(1024);
    let fit: Vec<String> =
        (1..=most).filter(|tp| tp.is_power_of_two() && passes(*tp)).map(|tp| tp.to_string()).collect();
    let mut finding = Finding::error(slug, widths.about, broken.join("; "));
    if let Some(kv) = facts.kv_heads.as_ref().filter(|kv| kv.value < widths.attention) {
        finding = finding.why(format!(
            "the {} key/value heads are no obstacle: engines copy them where there are fewer than GPUs",
            kv.value
        ));
    }
    finding = if fit.is_empty() {
        finding.help("no width of a power of two fits: spread over nodes by pipeline or data parallelism")
    } else {
        finding.help(format!("tensor parallelism {} passes", list(&fit)))
    };
    vec![finding]
}

fn list(items: &[String]) -> String {
    match items {
        [most @ .., last] if !most.is_empty() => format!("{} or {last}", most.join(", ")),
        _ => items.join(", "),
    }
}

/// Whether a layer's slice is a whole number of quantization blocks.
fn slices(width: u64, block: u64, over: u64) -> bool {
    width.is_multiple_of(over) && (width / over).is_multiple_of(block)
}

fn slice(width: u64, block: u64, over: u64) -> String {
    if width.is_multiple_of(over) {
        format!(
            "experts of width {width} over {over} GPUs are slices of {}, and {} mod {block} is {}",
            width / over,
            width / over,
            width / over % block
        )
    } else {
        format!("experts of width {width} do not divide by {over}")
    }
}

fn shared_expert(view: &View<'_>) -> Vec<Finding> {
    if view.table.engine() != Engine::Sglang {
        return Vec::new();
    }
    let (Some(backend), Some(_)) = (view.is("--moe-a2a-backend", "mori"), view.on("--enable-dp-attention"))
    else {
        return Vec::new();
    };
    let Some(facts) = view.launch.model.as_ref().map(|model| &model.facts) else { return Vec::new() };
    let (Some(experts), Some(shared)) = (
        view.need(slugs::INDIVISIBLE, facts.experts.as_ref(), "the checkpoint's experts"),
        view.need(slugs::INDIVISIBLE, facts.shared_experts.as_ref(), "the checkpoint's shared experts"),
    ) else {
        return Vec::new();
    };
    // One slot for the shared expert is added once, over all ranks, unless fusing it is switched off.
    let ranks = u64::try_from(view.number("--tp-size", 1)).unwrap_or(1).max(1);
    if shared.value == 0
        || view.on("--disable-shared-experts-fusion").is_some()
        || experts.value.saturating_add(shared.value).is_multiple_of(ranks)
    {
        return Vec::new();
    }
    vec![
        Finding::error(
            slugs::INDIVISIBLE,
            backend.value,
            format!("{} routed and {} shared experts do not divide by {ranks}", experts.value, shared.value),
        )
        .why(format!("`mori` with data-parallel attention makes expert parallelism {ranks}, and the shared expert takes a slot of its own"))
        .help("add `disable-shared-experts-fusion`, or take another `moe-a2a-backend`"),
    ]
}
