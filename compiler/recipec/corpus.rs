//! The recipes that a command works on, with the locks that are there.

use std::collections::{BTreeMap, BTreeSet};

use ::lock::Lock;
use diag::slugs::cli::NO_SUCH_RECIPE;
use diag::{Diagnostic, Diagnostics, SourceMap, nearest};
use engine::known::Known;
use eval::Session;
use recipe::{Corpus, Recipe};

use crate::arguments::{Options, Recipes};
use crate::eval::limits_of;
use crate::outcome::{Outcome, Silence};
use crate::workspace::{Workspace, unreadable};

/// The most bytes of one lock.
pub(crate) const LOCK_LIMIT: u64 = 64 << 20;

/// What a verb on recipes works with.
pub(crate) struct Loaded<'w, 'f> {
    pub(crate) workspace: &'w Workspace,
    pub(crate) session: Session<'f>,
    /// The recipes asked for, and all targets.
    pub(crate) corpus: Corpus,
    /// The other recipes of what was read.
    pub(crate) others: Vec<Recipe>,
    /// Whether there are manifests that were not read.
    pub(crate) unread: bool,
    /// What is wrong with manifests and operands.
    pub(crate) findings: Diagnostics,
}

impl Loaded<'_, '_> {
    /// Returns the lock of a recipe as far as it can be read, with what is wrong with it.
    pub(crate) fn lock(&self, recipe: &Recipe) -> Result<Option<FoundLock>, Diagnostic> {
        let found = self.lock_text(recipe)?;
        Ok(found.map(|(path, text)| {
            let (lock, findings) = Lock::open(&path, &text);
            FoundLock { path, text, lock, findings }
        }))
    }

    /// Returns the path and the text of the lock of a recipe, if there is one.
    pub(crate) fn lock_text(&self, recipe: &Recipe) -> Result<Option<(String, String)>, Diagnostic> {
        let path = lock_path(recipe);
        match self.workspace.root.bytes(&path, LOCK_LIMIT) {
            Ok(bytes) => {
                let text = String::from_utf8(bytes)
                    .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
                Ok(Some((path, text)))
            }
            Err(host::files::PathError::Missing) => Ok(None),
            Err(error) => Err(unreadable(&path, &error)),
        }
    }

    /// Returns what the locks of all recipes know, and what is wrong with them.
    pub(crate) fn known(&self) -> (Known, Diagnostics) {
        let mut known = Known::default();
        let mut findings = Diagnostics::new();
        for recipe in &self.corpus.recipes {
            match self.lock(recipe) {
                Ok(Some(found)) => {
                    findings.extend(found.findings);
                    if let Some(lock) = found.lock {
                        known.checkpoints.extend(lock.known.checkpoints);
                        known.images.extend(lock.known.images);
                        known.curves.extend(lock.known.curves);
                    }
                }
                Ok(None) => {}
                Err(finding) => findings.push(finding),
            }
        }
        (known, findings)
    }

    /// Ends the verb with an answer.
    pub(crate) fn finish(
        self,
        command: &'static str,
        answer: impl crate::outcome::Answer + 'static,
    ) -> Outcome {
        let outcome = Outcome::new(command, answer).with(self.findings, self.session.sources().clone());
        // The process ends soon, and its memory with it: giving back each value one by one would only
        // take time.
        std::mem::forget((self.session, self.corpus, self.others));
        outcome
    }
}

/// A lockfile that is there.
pub(crate) struct FoundLock {
    /// Relative to the root.
    pub(crate) path: String,
    pub(crate) text: String,
    /// `None` where it cannot be read at all.
    pub(crate) lock: Option<Lock>,
    pub(crate) findings: Diagnostics,
}

/// Returns where the lock of a recipe is, relative to the root.
pub(crate) fn lock_path(recipe: &Recipe) -> String {
    let manifest = recipe.manifest.trim_start_matches('/');
    ::lock::path(manifest.strip_prefix("manifests/").unwrap_or(manifest), &recipe.key.value)
}

