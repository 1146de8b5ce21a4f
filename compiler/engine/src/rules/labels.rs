//! What the recipe declares against what the process is told: a label that reaches no flag is a lie.

use diag::slugs::engine as slugs;
use serde_json::Value as Json;

use super::Rule;
use crate::Engine;
use crate::finding::{About, Finding};
use crate::launch::Role;
use crate::view::View;

const fn any(id: &'static str, check: fn(&View<'_>) -> Vec<Finding>) -> Rule {
    Rule {
        id,
        engine: None,
        from: "",
        to: "",
        evidence: "https://github.com/SemiAnalysisAI/InferenceX/pull/1266",
        check,
    }
}

pub(super) const RULES: &[Rule] =
    &[any("label-parallel", parallel), any("label-speculation", speculation), any("label-offload", offload)];

fn parallel(view: &View<'_>) -> Vec<Finding> {
    let Some(label) = view.launch.parallel else { return Vec::new() };
    let engine = view.table.engine();
    let mut findings = Vec::new();
    let mut differs = |field: &str, wants: i64, flag: &str, missing: i64| {
        let set = view.given_number(flag);
        let has = set.as_ref().map_or(missing, |(has, _)| *has);
        if has == wants {
            return;
        }
        let mut finding = Finding::error(
            slugs::LABEL_NOT_REALISED,
            About::Field(format!("parallel.{field}")),
            match &set {
                Some(_) => {
                    format!("the point says `{field} = {wants}`, and the server is told `{flag} {has}`")
                }
                None => format!("the point says `{field} = {wants}`, and no flag tells the server"),
            },
        )
        .why("results would be published under a label that never ran");
        finding = match set {
            Some((_, set)) => finding.also(set.value, "what the server is told"),
            None => finding.help(format!("give `{}`", flag.trim_start_matches('-'))),
        };
        findings.push(finding);
    };
    let on = |flag: &str| view.on(flag).is_some();
    match engine {
        Engine::Sglang => {
            differs("tp", label.tp.into(), "--tp-size", 1);
            differs("pp", label.pp.into(), "--pp-size", 1);
            // An all-to-all backend sets expert parallelism itself.
            let own = view.set("--moe-a2a-backend").is_some_and(|set| set.text != "none");
            if !own {
                differs("ep", label.ep.into(), "--ep-size", 1);
            }
        }
        Engine::Vllm => {
            let (tp, dp) = (view.number("--tensor-parallel-size", 1), view.number("--data-parallel-size", 1));
            differs("pp", label.pp.into(), "--pipeline-parallel-size", 1);
            // Upstream's tp counts the GPUs; data-parallel attention takes them as dp.
            if tp.saturating_mul(dp) != i64::from(label.tp) && tp != i64::from(label.tp) {
                differs("tp", label.tp.into(), "--tensor-parallel-size", 1);
            }
            let experts = on("--enable-expert-parallel");
            if label.ep > 1 && !experts {
                findings.push(
                    Finding::error(
                        slugs::LABEL_NOT_REALISED,
                        About::Field("parallel.ep".to_owned()),
                        format!("the point says `ep = {}`, and no flag tells the server", label.ep),
                    )
                    .why("results would be published under a label that never ran")
                    .help("give `enable-expert-parallel = true;`"),
                );
            } else if label.ep <= 1 && experts && tp.saturating_mul(dp) > 1 {
                findings.push(
                    Finding::warning(
                        slugs::LABEL_NOT_REALISED,
                        About::Field("parallel.ep".to_owned()),
                        format!(
                            "the point says `ep = {}`, and the server spreads its experts over {} GPUs",
                            label.ep,
                            tp.saturating_mul(dp)
                        ),
                    )
                    .help("label the point with the expert parallelism that runs"),
                );
            }
        }
        Engine::Trtllm => {
            differs("tp", label.tp.into(), "--tp_size", 1);
            differs("ep", label.ep.into(), "--ep_size", 1);
        }
        Engine::Atom => differs("tp", label.tp.into(), "--tensor-parallel-size", 1),
    }
    if label.dp_attn {
        let told = match engine {
            Engine::Sglang => {
                on("--enable-dp-attention") && view.number("--dp-size", 1) > 1
                    || view.number("--attn-dp-size", 1) > 1
            }
            Engine::Vllm => view.number("--data-parallel-size", 1) > 1,
            // What the command line does not say may stand in a file that nobody gave.
            Engine::Trtllm if view.launch.config.is_none() => true,
            Engine::Trtllm => {
                on("--enable_attention_dp")
                    || config(view, &["enable_attention_dp"]) == Some(&Json::Bool(true))
            }
            Engine::Atom => on("--enable-dp-attention") || view.number("--data-parallel-size", 1) > 1,
        };
        if !told {
            findings.push(
                Finding::error(
                    slugs::LABEL_NOT_REALISED,
                    About::Field("parallel.dpAttn".to_owned()),
                    "the point says that attention is data-parallel, and nothing tells the server",
                )
                .why("results would be published under a label that never ran"),
            );
        }
    }
    findings
}

