//! Which plan of the lock a result is of.

use std::collections::BTreeSet;

use diag::slugs::audit::{RUN_ENDED, RUN_PLAN, RUN_RESULT};
use lock::{Lock, PlanKey};
use recipe::plan::Mode;
use serde_json::{Map, Value};

use crate::declared::{self, stands_for};
use crate::evidence::Evidence;
use crate::facets;
use crate::gather::Gathered;
use crate::results::{Kind, Measured};
use crate::run::{Checks, Subject, Verdict};

/// Returns the plan of a result: the one that the evidence names, else the one that it must be.
pub(crate) fn plan(
    lock: &Lock,
    all: &Gathered,
    subject: &Subject<'_>,
    checks: &mut Checks,
) -> Option<PlanKey> {
    if let Some((path, evidence)) = subject.evidence {
        ended(path, evidence, subject, checks);
        return told(lock, path, evidence, subject.measured, checks);
    }
    searched(lock, all, subject, checks)
}

/// How a run ended, and whether its files are still those that it left.
fn ended(path: &str, evidence: &Evidence, subject: &Subject<'_>, checks: &mut Checks) {
    let how = match (&evidence.stopped, evidence.exit) {
        (Some(reason), _) => format!("stopped: {reason}"),
        (None, Some(code)) => format!("ended with {code}"),
        (None, None) => "no end is recorded".to_owned(),
    };
    let verdict = match (&evidence.stopped, evidence.exit) {
        (None, Some(0)) => Verdict::Reproduced,
        (None, None) => Verdict::Unproven,
        // A run that failed and left nothing contradicts nothing that is published.
        _ if subject.measured.is_none() => Verdict::Unproven,
        _ => Verdict::Contradicted,
    };
    checks.add(RUN_ENDED, verdict, ("end", path), "ended with 0", how);
    if let Some((file, digest)) = subject.listed {
        checks.same(RUN_RESULT, (&format!("content of {}", file.path), path), &file.sha256, digest);
    }
    if subject.measured.is_none() {
        checks.add(RUN_RESULT, Verdict::Unproven, ("result", path), "a result", "the run left none");
    }
}

/// The plan that the evidence names.
fn told(
    lock: &Lock,
    path: &str,
    evidence: &Evidence,
    measured: Option<&Measured>,
    checks: &mut Checks,
) -> Option<PlanKey> {
    if evidence.recipe != lock.recipe {
        checks.same(RUN_PLAN, ("recipe", path), &lock.recipe, &evidence.recipe);
        return None;
    }
    let mode = match evidence.mode.as_str() {
        "throughput" => Mode::Throughput,
        "eval" => Mode::Eval,
        _ => {
            checks.add(RUN_PLAN, Verdict::Unproven, ("mode", path), "", &evidence.mode);
            return None;
        }
    };
    let Some(job) = evidence.job else {
        checks.add(RUN_PLAN, Verdict::Unproven, ("job", path), "", "a point outside of the search space");
        return None;
    };
    let key = PlanKey { target: evidence.target.clone(), mode, job };
    let Some(print) = lock.plans.get(&key) else {
        checks.add(RUN_PLAN, Verdict::Contradicted, ("plan", path), "no such plan", key.to_string());
        return None;
    };
    checks.same(RUN_PLAN, ("digest", path), &print.plan.to_string(), &evidence.plan);
    let seal = lock.seal().to_string();
    if evidence.lock != seal && evidence.plan == print.plan.to_string() {
        // Another lock with the same plan: pins are compared one by one.
        checks.add(RUN_PLAN, Verdict::Reproduced, ("plan in another lock", path), seal, &evidence.lock);
    }
    let wrong = measured.and_then(|measured| mismatch(lock, &key, measured));
    if let Some((name, ours, theirs)) = wrong {
        checks.add(RUN_PLAN, Verdict::Contradicted, (&name, path), ours, theirs);
    }
    Some(key)
}

/// Finds the plan by what the result and the recorded commands say.
fn searched(lock: &Lock, all: &Gathered, subject: &Subject<'_>, checks: &mut Checks) -> Option<PlanKey> {
    let measured = subject.measured?;
    let mode = if measured.kind == Kind::Eval { Mode::Eval } else { Mode::Throughput };
    let of_mode: Vec<&PlanKey> = lock.plans.keys().filter(|key| key.mode == mode).collect();
    let mut fitting: Vec<&PlanKey> = of_mode
        .iter()
        .copied()
        .filter(|key| mismatch(lock, key, measured).is_none() && noted(lock, key, all, subject))
        .collect();
    if fitting.is_empty() {
        // The nearest says best what is wrong.
        let nearest = of_mode.iter().max_by_key(|key| agreeing(lock, key, measured));
        let (name, ours, theirs) = nearest
            .and_then(|key| mismatch(lock, key, measured))
            .unwrap_or_else(|| ("point".to_owned(), "no plan".to_owned(), describe(measured)));
        checks.add(RUN_PLAN, Verdict::Contradicted, (&name, subject.path), ours, theirs);
        return None;
    }
    narrow(&mut fitting, |key| on_hardware(key, measured));
    narrow(&mut fitting, |key| named(lock, key, subject.path));
    // A runner has its cluster's name in front of its number.
    narrow(&mut fitting, |key| subject.path.contains(&format!("_{}_", key.target)));
    narrow(&mut fitting, |key| {
        measured.model.as_deref().is_some_and(|model| facets::serves(lock, key, model))
    });
    // Several targets may share a label: what was started tells them apart.
    let least = fitting.iter().map(|key| facets::distance(lock, key, all, subject)).min();
    narrow(&mut fitting, |key| Some(facets::distance(lock, key, all, subject)) == least);
    let first = (*fitting.first()?).clone();
    let jobs: BTreeSet<u32> = fitting.iter().map(|key| key.job).collect();
    let (verdict, theirs) = if jobs.len() == 1 {
        (Verdict::Reproduced, describe(measured))
    } else {
        let jobs: Vec<String> = jobs.iter().take(8).map(u32::to_string).collect();
        (Verdict::Unproven, format!("{}: it may be job {}", describe(measured), jobs.join(", ")))
    };
    checks.add(RUN_PLAN, verdict, ("point", subject.path), format!("{}/{first}", lock.recipe), theirs);
    (jobs.len() == 1).then_some(first)
}

