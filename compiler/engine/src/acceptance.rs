//! Synthetic acceptance: one declared length, told to each engine in its own way, and only where
//! it may be told.
//!
//! A length counts every token that a step yields: the accepted drafts and the one that the target
//! model adds. TensorRT-LLM counts accepted drafts only, so it is told one less.

use std::collections::{BTreeMap, BTreeSet};

use diag::slugs::engine as slugs;
use serde_json::{Map, Value as Json};

use crate::curves::{self, Drafting};
use crate::decimal::Decimal;
use crate::known::Curve;
use crate::{About, Engine, Finding};

/// What makes an engine accept drafts as if it had measured the length.
#[derive(Clone, Default, PartialEq, Debug)]
pub struct Injection {
    /// Variables to set in throughput runs.
    pub env: BTreeMap<String, String>,
    /// Variables that an eval run must not have, whoever sets them.
    pub unset_in_eval: BTreeSet<String>,
    /// Options to add in throughput runs, by full name.
    pub args: BTreeMap<String, Json>,
    /// Members to add to a JSON-valued option that the recipe gives, by the option's full name.
    pub members: BTreeMap<String, Map<String, Json>>,
}

/// Every variable by which an engine is told an acceptance length.
pub const VARIABLES: &[&str] = &[
    "SGLANG_SIMULATE_ACC_LEN",
    "SGLANG_SIMULATE_ACC_METHOD",
    "SGLANG_SIMULATE_ACC_TOKEN_MODE",
    "TLLM_SPEC_DECODE_FORCE_NUM_ACCEPTED_TOKENS",
];

/// Members of vLLM's speculative configuration that make acceptance synthetic.
pub const MEMBERS: &[&str] =
    &["synthetic_acceptance_length", "synthetic_acceptance_rates", "synthetic_acceptance_rate"];

/// Options by which ATOM is told an acceptance.
pub const OPTIONS: &[&str] = &["--spec-decode-acceptance-length", "--spec-decode-acceptance-rate"];

/// Returns how an engine is told a length. `None` where the length is no decimal.
#[must_use]
pub fn injection(engine: Engine, length: &str) -> Option<Injection> {
    let value = Decimal::parse(length)?;
    let mut told = Injection::default();
    let number = |text: &str| text.parse::<serde_json::Number>().map_or(Json::Null, Json::Number);
    match engine {
        Engine::Sglang => {
            for (name, value) in [
                ("SGLANG_SIMULATE_ACC_LEN", length.trim()),
                ("SGLANG_SIMULATE_ACC_METHOD", "match-expected"),
                ("SGLANG_SIMULATE_ACC_TOKEN_MODE", "real-draft-token"),
            ] {
                told.env.insert(name.to_owned(), value.to_owned());
            }
        }
        Engine::Vllm => {
            let members = Map::from_iter([
                ("rejection_sample_method".to_owned(), Json::from("synthetic")),
                ("synthetic_acceptance_length".to_owned(), number(length.trim())),
            ]);
            told.members.insert("--speculative-config".to_owned(), members);
        }
        Engine::Trtllm => {
            let accepted = value.minus(Decimal::ONE).two_places();
            told.env.insert("TLLM_SPEC_DECODE_FORCE_NUM_ACCEPTED_TOKENS".to_owned(), accepted);
        }
        Engine::Atom => {
            told.args.insert("--spec-decode-acceptance-length".to_owned(), number(length.trim()));
        }
    }
    told.unset_in_eval = told.env.keys().cloned().collect();
    Some(told)
}

/// What a recipe claims of its acceptance.
#[derive(Clone, Copy, Debug)]
pub struct Claim<'a> {
    /// The length as the manifest writes it; `None` where it is the curve's.
    pub length: Option<&'a str>,
    /// The curve that the manifest names, with the name of its file.
    pub curve: Option<(&'a str, &'a Curve)>,
    /// Where a model without a curve has its length from.
    pub source: Option<&'a str>,
    /// What it drafts with.
    pub drafting: Drafting<'a>,
    /// Draft tokens in a row that one step proposes.
    pub tokens: u32,
    /// Whether the traffic thinks; `None` where neither the recipe nor the checkpoint says.
    pub thinking: Option<bool>,
}

impl Claim<'_> {
    /// Returns the length that runs are told: the manifest's, else the curve's for the thinking mode
    /// and the number of draft tokens.
    #[must_use]
    pub fn length(&self) -> Option<String> {
        if let Some(length) = self.length {
            return Some(length.to_owned());
        }
        let (_, curve) = self.curve?;
        curve.lengths.get(mode(self.thinking?))?.get(&self.tokens).cloned()
    }
}

