//! `recipec lock`: pins everything that recipes name from outside.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use ::lock::pin::{File, Pin};
use ::lock::{Lock, State, WantState};
use diag::slugs::cli::CURVE_NOT_READ;
use diag::slugs::host::CANNOT_WRITE;
use diag::slugs::lock::{LOCK_CONFLICT, LOCK_EDITED, MERGE_CHOICE};
use diag::{Diagnostic, Diagnostics, Span};
use engine::known::Known;
use recipe::want::Want;
use recipe::{Corpus, Recipe, facts};
use serde_json::{Value, json};
use upstream::{Class, Facts};

use crate::arguments::{self, Options};
use crate::corpus::{self, FoundLock, Loaded};
use crate::lock_check;
use crate::merge_driver::short;
use crate::outcome::{Answer, Document, Failure, Outcome};

/// Locks the recipes that are asked for, or checks their locks.
pub(crate) fn run(verb: &arguments::Lock, options: &Options) -> Outcome {
    if verb.check {
        return lock_check::run(verb, options);
    }
    corpus::with("lock", &verb.recipes, options, |loaded| lock(loaded, verb))
}

/// One recipe on its way to a lock.
struct Draft<'c> {
    recipe: &'c Recipe,
    path: String,
    /// The file that is there.
    found: Option<String>,
    /// The lock in it, or what could be saved of it.
    old: Option<Lock>,
    wants: Vec<Want>,
    /// The file must not be written over.
    refused: bool,
}

/// What resolving gave for all wants.
#[derive(Default)]
struct Resolved {
    resolutions: BTreeMap<String, ::lock::Resolution>,
    fetched: Known,
    files: Vec<Vec<File>>,
    failures: BTreeSet<Failure>,
}

fn lock(mut loaded: Loaded<'_, '_>, verb: &arguments::Lock) -> Outcome {
    let corpus = std::mem::take(&mut loaded.corpus);
    let mut answer = Locked { verbose: verb.verbose, ..Locked::default() };
    if loaded.findings.has_errors() {
        return loaded.finish("lock", answer);
    }
    let drafts: Vec<Draft<'_>> =
        corpus.recipes.iter().map(|recipe| draft(&mut loaded, &corpus, recipe)).collect();
    let mut failures: BTreeSet<Failure> = loaded.findings.iter().filter_map(Failure::of_error).collect();
    let resolved = resolve(verb, &drafts, &mut loaded.findings);
    failures.extend(&resolved.failures);
    // All locks are made before the first is written: a manifest that cannot be planned stops here.
    let mut texts: BTreeMap<String, String> = BTreeMap::new();
    for draft in &drafts {
        let (text, states) = write_one(&mut loaded, &corpus, draft, &resolved, verb, &mut failures);
        answer.add(&draft.recipe.key.value, states);
        texts.extend(text.map(|text| (draft.path.clone(), text)));
    }
    for files in &resolved.files {
        let path = ::lock::files::path(&::lock::files::digest(files));
        texts.insert(path, ::lock::files::write(files));
    }
    if !failures.contains(&Failure::Manifest) {
        write_all(&loaded, texts, &mut answer.written, &mut failures)
            .map_err(|finding| loaded.findings.push(finding))
            .ok();
    }
    let mut outcome = loaded.finish("lock", answer);
    outcome.failures = failures;
    outcome.explicit = true;
    outcome
}

fn draft<'c>(loaded: &mut Loaded<'_, '_>, corpus: &Corpus, recipe: &'c Recipe) -> Draft<'c> {
    let mut draft = Draft {
        recipe,
        path: corpus::lock_path(recipe),
        found: None,
        old: None,
        wants: recipe.wants(&platforms(corpus, recipe)),
        refused: false,
    };
    match loaded.lock(recipe) {
        Ok(None) => {}
        Ok(Some(found)) => take_found(&mut draft, found, &mut loaded.findings),
        Err(finding) => {
            draft.refused = true;
            loaded.findings.push(finding);
        }
    }
    draft
}

