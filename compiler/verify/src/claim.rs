//! What a recipe claims, in the terms in which upstream can confirm it.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use engine::known::{Checkpoint, Curve, Known};
use engine::{Canonical, Engine, canonical, choose};
use recipe::plan::{Group, Mode, Phase, Plan, Rank, Role};
use recipe::recipe::Speculation;
use recipe::{Recipe, Target};

/// A recipe with its plans, and what its manifest says beyond them.
#[derive(Clone, Debug)]
pub struct Subject<'a> {
    /// Config key.
    pub recipe: String,
    /// The engine.
    pub engine: Engine,
    /// Its version, as the image's tag or the manifest says it.
    pub version: String,
    /// The image as the manifest writes it.
    pub image: String,
    /// Repository of the checkpoint.
    pub checkpoint: String,
    /// What is known of it: pinned facts before stated ones.
    pub facts: Checkpoint,
    /// Upstream's name of the family of models.
    pub prefix: String,
    /// Upstream's name of the precision.
    pub precision: String,
    /// How it drafts, if it does.
    pub drafting: Option<Drafting>,
    /// Whether the traffic thinks, if the manifest says so.
    pub thinking: Option<bool>,
    /// Golden curves by file name, the one that speaks first in front.
    pub curves: Vec<(String, Curve)>,
    /// GPU of each target.
    pub hardware: BTreeMap<String, Hardware>,
    /// The plans.
    pub plans: &'a [Plan],
    read: RefCell<BTreeMap<Vec<String>, Rc<Canonical>>>,
}

/// How a recipe drafts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Drafting {
    /// `mtp`, `eagle3`, `dspark`.
    pub method: String,
    /// Repository of the draft, if it is a model of its own.
    pub draft: Option<String>,
    /// How the draft samples, where that matters.
    pub sampling: Option<String>,
    /// Draft tokens in a row; `None` where they differ from point to point.
    pub steps: Option<u32>,
    /// Where a model without a curve has its acceptance length from.
    pub source: Option<String>,
}

/// A GPU.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Hardware {
    /// As upstream names it: `b200`.
    pub sku: String,
    /// Its architecture: `sm_100`.
    pub architecture: String,
    /// How many a node has.
    pub per_node: u32,
}

impl<'a> Subject<'a> {
    /// Returns what a recipe claims; `known` is what its lock knows. `None` for an engine that nobody knows, of which no cookbook
    /// could say anything.
    #[must_use]
    pub fn of(recipe: &Recipe, targets: &[Target], plans: &'a [Plan], known: &Known) -> Option<Self> {
        let engine = Engine::parse(&recipe.engine.value)?;
        let stated = recipe.engine_version.as_ref().map(|version| version.value.as_str());
        let drafting = recipe.speculative.always().map(|speculative| Drafting {
            method: speculative.method.value.clone(),
            draft: speculative.draft.as_ref().map(|draft| draft.checkpoint.repository.value.clone()),
            sampling: speculative.draft_sampling.as_ref().map(|sampling| sampling.value.clone()),
            steps: Some(speculative.steps.value),
            source: speculative
                .acceptance
                .as_ref()
                .and_then(|acceptance| Some(acceptance.source.as_ref()?.value.clone())),
        });
        // A function of the point drafts in the way of the curves that it takes lengths from.
        let drafting = drafting.or_else(|| {
            let Speculation::PerPoint(_) = recipe.speculative else { return None };
            let curve = recipe::facts::of_name(recipe.curves.first()?, known)?;
            Some(Drafting {
                method: curve.method.clone(),
                draft: recipe.drafts.first().map(|draft| draft.repository.value.clone()),
                sampling: curve.draft_sampling.clone(),
                steps: None,
                source: None,
            })
        });
        // The curve that the recipe names speaks first, then those that the lock knows, then those
        // that upstream has committed.
        let mut curves: Vec<(String, Curve)> = Vec::new();
        if let Some(speculative) = recipe.speculative.always()
            && let Some(named) =
                speculative.acceptance.as_ref().and_then(|acceptance| acceptance.curve.as_ref())
            && let Some(curve) = recipe::facts::curve(speculative, known)
        {
            curves.push((named.name.value.clone(), curve.clone()));
        }
        for named in &recipe.curves {
            let curve = recipe::facts::of_name(named, known);
            curves.extend(curve.map(|curve| (named.name.value.clone(), curve.clone())));
        }
        curves.extend(known.curves.iter().map(|(name, curve)| (name.clone(), curve.clone())));
        curves.extend(
            engine::curves::committed()
                .iter()
                .map(|(name, committed)| (name.clone(), committed.curve.clone())),
        );
        let used = targets.iter().filter(|target| plans.iter().any(|plan| plan.target == target.name.value));
        let hardware = used.map(|target| {
            let gpu = Hardware {
                sku: target.hardware.sku.value.to_lowercase(),
                architecture: target.hardware.architecture.value.clone(),
                per_node: target.hardware.gpus_per_node,
            };
            (target.name.value.clone(), gpu)
        });
        Some(Self {
            recipe: recipe.key.value.clone(),
            engine,
            version: choose(engine, &recipe.image.value, stated).version,
            image: recipe.image.value.clone(),
            checkpoint: recipe.model.repository.value.clone(),
            facts: recipe::facts::checkpoint(recipe, known),
            prefix: recipe.model.prefix.value.clone(),
            precision: recipe.model.precision.value.clone(),
            drafting,
            thinking: recipe.model.thinking.as_ref().map(|thinking| thinking.value),
            curves,
            hardware: hardware.collect(),
            plans,
            read: RefCell::default(),
        })
    }

