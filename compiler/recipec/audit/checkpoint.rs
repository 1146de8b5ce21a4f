//! `recipec audit checkpoint`: a staged checkpoint beside the lock, by names and sizes and then by
//! every byte.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use ::lock::Lock;
use ::lock::pin::{File, Snapshot};
use audit::attestation::{Subject, Verdict};
use audit::checkpoint::{Content, POINTER_LIMIT, Report, Wanted, compare};
use audit::found::{State, Whole};
use audit::nodes::Part;
use diag::slugs::audit::{NO_CHECKPOINT, NOT_REMEMBERED};
use diag::slugs::host::CANNOT_READ;
use diag::{Diagnostic, Diagnostics, Severity, SourceMap};
use host::checkpoint::place;
use host::contents::contents;
use host::hash::{Task, head};
use host::memory::Memory;
use host::{Progress, Show};
use serde_json::{Value, json};

use super::attest::Signer;
use super::{Pinned, checkpoints, documents, every_checkpoint, nodes, read_lock, told};
use crate::arguments::AuditCheckpoint;
use crate::outcome::{Failure, Outcome};

const COMMAND: &str = "audit checkpoint";

/// Audits a folder.
pub(crate) fn run(verb: &AuditCheckpoint) -> Outcome {
    match audited(verb) {
        Ok(seen) => outcome(verb, seen),
        Err(findings) => Outcome::new(COMMAND, crate::outcome::Silence).with(findings, SourceMap::new()),
    }
}

fn audited(verb: &AuditCheckpoint) -> Result<Seen, Diagnostics> {
    let signer = Signer::of(&verb.attest).map_err(|finding| Diagnostics::from_iter([finding]))?;
    let part = nodes::part(verb).map_err(|finding| Diagnostics::from_iter([finding]))?;
    let (lock, root) = read_lock(&verb.lock)?;
    let pinned = checkpoints(&lock, &root)?;
    let chosen = choose(verb, &pinned).map_err(|finding| Diagnostics::from_iter([finding]))?;
    let wanted = wanted(chosen);
    let place = place(&verb.folder, wanted.repository, wanted.commit);
    let names: BTreeSet<&str> = wanted.files.iter().map(|file| file.path.as_str()).collect();
    let survey = host::checkpoint::survey(&place, &names).map_err(|error| {
        let finding = Diagnostic::error(CANNOT_READ, format!("cannot read `{}`", place.files.display()));
        Diagnostics::from_iter([finding.why(error.to_string())])
    })?;
    let mut report = compare(&wanted, &survey);
    for path in report.may_be_pointers() {
        if let Ok(text) = head(&place.files.join(&path), POINTER_LIMIT) {
            report.beginning(&path, &text, &wanted);
        }
    }
    let mut read = BTreeMap::new();
    let mut findings = Diagnostics::new();
    if verb.fast {
        report.doubt_holes();
    } else {
        let memory = remembered(verb, &mut findings);
        read = take_contents(verb, part, memory.as_ref(), &mut report, &wanted, &place.files);
        let blobs = place.cache.as_ref().map(|cache| cache.join("blobs"));
        let known = lock.known.checkpoints.get(wanted.repository);
        documents::differences(&mut report, &wanted, &place.files, blobs.as_deref(), known);
        findings.extend(documents::conflicts(&report, &wanted, &place.files));
    }
    if report.whole() == Whole::Complete {
        report.identify(&survey, &read, &[]);
    } else {
        let all = every_checkpoint(&root);
        let others: Vec<Wanted<'_>> = pinned.iter().chain(&all).map(self::wanted).collect();
        report.identify(&survey, &read, &others);
    }
    let snapshot = chosen.snapshot.clone();
    Ok(Seen { report, findings, lock, snapshot, signer, part })
}

/// Writes what was found, where that is asked for. The checkpoint is the subject: its commit, and the
/// list of its files by its digest.
fn attest(
    verb: &AuditCheckpoint,
    signer: Signer,
    part: Option<Part>,
    lock: &Lock,
    snapshot: &Snapshot,
    report: &Report,
) -> Result<(), Diagnostic> {
    let mut subject = Subject::new(&report.repository, &snapshot.files);
    subject.digest.insert("gitCommit".to_owned(), snapshot.commit.clone());
    let (_, all) = report.count();
    let wrong: Vec<Value> = report
        .files
        .iter()
        .filter(|found| found.state != State::Ok)
        .map(|found| json!({ "path": found.path, "state": found.state.word() }))
        .collect();
    let details = json!({
        "looked": if verb.fast { "names and sizes" } else { "every byte" },
        "part": part,
        "files": all,
        "remembered": report.remembered,
        "wrong": wrong,
    });
    let plans = lock.plans.iter().map(|(plan, digest)| (plan.to_string(), digest.plan.to_string())).collect();
    let verdict =
        Verdict { of: report.repository.clone(), verdict: report.whole().word().to_owned(), details };
    signer.write(COMMAND, lock, vec![subject], plans, vec![verdict])
}