fn mode(thinking: bool) -> &'static str {
    if thinking { "on" } else { "off" }
}

/// Judges a claim against the curve that the manifest names, else against those that upstream has
/// committed.
#[must_use]
pub fn judge(claim: &Claim<'_>) -> Vec<Finding> {
    let here = || About::Field("speculative.acceptance.length".to_owned());
    let mut findings = Vec::new();
    let value = match claim.length.map(|text| (text, Decimal::parse(text))) {
        Some((text, None)) => {
            findings.push(Finding::error(
                slugs::ACCEPTANCE_OUT_OF_RANGE,
                here(),
                format!("`{text}` is not an acceptance length"),
            ));
            return findings;
        }
        Some((_, value)) => value,
        None => None,
    };
    if let Some(value) = value
        && let Some(finding) = in_range(value, claim.tokens, here())
    {
        findings.push(finding);
        return findings;
    }
    let committed = curves::committed();
    let named = claim.curve.map(|curve| vec![curve]);
    let all = named.unwrap_or_else(|| {
        curves::speaking_for(committed.iter().map(|(name, one)| (name.as_str(), &one.curve)), &claim.drafting)
    });
    let Some((name, curve)) = all.first().copied() else {
        if claim.source.is_none() {
            findings.push(no_curve(claim, value));
        }
        return findings;
    };
    findings.extend(another_model(claim, name, curve));
    let Some(thinking) = claim.thinking else {
        let modes: BTreeSet<Option<Decimal>> =
            curve.lengths.keys().map(|mode| curves::length(curve, mode, claim.tokens)).collect();
        // One measured mode, or two that agree, leave nothing to choose.
        if modes.len() > 1
            && value.is_none_or(|value| modes.iter().flatten().any(|length| length.is_near(value)))
        {
            findings.push(
                Finding::error(
                    slugs::ACCEPTANCE_THINKING,
                    About::Field("model.thinking".to_owned()),
                    format!(
                        "nothing says whether the traffic thinks, and `{name}` says {}",
                        curves::says(curve, claim.tokens)
                    ),
                )
                .help("state `thinking = true;` or `thinking = false;` of the model"),
            );
        }
        return findings;
    };
    let says = curves::says(curve, claim.tokens);
    let expected = curves::length(curve, mode(thinking), claim.tokens);
    match (value, expected) {
        (Some(value), Some(expected)) if !value.is_near(expected) => {
            findings.push(off_curve(claim, value, expected, (name, curve), thinking));
        }
        (_, None) => findings.push(
            Finding::error(
                slugs::ACCEPTANCE_OFF_CURVE,
                About::Field("speculative.acceptance".to_owned()),
                format!(
                    "`{name}` has no length for {} draft tokens with thinking {}",
                    claim.tokens,
                    mode(thinking)
                ),
            )
            .why(format!("at {} draft tokens `{name}` says {says}", claim.tokens)),
        ),
        _ => {}
    }
    findings
}

/// Returns a finding for a length outside of `1..=n+1`, which no run can have.
pub(crate) fn in_range(value: Decimal, tokens: u32, about: About) -> Option<Finding> {
    let most = Decimal::whole(tokens.saturating_add(1));
    if value >= Decimal::ONE && value <= most {
        return None;
    }
    Some(
        Finding::error(
            slugs::ACCEPTANCE_OUT_OF_RANGE,
            about,
            format!("acceptance length {value} is not between 1 and {}", tokens.saturating_add(1)),
        )
        .why(format!(
            "a step yields one token by itself and at most {tokens} accepted drafts, so {} is the most",
            tokens.saturating_add(1)
        )),
    )
}

