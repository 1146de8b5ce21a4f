//! Facets: what a plan and a cell of a cookbook say of the same thing, set side by side.

use std::collections::{BTreeMap, BTreeSet};

use engine::known::Checkpoint;
use engine::{Canonical, Engine, Value, canonical, full_name};
use serde::Serialize;
use serde_json::Value as Json;

use crate::policy::{Advisory, FacetKind, FacetPolicy, FacetRule, Weight};

/// What came of comparing one facet.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FacetOutcome {
    /// Both say the same.
    Match,
    /// One says nothing, and the engine makes of that what the other says.
    EquivalentByDefault,
    /// They say, or come to, different things.
    Contradict,
    /// The recipe sets what the cookbook leaves open.
    MissingInCookbook,
    /// It does not change the served model.
    Informational,
}

impl FacetOutcome {
    /// Returns true if both sides come to the same.
    #[must_use]
    pub fn holds(self) -> bool {
        matches!(self, Self::Match | Self::EquivalentByDefault | Self::Informational)
    }
}

/// One facet of one plan beside one cell.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct FacetVerdict {
    /// Its name.
    pub facet: String,
    /// What the plan says; null if nothing.
    pub ours: Json,
    /// What the cell says; null if nothing.
    pub theirs: Json,
    /// What came of it.
    pub verdict: FacetOutcome,
    /// Why.
    pub reason: String,
    /// Whether a difference is shown and does not fail, under the profile that was asked for.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub advisory: bool,
    /// How it weighs.
    #[serde(skip)]
    pub weight: Option<Weight>,
}

/// A server's command in the terms of its engine.
#[derive(Clone, Debug)]
pub struct Served {
    /// The checkpoint.
    pub model: String,
    canonical: Canonical,
    env: BTreeMap<String, String>,
}

/// What is the same on both sides: the engine, its version, the GPU.
#[derive(Clone, Debug)]
pub struct Setting<'a> {
    /// The engine.
    pub engine: Engine,
    /// Its version.
    pub version: &'a str,
    /// Architecture of the GPU, such as `sm_100`.
    pub architecture: &'a str,
    /// What is known of the recipe's checkpoint.
    pub checkpoint: Checkpoint,
}

impl Served {
    /// Reads a command; `model` is the checkpoint's repository where the command has a path.
    #[must_use]
    pub fn read(
        setting: &Setting<'_>,
        argv: &[String],
        env: &BTreeMap<String, String>,
        model: Option<&str>,
    ) -> Self {
        let canonical = canonical(setting.engine, setting.version, argv);
        let named = ["--model-path", "--model"]
            .iter()
            .find_map(|name| canonical.flags.get(*name))
            .map(Value::to_text);
        let named = named.or_else(|| canonical.positionals.first().cloned()).unwrap_or_default();
        Self { model: model.map_or(named, str::to_owned), canonical, env: env.clone() }
    }

    /// Returns a value: of a flag, of a member of a JSON-valued flag, or of a variable.
    fn value(&self, place: &Place) -> Option<Json> {
        match place {
            Place::Variable(name) => self.env.get(name).map(|value| value.as_str().into()),
            Place::Flag(name) => self.canonical.flags.get(name).map(to_json),
            Place::Member(name, member) => match self.canonical.flags.get(name) {
                Some(Value::Json(json)) => json.get(member).cloned(),
                _ => None,
            },
        }
    }
}

fn to_json(value: &Value) -> Json {
    match value {
        Value::Bool(yes) => (*yes).into(),
        Value::Number(number) => Json::Number(number.clone()),
        Value::Text(text) => text.as_str().into(),
        Value::Json(json) => json.clone(),
        Value::List(items) => items.iter().map(to_json).collect(),
        Value::Nothing => true.into(),
    }
}

/// Where a value stands.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Place {
    Flag(String),
    Member(String, String),
    Variable(String),
}

impl Place {
    /// Reads a place as policy writes it, in the full spelling of this version.
    fn read(setting: &Setting<'_>, text: &str) -> Self {
        if let Some(name) = text.strip_prefix("env:") {
            return Self::Variable(name.to_owned());
        }
        let full =
            |name: &str| full_name(setting.engine, setting.version, name).unwrap_or_else(|| name.to_owned());
        match text.split_once('.') {
            Some((flag, member)) => Self::Member(full(flag), member.to_owned()),
            None => Self::Flag(full(text)),
        }
    }
}

/// The facets of one engine version, ready to compare.
#[derive(Debug)]
pub struct Comparer<'a> {
    policy: &'a FacetPolicy,
    setting: Setting<'a>,
    facets: Vec<(&'a FacetRule, Vec<Place>)>,
    /// Places of facets and those that are not shown at all.
    compared: BTreeSet<Place>,
    /// Data and tensor parallelism.
    widths: [Place; 2],
    /// What is known of the checkpoint, by name.
    facts: Json,
}

