//! Every point has its row of results and every row its point, measured with the pinned image.

use std::collections::{BTreeMap, BTreeSet};

use diag::slugs::verify::SWEEP_COMPLETE;
use serde_json::{Map, Value as Json};

use super::{Dossier, file};
use crate::claim::{self, Subject};
use crate::rules;
use crate::verdict::{Outcome, Verdict};

/// What tells rows apart, under upstream's names of points; what is absent is as [`absent`] has it.
const IDENTITY: [&str; 17] = [
    "runner",
    "model-prefix",
    "framework",
    "precision",
    "spec-decoding",
    "scenario-type",
    "isl",
    "osl",
    "tp",
    "pp",
    "dcp-size",
    "pcp-size",
    "ep",
    "dp-attn",
    "conc",
    "kv-offloading",
    "kv-offload-backend",
];

/// A point or a row by what tells it apart.
pub(super) type Identity = BTreeMap<&'static str, String>;

/// Returns the name that a row of results has for a field of a point.
fn in_rows(field: &str) -> &str {
    match field {
        "runner" => "hw",
        "model-prefix" => "infmax_model_prefix",
        "spec-decoding" => "spec_decoding",
        "scenario-type" => "scenario_type",
        "dcp-size" => "dcp_size",
        "pcp-size" => "pcp_size",
        "dp-attn" => "dp_attention",
        "kv-offloading" => "kv_offloading",
        "kv-offload-backend" => "kv_offload_backend",
        other => other,
    }
}

fn absent(field: &str) -> &'static str {
    match field {
        "pp" | "dcp-size" | "pcp-size" | "ep" => "1",
        "dp-attn" => "false",
        "spec-decoding" | "kv-offloading" => "none",
        _ => "",
    }
}

fn value(field: &str, value: Option<&Json>) -> String {
    let text = match value {
        None | Some(Json::Null) => String::new(),
        // A backend is its name, with a version or without.
        Some(Json::Object(map)) => map.get("name").and_then(Json::as_str).unwrap_or_default().to_owned(),
        Some(Json::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    };
    let text = if matches!(field, "dp-attn" | "runner" | "framework" | "precision") {
        text.to_lowercase()
    } else {
        text
    };
    if text.is_empty() { absent(field).to_owned() } else { text }
}

/// Returns what tells a point apart.
pub(super) fn of_point(point: &Map<String, Json>) -> Identity {
    IDENTITY.iter().map(|field| (*field, value(field, point.get(*field)))).collect()
}

/// Returns what tells a row apart.
pub(super) fn of_row(row: &Json) -> Identity {
    let agentic = row.get("scenario_type").and_then(Json::as_str) == Some("agentic-coding");
    let get = |field: &'static str| match field {
        // Agentic rows have lengths that the conversations have and nobody chose.
        "isl" | "osl" if agentic => String::new(),
        field => value(field, row.get(in_rows(field))),
    };
    IDENTITY.iter().map(|field| (*field, get(field))).collect()
}

/// Fields by which a row is of a recipe whatever its point.
const OF_RECIPE: [&str; 6] =
    ["runner", "model-prefix", "framework", "precision", "spec-decoding", "scenario-type"];

fn recipe_of(identity: &Identity) -> Vec<&String> {
    OF_RECIPE.iter().filter_map(|field| identity.get(field)).collect()
}

/// Returns the rows of results with the files that they are in; a point that is in the list of all and
/// in a file of its own is one.
pub(super) fn rows(dossier: &Dossier) -> Vec<(&String, &Json)> {
    let mut all: Vec<(&String, &Json)> = Vec::new();
    for (path, document) in &dossier.documents {
        let list = document.as_array().map_or(vec![document], |list| list.iter().collect());
        let is_row =
            |row: &&Json| row.get("hw").is_some() && row.get("conc").is_some() && row.get("image").is_some();
        for row in list.into_iter().filter(is_row) {
            if !all.iter().any(|(_, known)| *known == row) {
                all.push((path, row));
            }
        }
    }
    all
}

