//! Golden acceptance-length curves: which one speaks for a recipe, and what it says.
//!
//! A curve belongs to a model, a draft, a method and a way of drafting, never to a model alone: two
//! of upstream's files share a model key. Curves are not monotone (measured), so only the range
//! `1..=n+1` is ever demanded of a value.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde::Deserialize;

use crate::decimal::Decimal;
use crate::known::Curve;

/// A curve that upstream has committed, with the conditions it was measured under.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Committed {
    /// The curve.
    pub curve: Curve,
    /// The conditions, by name: `run`, `dataset`, `outputTokens`, `hardware`.
    pub conditions: BTreeMap<String, String>,
}

/// Returns the curves that upstream has committed, by the name of their file.
pub fn committed() -> &'static BTreeMap<String, Committed> {
    static CURVES: OnceLock<BTreeMap<String, Committed>> = OnceLock::new();
    // The text is the project's own and a test reads it, so the empty map is never seen.
    CURVES.get_or_init(|| serde_json::from_str(include_str!("../curves.json")).unwrap_or_default())
}

/// What a recipe drafts with.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Drafting<'a> {
    /// Repository id of the checkpoint that serves.
    pub checkpoint: &'a str,
    /// The method in the recipe's words: `mtp`, `eagle3`, `dspark`.
    pub method: &'a str,
    /// Repository id or path of the draft, where it is a model of its own.
    pub draft: Option<&'a str>,
    /// How the draft samples: `greedy` or `probabilistic`; `None` where nobody says.
    pub sampling: Option<&'a str>,
}

/// Returns the curves that speak for a recipe, best first: each condition that both sides state
/// must agree, and the draft decides before the rest.
#[must_use]
pub fn speaking_for<'a>(
    curves: impl IntoIterator<Item = (&'a str, &'a Curve)>,
    drafting: &Drafting<'_>,
) -> Vec<(&'a str, &'a Curve)> {
    curves
        .into_iter()
        .filter(|(_, curve)| speaks_of(curve, drafting.checkpoint))
        .filter(|(_, curve)| curve.method.is_empty() || method(&curve.method) == method(drafting.method))
        .filter(|(_, curve)| match (&curve.draft, drafting.draft) {
            (Some(measured), Some(used)) => name(measured) == name(used),
            _ => true,
        })
        .filter(|(_, curve)| match (&curve.draft_sampling, drafting.sampling) {
            (Some(measured), Some(used)) => measured == used,
            // Engines draft greedily unless told otherwise.
            (Some(measured), None) => measured == "greedy",
            _ => true,
        })
        .collect()
}

/// Returns whether a curve was measured on a checkpoint: it lists it, or its model key is the
/// checkpoint's name but for precision, packaging and case.
#[must_use]
pub fn speaks_of(curve: &Curve, checkpoint: &str) -> bool {
    curve.checkpoints.iter().any(|listed| listed == checkpoint) || stem(&curve.model) == stem(checkpoint)
}

/// Returns what a curve says for a thinking mode (`on`, `off`) and a number of draft tokens.
#[must_use]
pub fn length(curve: &Curve, thinking: &str, tokens: u32) -> Option<Decimal> {
    Decimal::parse(curve.lengths.get(thinking)?.get(&tokens)?)
}

/// Everything that a curve says for a number of draft tokens: `2.32 (thinking on), 3.24 (thinking off)`.
#[must_use]
pub fn says(curve: &Curve, tokens: u32) -> String {
    let mut modes: Vec<_> = curve.lengths.iter().collect();
    // `on` first: it is what traffic mostly does.
    modes.sort_by_key(|(mode, _)| *mode != "on");
    let said: Vec<String> = modes
        .into_iter()
        .filter_map(|(mode, lengths)| Some(format!("{} (thinking {mode})", lengths.get(&tokens)?)))
        .collect();
    if said.is_empty() { format!("nothing for {tokens} draft tokens") } else { said.join(", ") }
}

