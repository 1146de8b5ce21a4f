//! What a report tells, as plain data.

use std::collections::{BTreeMap, BTreeSet};

use ::lock::pin::{Entry, Pin};
use ::lock::summary::Comparison;
use ::lock::{Lock, PlanKey};
use audit::declared;
use diag::{Severity, SourceMap};
use engine::known::Curve;
use recipe::Recipe;
use recipe::plan::Mode;
use recipe::want::Want;
use serde_json::{Value, json};

use super::curve::Pinned;
use crate::corpus::Loaded;
use crate::words::count;

/// What other verbs have written.
#[derive(Default)]
pub(super) struct Given {
    pub(super) verdicts: Vec<Value>,
    pub(super) runs: Vec<Value>,
}

/// One recipe.
pub(super) struct Row {
    pub(super) key: String,
    pub(super) manifest: String,
    pub(super) family: String,
    pub(super) engine: String,
    pub(super) checkpoint: String,
    pub(super) precision: String,
    pub(super) targets: Vec<String>,
    pub(super) points: usize,
    pub(super) wanted: usize,
    pub(super) pinned: usize,
    pub(super) locked: bool,
    /// What upstream's pages say: the worst verdict.
    pub(super) cookbook: Option<String>,
    /// Runs: how many are reproduced, contradicted and unproven.
    pub(super) runs: [usize; 3],
}

/// One thing that is pinned, or not.
pub(super) struct PinRow {
    pub(super) kind: &'static str,
    pub(super) name: String,
    /// What it resolved to, line by line; empty where it did not.
    pub(super) pins: Vec<String>,
    /// Why it has no pin.
    pub(super) reason: String,
    pub(super) recipes: usize,
}

/// A finding of `recipec check`.
pub(super) struct Found {
    pub(super) severity: Severity,
    pub(super) slug: &'static str,
    pub(super) message: String,
    pub(super) place: String,
}

/// Everything that a report tells.
pub(super) struct Facts {
    pub(super) recipes: Vec<Row>,
    pub(super) points: usize,
    pub(super) plans: usize,
    pub(super) wanted: usize,
    pub(super) pinned: usize,
    pub(super) pins: Vec<PinRow>,
    pub(super) curves: Vec<(String, Curve, Vec<Pinned>)>,
    pub(super) findings: Vec<Found>,
    pub(super) since: String,
    /// What differs, or why that is not known.
    pub(super) differences: Result<Comparison, String>,
    pub(super) verdicts: Vec<Value>,
    pub(super) runs: Vec<Value>,
}

/// Gathers everything.
pub(super) fn gather(loaded: &mut Loaded<'_, '_>, given: Given, since: &str) -> Facts {
    let (known, locks_wrong) = loaded.known();
    let mut points: BTreeMap<String, BTreeSet<(Option<u32>, usize)>> = BTreeMap::new();
    let mut plans = 0;
    let checked = recipe::check_each(&mut loaded.session, &loaded.corpus, &known, |plan| {
        plans += 1;
        let cells = points.entry(plan.recipe.clone()).or_default();
        cells.extend((0..plan.points.len()).map(|index| (plan.job, index)));
    });
    let sources = loaded.session.sources().clone();
    let mut findings: Vec<Found> = checked
        .diagnostics
        .iter()
        .chain(locks_wrong.iter())
        .map(|finding| found(finding, &sources))
        .collect();
    findings.sort_by(|a, b| (rank(a.severity), a.slug, &a.place).cmp(&(rank(b.severity), b.slug, &b.place)));
    let corpus = std::mem::take(&mut loaded.corpus);
    let locks: BTreeMap<String, Lock> = corpus
        .recipes
        .iter()
        .filter_map(|recipe| Some((recipe.key.value.clone(), loaded.lock(recipe).ok()??.lock?)))
        .collect();
    let recipes: Vec<&Recipe> = corpus.recipes.iter().collect();
    let differences = crate::diff::since(loaded, &corpus, &recipes, since).map_err(|findings| {
        findings.iter().map(|finding| finding.message.clone()).collect::<Vec<_>>().join("; ")
    });
    let rows: Vec<Row> = corpus
        .recipes
        .iter()
        .map(|recipe| {
            row(
                recipe,
                locks.get(&recipe.key.value),
                points.get(&recipe.key.value).map_or(0, BTreeSet::len),
                &given,
            )
        })
        .collect();
    let pins = pins(&locks);
    let curves = curves(&corpus.recipes, &locks, &given.runs);
    loaded.corpus = corpus;
    Facts {
        points: checked.points,
        plans,
        wanted: pins.len(),
        pinned: pins.iter().filter(|pin| !pin.pins.is_empty()).count(),
        recipes: rows,
        pins,
        curves,
        findings,
        since: since.to_owned(),
        differences,
        verdicts: given.verdicts,
        runs: given.runs,
    }
}

