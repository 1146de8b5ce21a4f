//! Policy: what is compared, what a verdict is made of it, and what upstream accepts. It is data
//! in manifests/policy, read here and nowhere else.

mod submission;

use std::collections::BTreeMap;

use diag::slugs::verify::POLICY_UNREADABLE;
use diag::{Diagnostic, Diagnostics};
use serde::Deserialize;
use serde_json::Value as Json;

pub use submission::{
    ChangelogPolicy, ChecklistItem, EngineException, EnginePolicy, OffloadPolicy, ReviewPolicy, ScorePolicy,
    ShippedPolicy, Waiver, WaiverPolicy,
};

/// Everything that manifests/policy says.
#[derive(Clone, Default, PartialEq, Debug)]
pub struct Policy {
    /// What is compared between a plan and a cell of a cookbook.
    pub facets: FacetPolicy,
    /// What a recipe's verdict makes of facet verdicts.
    pub profiles: ProfilePolicy,
    /// Upstream organizations of images.
    pub images: ImagePolicy,
    /// What may no longer be submitted.
    pub deprecations: DeprecationPolicy,
    /// Engines that come first.
    pub engines: EnginePolicy,
    /// That model and engine run as they are published.
    pub shipped: ShippedPolicy,
    /// What was waived.
    pub waivers: WaiverPolicy,
    /// How much of the host's memory evicted KV blocks may take.
    pub offload: OffloadPolicy,
    /// Entries of upstream's changelog.
    pub changelog: ChangelogPolicy,
    /// Who may say what in a pull request.
    pub review: ReviewPolicy,
    /// The least scores of evaluations.
    pub scores: ScorePolicy,
}

/// What is compared.
#[derive(Clone, Default, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FacetPolicy {
    #[serde(default)]
    about: String,
    /// The facets, in the order of the table.
    pub facets: Vec<FacetRule>,
    /// Flags that say where and under what name, and so are not shown at all.
    pub ignored: Vec<String>,
    /// What only benchmarks set.
    pub harness: Harness,
    /// Words of a checkpoint's name that say how it was made and not which model it is.
    pub qualifiers: Vec<String>,
    /// What an engine makes of a value that nobody sets.
    pub resolved: Vec<Resolved>,
}

/// One facet.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FacetRule {
    /// Its name.
    pub facet: String,
    /// How it weighs.
    #[serde(default)]
    pub weight: Weight,
    /// How its value is found.
    #[serde(default)]
    pub kind: FacetKind,
    /// Whether it is shown even where neither side sets it.
    #[serde(default)]
    pub always: bool,
    /// When a difference is shown and never fails.
    #[serde(default)]
    pub advisory: Advisory,
    /// Whether capitals count.
    #[serde(default = "yes")]
    pub case: bool,
    /// Whether `-` is `_`.
    #[serde(default)]
    pub dashes: bool,
    /// Other spellings of values, with the one that counts.
    #[serde(default)]
    pub alias: BTreeMap<String, String>,
    /// What an unset value is.
    #[serde(default)]
    pub default: Option<Json>,
    /// Why that is so.
    #[serde(default)]
    pub why: String,
    /// Where its value stands, by engine.
    pub from: BTreeMap<String, Vec<String>>,
}

fn yes() -> bool {
    true
}

/// How a facet weighs.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Weight {
    /// It changes the served model.
    #[default]
    Major,
    /// It says over how many GPUs.
    Parallelism,
    /// It is shown, and never fails.
    Shown,
}

/// How a facet's value is found.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FacetKind {
    /// The value of a flag, a member or a variable.
    #[default]
    Value,
    /// A flag that is there or not.
    Flag,
    /// A checkpoint: its repository, or a local path that ends in its name.
    Checkpoint,
    /// Data parallelism of attention, as vLLM has it: several replicas of a width of one.
    DataParallel,
}

/// When a difference is shown and never fails.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Advisory {
    /// Never.
    #[default]
    Never,
    /// Where the recipe leaves it to the engine.
    Unset,
    /// Always.
    Always,
}

/// What only benchmarks set, and no cookbook has.
#[derive(Clone, Default, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Harness {
    /// Beginnings of names of variables.
    pub variables: Vec<String>,
    /// Members of JSON-valued flags.
    pub members: BTreeMap<String, Vec<String>>,
    /// Flags.
    pub flags: Vec<String>,
}

/// What an engine makes of a value that nobody sets.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Resolved {
    /// The facet.
    pub facet: String,
    /// The engine.
    pub engine: String,
    /// Beginning of the model's name, where it matters.
    #[serde(default)]
    pub model: String,
    /// Architectures of GPUs, where they matter.
    #[serde(default)]
    pub architecture: Vec<String>,
    /// What must be known of the checkpoint: any of these values, for each fact.
    #[serde(default)]
    pub facts: BTreeMap<String, Vec<String>>,
    /// The fact of the checkpoint that is the value, in place of `value`.
    #[serde(default)]
    pub fact: Option<String>,
    /// The value.
    pub value: Json,
    /// Why that is so, with where it was read.
    pub why: String,
}

