//! Results as InferenceX writes them: what its clients measured, what it makes of that for its pages,
//! and what an evaluation scored.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// Which program wrote a result.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Kind {
    /// The client for fixed sequences (`benchmark_serving.py`).
    Client,
    /// What is published of such a measurement (`agg_….json`).
    Fixed,
    /// What is published of replayed conversations.
    Agentic,
    /// The replaying client itself (`profile_export_aiperf.json`).
    Profile,
    /// `lm_eval`.
    Eval,
}

/// A result, in the words of the matrix.
#[derive(Clone, Debug)]
pub struct Measured {
    /// Which program wrote it.
    pub kind: Kind,
    /// Fields that say which point it is, by the name that a matrix job has for them.
    pub point: BTreeMap<String, Value>,
    /// The model as the result names it.
    pub model: Option<String>,
    /// The image as the result names it.
    pub image: Option<String>,
    /// The label of the hardware.
    pub hardware: Option<String>,
    /// What the client says that it was given, by flag.
    pub client: BTreeMap<String, String>,
    /// Requests that ended well.
    pub completed: Option<u64>,
    /// Requests that failed.
    pub failed: Option<u64>,
    /// Requests that were to be sent.
    pub wanted: Option<u64>,
    /// Tokens in and out.
    pub tokens: Option<(u64, u64)>,
    /// Requests in the detailed lists with a time to the first token, with an inter-token latency, and all.
    pub detailed: Option<(u64, u64, u64)>,
    /// GPUs that the published rate is divided by.
    pub gpus: Option<u64>,
    /// Tokens a second: of all GPUs, or of one where `gpus` divides it.
    pub rate: Option<f64>,
    /// What a table shows: name and value.
    pub headline: BTreeMap<&'static str, f64>,
    /// Scores by task and metric.
    pub scores: Vec<Score>,
    /// Whether the evaluation looked at a part of its questions: how many of how many.
    pub part: Vec<(String, u64, u64)>,
}

/// One score of an evaluation.
#[derive(Clone, PartialEq, Debug)]
pub struct Score {
    /// The task.
    pub task: String,
    /// The metric with its filter: `exact_match,strict-match`.
    pub metric: String,
    /// The value.
    pub value: f64,
}

/// Fields of a result, each with the name that a matrix job has for it.
const POINT: [(&str, &str); 14] = [
    ("conc", "conc"),
    ("max_concurrency", "conc"),
    ("isl", "isl"),
    ("osl", "osl"),
    ("tp", "tp"),
    ("pp", "pp"),
    ("ep", "ep"),
    ("dcp_size", "dcp-size"),
    ("pcp_size", "pcp-size"),
    ("dp_attention", "dp-attn"),
    ("kv_offloading", "kv-offloading"),
    ("scenario_type", "scenario-type"),
    ("spec_decoding", "spec-decoding"),
    ("precision", "precision"),
];

/// Fields of a result that are about one role of a deployment over several nodes.
const ROLE: [(&str, &str); 4] =
    [("tp", "tp"), ("ep", "ep"), ("dp_attention", "dp-attn"), ("num_workers", "num-worker")];

/// What the client for fixed sequences says of its own arguments.
const CLIENT: [(&str, &str); 5] = [
    ("backend", "--backend"),
    ("num_prompts", "--num-prompts"),
    ("request_rate", "--request-rate"),
    ("max_concurrency", "--max-concurrency"),
    ("tokenizer_id", "--tokenizer"),
];

