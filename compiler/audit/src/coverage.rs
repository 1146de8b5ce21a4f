//! Requests one by one: how many have what is published of them, and which have not.
//!
//! A percentile over the requests that have a value says nothing of those that have none. The gate
//! is a share: of the requests that count, so many must have a time to the first token, and an
//! inter-token latency where they had more than one token.

use serde_json::Value;

/// The share of requests that must have a metric.
pub const SHARE: f64 = 0.95;

/// The most requests whose names are kept.
const NAMED: usize = 3;

/// One metric over all requests.
#[derive(Clone, Default, PartialEq, Debug)]
pub struct Metric {
    /// Requests that must have it.
    pub due: u64,
    /// Requests that have it.
    pub there: u64,
    /// Requests that have it not, in the order of their start: when they began and which they are.
    quiet: Vec<(u64, String)>,
    first: Option<u64>,
    last: Option<u64>,
    /// When the last request with the metric began.
    heard: Option<u64>,
}

/// What all requests say.
#[derive(Clone, Default, PartialEq, Debug)]
pub struct Records {
    /// Lines of the file.
    pub lines: u64,
    /// Requests of the measured phase that ended well.
    pub counted: u64,
    /// Requests of the measured phase that failed.
    pub failed: u64,
    /// Lines that are no record.
    pub broken: u64,
    /// Tokens in.
    pub input: u64,
    /// Tokens out.
    pub output: u64,
    /// Time to the first token.
    pub first_token: Metric,
    /// Inter-token latency.
    pub between: Metric,
    began: Option<u64>,
    ended: Option<u64>,
}

impl Records {
    /// Takes one line.
    pub fn line(&mut self, line: &str) {
        let line = line.trim();
        if line.is_empty() {
            return;
        }
        self.lines += 1;
        let Ok(record) = serde_json::from_str::<Value>(line) else {
            self.broken += 1;
            return;
        };
        let about = record.get("metadata");
        let text = |name: &str| about.and_then(|about| about.get(name)).and_then(Value::as_str);
        let number = |name: &str| about.and_then(|about| about.get(name)).and_then(Value::as_u64);
        // Older exports have no phase: all of them are measured.
        if text("benchmark_phase").is_some_and(|phase| phase != "profiling") {
            return;
        }
        if record.get("error").is_some_and(|error| !matches!(error, Value::Null | Value::Bool(false))) {
            self.failed += 1;
            return;
        }
        self.counted += 1;
        let began = number("request_start_ns");
        let metric = |name: &str| {
            let metric = record.get("metrics")?.get(name)?;
            metric.get("value").unwrap_or(metric).as_f64().filter(|value| value.is_finite() && *value > 0.0)
        };
        let tokens = metric("output_sequence_length");
        self.input = self.input.saturating_add(whole(metric("input_sequence_length")));
        self.output = self.output.saturating_add(whole(tokens));
        self.began = earliest(self.began, began);
        self.ended = self.ended.max(number("request_end_ns"));
        let name = || {
            let turn = number("turn_index").map(|turn| format!(" turn {turn}")).unwrap_or_default();
            let id = text("conversation_id").or(text("x_request_id")).or(text("x_correlation_id"));
            format!("{}{turn}", id.unwrap_or("?"))
        };
        self.first_token.take(metric("time_to_first_token").is_some(), began, name);
        // One token has nothing between.
        if tokens.is_none_or(|tokens| tokens > 1.0) {
            self.between.take(metric("inter_token_latency").is_some(), began, name);
        }
    }

    /// Returns tokens a second, in and out together, over the time from the first start to the last end.
    #[must_use]
    pub fn throughput(&self) -> Option<f64> {
        let span = self.ended?.checked_sub(self.began?)?;
        #[expect(clippy::cast_precision_loss, reason = "a rate is not exact")]
        (span > 0).then(|| self.input.saturating_add(self.output) as f64 / (span as f64 / 1e9))
    }
}

fn earliest(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "positive, and far below the limit"
)]
fn whole(value: Option<f64>) -> u64 {
    value.map_or(0, |value| value.min(1e15) as u64)
}

