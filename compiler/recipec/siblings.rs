//! Two recipes beside each other: what they do differently at the same points.
//!
//! A recipe is a function of the point, so each is asked at every point of both, also at those that
//! it does not measure itself; only then does a flag that depends on the concurrency differ for no
//! other reason than that it differs.

use diag::Diagnostics;
use lock::{Cause, Change, Lock};
use recipe::plan::{Mode, Plan};
use recipe::search::{Point, Workload};
use recipe::{Corpus, Job, Recipe, Target, matrix};
use serde_json::Value;

use crate::corpus::Loaded;
use crate::diff;

/// What differs between two recipes.
pub(crate) fn differences(
    loaded: &mut Loaded<'_, '_>,
    corpus: &Corpus,
    old: &Recipe,
    new: &Recipe,
) -> Result<Vec<Change>, Diagnostics> {
    let points = union(old, new);
    let targets = targets(corpus, old, new);
    let mut locks: Vec<Lock> = Vec::new();
    let mut planned: Vec<Vec<Option<Plan>>> = Vec::new();
    for recipe in [old, new] {
        let known = diff::pinned(loaded, corpus, recipe)?.1;
        let mut plans = Vec::new();
        for target in &targets {
            for (index, point) in (0..).zip(&points) {
                let row = matrix::row(recipe, point, &corpus.targets);
                // Labels repeat what the recipes are; both plans get those of one.
                let labels = vec![matrix::row(old, point, &corpus.targets)];
                let job = Job { index: Some(index), point: point.clone(), row };
                for mode in [Mode::Throughput, Mode::Eval] {
                    // A point that a recipe refuses is none to compare it at.
                    let plan = recipe::plan(&mut loaded.session, recipe, target, &job, mode, &known).ok();
                    plans.push(plan.map(|plan| Plan { points: labels.clone(), ..plan }));
                }
            }
        }
        planned.push(plans);
    }
    let both: Vec<bool> = planned.iter().fold(Vec::new(), |both, plans| {
        let there = plans.iter().map(Option::is_some);
        if both.is_empty() { there.collect() } else { both.iter().zip(there).map(|(a, b)| *a && b).collect() }
    });
    for (plans, recipe) in planned.into_iter().zip([old, new]) {
        let (pins, known) = diff::pinned(loaded, corpus, recipe)?;
        let plans: Vec<Plan> =
            plans.into_iter().zip(&both).filter(|(_, both)| **both).filter_map(|(plan, _)| plan).collect();
        locks.push(lock::build(&new.key.value, &plans, pins, known));
    }
    let [before, after] = locks.as_slice() else { return Ok(Vec::new()) };
    let mut changes = lock::diff(before, after);
    let names: Vec<(String, String)> = points
        .iter()
        .map(|point| (matrix::result_stem(old, point), matrix::result_stem(new, point)))
        .collect();
    // A result is named after what it is of; that says nothing that is not said elsewhere.
    changes.retain(|change| !renamed(change, &names));
    changes.extend(searched(old, new, &points));
    changes.extend(named("targets", &labels(old), &labels(new), new));
    changes.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(changes)
}

/// Returns every point of both recipes once.
fn union(old: &Recipe, new: &Recipe) -> Vec<Point> {
    let mut all: Vec<Point> = Vec::new();
    for point in matrix::points(old).chain(matrix::points(new)) {
        if !all.iter().any(|other| same(other, &point)) {
            all.push(Point { scenario: 0, entry: None, ..point });
        }
    }
    all
}

fn same(a: &Point, b: &Point) -> bool {
    let tokens = |point: &Point| match point.workload {
        Workload::FixedSequence { isl, osl } => (Some((isl, osl)), 0),
        Workload::Agentic { duration, .. } => (None, duration),
    };
    let medium = |point: &Point| point.kv_offload.as_ref().map(|kv| kv.medium.clone());
    (tokens(a), a.parallel, a.conc, medium(a)) == (tokens(b), b.parallel, b.conc, medium(b))
}