/// Reads a result. `None` where a document is none.
#[must_use]
pub fn read(name: &str, map: &Map<String, Value>) -> Option<Measured> {
    let kind = kind(name, map)?;
    let text = |name: &str| map.get(name).and_then(Value::as_str).map(str::to_owned);
    let mut measured = Measured {
        kind,
        point: point(map),
        model: text("model").or_else(|| text("model_id")).or_else(|| text("model_name")),
        image: text("image").filter(|image| !image.is_empty()),
        hardware: text("hw").filter(|hardware| !hardware.is_empty()),
        client: BTreeMap::new(),
        completed: number(map, "completed"),
        failed: None,
        wanted: number(map, "num_prompts"),
        tokens: number(map, "total_input_tokens").zip(number(map, "total_output_tokens")),
        detailed: None,
        gpus: None,
        rate: None,
        headline: BTreeMap::new(),
        scores: Vec::new(),
        part: Vec::new(),
    };
    match kind {
        Kind::Client => client(&mut measured, map),
        Kind::Fixed => fixed(&mut measured, map),
        Kind::Agentic => agentic(&mut measured, map),
        Kind::Profile => profile(&mut measured, map),
        Kind::Eval => eval(&mut measured, map),
    }
    Some(measured)
}

fn kind(name: &str, map: &Map<String, Value>) -> Option<Kind> {
    let has = |field: &str| map.contains_key(field);
    if has("lm_eval_version") || has("results") && has("n-shot") {
        Some(Kind::Eval)
    } else if has("request_metrics") && has("conc") {
        Some(Kind::Agentic)
    } else if has("tput_per_gpu") && has("conc") {
        Some(Kind::Fixed)
    } else if has("max_concurrency") && has("total_token_throughput") {
        Some(Kind::Client)
    } else if name == "profile_export_aiperf.json" {
        Some(Kind::Profile)
    } else {
        None
    }
}

fn point(map: &Map<String, Value>) -> BTreeMap<String, Value> {
    let mut point = BTreeMap::new();
    for (theirs, ours) in POINT {
        // What the client leaves out it writes as null.
        if let Some(value) = map.get(theirs).filter(|value| !value.is_null()) {
            point.insert(ours.to_owned(), plain(value));
        }
    }
    for role in ["prefill", "decode"] {
        let fields: Map<String, Value> = ROLE
            .iter()
            .filter_map(|(theirs, ours)| {
                Some(((*ours).to_owned(), plain(map.get(&format!("{role}_{theirs}"))?)))
            })
            .collect();
        if !fields.is_empty() && map.get("is_multinode") == Some(&Value::Bool(true)) {
            point.insert(role.to_owned(), Value::Object(fields));
            // Of several nodes these are sums.
            point.remove("tp");
            point.remove("ep");
            point.remove("dp-attn");
        }
    }
    if let Some(name) = map.get("kv_offload_backend").and_then(|backend| backend.get("name")) {
        point.insert("kv-offload-backend".to_owned(), name.clone());
    }
    point
}

/// Numbers and switches that were written as text.
fn plain(value: &Value) -> Value {
    match value.as_str() {
        Some("true" | "True") => Value::Bool(true),
        Some("false" | "False") => Value::Bool(false),
        Some(text) => text.parse::<u64>().map_or_else(|_| value.clone(), Value::from),
        None => value.clone(),
    }
}

fn number(map: &Map<String, Value>, name: &str) -> Option<u64> {
    plain(map.get(name)?).as_u64()
}

fn decimal(map: &Map<String, Value>, name: &str) -> Option<f64> {
    map.get(name)?.as_f64()
}

/// Returns a number at a path of members.
fn at(map: &Map<String, Value>, path: &[&str]) -> Option<f64> {
    let (first, rest) = path.split_first()?;
    rest.iter().try_fold(map.get(*first)?, |value, name| value.get(*name))?.as_f64()
}

fn client(measured: &mut Measured, map: &Map<String, Value>) {
    for (theirs, flag) in CLIENT {
        if let Some(value) = map.get(theirs).filter(|value| !value.is_null()) {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            measured.client.insert(flag.to_owned(), text);
        }
    }
    measured.failed =
        measured.wanted.zip(measured.completed).map(|(wanted, completed)| wanted.saturating_sub(completed));
    measured.rate = decimal(map, "total_token_throughput");
    for (name, field) in [("ttft_ms", "median_ttft_ms"), ("tpot_ms", "median_tpot_ms")] {
        measured.headline.extend(decimal(map, field).map(|value| (name, value)));
    }
    measured.headline.extend(measured.rate.map(|rate| ("tokens_per_second", rate)));
    let heard = |field: &str, heard: &dyn Fn(&Value) -> bool| {
        let list = map.get(field)?.as_array()?;
        let count = list.iter().filter(|value| heard(value)).count();
        Some((u64::try_from(count).ok()?, u64::try_from(list.len()).ok()?))
    };
    let first = heard("ttfts", &|value| value.as_f64().is_some_and(|value| value > 0.0));
    let between = heard("itls", &|value| value.as_array().is_some_and(|list| !list.is_empty()));
    measured.detailed = first.zip(between).map(|((first, all), (between, _))| (first, between, all));
}