impl Metric {
    fn take(&mut self, there: bool, began: Option<u64>, name: impl Fn() -> String) {
        self.due += 1;
        self.first = earliest(self.first, began);
        self.last = self.last.max(began);
        if there {
            self.there += 1;
            self.heard = self.heard.max(began);
            return;
        }
        let began = began.unwrap_or(u64::MAX);
        // The latest stay: what goes quiet, goes quiet at the end.
        let at = self.quiet.partition_point(|(when, _)| *when <= began);
        self.quiet.insert(at, (began, name()));
        if self.quiet.len() > NAMED {
            self.quiet.remove(0);
        }
    }

    /// Returns the share of requests that have it; `None` where none must.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a share is not exact")]
    pub fn share(&self) -> Option<f64> {
        (self.due > 0).then(|| self.there as f64 / self.due as f64)
    }

    /// Names the requests that have none: how many, whether they are the end of the run, and the last.
    #[must_use]
    pub fn tail(&self) -> Option<String> {
        let missing = self.due - self.there;
        if missing == 0 {
            return None;
        }
        let names: Vec<&str> = self.quiet.iter().map(|(_, name)| name.as_str()).collect();
        let minutes = |at: u64| {
            let seconds = at.saturating_sub(self.first.unwrap_or(at)) / 1_000_000_000;
            format!("{}:{:02}", seconds / 60, seconds % 60)
        };
        let quiet = match (self.heard, self.last) {
            (Some(heard), Some(last)) if heard < last => {
                format!("; nothing after {} of {}", minutes(heard), minutes(last))
            }
            _ => String::new(),
        };
        Some(format!("{missing} of {} without{quiet}; the last are {}", self.due, names.join(", ")))
    }
}

#[cfg(test)]
mod tests {
    use super::Records;

    fn record(index: u64, tokens: u64, ttft: f64, itl: f64) -> String {
        format!(
            r#"{{"metadata":{{"conversation_id":"c{index}","turn_index":1,"request_start_ns":{},"request_end_ns":{},"benchmark_phase":"profiling"}},
            "metrics":{{"input_sequence_length":{{"value":100}},"output_sequence_length":{{"value":{tokens}}},
            "time_to_first_token":{{"value":{ttft}}},"inter_token_latency":{{"value":{itl}}}}},"error":null}}"#,
            index * 1_000_000_000,
            index * 1_000_000_000 + 500_000_000
        )
        .replace('\n', " ")
    }

    #[test]
    fn the_requests_that_went_quiet_are_named() {
        let mut records = Records::default();
        for index in 0..100 {
            let heard = index < 94;
            records.line(&record(
                index,
                10,
                if heard { 5.0 } else { 0.0 },
                if index == 3 { 0.0 } else { 1.0 },
            ));
        }
        assert_eq!(records.first_token.share(), Some(0.94));
        assert_eq!(
            records.first_token.tail().as_deref(),
            Some(
                "6 of 100 without; nothing after 1:33 of 1:39; the last are c97 turn 1, c98 turn 1, c99 turn 1"
            )
        );
        assert_eq!(records.between.share(), Some(0.99));
        assert_eq!(records.between.tail().as_deref(), Some("1 of 100 without; the last are c3 turn 1"));
        assert!(records.throughput().is_some_and(|rate| (rate - 11_000.0 / 99.5).abs() < 0.01));
    }

    #[test]
    fn warm_up_failures_and_single_tokens_are_not_due() {
        let mut records = Records::default();
        records.line(&record(1, 1, 5.0, 0.0));
        records.line(&record(2, 9, 0.0, 0.0).replace("profiling", "warmup"));
        records.line(&record(3, 9, 0.0, 0.0).replace("\"error\":null", "\"error\":{\"type\":\"x\"}"));
        records.line("{");
        records.line("");
        assert_eq!((records.lines, records.counted, records.failed, records.broken), (4, 1, 1, 1));
        assert_eq!((records.first_token.due, records.between.due), (1, 0));
        assert_eq!((records.first_token.tail(), records.between.share()), (None, None));
    }
}