/// Returns every place of a curve that holds a value: thinking mode and number of draft tokens.
#[must_use]
pub fn places(curve: &Curve, value: Decimal) -> Vec<(&str, u32)> {
    let mut places = Vec::new();
    for (mode, lengths) in &curve.lengths {
        for (tokens, length) in lengths {
            if Decimal::parse(length).is_some_and(|length| length.is_near(value)) {
                places.push((mode.as_str(), *tokens));
            }
        }
    }
    places
}

/// Two words for one method: SGLang calls a checkpoint's own head EAGLE or NEXTN.
fn method(word: &str) -> String {
    let word = word.to_lowercase();
    match word.as_str() {
        "nextn" | "eagle" | "deepseek_mtp" | "qwen3_5_mtp" => "mtp".to_owned(),
        _ => word,
    }
}

/// The last part of a repository id or path, in lower case.
fn name(repository: &str) -> String {
    repository.trim_end_matches('/').rsplit('/').next().unwrap_or(repository).to_lowercase()
}

/// A checkpoint's name without what quantization and packaging add to it.
fn stem(repository: &str) -> String {
    let name = name(repository);
    let mut parts: Vec<&str> = name.split(['-', '_']).collect();
    while let Some(last) = parts.last() {
        let added = ["nvfp4", "mxfp4", "mxfp8", "fp8", "fp4", "bf16", "v2", "int4", "instruct", "thinking"];
        if parts.len() > 1 && added.contains(last) {
            parts.pop();
        } else {
            break;
        }
    }
    parts.join("-")
}

/// Reads a curve file in upstream's YAML form: a header of comments, then model, thinking mode and
/// lengths by number of draft tokens, each a level deeper. Decimals are kept as written.
///
/// # Errors
///
/// The first line that does not fit the form, counted from 1, with what is wrong in a phrase.
pub fn read_yaml(text: &str) -> Result<Committed, (usize, String)> {
    let mut curve = Curve {
        model: String::new(),
        checkpoints: Vec::new(),
        draft: None,
        method: String::new(),
        draft_sampling: None,
        lengths: BTreeMap::new(),
    };
    let (mut header, mut mode) = (String::new(), None::<String>);
    for (at, line) in text.lines().enumerate().take(10_000) {
        let wrong = |what: &str| Err((at + 1, format!("{what}: `{}`", line.trim())));
        if let Some(comment) = line.strip_prefix('#') {
            header.push_str(comment.trim());
            header.push('\n');
            continue;
        }
        let code = line.split(" #").next().unwrap_or("").trim_end();
        let indent = code.len() - code.trim_start().len();
        let Some((key, value)) = code.trim().split_once(':') else {
            if code.is_empty() {
                continue;
            }
            return wrong("not `key:` or `key: value`");
        };
        let (key, value) = (key.trim().trim_matches(['"', '\'']), value.trim());
        match (indent, value.is_empty()) {
            (0, true) if curve.model.is_empty() => curve.model = key.to_owned(),
            (0, true) => return wrong("a second model in one file"),
            (1..=3, true) => match key.strip_prefix("thinking_") {
                Some(word @ ("on" | "off")) => mode = Some(word.to_owned()),
                _ => return wrong("not a thinking mode"),
            },
            (4.., false) => {
                let Some(mode) = &mode else { return wrong("a length before its thinking mode") };
                let Ok(tokens) = key.parse::<u32>() else { return wrong("not a number of draft tokens") };
                if Decimal::parse(value).is_none() {
                    return wrong("not an acceptance length");
                }
                curve.lengths.entry(mode.clone()).or_default().insert(tokens, value.to_owned());
            }
            _ => return wrong("not at a level of this form"),
        }
    }
    if curve.model.is_empty() || curve.lengths.is_empty() {
        return Err((text.lines().count().max(1), "no curve in this file".to_owned()));
    }
    let after = |mark: &str| {
        let rest = header.split(mark).nth(1)?;
        let end =
            rest.find(|c: char| c.is_whitespace() || matches!(c, ')' | ',' | '|')).unwrap_or(rest.len());
        rest.get(..end).filter(|word| !word.is_empty()).map(str::to_owned)
    };
    curve.method = after("vLLM ").map_or_else(String::new, |word| word.to_lowercase());
    curve.draft = after("draft: ");
    curve.draft_sampling = after("draft_sample_method=");
    let conditions = [
        ("run", after("actions/runs/")),
        ("dataset", after("dataset: ").map(|set| format!("SPEED-Bench {set}"))),
        ("outputTokens", after("output_len: ")),
        (
            "hardware",
            header
                .split(", vLLM")
                .next()
                .filter(|_| header.contains(", vLLM"))
                .and_then(|text| text.rsplit('(').next())
                .map(str::to_owned),
        ),
    ];
    let conditions =
        conditions.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect();
    Ok(Committed { curve, conditions })
}