/// Loads what the operands mean and hands it to `work`.
pub(crate) fn with(
    command: &'static str,
    recipes: &Recipes,
    options: &Options,
    work: impl FnOnce(Loaded<'_, '_>) -> Outcome,
) -> Outcome {
    let workspace = match Workspace::open(options.root.as_deref(), &recipes.operands) {
        Ok(workspace) => workspace,
        Err(finding) => return Outcome::refusal(command, finding),
    };
    let manifests = match workspace.manifests() {
        Ok(manifests) => manifests,
        Err(finding) => return Outcome::refusal(command, finding),
    };
    let session = Session::new(&workspace.root, limits_of(&recipes.bounds, manifests.len()));
    match load(&workspace, session, &manifests) {
        Ok(loaded) => work(loaded),
        Err(finding) => {
            Outcome::new(command, Silence).with([finding].into_iter().collect(), SourceMap::new())
        }
    }
}

fn load<'w, 'f>(
    workspace: &'w Workspace,
    mut session: Session<'f>,
    manifests: &[String],
) -> Result<Loaded<'w, 'f>, Diagnostic> {
    for file in &workspace.files {
        workspace.root.locate(file).map_err(|error| unreadable(file, &error))?;
    }
    let targets = workspace.targets()?;
    let (mut corpus, mut findings) = recipe::load(&mut session, manifests, &targets);
    findings.extend(session.warnings().iter().cloned());
    let keys: Vec<String> = corpus.recipes.iter().map(|recipe| recipe.key.value.clone()).collect();
    let unmatched = workspace.unmatched(keys.iter().map(String::as_str));
    let found = unmatched.is_empty();
    // A manifest that cannot be read may hold the key.
    if !findings.has_errors() {
        findings.extend(unmatched.iter().map(|pattern| no_such_recipe(pattern, &keys)));
    }
    let count = corpus.recipes.len();
    let (asked, others): (Vec<Recipe>, Vec<Recipe>) = std::mem::take(&mut corpus.recipes)
        .into_iter()
        .partition(|recipe| workspace.wants(&recipe.key.value, recipe.manifest.trim_start_matches('/')));
    corpus.recipes = asked;
    if found && !workspace.keys.is_empty() {
        findings = about(&corpus, manifests, findings, session.sources());
    }
    let unread = manifests.len() != workspace.all_manifests()?.len();
    corpus.partial = corpus.recipes.len() != count || unread;
    Ok(Loaded { workspace, session, corpus, others, unread, findings })
}

/// Leaves out what is wrong with manifests that hold none of the recipes.
fn about(corpus: &Corpus, manifests: &[String], findings: Diagnostics, sources: &SourceMap) -> Diagnostics {
    let asked: BTreeSet<&str> =
        corpus.recipes.iter().map(|recipe| recipe.manifest.trim_start_matches('/')).collect();
    let other = |finding: &Diagnostic| {
        let file = finding.span.and_then(|span| sources.get(span.file));
        file.is_some_and(|file| {
            let path = file.path.trim_start_matches('/');
            !asked.contains(path) && manifests.iter().any(|manifest| manifest == path)
        })
    };
    findings.into_iter().filter(|finding| !other(finding)).collect()
}

fn no_such_recipe(pattern: &str, keys: &[String]) -> Diagnostic {
    let what = if pattern.contains(['*', '?']) { "matches no recipe" } else { "is no recipe here" };
    let finding = Diagnostic::error(NO_SUCH_RECIPE, format!("`{pattern}` {what}"));
    match nearest(pattern, keys.iter().map(String::as_str)) {
        Some(near) => finding.help(format!("there is `{near}`")),
        None => finding.help("`recipec matrix` lists all"),
    }
}

/// Returns recipes by key.
pub(crate) fn by_key(corpus: &Corpus) -> BTreeMap<&str, &Recipe> {
    corpus.recipes.iter().map(|recipe| (recipe.key.value.as_str(), recipe)).collect()
}