/// Keeps those of which something holds, if there are any.
fn narrow(keys: &mut Vec<&PlanKey>, holds: impl Fn(&PlanKey) -> bool) {
    if keys.len() > 1 && keys.iter().any(|key| holds(key)) {
        keys.retain(|key| holds(key));
    }
}

/// A label names a cluster, or the first word of several clusters' names.
fn on_hardware(key: &PlanKey, measured: &Measured) -> bool {
    measured.hardware.as_deref().is_some_and(|hardware| {
        key.target == hardware
            || key.target.strip_prefix(hardware).is_some_and(|rest| rest.starts_with(['-', '_']))
    })
}

/// The name that the plan gives its result.
fn named(lock: &Lock, key: &PlanKey, path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let name = name.strip_prefix("agg_").unwrap_or(name);
    declared::processes(lock, key)
        .iter()
        .filter_map(|process| process.flag("--result-filename"))
        .any(|pattern| stands_for(pattern, name))
}

/// What an evaluation notes beside its scores must be of the plan as well.
fn noted(lock: &Lock, key: &PlanKey, all: &Gathered, subject: &Subject<'_>) -> bool {
    if subject.measured.is_none_or(|measured| measured.kind != Kind::Eval) {
        return true;
    }
    let fields = lock.jobs.get(&key.job);
    facets::near(&all.notes, subject.path).all(|(_, notes)| {
        ["tp", "ep", "pp", "isl", "osl"].iter().all(|name| {
            let ours = fields.and_then(|fields| fields.get(*name));
            let theirs = notes.get(*name);
            match (ours, theirs) {
                (Some(ours), Some(theirs)) => is_one_of(ours, &number(theirs)),
                _ => true,
            }
        })
    })
}

/// Numbers that were written as text.
pub(crate) fn number(value: &Value) -> Value {
    value.as_str().and_then(|text| text.parse::<u64>().ok()).map_or_else(|| value.clone(), Value::from)
}

/// Returns the first field in which a result is not of a plan: its name, ours and theirs.
fn mismatch(lock: &Lock, key: &PlanKey, measured: &Measured) -> Option<(String, String, String)> {
    let fields = lock.jobs.get(&key.job)?;
    measured.point.iter().find_map(|(name, theirs)| {
        let ours = expected(fields, name)?;
        (!is_one_of(&ours, theirs)).then(|| (name.clone(), text(&ours), text(theirs)))
    })
}

fn agreeing(lock: &Lock, key: &PlanKey, measured: &Measured) -> usize {
    let Some(fields) = lock.jobs.get(&key.job) else { return 0 };
    let same = |(name, theirs): &(&String, &Value)| {
        expected(fields, name).is_some_and(|ours| is_one_of(&ours, theirs))
    };
    measured.point.iter().filter(same).count()
}

/// Returns what a job has for a field; a lock leaves out what is usual.
fn expected(fields: &Map<String, Value>, name: &str) -> Option<Value> {
    let given = fields.get(name);
    match name {
        "pp" | "ep" | "dcp-size" | "pcp-size" if fields.contains_key("tp") => {
            Some(given.cloned().unwrap_or_else(|| Value::from(1)))
        }
        "dp-attn" if fields.contains_key("tp") => Some(given.cloned().unwrap_or(Value::Bool(false))),
        "kv-offload-backend" => given.map(|backend| backend.get("name").unwrap_or(backend).clone()),
        "prefill" | "decode" => given.cloned(),
        _ => given.cloned(),
    }
}

fn is_one_of(ours: &Value, theirs: &Value) -> bool {
    match (ours, theirs) {
        (Value::Array(all), theirs) if !theirs.is_array() => all.contains(theirs),
        (Value::Object(ours), Value::Object(theirs)) => {
            theirs.iter().all(|(name, value)| ours.get(name).is_none_or(|ours| ours == value))
        }
        _ => ours == theirs,
    }
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn describe(measured: &Measured) -> String {
    let fields: Vec<String> =
        measured.point.iter().map(|(name, value)| format!("{name}={}", text(value))).collect();
    if fields.is_empty() { "the result names no point".to_owned() } else { fields.join(" ") }
}
