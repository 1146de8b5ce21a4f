//! Results as InferenceX's own programs write them, beside the locks of the corpus.
//!
//! `fixtures/inferencex/results` holds what `process_agentic_result.py` and `process_result.py` made, at
//! the commit that the locks pin, of invented measurements.

use std::fmt::Write as _;

use serde_json::Value;

use super::wrong;
use crate::support::{Sandbox, repository};

const AGENTIC: &str = "lockfiles/qwen3.5/fp4-sglang-agentic/qwen3.5-fp4-b200-sglang-agentic-mtp.lock.json";
const FIXED: &str = "lockfiles/deepseek-r1/sglang/dsr1-fp8-b200-sglang-mtp.lock.json";

fn fixture(name: &str) -> String {
    std::fs::read_to_string(repository().join("fixtures/inferencex/results").join(name)).unwrap()
}

fn audit(sandbox: &Sandbox, lock: &str) -> Value {
    let lock = repository().join(lock).display().to_string();
    let value = sandbox.recipec(["audit", "run", "run", "--lock", &lock, "--format", "json"]).json();
    assert_eq!(value["results"].as_array().map(Vec::len), Some(1), "{value:#}");
    value["results"][0].clone()
}

fn verdicts<'v>(result: &'v Value, slug: &str) -> Vec<&'v str> {
    let checks = result["checks"].as_array().unwrap().iter().filter(|check| check["slug"] == slug);
    checks.map(|check| check["verdict"].as_str().unwrap()).collect()
}

#[test]
fn a_published_result_of_replayed_conversations_is_followed_to_its_plan_and_its_requests() {
    let sandbox = Sandbox::new();
    sandbox.write("run/x_conc16_b200-dgxc_00.json", fixture("agentic.json"));
    // The four hundred requests that upstream's program was given.
    let mut records = String::new();
    for index in 0..400_u64 {
        let start = 1_000_000_000 + index * 200_000_000;
        let _ = writeln!(
            records,
            r#"{{"metadata":{{"conversation_id":"trace-{}","turn_index":{},"request_start_ns":{start},"request_end_ns":{},"benchmark_phase":"profiling"}},"metrics":{{"input_sequence_length":{{"value":{}}},"output_sequence_length":{{"value":50}},"time_to_first_token":{{"value":30.0}},"inter_token_latency":{{"value":17.0}}}},"error":null}}"#,
            index % 40,
            index / 40,
            start + 900_000_000,
            1000 + index
        );
    }
    sandbox.write("run/results/aiperf_artifacts/profile_export.jsonl", records);
    let result = audit(&sandbox, AGENTIC);
    assert_eq!(result["plan"], "qwen3.5-fp4-b200-sglang-agentic-mtp/b200-dgxc/throughput/4");
    // The rate that upstream publishes is the one that follows from the requests.
    assert_eq!(verdicts(&result, "run-result"), ["reproduced"]);
    assert_eq!(verdicts(&result, "run-coverage"), ["reproduced", "reproduced"]);
    assert_eq!(result["verdict"], "unproven");
    // What SGLang logs of itself, with what it makes of the values.
    let log = |tp: u32, topk: u32| {
        format!(
            "[2026-08-20 10:00:00] server_args=ServerArgs(model_path='/lustre/fsw/models/Qwen3.5-397B-A17B-NVFP4', tp_size={tp}, \
             mem_fraction_static=0.8, speculative_algorithm='EAGLE', speculative_num_steps=3, speculative_eagle_topk={topk}, \
             kv_cache_dtype='fp8_e4m3', trust_remote_code=True, random_seed=733, dp_size=1)\n\
             [2026-08-20 10:30:00 TP0] Decode batch, #running-req: 16, #token: 9, token usage: 0.10, accept len: 3.37, accept rate: 0.79\n"
        )
    };
    sandbox.write("run/results/server.log", log(4, 1));
    let result = audit(&sandbox, AGENTIC);
    assert_eq!(verdicts(&result, "run-command"), ["reproduced"]);
    assert_eq!(verdicts(&result, "run-acceptance"), ["reproduced"]);
    sandbox.write("run/results/server.log", log(8, 2));
    let result = audit(&sandbox, AGENTIC);
    assert_eq!(
        wrong(&result)["run-command"],
        "--speculative-eagle-topk: 2, not 1; --tensor-parallel-size: 8, not 4"
    );
}

#[test]
fn a_published_result_of_fixed_sequences_is_followed_to_what_the_client_measured() {
    let sandbox = Sandbox::new();
    let name =
        "dsr1_8k1k_fp8_sglang_tp8-pp1-dcp1-pcp1-ep1-dpafalse_disagg-false_spec-mtp_conc64_b200-dgxc_00.json";
    sandbox.write(&format!("run/agg_{name}"), fixture("fixed.json"));
    sandbox.write(&format!("run/{name}"), fixture("client.json"));
    let result = audit(&sandbox, FIXED);
    assert_eq!(result["plan"], "dsr1-fp8-b200-sglang-mtp/b200-dgxc/throughput/6");
    assert_eq!(verdicts(&result, "run-result"), ["reproduced"]);
    assert!(verdicts(&result, "run-workload").iter().all(|verdict| *verdict == "reproduced"), "{result:#}");
    assert_eq!(result["measured"]["tokens_per_second_per_gpu"], 6656.0);
    // Drafting for real: nothing is forced, so no length is expected.
    assert!(verdicts(&result, "run-acceptance").is_empty());
    // Another number of GPUs than the published rate was divided by.
    sandbox.write(&format!("run/agg_{name}"), fixture("fixed.json").replace("\"tp\": 8", "\"tp\": 4"));
    let result = audit(&sandbox, FIXED);
    assert_eq!((&result["verdict"], &result["plan"]), (&"contradicted".into(), &Value::Null));
    assert_eq!(wrong(&result)["run-plan"], "tp: 4, not 8");
}
