//! From files to recipes and targets, and from those to plans.

use std::sync::Arc;

use diag::Diagnostics;
use engine::known::Known;
use eval::Session;

use crate::bridge::{self, Caller};
use crate::build;
use crate::check::{self, Corpus, Key};
use crate::lower;
use crate::matrix::Job;
use crate::plan::{Mode, Plan};
use crate::recipe::Recipe;
use crate::target::{self, Target};
use crate::tree::Tree;

/// Reads manifests and targets, given as paths below the root (`manifests/some/file.nix`). What
/// cannot be read is reported and left out.
pub fn load(session: &mut Session<'_>, manifests: &[String], targets: &[String]) -> (Corpus, Diagnostics) {
    let mut corpus = Corpus::default();
    let mut out = Diagnostics::new();
    for path in manifests {
        if let Some(tree) = evaluate(session, path, &mut out) {
            let recipes = lower::manifest(&tree, path, &mut out);
            corpus.keys.extend(
                recipes
                    .iter()
                    .map(|recipe| Key { key: recipe.key.clone(), manifest: recipe.manifest.clone() }),
            );
            corpus.recipes.extend(recipes);
        }
    }
    for path in targets {
        if let Some(tree) = evaluate(session, path, &mut out) {
            corpus.targets.extend(target::read(&tree, path, &mut out));
        }
    }
    (corpus, out)
}

fn evaluate(session: &mut Session<'_>, path: &str, out: &mut Diagnostics) -> Option<Tree> {
    let value = match session.evaluate_file(path) {
        Ok(value) => value,
        Err(findings) => {
            out.extend(findings);
            return None;
        }
    };
    let at = session.span(&value);
    match bridge::tree(session, &value, at) {
        Ok(tree) => Some(tree),
        Err(finding) => {
            out.push(*finding);
            None
        }
    }
}

/// Builds the plan of one job on one target.
///
/// # Errors
/// If the checkpoint has no place on the target, or a function of the recipe or the target fails
/// or gives something that is no process; all problems found are in the diagnostics.
pub fn plan(
    session: &mut Session<'_>,
    recipe: &Recipe,
    target: &Target,
    job: &Job,
    mode: Mode,
    known: &Known,
) -> Result<Plan, Diagnostics> {
    let mut out = Diagnostics::new();
    let mut caller = Caller::new(session);
    let Some(mut binding) = build::bind(&mut caller, recipe, target, known, &mut out) else {
        return Err(out);
    };
    build::build(&mut caller, &mut binding, &Arc::new(job.clone()), mode).map(|built| built.plan)
}

/// Builds every plan of a recipe on its targets, target by target, job by job, throughput before
/// eval. What cannot be built is reported and left out.
pub fn plans(
    session: &mut Session<'_>,
    corpus: &Corpus,
    recipe: &Recipe,
    known: &Known,
) -> (Vec<Plan>, Diagnostics) {
    let jobs = check::jobs(recipe, corpus);
    let mut out = Diagnostics::new();
    let built = check::build_all(&mut Caller::new(session), corpus, recipe, &jobs, known, &mut out);
    (built.into_iter().map(|built| built.plan).collect(), out)
}
