//! How long the check of one launch takes: `cargo bench -p recipec-engine`.
//!
//! Prints microseconds a launch, the median of several rounds, with the first use of a table apart.

#![allow(clippy::disallowed_types, clippy::print_stdout, reason = "a benchmark reads the clock and prints")]

use std::collections::BTreeMap;
use std::time::Instant;

use recipec_engine::{Engine, Hardware, Launch, Scenario, canonical, check, choose};

const SGLANG: &str = "python3 -m sglang.launch_server --model-path example/Model-NVFP4 --host 0.0.0.0 --port 8888 \
    --trust-remote-code --tensor-parallel-size 4 --data-parallel-size 1 --expert-parallel-size 1 --quantization modelopt_fp4 \
    --kv-cache-dtype fp8_e4m3 --mamba-ssm-dtype bfloat16 --attention-backend trtllm_mha --moe-runner-backend flashinfer_trtllm \
    --cuda-graph-max-bs 64 --max-running-requests 128 --max-prefill-tokens 16384 --chunked-prefill-size 16384 \
    --mem-fraction-static 0.8 --stream-interval 50 --scheduler-recv-interval 10 --tokenizer-worker-num 6 --disable-radix-cache \
    --speculative-algorithm EAGLE --speculative-num-steps 3 --speculative-eagle-topk 1 --speculative-num-draft-tokens 4";

const VLLM: &str = "vllm serve example/Model --host 0.0.0.0 --port 8888 --trust-remote-code --kv-cache-dtype fp8 \
    --block-size 256 --max-model-len 1048576 --gpu-memory-utilization 0.90 --numa-bind --enable-cumem-allocator \
    --no-enable-flashinfer-autotune --tokenizer-mode deepseek_v4 --enable-auto-tool-choice --tool-call-parser deepseek_v4 \
    --attention-config {\"backend\":\"FLASHINFER_MLA_SPARSE_DSV4\",\"use_prefill_query_quantization\":true} \
    --speculative-config {\"method\":\"mtp\",\"num_speculative_tokens\":3,\"rejection_sample_method\":\"synthetic\",\"synthetic_acceptance_length\":2.49} \
    --compilation-config {\"cudagraph_mode\":\"FULL_AND_PIECEWISE\",\"cudagraph_capture_sizes\":[4,8,100,200]} \
    --max-num-seqs 32 --tensor-parallel-size 8 --data-parallel-size 1";

fn launch(engine: Engine, image: &str, line: &str) -> (Vec<String>, Launch) {
    let argv: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    let begin = engine.program_words(&argv).unwrap_or(0);
    let variables = [
        "NCCL_NVLS_ENABLE",
        "TORCH_CUDA_ARCH_LIST",
        "PYTHONNOUSERSITE",
        "VLLM_LOGGING_LEVEL",
        "SGLANG_SIMULATE_ACC_LEN",
    ];
    let environment: BTreeMap<String, String> =
        variables.iter().map(|name| ((*name).to_owned(), "1".to_owned())).collect();
    let mut launch =
        Launch::new(choose(engine, image, None), image, Launch::words(&argv[begin..]), environment);
    launch.workload.scenario = Some(Scenario::Agentic);
    launch.workload.concurrency = Some(64);
    launch.hardware =
        Some(Hardware { sku: "b200".to_owned(), architecture: "sm_100".to_owned(), ..Hardware::default() });
    (argv, launch)
}

fn microseconds(mut work: impl FnMut()) -> f64 {
    let mut rounds: Vec<f64> = (0..9)
        .map(|_| {
            let start = Instant::now();
            (0..200).for_each(|_| work());
            start.elapsed().as_secs_f64() * 1e6 / 200.0
        })
        .collect();
    rounds.sort_by(f64::total_cmp);
    rounds[4]
}

fn main() {
    for (engine, image, line) in [
        (Engine::Sglang, "lmsysorg/sglang:v0.5.16-cu130", SGLANG),
        (Engine::Vllm, "vllm/vllm-openai:v0.27.1", VLLM),
    ] {
        let start = Instant::now();
        let (argv, launch) = launch(engine, image, line);
        let findings = check(&launch).findings.len();
        let first = start.elapsed().as_secs_f64() * 1e6;
        let version = launch.chosen.table.version();
        let check = microseconds(|| {
            std::hint::black_box(check(std::hint::black_box(&launch)));
        });
        let canonical = microseconds(|| {
            std::hint::black_box(canonical(engine, version, std::hint::black_box(&argv)));
        });
        println!(
            "{engine} {version}: first check with its table {first:.0} us; then check {check:.1} us ({findings} findings), canonical form {canonical:.1} us"
        );
    }
}