/// Returns the targets to compare two recipes on: those that both run on, else the first of each.
/// Both are planned on the same ones, so that a difference is the recipes' and not the clusters'.
fn targets<'t>(corpus: &'t Corpus, old: &Recipe, new: &Recipe) -> Vec<&'t Target> {
    let (olds, news) = (corpus.targets_of(old), corpus.targets_of(new));
    let both: Vec<&Target> =
        olds.iter().filter(|one| news.iter().any(|other| other.name == one.name)).copied().collect();
    if both.is_empty() { olds.first().into_iter().chain(news.first()).copied().collect() } else { both }
}

fn labels(recipe: &Recipe) -> Vec<String> {
    recipe.targets.iter().map(|target| target.value.clone()).collect()
}

/// Returns a change of a field that is a list of words, if there is one.
fn named(path: &str, old: &[String], new: &[String], recipe: &Recipe) -> Option<Change> {
    let text = |list: &[String]| Value::String(list.join(" "));
    (old != new).then(|| of_recipe(&recipe.key.value, path, text(old), text(new)))
}

/// Returns the points that only one of two recipes measures, layout by layout.
fn searched(old: &Recipe, new: &Recipe, points: &[Point]) -> Vec<Change> {
    let key = &new.key.value;
    let mut layouts: Vec<(String, bool, Vec<String>)> = Vec::new();
    for point in points {
        let measures = |recipe: &Recipe| matrix::points(recipe).any(|one| same(&one, point));
        let (before, after) = (measures(old), measures(new));
        if before == after {
            continue;
        }
        let (layout, conc) = (layout(point), point.conc.to_string());
        match layouts.iter_mut().find(|(known, added, _)| *known == layout && *added == after) {
            Some((_, _, all)) => all.push(conc),
            None => layouts.push((layout, after, vec![conc])),
        }
    }
    let change = |(layout, added, conc): (String, bool, Vec<String>)| {
        let text = format!("{layout} conc={}", conc.join(","));
        let (old, new) = if added { (Value::Null, text.into()) } else { (text.into(), Value::Null) };
        of_recipe(key, "points", old, new)
    };
    layouts.into_iter().map(change).collect()
}

/// Returns what a point is but for its concurrency; widths of 1 are left out.
fn layout(point: &Point) -> String {
    let mut words = Vec::new();
    match point.workload {
        Workload::FixedSequence { isl, osl } => words.push(format!("isl={isl} osl={osl}")),
        Workload::Agentic { .. } => words.push("agentic".to_owned()),
    }
    let parallel = point.parallel;
    words.push(format!("tp={}", parallel.tp));
    for (name, width) in
        [("pp", parallel.pp), ("ep", parallel.ep), ("dcp", parallel.dcp), ("pcp", parallel.pcp)]
    {
        if width != 1 {
            words.push(format!("{name}={width}"));
        }
    }
    if parallel.dp_attn {
        words.push("dp-attn".to_owned());
    }
    words.extend(point.kv_offload.as_ref().map(|kv| format!("kv={}", kv.medium)));
    words.join(" ")
}

fn of_recipe(recipe: &str, path: &str, old: Value, new: Value) -> Change {
    Change {
        recipe: recipe.to_owned(),
        path: path.to_owned(),
        old,
        new,
        points: Vec::new(),
        targets: Vec::new(),
        modes: Vec::new(),
        cause: Cause::Manifest,
    }
}

/// Returns true if two texts differ in nothing but the names of results.
fn renamed(change: &Change, names: &[(String, String)]) -> bool {
    let (Some(old), Some(new)) = (change.old.as_str(), change.new.as_str()) else { return false };
    names.iter().any(|(before, after)| {
        old.contains(before.as_str())
            && new.contains(after.as_str())
            && old.replace(before, "") == new.replace(after, "")
    })
}
