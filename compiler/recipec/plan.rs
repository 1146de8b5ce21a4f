//! `recipec plan`: what a recipe starts, at every point on every target.

use std::fmt::Write as _;

use ::lock::{Lock, fingerprint};
use diag::slugs::cli::{NO_SUCH_TARGET, OPTION_NOT_READ};
use diag::{Diagnostic, Diagnostics, nearest};
use engine::known::Known;
use recipe::json::Given;
use recipe::plan::{self, Plan, Word};
use recipe::{Job, Recipe, Target, matrix, point};
use serde_json::{Value, json};

use crate::arguments::{self, Options};
use crate::corpus::{self, Loaded};
use crate::outcome::{Answer, Document, Outcome};

/// Plans with what is shown of each.
pub(crate) struct Plans {
    plans: Vec<Plan>,
    /// Digest of each plan, in the same order.
    digests: Vec<String>,
    /// Pinned digest of each plan's image, where there is one.
    pinned: Vec<Option<String>>,
    given: Given,
}

impl Plans {
    /// Returns plans of what nothing pins.
    pub(crate) fn of(plans: Vec<Plan>, given: Given) -> Self {
        let digests = plans.iter().map(|plan| fingerprint(plan).plan.to_string()).collect();
        let pinned = plans.iter().map(|_| None).collect();
        Self { plans, digests, pinned, given }
    }
}

/// Plans the points that are asked for.
pub(crate) fn run(verb: &arguments::Plan, options: &Options) -> Outcome {
    let given = match given(&verb.set) {
        Ok(given) => given,
        Err(finding) => return Outcome::refusal("plan", finding),
    };
    corpus::with("plan", &verb.recipes, options, |mut loaded| {
        let mut plans = Vec::new();
        let mut pinned = Vec::new();
        if let Some(name) = &verb.target
            && let Some(finding) = no_such_target(name, &loaded.corpus.targets)
        {
            loaded.findings.push(finding);
        }
        let corpus = std::mem::take(&mut loaded.corpus);
        for recipe in &corpus.recipes {
            let lock = match loaded.lock(recipe) {
                Ok(found) => found.and_then(|found| {
                    loaded.findings.extend(found.findings);
                    found.lock
                }),
                Err(finding) => {
                    loaded.findings.push(finding);
                    None
                }
            };
            let known = lock.as_ref().map(|lock| lock.known.clone()).unwrap_or_default();
            let targets = targets(verb, recipe, &corpus.targets);
            let jobs = match jobs(verb, recipe, &corpus.targets) {
                Ok(jobs) => jobs,
                Err(finding) => {
                    loaded.findings.push(finding);
                    continue;
                }
            };
            let new = plan_all(&mut loaded, recipe, &targets, &jobs, verb.mode, &known);
            pinned.extend(new.iter().map(|plan| pin(lock.as_ref(), plan)));
            plans.extend(new);
        }
        let digests = plans.iter().map(|plan| fingerprint(plan).plan.to_string()).collect();
        loaded.finish("plan", Plans { plans, digests, pinned, given })
    })
}

fn plan_all(
    loaded: &mut Loaded<'_, '_>,
    recipe: &Recipe,
    targets: &[&Target],
    jobs: &[Job],
    mode: Option<arguments::Mode>,
    known: &Known,
) -> Vec<Plan> {
    let modes = match mode {
        None => vec![plan::Mode::Throughput, plan::Mode::Eval],
        Some(arguments::Mode::Throughput) => vec![plan::Mode::Throughput],
        Some(arguments::Mode::Eval) => vec![plan::Mode::Eval],
    };
    let mut findings = Diagnostics::new();
    let mut plans = Vec::new();
    for target in targets {
        for job in jobs {
            for mode in &modes {
                match recipe::plan(&mut loaded.session, recipe, target, job, *mode, known) {
                    Ok(plan) => plans.push(plan),
                    Err(found) => findings.extend(found),
                }
            }
        }
    }
    loaded.findings.extend(findings);
    plans
}

/// Returns the targets to plan on: those of the recipe, or the one that was named if the recipe
/// runs there or was itself named.
fn targets<'t>(verb: &arguments::Plan, recipe: &Recipe, targets: &'t [Target]) -> Vec<&'t Target> {
    let runs_on = |target: &&Target| recipe.targets.iter().any(|label| target.answers_to(&label.value));
    match &verb.target {
        None => targets.iter().filter(runs_on).collect(),
        Some(name) => {
            let named = targets.iter().filter(|target| target.name.value == *name);
            named.filter(|target| runs_on(target) || !verb.recipes.operands.is_empty()).collect()
        }
    }
}

fn jobs(verb: &arguments::Plan, recipe: &Recipe, targets: &[Target]) -> Result<Vec<Job>, Diagnostic> {
    if verb.point.is_empty() {
        return Ok(matrix(recipe, targets));
    }
    let read = |text: &String| {
        point::parse(recipe, targets, text).map_err(|problem| {
            Diagnostic::error(OPTION_NOT_READ, format!("`{text}` is no point of `{}`", recipe.key.value))
                .why(problem)
        })
    };
    verb.point.iter().map(read).collect()
}

