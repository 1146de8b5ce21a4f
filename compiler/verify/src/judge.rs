//! The judge: every rule over every recipe, as a pure function of plans, lock, evidence, policy and
//! a day.

use std::collections::BTreeMap;
use std::rc::Rc;

use lock::Lock;
use recipe::{Recipe, Target};

use crate::claim::Subject;
use crate::cookbook::{Page, Shelf};
use crate::policy::{Policy, Profile};
use crate::rules;
use crate::verdict::{Day, Outcome, Verdict};

/// What upstream says, collected before judging.
#[derive(Clone, Default, Debug)]
pub struct Collected {
    /// Pages of cookbooks at the commits that the lock pins.
    pub pages: Vec<Rc<Page>>,
    /// What a want resolves to now, by the want's name, for those that were asked.
    pub standing: BTreeMap<String, Standing>,
    /// All recipes of the root, the judged one among them.
    pub neighbours: Rc<Neighbours>,
    /// What was read of the pages before.
    pub shelf: Rc<Shelf>,
}

/// What the recipes of a root are of.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Neighbours {
    /// The recipes.
    pub all: Vec<Neighbour>,
    /// Whether there are others that were not read.
    pub partial: bool,
}

/// What a recipe is of.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Neighbour {
    /// Config key.
    pub recipe: String,
    /// The engine, by its own name.
    pub engine: String,
    /// Family of models.
    pub prefix: String,
    /// GPUs.
    pub skus: Vec<String>,
}

impl Neighbour {
    /// Returns what a recipe is of; `None` for an engine that nobody knows.
    #[must_use]
    pub fn of(recipe: &Recipe, targets: &[Target]) -> Option<Self> {
        let named = |target: &&Target| {
            let answers = |name: &str| {
                target.name.value == name || target.labels.iter().any(|label| label.value == name)
            };
            recipe.targets.iter().any(|wanted| answers(&wanted.value))
        };
        Some(Self {
            recipe: recipe.key.value.clone(),
            engine: engine::Engine::parse(&recipe.engine.value)?.name().to_owned(),
            prefix: recipe.model.prefix.value.clone(),
            skus: targets.iter().filter(named).map(|target| target.hardware.sku.value.clone()).collect(),
        })
    }
}

/// What a want resolves to now.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Standing {
    /// To what the lock pins.
    Same,
    /// To something else: its digest or commit.
    Moved(String),
    /// To nothing: why.
    Gone(String),
    /// Nobody could ask: why.
    Unreachable(String),
}

/// Judges a recipe. The order of rules is the order of the table that a reviewer reads. `day` is
/// the day that dated rules are judged at: the one asked for, or the evidence's; without one they
/// are silent.
#[must_use]
pub fn judge(
    subject: &Subject<'_>,
    lock: Option<&Lock>,
    collected: &Collected,
    policy: &Policy,
    profile: Profile,
    day: Option<Day>,
) -> Vec<Verdict> {
    let mut verdicts = rules::cookbook::judge(subject, collected, policy, profile);
    verdicts.extend(rules::golden::judge(subject, lock));
    verdicts.extend(rules::image::judge(subject, policy));
    verdicts.extend(rules::engine_first::judge(subject, &collected.neighbours, policy));
    verdicts.extend(rules::architecture::judge(subject, policy));
    verdicts.extend(rules::shipped::judge(subject, policy, day));
    verdicts.extend(rules::offload::judge(subject, policy));
    verdicts.extend(rules::template::judge(subject));
    verdicts.extend(rules::deprecation::judge(subject, policy, day));
    verdicts.extend(rules::pins::judge(subject, lock, &collected.standing));
    verdicts
}

/// What the verdicts mean for the exit code.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Summary {
    /// The outside disagrees: exit code 4.
    pub disagrees: bool,
    /// Something could not be reached or read: exit code 5.
    pub unreadable: bool,
}

/// Returns what the verdicts mean for the exit code. Silence disagrees only where policy requires
/// a published recipe, which the verdict says by not being advisory.
#[must_use]
pub fn summary(verdicts: &[Verdict]) -> Summary {
    let any = |outcome| verdicts.iter().any(|verdict| verdict.verdict == outcome && !verdict.advisory);
    Summary { disagrees: any(Outcome::Drifts) || any(Outcome::Silent), unreadable: any(Outcome::Unreadable) }
}
