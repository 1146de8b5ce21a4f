//! What the plans of recipes measure, in the words of a pull request's description: the layouts of
//! servers, and the concurrencies of each.
//!
//! It is read from plans and not from search spaces, so that prose cannot say TP4 where TP1 runs.

use std::collections::BTreeSet;

use diag::Diagnostics;
use engine::known::Known;
use recipe::plan::{Mode, Parallel, Plan, Role};
use recipe::search::Workload;
use recipe::{Corpus, Job, Recipe};

use crate::corpus::Loaded;
use crate::words::count;

/// The points of one layout.
pub(crate) struct Layout {
    /// What is asked of the server.
    pub(crate) workload: String,
    /// How wide the server is and what helps it: `TP4 EP4, KV offload to dram with hicache`.
    pub(crate) words: String,
    /// GPUs that the plans ask for.
    pub(crate) gpus: u32,
    /// Concurrencies in the order of the jobs.
    pub(crate) conc: Vec<u32>,
    /// Concurrencies that are also evaluated.
    pub(crate) evaluated: Vec<u32>,
    /// Targets that run these points.
    pub(crate) targets: BTreeSet<String>,
}

/// Plans every job of a recipe and gathers what is alike.
pub(crate) fn layouts(
    loaded: &mut Loaded<'_, '_>,
    corpus: &Corpus,
    recipe: &Recipe,
    findings: &mut Diagnostics,
) -> Vec<Layout> {
    let known = match loaded.lock(recipe) {
        Ok(found) => found.and_then(|found| found.lock).map(|lock| lock.known).unwrap_or_default(),
        Err(_) => Known::default(),
    };
    let jobs = recipe::matrix(recipe, &corpus.targets);
    let mut all: Vec<Layout> = Vec::new();
    for target in corpus.targets_of(recipe) {
        for job in &jobs {
            match recipe::plan(&mut loaded.session, recipe, target, job, Mode::Throughput, &known) {
                Ok(plan) => add(&mut all, job, &plan),
                Err(found) => findings.extend(found),
            }
        }
    }
    all
}

fn add(all: &mut Vec<Layout>, job: &Job, plan: &Plan) {
    let workload = match &job.point.workload {
        Workload::FixedSequence { isl, osl } => format!("{isl} tokens in, {osl} out"),
        Workload::Agentic { duration, .. } => format!("replayed conversations, {duration} s"),
    };
    let (words, gpus) = (words(job, plan), plan.pools.iter().map(|pool| pool.nodes * pool.gpus).sum());
    let known = all.iter().position(|one| (&one.workload, &one.words, one.gpus) == (&workload, &words, gpus));
    let place = known.unwrap_or_else(|| {
        let (conc, evaluated, targets) = (Vec::new(), Vec::new(), BTreeSet::new());
        all.push(Layout { workload, words, gpus, conc, evaluated, targets });
        all.len() - 1
    });
    let Some(layout) = all.get_mut(place) else { return };
    layout.targets.insert(plan.target.clone());
    let evaluated = job.row.get("run-eval").and_then(serde_json::Value::as_bool) == Some(true);
    for (list, wanted) in [(&mut layout.conc, true), (&mut layout.evaluated, evaluated)] {
        if wanted && !list.contains(&job.point.conc) {
            list.push(job.point.conc);
        }
    }
}

/// Returns the layout that a plan starts.
fn words(job: &Job, plan: &Plan) -> String {
    let mut parts: Vec<String> = Vec::new();
    for group in &plan.groups {
        match group.role {
            Role::Serve(_) => {
                parts.extend(group.replicas.iter().filter_map(|one| one.parallel).map(widths));
            }
            Role::Router => parts.push("a router".to_owned()),
            _ => {}
        }
    }
    if let Some(kv) = &job.point.kv_offload {
        parts.push(format!("KV offload to {} with {}", kv.medium, kv.backend.value));
    }
    parts.join(", ")
}

fn widths(parallel: Parallel) -> String {
    let Parallel { tp, pp, ep, dp_attn, dcp, pcp } = parallel;
    let mut text = format!("TP{tp}");
    for (name, width) in [("PP", pp), ("EP", ep), ("DCP", dcp), ("PCP", pcp)] {
        if width > 1 {
            text.push_str(&format!(" {name}{width}"));
        }
    }
    if dp_attn {
        text.push_str(" DP attention");
    }
    text
}

impl Layout {
    /// Returns the layout in one phrase: `TP4 EP4 at concurrency 4, 8`.
    pub(crate) fn phrase(&self) -> String {
        let noun = if self.conc.len() == 1 { "concurrency" } else { "concurrencies" };
        format!("{} at {noun} {}", self.words, list(&self.conc))
    }
}

/// Returns numbers with commas between them.
pub(crate) fn list(numbers: &[u32]) -> String {
    numbers.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")
}

/// Returns what a recipe is, in one sentence, for a list of changes.
pub(crate) fn sentence(recipe: &Recipe, layouts: &[Layout]) -> String {
    let points: usize = recipe.scenarios.iter().flat_map(|one| &one.search).map(|part| part.conc.len()).sum();
    let phrases: Vec<String> = layouts.iter().map(Layout::phrase).collect();
    format!(
        "Add {} on {} with {} for {}: {}, {}",
        recipe.model.repository.value,
        recipe.engine.value,
        recipe.image.value,
        recipe.runner(),
        count(points, "point"),
        phrases.join("; "),
    )
}