fn rank(severity: Severity) -> u8 {
    match severity {
        Severity::Error => 0,
        Severity::Warning => 1,
        Severity::Note => 2,
    }
}

fn found(finding: &diag::Diagnostic, sources: &SourceMap) -> Found {
    let place = finding.span.and_then(|span| {
        let file = sources.get(span.file)?;
        Some(format!("{}:{}", file.path.trim_start_matches('/'), file.position(span.start).line))
    });
    Found {
        severity: finding.severity,
        slug: finding.slug.as_str(),
        message: finding.message.clone(),
        place: place.unwrap_or_default(),
    }
}

fn row(recipe: &Recipe, lock: Option<&Lock>, points: usize, given: &Given) -> Row {
    let key = &recipe.key.value;
    let of_recipe = |value: &&Value| value.get("recipe").and_then(Value::as_str) == Some(key);
    // The worst verdict is the recipe's.
    let order = ["drifts", "unreadable", "silent", "holds"];
    let verdicts: Vec<&str> = given
        .verdicts
        .iter()
        .filter(of_recipe)
        .filter(|value| value.get("advisory") != Some(&Value::Bool(true)))
        .filter_map(|value| value.get("verdict")?.as_str())
        .collect();
    let cookbook = order.into_iter().find(|word| verdicts.contains(word)).map(str::to_owned);
    let runs = ["reproduced", "contradicted", "unproven"].map(|word| {
        let is = |value: &&Value| value.get("verdict").and_then(Value::as_str) == Some(word);
        given.runs.iter().filter(of_recipe).filter(is).count()
    });
    let entries = || lock.into_iter().flat_map(|lock| lock.pins.values());
    Row {
        key: key.clone(),
        manifest: recipe.manifest.trim_start_matches('/').to_owned(),
        family: recipe.model.prefix.value.clone(),
        engine: engine::Engine::parse(&recipe.engine.value)
            .map_or_else(|| recipe.engine.value.clone(), |engine| engine.title().to_owned()),
        checkpoint: recipe.model.repository.value.clone(),
        precision: recipe.model.precision.value.clone(),
        targets: recipe.targets.iter().map(|target| target.value.clone()).collect(),
        points,
        wanted: entries().count(),
        pinned: entries().filter(|entry| matches!(entry, Entry::Pinned { .. })).count(),
        locked: lock.is_some(),
        cookbook,
        runs,
    }
}

