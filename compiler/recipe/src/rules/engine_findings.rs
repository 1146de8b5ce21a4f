//! What the engine's own rules find in a launch, brought to the manifest's characters.

use std::collections::{BTreeMap, BTreeSet};

use diag::{Diagnostic, Diagnostics, Severity, Slug, Span};
use engine::known::Known;
use engine::{About, Engine, Finding, Skipped};

use crate::build::Built;
use crate::facts;
use crate::inject;
use crate::launch::launch;
use crate::recipe::Recipe;
use crate::schema::At;
use crate::tree::{Node, Tree};

/// One finding with the points at which it was made.
struct Seen {
    diagnostic: Diagnostic,
    points: BTreeSet<u32>,
}

pub(crate) fn report(
    recipe: &Recipe,
    built: &[Built],
    known: &Known,
    out: &mut Diagnostics,
    skipped: &mut Vec<Skipped>,
) {
    let Some(engine) = Engine::parse(&recipe.engine.value) else { return };
    let mut seen: BTreeMap<(Option<Span>, Slug), Seen> = BTreeMap::new();
    let mut jobs = BTreeSet::new();
    for one in built {
        let job = one.plan.job.unwrap_or(0);
        jobs.insert(job);
        let report = engine::check(&launch(engine, recipe, one, known));
        skipped.extend(report.skipped);
        for finding in report.findings {
            keep(&mut seen, diagnostic(&finding, recipe, one), job);
        }
        if let Some(speculative) = &one.speculative {
            let checkpoint = facts::checkpoint(recipe, known);
            if let Some(claim) = inject::claim(recipe, speculative, &checkpoint, known) {
                for finding in engine::acceptance::judge(&claim) {
                    keep(&mut seen, diagnostic(&finding, recipe, one), job);
                }
            }
        }
    }
    for Seen { mut diagnostic, points } in seen.into_values() {
        if points.len() < jobs.len() {
            let some: Vec<String> =
                points.iter().take(4).map(|job| format!("{}#{job}", recipe.key.value)).collect();
            let more = if points.len() > some.len() { ", …" } else { "" };
            diagnostic = diagnostic.why(format!(
                "at {} of {} points: {}{more}",
                points.len(),
                jobs.len(),
                some.join(", ")
            ));
        }
        out.push(diagnostic);
    }
}

fn keep(seen: &mut BTreeMap<(Option<Span>, Slug), Seen>, diagnostic: Diagnostic, job: u32) {
    seen.entry((diagnostic.span, diagnostic.slug))
        .or_insert_with(|| Seen { diagnostic, points: BTreeSet::new() })
        .points
        .insert(job);
}

fn diagnostic(finding: &Finding, recipe: &Recipe, built: &Built) -> Diagnostic {
    let mut diagnostic = match finding.severity {
        Severity::Error => Diagnostic::error(finding.slug, finding.message.clone()),
        Severity::Warning => Diagnostic::warning(finding.slug, finding.message.clone()),
        Severity::Note => Diagnostic::note(finding.slug, finding.message.clone()),
    };
    diagnostic.notes.clone_from(&finding.notes);
    diagnostic.notes.extend(finding.evidence.iter().map(|source| format!("evidence: {source}")));
    diagnostic.help.clone_from(&finding.help);
    let place = place(&finding.about, recipe, built);
    diagnostic.span = place.or(recipe.key.at);
    if let (Some(span), Some(text)) = (place, &finding.replacement) {
        diagnostic.fixes.push(diag::Fix { span, text: text.clone(), help: 0 });
    }
    for (about, text) in &finding.others {
        if let Some(span) = self::place(about, recipe, built) {
            diagnostic = diagnostic.label(span, text.clone());
        }
    }
    diagnostic
}