fn fixed(measured: &mut Measured, map: &Map<String, Value>) {
    let size = |name: &str| number(map, name).unwrap_or(1);
    measured.gpus = if map.get("is_multinode") == Some(&Value::Bool(true)) {
        number(map, "num_prefill_gpu").zip(number(map, "num_decode_gpu")).map(|(one, other)| one + other)
    } else {
        Some(size("tp").saturating_mul(size("pp")).saturating_mul(size("pcp_size")))
    };
    measured.rate = decimal(map, "tput_per_gpu");
    measured.headline.extend(measured.rate.map(|rate| ("tokens_per_second_per_gpu", rate)));
    for (name, field) in [("ttft_ms", "median_ttft"), ("tpot_ms", "median_tpot")] {
        measured.headline.extend(decimal(map, field).map(|value| (name, value * 1000.0)));
    }
}

fn agentic(measured: &mut Measured, map: &Map<String, Value>) {
    let accounting = |name: &str| map.get("request_accounting")?.get(name)?.as_u64();
    measured.completed = number(map, "num_requests_successful");
    measured.failed = accounting("records_error_dropped");
    measured.rate = at(map, &["request_metrics", "throughput", "total", "tokens_per_second"]);
    let per_gpu = at(map, &["request_metrics", "throughput", "per_gpu", "total_tput_tps"]);
    measured.headline.extend(per_gpu.map(|rate| ("tokens_per_second_per_gpu", rate)));
    for (name, metric) in [("ttft_ms", "ttft"), ("tpot_ms", "tpot")] {
        let seconds = at(map, &["request_metrics", "latency", metric, "p50"]);
        measured.headline.extend(seconds.map(|value| (name, value * 1000.0)));
    }
}

fn profile(measured: &mut Measured, map: &Map<String, Value>) {
    let average = |name: &str| {
        let value = map.get(name)?;
        value.get("avg").unwrap_or(value).as_f64()
    };
    measured.completed = average("request_count").and_then(count);
    measured.failed = average("error_request_count").and_then(count);
    for (name, metric) in [("ttft_ms", "time_to_first_token"), ("tpot_ms", "inter_token_latency")] {
        measured.headline.extend(at(map, &[metric, "p50"]).map(|value| (name, value)));
    }
    let configuration = map.get("input_config").and_then(|config| config.get("loadgen"));
    if let Some(conc) = configuration.and_then(|config| config.get("concurrency")) {
        measured.point.insert("conc".to_owned(), conc.clone());
    }
    measured.point.insert("scenario-type".to_owned(), Value::from("agentic-coding"));
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "in range by the test before")]
fn count(value: f64) -> Option<u64> {
    (value.is_finite() && (0.0..=1e15).contains(&value)).then_some(value as u64)
}

