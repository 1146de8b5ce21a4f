//! What reaches the screen: the answer on standard output, findings on standard error.

use std::io::{IsTerminal as _, Write as _};
use std::process::ExitCode;

use diag::Diagnostic;
use diag::render::{self, Look, Tool};
use diag::slugs::host::CANNOT_WRITE;
use serde_json::{Map, Value};

use crate::arguments::{Color, Deny, Format, Options};
use crate::outcome::{Document, Failure, Outcome};

const TOOL: Tool<'static> =
    Tool { name: "recipec", version: env!("CARGO_PKG_VERSION"), home: env!("CARGO_PKG_REPOSITORY") };

/// Prints the outcome, writes the files that `--output` names, and returns the exit code.
pub(crate) fn show(mut outcome: Outcome, options: &Options) -> ExitCode {
    outcome.findings.sort();
    let deny = options.deny == Some(Deny::Warnings);
    for output in &options.output {
        let text = text(&outcome, output.format, outcome.exit(deny));
        if let Err(error) = host::write_atomic(&output.file, text.as_bytes()) {
            let message = format!("cannot write `{}`", output.file.display());
            outcome.findings.push(Diagnostic::error(CANNOT_WRITE, message).why(error.to_string()));
            outcome.failures.insert(Failure::Unreachable);
        }
    }
    let exit = outcome.exit(deny);
    let answer = text(&outcome, options.format, exit);
    // Formats that are lists of findings have them on standard output already.
    if matches!(options.format, Format::Human | Format::Json | Format::Nix | Format::Jsonl) {
        report(&outcome, !answer.is_empty(), options.color);
    }
    // Whoever closes the pipe early has read enough.
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(answer.as_bytes()).and_then(|()| out.flush());
    ExitCode::from(exit)
}

/// Returns the answer in a format.
fn text(outcome: &Outcome, format: Format, exit: u8) -> String {
    let (findings, sources) = (&outcome.findings, &outcome.sources);
    match format {
        Format::Human | Format::Nix | Format::Jsonl => outcome.answer.human(),
        Format::Json => match outcome.answer.document() {
            Document::Bare(text) => text,
            Document::Fields(fields) => pretty(&envelope(outcome, fields, exit)),
        },
        Format::Sarif => pretty(&render::sarif(findings.iter(), sources, TOOL)),
        Format::Github => render::github(findings.iter(), sources),
        Format::Markdown => {
            let answer = outcome.answer.markdown().unwrap_or_default();
            answer + &render::markdown(findings.iter(), sources)
        }
        Format::Brief => render::brief(findings.iter(), sources),
    }
}

/// Puts fields into the envelope that every document shares.
fn envelope(outcome: &Outcome, fields: Map<String, Value>, exit: u8) -> Value {
    let mut all = Map::new();
    all.insert("version".to_owned(), Value::from(1));
    all.insert("command".to_owned(), Value::from(outcome.command));
    all.insert("exit".to_owned(), Value::from(exit));
    all.insert("diagnostics".to_owned(), render::json(outcome.findings.iter(), &outcome.sources));
    all.extend(fields);
    Value::Object(all)
}

fn pretty(value: &Value) -> String {
    // A value made of maps with text keys always has a text.
    let mut text = serde_json::to_string_pretty(value).unwrap_or_default();
    text.push('\n');
    text
}

/// Prints findings for people on standard error, apart from an answer that follows.
fn report(outcome: &Outcome, apart: bool, color: Color) {
    if outcome.findings.is_empty() {
        return;
    }
    let look = Look { color: colored(color), width: 140 };
    let mut text = render::human(outcome.findings.iter(), &outcome.sources, look);
    if apart {
        text.push('\n');
    }
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}

/// Returns whether standard error takes colour.
#[expect(clippy::disallowed_methods, reason = "whether to colour is the terminal's matter, and no result's")]
fn colored(color: Color) -> bool {
    let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let forced = |name| set(name) && std::env::var_os(name).is_none_or(|value| value != "0");
    match color {
        Color::Always => true,
        Color::Never => false,
        Color::Auto if set("NO_COLOR") => false,
        Color::Auto if forced("FORCE_COLOR") || forced("CLICOLOR_FORCE") => true,
        Color::Auto => {
            std::io::stderr().is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
        }
    }
}

/// Says in one paragraph that recipec itself is at fault.
pub(crate) fn report_panic(info: &std::panic::PanicHookInfo<'_>) {
    let place =
        info.location().map_or_else(String::new, |place| format!(" ({}:{})", place.file(), place.line()));
    let what = info
        .payload()
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| info.payload().downcast_ref::<String>().cloned())
        .unwrap_or_default();
    let _ = writeln!(
        std::io::stderr().lock(),
        "internal error: {what}{place}\n\
         This is a fault of recipec {}, not of your manifest. Nothing was written after it.\n\
         Please report it with the command and the file at {}/issues",
        TOOL.version,
        TOOL.home,
    );
}
