//! `recipec build`: the script of every plan.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use ::lock::pin::{Entry, File, Pin};
use ::lock::{Digest, Lock};
use diag::slugs::host::CANNOT_WRITE;
use diag::slugs::lock::LOCK_MISSING;
use diag::{Diagnostic, Diagnostics};
use emit::{Script, Source};
use recipe::plan::{self, Plan};
use recipe::{Corpus, Recipe, Target};
use serde_json::{Value, json};

use crate::arguments::{self, Build, Options};
use crate::corpus::{self, LOCK_LIMIT, Loaded};
use crate::lock::platforms;
use crate::lock_check::stale;
use crate::outcome::{Answer, Document, Outcome};
use crate::workspace::unreadable;

/// A script with the plan that it is of.
struct Built {
    plan: String,
    digest: String,
    script: Script,
}

/// The scripts that were written.
struct Scripts {
    out: String,
    built: Vec<Built>,
}

/// Emits the scripts of the recipes that are asked for: all of them, or none if any is refused.
pub(crate) fn run(verb: &Build, options: &Options) -> Outcome {
    corpus::with("build", &verb.recipes, options, |mut loaded| {
        let corpus = std::mem::take(&mut loaded.corpus);
        let mut built = Vec::new();
        for recipe in &corpus.recipes {
            match scripts(&mut loaded, &corpus, recipe, verb) {
                Ok(scripts) => built.extend(scripts),
                Err(findings) => loaded.findings.extend(findings),
            }
        }
        if loaded.findings.has_errors() {
            built.clear();
        }
        for one in &built {
            let path = verb.out.join(&one.script.path);
            if let Err(error) = host::write_atomic(&path, one.script.text.as_bytes()) {
                let finding = Diagnostic::error(CANNOT_WRITE, format!("cannot write `{}`", path.display()));
                loaded.findings.push(finding.why(error.to_string()));
                break;
            }
        }
        let out = verb.out.to_string_lossy().into_owned();
        loaded.finish("build", Scripts { out, built })
    })
}

fn scripts(
    loaded: &mut Loaded<'_, '_>,
    corpus: &Corpus,
    recipe: &Recipe,
    verb: &Build,
) -> Result<Vec<Built>, Diagnostics> {
    let lock = lock_of(loaded, recipe)?;
    let files = file_lists(loaded, &lock)?;
    let (plans, mut findings) = recipe::plans(&mut loaded.session, corpus, recipe, &lock.known);
    let changes = ::lock::check(&lock, &plans, &recipe.wants(&platforms(corpus, recipe)));
    if !findings.has_errors() && !changes.is_empty() {
        findings.push(stale(recipe, &changes));
        return Err(findings);
    }
    let source = Source::new(&lock, &files);
    let elsewhere = elsewhere(loaded, corpus, recipe, verb, &lock)?;
    let mut built = Vec::new();
    for plan in plans.iter().chain(&elsewhere).filter(|plan| asked_for(verb, plan)) {
        let Some(target) = corpus.targets.iter().find(|target| target.name.value == plan.target) else {
            continue;
        };
        match emit::script(plan, &source, target) {
            Ok(script) => {
                let digest = script.plan.to_string();
                built.push(Built { plan: plan.id(), digest, script });
            }
            Err(found) => findings.extend(found),
        }
    }
    if findings.has_errors() { Err(findings) } else { Ok(built) }
}

/// Returns the plans on a target that is named and is none of the recipe's own: whoever has other
/// machines runs the same points on what the lock pins.
fn elsewhere(
    loaded: &mut Loaded<'_, '_>,
    corpus: &Corpus,
    recipe: &Recipe,
    verb: &Build,
    lock: &Lock,
) -> Result<Vec<Plan>, Diagnostics> {
    let named = corpus.targets.iter().find(|target| verb.target.as_ref() == Some(&target.name.value));
    let own = |target: &Target| corpus.targets_of(recipe).iter().any(|one| one.name == target.name);
    let Some(target) = named.filter(|target| !own(target) && !verb.recipes.operands.is_empty()) else {
        return Ok(Vec::new());
    };
    let mut plans = Vec::new();
    for job in recipe::matrix(recipe, &corpus.targets) {
        for mode in [plan::Mode::Throughput, plan::Mode::Eval] {
            if mode == plan::Mode::Throughput || recipe.eval.is_some() {
                plans.push(recipe::plan(&mut loaded.session, recipe, target, &job, mode, &lock.known)?);
            }
        }
    }
    Ok(plans)
}

fn asked_for(verb: &Build, plan: &Plan) -> bool {
    let mode = match verb.mode {
        None => true,
        Some(arguments::Mode::Throughput) => plan.mode == plan::Mode::Throughput,
        Some(arguments::Mode::Eval) => plan.mode == plan::Mode::Eval,
    };
    mode && verb.target.as_ref().is_none_or(|target| *target == plan.target)
}

fn lock_of(loaded: &Loaded<'_, '_>, recipe: &Recipe) -> Result<Lock, Diagnostics> {
    let one = |finding| Diagnostics::from_iter([finding]);
    let found = loaded.lock(recipe).map_err(one)?;
    let Some(found) = found else {
        let key = &recipe.key.value;
        let mut finding = Diagnostic::error(LOCK_MISSING, format!("`{key}` has no lock"))
            .why("a script is made of what is pinned")
            .help(format!("run `recipec lock {key}`"));
        finding.span = recipe.key.at;
        return Err(one(finding));
    };
    match found.lock {
        Some(lock) if !found.findings.has_errors() => Ok(lock),
        _ => Err(found.findings),
    }
}

/// Reads the file lists that a lock names.
fn file_lists(loaded: &Loaded<'_, '_>, lock: &Lock) -> Result<BTreeMap<Digest, Vec<File>>, Diagnostics> {
    let mut lists = BTreeMap::new();
    for entry in lock.pins.values() {
        let Entry::Pinned { pin: Pin::Checkpoint(snapshot) | Pin::Dataset(snapshot), .. } = entry else {
            continue;
        };
        let path = ::lock::files::path(&snapshot.files);
        let bytes = loaded
            .workspace
            .root
            .bytes(&path, LOCK_LIMIT)
            .map_err(|error| Diagnostics::from_iter([unreadable(&path, &error)]))?;
        let list = ::lock::files::read(&snapshot.files, &String::from_utf8_lossy(&bytes))?;
        lists.insert(snapshot.files.clone(), list);
    }
    Ok(lists)
}

impl Answer for Scripts {
    fn human(&self) -> String {
        let mut text = String::new();
        if self.built.is_empty() {
            return text;
        }
        for one in &self.built {
            let _ = writeln!(text, "{}/{}", self.out.trim_end_matches('/'), one.script.path);
        }
        let _ = writeln!(text, "{}", crate::words::count(self.built.len(), "script"));
        text
    }

    fn document(&self) -> Document {
        let scripts: Vec<Value> = self
            .built
            .iter()
            .map(|one| {
                json!({
                    "plan": one.plan,
                    "digest": one.digest,
                    "path": format!("{}/{}", self.out.trim_end_matches('/'), one.script.path),
                    "sha256": one.script.sha256.hex(),
                })
            })
            .collect();
        Document::Fields(json!({ "scripts": scripts }).as_object().cloned().unwrap_or_default())
    }
}
