//! `recipec audit checkpoint`: a staged checkpoint beside the lock, by names and sizes and then by
//! every byte.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

use audit::checkpoint::{Content, Found, POINTER_LIMIT, Report, State, Wanted, Whole, compare};
use diag::slugs::audit::{
    CHECKPOINT_ARRIVING, CHECKPOINT_DIFFERENT, CHECKPOINT_INCOMPLETE, CHECKPOINT_UNREADABLE, NO_CHECKPOINT,
};
use diag::slugs::host::CANNOT_READ;
use diag::{Diagnostic, Diagnostics, SourceMap};
use host::checkpoint::{contents, head, place};
use host::{Progress, Show};

use super::{Pinned, checkpoints, read_lock};
use crate::arguments::AuditCheckpoint;
use crate::outcome::{Answer, Document, Failure, Outcome};
use crate::words::count;

const COMMAND: &str = "audit checkpoint";

/// The most findings that are shown one by one.
const SHOWN: usize = 40;

/// Audits a folder.
pub(crate) fn run(verb: &AuditCheckpoint) -> Outcome {
    match audited(verb) {
        Ok(report) => outcome(verb, report),
        Err(findings) => Outcome::new(COMMAND, crate::outcome::Silence).with(findings, SourceMap::new()),
    }
}

fn audited(verb: &AuditCheckpoint) -> Result<Report, Diagnostics> {
    let (lock, root) = read_lock(&verb.lock)?;
    let pinned = checkpoints(&lock, &root)?;
    let chosen = choose(verb, &pinned).map_err(|finding| Diagnostics::from_iter([finding]))?;
    let wanted = wanted(chosen);
    let place = place(&verb.folder, wanted.repository, wanted.commit);
    let survey = host::checkpoint::survey(&place).map_err(|error| {
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
    if !verb.fast {
        read = take_contents(verb, &mut report, &wanted, &place.files);
    }
    let others: Vec<Wanted<'_>> = pinned.iter().map(self::wanted).collect();
    report.identify(&survey, &read, &others);
    Ok(report)
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
    report: &mut Report,
    wanted: &Wanted<'_>,
    folder: &std::path::Path,
) -> BTreeMap<String, Content> {
    let files = report.to_read(wanted);
    let paths: Vec<(PathBuf, bool)> =
        files.iter().map(|file| (folder.join(&file.path), file.sha256.is_none())).collect();
    let total = files.iter().map(|file| file.size).sum();
    let progress = Progress::bytes(Show::Stderr, total);
    let read = contents(&paths, verb.jobs.unwrap_or(0), &|bytes| progress.advance(bytes, ""));
    let mut all = BTreeMap::new();
    for (file, content) in files.into_iter().zip(read) {
        report.content(file, content.as_ref().map_err(String::as_str), wanted);
        all.extend(content.ok().map(|content| (file.path.clone(), content)));
    }
    all
}

fn outcome(verb: &AuditCheckpoint, report: Report) -> Outcome {
    let whole = report.whole();
    let mut findings = Diagnostics::new();
    let wrong: Vec<&Found> = report.files.iter().filter(|found| found.state != State::Ok).collect();
    if whole != Whole::Complete {
        findings.push(finding(verb, &report, whole, &wrong));
    }
    let mut outcome = Outcome::new(COMMAND, Audited { report, fast: verb.fast });
    outcome.findings = findings;
    outcome.explicit = true;
    match whole {
        Whole::Complete => {}
        Whole::Unreadable => {
            outcome.failures.insert(Failure::Unreachable);
        }
        Whole::InProgress | Whole::Incomplete | Whole::Different => {
            outcome.failures.insert(Failure::Outside);
        }
    }
    outcome
}

fn finding(verb: &AuditCheckpoint, report: &Report, whole: Whole, wrong: &[&Found]) -> Diagnostic {
    let folder = verb.folder.display();
    let (right, all) = report.count();
    let what = format!("{}, {right} of {}", report.repository, count(all, "file"));
    let (slug, message, help) = match whole {
        Whole::InProgress => (
            CHECKPOINT_ARRIVING,
            format!("`{folder}` is still being filled ({what})"),
            "wait for the download to end, and ask again",
        ),
        Whole::Incomplete => (
            CHECKPOINT_INCOMPLETE,
            format!("`{folder}` is not all of the locked checkpoint ({what})"),
            "run `hf download` again: it goes on where it stopped; serve nothing until this is complete",
        ),
        Whole::Different => (
            CHECKPOINT_DIFFERENT,
            format!("`{folder}` is not the locked checkpoint ({what})"),
            "a result measured on it is not of this lock: stage the locked commit in a folder of its own",
        ),
        Whole::Unreadable | Whole::Complete => (
            CHECKPOINT_UNREADABLE,
            format!("`{folder}` cannot be read ({what})"),
            "nothing is known of what could not be read; look at the file system, and ask again",
        ),
    };
    let mut finding = Diagnostic::error(slug, message);
    for found in wrong.iter().take(SHOWN) {
        finding = finding.why(line(found));
    }
    if wrong.len() > SHOWN {
        finding = finding.why(format!("and {} more", wrong.len() - SHOWN));
    }
    if let Some((repository, commit)) = &report.is {
        finding = finding.why(format!("what lies there is `{repository}` at {commit}"));
    }
    finding.help(help)
}

fn line(found: &Found) -> String {
    let mut text = format!("{} `{}`", found.state.word(), found.path.escape_debug());
    if let (Some(want), Some(got)) = (&found.want, &found.got)
        && want != got
    {
        let _ = write!(text, ": {got}, not {want}");
    }
    if let Some(note) = &found.note {
        let _ = write!(text, ": {}", note.escape_debug());
    }
    text
}

/// What an audit found.
struct Audited {
    report: Report,
    fast: bool,
}

impl Answer for Audited {
    fn human(&self) -> String {
        let report = &self.report;
        let (right, all) = report.count();
        let commit = report.commit.get(..12).unwrap_or(&report.commit);
        let mut text = format!("{}  {} at {commit}: ", report.whole().word(), report.repository);
        let looked = if self.fast { "names and sizes" } else { "every byte" };
        if right == all {
            let _ = writeln!(text, "{}, {looked} as locked", count(all, "file"));
        } else {
            let _ = writeln!(text, "{right} of {} as locked", count(all, "file"));
        }
        for found in report.files.iter().filter(|found| found.state == State::Ok && found.note.is_some()) {
            let _ = writeln!(text, "  {}", line(found));
        }
        text
    }

    fn document(&self) -> Document {
        Document::Fields(self.report.to_json())
    }

    fn markdown(&self) -> Option<String> {
        let mut text = format!("**{}**", self.human().trim_end());
        let wrong: Vec<&Found> = self.report.files.iter().filter(|found| found.state != State::Ok).collect();
        if !wrong.is_empty() {
            text.push_str("\n\n| file | state | locked | found | |\n|---|---|---|---|---|\n");
        }
        for found in wrong {
            let cell = |text: &Option<String>| text.clone().unwrap_or_default().replace('|', "\\|");
            let path = found.path.escape_debug().to_string().replace('|', "\\|");
            let _ = writeln!(
                text,
                "| `{path}` | {} | {} | {} | {} |",
                found.state.word(),
                cell(&found.want),
                cell(&found.got),
                cell(&found.note)
            );
        }
        Some(text)
    }
}
