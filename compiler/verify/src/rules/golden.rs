//! The synthetic acceptance length is the golden one: right curve, draft length, thinking mode and
//! unit, in throughput plans of agentic recipes only.

use std::collections::BTreeMap;

use diag::slugs::verify::GOLDEN_ACCEPTANCE;
use engine::known::Curve;
use engine::{Engine, Value, curves};
use lock::Lock;
use lock::pin::{Entry, Pin};
use recipe::plan::{Plan, Rank};
use recipe::want::Want;

use super::verdict;
use crate::claim::{self, Drafting, Subject};
use crate::cookbook::Class;
use crate::verdict::{Evidence, Outcome, Verdict};

/// What a server is told about acceptance.
#[derive(Clone, PartialEq, Debug)]
struct Injected {
    /// The acceptance length, in tokens per step, whatever unit the engine takes.
    length: f64,
    /// As written.
    written: String,
    /// Where.
    place: &'static str,
}

/// What is wrong or right with one plan.
type Finding = (Outcome, String, Option<String>);

pub(crate) fn judge(subject: &Subject<'_>, lock: Option<&Lock>) -> Vec<Verdict> {
    let mut found: BTreeMap<(u8, String), (Outcome, Vec<String>, Option<String>)> = BTreeMap::new();
    for plan in subject.plans {
        let Some((outcome, message, curve)) = judge_plan(subject, plan) else { continue };
        let entry = found.entry((outcome as u8, message)).or_insert_with(|| (outcome, Vec::new(), curve));
        for point in subject.points(plan) {
            if !entry.1.contains(&point) {
                entry.1.push(point);
            }
        }
    }
    let verdicts = found.into_iter().map(|((_, message), (outcome, points, curve))| {
        let mut found = verdict(subject, GOLDEN_ACCEPTANCE, outcome, message);
        found.points = points;
        found.evidence.extend(curve.and_then(|name| curve_evidence(lock, &name)));
        found
    });
    verdicts.collect()
}

fn judge_plan(subject: &Subject<'_>, plan: &Plan) -> Option<Finding> {
    let (_, rank) = claim::servers(plan).next()?;
    let injected = injected(subject, rank);
    if !claim::is_throughput(plan) {
        // The evaluation twin measures quality: nothing synthetic may be left in it.
        return injected.map(|injected| {
            (
                Outcome::Drifts,
                format!(
                    "the evaluation has a synthetic acceptance ({} {})",
                    injected.place, injected.written
                ),
                None,
            )
        });
    }
    if claim::scenario(plan) != "agentic-coding" {
        return injected.map(|injected| {
            (
                Outcome::Drifts,
                format!(
                    "a fixed sequence has no synthetic acceptance, and here {} is {}",
                    injected.place, injected.written
                ),
                None,
            )
        });
    }
    let tokens = draft_tokens(subject, rank)?;
    let Some(drafting) = &subject.drafting else {
        return Some((
            Outcome::Unreadable,
            "the server drafts, and the recipe does not say how".to_owned(),
            None,
        ));
    };
    let Some(injected) = injected else {
        return Some((
            Outcome::Drifts,
            "an agentic recipe that drafts injects the golden acceptance length, and nothing is injected"
                .to_owned(),
            None,
        ));
    };
    let Some((name, curve)) = find_curve(subject, drafting) else {
        return Some(match &drafting.source {
            Some(source) => (
                Outcome::Holds,
                format!("no curve speaks for it; {} is documented by {source}", injected.written),
                None,
            ),
            None => (
                Outcome::Silent,
                format!(
                    "no golden curve speaks for `{}` with {}, and no source is given",
                    subject.checkpoint, drafting.method
                ),
                None,
            ),
        });
    };
    let thinks = subject.thinking.or_else(|| subject.facts.thinks_by_default.as_ref().map(|fact| fact.value));
    let Some(thinks) = thinks else {
        return Some((
            Outcome::Unreadable,
            "nobody says whether the traffic thinks, so no value of the curve can be chosen".to_owned(),
            Some(name),
        ));
    };
    let mode = if thinks { "on" } else { "off" };
    let golden = curve.lengths.get(mode).and_then(|lengths| lengths.get(&tokens));
    let Some(golden) = golden else {
        return Some((
            Outcome::Silent,
            format!("{name} has no value for {tokens} draft tokens with thinking {mode}"),
            Some(name),
        ));
    };
    let number: f64 = golden.parse().ok()?;
    if (number - injected.length).abs() < 0.005 {
        return Some((
            Outcome::Holds,
            format!("{} is golden: {name}, thinking {mode}, {tokens} draft tokens", injected.written),
            Some(name),
        ));
    }
    let places: Vec<String> = curve
        .lengths
        .iter()
        .flat_map(|(mode, lengths)| lengths.iter().map(move |(tokens, value)| (mode, tokens, value)))
        .filter(|(_, _, value)| {
            value.parse::<f64>().is_ok_and(|value| (value - injected.length).abs() < 0.005)
        })
        .map(|(mode, tokens, _)| format!("thinking {mode} at {tokens}"))
        .collect();
    let unit =
        (number - 1.0 - injected.length).abs() < 0.005 || (number + 1.0 - injected.length).abs() < 0.005;
    let hint = match (places.as_slice(), unit) {
        ([], true) => "; it is off by one: the unit is another engine's".to_owned(),
        ([], false) => String::new(),
        (places, _) => format!("; it is the value of {}", places.join(" and ")),
    };
    let message = format!(
        "{} is not golden: {name} says {golden} at {tokens} draft tokens with thinking {mode}{hint}",
        injected.written
    );
    Some((Outcome::Drifts, message, Some(name)))
}