fn no_such_target(name: &str, targets: &[Target]) -> Option<Diagnostic> {
    if targets.iter().any(|target| target.name.value == name) {
        return None;
    }
    let finding = Diagnostic::error(NO_SUCH_TARGET, format!("there is no target `{name}`"));
    Some(match nearest(name, targets.iter().map(|target| target.name.value.as_str())) {
        Some(near) => finding.help(format!("there is `{near}`")),
        None => finding,
    })
}

/// Reads `--set`.
fn given(set: &[String]) -> Result<Given, Diagnostic> {
    let mut given = Given::default();
    for part in set {
        let wrong = |why: &str| {
            Diagnostic::error(OPTION_NOT_READ, format!("`{part}` cannot be set")).why(why).help(
                "`--set` takes `runner`, `job`, `home`, `workspace` and `logs`, as in `--set runner=b200-x_0,job=7`",
            )
        };
        let (name, value) = part.split_once('=').ok_or_else(|| wrong("it has no `=`"))?;
        let place = match name.trim() {
            "runner" => &mut given.runner,
            "job" => &mut given.job,
            "home" => &mut given.home,
            "workspace" => &mut given.workspace,
            "logs" | "logdir" => &mut given.logs,
            _ => return Err(wrong("nothing of a run is called so")),
        };
        *place = Some(value.to_owned());
    }
    Ok(given)
}

fn pin(lock: Option<&Lock>, plan: &Plan) -> Option<String> {
    lock?.image(&plan.image).map(|image| image.digest.to_string())
}

impl Answer for Plans {
    fn human(&self) -> String {
        let mut text = String::new();
        // Neighbours with one digest but for the point are the rule; each is shown in full, since
        // whoever asks for a plan wants to read it.
        for (plan, digest) in self.plans.iter().zip(&self.digests) {
            show(&mut text, plan, digest, &self.given);
        }
        text
    }

    fn document(&self) -> Document {
        let plans: Vec<Value> = self
            .plans
            .iter()
            .zip(&self.digests)
            .zip(&self.pinned)
            .map(|((plan, digest), pinned)| plan.to_json(digest, pinned.as_deref(), &self.given))
            .collect();
        Document::Fields(json!({ "plans": plans }).as_object().cloned().unwrap_or_default())
    }
}

fn show(text: &mut String, plan: &Plan, digest: &str, given: &Given) {
    let space = if text.is_empty() { "" } else { "\n" };
    let _ = writeln!(text, "{space}{}  {}", plan.id(), digest.get(..19).unwrap_or(digest));
    let mut line = |name: &str, words: &[Word]| {
        let words: Vec<String> =
            words.iter().map(|word| quoted(&::lock::words::to_text(&given.expand(word)))).collect();
        let _ = writeln!(text, "  {name:10} {}", wrap(&words));
    };
    if let Some(allocate) = &plan.allocate {
        line("allocate", allocate);
    }
    if !plan.container.is_empty() {
        line("container", &plan.container);
    }
    for (name, rank) in ranks(plan) {
        let shown = rank.env.iter().filter(|(name, value)| plan.passed.get(*name) != Some(value));
        let mut words: Vec<Word> = shown
            .map(|(name, value)| {
                let mut word = Word::from(format!("{name}="));
                word.push_word(value);
                word
            })
            .collect();
        words.extend(rank.argv.iter().cloned());
        line(&name, &words);
    }
}

/// Returns every start of a process, named by its group and, where there are several, by its place:
/// worker, rank and node.
fn ranks(plan: &Plan) -> Vec<(String, &plan::Rank)> {
    let mut all = Vec::new();
    for group in &plan.groups {
        let several =
            group.replicas.len() > 1 || group.replicas.iter().any(|replica| replica.ranks.len() > 1);
        for (worker, replica) in group.replicas.iter().enumerate() {
            let starts = match replica.step {
                plan::Step::EachRank => replica.ranks.len(),
                plan::Step::Spanning { .. } => 1,
            };
            for (number, rank) in replica.ranks.iter().take(starts).enumerate() {
                let name = match (several, replica.step) {
                    (false, _) => group.name.clone(),
                    (true, plan::Step::EachRank) => {
                        format!("{} {worker}.{number} @{}", group.name, rank.seat.node)
                    }
                    (true, plan::Step::Spanning { tasks }) => {
                        let nodes: Vec<String> =
                            replica.ranks.iter().map(|rank| rank.seat.node.to_string()).collect();
                        format!("{} {worker} x{tasks} @{}", group.name, nodes.join(","))
                    }
                };
                all.push((name, rank));
            }
        }
    }
    all
}

/// Quotes a word as a person would for a shell; holes stay readable.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./=:,@%+<>".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", diag::render::harmless(word).replace('\'', "'\\''"))
}

/// Joins words, with a new line before each option.
fn wrap(words: &[String]) -> String {
    let mut text = String::new();
    for word in words {
        if !text.is_empty() {
            text.push_str(if word.starts_with('-') && words.len() > 6 { " \\\n             " } else { " " });
        }
        text.push_str(word);
    }
    text
}
