//! What upstream accepts of a submission beyond its arguments, as data.

use std::collections::BTreeMap;

use serde::Deserialize;

/// Engines that come first.
#[derive(Clone, Default, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EnginePolicy {
    #[serde(default)]
    about: String,
    /// Where it was read.
    #[serde(default)]
    pub source: String,
    /// Engines one of which must serve a model on a GPU before any other may.
    pub first: Vec<String>,
    /// GPUs to which it applies.
    pub skus: Vec<String>,
    /// Models that none of them supports yet.
    #[serde(default)]
    pub exceptions: Vec<EngineException>,
}

/// A model that no engine which comes first supports yet.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EngineException {
    /// Family of models.
    pub prefix: String,
    /// GPUs; all without any.
    #[serde(default)]
    pub skus: Vec<String>,
    /// Who says so.
    pub why: String,
}

/// That model and engine run as they are published.
#[derive(Clone, Default, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShippedPolicy {
    #[serde(default)]
    about: String,
    /// Where it was read.
    #[serde(default)]
    pub source: String,
    /// Flags that change a checkpoint's configuration, by engine.
    pub overrides: BTreeMap<String, Vec<String>>,
    /// Members of a configuration that take no work from the model.
    pub harmless: Vec<String>,
    /// Parts of paths at which an image holds its engine.
    pub places: Vec<String>,
    /// Words that change files of an image.
    pub tools: Vec<String>,
    /// Python packages that serve.
    pub packages: Vec<String>,
    /// Variables that put other code in front of a server's own.
    pub loaders: Vec<String>,
}

/// What was waived.
#[derive(Clone, Default, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WaiverPolicy {
    #[serde(default)]
    about: String,
    /// Where it was read.
    #[serde(default)]
    pub source: String,
    /// The waivers.
    pub waivers: Vec<Waiver>,
}

/// A waiver: what it covers, why, and until when.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Waiver {
    /// Config key.
    pub recipe: String,
    /// The pull request that it was filed with.
    pub pull: u64,
    /// What it covers: parts of what is found.
    pub covers: Vec<String>,
    /// Why what is published does not do.
    pub why: String,
    /// Where the change is upstream.
    pub upstream: Vec<String>,
    /// When and how it ends.
    pub removal: String,
    /// The last day, `YYYY-MM-DD`, if it has one.
    #[serde(default)]
    pub last: Option<String>,
}

impl Waiver {
    /// Returns what a waiver that is filled in has and this one lacks.
    #[must_use]
    pub fn lacks(&self) -> Option<&'static str> {
        [
            ("covers", self.covers.is_empty() || self.covers.iter().any(String::is_empty)),
            ("why", self.why.trim().is_empty()),
            ("upstream", self.upstream.is_empty()),
            ("removal", self.removal.trim().is_empty()),
        ]
        .into_iter()
        .find_map(|(field, empty)| empty.then_some(field))
    }
}

/// How much of the host's memory evicted KV blocks may take.
#[derive(Clone, Default, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OffloadPolicy {
    #[serde(default)]
    about: String,
    /// Where it was read.
    #[serde(default)]
    pub source: String,
    /// Decimal gigabytes of a node, whatever is built into it.
    pub node_gb: u64,
    /// GPUs whose nodes may use what is built into them.
    pub installed: Vec<String>,
    /// Values of flags that put KV blocks elsewhere than into memory, by engine and flag.
    pub elsewhere: BTreeMap<String, BTreeMap<String, Vec<String>>>,
}

/// Entries of upstream's changelog.
#[derive(Clone, Default, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChangelogPolicy {
    #[serde(default)]
    about: String,
    /// Where it was read.
    #[serde(default)]
    pub source: String,
    /// The repository, whose pull requests entries link.
    pub repository: String,
    /// What an entry may say as long as its pull request has no number.
    pub placeholders: Vec<String>,
}

/// The least scores of evaluations.
#[derive(Clone, Default, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScorePolicy {
    #[serde(default)]
    about: String,
    /// Where it was read.
    #[serde(default)]
    pub source: String,
    /// By task.
    pub default: BTreeMap<String, f64>,
    /// By family of models and task, before those by task.
    pub models: BTreeMap<String, BTreeMap<String, f64>>,
    /// Of any other task.
    pub fallback: f64,
}

impl ScorePolicy {
    /// Returns the least score of a family of models in a task.
    #[must_use]
    pub fn least(&self, prefix: &str, task: &str) -> f64 {
        let own = self.models.get(prefix).and_then(|tasks| tasks.get(task));
        own.or_else(|| self.default.get(task)).copied().unwrap_or(self.fallback)
    }
}

/// Who may say what in a pull request, and what its checklist asks.
#[derive(Clone, Default, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReviewPolicy {
    #[serde(default)]
    about: String,
    /// Where it was read.
    #[serde(default)]
    pub source: String,
    /// The command that authorizes the reuse of a run.
    pub command: String,
    /// Commands that take it back.
    pub revocations: Vec<String>,
    /// What the forge calls those who may.
    pub associations: Vec<String>,
    /// Items of the checklist, with the rules that prove them.
    pub checklist: Vec<ChecklistItem>,
}

/// An item of the checklist.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChecklistItem {
    /// Words that it has, in whatever case.
    pub words: Vec<String>,
    /// Rules that prove it together.
    pub rules: Vec<String>,
}