fn off_curve(
    claim: &Claim<'_>,
    value: Decimal,
    expected: Decimal,
    (name, curve): (&str, &Curve),
    thinking: bool,
) -> Finding {
    let tokens = claim.tokens;
    let places = curves::places(curve, value);
    let other_mode = mode(!thinking);
    let whose = if places.iter().any(|(mode, n)| *mode == other_mode && *n == tokens) {
        format!("is of thinking {other_mode}, and the traffic has thinking {}", mode(thinking))
    } else if let Some((_, n)) = places.iter().find(|(of, _)| *of == mode(thinking)) {
        format!("is of {n} draft tokens, and the recipe drafts {tokens}")
    } else {
        format!("is not on the curve of {tokens} draft tokens")
    };
    let mut finding = Finding::error(
        slugs::ACCEPTANCE_OFF_CURVE,
        About::Field("speculative.acceptance.length".to_owned()),
        format!("acceptance length {value} {whose}"),
    )
    .why(format!("at {tokens} draft tokens `{name}` says {}", curves::says(curve, tokens)))
    .help(format!("write {expected}, or leave the length out and let the curve give it"))
    .replace(expected.to_string())
    .also(About::Field("speculative.acceptance.curve".to_owned()), "the curve that is named");
    // The value may be right for another way of drafting.
    for (other, one) in curves::committed() {
        let same_model =
            curves::speaks_of(&one.curve, claim.drafting.checkpoint) || one.curve.model == curve.model;
        if other == name || !same_model {
            continue;
        }
        if let Some((mode, n)) = curves::places(&one.curve, value).into_iter().find(|(_, n)| *n == tokens) {
            let how = one
                .curve
                .draft_sampling
                .as_deref()
                .or(one.curve.draft.as_deref())
                .unwrap_or(&one.curve.method);
            finding = finding
                .why(format!("{value} is what `{other}` ({how}) says of {n} draft tokens, thinking {mode}"));
        }
    }
    finding
}

fn no_curve(claim: &Claim<'_>, value: Option<Decimal>) -> Finding {
    let mut finding = Finding::warning(
        slugs::ACCEPTANCE_WITHOUT_CURVE,
        About::Field("speculative.acceptance".to_owned()),
        format!(
            "no golden curve is known of `{}` with `{}`",
            claim.drafting.checkpoint, claim.drafting.method
        ),
    )
    .help("name a curve, or say in `source` where the length was measured");
    if let Some(value) = value {
        for (name, one) in curves::committed() {
            if let Some((mode, _)) =
                curves::places(&one.curve, value).into_iter().find(|(_, n)| *n == claim.tokens)
            {
                finding = finding.why(format!(
                    "{value} is what `{name}` says of `{}` at {} draft tokens, thinking {mode}: another model",
                    one.curve.model, claim.tokens
                ));
            }
        }
    }
    finding
}

/// A curve that the manifest names although it was measured with something else.
fn another_model(claim: &Claim<'_>, name: &str, curve: &Curve) -> Option<Finding> {
    claim.curve?;
    let what = if !curves::speaks_of(curve, claim.drafting.checkpoint) {
        format!("was measured on `{}`, not on `{}`", curve.model, claim.drafting.checkpoint)
    } else if curves::speaking_for([(name, curve)], &claim.drafting).is_empty() {
        let how = |draft: Option<&str>, sampling: Option<&str>, method: &str| {
            [Some(method), draft, sampling].into_iter().flatten().collect::<Vec<_>>().join(", ")
        };
        format!(
            "was measured with {}, and the recipe drafts with {}",
            how(curve.draft.as_deref(), curve.draft_sampling.as_deref(), &curve.method),
            how(claim.drafting.draft, claim.drafting.sampling, claim.drafting.method)
        )
    } else {
        return None;
    };
    if claim.source.is_some() {
        return None;
    }
    Some(
        Finding::error(
            slugs::ACCEPTANCE_OTHER_CURVE,
            About::Field("speculative.acceptance.curve".to_owned()),
            format!("`{name}` {what}"),
        )
        .help("name the curve of this model and draft, or say in `source` why this one stands in for it"),
    )
}

#[cfg(test)]
mod tests {
    use super::{Claim, injection, judge};
    use crate::Engine;
    use crate::curves::{Drafting, committed, read_yaml};
    use crate::known::Curve;

    /// A curve invented for this test, in upstream's form.
    const INVENTED: &str = "# Measured on agent-1 (B300, vLLM MTP), per num_speculative_tokens.\n\
        agent-1:\n  thinking_on:\n    2: 2.05\n    3: 2.32\n  thinking_off:\n    2: 2.61\n    3: 3.24\n";

    fn claim<'a>(curve: &'a Curve, length: &'a str, thinking: bool) -> Claim<'a> {
        Claim {
            length: Some(length),
            curve: Some(("agent-1_mtp.yaml", curve)),
            source: None,
            drafting: Drafting {
                checkpoint: "someone/Agent-1-NVFP4",
                method: "mtp",
                draft: None,
                sampling: None,
            },
            tokens: 3,
            thinking: Some(thinking),
        }
    }

