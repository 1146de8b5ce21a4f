//! Flags that spoil what the workload measures.

use diag::slugs::engine as slugs;

use super::Rule;
use crate::finding::{About, Finding};
use crate::launch::Scenario;
use crate::view::View;
use crate::{Engine, Version, models};

const fn any(id: &'static str, evidence: &'static str, check: fn(&View<'_>) -> Vec<Finding>) -> Rule {
    Rule { id, engine: None, from: "", to: "", evidence, check }
}

pub(super) const RULES: &[Rule] = &[
    any("prefix-cache-on-random", "https://github.com/SemiAnalysisAI/InferenceX", prefix_cache),
    any("parser-family", "https://github.com/vllm-project/recipes/pull/259", parser_family),
    any("engine-lacks-model", "https://github.com/sgl-project/sglang/issues/30718", engine_lacks_model),
    any("worker-flags", "https://github.com/SemiAnalysisAI/InferenceX/pull/2391", worker_flags),
];

fn prefix_cache(view: &View<'_>) -> Vec<Finding> {
    if view.launch.workload.scenario != Some(Scenario::FixedSequence) {
        return Vec::new();
    }
    let (off, how) = match view.table.engine() {
        Engine::Vllm => {
            (view.is("--enable-prefix-caching", "false").is_some(), "no-enable-prefix-caching = true;")
        }
        Engine::Sglang => (
            view.on("--disable-radix-cache").is_some() || view.variable_on("SGLANG_RADIX_FORCE_MISS"),
            "disable-radix-cache = true;",
        ),
        Engine::Trtllm | Engine::Atom => return Vec::new(),
    };
    if off {
        return Vec::new();
    }
    vec![
        Finding::warning(slugs::PREFIX_CACHE_ON_RANDOM, About::Launch, "the prefix cache is on, and the workload is random tokens of fixed lengths")
            .why("prompts that happen to share a beginning are then answered from the cache, and throughput is overstated")
            .help(format!("add `{how}`")),
    ]
}

/// Beginnings of architectures and the parser of their reasoning.
const PARSERS: &[(&str, &[&str])] = &[
    ("Qwen3", &["qwen3", "qwen3-thinking", "qwen3_thinking"]),
    ("DeepseekV4", &["deepseek-v4", "deepseek_v4"]),
    ("Glm4Moe", &["glm45"]),
    ("GlmMoeDsa", &["glm45", "glm47"]),
    ("KimiK3", &["kimi_k3", "kimi_k2"]),
    ("MiniMaxM3", &["minimax-m3", "minimax_m3", "minimax"]),
    ("GptOss", &["gpt-oss", "openai_gptoss"]),
];

fn parser_family(view: &View<'_>) -> Vec<Finding> {
    let Some(parser) = view.set("--reasoning-parser") else { return Vec::new() };
    let Some(model) = &view.launch.model else { return Vec::new() };
    let Some(of) =
        view.need(slugs::PARSER_FAMILY, model.facts.architecture.as_ref(), "the checkpoint's architecture")
    else {
        return Vec::new();
    };
    let Some((_, own)) = PARSERS.iter().find(|(prefix, _)| of.value.starts_with(prefix)) else {
        return Vec::new();
    };
    let bound: Vec<&str> = PARSERS
        .iter()
        .flat_map(|(_, parsers)| parsers.iter().copied())
        .chain(["deepseek_r1", "deepseek-r1", "deepseek-v3", "mistral", "step3", "mimo"])
        .collect();
    if own.contains(&parser.text.as_str()) || !bound.contains(&parser.text.as_str()) {
        return Vec::new();
    }
    let legal = parser.given.flag.map_or(&[][..], |flag| &flag.choices);
    let better = own.iter().find(|name| legal.is_empty() || legal.contains(name));
    let mut finding = Finding::warning(
        slugs::PARSER_FAMILY,
        parser.value,
        format!("`{}` reads the reasoning of another family than `{}`", parser.text, of.value),
    );
    if let Some(better) = better {
        finding = finding.help(format!("write `{better}`, which this version has")).replace(*better);
    }
    vec![finding]
}

fn engine_lacks_model(view: &View<'_>) -> Vec<Finding> {
    let Some(model) = &view.launch.model else { return Vec::new() };
    let Some(of) = &model.facts.architecture else { return Vec::new() };
    let engine = view.table.engine();
    let version = Version::parse(&view.launch.chosen.version);
    let Some(lifetime) = models::lifetime(engine, &of.value) else { return Vec::new() };
    let title = engine.title();
    let about = || About::Field("image".to_owned());
    let finding = match lifetime.has(&version) {
        Some(true) => return Vec::new(),
        Some(false) => Finding::error(
            slugs::ENGINE_LACKS_MODEL,
            about(),
            format!("{title} {version} does not know `{}`", of.value),
        ),
        None => Finding::warning(
            slugs::ENGINE_LACKS_MODEL,
            about(),
            format!("{title} {version} may not know `{}`", of.value),
        ),
    };
    let finding = match lifetime.last_without {
        Some(last) => finding.why(format!("{last} does not have it, {} has", lifetime.first_with)),
        None => finding.why(format!("{} is the first known to have it", lifetime.first_with)),
    };
    vec![finding.help(format!("take an image with {title} {} or newer", lifetime.first_with))]
}

/// Flags of the HTTP frontend: an orchestrator's worker has none.
const FRONTEND: &[&str] = &[
    "--enable-auto-tool-choice",
    "--tool-call-parser",
    "--host",
    "--port",
    "--api-key",
    "--chat-template",
    "--response-role",
];

fn worker_flags(view: &View<'_>) -> Vec<Finding> {
    if view.table.engine() != Engine::Vllm || !view.launch.worker {
        return Vec::new();
    }
    FRONTEND
        .iter()
        .filter_map(|flag| view.set(flag))
        .map(|set| {
            Finding::error(
                slugs::FRONTEND_LACKS_FLAG,
                set.name,
                format!(
                    "`{}` belongs to `vllm serve`, and this process is an orchestrator's worker",
                    set.given.spelling
                ),
            )
            .why("the worker has no HTTP frontend of its own and stops at its flags")
            .help("give it to the frontend")
        })
        .collect()
}
