//! The whole corpus at once: every plan of every recipe, and every rule.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use diag::Diagnostics;
use engine::Skipped;
use engine::known::Known;

use crate::bridge::Caller;
use crate::build::{self, Binding, Built, Given};
use crate::matrix::{self, Job};
use crate::plan::{Mode, Plan};
use crate::recipe::Recipe;
use crate::rules;
use crate::schema::At;
use crate::target::Target;

/// Every recipe and target of a root.
#[derive(Clone, Default, Debug)]
pub struct Corpus {
    /// Recipes in the order of their files and keys.
    pub recipes: Vec<Recipe>,
    /// The keys of all recipes of the root, also of those that are left out of `recipes`: by them
    /// rules know whether they see all of a file, or of the root.
    pub keys: Vec<Key>,
    /// Targets in the order of their files.
    pub targets: Vec<Target>,
    /// Whether recipes of the root were left out. Rules that speak of what no recipe does are then
    /// silent.
    pub partial: bool,
}

/// What checking a corpus gave.
#[derive(Clone, Default, Debug)]
pub struct Checked {
    /// Every plan that could be built, recipe by recipe, target by target, job by job, throughput
    /// before eval.
    pub plans: Vec<Plan>,
    /// Number of points.
    pub points: usize,
    /// All findings, sorted.
    pub diagnostics: Diagnostics,
    /// Rules that lacked a fact, sorted: skipped, never passed.
    pub skipped: Vec<Skipped>,
}

/// The key of a recipe that was read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Key {
    /// The key.
    pub key: At<String>,
    /// The file that defines it, relative to the root, with `/`.
    pub manifest: String,
}

impl Corpus {
    /// Returns true if no recipe of a file is left out; of any file for `None`.
    #[must_use]
    pub fn has_all(&self, manifest: Option<&str>) -> bool {
        let counts = |of: &str| manifest.is_none_or(|manifest| manifest == of);
        let there = self.recipes.iter().filter(|recipe| counts(&recipe.manifest)).count();
        there >= self.keys.iter().filter(|key| counts(&key.manifest)).count()
    }

    /// Returns the targets of a recipe, in the order of the corpus.
    #[must_use]
    pub fn targets_of(&self, recipe: &Recipe) -> Vec<&Target> {
        let wanted = |target: &&Target| recipe.targets.iter().any(|label| target.answers_to(&label.value));
        self.targets.iter().filter(wanted).collect()
    }
}

/// How many plans are held while rules look at them. A larger corpus has the others built again,
/// recipe by recipe, so that memory does not grow with it.
const HELD: usize = 10_000;

/// Plans every recipe of a corpus on every one of its targets, and applies every rule.
pub fn check(session: &mut eval::Session<'_>, corpus: &Corpus, known: &Known) -> Checked {
    let mut plans = Vec::new();
    let checked = check_each(session, corpus, known, |plan| plans.push(plan));
    Checked { plans, ..checked }
}

/// As [`check`], with each plan handed on in place of a list of them all.
pub fn check_each(
    session: &mut eval::Session<'_>,
    corpus: &Corpus,
    known: &Known,
    mut each: impl FnMut(Plan),
) -> Checked {
    let mut checked = Checked::default();
    let out = &mut checked.diagnostics;
    rules::static_rules(corpus, out);
    let mut caller = Caller::new(session);
    let mut held: Vec<Option<Vec<Built>>> = Vec::new();
    let mut count = 0;
    let mut findings = rules::engine_findings::Gathered::default();
    let mut skipped = BTreeSet::new();
    for recipe in &corpus.recipes {
        let jobs = jobs(recipe, corpus);
        checked.points += jobs.len();
        let built = build_all(&mut caller, corpus, recipe, &jobs, known, out);
        findings.gather(recipe, &built, known, &mut skipped);
        count += built.len();
        held.push((count <= HELD).then_some(built));
    }
    // Before rules that evaluate what no point asks for.
    rules::unreached_branch::report(&caller.coverage(), corpus, &caller, out);
    for (recipe, built) in corpus.recipes.iter().zip(held) {
        let built = built.unwrap_or_else(|| {
            // What is wrong with them has been reported.
            let jobs = jobs(recipe, corpus);
            build_all(&mut caller, corpus, recipe, &jobs, known, &mut Diagnostics::new())
        });
        rules::field_without_effect::report(&mut caller, corpus, recipe, &built, known, out);
        rules::repeated_width::report(&mut caller, corpus, recipe, &built, known, out);
        built.into_iter().for_each(|built| each(built.plan));
    }
    findings.report(out);
    checked.diagnostics.sort();
    checked.skipped = skipped.into_iter().collect();
    checked
}

/// Returns the jobs of a recipe, to be shared by plans.
pub(crate) fn jobs(recipe: &Recipe, corpus: &Corpus) -> Vec<Arc<Job>> {
    matrix::matrix(recipe, &corpus.targets).into_iter().map(Arc::new).collect()
}

/// Builds every plan of a recipe; what cannot be built is reported.
pub(crate) fn build_all(
    caller: &mut Caller<'_, '_>,
    corpus: &Corpus,
    recipe: &Recipe,
    jobs: &[Arc<Job>],
    known: &Known,
    out: &mut Diagnostics,
) -> Vec<Built> {
    let mut bindings: Vec<Binding<'_>> = Vec::new();
    for target in corpus.targets_of(recipe) {
        bindings.extend(build::bind(caller, recipe, target, known, out));
    }
    // The first target that tells the recipe's functions the same: they are asked once for both.
    let first: Vec<usize> = bindings
        .iter()
        .map(|one| bindings.iter().position(|other| other.tells_the_same(one)).unwrap_or(0))
        .collect();
    let shared = |index: usize| first.iter().filter(|&&of| of == index).count() > 1;
    let mut answers: BTreeMap<(usize, usize, Mode), Option<Given>> = BTreeMap::new();
    let mut all = Vec::new();
    for (index, (binding, &of)) in bindings.iter_mut().zip(&first).enumerate() {
        for (place, job) in jobs.iter().enumerate() {
            for mode in [Mode::Throughput, Mode::Eval] {
                let mut findings = Diagnostics::new();
                let given = match answers.get(&(of, place, mode)) {
                    Some(given) => given.clone(),
                    None => {
                        let given = build::ask(caller, binding, job, mode, &mut findings);
                        if shared(index) {
                            answers.insert((of, place, mode), given.clone());
                        }
                        given
                    }
                };
                let built =
                    given.and_then(|given| build::seat(caller, binding, job, mode, given, &mut findings));
                if !findings.has_errors() {
                    all.extend(built);
                }
                out.extend(findings);
            }
        }
    }
    all
}
