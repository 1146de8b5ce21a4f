//! The judge: every rule over every recipe, as a pure function of plans, lock, evidence, policy and
//! a day.

use std::collections::BTreeMap;

use lock::Lock;

use crate::claim::Subject;
use crate::cookbook::Page;
use crate::policy::{Policy, Profile};
use crate::rules;
use crate::verdict::{Day, Outcome, Verdict};

/// What upstream says, collected before judging.
#[derive(Clone, Default, PartialEq, Debug)]
pub struct Collected {
    /// Pages of cookbooks at the commits that the lock pins.
    pub pages: Vec<Page>,
    /// What a want resolves to now, by the want's name, for those that were asked.
    pub standing: BTreeMap<String, Standing>,
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
    let mut verdicts = rules::cookbook::judge(subject, &collected.pages, policy, profile);
    verdicts.extend(rules::golden::judge(subject, lock));
    verdicts.extend(rules::image::judge(subject, policy));
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
