//! The lock of one recipe.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

use diag::Diagnostics;
use engine::known::Known;
use recipe::plan::{Mode, Plan};
use serde_json::{Map, Value};

use crate::launch::Launch;
use crate::pin::{Entry, Pin};
use crate::{Fingerprint, fingerprint, pretty, wire};

/// The lock of one recipe: pins, known facts, behaviour, and a digest of every plan.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Lock {
    /// Config key of the recipe.
    pub recipe: String,
    /// What each want resolved to, by [`recipe::want::Want::name`].
    pub pins: BTreeMap<String, Entry>,
    /// The facts that planning and judging used.
    pub known: Known,
    /// What tells the matrix jobs apart, by job.
    pub jobs: BTreeMap<u32, Map<String, Value>>,
    /// What every plan gives to its processes.
    pub launch: Launch,
    /// Digest of every plan.
    pub plans: BTreeMap<PlanKey, Fingerprint>,
}

/// Names a plan within its recipe: `target/mode/job`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PlanKey {
    /// Name of the target.
    pub target: String,
    /// What the run is for.
    pub mode: Mode,
    /// Index of the job in the recipe's matrix.
    pub job: u32,
}

/// Returns the word for a mode.
pub(crate) fn mode_name(mode: Mode) -> &'static str {
    match mode {
        Mode::Throughput => "throughput",
        Mode::Eval => "eval",
    }
}

impl fmt::Display for PlanKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.target, mode_name(self.mode), self.job)
    }
}

impl FromStr for PlanKey {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (rest, job) = text.rsplit_once('/').ok_or(())?;
        let (target, mode) = rest.rsplit_once('/').ok_or(())?;
        let mode = match mode {
            "throughput" => Mode::Throughput,
            "eval" => Mode::Eval,
            _ => return Err(()),
        };
        if target.is_empty() || job.len() > 1 && job.starts_with('0') {
            return Err(());
        }
        let job = job.parse().map_err(|_| ())?;
        Ok(Self { target: target.to_owned(), mode, job })
    }
}

impl PlanKey {
    /// Returns the key of a plan; `None` for a point outside the search space, which no lock holds.
    #[must_use]
    pub fn of(plan: &Plan) -> Option<Self> {
        Some(Self { target: plan.target.clone(), mode: plan.mode, job: plan.job? })
    }
}

/// Returns where the lock of a recipe is stored, relative to the root. `manifest` is the path of
/// the manifest relative to `manifests/`, with `/`. Each recipe has a file of its own, so that two
/// changes that add recipes never meet in one file.
#[must_use]
pub fn path(manifest: &str, recipe: &str) -> String {
    let stem = manifest.strip_suffix(".nix").unwrap_or(manifest);
    format!("lockfiles/{stem}/{recipe}.lock.json")
}

/// Builds the lock of a recipe from what was resolved and planned. Plans outside the search space
/// are left out. The order of `plans` changes nothing.
#[must_use]
pub fn build(recipe: &str, plans: &[Plan], pins: BTreeMap<String, Entry>, known: Known) -> Lock {
    let mut lock = Lock { recipe: recipe.to_owned(), pins, known, ..Lock::default() };
    for plan in plans {
        let Some(key) = PlanKey::of(plan) else { continue };
        lock.jobs.entry(key.job).or_insert_with(|| job_fields(&plan.points));
        lock.launch.add(&key, plan);
        lock.plans.insert(key, fingerprint(plan));
    }
    lock
}

/// Labels that say nothing about which point of the search space a job is: names, what pins and
/// targets say better, and what is computed.
const NOT_TELLING: [&str; 17] = [
    "image",
    "model",
    "model-prefix",
    "precision",
    "framework",
    "runner",
    "exp-name",
    "run-eval",
    "eval-only",
    "max-model-len",
    "disagg",
    "multinode",
    "spec-decoding",
    "duration",
    "total-cpu-dram-gb",
    "eval-conc",
    "config-key",
];

/// Returns what tells a job from its siblings. A label that differs between the points of one job
/// becomes a list.
pub(crate) fn job_fields(points: &[Map<String, Value>]) -> Map<String, Value> {
    let mut fields = Map::new();
    let names: BTreeSet<&String> = points.iter().flat_map(Map::keys).collect();
    for name in names {
        if NOT_TELLING.contains(&name.as_str()) {
            continue;
        }
        let mut values: Vec<Value> =
            points.iter().map(|point| point.get(name).cloned().unwrap_or_default()).collect();
        if values.iter().all(|value| Some(value) == values.first()) {
            values.truncate(1);
        }
        let value = if values.len() == 1 { values.remove(0) } else { Value::Array(values) };
        // A width of one and no data parallelism are the usual; only the unusual is worth a word.
        let usual = (value == 1 && matches!(name.as_str(), "pp" | "dcp-size" | "pcp-size")) || value == false;
        if !usual {
            fields.insert(name.clone(), value);
        }
    }
    fields
}