/// Takes what can be saved of a lock that is there: one that was edited by hand is made anew from
/// its pins, and so is one with conflict markers. One that cannot be read stays as it is.
fn take_found(draft: &mut Draft<'_>, found: FoundLock, findings: &mut Diagnostics) {
    draft.old = found.lock;
    for mut finding in found.findings {
        if finding.slug == LOCK_CONFLICT
            && let Ok(merged) = ::lock::repair(&found.path, &found.text)
        {
            draft.old = Some(merged.lock);
            finding.severity = diag::Severity::Note;
            finding.help = vec!["it is written anew from the pins of both sides".to_owned()];
            findings.extend(merged.conflicts.into_iter().map(|conflict| choice(&found.path, &conflict)));
        } else if finding.slug == LOCK_EDITED {
            finding.severity = diag::Severity::Warning;
            finding.help.push("it is written anew; its pins are kept".to_owned());
        } else {
            draft.refused |= finding.severity == diag::Severity::Error;
        }
        findings.push(finding);
    }
    draft.found = Some(found.text);
}

/// Says that both sides of a merge pinned a want, and differently.
fn choice(path: &str, conflict: &::lock::Conflict) -> Diagnostic {
    Diagnostic::warning(MERGE_CHOICE, format!("both sides of `{path}` changed `{}`", conflict.path))
        .why(format!("kept: {}", short(&conflict.ours)))
        .why(format!("left: {}", short(&conflict.theirs)))
        .help(format!("ask again with `recipec lock --update {}`", conflict.path))
}

/// Returns the platforms of a recipe's targets, sorted.
pub(crate) fn platforms(corpus: &Corpus, recipe: &Recipe) -> Vec<String> {
    let targets = corpus.targets_of(recipe).into_iter();
    let all: BTreeSet<String> = targets.map(|target| target.hardware.platform.value.clone()).collect();
    all.into_iter().collect()
}