/// What was found of a folder.
struct Seen {
    report: Report,
    /// What its files say against one another, and what could not be used.
    findings: Diagnostics,
    /// The lock, and what of it the folder was set beside.
    lock: Lock,
    snapshot: Snapshot,
    signer: Option<Signer>,
    /// The part of the files that was to be read.
    part: Option<Part>,
}

/// Opens what is remembered, where that is asked for. Without it everything is read.
fn remembered(verb: &AuditCheckpoint, findings: &mut Diagnostics) -> Option<Memory> {
    let path = verb.remember.as_ref()?;
    match Memory::open(path) {
        Ok(memory) => Some(memory),
        Err(error) => {
            let message = format!("`{}` is not used: every file is read", path.display());
            findings.push(Diagnostic::warning(NOT_REMEMBERED, message).why(error.to_string()));
            None
        }
    }
}

fn wanted(pinned: &Pinned) -> Wanted<'_> {
    Wanted { repository: &pinned.repository, commit: &pinned.snapshot.commit, files: &pinned.files }
}

/// Returns the checkpoint that a folder is to be set beside.
fn choose<'p>(verb: &AuditCheckpoint, pinned: &'p [Pinned]) -> Result<&'p Pinned, Diagnostic> {
    let folder = verb.folder.to_string_lossy().to_lowercase();
    let named = |one: &&Pinned| {
        let last = one.repository.rsplit('/').next().unwrap_or(&one.repository).to_lowercase();
        folder.contains(&last)
    };
    let found = match (&verb.repository, pinned) {
        (Some(repository), _) => pinned.iter().find(|one| one.repository == *repository),
        (None, [one]) => Some(one),
        (None, _) => pinned.iter().find(named),
    };
    found.ok_or_else(|| {
        let names: Vec<&str> = pinned.iter().map(|one| one.repository.as_str()).collect();
        let finding = Diagnostic::error(
            NO_CHECKPOINT,
            match &verb.repository {
                Some(repository) => format!("the lock pins no checkpoint `{repository}`"),
                None => "the lock does not say which checkpoint the folder should be".to_owned(),
            },
        );
        if names.is_empty() {
            finding.why("it pins none").help("run `recipec lock` where the hub can be reached")
        } else {
            finding.help(format!("name one with `--repository`: {}", names.join(", ")))
        }
    })
}

/// Reads every file that may be right.
fn take_contents(
    verb: &AuditCheckpoint,
    part: Option<Part>,
    memory: Option<&Memory>,
    report: &mut Report,
    wanted: &Wanted<'_>,
    folder: &Path,
) -> BTreeMap<String, Content> {
    // The parts are of the locked list, whatever is there: so all nodes mean the same by them.
    let all: Vec<&File> = wanted.files.iter().collect();
    let mine: Option<BTreeSet<&File>> = part.map(|part| part.of_files(&all).into_iter().collect());
    let mut files = report.to_read(wanted);
    files.retain(|file| mine.as_ref().is_none_or(|mine| mine.contains(file)));
    let tasks: Vec<Task> = files
        .iter()
        .map(|file| Task { path: folder.join(&file.path), blob: file.sha256.is_none() })
        .collect();
    let total = files.iter().map(|file| file.size).sum();
    let progress = Progress::bytes(Show::Stderr, total);
    let read = contents(&tasks, verb.jobs.unwrap_or(0), memory, &|bytes| progress.advance(bytes, ""));
    let mut all = BTreeMap::new();
    for (file, content) in files.into_iter().zip(read) {
        report.content(file, content.as_ref().map_err(String::as_str), wanted);
        all.extend(content.ok().map(|content| (file.path.clone(), content)));
    }
    all
}

fn outcome(verb: &AuditCheckpoint, seen: Seen) -> Outcome {
    let Seen { report, mut findings, lock, snapshot, signer, part } = seen;
    let whole = report.whole();
    let mut failures = BTreeSet::new();
    if findings.iter().any(|finding| finding.severity == Severity::Error) {
        failures.insert(Failure::Outside);
    }
    if whole != Whole::Complete {
        findings.push(told::finding(verb, &report, whole));
    }
    match whole {
        Whole::Complete => {}
        Whole::InProgress | Whole::Unreadable => {
            failures.insert(Failure::Unreachable);
        }
        Whole::Incomplete | Whole::Different => {
            failures.insert(Failure::Outside);
        }
    }
    let attested = signer.map_or(Ok(()), |signer| attest(verb, signer, part, &lock, &snapshot, &report));
    if let Err(finding) = attested {
        failures.insert(Failure::of(&finding));
        findings.push(finding);
    }
    if let Err(finding) = nodes::report(verb, part, &lock, &report, &findings) {
        failures.insert(Failure::of(&finding));
        findings.push(finding);
    }
    let mut outcome = Outcome::new(COMMAND, told::Audited { report, fast: verb.fast, part });
    outcome.findings = findings;
    outcome.explicit = true;
    outcome.failures = failures;
    outcome
}
