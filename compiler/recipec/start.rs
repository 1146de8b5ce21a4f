//! How a new manifest comes to be: its place, its text, and what is left to fill in.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use diag::Diagnostic;
use diag::slugs::cli::{NO_SUCH_RECIPE, OPTION_NOT_READ};
use diag::slugs::host::CANNOT_WRITE;
use recipe::Recipe;
use recipe::draft::{self, Change, Draft};
use serde_json::json;

use crate::arguments::{Bounds, Options, Recipes};
use crate::corpus::{self, Loaded};
use crate::outcome::{Answer, Document, Outcome};
use crate::workspace;

/// Standard output in place of a file.
const SCREEN: &str = "-";

/// What a manifest is started with.
pub(crate) struct Start<'s> {
    pub(crate) command: &'static str,
    pub(crate) draft: Draft,
    /// The sibling that was asked for.
    pub(crate) from: Option<&'s str>,
    /// Changes on top of the draft.
    pub(crate) changes: BTreeMap<String, Change>,
    /// Where it goes.
    pub(crate) to: Option<&'s Path>,
    /// What the first line says of where it comes from.
    pub(crate) origin: Option<String>,
}

/// A manifest that was started.
struct Started {
    path: Option<String>,
    text: String,
    sibling: Option<String>,
    /// What is the sibling's and may not fit.
    taken: Vec<&'static str>,
    left: usize,
}

/// Writes the manifest and checks it; what is found is what is left to fill in.
pub(crate) fn run(mut loaded: Loaded<'_, '_>, start: Start<'_>, options: &Options) -> Outcome {
    let command = start.command;
    let made = match make(&loaded, start) {
        Ok(made) => made,
        Err(finding) => {
            loaded.findings.push(finding);
            return loaded.finish(command, crate::outcome::Silence);
        }
    };
    let Some(path) = made.path.clone() else { return loaded.finish(command, made) };
    let file = loaded.workspace.root.folder().join(&path);
    if let Err(error) = host::write_atomic(&file, made.text.as_bytes()) {
        let finding = Diagnostic::error(CANNOT_WRITE, format!("cannot write `{path}`"));
        loaded.findings.push(finding.why(error.to_string()));
        return loaded.finish(command, crate::outcome::Silence);
    }
    // What was found before is of no file of this root.
    let before = std::mem::take(&mut loaded.findings);
    // What is checked is the file as it is there now, under its key.
    let bounds = Bounds {
        limit_steps: None,
        limit_depth: None,
        limit_bytes: None,
        limit_output: None,
        limit_imports: None,
    };
    let root = Some(loaded.workspace.root.folder().to_owned());
    let options = Options { root, output: Vec::new(), ..*options };
    let recipes = Recipes { operands: vec![file.to_string_lossy().into_owned()], bounds };
    corpus::with(command, &recipes, &options, |mut written| {
        let known = written.known().0;
        let checked = recipe::check(&mut written.session, &written.corpus, &known);
        written.findings.extend(checked.diagnostics);
        written.findings.extend(before.into_iter().filter(|finding| finding.span.is_none()));
        let left = written.findings.iter().count();
        written.finish(command, Started { left, ..made })
    })
}

fn make(loaded: &Loaded<'_, '_>, start: Start<'_>) -> Result<Started, Diagnostic> {
    let recipes = &loaded.corpus.recipes;
    let key = &start.draft.key;
    if let Some(there) = recipes.iter().find(|recipe| recipe.key.value == *key)
        && start.to.is_none_or(|to| to != Path::new(SCREEN))
    {
        return Err(Diagnostic::error(OPTION_NOT_READ, format!("`{key}` is a recipe already"))
            .why(format!("it is in `{}`", there.manifest))
            .help("`--to -` shows what would be written"));
    }
    let sibling = match start.from {
        Some(from) => Some(
            recipes
                .iter()
                .find(|recipe| recipe.key.value == from)
                .ok_or_else(|| no_sibling(from, recipes))?,
        ),
        None => draft::nearest(&start.draft, recipes),
    };
    let path = match start.to {
        Some(to) if to == Path::new(SCREEN) => None,
        Some(to) => Some(to.to_string_lossy().into_owned()),
        None => Some(place(&start.draft, sibling)?),
    };
    if let Some(path) = path.as_deref().filter(|path| loaded.workspace.root.locate(path).is_ok()) {
        return Err(Diagnostic::error(OPTION_NOT_READ, format!("there is a file `{path}` already"))
            .help("name another with `--to FILE`"));
    }
    let mut changes = draft::changes(&start.draft, sibling);
    let from = match &path {
        Some(path) => path.clone(),
        None => place(&start.draft, sibling).unwrap_or_else(|_| "manifests/new.nix".to_owned()),
    };
    // What is known of a checkpoint is written once.
    if let Some(Change::Value(model)) = changes.get_mut("model")
        && let Some(other) = recipes.iter().find(|other| same_model(&start.draft, other))
    {
        let path = relative(&from, &other.manifest);
        *model = format!("(import {path}).{}.model", draft::string(&other.key.value));
    }
    for (name, change) in start.changes {
        merge(&mut changes, name, change);
    }
    let import = sibling.map(|one| (one.key.value.as_str(), relative(&from, &one.manifest)));
    let about: Vec<String> = start.origin.into_iter().collect();
    let named = import.as_ref().map(|(key, path)| (*key, path.as_str()));
    let text = draft::text(key, &about, named, &changes);
    let text = syntax::format(&text).unwrap_or(text);
    let taken = sibling.map(|one| taken(one, &changes)).unwrap_or_default();
    Ok(Started { path, text, sibling: sibling.map(|one| one.key.value.clone()), taken, left: 0 })
}

