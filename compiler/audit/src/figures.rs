//! What was measured: whether it is of the declared workload, whole, and good enough.

use diag::slugs::audit::{
    RUN_ACCEPTANCE, RUN_COVERAGE, RUN_HARNESS, RUN_REQUESTS, RUN_RESULT, RUN_SCORE, RUN_WORKLOAD,
};
use lock::{Lock, PlanKey};
use recipe::plan::Mode;

use crate::acceptance::{self, Realised, is_near};
use crate::coverage::{Metric, Records};
use crate::declared::{self, Declared, stands_for};
use crate::gather::Gathered;
use crate::results::{Kind, Measured};
use crate::run::{Checks, Policy, Subject, Verdict};
use crate::{facets, which};

/// The share of requests that may fail where the client is told none.
const FAILED: f64 = 0.10;

/// By how much the tokens of a request may differ from what was asked for, as a part of it: a chat
/// template adds some, and a tokenizer reads its own tokens back in another way.
const SLACK: f64 = 0.02;

pub(crate) fn judge(
    lock: &Lock,
    plan: &PlanKey,
    all: &Gathered,
    policy: &Policy,
    subject: &Subject<'_>,
    checks: &mut Checks,
) {
    let Some(measured) = subject.measured else { return };
    let client = client(lock, plan);
    workload(lock, plan, all, client.as_ref(), subject, measured, checks);
    published(all, subject, measured, checks);
    match plan.mode {
        Mode::Eval => scores(all, policy, subject, measured, checks),
        Mode::Throughput => {
            requests(client.as_ref(), all, subject, measured, checks);
            coverage(all, policy, subject, measured, checks);
            accepted(lock, plan, all, policy, subject, checks);
        }
    }
}

/// The process that measures.
fn client(lock: &Lock, plan: &PlanKey) -> Option<Declared> {
    let name = match plan.mode {
        Mode::Throughput => "client",
        Mode::Eval => "eval",
    };
    declared::processes(lock, plan)
        .into_iter()
        .find(|process| process.name.split(['[', '#']).next() == Some(name))
}

fn workload(
    lock: &Lock,
    plan: &PlanKey,
    all: &Gathered,
    client: Option<&Declared>,
    subject: &Subject<'_>,
    measured: &Measured,
    checks: &mut Checks,
) {
    let fields = lock.jobs.get(&plan.job);
    for name in ["conc", "isl", "osl"] {
        let ours = fields.and_then(|fields| fields.get(name));
        let (Some(ours), Some(theirs)) = (ours, measured.point.get(name)) else { continue };
        let same = ours == theirs || ours.as_array().is_some_and(|all| all.contains(theirs));
        let verdict = if same { Verdict::Reproduced } else { Verdict::Contradicted };
        checks.add(RUN_WORKLOAD, verdict, (name, subject.path), ours.to_string(), theirs.to_string());
    }
    if measured.kind == Kind::Eval {
        noted(all, fields, subject, checks);
    }
    // What the client says that it was given.
    let (path, said) = subject.client.unwrap_or((subject.path, measured));
    for (flag, theirs) in &said.client {
        let Some(ours) = client.and_then(|client| client.flag(flag)) else { continue };
        let number = |text: &str| text.parse::<f64>().ok();
        let same = stands_for(ours, theirs) || number(ours).is_some() && number(ours) == number(theirs);
        let verdict = if same { Verdict::Reproduced } else { Verdict::Contradicted };
        checks.add(RUN_WORKLOAD, verdict, (flag, path), ours, theirs.as_str());
    }
    lengths(client, path, said, checks);
    for (task, effective, original) in &measured.part {
        let place = (task.as_str(), subject.path);
        let theirs = format!("{effective} of {original} questions");
        checks.add(RUN_HARNESS, Verdict::Contradicted, place, "all questions", theirs);
    }
}

/// What an evaluation notes beside its scores.
fn noted(
    all: &Gathered,
    fields: Option<&serde_json::Map<String, serde_json::Value>>,
    subject: &Subject<'_>,
    checks: &mut Checks,
) {
    for (path, notes) in facets::near(&all.notes, subject.path) {
        for name in ["conc", "isl", "osl"] {
            let Some(ours) = fields.and_then(|fields| fields.get(name)) else { continue };
            let Some(theirs) = notes.get(name).map(which::number) else { continue };
            let same = *ours == theirs || ours.as_array().is_some_and(|all| all.contains(&theirs));
            let verdict = if same { Verdict::Reproduced } else { Verdict::Contradicted };
            checks.add(RUN_WORKLOAD, verdict, (name, path), ours.to_string(), theirs.to_string());
        }
    }
}

