//! What the functions of recipes and targets are given.
//!
//! A recipe's functions get the point and what it is bound to. A target's functions get only what a
//! machine can know: how many GPUs are asked for, the checkpoint's place, the image, and holes; what
//! is measured is none of a target's business.

use diag::Diagnostics;
use engine::known::{Checkpoint, Fact};
use eval::Value;

use crate::bridge::Caller;
use crate::matrix;
use crate::plan::Mode;
use crate::recipe::{Model, Quantization, Recipe, Speculation, Speculative};
use crate::schema::At;
use crate::search::{Point, Workload};
use crate::target::{Placement, Target};
use crate::tree::{Node, Tree};

/// Values by name.
pub(crate) type Values = Vec<(&'static str, Value)>;

/// Names of what the functions of recipes are given, for those who document or check them.
pub const NAMES: &[&str] = &[
    "tp",
    "pp",
    "ep",
    "dcp",
    "pcp",
    "dpAttn",
    "gpus",
    "conc",
    "isl",
    "osl",
    "scenario",
    "duration",
    "kvOffload",
    "mode",
    "role",
    "quantization",
    "speculative",
    "model",
    "target",
    "port",
    "workspace",
    "run",
    "result",
    "image",
    "engine",
];

/// Names of what the functions of targets are given.
pub const TARGET_NAMES: &[&str] = &["gpus", "model", "target", "port", "workspace", "run", "image", "engine"];

/// Returns what is the same at every point of a recipe on a target, and also given to the target's
/// functions.
pub(crate) fn of_target(
    caller: &mut Caller<'_, '_>,
    recipe: &Recipe,
    target: &Target,
    placement: &Placement,
    facts: &Checkpoint,
    out: &mut Diagnostics,
) -> Option<Values> {
    let run = Tree::set(crate::words::HOLES.iter().map(|(name, _)| (*name, run(name))));
    Some(vec![
        ("model", caller.give(&model(&recipe.model, placement, facts), out)?),
        ("target", caller.give(&hardware(target), out)?),
        ("port", caller.give(port(recipe, target), out)?),
        ("run", caller.give(&run, out)?),
        ("image", caller.give(&Tree::from(recipe.image.value.as_str()), out)?),
        ("engine", caller.give(&Tree::from(recipe.engine.value.as_str()), out)?),
    ])
}

/// Returns the port that servers listen on: the recipe's, where it has one.
pub(crate) fn port<'t>(recipe: &'t Recipe, target: &'t Target) -> &'t Tree {
    recipe.port.as_ref().unwrap_or(&target.port)
}

/// Returns what is the same at every point of a recipe, and nothing to its targets.
pub(crate) fn of_recipe(
    caller: &mut Caller<'_, '_>,
    recipe: &Recipe,
    target: &Target,
    workspace: &str,
    out: &mut Diagnostics,
) -> Option<Values> {
    let mut values = vec![
        ("quantization", caller.give(&Tree::from(recipe.quantization.as_ref().map(quantization)), out)?),
        ("role", caller.give(&Tree::from("agg"), out)?),
        // Recipes write `${workspace}/…`, whether or not the target's own path ends with a slash.
        ("workspace", caller.give(&Tree::from(workspace.trim_end_matches('/')), out)?),
    ];
    // A speculation that depends on the point is given with the point.
    if !matches!(recipe.speculative, Speculation::PerPoint(_)) {
        values.push(("speculative", self::given(caller, recipe.speculative.always(), target, out)?));
    }
    Some(values)
}

/// Returns a speculation as functions get it.
pub(crate) fn given(
    caller: &mut Caller<'_, '_>,
    speculation: Option<&Speculative>,
    target: &Target,
    out: &mut Diagnostics,
) -> Option<Value> {
    caller.give(&Tree::from(speculation.map(|speculation| speculative(speculation, target))), out)
}

/// Returns what changes from point to point.
pub(crate) fn of_point(
    caller: &mut Caller<'_, '_>,
    recipe: &Recipe,
    target: &Target,
    point: &Point,
    mode: Mode,
    out: &mut Diagnostics,
) -> Option<Values> {
    let parallel = point.parallel;
    let (isl, osl, duration, scenario) = match point.workload {
        Workload::FixedSequence { isl, osl } => (Some(isl), Some(osl), None, "fixedSequence"),
        Workload::Agentic { duration, .. } => (None, None, Some(duration), "agentic"),
    };
    let kv_offload = point.kv_offload.as_ref().map(|kv| {
        let total =
            Tree::from(matrix::dram_gb(point, &target.hardware).and_then(|gb| i64::try_from(gb).ok()));
        let size =
            Tree::set([("amount", total.clone()), ("unit", Tree::from("GB")), ("of", Tree::from("all"))]);
        Tree::set([
            ("medium", Tree::from(kv.medium.as_str())),
            ("backend", Tree::from(kv.backend.value.as_str())),
            ("version", Tree::from(kv.version.as_deref())),
            ("totalGb", total),
            ("total", Tree::set([("_size", size)])),
        ])
    });
    let stem = Tree::from(format!("{}_", matrix::result_stem(recipe, point)).as_str());
    let result = Tree::set([("_word", Tree::made(Node::List(vec![stem, run("runner")])))]);
    let mode = match mode {
        Mode::Throughput => "throughput",
        Mode::Eval => "eval",
    };
    let fields = [
        ("tp", Tree::from(parallel.tp)),
        ("pp", Tree::from(parallel.pp)),
        ("ep", Tree::from(parallel.ep)),
        ("dcp", Tree::from(parallel.dcp)),
        ("pcp", Tree::from(parallel.pcp)),
        ("dpAttn", Tree::from(parallel.dp_attn)),
        ("gpus", Tree::from(parallel.gpus())),
        ("conc", Tree::from(point.conc)),
        ("isl", Tree::from(isl)),
        ("osl", Tree::from(osl)),
        ("scenario", Tree::from(scenario)),
        ("duration", Tree::from(duration)),
        ("kvOffload", Tree::from(kv_offload)),
        ("mode", Tree::from(mode)),
        ("result", result),
    ];
    fields.into_iter().map(|(name, tree)| Some((name, caller.give(&tree, out)?))).collect()
}

fn run(name: &str) -> Tree {
    Tree::set([("_run", Tree::from(name))])
}

fn quantization(quantization: &Quantization) -> Tree {
    Tree::set([
        ("method", word(quantization.method.as_ref())),
        ("kvCache", word(quantization.kv_cache.as_ref())),
    ])
}

fn word(value: Option<&At<String>>) -> Tree {
    Tree::from(value.map(|value| value.value.as_str()))
}

fn speculative(speculative: &Speculative, target: &Target) -> Tree {
    let draft = speculative.draft.as_ref();
    let repository = draft.map(|draft| draft.checkpoint.repository.value.as_str());
    // Where the engine reads it: a folder, or the repository id where a hub cache serves it.
    let folder = draft.and_then(|draft| draft.folder(target));
    Tree::set([
        ("method", Tree::from(speculative.method.value.as_str())),
        ("algorithm", word(speculative.algorithm.as_ref())),
        ("steps", Tree::from(speculative.steps.value)),
        ("topk", Tree::from(speculative.topk.as_ref().map(|topk| topk.value))),
        ("draftTokens", Tree::from(speculative.draft_tokens.as_ref().map(|tokens| tokens.value))),
        ("draft", Tree::from(repository)),
        ("draftPath", Tree::from(folder.as_deref().or(repository))),
        ("draftSampling", word(speculative.draft_sampling.as_ref())),
    ])
}

/// A fact that is not known is not there, so that a function that needs it says so.
fn model(model: &Model, placement: &Placement, facts: &Checkpoint) -> Tree {
    let number = |fact: &Option<Fact<u64>>| {
        fact.as_ref().and_then(|fact| i64::try_from(fact.value).ok()).map(Tree::from)
    };
    let text = |fact: &Option<Fact<String>>| fact.as_ref().map(|fact| Tree::from(fact.value.as_str()));
    let known = [
        ("context", number(&facts.context)),
        ("heads", number(&facts.heads)),
        ("kvHeads", number(&facts.kv_heads)),
        ("experts", number(&facts.experts)),
        ("quantization", text(&facts.quantization)),
        ("quantizationAlgorithm", text(&facts.quantization_algorithm)),
        ("thinking", model.thinking.as_ref().map(|thinking| Tree::from(thinking.value))),
    ];
    let given = [
        ("repository", Tree::from(model.repository.value.as_str())),
        ("prefix", Tree::from(model.prefix.value.as_str())),
        ("precision", Tree::from(model.precision.value.as_str())),
        ("path", Tree::from(placement.path.as_str())),
        ("name", Tree::from(placement.name.as_str())),
        ("staged", Tree::from(placement.staged)),
    ];
    let known = known.into_iter().filter_map(|(name, value)| Some((name, value?)));
    Tree::set(given.into_iter().chain(known))
}

/// A machine without its name: a recipe that asked for a name would be a recipe of one cluster.
fn hardware(target: &Target) -> Tree {
    let hardware = &target.hardware;
    Tree::set([
        ("sku", Tree::from(hardware.sku.value.as_str())),
        ("architecture", Tree::from(hardware.architecture.value.as_str())),
        ("gpusPerNode", Tree::from(hardware.gpus_per_node)),
    ])
}