fn no_sibling(from: &str, recipes: &[Recipe]) -> Diagnostic {
    let finding = Diagnostic::error(NO_SUCH_RECIPE, format!("`{from}` is no recipe here"));
    match diag::nearest(from, recipes.iter().map(|recipe| recipe.key.value.as_str())) {
        Some(near) => finding.help(format!("there is `{near}`")),
        None => finding.help("`recipec matrix` lists all"),
    }
}

fn same_model(draft: &Draft, recipe: &Recipe) -> bool {
    let model = &recipe.model;
    let ours = [&draft.repository, &draft.prefix, &draft.precision];
    let theirs = [&model.repository.value, &model.prefix.value, &model.precision.value];
    recipe.key.value != draft.key
        && ours.iter().zip(theirs).all(|(ours, theirs)| ours.as_ref() == Some(theirs))
}

/// Lays a change over those that are there.
fn merge(changes: &mut BTreeMap<String, Change>, name: String, change: Change) {
    match (changes.get_mut(&name), change) {
        (Some(Change::Fields(fields)), Change::Fields(more)) => {
            for (name, change) in more {
                merge(fields, name, change);
            }
        }
        (_, change) => {
            changes.insert(name, change);
        }
    }
}

/// Returns where the manifest of a draft goes: beside its sibling if both are of one family, else in
/// the family's folder.
fn place(draft: &Draft, sibling: Option<&Recipe>) -> Result<String, Diagnostic> {
    let safe = |text: &str| {
        !text.is_empty()
            && !text.starts_with('.')
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_'))
    };
    let key = &draft.key;
    if !safe(key) {
        return Err(Diagnostic::error(OPTION_NOT_READ, format!("`{key}` is no name of a file"))
            .help("name the file with `--to FILE`"));
    }
    let ours = draft.prefix.as_deref();
    let beside = sibling.filter(|one| ours.is_none_or(|prefix| prefix == one.model.prefix.value));
    let folder = match (beside.and_then(|one| one.manifest.rsplit_once('/')), ours) {
        (Some((folder, _)), _) => folder.to_owned(),
        (None, Some(prefix)) if safe(prefix) => format!("manifests/{prefix}"),
        _ => "manifests".to_owned(),
    };
    Ok(format!("{folder}/{key}.nix"))
}

/// Returns a path relative to the folder of a file, as the language writes it.
fn relative(from: &str, to: &str) -> String {
    let parts = |path: &str| -> Vec<String> { path.split('/').map(str::to_owned).collect() };
    let (from, to) = (parts(from), parts(to));
    let folders = from.len().saturating_sub(1);
    let shared = from
        .iter()
        .zip(&to)
        .take(folders.min(to.len().saturating_sub(1)))
        .take_while(|(a, b)| a == b)
        .count();
    let up = folders - shared;
    let rest = to.get(shared..).unwrap_or_default().join("/");
    if up == 0 { format!("./{rest}") } else { format!("{}{rest}", "../".repeat(up)) }
}

/// Returns what is the sibling's and speaks of how things are done: what the draft cannot know.
fn taken(sibling: &Recipe, changes: &BTreeMap<String, Change>) -> Vec<&'static str> {
    let drafts = !matches!(sibling.speculative, recipe::recipe::Speculation::None);
    [
        ("serve", true),
        ("client", true),
        ("eval", sibling.eval.is_some()),
        ("quantization", sibling.quantization.is_some()),
        ("speculative", drafts),
        ("datasets", !sibling.datasets.is_empty()),
        ("cookbook", !sibling.cookbook.is_empty()),
        ("engineVersion", sibling.engine_version.is_some()),
    ]
    .into_iter()
    .filter(|(name, there)| *there && !changes.contains_key(*name))
    .map(|(name, _)| name)
    .collect()
}

/// Opens the root without asking for any recipe, and hands everything that is there to `work`.
pub(crate) fn with(
    command: &'static str,
    bounds: &Bounds,
    options: &Options,
    work: impl FnOnce(Loaded<'_, '_>) -> Outcome,
) -> Outcome {
    let recipes = Recipes { operands: Vec::new(), bounds: bounds.clone() };
    corpus::with(command, &recipes, options, work)
}

/// Reads a file of another project.
pub(crate) fn read(path: &Path) -> Result<String, Diagnostic> {
    const LIMIT: u64 = 64 << 20;
    let bytes = workspace::read(path, LIMIT)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

impl Answer for Started {
    fn human(&self) -> String {
        let Some(path) = &self.path else { return self.text.clone() };
        let mut text = format!("wrote {path}\n");
        if let Some(sibling) = &self.sibling {
            let _ = writeln!(text, "from `{sibling}`: {}", self.taken.join(", "));
        }
        let left = match self.left {
            0 => "nothing is left to fill in".to_owned(),
            count => format!("{} to look at", crate::words::count(count, "finding")),
        };
        let _ = writeln!(text, "{left}");
        text
    }

    fn document(&self) -> Document {
        let fields = json!({
            "path": self.path,
            "text": self.text,
            "sibling": self.sibling,
            "taken": self.taken,
        });
        Document::Fields(fields.as_object().cloned().unwrap_or_default())
    }
}
