//! How many tokens a step really yielded: the engine's own count, beside the length that it was told.
//!
//! Engines count differently. vLLM's length is one and the accepted drafts of each verification step,
//! also those after the end of a sequence; SGLang gives a length of its own for each batch; ATOM gives the
//! mean. A length is therefore only ever reported together with what counted it.

use serde_json::{Map, Value};

use crate::log::Log;

/// By how much a realised length may differ from the one that was told, as a part of it. Forced
/// acceptance is drawn at random step by step, and requests end in the middle of a step.
pub const TOLERANCE: f64 = 0.02;

/// A length that a run realised.
#[derive(Clone, PartialEq, Debug)]
pub struct Realised {
    /// Tokens a step, the one of the target model included.
    pub length: f64,
    /// What counted it.
    pub counted: String,
    /// The file that says so.
    pub path: String,
}

/// Metrics that are a length by themselves, averaged over the engines that report them.
const LENGTHS: [&str; 5] = [
    "sglang:spec_accept_length",
    "atom:mtp_average_tokens_per_forward",
    "atom_mtp_average_tokens_per_forward",
    "atom:spec_decode_average_tokens_per_forward",
    "trtllm:spec_decode_acceptance_length",
];

/// Reads the counters that the client exported.
#[must_use]
pub fn exported(path: &str, metrics: &Map<String, Value>) -> Option<Realised> {
    let all = |name: &str, keys: &[&str]| -> Option<Vec<f64>> {
        let series = [name.to_owned(), format!("{name}_total")]
            .iter()
            .find_map(|name| metrics.get(name)?.get("series")?.as_array().cloned())?;
        let values: Vec<f64> = series
            .iter()
            .filter_map(|one| {
                let stats = one.get("stats")?;
                keys.iter().find_map(|key| stats.get(*key)?.as_f64())
            })
            .collect();
        (!values.is_empty()).then_some(values)
    };
    let total = |name: &str| all(name, &["total", "sum", "max"]).map(|values| values.iter().sum::<f64>());
    let ratio = total("vllm:spec_decode_num_accepted_tokens").zip(total("vllm:spec_decode_num_drafts"));
    if let Some(found) = ratio.and_then(|(accepted, drafts)| steps(path, accepted, drafts)) {
        return Some(found);
    }
    LENGTHS.iter().find_map(|name| {
        let values: Vec<f64> = all(name, &["avg", "max"])?
            .into_iter()
            .filter(|value| value.is_finite() && *value >= 1.0)
            .collect();
        mean(path, name, &values)
    })
}

/// Reads a log, or a dump of counters.
#[must_use]
pub fn logged(path: &str, log: &Log) -> Option<Realised> {
    let total = |name: &str| {
        let series = log.counters.get(&format!("{name}_total")).or_else(|| log.counters.get(name))?;
        Some(series.values().sum::<f64>())
    };
    let ratio = total("vllm:spec_decode_num_accepted_tokens").zip(total("vllm:spec_decode_num_drafts"));
    if let Some(found) = ratio.and_then(|(accepted, drafts)| steps(path, accepted, drafts)) {
        return Some(found);
    }
    let dumped = LENGTHS.iter().find_map(|name| {
        let values: Vec<f64> = log.counters.get(*name)?.values().copied().collect();
        mean(path, name, &values)
    });
    dumped.or_else(|| {
        let counted = format!("the mean of {} lines of the engine's log", log.lengths);
        Some(Realised { length: log.mean()?, counted, path: path.to_owned() })
    })
}

fn steps(path: &str, accepted: f64, drafts: f64) -> Option<Realised> {
    (drafts > 0.0 && accepted >= 0.0).then(|| Realised {
        length: 1.0 + accepted / drafts,
        counted: format!("1 + {accepted} accepted drafts / {drafts} steps"),
        path: path.to_owned(),
    })
}

#[expect(clippy::cast_precision_loss, reason = "a mean is not exact")]
fn mean(path: &str, name: &str, values: &[f64]) -> Option<Realised> {
    (!values.is_empty()).then(|| Realised {
        length: values.iter().sum::<f64>() / values.len() as f64,
        counted: format!("{name} of {} engines", values.len()),
        path: path.to_owned(),
    })
}

/// Returns whether a realised length is the one that was told.
#[must_use]
pub fn is_near(realised: f64, told: f64, tolerance: f64) -> bool {
    (realised - told).abs() <= told * tolerance
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{exported, is_near, logged};
    use crate::log::Log;

    #[test]
    fn a_length_is_one_and_the_accepted_drafts_of_a_step() {
        let metrics = json!({
            "vllm:spec_decode_num_accepted_tokens": {"series": [{"stats": {"total": 200.0}}, {"stats": {"total": 39.0}}]},
            "vllm:spec_decode_num_drafts": {"series": [{"stats": {"total": 100.0}}]},
        });
        let found = exported("m.json", metrics.as_object().expect("a map")).expect("a length");
        assert!((found.length - 3.39).abs() < 1e-9, "{found:?}");
        let metrics = json!({"sglang:spec_accept_length": {"series": [{"stats": {"avg": 3.0}}, {"stats": {"avg": 4.0}},
            {"stats": {"avg": 0.0}}]}});
        let found = exported("m.json", metrics.as_object().expect("a map")).expect("a length");
        assert!((found.length - 3.5).abs() < 1e-9, "an engine that has not decoded says nothing: {found:?}");
        assert_eq!(exported("m.json", &serde_json::Map::new()), None);
        let mut log = Log::default();
        log.line("vllm:spec_decode_num_drafts_total{engine=\"0\"} 10.0");
        assert_eq!(logged("m.prom", &log), None);
        log.line("vllm:spec_decode_num_accepted_tokens_total{engine=\"0\"} 5.0");
        assert!(logged("m.prom", &log).is_some_and(|found| (found.length - 1.5).abs() < 1e-9));
    }

    #[test]
    fn one_off_and_the_neighbour_of_a_curve_are_not_near() {
        assert!(is_near(3.41, 3.39, super::TOLERANCE));
        assert!(!is_near(2.39, 3.39, super::TOLERANCE));
        assert!(!is_near(3.33, 3.97, super::TOLERANCE));
    }
}