fn eval(measured: &mut Measured, map: &Map<String, Value>) {
    let results = map.get("results").and_then(Value::as_object);
    for (task, metrics) in results.into_iter().flatten() {
        for (metric, value) in metrics.as_object().into_iter().flatten() {
            // As upstream's gate: exact match, and no standard error.
            if metric.starts_with("exact_match,")
                && !metric.contains("stderr")
                && let Some(value) = value.as_f64()
            {
                measured.scores.push(Score { task: task.clone(), metric: metric.clone(), value });
            }
        }
    }
    measured.headline.extend(measured.scores.first().map(|score| ("score", score.value)));
    let samples = map.get("n-samples").and_then(Value::as_object);
    for (task, counts) in samples.into_iter().flatten() {
        let count = |name: &str| counts.get(name).and_then(Value::as_u64);
        if let Some((effective, original)) = count("effective").zip(count("original"))
            && effective < original
        {
            measured.part.push((task.clone(), effective, original));
        }
    }
    let config = map.get("config");
    let arguments = config.and_then(|config| config.get("model_args"));
    let members = match arguments {
        Some(Value::String(text)) => text
            .split(',')
            .filter_map(|pair| pair.split_once('='))
            .map(|(n, v)| (n.to_owned(), v.to_owned()))
            .collect(),
        Some(Value::Object(map)) => map
            .iter()
            .map(|(name, value)| {
                (name.clone(), value.as_str().map_or_else(|| value.to_string(), str::to_owned))
            })
            .collect::<Vec<_>>(),
        _ => Vec::new(),
    };
    for (name, value) in members {
        if name == "num_concurrent" {
            measured
                .point
                .extend(value.parse::<u64>().ok().map(|conc| ("conc".to_owned(), Value::from(conc))));
        } else if name == "model" {
            measured.model = Some(value);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Kind, Measured, read};

    fn of(name: &str, value: &Value) -> Measured {
        read(name, value.as_object().expect("a map")).expect("a result")
    }

    #[test]
    fn each_programs_result_is_told_by_what_it_has() {
        let client = json!({"max_concurrency": 4, "model_id": "m", "num_prompts": 40, "completed": 39,
            "total_token_throughput": 100.0, "median_ttft_ms": 3.0, "total_input_tokens": 9, "total_output_tokens": 8,
            "ttfts": [0.1, 0.0], "itls": [[0.1], []], "request_rate": "inf", "backend": "vllm"});
        let read = of("x.json", &client);
        assert_eq!((read.kind, read.failed, read.detailed), (Kind::Client, Some(1), Some((1, 1, 2))));
        assert_eq!((read.point["conc"].clone(), read.client["--request-rate"].as_str()), (json!(4), "inf"));
        let fixed = json!({"hw": "b200", "conc": 4, "tp": 8, "pp": 1, "pcp_size": 2, "dp_attention": "false",
            "tput_per_gpu": 10.0, "isl": 8192, "osl": 1024, "is_multinode": false, "image": "i", "median_ttft": 0.5});
        let read = of("agg_x.json", &fixed);
        assert_eq!((read.kind, read.gpus, read.headline["ttft_ms"]), (Kind::Fixed, Some(16), 500.0));
        assert_eq!(read.point["dp-attn"], json!(false));
        let eval = json!({"lm_eval_version": "0.4", "results": {"gsm8k": {"exact_match,strict-match": 0.93,
            "exact_match_stderr,strict-match": 0.01, "alias": "gsm8k"}}, "n-samples": {"gsm8k": {"original": 1319,
            "effective": 20}}, "config": {"model_args": "model=/m,num_concurrent=64"}});
        let read = of("results_x.json", &eval);
        assert_eq!((read.kind, read.scores.len(), read.part[0].1), (Kind::Eval, 1, 20));
        assert_eq!((read.point["conc"].clone(), read.model.as_deref()), (json!(64), Some("/m")));
        assert!(super::read("x.json", json!({"a": 1}).as_object().expect("a map")).is_none());
    }

    #[test]
    fn roles_of_several_nodes_are_points_of_their_own() {
        let agg = json!({"hw": "gb200", "conc": 64, "tput_per_gpu": 3.0, "is_multinode": true, "tp": 12, "ep": 8,
            "prefill_tp": 4, "prefill_ep": 1, "prefill_num_workers": 2, "decode_tp": 8, "num_prefill_gpu": 8,
            "num_decode_gpu": 8, "dp_attention": "true"});
        let read = of("agg_x.json", &agg);
        assert_eq!(read.point["prefill"], json!({"tp": 4, "ep": 1, "num-worker": 2}));
        assert_eq!((read.gpus, read.point.contains_key("tp")), (Some(16), false));
    }
}