/// Asks for every want that has no pin or that `--update` names.
fn resolve(verb: &arguments::Lock, drafts: &[Draft<'_>], findings: &mut Diagnostics) -> Resolved {
    let mut wants: BTreeMap<Want, Option<Span>> = BTreeMap::new();
    for draft in drafts.iter().filter(|draft| !draft.refused) {
        let key = &draft.recipe.key.value;
        for want in ::lock::unresolved(draft.old.as_ref(), key, &draft.wants, &verb.update) {
            let at = place(draft.recipe, &want);
            wants.entry(want).or_insert(at);
        }
    }
    let mut resolved = Resolved::default();
    if wants.is_empty() {
        return resolved;
    }
    let options = host::Options {
        environment: host::Environment::of_process(),
        offline: verb.offline,
        mirror: verb.mirror.clone(),
        show: host::Show::Stderr,
        ..host::Options::default()
    };
    let list: Vec<Want> = wants.keys().cloned().collect();
    for resolution in host::resolve(&list, &options) {
        let name = resolution.want.name();
        let outcome = match resolution.outcome {
            Ok(found) => {
                findings.extend(found.remarks);
                add_facts(&mut resolved.fetched, &resolution.want, found.facts);
                add_curve(&mut resolved.fetched, &resolution.want, found.content.as_deref(), findings);
                if !found.files.is_empty() {
                    resolved.files.push(found.files);
                }
                ::lock::Resolution::Pinned(found.pin)
            }
            Err(refusal) => {
                resolved.failures.insert(failure(refusal.class));
                let mut finding = *refusal.diagnostic;
                finding.span = finding.span.or(wants.get(&resolution.want).copied().flatten());
                let reason = finding.message.clone();
                findings.push(finding);
                ::lock::Resolution::Failed(outcome(refusal.class), reason)
            }
        };
        resolved.resolutions.insert(name, outcome);
    }
    resolved
}

/// Returns where a manifest names a want.
fn place(recipe: &Recipe, want: &Want) -> Option<Span> {
    match want {
        Want::Image { .. } => recipe.image.at,
        Want::Checkpoint { repository, .. } if *repository == recipe.model.repository.value => {
            recipe.model.repository.at
        }
        Want::Dataset { repository, .. } => {
            let named = recipe.datasets.iter().find(|dataset| dataset.repository.value == *repository);
            named.and_then(|dataset| dataset.repository.at)
        }
        Want::Source { repository, path, .. } => {
            let mut sources = recipe.cookbook.iter().chain(&recipe.harness);
            let named = sources.find(|source| source.repository.value == *repository && source.path == *path);
            named.and_then(|source| source.repository.at)
        }
        Want::Checkpoint { .. } => recipe.speculative.always()?.draft.as_ref()?.checkpoint.repository.at,
    }
}

fn add_facts(known: &mut Known, want: &Want, facts: Facts) {
    match (want, facts) {
        (Want::Checkpoint { repository, .. }, Facts::Checkpoint(facts)) => {
            known.checkpoints.insert(repository.clone(), *facts);
        }
        (Want::Image { reference, .. }, Facts::Image(facts)) => {
            known.images.insert(reference.clone(), facts);
        }
        _ => {}
    }
}

/// Reads a golden curve from the content that its pin names.
fn add_curve(known: &mut Known, want: &Want, content: Option<&[u8]>, findings: &mut Diagnostics) {
    let (Want::Source { purpose, path, .. }, Some(content)) = (want, content) else { return };
    if purpose != "curve" {
        return;
    }
    match engine::curves::read_yaml(&String::from_utf8_lossy(content)) {
        Ok(read) => {
            let name = path.rsplit('/').next().unwrap_or(path).to_owned();
            known.curves.insert(name, read.curve);
        }
        Err((line, why)) => {
            let message = format!("`{path}` is no curve that can be read");
            findings.push(Diagnostic::warning(CURVE_NOT_READ, message).why(format!("line {line}: {why}")));
        }
    }
}

fn failure(class: Class) -> Failure {
    match class {
        Class::Manifest => Failure::Manifest,
        Class::Stale => Failure::Stale,
        Class::Outside => Failure::Outside,
        Class::Unreachable => Failure::Unreachable,
    }
}

fn outcome(class: Class) -> ::lock::Outcome {
    match class {
        Class::Manifest | Class::Outside => ::lock::Outcome::Refused,
        Class::Stale => ::lock::Outcome::NotAsked,
        Class::Unreachable => ::lock::Outcome::Unreachable,
    }
}

/// Returns the text to write for a recipe, if there is something to write, and its wants.
fn write_one(
    loaded: &mut Loaded<'_, '_>,
    corpus: &Corpus,
    draft: &Draft<'_>,
    resolved: &Resolved,
    verb: &arguments::Lock,
    failures: &mut BTreeSet<Failure>,
) -> (Option<String>, Vec<WantState>) {
    if draft.refused {
        return (None, Vec::new());
    }
    let old = draft.old.as_ref();
    let key = &draft.recipe.key.value;
    let refreshed = ::lock::refresh(old, key, &draft.wants, &resolved.resolutions, &verb.update);
    let (known, findings) = ::lock::facts::settle(
        &facts::stated(draft.recipe),
        &kept(old, &refreshed.states),
        &wanted(&resolved.fetched, &draft.wants),
    );
    failures
        .extend(findings.iter().filter_map(|finding| Failure::of_error(finding).map(|_| Failure::Manifest)));
    loaded.findings.extend(findings);
    let (plans, findings) = recipe::plans(&mut loaded.session, corpus, draft.recipe, &known);
    failures.extend(findings.iter().filter_map(Failure::of_error));
    loaded.findings.extend(findings);
    let unpinned = |state: &WantState| state.new.is_none() && state.state == State::Failed;
    if refreshed.states.iter().any(unpinned) && (verb.require_pins || verb.offline) {
        failures.insert(Failure::Stale);
    }
    // A lock that is there is never made worse: what failed leaves it as it was.
    let was_unpinned = |state: &WantState| {
        old.is_some_and(|lock| lock.unpinned().any(|(name, _)| name == state.want.name()))
    };
    let worse = |state: &&WantState| state.state == State::Failed && !was_unpinned(state);
    let failed = refreshed.states.iter().any(|state| worse(&state));
    if draft.found.is_some() && failed && !verb.allow_unpinned {
        return (None, refreshed.states);
    }
    let lock = ::lock::build(key, &plans, refreshed.pins, known);
    (lock.write_over(&draft.path, draft.found.as_deref()), refreshed.states)
}

/// Returns what an old lock knows of what is still wanted under the same pin.
fn kept(old: Option<&Lock>, states: &[WantState]) -> Known {
    let Some(old) = old else { return Known::default() };
    let wants: Vec<Want> = states
        .iter()
        .filter(|state| state.new.is_some() && state.old == state.new)
        .map(|state| state.want.clone())
        .collect();
    wanted(&old.known, &wants)
}

/// Returns the facts of what these wants name.
pub(crate) fn wanted(known: &Known, wants: &[Want]) -> Known {
    let mut some = Known::default();
    for want in wants {
        match want {
            Want::Checkpoint { repository, .. } => {
                some.checkpoints
                    .extend(known.checkpoints.get_key_value(repository).map(|(k, v)| (k.clone(), v.clone())));
            }
            Want::Image { reference, .. } => {
                some.images
                    .extend(known.images.get_key_value(reference).map(|(k, v)| (k.clone(), v.clone())));
            }
            Want::Source { purpose, path, .. } if purpose == "curve" => {
                let name = path.rsplit('/').next().unwrap_or(path);
                some.curves.extend(known.curves.get_key_value(name).map(|(k, v)| (k.clone(), v.clone())));
            }
            Want::Dataset { .. } | Want::Source { .. } => {}
        }
    }
    some
}

/// Writes the files, lists of checkpoints before the locks that name them.
fn write_all(
    loaded: &Loaded<'_, '_>,
    texts: BTreeMap<String, String>,
    written: &mut Vec<String>,
    failures: &mut BTreeSet<Failure>,
) -> Result<(), Diagnostic> {
    let (lists, locks): (Vec<_>, Vec<_>) =
        texts.into_iter().partition(|(path, _)| path.starts_with("lockfiles/files/"));
    for (path, text) in lists.into_iter().chain(locks) {
        match host::write_atomic(&loaded.workspace.root.folder().join(&path), text.as_bytes()) {
            Ok(host::Written::New) => written.push(path),
            Ok(host::Written::Unchanged) => {}
            Err(error) => {
                failures.insert(Failure::Unreachable);
                let finding = Diagnostic::error(CANNOT_WRITE, format!("cannot write `{path}`"));
                return Err(finding.why(error.to_string()));
            }
        }
    }
    Ok(())
}

/// What became of every want, and what was written.
#[derive(Default)]
struct Locked {
    wants: BTreeMap<String, (WantState, Vec<String>)>,
    written: Vec<String>,
    verbose: bool,
}

impl Locked {
    fn add(&mut self, recipe: &str, states: Vec<WantState>) {
        for state in states {
            let name = state.want.name();
            let entry = self.wants.entry(name).or_insert_with(|| (state.clone(), Vec::new()));
            entry.1.push(recipe.to_owned());
            // What one recipe had already another may have got only now.
            if entry.0.state == State::Kept && state.state != State::Kept {
                entry.0 = state;
            }
        }
    }
}

/// Returns what identifies a pin: a digest or a commit.
pub(crate) fn identity(pin: &Pin) -> String {
    match pin {
        Pin::Image(image) => image.digest.to_string(),
        Pin::Checkpoint(snapshot) | Pin::Dataset(snapshot) => snapshot.commit.clone(),
        Pin::Source(source) => source.commit.clone(),
    }
}

fn kind(want: &Want) -> &str {
    match want {
        Want::Image { .. } => "image",
        Want::Checkpoint { .. } => "checkpoint",
        Want::Dataset { .. } => "dataset",
        Want::Source { .. } => "source",
    }
}

fn word(state: State) -> &'static str {
    match state {
        State::Kept => "kept",
        State::New => "new",
        State::Moved => "moved",
        State::Failed => "failed",
    }
}

