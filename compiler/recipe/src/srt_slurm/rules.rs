//! What is wrong with a recipe that the orchestrator would start all the same.

use diag::{Diagnostic, Diagnostics, slugs};

use crate::tree::Node;

use super::Revision;
use super::config::{Config, Engine, Frontend, Role, at, scalar};

/// Flags that the orchestrator gives by itself, by engine.
const GIVEN_SGLANG: &[&str] =
    &["disaggregation-mode", "host", "port", "dist-init-addr", "nnodes", "node-rank", "dump-config-to"];
const GIVEN_VLLM: &[&str] = &["disaggregation-mode", "master-addr", "nnodes", "node-rank", "dump-config-to"];

/// Flags on which roles that hand KV blocks to each other must agree, with the engine.
const SHARED: &[(Engine, &str)] = &[
    (Engine::Sglang, "kv-cache-dtype"),
    (Engine::Sglang, "page-size"),
    (Engine::Vllm, "kv-cache-dtype"),
    (Engine::Vllm, "block-size"),
];

/// Reports what is wrong with a recipe, beside what it cannot be read for.
pub(super) fn check(config: &Config<'_>, revision: &'static Revision, out: &mut Diagnostics) {
    given(config, revision, out);
    widths(config, out);
    shared(config, out);
    sources(config, revision, out);
}

/// A flag that the orchestrator says too stands twice on the command line, and the later one wins.
fn given(config: &Config<'_>, revision: &'static Revision, out: &mut Diagnostics) {
    for role in Role::ALL {
        for (name, value) in config.flags(role) {
            let flag = name.replace('_', "-");
            let owned = match (config.engine, config.frontend) {
                (Engine::Sglang, frontend) => {
                    GIVEN_SGLANG.contains(&&*flag)
                        || flag == "disaggregation-bootstrap-port"
                            && role == Role::Prefill
                            && (revision.facts.owns_flags || frontend == Frontend::Sglang)
                        || !revision.facts.owns_flags && matches!(&*flag, "model-path" | "served-model-name")
                }
                // Direct vLLM's flags are taken out of the recipe's.
                (Engine::Vllm, Frontend::Dynamo) => {
                    GIVEN_VLLM.contains(&&*flag) || flag == "served-model-name"
                }
                _ => false,
            };
            if !owned {
                continue;
            }
            let mut finding = Diagnostic::warning(
                slugs::recipe::FLAG_GIVEN_TWICE,
                format!("`{flag}` of `{}` is given by srt-slurm too", role.word()),
            );
            finding.span = value.at;
            out.push(finding.why("it stands twice on the command line, and the later one wins").help(
                if flag == "served-model-name" {
                    "the name is read from here; a revision that takes it out of the flags says it once"
                } else {
                    "leave it out"
                },
            ));
        }
    }
}

/// The GPUs that a worker gets against those that its engine asks for.
fn widths(config: &Config<'_>, out: &mut Diagnostics) {
    for role in Role::ALL {
        let workers = config.of(role);
        if workers.count == 0 || config.engine == Engine::Trtllm {
            continue;
        }
        let size = |names: &[&str]| {
            names.iter().find_map(|name| config.flag(role, name)).and_then(|tree| match tree.node {
                Node::Int(size) => u32::try_from(size).ok().map(|size| (size, tree)),
                _ => None,
            })
        };
        let tensor = size(&["tensor-parallel-size", "tp-size", "tp"]);
        let pipeline = size(&["pipeline-parallel-size", "pp-size"]).map_or(1, |(size, _)| size);
        let data = match config.engine {
            // SGLang's data parallelism is within the tensor-parallel group.
            Engine::Sglang => 1,
            _ => size(&["data-parallel-size"]).map_or(1, |(size, _)| size),
        };
        let Some((tensor, tree)) = tensor else { continue };
        let wanted = tensor.saturating_mul(pipeline).saturating_mul(data);
        if wanted > workers.gpus {
            let mut finding = Diagnostic::error(
                slugs::recipe::ROLE_WIDER_THAN_WORKER,
                format!("`{}` needs {wanted} GPUs a worker and has {}", role.word(), workers.gpus),
            );
            finding.span = tree.at;
            out.push(finding.why("the GPUs of a worker follow from `resources`: those of its nodes, shared"));
        }
    }
}

/// Roles that hand KV blocks to each other must lay them out alike.
fn shared(config: &Config<'_>, out: &mut Diagnostics) {
    if config.of(Role::Prefill).count == 0 || config.of(Role::Decode).count == 0 {
        return;
    }
    for (engine, name) in SHARED.iter().filter(|(engine, _)| *engine == config.engine) {
        let said = |role| config.flag(role, name).and_then(|tree| Some((scalar(tree)?, tree)));
        let (Some((prefill, _)), Some((decode, tree))) = (said(Role::Prefill), said(Role::Decode)) else {
            continue;
        };
        if prefill != decode && !alike(*engine, &prefill, &decode) {
            let mut finding = Diagnostic::error(
                slugs::recipe::ROLES_DISAGREE,
                format!("`{name}` is `{prefill}` for prefill and `{decode}` for decode"),
            );
            finding.span = tree.at;
            out.push(finding.why("decode reads the blocks that prefill wrote, as prefill laid them out"));
        }
    }
}

/// Two spellings of one type.
fn alike(engine: Engine, a: &str, b: &str) -> bool {
    engine == Engine::Vllm && [a, b].iter().all(|text| matches!(*text, "fp8" | "fp8_e4m3"))
}

/// What is started must be named: the front end's source, and a revision that stays.
fn sources(config: &Config<'_>, revision: &'static Revision, out: &mut Diagnostics) {
    if config.frontend == Frontend::Dynamo {
        let named = ["version", "hash", "wheel", "top_of_tree"]
            .iter()
            .any(|name| at(config.tree, &["dynamo", name]).is_some());
        if !named && super::config::flag(config.tree, &["dynamo", "install"], true) {
            let mut finding =
                Diagnostic::warning(slugs::recipe::SOURCE_NOT_NAMED, "no version of Dynamo is named");
            finding.span = config.tree.at;
            out.push(
                finding
                    .why("the default of the orchestrator's revision is installed")
                    .help("name `dynamo.version`, `dynamo.hash` or `dynamo.wheel`"),
            );
        }
        if super::config::flag(config.tree, &["dynamo", "top_of_tree"], false) {
            let mut finding =
                Diagnostic::warning(slugs::recipe::SOURCE_NOT_NAMED, "Dynamo is built from a branch");
            finding.span = at(config.tree, &["dynamo", "top_of_tree"]).and_then(|tree| tree.at);
            out.push(finding.why("a branch moves").help("name `dynamo.hash`"));
        }
    }
    if let (Some(branch), None) = (revision.branch, revision.tag) {
        out.push(
            Diagnostic::warning(
                slugs::recipe::SOURCE_NOT_NAMED,
                format!("srt-slurm is the branch `{branch}`"),
            )
            .why("a branch moves; its rules are those of August 2026")
            .help(format!("name the commit {}", revision.commit)),
        );
    }
}
