//! A recipe as an entry of InferenceX's master configuration.
//!
//! This module, `matrix` and `import` are the only ones that speak upstream's vocabulary. The fields
//! are those of `utils/matrix_logic/validation.py` at 843c6254. An entry says less than a recipe:
//! what is served, where, and which points are measured, not how.

use std::fmt::Write as _;

use diag::{Diagnostic, Diagnostics, Span, slugs};

use crate::matrix::{self, DURATION};
use crate::recipe::Recipe;
use crate::search::{Entry, Scenario, Workload};
use crate::yaml::scalar_text;

/// Runners of replayed conversations are one cluster each, and are called so.
const CLUSTER: &str = "cluster:";

/// Writes the entry of a recipe as YAML, under its key.
#[must_use]
pub fn entry(recipe: &Recipe) -> String {
    let mut text = format!("{}:\n", scalar_text(&recipe.key.value));
    let model = &recipe.model;
    let fields = [
        ("image", recipe.image.value.as_str()),
        ("model", &model.repository.value),
        ("model-prefix", &model.prefix.value),
        ("runner", recipe.runner()),
        ("precision", &model.precision.value),
        ("framework", &recipe.engine.value),
    ];
    for (name, value) in fields {
        let _ = writeln!(text, "  {name}: {}", scalar_text(value));
    }
    text.push_str("  multinode: false\n  scenarios:\n");
    let fixed = |scenario: &&Scenario| matches!(scenario.workload, Workload::FixedSequence { .. });
    let (fixed, agentic): (Vec<_>, Vec<_>) = recipe.scenarios.iter().partition(fixed);
    for (name, scenarios) in [("fixed-seq-len", fixed), ("agentic-coding", agentic)] {
        if !scenarios.is_empty() {
            let _ = writeln!(text, "    {name}:");
        }
        for scenario in scenarios {
            self::scenario(recipe, scenario, &mut text);
        }
    }
    text
}

fn scenario(recipe: &Recipe, scenario: &Scenario, text: &mut String) {
    let mut first = "- ";
    let mut line = |words: std::fmt::Arguments<'_>| {
        let _ = writeln!(text, "    {first}{words}");
        first = "  ";
    };
    match &scenario.workload {
        Workload::FixedSequence { isl, osl } => {
            line(format_args!("isl: {isl}"));
            line(format_args!("osl: {osl}"));
        }
        Workload::Agentic { dram_utilization, .. } => {
            if let Some(share) = dram_utilization {
                line(format_args!("dram-utilization: {}", share.value));
            }
        }
    }
    line(format_args!("search-space:"));
    let agentic = matches!(scenario.workload, Workload::Agentic { .. });
    for part in &scenario.search {
        let _ = writeln!(text, "      - {{ {} }}", fields(recipe, part, agentic).join(", "));
    }
}

/// Returns the fields of a part of a search space. Widths of 1 are written where the manifest has
/// them, as an author who wrote one wants it to be read.
fn fields(recipe: &Recipe, part: &Entry, agentic: bool) -> Vec<String> {
    let written = |name: &str| part.places.iter().any(|(place, _)| *place == name);
    let parallel = part.parallel;
    let mut fields = vec![format!("tp: {}", parallel.tp)];
    let widths = [
        ("pp", "pp", parallel.pp),
        ("dcp", "dcp-size", parallel.dcp),
        ("pcp", "pcp-size", parallel.pcp),
        ("ep", "ep", parallel.ep),
    ];
    for (name, theirs, width) in widths {
        if width != 1 || written(name) {
            fields.push(format!("{theirs}: {width}"));
        }
    }
    if parallel.dp_attn || written("dpAttn") {
        fields.push(format!("dp-attn: {}", parallel.dp_attn));
    }
    match matrix::speculation(recipe) {
        "none" => {}
        label => fields.push(format!("spec-decoding: {}", scalar_text(label))),
    }
    if agentic {
        let medium = part.kv_offload.as_ref().map_or("none", |kv| &kv.medium);
        fields.push(format!("kv-offloading: {}", scalar_text(medium)));
    }
    if let Some(kv) = &part.kv_offload {
        fields.push(format!("kv-offload-backend: {}", component(&kv.backend.value, kv.version.as_deref())));
    }
    if let Some(router) = &part.router {
        fields.push(format!("router: {}", component(&router.name.value, Some(&router.version.value))));
    }
    match (part.listed, part.conc.first(), part.conc.last()) {
        (false, Some(first), Some(last)) => {
            fields.push(format!("conc-start: {}", first.value));
            fields.push(format!("conc-end: {}", last.value));
        }
        _ => {
            let all: Vec<String> = part.conc.iter().map(|conc| conc.value.to_string()).collect();
            fields.push(format!("conc-list: [{}]", all.join(", ")));
        }
    }
    fields
}

fn component(name: &str, version: Option<&str>) -> String {
    let name = scalar_text(name);
    match version {
        Some(version) => format!("{{ name: {name}, version: {} }}", scalar_text(version)),
        None => format!("{{ name: {name} }}"),
    }
}

/// Reports what an entry cannot say, or what upstream refuses, of a recipe.
pub fn refusals(recipe: &Recipe, out: &mut Diagnostics) {
    let mut refuse = |message: String, why: &str, at: Option<Span>| {
        let mut finding = Diagnostic::error(slugs::recipe::ENTRY_CANNOT_SAY, message).why(why);
        finding.span = at.or(recipe.key.at);
        out.push(finding);
    };
    for scenario in &recipe.scenarios {
        let Workload::Agentic { duration, dram_utilization } = &scenario.workload else {
            if let Some(part) = scenario.search.iter().find(|part| part.kv_offload.is_some()) {
                let at = part.kv_offload.as_ref().and_then(|kv| kv.backend.at).or(part.at);
                let why = "upstream has KV offload for replayed conversations alone";
                refuse("a fixed sequence has no KV offload in an entry".to_owned(), why, at);
            }
            continue;
        };
        if *duration != DURATION {
            let message = format!("an entry cannot ask for {duration} seconds");
            refuse(message, "upstream replays conversations for an hour, always", scenario.at);
        }
        if !recipe.runner().starts_with(CLUSTER) {
            let message =
                format!("upstream refuses `{}` as the runner of an agentic scenario", recipe.runner());
            let at = recipe.targets.first().and_then(|target| target.at);
            refuse(message, "its name must begin with `cluster:`, so that all points run on one", at);
        }
        let offloads = scenario.search.iter().find(|part| part.kv_offload.is_some());
        if let (Some(part), None) = (offloads, dram_utilization) {
            let message = "KV offload without `dramUtilization`".to_owned();
            refuse(message, "upstream wants the share of the host's memory that it may use", part.at);
        }
    }
}
