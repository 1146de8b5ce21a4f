//! `recipec audit nodes`: what many nodes found of one checkpoint, and what each writes for it.

use std::fmt::Write as _;

use ::lock::Lock;
use audit::checkpoint::Report;
use audit::found::Whole;
use audit::nodes::{From, Merged, NodeReport, Part, merge};
use diag::slugs::audit::{
    CHECKPOINT_ARRIVING, CHECKPOINT_DIFFERENT, CHECKPOINT_INCOMPLETE, CHECKPOINT_UNREADABLE, INDEX_WRONG,
    NODES_UNREPORTED,
};
use diag::slugs::cli::OPTION_NOT_READ;
use diag::slugs::host::{CANNOT_READ, CANNOT_WRITE};
use diag::{Diagnostic, Diagnostics, Severity, SourceMap};
use host::files::Root;
use host::{Environment, write_atomic};

use crate::arguments::{AuditCheckpoint, AuditNodes};
use crate::outcome::{Answer, Document, Failure, Outcome, Silence};
use crate::words::count;

const COMMAND: &str = "audit nodes";

/// Ending of a report's name.
const ENDING: &str = ".node.json";

/// The most bytes of one report.
const LIMIT: u64 = 64 << 20;

/// The most notes of one finding.
const SHOWN: usize = 40;

/// Returns the part of the files that this process is to read.
pub(super) fn part(verb: &AuditCheckpoint) -> Result<Option<Part>, Diagnostic> {
    let Some(text) = &verb.part else { return Ok(None) };
    let wrong = |message: String| {
        Diagnostic::error(OPTION_NOT_READ, message)
            .help("write which part of how many, such as `2/8`, or `slurm` in a step")
    };
    if text != "slurm" {
        let part = Part::read(text).ok_or_else(|| wrong(format!("`{}` is no part", text.escape_debug())))?;
        return Ok(Some(part));
    }
    let environment = Environment::of_process();
    let number = |name: &str| environment.get(name).and_then(|text| text.parse::<u32>().ok());
    match (number("SLURM_PROCID"), number("SLURM_NTASKS").or_else(|| number("SLURM_NPROCS"))) {
        (Some(task), Some(of)) if task < of => Ok(Some(Part { number: task + 1, of })),
        _ => Err(wrong("this is no task of a Slurm step".to_owned())
            .why("`SLURM_PROCID` and `SLURM_NTASKS` do not say which one")),
    }
}

/// Writes what this node found, where that is asked for.
pub(super) fn report(
    verb: &AuditCheckpoint,
    part: Option<Part>,
    lock: &Lock,
    report: &Report,
    findings: &Diagnostics,
) -> Result<(), Diagnostic> {
    let Some(folder) = &verb.report else { return Ok(()) };
    let environment = Environment::of_process();
    let mut node = environment.get("SLURMD_NODENAME").map_or_else(host::machine, str::to_owned);
    // Several tasks on one node do not write over one another.
    if let Some(task) = environment.get("SLURM_PROCID") {
        let _ = write!(node, ".{task}");
    }
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '_' };
    let name: String = node.chars().map(plain).take(200).collect();
    let faults = findings
        .iter()
        .filter(|finding| finding.severity == Severity::Error && finding.slug == INDEX_WRONG)
        .map(|finding| finding.slug.as_str().to_owned())
        .collect();
    let job = environment.get("SLURM_JOB_ID").map(str::to_owned);
    let from = From { node, job, lock: lock.seal(), part, fast: verb.fast };
    let text = NodeReport::new(from, report, faults).write();
    let path = folder.join(format!("{}{ENDING}", name.trim_start_matches('.')));
    write_atomic(&path, text.as_bytes()).map(|_| ()).map_err(|error| {
        Diagnostic::error(CANNOT_WRITE, format!("cannot write `{}`", path.display())).why(error.to_string())
    })
}

/// Merges the reports of a folder.
pub(crate) fn run(verb: &AuditNodes) -> Outcome {
    match merged(verb) {
        Ok(merged) => outcome(verb, merged),
        Err(finding) => {
            Outcome::new(COMMAND, Silence).with(Diagnostics::from_iter([finding]), SourceMap::new())
        }
    }
}

