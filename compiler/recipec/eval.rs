//! `recipec eval`: the value of a file, as Nix prints it.

use std::io::{Read as _, Write as _};
use std::path::Path;

use diag::slugs::host::CANNOT_READ;
use diag::{Diagnostic, Diagnostics};
use eval::{Limits, Session, Value};

use crate::arguments::{Bounds, Eval, Format, Options};
use crate::outcome::{Answer, Document, Outcome, Silence};
use crate::workspace::{find_root, root_of, unreadable};

/// The most bytes that are read from standard input.
const INPUT_LIMIT: u64 = 64 << 20;

/// The value in the forms that were asked for.
#[derive(Default)]
struct Printed {
    nix: String,
    json: String,
}

impl Answer for Printed {
    fn human(&self) -> String {
        self.nix.clone()
    }

    fn document(&self) -> Document {
        Document::Bare(self.json.clone())
    }
}

/// Evaluates a file, standard input, or an expression.
pub(crate) fn run(verb: &Eval, options: &Options) -> Outcome {
    match source(verb, options) {
        Ok((root, source)) => evaluate(verb, options, &root, &source),
        Err(finding) => Outcome::refusal("eval", finding),
    }
}

/// What is evaluated.
enum Source {
    /// A file below the root.
    File(String),
    /// A text as if it were this file.
    Text(&'static str, String),
}

fn source(verb: &Eval, options: &Options) -> Result<(host::files::Root, Source), Diagnostic> {
    let named = options.root.as_deref();
    let Some(file) = &verb.file else {
        let text = verb.expr.clone().unwrap_or_default();
        return Ok((here(named)?, Source::Text("<expr>", text)));
    };
    if file.as_os_str() == "-" {
        let mut text = String::new();
        let read = std::io::stdin().lock().take(INPUT_LIMIT).read_to_string(&mut text);
        read.map_err(|error| {
            Diagnostic::error(CANNOT_READ, "cannot read standard input").why(error.to_string())
        })?;
        return Ok((here(named)?, Source::Text("<stdin>", text)));
    }
    let (root, path) = root_of(named, file)?;
    root.locate(&path).map_err(|error| unreadable(&file.to_string_lossy(), &error))?;
    Ok((root, Source::File(path)))
}

/// Returns the root that relative paths of a text without a file are below.
fn here(named: Option<&Path>) -> Result<host::files::Root, Diagnostic> {
    match find_root(named, Path::new("."))? {
        Some(root) => Ok(root),
        None => host::files::Root::open(Path::new(".")).map_err(|error| {
            Diagnostic::error(CANNOT_READ, "cannot open the current folder").why(error.to_string())
        }),
    }
}

fn evaluate(verb: &Eval, options: &Options, root: &host::files::Root, source: &Source) -> Outcome {
    let mut session = Session::new(root, limits(&verb.bounds));
    let value = match source {
        Source::File(path) => session.evaluate_file(path),
        Source::Text(name, text) => session.evaluate_text(name, text),
    };
    let printed = value.and_then(|value| print(&mut session, &value, verb, options));
    let mut stderr = std::io::stderr().lock();
    for trace in session.traces() {
        let _ = writeln!(stderr, "trace: {}", diag::render::harmless(trace));
    }
    let sources = session.sources().clone();
    let warnings = session.warnings().iter().cloned();
    match printed {
        Ok(printed) => Outcome::new("eval", printed).with(warnings.collect(), sources),
        Err(findings) => Outcome::new("eval", Silence).with(warnings.chain(findings).collect(), sources),
    }
}

fn print(
    session: &mut Session<'_>,
    value: &Value,
    verb: &Eval,
    options: &Options,
) -> Result<Printed, Diagnostics> {
    let one = |error: eval::Error| Diagnostics::from_iter([error.into_diagnostic()]);
    let selected = match &verb.attribute {
        Some(path) => session.select(value, path).map_err(one)?,
        None => *value,
    };
    let formats = || options.output.iter().map(|output| output.format).chain([options.format]);
    let mut printed = Printed::default();
    if formats().any(|format| matches!(format, Format::Json)) {
        printed.json = session.render_json(&selected).map_err(one)? + "\n";
    }
    // Formats that list findings evaluate all of the value too: that is what they look for.
    if formats().any(|format| !matches!(format, Format::Json)) {
        printed.nix = session.render_nix(&selected).map_err(one)? + "\n";
    }
    Ok(printed)
}

/// Returns the default limits with those that were given in their place.
pub(crate) fn limits(bounds: &Bounds) -> Limits {
    given(bounds, Limits::default())
}

/// Returns the limits for so many manifests in one session. What each adds is several times what one
/// of InferenceX's needs, so that a corpus may grow, and none of its manifests gets much more.
pub(crate) fn limits_of(bounds: &Bounds, manifests: usize) -> Limits {
    let (usual, count) = (Limits::default(), u32::try_from(manifests).unwrap_or(u32::MAX));
    let grown = Limits {
        steps: usual.steps + u64::from(count) * 1_000_000,
        bytes: usual.bytes + u64::from(count) * (4 << 20),
        imports: usual.imports.saturating_add(count),
        ..usual
    };
    given(bounds, grown)
}

fn given(bounds: &Bounds, usual: Limits) -> Limits {
    Limits {
        steps: bounds.limit_steps.unwrap_or(usual.steps),
        depth: bounds.limit_depth.unwrap_or(usual.depth),
        bytes: bounds.limit_bytes.unwrap_or(usual.bytes),
        output: bounds.limit_output.unwrap_or(usual.output),
        imports: bounds.limit_imports.unwrap_or(usual.imports),
    }
}
