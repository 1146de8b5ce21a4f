//! Evaluations ran, with the pinned image, and their scores meet what is asked of the model.

use std::collections::{BTreeMap, BTreeSet};

use diag::slugs::verify::EVAL_PASSED;
use recipe::plan::Mode;
use serde_json::Value as Json;

use super::rows::{Identity, of_point, of_row, rows, same_image};
use super::{Dossier, file};
use crate::claim::Subject;
use crate::policy::Policy;
use crate::rules;
use crate::verdict::{Outcome, Verdict};
use crate::vllm::Yaml;

/// Where upstream keeps what it asks.
const THRESHOLDS: &str = "base/utils/evals/thresholds.yaml";

/// One score of one task at one concurrency.
struct Score {
    path: String,
    task: String,
    metric: String,
    value: f64,
}

pub(super) fn judge(
    subject: &Subject<'_>,
    dossier: &Dossier,
    policy: &Policy,
    pinned: Option<&str>,
) -> Vec<Verdict> {
    let identities: BTreeSet<Identity> = subject
        .plans
        .iter()
        .filter(|plan| plan.mode == Mode::Eval)
        .flat_map(|plan| &plan.points)
        .map(|point| without_traffic(of_point(point)))
        .collect();
    if identities.is_empty() {
        return Vec::new();
    }
    let mut scores = Vec::new();
    let mut problems: BTreeSet<String> = BTreeSet::new();
    let (mut images, mut unknown_image) = (BTreeSet::new(), false);
    for (path, meta) in &dossier.documents {
        let Some(folder) = path.strip_suffix("meta_env.json") else { continue };
        if !identities.contains(&without_traffic(of_row(meta))) {
            continue;
        }
        match image(dossier, meta) {
            Some(image) => images.extend((!same_image(&image, &subject.image, pinned)).then_some(image)),
            None => unknown_image = true,
        }
        let failed = meta.get("failed_eval_concs").and_then(Json::as_array);
        let failed = failed.filter(|failed| !failed.is_empty());
        problems.extend(failed.map(|failed| format!("failed at concurrency {}", Json::from(failed.clone()))));
        let before = scores.len();
        let results = dossier.documents.iter().filter(|(path, _)| {
            path.strip_prefix(folder).is_some_and(|name| name.starts_with("results") && !name.contains('/'))
        });
        for (path, document) in results {
            read(path, document, &mut scores);
        }
        if scores.len() == before {
            problems.insert(format!("`{folder}` has no score"));
        }
    }
    let thresholds = dossier.text(THRESHOLDS).map(Yaml::read);
    let thresholds = match thresholds {
        Some(Ok(thresholds)) => Some(thresholds),
        Some(Err(why)) => {
            problems.insert(format!("`{THRESHOLDS}` cannot be read: {why}"));
            None
        }
        None => None,
    };
    let mut least: BTreeMap<&str, (f64, &Score)> = BTreeMap::new();
    for score in &scores {
        let asked = asked(thresholds.as_ref(), policy, &subject.prefix, &score.task);
        if score.value < asked {
            problems.insert(format!(
                "{} {} is {:.4} and {asked} is asked",
                score.task, score.metric, score.value
            ));
        }
        let entry = least.entry(&score.task).or_insert((asked, score));
        if score.value < entry.1.value {
            *entry = (asked, score);
        }
    }
    if !images.is_empty() {
        let images = images.iter().map(|image| format!("`{image}`")).collect::<Vec<_>>().join(", ");
        problems.insert(format!("evaluated with {images} and not with `{}`", subject.image));
    }
    let (outcome, message) = if !problems.is_empty() {
        (Outcome::Drifts, problems.into_iter().collect::<Vec<_>>().join("; "))
    } else if scores.is_empty() {
        (Outcome::Silent, "the evidence has no evaluation of any of its points".to_owned())
    } else if unknown_image {
        let why = "no row of results tells with which image an evaluation ran";
        (Outcome::Unreadable, why.to_owned())
    } else {
        let shown =
            least.iter().map(|(task, (asked, score))| format!("{task} {:.4} of {asked}", score.value));
        (Outcome::Holds, format!("the least scores: {}", shown.collect::<Vec<_>>().join(", ")))
    };
    let mut verdict = rules::verdict(subject, EVAL_PASSED, outcome, message);
    let files: BTreeSet<&str> = scores.iter().map(|score| score.path.as_str()).collect();
    verdict.evidence = files.into_iter().map(file).collect();
    vec![verdict]
}

/// Evaluations ask other questions than sweeps, at concurrencies of their own.
fn without_traffic(mut identity: Identity) -> Identity {
    for field in ["conc", "isl", "osl", "scenario-type", "kv-offloading", "kv-offload-backend"] {
        identity.remove(field);
    }
    identity
}

/// Returns the image that an evaluation ran with: as it says, or as the row of results says that has
/// the same fingerprint of the recipe.
fn image(dossier: &Dossier, meta: &Json) -> Option<String> {
    let text = |json: &Json, field: &str| {
        json.get(field).and_then(Json::as_str).filter(|text| !text.is_empty()).map(str::to_owned)
    };
    if let Some(image) = text(meta, "image") {
        return Some(image);
    }
    let fingerprint = text(meta, "recipe_fingerprint")?;
    let same = |row: &&Json| text(row, "recipe_fingerprint").as_ref() == Some(&fingerprint);
    rows(dossier).into_iter().map(|(_, row)| row).find(same).and_then(|row| text(row, "image"))
}

/// Reads the scores of a file of results; standard errors are none.
fn read(path: &str, document: &Json, into: &mut Vec<Score>) {
    let tasks = document.get("results").and_then(Json::as_object).into_iter().flatten();
    for (task, metrics) in tasks {
        for (metric, value) in metrics.as_object().into_iter().flatten() {
            let (true, Some(value)) =
                (metric.starts_with("exact_match,") && !metric.contains("stderr"), value.as_f64())
            else {
                continue;
            };
            into.push(Score { path: path.to_owned(), task: task.clone(), metric: metric.clone(), value });
        }
    }
}

/// Returns the least score that is asked of a model in a task: as upstream's own table in the evidence
/// has it, else as policy has it.
fn asked(thresholds: Option<&Yaml>, policy: &Policy, prefix: &str, task: &str) -> f64 {
    let Some(table) = thresholds else { return policy.scores.least(prefix, task) };
    let of = |path: &[&str]| table.at(path).and_then(Yaml::number);
    of(&["models", prefix, task]).or_else(|| of(&["default", task])).unwrap_or(policy.scores.fallback)
}
