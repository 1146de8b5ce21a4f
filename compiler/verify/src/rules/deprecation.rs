//! What upstream no longer accepts, judged at a day.

use diag::slugs::verify::DEPRECATED;
use recipe::plan::Plan;

use super::{policy_file, verdict};
use crate::claim::{self, Subject};
use crate::policy::{Deprecation, Policy};
use crate::verdict::{Day, Outcome, Verdict};

pub(crate) fn judge(subject: &Subject<'_>, policy: &Policy, day: Option<Day>) -> Vec<Verdict> {
    let concerned: Vec<(&Deprecation, Vec<&Plan>)> = policy
        .deprecations
        .rules
        .iter()
        .map(|rule| {
            (rule, subject.plans.iter().filter(|plan| concerns(rule, subject, plan)).collect::<Vec<_>>())
        })
        .filter(|(_, plans)| !plans.is_empty())
        .collect();
    let Some(day) = day else {
        let silent = (!concerned.is_empty()).then(|| {
            let message =
                "a rule with a date concerns this recipe, and no day is known; give one with `--at`";
            let mut found = verdict(subject, DEPRECATED, Outcome::Silent, message);
            found.advisory = true;
            found
        });
        return silent.into_iter().collect();
    };
    let mut verdicts = Vec::new();
    for (rule, plans) in concerned {
        let last: Result<Day, String> = rule.last.parse();
        let (outcome, message) = match last {
            Err(why) => (Outcome::Unreadable, why),
            Ok(last) if day <= last => continue,
            Ok(last) if rule.enacted => {
                (Outcome::Drifts, format!("{}: the last day was {last}, this is judged at {day}", rule.why))
            }
            Ok(last) => (
                Outcome::Drifts,
                format!("{}: announced for after {last}, not yet in force at {day}", rule.why),
            ),
        };
        let mut found = verdict(subject, DEPRECATED, outcome, message);
        found.points = plans.iter().flat_map(|plan| subject.points(plan)).collect();
        found.points.sort();
        found.points.dedup();
        found.advisory = !rule.enacted;
        found.evidence.push(policy_file("deprecations.json"));
        verdicts.push(found);
    }
    if verdicts.is_empty() {
        let mut found =
            verdict(subject, DEPRECATED, Outcome::Holds, format!("nothing of it was retired by {day}"));
        found.evidence.push(policy_file("deprecations.json"));
        verdicts.push(found);
    }
    verdicts
}

fn concerns(rule: &Deprecation, subject: &Subject<'_>, plan: &Plan) -> bool {
    (rule.prefix.is_empty() || rule.prefix.contains(&subject.prefix))
        && rule.scenario.as_ref().is_none_or(|scenario| *scenario == claim::scenario(plan))
        && rule.precision.as_ref().is_none_or(|precision| *precision == subject.precision)
        && rule.speculative.is_none_or(|speculative| speculative == subject.drafting.is_some())
}