fn member(flags: &BTreeMap<String, Value>, flag: &str, member: &str) -> Option<String> {
    match flags.get(flag) {
        Some(Value::Json(json)) => json.get(member).map(crate::facet::plain),
        _ => None,
    }
}

/// Returns what a server is told about acceptance, in whatever way its engine takes it.
fn injected(subject: &Subject<'_>, rank: &Rank) -> Option<Injected> {
    let env = claim::env(rank);
    let canonical = subject.canonical(rank);
    let flags = &canonical.flags;
    // The unit: TensorRT-LLM counts accepted draft tokens, the others tokens per step.
    let (written, place, more) = match subject.engine {
        Engine::Sglang => (env.get("SGLANG_SIMULATE_ACC_LEN").cloned(), "SGLANG_SIMULATE_ACC_LEN", 0.0),
        Engine::Trtllm => (
            env.get("TLLM_SPEC_DECODE_FORCE_NUM_ACCEPTED_TOKENS").cloned(),
            "TLLM_SPEC_DECODE_FORCE_NUM_ACCEPTED_TOKENS",
            1.0,
        ),
        Engine::Vllm => (
            member(flags, "--speculative-config", "synthetic_acceptance_length"),
            "synthetic_acceptance_length",
            0.0,
        ),
        Engine::Atom => {
            // Of two builds, one takes the length and one the share of the drafts that is accepted.
            let rate = "--spec-decode-acceptance-rate";
            if let Some(written) = flags.get(rate).map(Value::to_text) {
                let length = 1.0 + written.parse::<f64>().ok()? * f64::from(draft_tokens(subject, rank)?);
                return Some(Injected { length, written, place: rate });
            }
            let length = "--spec-decode-acceptance-length";
            (flags.get(length).map(Value::to_text), length, 0.0)
        }
    };
    let written = written?;
    let length = written.parse::<f64>().ok()? + more;
    Some(Injected { length, written, place })
}

/// Returns the number of draft tokens that a server drafts; `None` if it does not draft.
fn draft_tokens(subject: &Subject<'_>, rank: &Rank) -> Option<u32> {
    let canonical = subject.canonical(rank);
    let flags = &canonical.flags;
    let number = |text: Option<String>| text.and_then(|text| text.parse().ok());
    match subject.engine {
        Engine::Sglang => {
            flags.get("--speculative-algorithm")?;
            number(flags.get("--speculative-num-steps").map(Value::to_text))
                .or(subject.drafting.as_ref().and_then(|drafting| drafting.steps))
        }
        Engine::Vllm => number(member(flags, "--speculative-config", "num_speculative_tokens")),
        Engine::Atom => number(flags.get("--num-speculative-tokens").map(Value::to_text)),
        Engine::Trtllm => subject.drafting.as_ref().and_then(|drafting| drafting.steps),
    }
}

/// Returns the curve that speaks for this checkpoint, draft, method and sampling.
fn find_curve<'a>(subject: &'a Subject<'_>, drafting: &Drafting) -> Option<(String, &'a Curve)> {
    let used = curves::Drafting {
        checkpoint: &subject.checkpoint,
        method: &drafting.method,
        draft: drafting.draft.as_deref(),
        sampling: drafting.sampling.as_deref(),
    };
    let all = subject.curves.iter().map(|(name, curve)| (name.as_str(), curve));
    curves::speaking_for(all, &used).first().map(|(name, curve)| ((*name).to_owned(), *curve))
}

/// Returns where a curve was read: the pinned file, if the lock pins one of that name.
fn curve_evidence(lock: Option<&Lock>, name: &str) -> Option<Evidence> {
    let pins = &lock?.pins;
    pins.values().find_map(|entry| match entry {
        Entry::Pinned { want: Want::Source { repository, path, .. }, pin: Pin::Source(source) }
            if path.ends_with(name) =>
        {
            Some(Evidence {
                repo: repository.clone(),
                commit: source.commit.clone(),
                path: path.clone(),
                line: 0,
                class: Class::Independent,
            })
        }
        _ => None,
    })
}
