//! A server as the engine's rules look at it.

use engine::known::Known;
use engine::{Argument, Engine, Hardware, Launch, Model, Parallel, Scenario, Speculative};
use serde_json::Value as Json;

use crate::build::Built;
use crate::facts;
use crate::inject;
use crate::plan::{Mode, Piece, Word};
use crate::recipe::Recipe;
use crate::search::Workload;
use crate::tree::{Node, Tree};

/// Returns a plan's server as plain data for the engine's rules.
#[must_use]
pub fn launch(engine: Engine, recipe: &Recipe, built: &Built, known: &Known) -> Launch {
    let stated = recipe.engine_version.as_ref().map(|version| version.value.as_str());
    let pinned = known.images.get(&recipe.image.value).and_then(|image| image.engine_version.as_ref());
    let stated = pinned.map(|fact| fact.value.as_str()).or(stated);
    let image = &recipe.image.value;
    let server = built.plan.groups.get(built.group).and_then(|group| group.replicas.first());
    let server = server.and_then(|replica| replica.ranks.first());
    let argv = server.map_or(&[][..], |rank| rank.argv.as_slice());
    let words = |range: std::ops::Range<usize>| -> Vec<String> {
        argv.get(range).unwrap_or_default().iter().map(text).collect()
    };
    let positionals = words(built.program..built.server.head)
        .into_iter()
        .map(|word| Argument { name: word.clone(), words: vec![word] });
    let options = built
        .server
        .options
        .iter()
        .map(|given| Argument { name: given.name.to_string(), words: words(given.words.clone()) });
    let environment = server
        .into_iter()
        .flat_map(|rank| &rank.env)
        .map(|(name, value)| (name.clone(), text(value)))
        .collect();
    let chosen = engine::choose(engine, image, stated);
    let mut launch = Launch::new(chosen, image, positionals.chain(options).collect(), environment);
    launch.worker = Engine::is_worker(&words(0..built.program));
    launch.waivers =
        recipe.waivers.iter().map(|(rule, reason)| (rule.clone(), reason.value.clone())).collect();
    launch.config = built.server.configs.first().map(|(_, tree)| json(tree));
    launch.mode = match built.plan.mode {
        Mode::Throughput => engine::Mode::Throughput,
        Mode::Eval => engine::Mode::Eval,
    };
    let point = &built.job.point;
    let (scenario, tokens) = match point.workload {
        Workload::FixedSequence { isl, osl } => {
            (Scenario::FixedSequence, Some((u64::from(isl), u64::from(osl))))
        }
        Workload::Agentic { .. } => (Scenario::Agentic, None),
    };
    launch.workload =
        engine::Workload { scenario: Some(scenario), concurrency: Some(u64::from(point.conc)), tokens };
    launch.hardware = Some(Hardware {
        sku: built.hardware.sku.value.clone(),
        architecture: built.hardware.architecture.value.clone(),
        hbm: built.hardware.hbm_mib.map(|mib| mib << 20),
        gpus_per_node: Some(built.hardware.gpus_per_node),
        dram: built.hardware.dram_mib.map(|mib| mib << 20),
    });
    let checkpoint = facts::checkpoint(recipe, known);
    let model = |repository: &str, facts| Model { repository: repository.to_owned(), facts };
    launch.model = Some(model(&recipe.model.repository.value, checkpoint.clone()));
    let parallel = point.parallel;
    launch.parallel = Some(Parallel {
        tp: parallel.tp,
        pp: parallel.pp,
        ep: parallel.ep,
        dp_attn: parallel.dp_attn,
        dcp: parallel.dcp,
        pcp: parallel.pcp,
    });
    if let Some(speculative) = &built.speculative {
        if let Some(draft) = &speculative.draft {
            let id = &draft.checkpoint.repository.value;
            launch.draft = Some(model(id, known.checkpoints.get(id).cloned().unwrap_or_default()));
        }
        launch.speculative = Some(Speculative {
            method: speculative.method.value.clone(),
            steps: speculative.steps.value,
            sampling: speculative.draft_sampling.as_ref().map(|sampling| sampling.value.clone()),
            acceptance: inject::claim(recipe, speculative, &checkpoint, known)
                .and_then(|claim| claim.length()),
        });
    }
    launch.kv_offload = point.kv_offload.as_ref().map(|kv| kv.medium.clone());
    launch
}

/// Returns a word with each hole as some text: rules look at what is decided.
fn text(word: &Word) -> String {
    word.pieces()
        .iter()
        .map(|piece| match piece {
            Piece::Text(text) => text.as_str(),
            Piece::Hole(_) => "0",
        })
        .collect()
}

fn json(tree: &Tree) -> Json {
    match &tree.node {
        Node::Null | Node::Function(_) => Json::Null,
        Node::Bool(value) => Json::from(*value),
        Node::Int(value) => Json::from(*value),
        Node::Float(value) => Json::from(*value),
        Node::Text(text) => Json::from(&**text),
        Node::List(items) => items.iter().map(json).collect(),
        Node::Set(fields) => {
            fields.iter().map(|field| (field.name.to_string(), json(&field.value))).collect()
        }
    }
}
