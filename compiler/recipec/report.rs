//! `recipec report`: the corpus, its pins, and what is known of it, on one page.

mod curve;
mod facts;
mod html;
mod page;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use diag::Diagnostic;
use diag::slugs::cli::OPTION_NOT_READ;
use diag::slugs::host::CANNOT_WRITE;
use serde_json::{Map, Value, json};

use crate::arguments::{Options, Report, Verify};
use crate::corpus::{self, LOCK_LIMIT};
use crate::outcome::{Answer, Document, Failure, Outcome, Silence};
use crate::words::count;
use facts::{Facts, Given};

/// Gathers what there is to say, and writes the page.
pub(crate) fn run(verb: &Report, options: &Options) -> Outcome {
    let given = match given(verb, options) {
        Ok(given) => given,
        Err(finding) => return Outcome::refusal("report", finding),
    };
    corpus::with("report", &verb.recipes, options, |mut loaded| {
        let facts = facts::gather(&mut loaded, given, &verb.since);
        let failures: BTreeSet<Failure> = loaded.findings.iter().filter_map(Failure::of_error).collect();
        let written = match &verb.html {
            None => Written::Text,
            Some(None) => Written::Screen,
            Some(Some(path)) => {
                let page = page::write(&facts);
                if let Err(error) = host::write_atomic(path, page.as_bytes()) {
                    let message = format!("cannot write `{}`", path.display());
                    loaded.findings.push(Diagnostic::error(CANNOT_WRITE, message).why(error.to_string()));
                    return loaded.finish("report", Silence);
                }
                Written::File(path.display().to_string())
            }
        };
        // What a report tells is no failure of the report; what kept it from being told is.
        let mut outcome = loaded.finish("report", Reported { facts, written });
        outcome.explicit = true;
        outcome.failures = failures;
        outcome
    })
}

/// Reads the documents that other verbs wrote, and asks the mirror if there is one.
fn given(verb: &Report, options: &Options) -> Result<Given, Diagnostic> {
    let mut given = Given::default();
    for path in &verb.with {
        take(&mut given, path)?;
    }
    if let Some(mirror) = &verb.mirror {
        let verify =
            Verify { recipes: verb.recipes.clone(), mirror: Some(mirror.clone()), ..Verify::default() };
        let quiet = Options { root: options.root.clone(), output: Vec::new(), ..*options };
        if let Document::Fields(fields) = crate::verify::run(&verify, &quiet).answer.document() {
            given.verdicts.extend(list(&fields, "verdicts"));
        }
    }
    Ok(given)
}

fn list(fields: &Map<String, Value>, name: &str) -> Vec<Value> {
    fields.get(name).and_then(Value::as_array).cloned().unwrap_or_default()
}

fn take(given: &mut Given, path: &Path) -> Result<(), Diagnostic> {
    let bytes = crate::workspace::read(path, LOCK_LIMIT)?;
    let value: Option<Value> = serde_json::from_slice(&bytes).ok();
    let fields = value.as_ref().and_then(Value::as_object);
    let command = fields.and_then(|fields| fields.get("command")).and_then(Value::as_str);
    match (command, fields) {
        (Some("verify"), Some(fields)) => given.verdicts.extend(list(fields, "verdicts")),
        (Some("audit run" | "audit results"), Some(fields)) => given.runs.extend(list(fields, "results")),
        _ => {
            let message = format!("`{}` is nothing that a report takes", path.display());
            return Err(Diagnostic::error(OPTION_NOT_READ, message)
                .help("it takes what `verify`, `audit run` and `audit results` write with `--format json`"));
        }
    }
    Ok(())
}

/// Where the page went.
enum Written {
    /// There is none; a summary is shown.
    Text,
    /// Standard output.
    Screen,
    File(String),
}

struct Reported {
    facts: Facts,
    written: Written,
}

impl Answer for Reported {
    fn human(&self) -> String {
        let summary = self.facts.summary();
        match &self.written {
            Written::Screen => page::write(&self.facts),
            Written::File(path) => format!("wrote {path}: {summary}\n"),
            Written::Text => {
                let mut text = format!("{summary}\n");
                for row in &self.facts.recipes {
                    let _ = writeln!(text, "  {}", row.line());
                }
                text
            }
        }
    }

    fn document(&self) -> Document {
        let facts = &self.facts;
        let recipes: Vec<Value> = facts.recipes.iter().map(facts::Row::to_json).collect();
        let fields = json!({
            "recipes": recipes,
            "points": facts.points,
            "plans": facts.plans,
            "findings": facts.findings.len(),
            "pinned": facts.pinned,
            "wanted": facts.wanted,
        });
        Document::Fields(fields.as_object().cloned().unwrap_or_default())
    }

    fn markdown(&self) -> Option<String> {
        let facts = &self.facts;
        let mut text = format!("**{}**\n\n", facts.summary());
        text.push_str(
            "| recipe | checkpoint | points | pins | cookbook | runs |\n|---|---|--:|--:|---|---|\n",
        );
        for row in &facts.recipes {
            let cell = |text: &str| text.replace('|', "\\|").replace('<', "&lt;");
            let _ = writeln!(
                text,
                "| {} | {} | {} | {}/{} | {} | {} |",
                cell(&row.key),
                cell(&row.checkpoint),
                row.points,
                row.pinned,
                row.wanted,
                cell(row.cookbook.as_deref().unwrap_or("")),
                cell(&row.runs_text()),
            );
        }
        text.push_str(&format!("\n{} to look at\n", count(facts.findings.len(), "finding")));
        Some(text)
    }
}