/// A member of the engine's configuration file.
fn config<'v>(view: &'v View<'_>, path: &[&str]) -> Option<&'v Json> {
    path.iter().try_fold(view.launch.config.as_ref()?, |json, key| json.get(key))
}

/// Whether a process drafts, by its own flags or file.
pub(crate) fn drafts(view: &View<'_>) -> Option<bool> {
    Some(match view.table.engine() {
        Engine::Sglang => view.set("--speculative-algorithm").is_some(),
        Engine::Vllm => view.set("--speculative-config").is_some(),
        Engine::Trtllm => {
            // Without the file nobody knows.
            view.launch.config.as_ref()?;
            config(view, &["speculative_config"]).is_some_and(|json| !json.is_null())
        }
        Engine::Atom => view.set("--method").is_some() || view.set("--num-speculative-tokens").is_some(),
    })
}

fn speculation(view: &View<'_>) -> Vec<Finding> {
    let Some(drafts) = drafts(view) else { return Vec::new() };
    let role = match view.launch.role {
        Role::Agg => "the server",
        Role::Prefill => "the prefill server",
        Role::Decode => "the decode server",
    };
    match (&view.launch.speculative, drafts) {
        (Some(declared), false) => vec![
            Finding::error(
                slugs::LABEL_NOT_REALISED,
                About::Field("speculative".to_owned()),
                format!("the recipe drafts with `{}`, and no flag tells {role}", declared.method),
            )
            .why("results would be published under a label that never ran"),
        ],
        _ => Vec::new(),
    }
}

fn offload(view: &View<'_>) -> Vec<Finding> {
    if view.launch.kv_offload.is_some() || view.launch.parallel.is_none() {
        return Vec::new();
    }
    let about =
        |json: &Json| json.as_u64().or_else(|| json.as_f64().map(|_| 1)).is_some_and(|bytes| bytes > 0);
    let message = "the engine keeps KV blocks in host memory, and the point declares no offload";
    let finding = |at: About| {
        Finding::error(slugs::OFFLOAD_UNDECLARED, at, message)
            .why("results would be published as if the cache were in GPU memory alone")
            .help("label the point with `kvOffload`")
    };
    match view.table.engine() {
        Engine::Trtllm => match config(view, &["kv_cache_config", "host_cache_size"])
            .filter(|json| about(json))
        {
            Some(_) => {
                vec![finding(About::Config(vec!["kv_cache_config".to_owned(), "host_cache_size".to_owned()]))]
            }
            None => Vec::new(),
        },
        Engine::Sglang => {
            view.on("--enable-hierarchical-cache").map(|set| finding(set.name)).into_iter().collect()
        }
        Engine::Vllm => {
            let Some((json, set)) = view.json("--kv-transfer-config") else { return Vec::new() };
            let connector = json.get("kv_connector").and_then(Json::as_str).unwrap_or("");
            if connector.contains("Offload") || connector.starts_with("LMCache") {
                vec![finding(view.value_of(set.given, &["kv_connector".to_owned()]))]
            } else {
                Vec::new()
            }
        }
        Engine::Atom => Vec::new(),
    }
}
