//! Synthetic acceptance: what a recipe declares, told to the engine in throughput runs and kept
//! away from it in eval runs.

use diag::Diagnostics;
use engine::Engine;
use engine::acceptance::{self, Claim, Injection};
use engine::curves::Drafting;
use engine::known::{Checkpoint, Known};

use crate::command::Given;
use crate::facts;
use crate::plan::{Mode, Word};
use crate::process::Process;
use crate::recipe::{Recipe, Speculative};

/// What is told to the engine, or kept away from it.
pub(crate) struct Told {
    mode: Mode,
    injection: Option<Injection>,
}

/// Returns what a recipe claims of its acceptance, for those who judge it.
#[must_use]
pub fn claim<'a>(
    recipe: &'a Recipe,
    speculative: &'a Speculative,
    checkpoint: &Checkpoint,
    known: &'a Known,
) -> Option<Claim<'a>> {
    let acceptance = speculative.acceptance.as_ref()?;
    let named = acceptance.curve.as_ref().map(|curve| curve.name.value.as_str());
    Some(Claim {
        length: acceptance.length.as_ref().map(|length| length.value.as_str()),
        curve: named.zip(facts::curve(speculative, known)),
        source: acceptance.source.as_ref().map(|source| source.value.as_str()),
        drafting: Drafting {
            checkpoint: &recipe.model.repository.value,
            method: &speculative.method.value,
            draft: speculative.draft.as_ref().map(|draft| draft.checkpoint.repository.value.as_str()),
            sampling: speculative.draft_sampling.as_ref().map(|sampling| sampling.value.as_str()),
        },
        tokens: speculative.steps.value,
        thinking: facts::thinking(recipe, checkpoint).map(|mode| mode == "on"),
    })
}

pub(crate) fn acceptance(
    recipe: &Recipe,
    speculative: Option<&Speculative>,
    checkpoint: &Checkpoint,
    mode: Mode,
    known: &Known,
) -> Told {
    let injection = speculative
        .and_then(|speculative| claim(recipe, speculative, checkpoint, known))
        .and_then(|claim| claim.length())
        .zip(Engine::parse(&recipe.engine.value))
        .and_then(|(length, engine)| acceptance::injection(engine, &length));
    Told { mode, injection }
}

impl Told {
    pub(crate) fn apply(self, server: &mut Process, out: &mut Diagnostics) {
        let Some(injection) = self.injection else { return };
        if self.mode == Mode::Eval {
            server.unset.extend(injection.unset_in_eval);
            return;
        }
        for (name, value) in injection.env {
            server.env.insert(name, Word::from(value));
        }
        for (name, value) in injection.args {
            insert(server, name.trim_start_matches('-'), &value.to_string());
        }
        for (option, members) in injection.members {
            let name = option.trim_start_matches('-');
            let Some(given) = server.options.iter().find(|given| &*given.name == name) else { continue };
            let Some(last) = server.argv.get_mut(given.words.clone()).and_then(|words| words.last_mut())
            else {
                continue;
            };
            match last.as_text().map(serde_json::from_str) {
                Some(Ok(serde_json::Value::Object(mut all))) => {
                    all.extend(members);
                    *last = Word::from(serde_json::Value::Object(all).to_string());
                }
                _ => {
                    let mut finding = diag::Diagnostic::error(
                        diag::slugs::recipe::WRONG_TYPE,
                        format!("`{name}` is not a set, so acceptance cannot be added to it"),
                    );
                    finding.span = given.at;
                    out.push(finding);
                }
            }
        }
    }
}

/// Adds an option at its place in the documented order, in place of one that is there.
fn insert(server: &mut Process, name: &str, value: &str) {
    let words = [Word::from(format!("--{name}")), Word::from(value)];
    let place = server.options.partition_point(|one| &*one.name < name);
    let start = server.options.get(place).map_or(server.argv.len(), |next| next.words.start);
    let replaced = match server.options.get(place) {
        Some(same) if &*same.name == name => same.words.len(),
        _ => 0,
    };
    server.argv.splice(start..start + replaced, words);
    let given = Given {
        name: name.into(),
        at: None,
        name_at: None,
        overrides: None,
        words: start..start + 2,
        inside: None,
    };
    if replaced == 0 {
        server.options.insert(place, given);
    } else {
        server.options[place] = given;
    }
    for later in server.options.iter_mut().skip(place + 1) {
        later.words = later.words.start + 2 - replaced..later.words.end + 2 - replaced;
    }
}