    /// Returns a server's command in the terms of its engine. Clusters and modes start the same
    /// servers, so each command is read once.
    #[must_use]
    pub fn canonical(&self, rank: &Rank) -> Rc<Canonical> {
        let argv = argv(rank);
        if let Some(known) = self.read.borrow().get(&argv) {
            return known.clone();
        }
        let canonical = Rc::new(canonical(self.engine, &self.version, &argv));
        self.read.borrow_mut().insert(argv, canonical.clone());
        canonical
    }

    /// Returns the ids of a plan's points.
    #[must_use]
    pub fn points(&self, plan: &Plan) -> Vec<String> {
        let Some(job) = plan.job else { return Vec::new() };
        if let [_] = plan.points.as_slice() {
            return vec![format!("{}#{job}", self.recipe)];
        }
        let conc = |point: &serde_json::Map<String, serde_json::Value>| {
            point.get("conc").map(ToString::to_string).unwrap_or_default()
        };
        plan.points.iter().map(|point| format!("{}#{job}:{}", self.recipe, conc(point))).collect()
    }

    /// Returns the GPU of a plan's target.
    #[must_use]
    pub fn gpu(&self, plan: &Plan) -> Option<&Hardware> {
        self.hardware.get(&plan.target)
    }
}

/// What a plan is measured with: `8192/1024`, or a scenario's name.
#[must_use]
pub fn scenario(plan: &Plan) -> String {
    let Some(point) = plan.points.first() else { return String::new() };
    if let Some(name) = point.get("scenario-type").and_then(serde_json::Value::as_str) {
        return name.to_owned();
    }
    match (point.get("isl"), point.get("osl")) {
        (Some(isl), Some(osl)) => format!("{isl}/{osl}"),
        _ if point.contains_key("kv-offloading") || point.contains_key("duration") => {
            "agentic-coding".to_owned()
        }
        _ => String::new(),
    }
}

/// Returns the servers of a plan: the first process of each engine group.
pub fn servers(plan: &Plan) -> impl Iterator<Item = (&Group, &Rank)> {
    let engines = plan.groups.iter().filter(|group| matches!(group.role, Role::Serve(_)));
    engines.filter_map(|group| Some((group, group.replicas.first()?.ranks.first()?)))
}

/// Returns the words of a process as text, holes in angle brackets.
#[must_use]
pub fn argv(rank: &Rank) -> Vec<String> {
    rank.argv.iter().map(lock::words::to_text).collect()
}

/// Returns the environment of a process as text.
#[must_use]
pub fn env(rank: &Rank) -> BTreeMap<String, String> {
    rank.env.iter().map(|(name, word)| (name.clone(), lock::words::to_text(word))).collect()
}

/// Returns true if one server on one node does all of the work.
#[must_use]
pub fn is_one_node(plan: &Plan) -> bool {
    let whole = |group: &Group| group.role == Role::Serve(Phase::Agg);
    let engines = plan.groups.iter().filter(|group| matches!(group.role, Role::Serve(_)));
    plan.pools.iter().map(|pool| pool.nodes).sum::<u32>() <= 1 && engines.into_iter().all(whole)
}

/// Returns true if the plan measures speed.
#[must_use]
pub fn is_throughput(plan: &Plan) -> bool {
    plan.mode == Mode::Throughput
}
