//! What the engine's own rules find in a launch, brought to the manifest's characters.

use std::collections::{BTreeMap, BTreeSet};

use diag::{Diagnostic, Diagnostics, Severity, Slug, Span, slugs};
use engine::known::Known;
use engine::{About, Engine, Finding, Skipped};

use crate::build::Built;
use crate::facts;
use crate::inject;
use crate::launch::launch;
use crate::plan::Mode;
use crate::recipe::{Recipe, Speculative};
use crate::rules::{offload, router, sizes};
use crate::schema::At;
use crate::tree::{Node, Tree};

/// Findings of a whole corpus: one that several recipes share is reported once.
#[derive(Default)]
pub(crate) struct Gathered {
    seen: BTreeMap<(Option<Span>, Slug), Seen>,
}

/// One finding with the points at which it was made.
struct Seen {
    diagnostic: Diagnostic,
    /// By config key, the jobs at which it was made and how many jobs there are.
    points: BTreeMap<String, (BTreeSet<u32>, usize)>,
}

impl Gathered {
    /// Applies the engine's rules to every server of a recipe.
    pub(crate) fn gather(
        &mut self,
        recipe: &Recipe,
        built: &[Built],
        known: &Known,
        skipped: &mut BTreeSet<Skipped>,
    ) {
        let Some(engine) = Engine::parse(&recipe.engine.value) else { return };
        let jobs: BTreeSet<Option<u32>> = built.iter().map(|one| one.plan.job).collect();
        let checkpoint = facts::checkpoint(recipe, known);
        let mut judged: Vec<&Speculative> = Vec::new();
        let mut waived: BTreeSet<&str> = BTreeSet::new();
        let mut looked: BTreeMap<(Option<u32>, Mode), Vec<&Built>> = BTreeMap::new();
        for one in built {
            // Clusters of one kind of machine often start the very same server.
            let earlier = looked.entry((one.plan.job, one.plan.mode)).or_default();
            if earlier.iter().any(|earlier| same_server(earlier, one)) {
                continue;
            }
            earlier.push(one);
            let report = engine::check(&launch(engine, recipe, one, known));
            skipped.extend(report.skipped);
            waived.extend(report.waived);
            for finding in &report.findings {
                self.keep(diagnostic(finding, recipe, one), recipe, one, jobs.len());
            }
            for found in sizes::look(engine, &one.server)
                .into_iter()
                .chain(offload::look(engine, one))
                .chain(router::look(recipe, one))
            {
                self.keep(found, recipe, one, jobs.len());
            }
            let Some(speculative) = &one.speculative else { continue };
            if judged.contains(&speculative) {
                continue;
            }
            judged.push(speculative);
            let claim = inject::claim(recipe, speculative, &checkpoint, known);
            for finding in claim.iter().flat_map(engine::acceptance::judge) {
                // It is of the recipe, wherever it was noticed.
                self.keep(diagnostic(&finding, recipe, one), recipe, one, 1);
            }
        }
        // Where nothing could be built, no rule was asked.
        let Some(one) = built.first() else { return };
        for (rule, reason) in recipe.waivers.iter().filter(|(rule, _)| !waived.contains(rule.as_str())) {
            self.keep(unused(rule, reason.at), recipe, one, 1);
        }
    }

    fn keep(&mut self, diagnostic: Diagnostic, recipe: &Recipe, built: &Built, jobs: usize) {
        let key = (diagnostic.span, diagnostic.slug);
        let seen = self.seen.entry(key).or_insert_with(|| Seen { diagnostic, points: BTreeMap::new() });
        let points = seen.points.entry(recipe.key.value.clone()).or_insert_with(|| (BTreeSet::new(), jobs));
        points.0.insert(built.plan.job.unwrap_or(0));
    }

    /// Reports each finding once, with the points at which it was made unless it was made at all.
    pub(crate) fn report(self, out: &mut Diagnostics) {
        for Seen { mut diagnostic, points } in self.seen.into_values() {
            let total: usize = points.values().map(|(_, jobs)| jobs).sum();
            let ids: Vec<String> = points
                .iter()
                .flat_map(|(key, (jobs, _))| jobs.iter().map(move |job| format!("{key}#{job}")))
                .collect();
            if ids.len() < total {
                let shown = ids.get(..ids.len().min(4)).unwrap_or_default().join(", ");
                let more = if ids.len() > 4 { ", …" } else { "" };
                diagnostic = diagnostic.why(format!("at {} of {total} points: {shown}{more}", ids.len()));
            }
            out.push(diagnostic);
        }
    }
}

/// Returns true if two plans start the same server on the same kind of machine.
fn same_server(a: &Built, b: &Built) -> bool {
    a.hardware == b.hardware && a.plan.groups.get(a.group) == b.plan.groups.get(b.group)
}

fn unused(rule: &str, at: Option<Span>) -> Diagnostic {
    let mut diagnostic = Diagnostic::note(
        slugs::recipe::UNUSED_WAIVER,
        format!("nothing is waived: `{rule}` has no complaint"),
    )
    .why("the rule was asked at every point, and would have said nothing")
    .help("take the waiver out: it would hide a fault that comes later");
    diagnostic.span = at;
    diagnostic
}

fn diagnostic(finding: &Finding, recipe: &Recipe, built: &Built) -> Diagnostic {
    let mut diagnostic = match finding.severity {
        Severity::Error => Diagnostic::error(finding.slug, finding.message.clone()),
        Severity::Warning => Diagnostic::warning(finding.slug, finding.message.clone()),
        Severity::Note => Diagnostic::note(finding.slug, finding.message.clone()),
    };
    diagnostic.notes.clone_from(&finding.notes);
    diagnostic.notes.extend(finding.evidence.iter().map(|source| match finding.rule {
        "" => format!("evidence: {source}"),
        rule => format!("evidence for rule `{rule}`: {source}"),
    }));
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
pub(crate) fn place(about: &About, recipe: &Recipe, built: &Built) -> Option<Span> {
    let server = &built.server;
    // Words of the program that belong to no option come first.
    let option =
        |index: &usize| server.options.get(index.checked_sub(server.head.saturating_sub(built.program))?);
    match about {
        About::Name(index) => option(index).map_or(server.at, |given| given.name_at.or(given.at)),
        About::Value(index, path) => match option(index) {
            Some(given) => {
                let inside = given.inside.as_ref().and_then(|tree| inside(tree, path));
                inside.or(given.at).or(given.name_at)
            }
            None => server.at,
        },
        About::Variable(name) => {
            server.env_name_at.get(name.as_str()).copied().or_else(|| field(recipe, built, name))
        }
        About::VariableValue(name) => {
            server.env_at.get(name.as_str()).copied().or_else(|| field(recipe, built, name))
        }
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
            at(speculative.and_then(|one| one.draft.as_ref()).map(|draft| &draft.checkpoint.repository))
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
