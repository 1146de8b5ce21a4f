//! `recipec audit run`: a folder of results beside the lock.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use ::lock::Lock;
use audit::attestation::{self, Subject};
use audit::gather::Gathered;
use audit::run::{Check, Judged, Policy, Verdict, judge};
use audit::scores::Thresholds;
use diag::slugs::audit::{NO_RESULTS, RUN_RESULT};
use diag::slugs::cli::OPTION_NOT_READ;
use diag::slugs::host::CANNOT_READ;
use diag::{Diagnostic, Diagnostics, Slug, SourceMap};
use host::files::Root;
use serde_json::{Map, Value, json};

use super::attest::Signer;
use super::read_lock;
use crate::arguments::{AuditRun, Gates};
use crate::corpus::LOCK_LIMIT;
use crate::outcome::{Answer, Document, Failure, Outcome, Silence};
use crate::words::count;

const COMMAND: &str = "audit run";

/// The most notes of one finding.
const SHOWN: usize = 20;

/// Scores of roots that have none of their own.
const SCORES: &str = include_str!("../../../manifests/policy/scores.json");

/// Audits a folder.
pub(crate) fn run(verb: &AuditRun) -> Outcome {
    let signer = match Signer::of(&verb.attest) {
        Ok(signer) => signer,
        Err(finding) => return Outcome::refusal(COMMAND, finding),
    };
    let audited = read_lock(&verb.lock).and_then(|(lock, root)| {
        let policy = policy(&verb.gates, Some(&root)).map_err(one)?;
        let all = gather(&verb.folder).map_err(one)?;
        let results = judge(&lock, &all, &policy);
        let signed = signer.map_or(Ok(()), |signer| attest(signer, &lock, &all, &results));
        Ok((results, all.unread, signed))
    });
    match audited {
        Ok((results, unread, signed)) => {
            let mut outcome = outcome(COMMAND, &results, &unread);
            outcome.answer = Box::new(Audited { results, verbose: verb.verbose });
            if let Err(finding) = signed {
                outcome.failures.insert(Failure::of(&finding));
                outcome.findings.push(finding);
            }
            outcome
        }
        Err(findings) => Outcome::new(COMMAND, Silence).with(findings, SourceMap::new()),
    }
}

/// Signs the verdicts. Subjects are the files that were read whole: results, and what speaks of them.
fn attest(signer: Signer, lock: &Lock, all: &Gathered, results: &[Judged]) -> Result<(), Diagnostic> {
    let subjects: Vec<Subject> = all
        .digests
        .iter()
        .filter_map(|(path, hex)| Some(Subject::new(path, &format!("sha256:{hex}").parse().ok()?)))
        .collect();
    if subjects.is_empty() {
        return Err(Diagnostic::error(NO_RESULTS, "there is no result to attest")
            .why("an attestation is about results, and the run left none"));
    }
    let mut plans = BTreeMap::new();
    let mut verdicts = Vec::new();
    for result in results {
        let digest = result.plan.as_ref().and_then(|plan| lock.plans.get(plan));
        if let (Some(plan), Some(digest)) = (&result.plan, digest) {
            plans.insert(plan.to_string(), digest.plan.to_string());
        }
        let wrong: Vec<Value> = result
            .checks
            .iter()
            .filter(|check| check.verdict != Verdict::Reproduced)
            .map(|check| json!({ "slug": check.slug.as_str(), "verdict": check.verdict.word(), "about": check.about }))
            .collect();
        let details = json!({
            "plan": result.plan.as_ref().map(ToString::to_string),
            "points": result.points,
            "checks": result.checks.len(),
            "wrong": wrong,
        });
        let verdict = result.verdict().word().to_owned();
        verdicts.push(attestation::Verdict { of: result.path.clone(), verdict, details });
    }
    signer.write(COMMAND, lock, subjects, plans, verdicts)
}

fn one(finding: Diagnostic) -> Diagnostics {
    Diagnostics::from_iter([finding])
}