fn pins(locks: &BTreeMap<String, Lock>) -> Vec<PinRow> {
    let mut all: BTreeMap<(&'static str, String), PinRow> = BTreeMap::new();
    for entry in locks.values().flat_map(|lock| lock.pins.values()) {
        let (Entry::Pinned { want, .. } | Entry::Unpinned { want, .. }) = entry;
        let (kind, name) = match want {
            Want::Image { reference, .. } => ("image", reference.clone()),
            Want::Checkpoint { repository, revision } => ("checkpoint", format!("{repository} @ {revision}")),
            Want::Dataset { repository, revision } => ("data set", format!("{repository} @ {revision}")),
            Want::Source { repository, revision, path, .. } => {
                let path = if path.is_empty() { String::new() } else { format!(" {path}") };
                ("source", format!("{repository} @ {revision}{path}"))
            }
        };
        let row = all.entry((kind, name.clone())).or_insert_with(|| PinRow {
            kind,
            name,
            pins: Vec::new(),
            reason: String::new(),
            recipes: 0,
        });
        row.recipes += 1;
        match entry {
            Entry::Pinned { pin, .. } => row.pins = lines(pin),
            Entry::Unpinned { reason, .. } => row.reason = reason.clone(),
        }
    }
    all.into_values().collect()
}

fn lines(pin: &Pin) -> Vec<String> {
    match pin {
        Pin::Image(image) => std::iter::once(image.digest.to_string())
            .chain(image.platforms.iter().map(|(name, one)| format!("{name}: {}", one.digest)))
            .collect(),
        Pin::Checkpoint(snapshot) | Pin::Dataset(snapshot) => vec![
            snapshot.commit.clone(),
            format!(
                "{}, {:.1} GB, list {}",
                count(usize::try_from(snapshot.count).unwrap_or(usize::MAX), "file"),
                snapshot.bytes as f64 / 1e9,
                snapshot.files
            ),
        ],
        Pin::Source(source) => {
            let mut lines = vec![source.commit.clone()];
            lines.extend(source.sha256.as_ref().map(ToString::to_string));
            lines.extend(
                source.merge.as_ref().map(|merge| format!("merged as #{} at {}", merge.pull, merge.time)),
            );
            lines
        }
    }
}

fn curves(
    recipes: &[Recipe],
    locks: &BTreeMap<String, Lock>,
    runs: &[Value],
) -> Vec<(String, Curve, Vec<Pinned>)> {
    let mut all: BTreeMap<String, (Curve, Vec<Pinned>)> = BTreeMap::new();
    for recipe in recipes {
        let Some(lock) = locks.get(&recipe.key.value) else { continue };
        let named = recipe
            .speculative
            .always()
            .and_then(|speculative| speculative.acceptance.as_ref()?.curve.as_ref())
            .map(|curve| curve.name.value.clone());
        for (name, curve) in &lock.known.curves {
            let entry = all.entry(name.clone()).or_insert_with(|| (curve.clone(), Vec::new()));
            if named.as_ref().is_none_or(|named| named == name) {
                entry.1.extend(pinned(lock, curve, runs));
            }
        }
    }
    all.into_iter().map(|(name, (curve, pinned))| (name, curve, pinned)).collect()
}

/// Returns the places of a recipe on a curve: one for each length that its engine is told.
fn pinned(lock: &Lock, curve: &Curve, runs: &[Value]) -> Vec<Pinned> {
    let mut places: BTreeSet<(u32, String)> = BTreeSet::new();
    let keys: Vec<&PlanKey> = lock.plans.keys().filter(|key| key.mode == Mode::Throughput).collect();
    for key in keys {
        for server in declared::servers(lock, key) {
            let Some(told) = server.told() else { continue };
            let tokens = server.draft_tokens();
            let at = engine::curves::places(curve, told)
                .into_iter()
                .find(|(_, count)| tokens.is_none_or(|tokens| tokens == *count));
            places.extend(at.map(|(_, count)| (count, told.to_string())));
        }
    }
    let realised: Vec<(f64, bool)> = runs
        .iter()
        .filter(|run| run.get("recipe").and_then(Value::as_str) == Some(&lock.recipe))
        .flat_map(|run| run.get("checks").and_then(Value::as_array).into_iter().flatten())
        .filter(|check| check.get("slug") == Some(&"run-acceptance".into()))
        .filter_map(|check| {
            let length = check.get("theirs")?.as_str()?.split(' ').next()?.parse::<f64>().ok()?;
            length.is_finite().then_some((length, check.get("verdict") == Some(&"reproduced".into())))
        })
        .collect();
    places
        .into_iter()
        .filter_map(|(tokens, told)| {
            let value = engine::Decimal::parse(&told)?;
            let mode =
                engine::curves::places(curve, value).into_iter().find(|(_, count)| *count == tokens)?.0;
            Some(Pinned {
                recipe: lock.recipe.clone(),
                tokens,
                mode: mode.to_owned(),
                length: told.parse().ok()?,
                realised: realised.clone(),
            })
        })
        .collect()
}

impl Facts {
    /// Says in a line what there is.
    pub(super) fn summary(&self) -> String {
        format!(
            "{}, {}, {}; {} of {} pinned; {}",
            count(self.recipes.len(), "recipe"),
            count(self.points, "point"),
            count(self.plans, "plan"),
            self.pinned,
            count(self.wanted, "want"),
            count(self.findings.len(), "finding")
        )
    }
}

impl Row {
    /// Says what came of runs.
    pub(super) fn runs_text(&self) -> String {
        let words = ["reproduced", "contradicted", "unproven"];
        let parts: Vec<String> = self
            .runs
            .iter()
            .zip(words)
            .filter(|(count, _)| **count > 0)
            .map(|(count, word)| format!("{count} {word}"))
            .collect();
        parts.join(", ")
    }

    pub(super) fn line(&self) -> String {
        let lock = if self.locked {
            format!("{} of {} pinned", self.pinned, self.wanted)
        } else {
            "no lock".to_owned()
        };
        let mut parts = vec![self.key.clone(), count(self.points, "point"), lock];
        parts.extend(self.cookbook.clone());
        parts.extend(Some(self.runs_text()).filter(|text| !text.is_empty()));
        parts.join("  ")
    }

    pub(super) fn to_json(&self) -> Value {
        json!({
            "key": self.key,
            "manifest": self.manifest,
            "engine": self.engine,
            "checkpoint": self.checkpoint,
            "precision": self.precision,
            "targets": self.targets,
            "points": self.points,
            "wanted": self.wanted,
            "pinned": self.pinned,
            "locked": self.locked,
            "cookbook": self.cookbook,
            "runs": { "reproduced": self.runs[0], "contradicted": self.runs[1], "unproven": self.runs[2] },
        })
    }
}