/// Returns the manifest's characters that a finding is about.
fn place(about: &About, recipe: &Recipe, built: &Built) -> Option<Span> {
    let server = &built.server;
    // Words of the program that belong to no option come first.
    let option = |index: &usize| server.options.get(index.checked_sub(built.positionals)?);
    match about {
        About::Name(index) => option(index).map_or(server.at, |given| given.name_at.or(given.at)),
        About::Value(index, path) => match option(index) {
            Some(given) => {
                let inside = given.inside.as_ref().and_then(|tree| inside(tree, path));
                inside.or(given.at).or(given.name_at)
            }
            None => server.at,
        },
        About::Variable(name) => server.env_name_at.get(name).copied().or_else(|| field(recipe, built, name)),
        About::VariableValue(name) => server.env_at.get(name).copied().or_else(|| field(recipe, built, name)),
        About::Field(path) => field(recipe, built, path),
        About::Config(path) => server.configs.first().and_then(|(_, tree)| inside(tree, path).or(tree.at)),
        About::Launch => recipe.key.at,
    }
}

/// Returns where a member inside a value was written, or the nearest place around it.
fn inside(tree: &Tree, path: &[String]) -> Option<Span> {
    let Some((first, rest)) = path.split_first() else { return tree.at };
    let next = match &tree.node {
        Node::Set(_) => tree.get(first).map(|field| &field.value),
        Node::List(items) => first.parse::<usize>().ok().and_then(|index| items.get(index)),
        _ => None,
    };
    next.and_then(|next| inside(next, rest)).or(tree.at)
}

/// Returns where a field of the recipe was written.
fn field(recipe: &Recipe, built: &Built, path: &str) -> Option<Span> {
    fn at<T>(value: Option<&At<T>>) -> Option<Span> {
        value.and_then(|value| value.at)
    }
    let speculative = built.speculative.as_ref();
    let acceptance = speculative.and_then(|one| one.acceptance.as_ref());
    let quantization = recipe.quantization.as_ref();
    let entry = built.job.point.entry.and_then(|entry| {
        recipe.scenarios.get(built.job.point.scenario).and_then(|scenario| scenario.search.get(entry))
    });
    match path {
        "engine" => recipe.engine.at,
        "engineVersion" => at(recipe.engine_version.as_ref()).or(recipe.image.at),
        "image" => recipe.image.at,
        "model.thinking" => at(recipe.model.thinking.as_ref()).or(recipe.model.at),
        "model" | "model.repository" => recipe.model.repository.at,
        "quantization.method" => at(quantization.and_then(|one| one.method.as_ref())),
        "quantization.kvCache" => at(quantization.and_then(|one| one.kv_cache.as_ref())),
        "speculative" => speculative.and_then(|one| one.at),
        "speculative.method" => at(speculative.map(|one| &one.method)),
        "speculative.algorithm" => at(speculative.and_then(|one| one.algorithm.as_ref())),
        "speculative.steps" => at(speculative.map(|one| &one.steps)),
        "speculative.topk" => at(speculative.and_then(|one| one.topk.as_ref())),
        "speculative.draftTokens" => at(speculative.and_then(|one| one.draft_tokens.as_ref())),
        "speculative.draft" => {
            at(speculative.and_then(|one| one.draft.as_ref()).map(|draft| &draft.repository))
        }
        "speculative.draftSampling" | "speculative.sampling" => {
            at(speculative.and_then(|one| one.draft_sampling.as_ref()))
        }
        "speculative.acceptance" => acceptance.and_then(|one| one.at),
        "speculative.acceptance.length" => at(acceptance.and_then(|one| one.length.as_ref())),
        "speculative.acceptance.curve" => {
            at(acceptance.and_then(|one| one.curve.as_ref()).map(|curve| &curve.name))
        }
        "speculative.acceptance.source" => at(acceptance.and_then(|one| one.source.as_ref())),
        "kvOffload" => entry.and_then(|entry| entry.kv_offload.as_ref()).and_then(|kv| kv.backend.at),
        _ => match path.strip_prefix("parallel.") {
            Some(width) => {
                let entry = entry?;
                let place = entry.places.iter().find(|(name, _)| *name == width);
                place.map(|(_, at)| *at).or(entry.at)
            }
            None => None,
        },
    }
}
