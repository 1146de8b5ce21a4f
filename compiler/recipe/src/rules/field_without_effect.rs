//! A field that changes no plan: it is changed, every plan is built again, and all stay the same.
//!
//! Noticing that a field was read would not be enough: a value that is read and thrown away has no
//! effect either. The labels of a point are left out of the comparison, since they repeat the field
//! itself.

use std::collections::BTreeMap;
use std::sync::Arc;

use diag::{Diagnostic, Diagnostics, Span, slugs};
use engine::known::Known;

use crate::bridge::Caller;
use crate::build::{self, Binding, Built};
use crate::check::Corpus;
use crate::inject;
use crate::matrix::Job;
use crate::plan::{Mode, Plan};
use crate::recipe::{Download, Recipe, Speculation, Speculative};
use crate::schema::At;
use crate::search::{KvOffload, Workload};

/// A recipe that differs from the real one in one field.
struct Trial {
    /// The field, as people call it.
    field: &'static str,
    /// Where its value was written.
    at: Option<Span>,
    /// What to do to the recipe.
    change: Box<dyn Fn(&mut Recipe)>,
    /// Which jobs can show a difference.
    concerns: fn(&Built) -> bool,
}

pub(crate) fn report(
    caller: &mut Caller<'_, '_>,
    corpus: &Corpus,
    recipe: &Recipe,
    built: &[Built],
    known: &Known,
    out: &mut Diagnostics,
) {
    for trial in trials(recipe, known) {
        let mut concerned = built.iter().filter(|one| (trial.concerns)(one)).peekable();
        // Nothing was built, which has been reported, or the field speaks of no point.
        if concerned.peek().is_none() {
            continue;
        }
        let mut changed = recipe.clone();
        (trial.change)(&mut changed);
        let same = stay(caller, corpus, &changed, concerned, known);
        if same {
            // What the matrix says of it, results carry; no process hears of it.
            let in_row = matches!(trial.field, "dramUtilization" | "kvOffload");
            let say = if in_row { Diagnostic::warning } else { Diagnostic::error };
            let mut finding = say(
                slugs::recipe::FIELD_WITHOUT_EFFECT,
                format!("`{}` changes no process of any plan", trial.field),
            )
            .why(format!(
                "whatever it says, every plan of `{}` is the same: the engine is never told",
                recipe.key.value
            ))
            .help("use it in `serve`, or take it out");
            finding.span = trial.at;
            finding.label = "has no effect".to_owned();
            out.push(finding);
        }
    }
}

/// Returns true if every plan of the changed recipe is the plan that was built.
fn stay<'b>(
    caller: &mut Caller<'_, '_>,
    corpus: &Corpus,
    changed: &Recipe,
    all: impl Iterator<Item = &'b Built>,
    known: &Known,
) -> bool {
    let mut bindings: BTreeMap<&str, Binding<'_>> = BTreeMap::new();
    for built in all {
        let name = built.plan.target.as_str();
        if !bindings.contains_key(name) {
            let target = corpus.targets.iter().find(|target| target.name.value == name);
            let bound = target
                .and_then(|target| build::bind(caller, changed, target, known, &mut Diagnostics::new()));
            let Some(bound) = bound else { return false };
            bindings.insert(name, bound);
        }
        let Some(binding) = bindings.get_mut(name) else { return false };
        let mut job = Job::clone(&built.job);
        if let (Some(entry), Some(scenario)) = (job.point.entry, changed.scenarios.get(job.point.scenario)) {
            job.point.workload = scenario.workload.clone();
            if let Some(entry) = scenario.search.get(entry) {
                job.point.kv_offload.clone_from(&entry.kv_offload);
            }
        }
        // A change that makes a function fail is a change.
        let again = build::build(caller, binding, &Arc::new(job), built.plan.mode);
        if !again.is_ok_and(|again| same(&again.plan, &built.plan)) {
            return false;
        }
    }
    true
}

/// Returns true if two plans do the same, whatever their points are called.
fn same(a: &Plan, b: &Plan) -> bool {
    let Plan {
        points: _,
        recipe: _,
        job: _,
        target,
        mode,
        image,
        allocate,
        container,
        kubernetes,
        passed,
        ..
    } = a;
    (target, mode, image, allocate, container, kubernetes, passed)
        == (&b.target, &b.mode, &b.image, &b.allocate, &b.container, &b.kubernetes, &b.passed)
        && (&a.secrets, &a.mounts, &a.pools, &a.groups, &a.files, a.finish, &a.wants)
            == (&b.secrets, &b.mounts, &b.pools, &b.groups, &b.files, b.finish, &b.wants)
}