/// Reads by what figures are judged.
pub(super) fn policy(gates: &Gates, root: Option<&Root>) -> Result<Policy, Diagnostic> {
    let percent = |value: f64, name: &str| {
        (0.0..=100.0).contains(&value).then_some(value / 100.0).ok_or_else(|| {
            Diagnostic::error(OPTION_NOT_READ, format!("`--{name} {value}` is no part of a hundred"))
        })
    };
    let own = "manifests/policy/scores.json";
    let (shown, text) = match (&gates.scores, root) {
        (Some(path), _) => {
            let bytes = crate::workspace::read(path, LOCK_LIMIT)?;
            (path.display().to_string(), String::from_utf8_lossy(&bytes).into_owned())
        }
        (None, Some(root)) if root.locate(own).is_ok() => {
            let bytes =
                root.bytes(own, LOCK_LIMIT).map_err(|error| crate::workspace::unreadable(own, &error))?;
            (own.to_owned(), String::from_utf8_lossy(&bytes).into_owned())
        }
        _ => (own.to_owned(), SCORES.to_owned()),
    };
    let thresholds = Thresholds::read(&text).map_err(|why| {
        Diagnostic::error(OPTION_NOT_READ, format!("`{shown}` holds no least scores")).why(why)
    })?;
    Ok(Policy {
        thresholds,
        tolerance: percent(gates.acceptance, "acceptance")?,
        share: percent(gates.coverage, "coverage")?,
    })
}

/// Judges everything in a folder. The second part says what could not be read.
pub(super) fn audit(
    folder: &Path,
    lock: &Lock,
    policy: &Policy,
) -> Result<(Vec<Judged>, Vec<(String, String)>), Diagnostic> {
    let all = gather(folder)?;
    Ok((judge(lock, &all, policy), all.unread))
}

/// Reads everything in a folder.
fn gather(folder: &Path) -> Result<Gathered, Diagnostic> {
    let folder_name = folder.display();
    let all = host::results::gather(folder).map_err(|error| {
        Diagnostic::error(CANNOT_READ, format!("cannot read `{folder_name}`")).why(error.to_string())
    })?;
    if all.is_empty() {
        let mut finding = Diagnostic::error(NO_RESULTS, format!("there is no result in `{folder_name}`"))
            .why("neither evidence of an emitted script, nor a result of a client or an evaluation")
            .help("name the folder that the run wrote into");
        for (path, why) in all.unread.iter().take(SHOWN) {
            finding = finding.why(format!("`{}`: {why}", shown(path)));
        }
        return Err(finding);
    }
    Ok(all)
}

/// Returns the outcome without its answer: findings, and what failed.
pub(super) fn outcome(command: &'static str, results: &[Judged], unread: &[(String, String)]) -> Outcome {
    let mut outcome = Outcome::new(command, Silence);
    outcome.explicit = true;
    for result in results {
        match result.verdict() {
            Verdict::Contradicted => outcome.failures.insert(Failure::Outside),
            Verdict::Unproven => outcome.failures.insert(Failure::Unreachable),
            Verdict::Reproduced => false,
        };
        outcome.findings.extend(findings(result));
    }
    for (path, why) in unread.iter().take(SHOWN) {
        let message = format!("cannot read `{}`", shown(path));
        outcome.findings.push(Diagnostic::warning(CANNOT_READ, message).why(shown(why)));
    }
    outcome
}

/// One finding for each kind of thing that is not as the lock says, or that nothing says.
fn findings(result: &Judged) -> Vec<Diagnostic> {
    let mut findings: Vec<Diagnostic> = Vec::new();
    let mut done: Vec<(Slug, Verdict)> = Vec::new();
    for check in result.checks.iter().filter(|check| check.verdict != Verdict::Reproduced) {
        let kind = (check.slug, check.verdict);
        if done.contains(&kind) {
            continue;
        }
        done.push(kind);
        let alike: Vec<&Check> =
            result.checks.iter().filter(|other| (other.slug, other.verdict) == kind).collect();
        let path = shown(&result.path);
        let message = format!("`{path}` is {}: {}", check.verdict.word(), line(check));
        let mut finding = match check.verdict {
            Verdict::Contradicted => Diagnostic::error(check.slug, message),
            _ => Diagnostic::warning(check.slug, message),
        };
        for other in alike.iter().skip(1).take(SHOWN) {
            finding = finding.why(line(other));
        }
        if alike.len() > SHOWN + 1 {
            finding = finding.why(format!("and {} more", alike.len() - SHOWN - 1));
        }
        if !check.evidence.is_empty() {
            finding = finding.why(format!("said by `{}`", shown(&check.evidence)));
        }
        findings.push(finding);
    }
    findings
}