/// Returns the ids of the points of a job: `KEY#JOB`, or `KEY#JOB:CONC` where it has several.
#[must_use]
pub fn point_ids(recipe: &str, job: u32, fields: &Map<String, Value>) -> Vec<String> {
    match fields.get("conc") {
        Some(Value::Array(concs)) => concs.iter().map(|conc| format!("{recipe}#{job}:{conc}")).collect(),
        _ => vec![format!("{recipe}#{job}")],
    }
}

impl Lock {
    /// Reads a lock. `path` is named in what goes wrong.
    ///
    /// # Errors
    /// If the text is no lock, is of a version that this recipec does not know, has conflict
    /// markers, or was edited by hand.
    pub fn read(path: &str, text: &str) -> Result<Self, Diagnostics> {
        let (lock, diagnostics) = Self::open(path, text);
        match lock {
            Some(lock) if !diagnostics.has_errors() => Ok(lock),
            _ => Err(diagnostics),
        }
    }

    /// Reads a lock as far as it can be read: one that was edited by hand is given together with
    /// the finding `lock-edited`, for those who are about to write it anew.
    #[must_use]
    pub fn open(path: &str, text: &str) -> (Option<Self>, Diagnostics) {
        wire::read(path, text)
    }

    /// Reads a lock whose seal holds, without its table of behaviour: enough to ask whether it is
    /// [`crate::current`], in a fraction of the time. `None` is no verdict, but a case for [`Lock::open`].
    #[must_use]
    pub fn brief(text: &str) -> Option<Self> {
        wire::read_brief(text)
    }

    /// Returns the text of the lockfile: deterministic, and nothing in it depends on when, where or
    /// by whom it is written.
    #[must_use]
    pub fn write(&self) -> String {
        pretty(&wire::write(self))
    }

    /// Returns the seal that the lockfile has.
    #[must_use]
    pub fn seal(&self) -> crate::Digest {
        wire::seal_of(self)
    }

    /// Returns the text to write, or `None` if `found`, the file's present text, says the same.
    /// An unchanged lock keeps the bytes and the version that were found.
    #[must_use]
    pub fn write_over(&self, path: &str, found: Option<&str>) -> Option<String> {
        if let Some(found) = found
            && Self::read(path, found).is_ok_and(|old| old == *self)
        {
            return None;
        }
        Some(self.write())
    }

    /// Returns the ids of the points that these plans answer, in order of job.
    #[must_use]
    pub fn points_of(&self, plans: &BTreeSet<PlanKey>) -> Vec<String> {
        let jobs: BTreeSet<u32> = plans.iter().map(|plan| plan.job).collect();
        let ids = jobs.into_iter().flat_map(|job| {
            self.jobs.get(&job).map(|fields| point_ids(&self.recipe, job, fields)).unwrap_or_default()
        });
        ids.collect()
    }

    /// Returns the pin of a want by name.
    #[must_use]
    pub fn pin(&self, want: &str) -> Option<&Pin> {
        match self.pins.get(want)? {
            Entry::Pinned { pin, .. } => Some(pin),
            Entry::Unpinned { .. } => None,
        }
    }

    /// Returns the pin of an image by its reference as the manifest writes it.
    #[must_use]
    pub fn image(&self, reference: &str) -> Option<&crate::pin::Image> {
        match self.pin(&format!("image:{reference}"))? {
            Pin::Image(image) => Some(image),
            _ => None,
        }
    }

    /// Returns the pinned snapshot of a checkpoint by repository id.
    #[must_use]
    pub fn checkpoint(&self, repository: &str) -> Option<&crate::pin::Snapshot> {
        self.pins.values().find_map(|entry| match entry {
            Entry::Pinned {
                want: recipe::want::Want::Checkpoint { repository: name, .. },
                pin: Pin::Checkpoint(snapshot),
            } if name == repository => Some(snapshot),
            _ => None,
        })
    }

    /// Returns the wants that have no pin, with the reason.
    pub fn unpinned(&self) -> impl Iterator<Item = (&str, &str)> {
        self.pins.iter().filter_map(|(name, entry)| match entry {
            Entry::Unpinned { reason, .. } => Some((name.as_str(), reason.as_str())),
            Entry::Pinned { .. } => None,
        })
    }

    pub(crate) fn rows(&self) -> crate::select::Rows {
        let rows = self.plans.keys().map(|key| {
            let mut fields: BTreeMap<String, String> = self
                .jobs
                .get(&key.job)
                .map(|fields| fields.iter().map(|(name, value)| (name.clone(), field_text(value))).collect())
                .unwrap_or_default();
            fields.insert("target".to_owned(), key.target.clone());
            fields.insert("mode".to_owned(), mode_name(key.mode).to_owned());
            (key.clone(), fields)
        });
        crate::select::Rows::new(rows.collect())
    }
}

fn field_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(field_text).collect::<Vec<_>>().join("+"),
        other => other.to_string(),
    }
}
