//! A literal that repeats a width of the search space: the server is told `4` where the point says
//! `tp = 4`. Nothing differs until somebody sweeps another width, and then the label lies.
//!
//! Each width is changed at one point, the plan is built again, and the engine's own rule says
//! whether the server was told. A recipe that refuses the changed point says so, and is left alone.

use std::sync::Arc;

use diag::{Diagnostic, Diagnostics, slugs};
use engine::known::Known;
use engine::{About, Engine};

use crate::bridge::Caller;
use crate::build::{self, Built};
use crate::check::Corpus;
use crate::launch::launch;
use crate::matrix::{self, Job};
use crate::plan::{Mode, Parallel};
use crate::recipe::Recipe;
use crate::rules::engine_findings;

/// A width, as the engine's rules call it, and how it is changed.
type Width = (&'static str, fn(&Parallel) -> u32, fn(&mut Parallel, u32));

const WIDTHS: [Width; 3] = [
    ("tp", |parallel| parallel.tp, |parallel, width| parallel.tp = width),
    ("pp", |parallel| parallel.pp, |parallel, width| parallel.pp = width),
    ("ep", |parallel| parallel.ep, |parallel, width| parallel.ep = width),
];

pub(crate) fn report(
    caller: &mut Caller<'_, '_>,
    corpus: &Corpus,
    recipe: &Recipe,
    built: &[Built],
    known: &Known,
    out: &mut Diagnostics,
) {
    let Some(engine) = Engine::parse(&recipe.engine.value) else { return };
    let measures = |one: &&Built| one.plan.mode == Mode::Throughput;
    for (name, of, change) in WIDTHS {
        // One point of each way to split attention, at the widest: a branch may say it otherwise.
        for dp_attn in [false, true] {
            let here = |one: &&Built| one.job.point.parallel.dp_attn == dp_attn;
            let Some(one) =
                built.iter().filter(measures).filter(here).max_by_key(|one| of(&one.job.point.parallel))
            else {
                continue;
            };
            let mut point = one.job.point.clone();
            let width = of(&point.parallel);
            // A width of 1 is said by saying nothing.
            if width == 1 {
                continue;
            }
            change(&mut point.parallel, width / 2);
            let row = matrix::row(recipe, &point, &corpus.targets);
            let job = Arc::new(Job { index: None, point, row });
            let target = corpus.targets.iter().find(|target| target.name.value == one.plan.target);
            let mut unheard = Diagnostics::new();
            let bound = target.and_then(|target| build::bind(caller, recipe, target, known, &mut unheard));
            let Some(mut binding) = bound else { continue };
            let Ok(again) = build::build(caller, &mut binding, &job, Mode::Throughput) else { continue };
            let lies = |built: &Built| {
                let report = engine::check(&launch(engine, recipe, built, known));
                let label = About::Field(format!("parallel.{name}"));
                report.findings.into_iter().find(|finding| {
                    finding.slug == slugs::engine::LABEL_NOT_REALISED
                        && finding.about == label
                        && !finding.others.is_empty()
                })
            };
            // Where the point itself is told wrong, that has been reported.
            let Some(finding) = lies(&again).filter(|_| lies(one).is_none()) else { continue };
            let told = finding.others.first();
            let place = told.and_then(|(about, _)| engine_findings::place(about, recipe, &again));
            let mut found = Diagnostic::warning(
                slugs::recipe::REPEATED_WIDTH,
                format!("a literal repeats `{name} = {width}` of the search space"),
            )
            .why(format!("at a point with `{name} = {}` the server would be told {width} as well", width / 2))
            .help(format!("write `{name}`, which `serve` is given"));
            found.span = place.or(recipe.key.at);
            // What several recipes share is said once.
            if !out.iter().any(|other| (other.slug, other.span) == (found.slug, found.span)) {
                out.push(found);
            }
            break;
        }
    }
}