#[cfg(test)]
mod tests {
    use super::{Drafting, committed, length, places, read_yaml, speaking_for};
    use crate::decimal::Decimal;

    fn chosen<'a>(drafting: &Drafting<'_>) -> Vec<&'a str> {
        speaking_for(committed().iter().map(|(name, one)| (name.as_str(), &one.curve)), drafting)
            .into_iter()
            .map(|(name, _)| name)
            .collect()
    }

    #[test]
    fn the_draft_and_its_sampling_choose_between_curves_of_one_model() {
        let minimax = |draft| Drafting {
            checkpoint: "nvidia/MiniMax-M3-NVFP4",
            method: "eagle3",
            draft: Some(draft),
            sampling: None,
        };
        assert_eq!(chosen(&minimax("Inferact/MiniMax-M3-EAGLE3")), ["minimaxm3_eagle3.yaml"]);
        assert_eq!(chosen(&minimax("/data/models/MiniMax-M3-EAGLE3-GQA")), ["minimaxm3_eagle3_gqa.yaml"]);
        let kimi = |sampling| Drafting {
            checkpoint: "moonshotai/Kimi-K3",
            method: "dspark",
            draft: Some("Inferact/Kimi-K3-DSpark"),
            sampling,
        };
        assert_eq!(chosen(&kimi(None)), ["kimik3_dspark.yaml"]);
        assert_eq!(chosen(&kimi(Some("probabilistic"))).len(), 1);
    }

    #[test]
    fn a_newer_model_does_not_borrow_an_older_curve() {
        let drafting = |checkpoint| Drafting { checkpoint, method: "eagle3", draft: None, sampling: None };
        assert_eq!(chosen(&drafting("nvidia/Kimi-K2.6-NVFP4")), [""; 0]);
        assert_eq!(chosen(&drafting("nvidia/Kimi-K2.5-NVFP4")), ["kimik2.5_eagle3.yaml"]);
        let mtp = |checkpoint| Drafting { checkpoint, method: "EAGLE", draft: None, sampling: None };
        assert_eq!(chosen(&mtp("deepseek-ai/DeepSeek-V4-Pro")), ["dsv4_mtp.yaml"]);
        assert_eq!(chosen(&mtp("deepseek-ai/DeepSeek-V4-Pro-0813")), [""; 0]);
    }

    #[test]
    fn upstreams_form_is_read_with_its_decimals_and_its_conditions() {
        let text = "# Source GitHub Actions run: https://github.com/o/r/actions/runs/1\n\
                    # dataset: coding | temperature: 1.0 | output_len: 4096\n\
                    # Measured on m (B300, vLLM MTP), per num_speculative_tokens.\n\
                    m-1:\n  thinking_on:\n    1: 1.50\n    3: 2.32\n  thinking_off:\n    3: 3.24\n";
        let read = read_yaml(text).expect("well formed");
        assert_eq!((read.curve.method.as_str(), read.conditions["hardware"].as_str()), ("mtp", "B300"));
        assert_eq!(length(&read.curve, "on", 3), Decimal::parse("2.320"));
        assert_eq!(places(&read.curve, Decimal::parse("3.24").expect("a number")), [("off", 3)]);
        assert_eq!(read_yaml("m:\n  thinking_on:\n    x: 1\n").map_err(|(line, _)| line).err(), Some(3));
    }
}