fn trials(recipe: &Recipe, known: &Known) -> Vec<Trial> {
    let mut trials = Vec::new();
    let any: fn(&Built) -> bool = |_| true;
    let mut add = |field, at, concerns, change: Box<dyn Fn(&mut Recipe)>| {
        trials.push(Trial { field, at, change, concerns });
    };
    if let Some(quantization) = &recipe.quantization {
        if let Some(method) = &quantization.method {
            add(
                "quantization.method",
                method.at,
                any,
                Box::new(|recipe| {
                    change(recipe.quantization.as_mut().and_then(|one| one.method.as_mut()));
                }),
            );
        }
        if let Some(kv_cache) = &quantization.kv_cache {
            add(
                "quantization.kvCache",
                kv_cache.at,
                any,
                Box::new(|recipe| {
                    change(recipe.quantization.as_mut().and_then(|one| one.kv_cache.as_mut()));
                }),
            );
        }
    }
    if let Some(speculative) = recipe.speculative.always() {
        let facts = crate::facts::checkpoint(recipe, known);
        let claim = inject::claim(recipe, speculative, &facts, known);
        let told = claim.and_then(|claim| claim.length()).map(At::made);
        add(
            "speculative.steps",
            speculative.steps.at,
            any,
            Box::new(move |recipe| {
                with_speculative(recipe, |one| {
                    one.steps.value = one.steps.value.saturating_add(1);
                    // A curve's length follows the number of steps; only the number itself is on trial.
                    if let Some(acceptance) = &mut one.acceptance {
                        acceptance.length.clone_from(&told);
                    }
                });
            }),
        );
        if let Some(algorithm) = &speculative.algorithm {
            add(
                "speculative.algorithm",
                algorithm.at,
                any,
                Box::new(|recipe| {
                    with_speculative(recipe, |one| change(one.algorithm.as_mut()));
                }),
            );
        }
        if let Some(topk) = &speculative.topk {
            add(
                "speculative.topk",
                topk.at,
                any,
                Box::new(|recipe| {
                    with_speculative(recipe, |one| grow(one.topk.as_mut()));
                }),
            );
        }
        if let Some(tokens) = &speculative.draft_tokens {
            add(
                "speculative.draftTokens",
                tokens.at,
                any,
                Box::new(|recipe| {
                    with_speculative(recipe, |one| grow(one.draft_tokens.as_mut()));
                }),
            );
        }
        if let Some(acceptance) = &speculative.acceptance {
            let throughput: fn(&Built) -> bool = |built| built.plan.mode == Mode::Throughput;
            add(
                "speculative.acceptance",
                acceptance.at,
                throughput,
                Box::new(|recipe| {
                    with_speculative(recipe, |one| one.acceptance = None);
                }),
            );
        }
    }
    if recipe.download != Download::Unstaged {
        add("download", None, any, Box::new(|recipe| recipe.download = Download::Unstaged));
    }
    scenarios(recipe, &mut trials);
    trials
}

fn scenarios(recipe: &Recipe, trials: &mut Vec<Trial>) {
    let any: fn(&Built) -> bool = |_| true;
    let offloads: fn(&Built) -> bool = |built| built.job.point.kv_offload.is_some();
    for (index, scenario) in recipe.scenarios.iter().enumerate() {
        if let Workload::Agentic { dram_utilization: Some(share), .. } = &scenario.workload {
            trials.push(Trial {
                field: "dramUtilization",
                at: share.at,
                // Without offload anywhere every plan is tried, and stays.
                concerns: if recipe
                    .scenarios
                    .iter()
                    .flat_map(|one| &one.search)
                    .any(|part| part.kv_offload.is_some())
                {
                    offloads
                } else {
                    any
                },
                change: Box::new(move |recipe| {
                    if let Some(scenario) = recipe.scenarios.get_mut(index)
                        && let Workload::Agentic { dram_utilization: Some(share), .. } =
                            &mut scenario.workload
                    {
                        share.value = if share.value == "0.5" { "0.25" } else { "0.5" }.to_owned();
                    }
                }),
            });
        }
        for (place, entry) in scenario.search.iter().enumerate() {
            let Some(kv) = &entry.kv_offload else { continue };
            trials.push(Trial {
                field: "kvOffload",
                at: kv.backend.at,
                concerns: offloads,
                change: Box::new(move |recipe| {
                    let entry = recipe.scenarios.get_mut(index).and_then(|one| one.search.get_mut(place));
                    if let Some(entry) = entry {
                        entry.kv_offload = None::<KvOffload>;
                    }
                }),
            });
        }
    }
}

fn with_speculative(recipe: &mut Recipe, change: impl FnOnce(&mut Speculative)) {
    if let Speculation::Always(speculative) = &mut recipe.speculative {
        change(speculative);
    }
}

/// Changes a text to one that nobody writes.
fn change(text: Option<&mut At<String>>) {
    if let Some(text) = text {
        text.value.push_str("-changed");
    }
}

fn grow(number: Option<&mut At<u32>>) {
    if let Some(number) = number {
        number.value = number.value.saturating_add(1);
    }
}