fn merged(verb: &AuditNodes) -> Result<Merged, Diagnostic> {
    let shown = verb.reports.display();
    let unreadable = |what: &str, why: String| {
        Diagnostic::error(CANNOT_READ, format!("cannot read `{}`", what.escape_debug())).why(why)
    };
    let root =
        Root::open(&verb.reports).map_err(|error| unreadable(&shown.to_string(), error.to_string()))?;
    let names = root.walk("", ENDING).map_err(|error| unreadable(&shown.to_string(), error.to_string()))?;
    let mut reports = Vec::new();
    for name in names {
        let bytes = root.bytes(&name, LIMIT).map_err(|error| unreadable(&name, error.to_string()))?;
        let text = String::from_utf8_lossy(&bytes);
        reports.push(NodeReport::read(&text).map_err(|why| unreadable(&name, why))?);
    }
    let wanted = verb.expect.unwrap_or(1);
    if reports.len() < wanted {
        let message = format!("{} of {} reported in `{shown}`", reports.len(), count(wanted, "node"));
        let there: Vec<&str> = reports.iter().map(|report| report.node.as_str()).collect();
        let mut finding = Diagnostic::error(NODES_UNREPORTED, message);
        if !there.is_empty() {
            finding = finding.why(format!("there are {}", there.join(", ").escape_debug()));
        }
        return Err(
            finding.help("a node that says nothing has nothing that could be served: look at its log")
        );
    }
    merge(&reports).map_err(|why| {
        Diagnostic::error(NODES_UNREPORTED, format!("the reports in `{shown}` are not of one audit"))
            .why(why)
            .help("let each job write into a folder of its own")
    })
}

fn outcome(verb: &AuditNodes, merged: Merged) -> Outcome {
    let mut outcome = Outcome::new(COMMAND, Silence);
    outcome.explicit = true;
    let verdict = match merged.whole {
        Whole::Complete => None,
        Whole::Different => Some((CHECKPOINT_DIFFERENT, Failure::Outside, "not the locked checkpoint")),
        Whole::Incomplete => {
            Some((CHECKPOINT_INCOMPLETE, Failure::Outside, "not all of the locked checkpoint"))
        }
        Whole::InProgress => Some((CHECKPOINT_ARRIVING, Failure::Unreachable, "still arriving")),
        Whole::Unreadable => Some((CHECKPOINT_UNREADABLE, Failure::Unreachable, "not read")),
    };
    let verdict = match verdict {
        // Every file is as locked, and yet a node found the checkpoint at fault.
        None if !merged.wrong.is_empty() => Some((INDEX_WRONG, Failure::Outside, "at fault itself")),
        verdict => verdict,
    };
    if let Some((slug, failure, what)) = verdict {
        let message =
            format!("by the reports in `{}`, what some nodes have is {what}", verb.reports.display());
        let mut finding = Diagnostic::error(slug, message);
        for line in lines(&merged).into_iter().take(SHOWN) {
            finding = finding.why(line);
        }
        outcome.findings.push(finding);
        outcome.failures.insert(failure);
    }
    outcome.answer = Box::new(Told(merged));
    outcome
}

/// Says what is wrong, one line each, with the nodes that it is wrong on.
fn lines(merged: &Merged) -> Vec<String> {
    let mut all = Vec::new();
    for ((path, state, note), nodes) in &merged.wrong {
        let nodes: Vec<&str> = nodes.iter().map(String::as_str).collect();
        let note = if note.is_empty() { String::new() } else { format!(": {note}") };
        let path = path.escape_debug();
        all.push(format!("{state} `{path}` on {}{note}", nodes.join(", ")));
    }
    for path in &merged.unread {
        all.push(format!("no node has read `{}`", path.escape_debug()));
    }
    all
}

/// What the nodes found together.
struct Told(Merged);

impl Answer for Told {
    fn human(&self) -> String {
        let merged = &self.0;
        let good = merged.nodes.values().filter(|state| *state == Whole::Complete.word()).count();
        let of = count(merged.nodes.len(), "node");
        format!("{}  {good} of {of}, {}\n", merged.whole.word(), count(merged.files, "file"))
    }

    fn document(&self) -> Document {
        Document::Fields(self.0.to_json())
    }
}
