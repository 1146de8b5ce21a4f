//! Acceptance that a launch injects: told whole, in the engine's unit, where it may be told.

use diag::slugs::engine as slugs;
use serde_json::Value as Json;

use crate::Engine;
use crate::acceptance::{self, MEMBERS, OPTIONS, VARIABLES};
use crate::curves::{self, Drafting};
use crate::decimal::Decimal;
use crate::finding::{About, Finding};
use crate::image::{Tagged, identify};
use crate::launch::{Mode, Scenario};
use crate::rules::vllm::speculation;
use crate::view::View;

/// One way in which a launch tells an acceptance.
struct Told {
    about: About,
    what: String,
    /// The length in tokens a step, whatever the engine's unit.
    length: Option<Decimal>,
    /// How the engine's own value is written for a length.
    unit: Unit,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Unit {
    Length,
    Accepted,
    Rate,
}

pub(crate) fn check(view: &View<'_>, findings: &mut Vec<Finding>) {
    let told = told(view);
    let Some(first) = told.first() else {
        findings.extend(not_told(view));
        return;
    };
    if view.launch.mode == Mode::Eval {
        findings.extend(told.iter().map(|one| {
            Finding::error(
                slugs::ACCEPTANCE_IN_EVAL,
                one.about.clone(),
                format!("an eval run is told to accept drafts by {}", one.what),
            )
            .why("forced acceptance commits drafts whatever the model says, and the score is noise")
            .help("let the recipe declare `speculative.acceptance`: it reaches throughput runs only")
        }));
        return;
    }
    if view.launch.workload.scenario == Some(Scenario::FixedSequence) {
        findings.extend(told.iter().map(|one| {
            Finding::error(slugs::ACCEPTANCE_ON_FIXED_SEQUENCE, one.about.clone(), format!("a fixed-sequence run is told to accept drafts by {}", one.what))
                .why("upstream's policy: fixed sequences draft for real; only replayed conversations are told an acceptance")
        }));
        return;
    }
    partly(view, findings);
    conflicts(view, first, &told, findings);
    distribution(view, findings);
    let tokens = draft_tokens(view);
    let expected = expected(view, tokens);
    for one in &told {
        let (Some(length), Some(tokens)) = (one.length, tokens) else { continue };
        if let Some((golden, whose)) = &expected
            && !length.is_near(*golden)
        {
            findings.push(wrong(view, one, length, *golden, whose, tokens));
        } else if view.table.engine() != Engine::Vllm {
            // vLLM's own rule on its JSON says this already.
            findings.extend(acceptance::in_range(length, tokens, one.about.clone()));
        }
    }
}

/// An acceptance that the recipe declares and that no argument, variable or member carries.
fn not_told(view: &View<'_>) -> Option<Finding> {
    let replayed = view.launch.workload.scenario == Some(Scenario::Agentic);
    let length = view.launch.speculative.as_ref()?.acceptance.as_deref()?;
    if view.launch.mode == Mode::Eval || !replayed {
        return None;
    }
    let mut finding = Finding::error(
        slugs::ACCEPTANCE_INCOMPLETE,
        About::Field("speculative.acceptance".to_owned()),
        format!("an acceptance length of {length} is declared, and nothing tells the engine"),
    )
    .why("the run would draft for real under the label of the declared length");
    if view.table.engine() == Engine::Vllm {
        finding =
            finding.help("give `speculative-config` as one set: the acceptance is added to its members");
    }
    Some(finding)
}

fn told(view: &View<'_>) -> Vec<Told> {
    let mut told = Vec::new();
    for name in VARIABLES {
        let Some(value) = view.variable(name) else { continue };
        let number = Decimal::parse(value);
        let (length, unit) = match *name {
            "SGLANG_SIMULATE_ACC_LEN" => (number, Unit::Length),
            "TLLM_SPEC_DECODE_FORCE_NUM_ACCEPTED_TOKENS" => {
                (number.map(|accepted| accepted.plus(Decimal::ONE)), Unit::Accepted)
            }
            _ => (None, Unit::Length),
        };
        told.push(Told {
            about: About::VariableValue((*name).to_owned()),
            what: format!("`{name}`"),
            length,
            unit,
        });
    }
    if view.table.engine() == Engine::Vllm
        && let Some((map, set)) = speculation(view)
    {
        for name in MEMBERS.iter().filter(|name| map.get(**name).is_some_and(|value| !value.is_null())) {
            let length =
                map.get("synthetic_acceptance_length").filter(|_| *name == "synthetic_acceptance_length");
            told.push(Told {
                about: view.value_of(set.given, &[(*name).to_owned()]),
                what: format!("`{name}`"),
                length: length.and_then(|length| Decimal::parse(&length.to_string())),
                unit: Unit::Length,
            });
        }
        if told.is_empty() && map.get("rejection_sample_method").and_then(Json::as_str) == Some("synthetic") {
            told.push(Told {
                about: view.value_of(set.given, &["rejection_sample_method".to_owned()]),
                what: "`\"rejection_sample_method\": \"synthetic\"`".to_owned(),
                length: None,
                unit: Unit::Length,
            });
        }
    }
    for flag in OPTIONS {
        let Some(set) = view.set(flag) else { continue };
        let number = Decimal::parse(&set.text);
        let rate = flag.ends_with("rate");
        let tokens = draft_tokens(view);
        let length = if rate {
            number.zip(tokens).map(|(rate, tokens)| rate.times(tokens).plus(Decimal::ONE))
        } else {
            number
        };
        told.push(Told {
            about: set.value,
            what: format!("`{flag}`"),
            length,
            unit: if rate { Unit::Rate } else { Unit::Length },
        });
    }
    told
}

/// Draft tokens in a row, as the flags or the engine's file give them.
fn draft_tokens(view: &View<'_>) -> Option<u32> {
    let number = |flag: &str| view.given_number(flag).and_then(|(number, _)| u32::try_from(number).ok());
    let given = match view.table.engine() {
        Engine::Sglang => number("--speculative-num-steps"),
        Engine::Vllm => speculation(view)
            .and_then(|(map, _)| u32::try_from(map.get("num_speculative_tokens")?.as_u64()?).ok()),
        Engine::Trtllm => {
            let config = view.launch.config.as_ref().and_then(|json| json.get("speculative_config"));
            config.and_then(|json| {
                let length = json.get("max_draft_len").or_else(|| json.get("num_nextn_predict_layers"))?;
                u32::try_from(length.as_u64()?).ok()
            })
        }
        Engine::Atom => number("--num-speculative-tokens"),
    };
    given.or(view.launch.speculative.as_ref().map(|declared| declared.steps))
}

/// The length that should be told: the one that the recipe declares, else the one of the only
/// curve that speaks for the checkpoint, where its thinking modes leave no choice.
fn expected(view: &View<'_>, tokens: Option<u32>) -> Option<(Decimal, String)> {
    let declared = view.launch.speculative.as_ref();
    if let Some(length) = declared.and_then(|declared| declared.acceptance.as_deref()) {
        return Some((Decimal::parse(length)?, "the recipe declares".to_owned()));
    }
    let model = view.launch.model.as_ref()?;
    let drafting = Drafting {
        checkpoint: &model.repository,
        method: declared.map_or("mtp", |declared| declared.method.as_str()),
        draft: view.launch.draft.as_ref().map(|draft| draft.repository.as_str()),
        sampling: declared.and_then(|declared| declared.sampling.as_deref()),
    };
    let all = curves::speaking_for(
        curves::committed().iter().map(|(name, one)| (name.as_str(), &one.curve)),
        &drafting,
    );
    let [(name, curve)] = all.as_slice() else { return None };
    let thinks = model.facts.thinks_by_default.as_ref().map(|fact| fact.value);
    let mode = match thinks {
        Some(true) => "on",
        Some(false) => "off",
        None if curve.lengths.len() == 1 => curve.lengths.keys().next()?,
        None => return None,
    };
    Some((curves::length(curve, mode, tokens?)?, format!("`{name}` says of {} draft tokens", tokens?)))
}

fn wrong(view: &View<'_>, one: &Told, length: Decimal, golden: Decimal, whose: &str, tokens: u32) -> Finding {
    let writes = match one.unit {
        Unit::Length => golden.to_string(),
        Unit::Accepted => golden.minus(Decimal::ONE).two_places(),
        Unit::Rate => golden.minus(Decimal::ONE).over(tokens).to_string(),
    };
    // TensorRT-LLM told the length itself is the classic: one draft too many.
    let off_by_one = one.unit == Unit::Accepted && length.minus(Decimal::ONE).is_near(golden);
    if off_by_one {
        return Finding::error(
            slugs::ACCEPTANCE_OFF_BY_ONE,
            one.about.clone(),
            format!("{} counts accepted drafts only, and {golden} counts every token of a step", one.what),
        )
        .why(format!(
            "{} adds the target's own token itself; the other engines do not",
            view.table.engine().title()
        ))
        .help(format!("write {writes}"))
        .replace(writes);
    }
    Finding::error(
        slugs::ACCEPTANCE_OFF_CURVE,
        one.about.clone(),
        format!("{} makes an acceptance length of {length}, and {whose} {golden}", one.what),
    )
    .help(format!("write {writes}"))
    .replace(writes)
}

/// SGLang reads three variables; one alone accepts in another way.
fn partly(view: &View<'_>, findings: &mut Vec<Finding>) {
    if view.table.engine() != Engine::Sglang || view.variable("SGLANG_SIMULATE_ACC_LEN").is_none() {
        return;
    }
    let missing: Vec<&str> = VARIABLES
        .iter()
        .copied()
        .filter(|name| {
            name.starts_with("SGLANG_") && view.variable(name).is_none() && view.table.reads_variable(name)
        })
        .collect();
    if missing.is_empty() {
        return;
    }
    findings.push(
        Finding::warning(
            slugs::ACCEPTANCE_INCOMPLETE,
            About::Variable("SGLANG_SIMULATE_ACC_LEN".to_owned()),
            format!(
                "`SGLANG_SIMULATE_ACC_LEN` stands without {}",
                missing.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" and ")
            ),
        )
        .why("acceptance is then drawn at random and tokens are made up, unlike in the other runs")
        .help("let the recipe declare `speculative.acceptance`: it sets all three"),
    );
}