impl Answer for Locked {
    fn human(&self) -> String {
        let mut text = String::new();
        let mut kept = 0;
        for (name, (state, _)) in &self.wants {
            if state.state == State::Kept && !self.verbose {
                kept += 1;
                continue;
            }
            let ids: Vec<String> = [&state.old, &state.new].into_iter().flatten().map(identity).collect();
            let ids = match (state.state, ids.as_slice()) {
                (State::Moved, [old, new]) => format!("{old} -> {new}"),
                (State::Failed, _) => "no new pin".to_owned(),
                (_, ids) => ids.last().cloned().unwrap_or_default(),
            };
            let _ = writeln!(text, "{:7} {name}  {ids}", word(state.state));
        }
        if kept > 0 {
            let _ = writeln!(text, "kept    {}", crate::words::count(kept, "want"));
        }
        for path in &self.written {
            let _ = writeln!(text, "wrote   {path}");
        }
        if self.written.is_empty() {
            text.push_str("nothing written\n");
        }
        text
    }

    fn document(&self) -> Document {
        let id = |pin: &Option<Pin>| pin.as_ref().map(identity);
        let wants: Vec<Value> = self
            .wants
            .iter()
            .map(|(name, (state, recipes))| {
                json!({
                    "name": name,
                    "kind": kind(&state.want),
                    "state": word(state.state),
                    "old": id(&state.old),
                    "new": id(&state.new),
                    "pin": state.new,
                    "reason": state.failure.as_ref().map(|(_, reason)| reason),
                    "recipes": recipes,
                })
            })
            .collect();
        let fields = json!({ "wants": wants, "written": self.written });
        Document::Fields(fields.as_object().cloned().unwrap_or_default())
    }
}