    #[test]
    fn a_length_of_the_other_thinking_mode_is_said_to_be_that() {
        let curve = read_yaml(INVENTED).expect("well formed").curve;
        let [finding] = &judge(&claim(&curve, "3.24", true))[..] else { panic!("one finding") };
        assert_eq!(finding.slug.as_str(), "acceptance-off-curve");
        assert_eq!(
            finding.message,
            "acceptance length 3.24 is of thinking off, and the traffic has thinking on"
        );
        assert_eq!(
            finding.notes[0],
            "at 3 draft tokens `agent-1_mtp.yaml` says 2.32 (thinking on), 3.24 (thinking off)"
        );
        assert_eq!(finding.replacement.as_deref(), Some("2.32"));
        assert!(judge(&claim(&curve, "2.320", true)).is_empty());
        assert!(judge(&claim(&curve, "3.24", false)).is_empty());
    }

    #[test]
    fn a_length_of_another_draft_length_is_said_to_be_that() {
        let curve = &committed()["dsv4_mtp.yaml"].curve;
        let mut claim = claim(curve, "2.49", true);
        claim.drafting.checkpoint = "deepseek-ai/DeepSeek-V4-Pro";
        claim.tokens = 2;
        let [finding] = &judge(&claim)[..] else { panic!("one finding") };
        assert_eq!(finding.message, "acceptance length 2.49 is of 3 draft tokens, and the recipe drafts 2");
        assert_eq!(finding.replacement.as_deref(), Some("2.27"));
    }

    #[test]
    fn a_length_of_another_way_of_drafting_is_said_to_be_that() {
        let name = "kimik3_dspark_probabilistic_sample_method_block_rejection_sample_method.yaml";
        let claim = Claim {
            length: Some("2.45"),
            curve: Some((name, &committed()[name].curve)),
            source: None,
            drafting: Drafting {
                checkpoint: "moonshotai/Kimi-K3",
                method: "dspark",
                draft: Some("Inferact/Kimi-K3-DSpark"),
                sampling: Some("probabilistic"),
            },
            tokens: 2,
            thinking: Some(true),
        };
        let [finding] = &judge(&claim)[..] else { panic!("one finding") };
        assert!(
            finding.notes.iter().any(|note| note.contains("kimik3_dspark.yaml` (greedy)")),
            "{:?}",
            finding.notes
        );
        assert_eq!(finding.replacement.as_deref(), Some("2.51"));
    }

    #[test]
    fn a_model_without_a_curve_must_state_its_source() {
        let mut claim = Claim {
            length: Some("2.88"),
            curve: None,
            source: None,
            drafting: Drafting {
                checkpoint: "nvidia/Kimi-K2.6-NVFP4",
                method: "eagle3",
                draft: None,
                sampling: None,
            },
            tokens: 3,
            thinking: Some(true),
        };
        let [finding] = &judge(&claim)[..] else { panic!("one finding") };
        assert_eq!(finding.slug.as_str(), "acceptance-without-curve");
        assert!(finding.notes[0].contains("kimik2.5_eagle3.yaml"), "{:?}", finding.notes);
        claim.source = Some("https://example.org/measured");
        assert!(judge(&claim).is_empty());
    }

    #[test]
    fn a_length_beyond_what_a_step_can_yield_is_refused() {
        let curve = read_yaml(INVENTED).expect("well formed").curve;
        assert_eq!(judge(&claim(&curve, "4.5", true))[0].slug.as_str(), "acceptance-out-of-range");
        assert_eq!(judge(&claim(&curve, "0.9", true))[0].slug.as_str(), "acceptance-out-of-range");
    }

    #[test]
    fn each_engine_is_told_in_its_own_unit() {
        let told = |engine| injection(engine, "2.78").expect("a decimal");
        assert_eq!(told(Engine::Trtllm).env["TLLM_SPEC_DECODE_FORCE_NUM_ACCEPTED_TOKENS"], "1.78");
        assert_eq!(told(Engine::Sglang).env.len(), 3);
        assert_eq!(told(Engine::Sglang).unset_in_eval.len(), 3);
        assert_eq!(told(Engine::Vllm).members["--speculative-config"]["synthetic_acceptance_length"], 2.78);
        assert!(told(Engine::Vllm).env.is_empty());
        assert_eq!(told(Engine::Atom).args["--spec-decode-acceptance-length"], 2.78);
    }
}