/// Says in one line what was compared.
fn line(check: &Check) -> String {
    let about = shown(&check.about);
    let (ours, theirs) = (shown(&check.ours), shown(&check.theirs));
    match check.verdict {
        Verdict::Contradicted if check.slug == RUN_RESULT => format!("{about} is {theirs}, not {ours}"),
        Verdict::Contradicted if !ours.is_empty() => format!("{about} is {theirs}, the lock says {ours}"),
        Verdict::Unproven if !ours.is_empty() => format!("{about}: {theirs}; in the lock: {ours}"),
        _ => format!("{about}: {theirs}"),
    }
}

/// What an audit found.
pub(super) struct Audited {
    pub(super) results: Vec<Judged>,
    pub(super) verbose: bool,
}

impl Answer for Audited {
    fn human(&self) -> String {
        let mut text = String::new();
        for result in &self.results {
            let verdict = result.verdict();
            let points =
                if result.points.is_empty() { "no plan".to_owned() } else { result.points.join(", ") };
            let _ = writeln!(text, "{:<12}  {}  {points}", verdict.word(), shown(&result.path));
            for check in &result.checks {
                if self.verbose || check.verdict != Verdict::Reproduced {
                    let _ = writeln!(
                        text,
                        "  {:<12}  {:<16} {}",
                        check.verdict.word(),
                        check.slug.as_str(),
                        line(check)
                    );
                }
            }
        }
        let _ = writeln!(text, "{}", tally(&self.results));
        text
    }

    fn document(&self) -> Document {
        let results: Vec<Value> = self.results.iter().map(Judged::to_json).collect();
        Document::Fields(Map::from_iter([("results".to_owned(), Value::Array(results))]))
    }

    fn markdown(&self) -> Option<String> {
        let mut text = format!("**{}**\n", tally(&self.results));
        text.push_str("\n| verdict | point | result | what is not as locked |\n|---|---|---|---|\n");
        for result in &self.results {
            let wrong: Vec<String> = result
                .checks
                .iter()
                .filter(|check| check.verdict != Verdict::Reproduced)
                .take(6)
                .map(line)
                .collect();
            let points =
                if result.points.is_empty() { "no plan".to_owned() } else { result.points.join(", ") };
            let cells = [result.verdict().word(), &points, &result.path, &wrong.join("; ")].map(cell);
            let _ = writeln!(text, "| {} |", cells.join(" | "));
        }
        Some(text)
    }
}

/// Writes text so that it stays on its line and cannot steer a terminal.
pub(super) fn shown(text: &str) -> String {
    let plain = |c: char| {
        !c.is_control()
            && !matches!(c, '\u{200e}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    text.chars().map(|c| if plain(c) { c.to_string() } else { c.escape_default().to_string() }).collect()
}

/// Writes text into a cell of a table, where a hostile name can do no harm.
pub(super) fn cell(text: &str) -> String {
    shown(text).replace('|', "\\|").replace('<', "&lt;").replace('`', "'")
}

/// Says how many points are what.
pub(super) fn tally(results: &[Judged]) -> String {
    let of = |verdict: Verdict| results.iter().filter(|result| result.verdict() == verdict).count();
    let parts: Vec<String> = [Verdict::Reproduced, Verdict::Contradicted, Verdict::Unproven]
        .into_iter()
        .filter(|verdict| of(*verdict) > 0)
        .map(|verdict| format!("{} {}", of(verdict), verdict.word()))
        .collect();
    format!("{}: {}", count(results.len(), "result"), parts.join(", "))
}
