//! `recipec fmt`: lays manifests out.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use diag::slugs::cli::UNFORMATTED;
use diag::slugs::host::{CANNOT_READ, CANNOT_WRITE};
use diag::{Diagnostic, Diagnostics, SourceMap};
use host::files::Root;
use serde_json::json;

use crate::arguments::{Fmt, Options};
use crate::outcome::{Answer, Document, Failure, Outcome};
use crate::workspace::{self, Workspace, unreadable};

/// The most bytes of one manifest.
const LIMIT: u64 = 64 << 20;

/// What was laid out.
#[derive(Default)]
struct Formatted {
    /// Standard input, laid out.
    text: Option<String>,
    /// Files that were, or with `--check` would be, written.
    changed: Vec<String>,
    /// Number of files that are as they should be.
    unchanged: usize,
    check: bool,
}

/// Lays out files, the manifests of the root, or standard input.
pub(crate) fn run(verb: &Fmt, options: &Options) -> Outcome {
    if verb.files.iter().any(|file| file.as_os_str() == "-") {
        return standard_input(verb.check);
    }
    let files = match files(verb, options) {
        Ok(files) => files,
        Err(finding) => return Outcome::refusal("fmt", finding),
    };
    let mut answer = Formatted { check: verb.check, ..Formatted::default() };
    let mut findings = Diagnostics::new();
    let mut sources = SourceMap::new();
    let mut failures = BTreeSet::new();
    for path in &files {
        let name = path.to_string_lossy().into_owned();
        match one(path, &name, verb.check, &mut sources, &mut failures) {
            Ok(false) => answer.unchanged += 1,
            Ok(true) => answer.changed.push(name),
            Err(found) => findings.extend(found),
        }
    }
    if verb.check {
        for name in &answer.changed {
            failures.insert(Failure::Manifest);
            let finding = Diagnostic::error(UNFORMATTED, format!("`{name}` is not laid out"));
            findings.push(finding.help(format!("run `recipec fmt {name}`")));
        }
    }
    let mut outcome = Outcome::new("fmt", answer).with(findings, sources);
    outcome.failures = failures;
    outcome.explicit = true;
    outcome
}

/// Lays out one file and returns whether that changes it.
fn one(
    path: &Path,
    name: &str,
    check: bool,
    sources: &mut SourceMap,
    failures: &mut BTreeSet<Failure>,
) -> Result<bool, Diagnostics> {
    let fail = |finding: Diagnostic| Diagnostics::from_iter([finding]);
    let bytes = workspace::read(path, LIMIT).map_err(|finding| {
        failures.insert(Failure::Unreachable);
        fail(finding)
    })?;
    let text = String::from_utf8(bytes).map_err(|_| {
        failures.insert(Failure::Unreachable);
        fail(Diagnostic::error(CANNOT_READ, format!("cannot read `{name}`")).why("it is not UTF-8 text"))
    })?;
    let formatted = syntax::format(&text).map_err(|found| {
        failures.insert(Failure::Manifest);
        let id = sources.add(name, text.as_str());
        found.into_iter().map(|finding| finding.in_file(id)).collect::<Diagnostics>()
    })?;
    if formatted == text {
        return Ok(false);
    }
    if !check {
        host::write_atomic(path, formatted.as_bytes()).map_err(|error| {
            failures.insert(Failure::Unreachable);
            fail(Diagnostic::error(CANNOT_WRITE, format!("cannot write `{name}`")).why(error.to_string()))
        })?;
    }
    Ok(true)
}

fn standard_input(check: bool) -> Outcome {
    let mut text = String::new();
    if let Err(error) = std::io::stdin().lock().take(LIMIT).read_to_string(&mut text) {
        let finding = Diagnostic::error(CANNOT_READ, "cannot read standard input").why(error.to_string());
        return Outcome::refusal("fmt", finding);
    }
    match syntax::format(&text) {
        Ok(formatted) => {
            let differs = formatted != text;
            let shown = if check { None } else { Some(formatted) };
            let answer = Formatted { text: shown, check, ..Formatted::default() };
            let mut outcome = Outcome::new("fmt", answer);
            if check && differs {
                outcome.findings.push(Diagnostic::error(UNFORMATTED, "standard input is not laid out"));
                outcome.failures.insert(Failure::Manifest);
                outcome.explicit = true;
            }
            outcome
        }
        Err(found) => {
            let mut sources = SourceMap::new();
            let id = sources.add("<stdin>", text.as_str());
            let found = found.into_iter().map(|finding| finding.in_file(id)).collect();
            Outcome::new("fmt", crate::outcome::Silence).with(found, sources)
        }
    }
}

/// Returns the files that are meant: those named, those below folders that are named, else all
/// below `manifests/`.
fn files(verb: &Fmt, options: &Options) -> Result<Vec<PathBuf>, Diagnostic> {
    if verb.files.is_empty() {
        let workspace = Workspace::open(options.root.as_deref(), &[])?;
        let found =
            workspace.root.walk("manifests", ".nix").map_err(|error| unreadable("manifests", &error))?;
        let here = Root::open(Path::new(".")).ok();
        let folder = workspace.root.folder();
        // Paths are shown as they would be typed, where that is shorter.
        let shown = |path: String| match here.as_ref().is_some_and(|here| here.folder() == folder) {
            true => PathBuf::from(path),
            false => folder.join(path),
        };
        return Ok(found.into_iter().map(shown).collect());
    }
    let mut all = Vec::new();
    for file in &verb.files {
        match Root::open(file) {
            Ok(folder) => {
                let found =
                    folder.walk("", ".nix").map_err(|error| unreadable(&file.to_string_lossy(), &error))?;
                all.extend(found.into_iter().map(|path| file.join(path)));
            }
            Err(_) => all.push(file.clone()),
        }
    }
    Ok(all)
}

impl Answer for Formatted {
    fn human(&self) -> String {
        if let Some(text) = &self.text {
            return text.clone();
        }
        let mut text = String::new();
        if !self.check {
            for path in &self.changed {
                let _ = writeln!(text, "wrote {path}");
            }
        }
        text
    }

    fn document(&self) -> Document {
        let fields = json!({ "changed": self.changed, "unchanged": self.unchanged, "text": self.text });
        Document::Fields(fields.as_object().cloned().unwrap_or_default())
    }
}
