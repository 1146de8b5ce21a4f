//! What an audit of a checkpoint says to people and to machines.

use std::fmt::Write as _;

use audit::checkpoint::{Report, SaidBy};
use audit::found::{Found, State, Whole};
use audit::nodes::Part;
use diag::Diagnostic;
use diag::slugs::audit::{
    CHECKPOINT_ARRIVING, CHECKPOINT_DIFFERENT, CHECKPOINT_INCOMPLETE, CHECKPOINT_UNREADABLE,
};

use crate::arguments::AuditCheckpoint;
use crate::outcome::{Answer, Document};
use crate::words::count;

/// The most findings that are shown one by one.
const SHOWN: usize = 40;

/// Returns the finding of a checkpoint that is not complete.
pub(super) fn finding(verb: &AuditCheckpoint, report: &Report, whole: Whole) -> Diagnostic {
    let wrong: Vec<&Found> = report.files.iter().filter(|found| found.state != State::Ok).collect();
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
    for note in &report.notes {
        finding = finding.why(note.clone());
    }
    if let Some((repository, commit)) = &report.is {
        finding = finding.why(match report.said_by {
            SaidBy::Content => format!("what lies there is `{repository}` at {commit}"),
            SaidBy::Client => format!("the hub's client notes `{repository}` at {commit}"),
        });
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
pub(super) struct Audited {
    pub(super) report: Report,
    pub(super) fast: bool,
    pub(super) part: Option<Part>,
}

impl Answer for Audited {
    fn human(&self) -> String {
        let report = &self.report;
        let (right, all) = report.count();
        let commit = report.commit.get(..12).unwrap_or(&report.commit);
        let mut text = format!("{}  {} at {commit}: ", report.whole().word(), report.repository);
        let looked = match self.part {
            _ if self.fast => "names and sizes".to_owned(),
            None => "every byte".to_owned(),
            Some(part) => {
                let read = report.files.iter().filter(|found| found.read).count();
                format!(
                    "every byte of {read} (part {} of {}) and the names and sizes of all",
                    part.number, part.of
                )
            }
        };
        if right == all {
            let remembered = match report.remembered {
                0 => String::new(),
                some => format!(" ({some} unchanged since an earlier audit read them)"),
            };
            let _ = writeln!(text, "{}, {looked} as locked{remembered}", count(all, "file"));
        } else {
            let _ = writeln!(text, "{right} of {} as locked", count(all, "file"));
        }
        for found in report.files.iter().filter(|found| found.state == State::Ok && found.note.is_some()) {
            let _ = writeln!(text, "  {}", line(found));
        }
        for note in report.notes.iter().filter(|_| report.whole() == Whole::Complete) {
            let _ = writeln!(text, "  {note}");
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