/// Random lengths lie between a part of what was asked for and all of it.
fn lengths(client: Option<&Declared>, path: &str, said: &Measured, checks: &mut Checks) {
    let (Some(client), Some((input, output)), Some(completed)) = (client, said.tokens, said.completed) else {
        return;
    };
    if completed == 0 {
        return;
    }
    let ratio = client.flag("--random-range-ratio").and_then(|text| text.parse::<f64>().ok()).unwrap_or(1.0);
    for (flag, tokens) in [("--random-input-len", input), ("--random-output-len", output)] {
        let Some(asked) = client.number(flag) else { continue };
        #[expect(clippy::cast_precision_loss, reason = "a mean is not exact")]
        let (mean, asked) = (tokens as f64 / completed as f64, asked as f64);
        let holds = mean >= asked * ratio * (1.0 - SLACK) && mean <= asked * (1.0 + SLACK);
        let verdict = if holds { Verdict::Reproduced } else { Verdict::Contradicted };
        let ours = format!("{:.0} to {asked:.0} tokens", asked * ratio);
        checks.add(RUN_WORKLOAD, verdict, (flag, path), ours, format!("{mean:.1} tokens a request"));
    }
}

/// A published rate is what the client measured.
fn published(all: &Gathered, subject: &Subject<'_>, measured: &Measured, checks: &mut Checks) {
    let close = |one: f64, other: f64, by: f64| (one - other).abs() <= other.abs() * by;
    let mut compare = |path: &str, ours: f64, theirs: f64, by: f64| {
        let verdict = if close(theirs, ours, by) { Verdict::Reproduced } else { Verdict::Contradicted };
        let text = |rate: f64| format!("{rate:.2} tokens a second");
        checks.add(RUN_RESULT, verdict, ("published rate", path), text(ours), text(theirs));
    };
    if let (Some((path, client)), Some(gpus), Some(rate)) = (subject.client, measured.gpus, measured.rate)
        && let Some(whole) = client.rate
        && gpus > 0
    {
        #[expect(clippy::cast_precision_loss, reason = "a handful of GPUs")]
        compare(path, whole / gpus as f64, rate, 1e-6);
    }
    if measured.kind == Kind::Agentic
        && let Some(rate) = measured.rate
    {
        for (path, records) in facets::near(&all.records, subject.path) {
            if let Some(recomputed) = records.throughput() {
                compare(path, recomputed, rate, 1e-3);
            }
        }
    }
}

fn requests(
    client: Option<&Declared>,
    all: &Gathered,
    subject: &Subject<'_>,
    measured: &Measured,
    checks: &mut Checks,
) {
    let told = client.and_then(|client| client.flag("--failed-request-threshold"));
    let most = told.and_then(|text| text.parse::<f64>().ok());
    // A client that is told no share is not expected to fail at all.
    let replays = matches!(measured.kind, Kind::Agentic | Kind::Profile);
    let most = most.unwrap_or(if replays { FAILED } else { 0.0 });
    let (path, said) = subject.client.unwrap_or((subject.path, measured));
    let records = facets::near(&all.records, subject.path).next();
    let counted = match records {
        Some((path, records)) if replays => Some((path.as_str(), records.counted, records.failed)),
        _ => said.completed.zip(said.failed).map(|(completed, failed)| (path, completed, failed)),
    };
    let Some((path, completed, failed)) = counted else { return };
    let all_of_them = completed.saturating_add(failed);
    #[expect(clippy::cast_precision_loss, reason = "a share is not exact")]
    let share = if all_of_them == 0 { 1.0 } else { failed as f64 / all_of_them as f64 };
    let verdict = if completed > 0 && share <= most { Verdict::Reproduced } else { Verdict::Contradicted };
    let theirs = format!("{failed} of {all_of_them}");
    checks.add(
        RUN_REQUESTS,
        verdict,
        ("failed requests", path),
        format!("at most {:.0} %", most * 100.0),
        theirs,
    );
}

