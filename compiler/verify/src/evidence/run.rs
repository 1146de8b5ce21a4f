//! The run is one whose results still count: it succeeded, on a commit that is still part of the pull
//! request, on machines that nobody has taken out since.

use std::collections::{BTreeMap, BTreeSet};

use diag::slugs::verify::EVIDENCE_CURRENT;
use serde_json::Value as Json;

use super::{Dossier, about, file};
use crate::claim::{self, Subject};
use crate::rules;
use crate::verdict::{Outcome, Verdict};
use crate::vllm::Yaml;

const RUN: &str = "run.json";
const JOBS: &str = "jobs.json";

fn text<'a>(json: &'a Json, field: &str) -> &'a str {
    json.get(field).and_then(Json::as_str).unwrap_or_default()
}

pub(super) fn short(sha: &str) -> &str {
    sha.get(..12).unwrap_or(sha)
}

/// Returns the head of the pull request and all of its commits.
pub(super) fn commits(dossier: &Dossier) -> Option<(String, BTreeSet<String>)> {
    let head = dossier.document("pull.json")?.get("head")?;
    let listed = dossier.list("commits.json").unwrap_or_default();
    let all = listed.into_iter().map(|commit| text(commit, "sha").to_owned());
    let head = text(head, "sha").to_owned();
    Some((head.clone(), all.chain([head]).collect()))
}

pub(super) fn judge(dossier: &Dossier) -> Vec<Verdict> {
    let Some(run) = dossier.document(RUN) else {
        let why = "the evidence has no `run.json`: nobody says which run the results are of";
        return vec![about(EVIDENCE_CURRENT, Outcome::Unreadable, why, RUN)];
    };
    let id = run.get("id").map(ToString::to_string).unwrap_or_default();
    let sha = text(run, "head_sha");
    let (status, conclusion) = (text(run, "status"), text(run, "conclusion"));
    let (outcome, message) = match commits(dossier) {
        _ if status != "completed" => (Outcome::Drifts, format!("run {id} is {status} and not completed")),
        _ if conclusion != "success" => (Outcome::Drifts, format!("run {id} ended in {conclusion}")),
        None => (
            Outcome::Unreadable,
            "the evidence has no `pull.json`: nobody says which commits the pull request has".to_owned(),
        ),
        Some((head, all)) if !all.contains(sha) => (
            Outcome::Drifts,
            format!(
                "run {id} is of commit {}, which is no longer part of the pull request (head {})",
                short(sha),
                short(&head)
            ),
        ),
        Some((head, _)) if head == sha => (Outcome::Holds, format!("run {id} is of the head {}", short(sha))),
        Some((head, _)) => match changed_since(dossier, sha) {
            Some(paths) if !paths.is_empty() => (
                Outcome::Drifts,
                format!(
                    "run {id} is of commit {}, and what it measures changed until the head {}: {}",
                    short(sha),
                    short(&head),
                    paths.join(", ")
                ),
            ),
            _ => (
                Outcome::Holds,
                format!("run {id} is of commit {} of the pull request (head {})", short(sha), short(&head)),
            ),
        },
    };
    vec![about(EVIDENCE_CURRENT, outcome, message, RUN)]
}

/// Returns what later commits changed of that which decides a measurement, where `commits.json` says
/// it (each commit as the forge shows it alone, with its files).
fn changed_since(dossier: &Dossier, sha: &str) -> Option<Vec<String>> {
    let listed = dossier.list("commits.json")?;
    let at = listed.iter().position(|commit| text(commit, "sha") == sha)?;
    let later = listed.get(at + 1..)?.iter();
    let files = later.filter_map(|commit| commit.get("files")?.as_array()).flatten();
    let decides = |path: &str| {
        ["manifests/", "lockfiles/", "benchmarks/", "runners/"].iter().any(|folder| path.starts_with(folder))
            || path.starts_with("configs/") && path.ends_with("-master.yaml")
    };
    let paths: BTreeSet<String> =
        files.map(|file| text(file, "filename")).filter(|path| decides(path)).map(str::to_owned).collect();
    Some(paths.into_iter().collect())
}

/// Judges the machines that a recipe's jobs ran on: a runner that is no longer listed, or a node that
/// the recipe's targets exclude by now, takes its results along.
pub(super) fn nodes(subject: &Subject<'_>, dossier: &Dossier) -> Vec<Verdict> {
    let Some(jobs) = dossier.document(JOBS).and_then(|jobs| jobs.get("jobs").unwrap_or(jobs).as_array())
    else {
        return Vec::new();
    };
    let mut excluded: BTreeSet<String> = BTreeSet::new();
    for plan in subject.plans {
        let words = plan.allocate.iter().flatten().chain(&plan.container).map(lock::words::to_text);
        for list in words.filter_map(|word| word.strip_prefix("--exclude=").map(str::to_owned)) {
            excluded.extend(list.split(',').map(str::to_owned));
        }
    }
    let labels: BTreeSet<&str> = subject
        .plans
        .iter()
        .filter(|plan| claim::is_throughput(plan))
        .flat_map(|plan| &plan.points)
        .filter_map(|point| point.get("runner")?.as_str())
        .collect();
    let listed = runners(dossier);
    let mut gone: BTreeMap<String, String> = BTreeMap::new();
    let mut ran = 0;
    for job in jobs.iter().filter(|job| text(job, "conclusion") == "success") {
        let runner = text(job, "runner_name");
        let asked = job.get("labels").and_then(Json::as_array).into_iter().flatten().filter_map(Json::as_str);
        let Some(label) = asked.into_iter().find(|label| labels.contains(label)) else { continue };
        ran += 1;
        let node = text(job, "node");
        if excluded.contains(runner) || excluded.contains(node) {
            let name = if excluded.contains(node) { node } else { runner };
            gone.insert(name.to_owned(), "its target excludes it by now".to_owned());
        }
        if let Some(known) = listed.as_ref().and_then(|listed| listed.get(label))
            && !known.contains(runner)
        {
            gone.insert(runner.to_owned(), format!("it is no longer among the runners of `{label}`"));
        }
    }
    if ran == 0 {
        return Vec::new();
    }
    let (outcome, message) = if gone.is_empty() {
        (Outcome::Holds, format!("{} ran on machines that still count", rules::counted(ran, "job", "jobs")))
    } else {
        let gone = gone.iter().map(|(name, why)| format!("`{name}`: {why}"));
        (Outcome::Drifts, format!("results are of {}", gone.collect::<Vec<_>>().join("; ")))
    };
    let mut verdict = rules::verdict(subject, EVIDENCE_CURRENT, outcome, message);
    verdict.evidence.push(file(JOBS));
    vec![verdict]
}

/// Returns the runners of each label, as the submission's own list has them.
fn runners(dossier: &Dossier) -> Option<BTreeMap<String, BTreeSet<String>>> {
    let text = ["head/configs/runners.yaml", "base/configs/runners.yaml"]
        .iter()
        .find_map(|path| dossier.text(path))?;
    let table = Yaml::read(text).ok()?;
    let labels = table.get("labels")?.entries().iter().map(|(label, names)| {
        (label.clone(), names.items().iter().filter_map(Yaml::text).map(str::to_owned).collect())
    });
    Some(labels.collect())
}