/// What a recipe's verdict makes of facet verdicts.
#[derive(Clone, Default, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProfilePolicy {
    #[serde(default)]
    about: String,
    #[serde(default)]
    source: String,
    /// The profile that is used unless another is asked for.
    pub default: String,
    /// Profiles by name.
    pub profiles: BTreeMap<String, Profile>,
    /// Engines whose recipes must be published upstream; for others silence is no failure.
    #[serde(default)]
    pub published: Vec<String>,
}

/// One profile.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// Where the parallelism must match.
    pub parallelism: Lanes,
    /// What advisory facets do.
    pub advisory: AdvisoryEffect,
}

/// Where the parallelism must match.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Lanes {
    /// At every point.
    Everywhere,
    /// At one point at least; other lanes are for information.
    Somewhere,
}

/// What advisory facets do.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AdvisoryEffect {
    /// They are shown.
    Shown,
    /// They fail like any other.
    Fails,
}

/// Upstream organizations of images.
#[derive(Clone, Default, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ImagePolicy {
    #[serde(default)]
    about: String,
    /// Where it was read.
    #[serde(default)]
    pub source: String,
    /// GPUs to which it applies.
    pub skus: Vec<String>,
    /// Organizations by engine.
    pub organizations: BTreeMap<String, Vec<String>>,
}

/// What may no longer be submitted.
#[derive(Clone, Default, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeprecationPolicy {
    #[serde(default)]
    about: String,
    /// Where it was read.
    #[serde(default)]
    pub source: String,
    /// The rules.
    pub rules: Vec<Deprecation>,
}

/// One deprecation: a recipe that matches every given field may not be submitted after a day.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Deprecation {
    /// Families of models.
    #[serde(default)]
    pub prefix: Vec<String>,
    /// `8192/1024` or `agentic-coding`.
    #[serde(default)]
    pub scenario: Option<String>,
    /// Precision.
    #[serde(default)]
    pub precision: Option<String>,
    /// Whether it drafts.
    #[serde(default)]
    pub speculative: Option<bool>,
    /// The last day, `YYYY-MM-DD`.
    pub last: String,
    /// Whether it is in force, or only announced.
    #[serde(default = "yes")]
    pub enacted: bool,
    /// Why.
    pub why: String,
}

/// Names of the files.
const NAMES: [&str; 11] = [
    "changelog.json",
    "deprecations.json",
    "engines.json",
    "facets.json",
    "images.json",
    "offload.json",
    "profiles.json",
    "review.json",
    "scores.json",
    "shipped.json",
    "waivers.json",
];

/// A waiver that says nothing would waive everything.
fn filled_in(policy: WaiverPolicy) -> Result<WaiverPolicy, String> {
    match policy.waivers.iter().find_map(|waiver| Some((waiver, waiver.lacks()?))) {
        Some((waiver, field)) => Err(format!("the waiver of `{}` has no `{field}`", waiver.recipe)),
        None => Ok(policy),
    }
}

impl Policy {
    /// Reads policy from the files of manifests/policy, by name (`facets.json`). A file that is
    /// not there leaves its part empty.
    ///
    /// # Errors
    /// If a file is no policy of its name, or is of no known name.
    pub fn read(files: &BTreeMap<String, String>) -> Result<Self, Diagnostics> {
        let mut policy = Self::default();
        let mut diagnostics = Diagnostics::new();
        for (name, text) in files {
            let read = match name.as_str() {
                "facets.json" => parse(text).map(|value| policy.facets = value),
                "profiles.json" => parse(text).map(|value| policy.profiles = value),
                "images.json" => parse(text).map(|value| policy.images = value),
                "deprecations.json" => parse(text).map(|value| policy.deprecations = value),
                "engines.json" => parse(text).map(|value| policy.engines = value),
                "shipped.json" => parse(text).map(|value| policy.shipped = value),
                "waivers.json" => parse(text).and_then(filled_in).map(|value| policy.waivers = value),
                "offload.json" => parse(text).map(|value| policy.offload = value),
                "scores.json" => parse(text).map(|value| policy.scores = value),
                "review.json" => parse(text).map(|value| policy.review = value),
                "changelog.json" => parse(text).map(|value| policy.changelog = value),
                _ => Err("no policy goes by this name".to_owned()),
            };
            if let Err(why) = read {
                diagnostics.push(
                    Diagnostic::error(
                        POLICY_UNREADABLE,
                        format!("cannot read `manifests/policy/{name}`: {why}"),
                    )
                    .help(format!("the names are {}", NAMES.join(", "))),
                );
            }
        }
        if diagnostics.is_empty() { Ok(policy) } else { Err(diagnostics) }
    }

    /// Returns a profile by name, or the default one.
    ///
    /// # Errors
    /// The names that there are.
    pub fn profile(&self, name: Option<&str>) -> Result<Profile, Vec<&str>> {
        let name = name.unwrap_or(&self.profiles.default);
        self.profiles
            .profiles
            .get(name)
            .copied()
            .ok_or_else(|| self.profiles.profiles.keys().map(String::as_str).collect())
    }
}

fn parse<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, String> {
    let value = lock::parse_json(text)?;
    serde_json::from_value(value).map_err(|error| error.to_string())
}
