//! What the plans of recipes measure, in the words of a pull request's description: the layouts of
//! servers, and the concurrencies of each.
//!
//! It is read from plans and not from search spaces, so that prose cannot say TP4 where TP1 runs.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use diag::{Diagnostic, Severity};
use recipe::plan::{Mode, Parallel, Plan, Role};
use recipe::recipe::Speculation;
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

/// Plans every recipe of a corpus and returns the layouts of each, in the same order. A label that
/// its server was never told is an error, as all that keeps a plan from being made.
pub(crate) fn layouts(loaded: &mut Loaded<'_, '_>, corpus: &Corpus) -> Vec<Vec<Layout>> {
    let (known, locks) = loaded.known();
    let checked = recipe::check(&mut loaded.session, corpus, &known);
    let serious = |finding: &Diagnostic| finding.severity == Severity::Error;
    loaded.findings.extend(locks.into_iter().chain(checked.diagnostics).filter(serious));
    let of = |recipe: &Recipe| {
        let jobs = recipe::matrix(recipe, &corpus.targets);
        let mut all = Vec::new();
        let measures = |plan: &&Plan| plan.recipe == recipe.key.value && plan.mode == Mode::Throughput;
        for plan in checked.plans.iter().filter(measures) {
            let index = plan.job.and_then(|job| usize::try_from(job).ok());
            if let Some(job) = index.and_then(|index| jobs.get(index)) {
                add(&mut all, job, plan);
            }
        }
        all
    };
    corpus.recipes.iter().map(of).collect()
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
    for (list, wanted) in [(&mut layout.conc, true), (&mut layout.evaluated, is_evaluated(job))] {
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

/// Writes what the description of a pull request says of recipes: counts, and for each what it
/// serves and where, layout by layout.
pub(crate) fn description(loaded: &mut Loaded<'_, '_>, corpus: &Corpus) -> String {
    let mut body = String::new();
    let (mut jobs, mut evaluated, mut launches) = (0, 0, 0);
    for (recipe, layouts) in corpus.recipes.iter().zip(layouts(loaded, corpus)) {
        let rows = recipe::matrix(recipe, &corpus.targets);
        let marked = rows.iter().filter(|job| is_evaluated(job)).count();
        jobs += rows.len();
        evaluated += marked;
        launches += rows.len() * corpus.targets_of(recipe).len();
        about(recipe, &layouts, rows.len(), marked, &mut body);
    }
    format!(
        "{} of {}, {evaluated} evaluated; {}\n{body}",
        count(jobs, "job"),
        count(corpus.recipes.len(), "recipe"),
        count(launches, "throughput plan"),
    )
}

fn about(recipe: &Recipe, layouts: &[Layout], jobs: usize, evaluated: usize, text: &mut String) {
    let model = &recipe.model;
    let _ = write!(text, "\n### `{}`\n\n", recipe.key.value);
    let _ = writeln!(
        text,
        "- `{}` ({}) on {}",
        model.repository.value, model.precision.value, recipe.engine.value
    );
    let _ = writeln!(text, "- `{}`", recipe.image.value);
    match recipe.speculative.always() {
        Some(speculative) => {
            let _ = writeln!(
                text,
                "- drafts {} with {}",
                count_of(speculative.steps.value),
                speculative.method.value
            );
        }
        None if matches!(recipe.speculative, Speculation::PerPoint(_)) => {
            text.push_str("- drafts as its points say\n");
        }
        None => {}
    }
    let evaluated = if evaluated == 0 { String::new() } else { format!(", {evaluated} evaluated") };
    let _ = write!(text, "- {}{evaluated}\n\n", count(jobs, "job"));
    text.push_str(
        "| workload | layout | GPUs | concurrency | evaluated | targets |\n|---|---|---|---|---|---|\n",
    );
    for layout in layouts {
        let targets: Vec<String> = layout.targets.iter().map(|name| format!("`{name}`")).collect();
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} |",
            layout.workload,
            layout.words.replace('|', "\\|"),
            layout.gpus,
            list(&layout.conc),
            if layout.evaluated.is_empty() { "–".to_owned() } else { list(&layout.evaluated) },
            targets.join(", ")
        );
    }
}

fn count_of(steps: u32) -> String {
    if steps == 1 { "1 token".to_owned() } else { format!("{steps} tokens") }
}

fn is_evaluated(job: &Job) -> bool {
    job.row.get("run-eval").and_then(serde_json::Value::as_bool) == Some(true)
}
