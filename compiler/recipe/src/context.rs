//! What the functions of recipes and targets are given: a point, bound to a target.

use engine::known::{Checkpoint, Fact};

use crate::matrix;
use crate::plan::Mode;
use crate::recipe::{Quantization, Recipe, Speculative};
use crate::schema::At;
use crate::search::{Point, Workload};
use crate::target::{Placement, Target};
use crate::tree::{Node, Tree};

/// A point bound to a target: everything that decides a plan but what the functions say.
#[derive(Clone, Debug)]
pub(crate) struct Bound<'a> {
    pub(crate) recipe: &'a Recipe,
    pub(crate) target: &'a Target,
    pub(crate) point: &'a Point,
    pub(crate) mode: Mode,
    pub(crate) placement: Placement,
    pub(crate) facts: Checkpoint,
    pub(crate) speculative: Option<Speculative>,
}

/// Names of what functions are given, for those who document or check them.
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
];

/// Returns the argument of functions. `workspace` is absent while it is itself being asked for.
pub(crate) fn context(bound: &Bound<'_>, workspace: Option<&str>) -> Tree {
    let Bound { recipe, target, point, mode, .. } = bound;
    let parallel = point.parallel;
    let (isl, osl, duration, scenario) = match point.workload {
        Workload::FixedSequence { isl, osl } => (Some(isl), Some(osl), None, "fixedSequence"),
        Workload::Agentic { duration, .. } => (None, None, Some(duration), "agentic"),
    };
    let kv_offload = point.kv_offload.as_ref().map(|kv| {
        Tree::set([
            ("medium", Tree::from(kv.medium.as_str())),
            ("backend", Tree::from(kv.backend.value.as_str())),
            ("version", Tree::from(kv.version.as_deref())),
            ("totalGb", Tree::from(matrix::dram_gb(point, target).and_then(|gb| i64::try_from(gb).ok()))),
        ])
    });
    let result = Tree::set([(
        "_word",
        Tree::made(Node::List(vec![
            Tree::from(format!("{}_", matrix::result_stem(recipe, point)).as_str()),
            run("runner"),
        ])),
    )]);
    let mode = match mode {
        Mode::Throughput => "throughput",
        Mode::Eval => "eval",
    };
    let mut fields = vec![
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
        ("role", Tree::from("agg")),
        ("quantization", Tree::from(recipe.quantization.as_ref().map(quantization))),
        ("speculative", Tree::from(bound.speculative.as_ref().map(speculative))),
        ("model", model(bound)),
        ("target", hardware(target)),
        ("port", target.port.clone()),
        ("run", Tree::set(crate::words::HOLES.iter().map(|(name, _)| (*name, run(name))))),
        ("result", result),
        ("image", Tree::from(recipe.image.value.as_str())),
    ];
    fields.extend(workspace.map(|path| ("workspace", Tree::from(path))));
    Tree::set(fields)
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

fn speculative(speculative: &Speculative) -> Tree {
    Tree::set([
        ("method", Tree::from(speculative.method.value.as_str())),
        ("algorithm", word(speculative.algorithm.as_ref())),
        ("steps", Tree::from(speculative.steps.value)),
        ("topk", Tree::from(speculative.topk.as_ref().map(|topk| topk.value))),
        ("draftTokens", Tree::from(speculative.draft_tokens.as_ref().map(|tokens| tokens.value))),
        ("draft", Tree::from(speculative.draft.as_ref().map(|draft| draft.repository.value.as_str()))),
        ("draftSampling", word(speculative.draft_sampling.as_ref())),
    ])
}

/// A fact that is not known is not there, so that a function that needs it says so.
fn model(bound: &Bound<'_>) -> Tree {
    let model = &bound.recipe.model;
    let facts = &bound.facts;
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
        ("path", Tree::from(bound.placement.path.as_str())),
        ("name", Tree::from(bound.placement.name.as_str())),
        ("staged", Tree::from(bound.placement.staged)),
    ];
    let known = known.into_iter().filter_map(|(name, value)| Some((name, value?)));
    Tree::set(given.into_iter().chain(known))
}

fn hardware(target: &Target) -> Tree {
    let hardware = &target.hardware;
    Tree::set([
        ("name", Tree::from(target.name.value.as_str())),
        ("sku", Tree::from(hardware.sku.value.as_str())),
        ("architecture", Tree::from(hardware.architecture.value.as_str())),
        ("gpusPerNode", Tree::from(hardware.gpus_per_node)),
    ])
}
