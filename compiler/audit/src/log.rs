//! What engines say in their logs: what they were started with, and how many drafts they accepted.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::gather::logged_arguments;

/// What one log says, taken line by line.
#[derive(Clone, Default, Debug)]
pub struct Log {
    /// The arguments as the engine printed them, and whether only those that are not as by default.
    pub arguments: Option<(Map<String, Value>, bool)>,
    /// Sum of lengths by weight, and the weights.
    accepted: f64,
    weight: f64,
    /// How many lines said a length.
    pub lengths: u64,
    /// Counters by name, summed over label sets; the last dump of each counts.
    pub counters: BTreeMap<String, BTreeMap<String, f64>>,
}

/// Words by which a line may be told to say something.
const MARKS: &[&str] =
    &["accept len: ", "Mean acceptance length: ", "args: {", "Args(", "Namespace(", "spec_", "mtp_"];

impl Log {
    /// Returns whether a line may say something.
    #[must_use]
    pub fn speaks(line: &str) -> bool {
        MARKS.iter().any(|mark| line.contains(mark))
    }

    /// Takes a line.
    pub fn line(&mut self, line: &str) {
        if !Self::speaks(line) {
            return;
        }
        if self.arguments.is_none() {
            self.arguments = logged_arguments(line);
        }
        // SGLang says a length for each batch that it decodes; a batch counts by its requests.
        if let Some(length) = number_after(line, "accept len: ") {
            self.length(length, number_after(line, "#running-req: ").unwrap_or(1.0));
        }
        // vLLM says a length for each interval; an interval counts by its drafts.
        if let Some(length) = number_after(line, "Mean acceptance length: ") {
            self.length(length, number_after(line, "Drafted: ").unwrap_or(1.0));
        }
        self.counter(line);
    }

    fn length(&mut self, length: f64, weight: f64) {
        if length.is_finite() && weight.is_finite() && weight > 0.0 && length >= 1.0 {
            self.accepted += length * weight;
            self.weight += weight;
            self.lengths += 1;
        }
    }

    /// Returns the mean of the lengths that were said.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        (self.lengths > 0).then(|| self.accepted / self.weight)
    }

    /// A line of a Prometheus dump: `name{labels} value`.
    fn counter(&mut self, line: &str) {
        let name_ends = line.find(['{', ' ']).unwrap_or(line.len());
        let Some(name) = line.get(..name_ends).filter(|name| name.contains("spec_") || name.contains("mtp_"))
        else {
            return;
        };
        let Some(value) = line.rsplit(' ').next().and_then(|word| word.parse::<f64>().ok()) else { return };
        let labels =
            line.get(name_ends..).and_then(|rest| rest.split_once('}')).map_or("", |(labels, _)| labels);
        let series = self.counters.entry(name.to_owned()).or_default();
        if series.len() < 4096 {
            series.insert(labels.to_owned(), value);
        }
    }
}

fn number_after(line: &str, mark: &str) -> Option<f64> {
    let rest = line.get(line.find(mark)? + mark.len()..)?;
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
    rest.get(..end)?.trim_end_matches('.').parse().ok()
}

#[cfg(test)]
mod tests {
    use super::Log;

    #[test]
    fn lengths_are_weighed_by_what_they_stand_for() {
        let mut log = Log::default();
        log.line("[x] Decode batch, #running-req: 3, #token: 9, accept len: 3.00, accept rate: 0.67, cuda graph: True");
        log.line("[x] Decode batch, #running-req: 1, #token: 9, accept len: 1.00, accept rate: 0.00");
        assert_eq!(log.mean(), Some(2.5));
        let mut log = Log::default();
        log.line("SpecDecoding metrics: Mean acceptance length: 3.39, Accepted throughput: 1.0 tokens/s, Drafted: 300 tokens");
        assert_eq!(log.mean(), Some(3.39));
        assert_eq!(Log::default().mean(), None);
        let mut log = Log::default();
        log.line("vllm:spec_decode_num_drafts_total{engine=\"0\"} 5.0");
        log.line("vllm:spec_decode_num_drafts_total{engine=\"0\"} 7.0");
        log.line("vllm:spec_decode_num_drafts_total{engine=\"1\"} 2.0");
        assert_eq!(log.counters["vllm:spec_decode_num_drafts_total"].values().sum::<f64>(), 9.0);
    }
}