fn coverage(
    all: &Gathered,
    policy: &Policy,
    subject: &Subject<'_>,
    measured: &Measured,
    checks: &mut Checks,
) {
    let replays = matches!(measured.kind, Kind::Agentic | Kind::Profile);
    if replays {
        for (path, records) in facets::near(&all.records, subject.path) {
            let Records { first_token, between, broken, lines, .. } = records;
            for (name, metric) in [("time to first token", first_token), ("inter-token latency", between)] {
                gate(checks, policy, (name, path), Metric::share(metric), metric.tail());
            }
            if *broken > 0 {
                let theirs = format!("{broken} of {lines} lines are no records");
                checks.add(RUN_COVERAGE, Verdict::Contradicted, ("records", path), "all of them", theirs);
            }
        }
        if !checks.0.iter().any(|check| check.slug == RUN_COVERAGE) {
            let theirs = "no records of single requests";
            checks.add(RUN_COVERAGE, Verdict::Unproven, ("requests", ""), "all requests", theirs);
        }
        return;
    }
    let (path, said) = subject.client.unwrap_or((subject.path, measured));
    if let Some((first, between, count)) = said.detailed.filter(|(_, _, count)| *count > 0) {
        #[expect(clippy::cast_precision_loss, reason = "a share is not exact")]
        let share = |there: u64| Some(there as f64 / count as f64);
        let tail = |there: u64| (there < count).then(|| format!("{} of {count} without", count - there));
        gate(checks, policy, ("time to first token", path), share(first), tail(first));
        gate(checks, policy, ("inter-token latency", path), share(between), tail(between));
    }
}

fn gate(checks: &mut Checks, policy: &Policy, place: (&str, &str), share: Option<f64>, tail: Option<String>) {
    let Some(share) = share else { return };
    let verdict = if share >= policy.share { Verdict::Reproduced } else { Verdict::Contradicted };
    let tail = tail.map(|tail| format!(": {tail}")).unwrap_or_default();
    let ours = format!("at least {:.0} %", policy.share * 100.0);
    checks.add(RUN_COVERAGE, verdict, place, ours, format!("{:.2} %{tail}", share * 100.0));
}

fn accepted(
    lock: &Lock,
    plan: &PlanKey,
    all: &Gathered,
    policy: &Policy,
    subject: &Subject<'_>,
    checks: &mut Checks,
) {
    let servers = declared::servers(lock, plan);
    let Some((server, told)) = servers.iter().find_map(|server| Some((server, server.told()?))) else {
        return;
    };
    let engine = facets::engine_name(lock, plan, server);
    let Ok(golden) = told.to_string().parse::<f64>() else { return };
    let mut found: Vec<Realised> = facets::near(&all.counters, subject.path)
        .filter_map(|(path, metrics)| acceptance::exported(path, metrics))
        .collect();
    if found.is_empty() {
        found.extend(
            facets::near(&all.logs, subject.path).filter_map(|(path, log)| acceptance::logged(path, log)),
        );
    }
    let ours = format!("{told} ± {:.1} %", policy.tolerance * 100.0);
    if found.is_empty() {
        let theirs = "no counter and no log says how many drafts were accepted";
        checks.add(RUN_ACCEPTANCE, Verdict::Unproven, ("acceptance length", ""), ours.clone(), theirs);
    }
    for one in found {
        let near = is_near(one.length, golden, policy.tolerance);
        let verdict = if near { Verdict::Reproduced } else { Verdict::Contradicted };
        // What counts as accepted differs between engines and versions.
        let theirs = format!("{:.3} ({}, {engine})", one.length, one.counted);
        checks.add(RUN_ACCEPTANCE, verdict, ("acceptance length", &one.path), ours.clone(), theirs);
    }
}

fn scores(all: &Gathered, policy: &Policy, subject: &Subject<'_>, measured: &Measured, checks: &mut Checks) {
    let model = facets::near(&all.notes, subject.path)
        .find_map(|(_, notes)| notes.get("infmax_model_prefix")?.as_str())
        .filter(|prefix| *prefix != "unknown");
    for score in &measured.scores {
        let (least, whose) = policy.thresholds.least(model, &score.task);
        let verdict = if score.value >= least { Verdict::Reproduced } else { Verdict::Contradicted };
        let about = format!("{} {}", score.task, score.metric);
        let ours = format!("at least {least} ({whose})");
        checks.add(RUN_SCORE, verdict, (&about, subject.path), ours, format!("{:.4}", score.value));
    }
    if measured.scores.is_empty() {
        let theirs = "no score of an exact match";
        checks.add(RUN_SCORE, Verdict::Unproven, ("score", subject.path), "a score", theirs);
    }
    // The parts of an evaluation that failed leave no file behind.
    for (path, notes) in facets::near(&all.notes, subject.path) {
        let failed = notes.get("failed_eval_concs").and_then(serde_json::Value::as_array);
        if let Some(failed) = failed.filter(|failed| !failed.is_empty()) {
            let list: Vec<String> = failed.iter().map(ToString::to_string).collect();
            let theirs = format!("it failed at concurrency {}", list.join(", "));
            checks.add(RUN_SCORE, Verdict::Contradicted, ("concurrencies", path), "every one", theirs);
        }
    }
}