fn conflicts(view: &View<'_>, first: &Told, told: &[Told], findings: &mut Vec<Finding>) {
    if view.table.engine() != Engine::Atom {
        return;
    }
    if let [one, other] = told {
        findings.push(
            Finding::error(
                slugs::ACCEPTANCE_CONFLICT,
                other.about.clone(),
                format!("{} and {} exclude each other", one.what, other.what),
            )
            .also(one.about.clone(), "given here"),
        );
    }
    if let Some((json, set)) = view.json("--dspark-config")
        && json.get("confidence_schedule") == Some(&Json::Bool(true))
    {
        findings.push(
            Finding::error(
                slugs::ACCEPTANCE_CONFLICT,
                view.value_of(set.given, &["confidence_schedule".to_owned()]),
                format!("a confidence schedule and {} exclude each other", first.what),
            )
            .why("the schedule decides how many drafts are made, and a told acceptance how many are taken")
            .also(first.about.clone(), "the acceptance"),
        );
    }
}

/// The day on which ATOM's rate began to have the spread of the other engines' acceptance.
const EVEN_SPREAD: &str = "20260819";

fn distribution(view: &View<'_>, findings: &mut Vec<Finding>) {
    if view.table.engine() != Engine::Atom {
        return;
    }
    let Some(rate) = view.set("--spec-decode-acceptance-rate") else { return };
    let day = match identify(&view.launch.image) {
        Some((_, Tagged::Day(day))) => Some(day),
        _ => None,
    };
    if day.as_deref().is_some_and(|day| day >= EVEN_SPREAD) {
        return;
    }
    findings.push(
        Finding::warning(
            slugs::ACCEPTANCE_DISTRIBUTION,
            rate.value,
            "builds of ATOM before 2026-08-19 match only the mean of a rate",
        )
        .why("the number of accepted drafts spreads far wider than with the other engines, which costs speed")
        .help("take a newer image and give `spec-decode-acceptance-length`")
        .evidence("https://github.com/ROCm/ATOM/pull/1948"),
    );
}