impl<'a> Comparer<'a> {
    /// Prepares the comparison of commands of one engine version on one GPU.
    #[must_use]
    pub fn new(policy: &'a FacetPolicy, setting: Setting<'a>) -> Self {
        let places = |rule: &'a FacetRule| {
            let from = rule.from.get(setting.engine.name())?;
            Some((rule, from.iter().map(|text| Place::read(&setting, text)).collect()))
        };
        let facets: Vec<(&FacetRule, Vec<Place>)> = policy.facets.iter().filter_map(places).collect();
        let ignored = policy.ignored.iter().map(|name| Place::read(&setting, name));
        let compared = facets.iter().flat_map(|(_, places)| places.iter().cloned()).chain(ignored).collect();
        let widths =
            ["--data-parallel-size", "--tensor-parallel-size"].map(|name| Place::read(&setting, name));
        let facts = serde_json::to_value(&setting.checkpoint).unwrap_or_default();
        Self { policy, setting, facets, compared, widths, facts }
    }

    /// Returns the facets of a plan beside a cell, in the order of policy; what changes no served
    /// model comes last.
    #[must_use]
    pub fn compare(&self, ours: &Served, theirs: &Served) -> Vec<FacetVerdict> {
        let mut list = self.majors(ours, theirs);
        list.extend(self.others(ours, theirs));
        list
    }

    /// Returns the facets that policy names.
    pub(crate) fn majors(&self, ours: &Served, theirs: &Served) -> Vec<FacetVerdict> {
        let named = self.facets.iter().filter_map(|(rule, places)| self.facet(rule, places, ours, theirs));
        std::iter::once(self.model(ours, theirs)).chain(named).collect()
    }

    fn model(&self, ours: &Served, theirs: &Served) -> FacetVerdict {
        let equal = same_checkpoint(&ours.model, &theirs.model);
        FacetVerdict {
            facet: "model".to_owned(),
            ours: ours.model.as_str().into(),
            theirs: theirs.model.as_str().into(),
            verdict: if equal { FacetOutcome::Match } else { FacetOutcome::Contradict },
            reason: if equal { String::new() } else { "another checkpoint".to_owned() },
            advisory: false,
            weight: Some(Weight::Major),
        }
    }

    fn facet(
        &self,
        rule: &FacetRule,
        places: &[Place],
        ours: &Served,
        theirs: &Served,
    ) -> Option<FacetVerdict> {
        let get = |served: &Served| -> Option<Json> {
            match rule.kind {
                FacetKind::Flag => {
                    let set = places
                        .iter()
                        .any(|place| served.value(place).is_some_and(|value| value != Json::Bool(false)));
                    Some(set.into())
                }
                FacetKind::DataParallel => {
                    let [data, tensor] = &self.widths;
                    let number =
                        |place: &Place| served.value(place).and_then(|value| value.as_u64()).unwrap_or(1);
                    Some((number(data) > 1 && number(tensor) == 1).into())
                }
                FacetKind::Value | FacetKind::Checkpoint => {
                    places.iter().find_map(|place| served.value(place))
                }
            }
        };
        let (mine, other) = (get(ours), get(theirs));
        let unset = mine.is_none() && other.is_none();
        if unset && !rule.always && rule.weight != Weight::Parallelism {
            return None;
        }
        let (verdict, reason) = match self.judge(rule, mine.as_ref(), other.as_ref(), ours) {
            (verdict, _) if rule.weight == Weight::Shown && !verdict.holds() => {
                (FacetOutcome::Informational, "it changes no served model".to_owned())
            }
            judged => judged,
        };
        let advisory = !verdict.holds()
            && match rule.advisory {
                Advisory::Never => false,
                Advisory::Unset => mine.is_none(),
                Advisory::Always => true,
            };
        Some(FacetVerdict {
            facet: rule.facet.clone(),
            ours: mine.unwrap_or_default(),
            theirs: other.unwrap_or_default(),
            verdict,
            reason,
            advisory,
            weight: (rule.weight != Weight::Shown).then_some(rule.weight),
        })
    }

    fn judge(
        &self,
        rule: &FacetRule,
        mine: Option<&Json>,
        other: Option<&Json>,
        ours: &Served,
    ) -> (FacetOutcome, String) {
        let equal = |a: &Json, b: &Json| same(rule, a, b);
        match (mine, other) {
            (None, None) => (FacetOutcome::Match, String::new()),
            (Some(a), Some(b)) if equal(a, b) => {
                let alias = if a == b {
                    String::new()
                } else {
                    format!("{} and {} are one value", plain(a), plain(b))
                };
                (FacetOutcome::Match, alias)
            }
            (Some(a), Some(b)) => (FacetOutcome::Contradict, format!("{} is not {}", plain(a), plain(b))),
            (Some(set), None) => match self.resolved(rule, &ours.model) {
                Some((value, why)) if equal(&value, set) => (FacetOutcome::EquivalentByDefault, why),
                Some((value, why)) => {
                    (FacetOutcome::Contradict, format!("the cookbook leaves it at {}: {why}", plain(&value)))
                }
                None => (
                    FacetOutcome::MissingInCookbook,
                    "the cookbook does not set it, and what the engine makes of that is not known here"
                        .to_owned(),
                ),
            },
            (None, Some(set)) => match self.resolved(rule, &ours.model) {
                Some((value, why)) if equal(&value, set) => (FacetOutcome::EquivalentByDefault, why),
                Some((value, why)) => {
                    (FacetOutcome::Contradict, format!("the recipe leaves it at {}: {why}", plain(&value)))
                }
                None => (
                    FacetOutcome::Contradict,
                    "the recipe leaves it to the engine, which is not provably the same".to_owned(),
                ),
            },
        }
    }

    /// Returns what the engine makes of a value that nobody sets, where that is known.
    fn resolved(&self, rule: &FacetRule, model: &str) -> Option<(Json, String)> {
        let name = model.rsplit('/').next().unwrap_or(model);
        let fact = |name: &str| self.facts.get(name).and_then(|fact| fact.get("value"));
        let known = self.policy.resolved.iter().find_map(|known| {
            let applies = known.facet == rule.facet
                && known.engine == self.setting.engine.name()
                && name.starts_with(&known.model)
                && (known.architecture.is_empty()
                    || known.architecture.iter().any(|one| one == self.setting.architecture))
                && known.facts.iter().all(|(name, values)| {
                    fact(name)
                        .is_some_and(|value| values.iter().any(|one| one.eq_ignore_ascii_case(&plain(value))))
                });
            if !applies {
                return None;
            }
            match &known.fact {
                Some(name) => Some((fact(name)?.clone(), known.why.clone())),
                None => Some((known.value.clone(), known.why.clone())),
            }
        });
        known.or_else(|| rule.default.clone().map(|value| (value, rule.why.clone())))
    }

    /// Returns what changes no served model, wherever one side sets it.
    pub(crate) fn others(&self, ours: &Served, theirs: &Served) -> Vec<FacetVerdict> {
        let compared = &self.compared;
        let mut names: BTreeSet<(String, Place)> = BTreeSet::new();
        for served in [ours, theirs] {
            for (flag, value) in &served.canonical.flags {
                let place = Place::Flag(flag.clone());
                if compared.contains(&place) {
                    continue;
                }
                let short = flag.trim_start_matches('-').replace('-', "_");
                match value {
                    Value::Json(Json::Object(members)) => {
                        for member in members.keys() {
                            let place = Place::Member(flag.clone(), member.clone());
                            if !compared.contains(&place) {
                                names.insert((format!("{short}.{member}"), place));
                            }
                        }
                    }
                    _ => {
                        names.insert((short, place));
                    }
                }
            }
            for name in served.env.keys() {
                let place = Place::Variable(name.clone());
                if !compared.contains(&place)
                    && self.setting.engine.variable_prefixes().iter().any(|prefix| name.starts_with(prefix))
                {
                    names.insert((format!("env.{name}"), place));
                }
            }
        }
        let harness = |place: &Place| match place {
            Place::Variable(name) => {
                self.policy.harness.variables.iter().any(|prefix| name.starts_with(prefix))
            }
            Place::Flag(name) => self.policy.harness.flags.contains(name),
            Place::Member(name, member) => {
                self.policy.harness.members.get(name).is_some_and(|members| members.contains(member))
            }
        };
        let verdicts = names.into_iter().map(|(facet, place)| {
            let (mine, other) = (ours.value(&place), theirs.value(&place));
            let reason = match (harness(&place), mine == other) {
                (true, _) => "only benchmarks set it",
                (false, true) => "the same on both sides",
                (false, false) => "it changes no served model",
            };
            FacetVerdict {
                facet,
                ours: mine.unwrap_or_default(),
                theirs: other.unwrap_or_default(),
                verdict: FacetOutcome::Informational,
                reason: reason.to_owned(),
                advisory: false,
                weight: None,
            }
        });
        verdicts.collect()
    }
}