pub(super) fn judge(subject: &Subject<'_>, dossier: &Dossier, pinned: Option<&str>) -> Vec<Verdict> {
    let mut points: BTreeMap<Identity, String> = BTreeMap::new();
    for plan in subject.plans.iter().filter(|plan| claim::is_throughput(plan)) {
        for (point, id) in plan.points.iter().zip(subject.points(plan)) {
            points.insert(of_point(point), id);
        }
    }
    let kinds: BTreeSet<Vec<&String>> = points.keys().map(recipe_of).collect();
    let mut seen: BTreeMap<&str, Vec<&Json>> = BTreeMap::new();
    let (mut strangers, mut files) = (Vec::new(), BTreeSet::new());
    for (path, row) in rows(dossier) {
        let identity = of_row(row);
        if !kinds.contains(&recipe_of(&identity)) {
            continue;
        }
        files.insert(path.clone());
        match points.get(&identity) {
            Some(id) => seen.entry(id).or_default().push(row),
            None => strangers.push(short(&identity)),
        }
    }
    let missing: Vec<&str> =
        points.values().map(String::as_str).filter(|id| !seen.contains_key(id)).collect();
    let twice: Vec<&str> = seen.iter().filter(|(_, rows)| rows.len() > 1).map(|(id, _)| *id).collect();
    let images: BTreeSet<&str> = seen
        .values()
        .flatten()
        .filter_map(|row| row.get("image")?.as_str())
        .filter(|image| !same_image(image, &subject.image, pinned))
        .collect();
    let (found, all) = (seen.len(), points.len());
    let mut wrong = Vec::new();
    if !missing.is_empty() {
        wrong.push(format!("no row for {}", some(&missing)));
    }
    if !twice.is_empty() {
        wrong.push(format!("several rows for {}", some(&twice)));
    }
    if !strangers.is_empty() {
        let strangers: Vec<&str> = strangers.iter().map(String::as_str).collect();
        wrong.push(format!("rows of no point: {}", some(&strangers)));
    }
    if !images.is_empty() {
        wrong.push(format!(
            "measured with {} and not with `{}`",
            images.iter().map(|image| format!("`{image}`")).collect::<Vec<_>>().join(", "),
            subject.image
        ));
    }
    let outcome = match (found, wrong.is_empty()) {
        (0, _) if strangers.is_empty() => Outcome::Silent,
        (_, true) => Outcome::Holds,
        (_, false) => Outcome::Drifts,
    };
    let message = match outcome {
        Outcome::Silent => format!("the evidence has no row of results for any of {all} points"),
        _ if wrong.is_empty() => format!("{found}/{all} points have their row"),
        _ => format!("{found}/{all} points have their row: {}", wrong.join("; ")),
    };
    let mut verdict = rules::verdict(subject, SWEEP_COMPLETE, outcome, message);
    verdict.points = missing.iter().map(|id| (*id).to_owned()).collect();
    verdict.evidence = files.iter().map(|path| file(path)).collect();
    vec![verdict]
}

/// True if an image is the one that the manifest names, or is named by the digest that the lock pins.
pub(super) fn same_image(image: &str, wanted: &str, pinned: Option<&str>) -> bool {
    let plain = |image: &str| {
        let image = image.replace('#', "/");
        image.strip_prefix("docker.io/").map_or_else(|| image.clone(), str::to_owned)
    };
    let (image, wanted) = (plain(image), plain(wanted));
    match (image.split_once('@'), pinned) {
        // A digest decides where there is one, whatever the tag before it.
        (Some((_, digest)), Some(pinned)) => digest == pinned,
        (Some((name, _)), None) => name == wanted || image == wanted,
        (None, _) => image == wanted.split('@').next().unwrap_or(&wanted),
    }
}

fn short(identity: &Identity) -> String {
    let shown = ["tp", "ep", "dp-attn", "conc", "isl", "kv-offloading"];
    let shown = shown.iter().filter_map(|field| {
        let value = identity.get(field)?;
        (!value.is_empty() && value != absent(field)).then(|| format!("{field}={value}"))
    });
    shown.collect::<Vec<_>>().join(" ")
}

/// Lists the first few and counts the others.
fn some(list: &[&str]) -> String {
    let shown = list.iter().take(4).copied().collect::<Vec<_>>().join(", ");
    match list.len().saturating_sub(4) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_is_told_by_its_digest_where_it_has_one() {
        let digest = "sha256:aa";
        assert!(same_image("docker.io/org/name:1", "org/name:1", None));
        assert!(same_image("nvcr.io#org/name:1", "nvcr.io/org/name:1", Some(digest)));
        assert!(same_image("org/name:1@sha256:aa", "org/name:1", Some(digest)));
        assert!(!same_image("org/name:1@sha256:bb", "org/name:1", Some(digest)));
        assert!(!same_image("org/name:2", "org/name:1", Some(digest)));
    }
}