/// Returns true if both name one checkpoint: the same repository, or a local path that ends in the
/// repository's name.
#[must_use]
pub fn same_checkpoint(ours: &str, theirs: &str) -> bool {
    let last = |name: &str| name.rsplit('/').next().unwrap_or_default().to_owned();
    let local = |name: &str| name.starts_with('/') || name.starts_with('.') || name.starts_with('<');
    ours == theirs || (local(ours) || local(theirs)) && last(ours) == last(theirs)
}

fn same(rule: &FacetRule, a: &Json, b: &Json) -> bool {
    let normal = |value: &Json| {
        let mut text = plain(value);
        if !rule.case || value.is_boolean() || matches!(text.as_str(), "True" | "False") {
            text = text.to_lowercase();
        }
        if rule.dashes {
            text = text.replace('-', "_");
        }
        rule.alias.get(&text).cloned().unwrap_or(text)
    };
    a == b
        || normal(a) == normal(b)
        || rule.kind == FacetKind::Checkpoint && same_checkpoint(&plain(a), &plain(b))
}

/// Returns a value as people write it.
#[must_use]
pub fn plain(value: &Json) -> String {
    match value {
        Json::String(text) => text.clone(),
        Json::Null => "unset".to_owned(),
        other => other.to_string(),
    }
}
