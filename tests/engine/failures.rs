//! The failure corpus at the level of the engine stage: each fault, cut to a launch that holds it,
//! gets its slug; the smallest repair is clean of it. Pages name the records that a slug answers.

use std::collections::BTreeMap;

use engine::known::{Checkpoint, Fact, Source};
use engine::{Engine, Mode, check, together};
use engine::{Hardware, Launch, Model, Parallel, Scenario, Speculative, choose};

/// A launch in a few words.
struct Case(Launch);

fn fact<T>(value: T) -> Option<Fact<T>> {
    Some(Fact { value, source: Source::Stated("the failure corpus".to_owned()) })
}

fn case(engine: Engine, image: &str, stated: Option<&str>, line: &str) -> Case {
    let words: Vec<String> = line.split_whitespace().map(|word| word.replace('~', " ")).collect();
    Case(Launch::new(choose(engine, image, stated), image, Launch::words(&words), BTreeMap::new()))
}

fn sglang(version: &str, line: &str) -> Case {
    case(
        Engine::Sglang,
        &format!("lmsysorg/sglang:v{version}-cu130"),
        None,
        &format!("--model-path m {line}"),
    )
}

fn vllm(version: &str, line: &str) -> Case {
    case(Engine::Vllm, &format!("vllm/vllm-openai:v{version}"), None, &format!("m {line}"))
}

fn trtllm(line: &str) -> Case {
    case(Engine::Trtllm, "nvcr.io#nvidia/tensorrt-llm/release:1.3.0rc18", None, &format!("m {line}"))
}

fn atom(line: &str) -> Case {
    case(Engine::Atom, "rocm/atom-dev:nightly_202608221032", None, &format!("--model m {line}"))
}

impl Case {
    fn env(mut self, name: &str, value: &str) -> Self {
        self.0.environment.insert(name.to_owned(), value.to_owned());
        self
    }

    fn on(mut self, sku: &str, architecture: &str) -> Self {
        let memory = |gigabytes: u64| Some(gigabytes * 1_000_000_000);
        let hbm = match sku {
            "h100" => memory(80),
            "b300" => memory(288),
            "b200" => memory(180),
            _ => memory(192),
        };
        self.0.hardware = Some(Hardware {
            sku: sku.to_owned(),
            architecture: architecture.to_owned(),
            hbm,
            gpus_per_node: Some(8),
            dram: memory(3000),
        });
        self
    }

    fn model(mut self, repository: &str, facts: Checkpoint) -> Self {
        self.0.model = Some(Model { repository: repository.to_owned(), facts });
        self
    }

    fn of(self, architecture: &str) -> Self {
        self.model(
            "example/Model",
            Checkpoint { architecture: fact(architecture.to_owned()), ..Checkpoint::default() },
        )
    }

    fn point(mut self, tp: u32, ep: u32, dp_attn: bool) -> Self {
        self.0.parallel = Some(Parallel { tp, pp: 1, ep, dp_attn, dcp: 1, pcp: 1 });
        self
    }

    fn asks(mut self, scenario: Scenario, concurrency: u64) -> Self {
        self.0.workload.scenario = Some(scenario);
        self.0.workload.concurrency = Some(concurrency);
        self
    }

    fn pair(mut self, target: &str, draft: &str) -> Self {
        let model = |name: &str| Some(Model { repository: name.to_owned(), facts: Checkpoint::default() });
        self.0.model = model(target);
        self.0.draft = model(draft);
        self
    }

    fn config(mut self, json: &str) -> Self {
        self.0.config = Some(serde_json::from_str(json).unwrap());
        self
    }

    fn with(mut self, change: impl FnOnce(&mut Launch)) -> Self {
        change(&mut self.0);
        self
    }
}

fn slugs(case: &Case) -> Vec<String> {
    check(&case.0).findings.iter().map(|finding| finding.slug.as_str().to_owned()).collect()
}

/// Records, the slug that answers them, the fault, and its smallest repair.
fn cases() -> Vec<(&'static str, &'static str, Case, Case)> {
    let fp4 = |method: &str, algorithm: &str| Checkpoint {
        quantization: fact(method.to_owned()),
        quantization_algorithm: (!algorithm.is_empty()).then(|| fact(algorithm.to_owned())).flatten(),
        ..Checkpoint::default()
    };
    let heads = |heads, experts| Checkpoint {
        heads: fact(heads),
        kv_heads: fact(4),
        experts,
        ..Checkpoint::default()
    };
    let width = |width, block| Checkpoint {
        heads: fact(64),
        expert_width: fact(width),
        quantization_block: fact(block),
        ..Checkpoint::default()
    };
    let head = |layers, block| Checkpoint {
        draft_layers: fact(layers),
        draft_block: fact(block),
        ..Checkpoint::default()
    };
    let weights = |bytes| Checkpoint { weight_bytes: fact(bytes), ..Checkpoint::default() };
    let dsv4 = || Checkpoint {
        architecture: fact("DeepseekV4ForCausalLM".to_owned()),
        quantization_algorithm: fact("MXFP4".to_owned()),
        ..Checkpoint::default()
    };
    let drafts = |acceptance: Option<&str>| {
        let acceptance = acceptance.map(str::to_owned);
        move |launch: &mut Launch| {
            launch.workload.scenario = Some(Scenario::Agentic);
            launch.speculative =
                Some(Speculative { method: "mtp".to_owned(), steps: 3, sampling: None, acceptance });
        }
    };
    let mtp = "--speculative-algorithm EAGLE --speculative-num-steps 3 --speculative-eagle-topk 1 \
               --speculative-num-draft-tokens 4 --max-running-requests 64";
    let offload = |lazy: &str| {
        format!(
            r#"--kv-transfer-config {{"kv_connector":"SimpleCPUOffloadConnector","kv_role":"kv_both","kv_connector_extra_config":{{"lazy_offload":{lazy}}}}}"#
        )
    };
    let hicache = "--enable-hierarchical-cache --hicache-ratio";
    vec![
        ("F005", "label-not-realised", vllm("0.27.1", "-tp 4").point(4, 4, false), vllm("0.27.1", "-tp 4 -ep").point(4, 4, false)),
        ("F008", "label-not-realised", sglang("0.5.16", "--tp-size 8 --enable-dp-attention --dp-size 8").point(8, 8, true), sglang("0.5.16", "--tp-size 8 --ep-size 8 --enable-dp-attention --dp-size 8").point(8, 8, true)),
        ("F014", "offload-undeclared", trtllm("--tp_size 8").point(8, 1, false).config(r#"{"kv_cache_config":{"host_cache_size":64000000000}}"#), trtllm("--tp_size 8").point(8, 1, false).config("{}")),
        ("F019", "acceptance-off-by-one", trtllm("").env("TLLM_SPEC_DECODE_FORCE_NUM_ACCEPTED_TOKENS", "2.49").with(drafts(Some("2.49"))), trtllm("").env("TLLM_SPEC_DECODE_FORCE_NUM_ACCEPTED_TOKENS", "1.49").with(drafts(Some("2.49")))),
        ("F021", "acceptance-in-eval", sglang("0.5.16", mtp).env("SGLANG_SIMULATE_ACC_LEN", "2.5").with(|launch| launch.mode = Mode::Eval), sglang("0.5.16", mtp).with(|launch| launch.mode = Mode::Eval)),
        ("F021", "acceptance-in-eval", vllm("0.27.1", r#"--speculative-config {"method":"mtp","num_speculative_tokens":3,"rejection_sample_method":"synthetic","synthetic_acceptance_length":2.5}"#).with(|launch| launch.mode = Mode::Eval), vllm("0.27.1", r#"--speculative-config {"method":"mtp","num_speculative_tokens":3}"#).with(|launch| launch.mode = Mode::Eval)),
        ("F023", "acceptance-on-fixed-sequence", vllm("0.27.1", r#"--speculative-config {"method":"mtp","num_speculative_tokens":3,"rejection_sample_method":"synthetic","synthetic_acceptance_length":2.5}"#).asks(Scenario::FixedSequence, 4), vllm("0.27.1", r#"--speculative-config {"method":"mtp","num_speculative_tokens":3}"#).asks(Scenario::FixedSequence, 4)),
        ("F024", "acceptance-unread", sglang("0.5.14", mtp).env("SGLANG_SIMULATE_ACC_TOKEN_MODE", "real-draft-token"), sglang("0.5.16", mtp).env("SGLANG_SIMULATE_ACC_TOKEN_MODE", "real-draft-token")),
        ("F029", "acceptance-out-of-range", sglang("0.5.16", "--speculative-algorithm EAGLE --speculative-num-steps 1 --speculative-eagle-topk 1 --speculative-num-draft-tokens 2").env("SGLANG_SIMULATE_ACC_LEN", "2.5"), sglang("0.5.16", "--speculative-algorithm EAGLE --speculative-num-steps 2 --speculative-eagle-topk 1 --speculative-num-draft-tokens 3").env("SGLANG_SIMULATE_ACC_LEN", "2.5")),
        ("F030", "acceptance-off-curve", atom("--method dspark --num-speculative-tokens 2 --spec-decode-acceptance-rate 0.77").with(drafts(Some("2.51"))), atom("--method dspark --num-speculative-tokens 2 --spec-decode-acceptance-rate 0.755").with(drafts(Some("2.51")))),
        ("F031", "acceptance-distribution", case(Engine::Atom, "rocm/atom-dev:nightly_202608101032", None, "--model m --method dspark --num-speculative-tokens 7 --spec-decode-acceptance-rate 0.397"), atom("--method dspark --num-speculative-tokens 7 --spec-decode-acceptance-length 3.78")),
        ("F048", "quantization-unstated", sglang("0.5.16", "").model("m", fp4("modelopt", "NVFP4")), sglang("0.5.16", "--quantization modelopt_fp4").model("m", fp4("modelopt", "NVFP4"))),
        ("F049", "quantization-redundant", sglang("0.5.16", "--quantization fp8").model("m", fp4("fp8", "")), sglang("0.5.16", "").model("m", fp4("fp8", ""))),
        ("F052", "kv-scales", sglang("0.5.16", "--kv-cache-dtype fp8_e4m3").model("m", Checkpoint { kv_scales: fact(false), ..Checkpoint::default() }), sglang("0.5.16", "").model("m", Checkpoint { kv_scales: fact(false), ..Checkpoint::default() })),
        ("F054", "quantization-mismatch", sglang("0.5.16", "--quantization modelopt_fp4").model("m", fp4("none", "")), sglang("0.5.16", "--quantization modelopt_fp4").model("m", fp4("modelopt", "NVFP4"))),
        ("F055", "kv-scales", sglang("0.5.16", "").model("m", Checkpoint { kv_scales: fact(false), kv_cache_quantization: fact("FP8".to_owned()), ..Checkpoint::default() }), sglang("0.5.16", "").model("m", Checkpoint { kv_scales: fact(true), kv_cache_quantization: fact("FP8".to_owned()), ..Checkpoint::default() })),
        ("F056", "quantization-mismatch", vllm("0.27.1", "--quantization auto-round").model("m", fp4("gptq", "")), vllm("0.27.1", "--quantization gptq_marlin").model("m", fp4("gptq", ""))),
        ("F085", "engine-lacks-model", sglang("0.5.4", "").of("GlmMoeDsaForCausalLM"), sglang("0.5.16", "").of("GlmMoeDsaForCausalLM")),
        ("F085", "silent-rewrite", sglang("0.5.16", "--tp-size 8 --dp-size 8 --enable-dp-attention --ep-size 4 --moe-a2a-backend deepep"), sglang("0.5.16", "--tp-size 8 --dp-size 8 --enable-dp-attention --ep-size 8 --moe-a2a-backend deepep")),
        ("F089", "removed-flag", vllm("0.10.0", "--enable-reasoning --reasoning-parser deepseek_r1"), vllm("0.10.0", "--reasoning-parser deepseek_r1")),
        ("F090", "config-member", trtllm("").config(r#"{"autotuner_enabled":true}"#), trtllm("").config(r#"{"enable_autotuner":true}"#)),
        ("F091", "unknown-flag", vllm("0.27.1", "----limit-mm-per-prompt.video 0"), vllm("0.27.1", "--limit-mm-per-prompt.video 0")),
        ("F092", "deprecated-flag", sglang("0.5.14", "--mamba-scheduler-strategy auto"), sglang("0.5.14", "--mamba-radix-cache-strategy auto")),
        ("F093", "stray-word", vllm("0.27.1", "~ --mm-processor-cache-type shm"), vllm("0.27.1", "--mm-processor-cache-type shm")),
        ("F094", "unknown-flag", sglang("0.5.16", "--max-context-length 8192"), sglang("0.5.16", "--context-length 8192")),
        ("F095", "unread-variable", vllm("0.27.1", "").env("VLLM_USE_AITER_UNIFIED_ATTENTION", "1"), vllm("0.27.1", "").env("VLLM_ROCM_USE_AITER_UNIFIED_ATTENTION", "1")),
        ("F096", "unknown-flag", vllm("0.27.1", "--disable-log-request"), vllm("0.27.1", "")),
        ("F097", "parser-family", vllm("0.27.1", "--reasoning-parser deepseek_r1").of("Qwen3_5MoeForConditionalGeneration"), vllm("0.27.1", "--reasoning-parser qwen3").of("Qwen3_5MoeForConditionalGeneration")),
        ("F098", "unknown-value", sglang("0.5.16", "--reasoning-parser nano_v3"), sglang("0.5.16", "--reasoning-parser nemotron_3")),
        ("F099", "deprecated-flag", trtllm("--revision 0123"), trtllm("--hf_revision 0123")),
        ("F100", "unknown-value", sglang("0.5.16", "--tool-call-parser qwen3coder"), sglang("0.5.16", "--tool-call-parser qwen3_coder")),
        ("F101", "unknown-member", vllm("0.27.1", "--compilation_config.pass_config.fuse_all true"), vllm("0.27.1", "--compilation_config.pass_config.fuse_norm_quant true")),
        ("F102", "unread-variable", vllm("0.27.1", "").env("VLLM_USE_V1", "1"), vllm("0.27.1", "")),
        ("F104", "removed-flag", vllm("0.23.0", "--disable-log-requests"), vllm("0.23.0", "")),
        ("F105", "unknown-value", vllm("0.24.0", "--all2all-backend mori"), vllm("0.24.0", "--all2all-backend mori_low_latency")),
        ("F105", "unread-variable", vllm("0.24.0", "").env("VLLM_MORIIO_CONNECTOR_READ_MODE", "1"), vllm("0.24.0", "")),
        ("F106", "engine-lacks-model", vllm("0.25.1", "").of("KimiK3ForConditionalGeneration"), vllm("0.27.1", "").of("KimiK3ForConditionalGeneration")),
        ("F109", "removed-flag", vllm("0.27.0", "--max-num-partial-prefills 1"), vllm("0.27.0", "")),
        ("F110", "unread-variable", vllm("0.33.0", "").env("AITER_SITUV2_A8W4", "1"), vllm("0.33.0", "").env("VLLM_ROCM_USE_AITER_MOE_SITUV2", "1")),
        ("F112", "flag-too-new", vllm("0.11.0", "--all2all-backend deepep_low_latency"), vllm("0.27.1", "--all2all-backend deepep_low_latency")),
        ("F114", "speculation-needs-draft", sglang("0.5.16", "--speculative-algorithm EAGLE3").of("GptOssForCausalLM"), sglang("0.5.16", "--speculative-algorithm EAGLE3 --speculative-draft-model-path d").of("GptOssForCausalLM")),
        ("F116", "speculation-incomplete", sglang("0.5.16", "--speculative-num-steps 2 --speculative-num-draft-tokens 3"), sglang("0.5.16", mtp)),
        ("F118", "family-algorithm", sglang("0.5.16", "--speculative-algorithm NEXTN").of("DeepseekV4ForCausalLM"), sglang("0.5.16", "--speculative-algorithm EAGLE").of("DeepseekV4ForCausalLM")),
        ("F119", "retention-interval", vllm("0.27.1", "").of("KimiK3ForConditionalGeneration").env("VLLM_PREFIX_CACHE_RETENTION_INTERVAL", "32768"), vllm("0.27.1", "").of("KimiK3ForConditionalGeneration").env("VLLM_PREFIX_CACHE_RETENTION_INTERVAL", "0")),
        ("F120", "frontend-lacks-flag", vllm("0.27.1", "--tool-call-parser kimi_k3").with(|launch| launch.worker = true), vllm("0.27.1", "--tool-call-parser kimi_k3")),
        ("F121", "excluded-flags", sglang("0.5.16", &format!("--enable-hisparse {mtp}")), sglang("0.5.16", mtp)),
        ("F122", "frontend-lacks-flag", vllm("0.27.1", "--stream-interval 20").env("VLLM_USE_RUST_FRONTEND", "1"), vllm("0.27.1", "").env("VLLM_USE_RUST_FRONTEND", "1")),
        ("F124", "acceptance-conflict", atom(r#"--method dspark --num-speculative-tokens 7 --spec-decode-acceptance-length 3.78 --dspark-config {"confidence_schedule":true}"#), atom("--method dspark --num-speculative-tokens 7 --spec-decode-acceptance-length 3.78")),
        ("F124", "acceptance-conflict", atom("--method dspark --num-speculative-tokens 7 --spec-decode-acceptance-length 3.78 --spec-decode-acceptance-rate 0.4"), atom("--method dspark --num-speculative-tokens 7 --spec-decode-acceptance-length 3.78")),
        ("F125", "backend-hardware", sglang("0.5.16", "--attention-backend trtllm_mha").on("rtx5090", "sm_120"), sglang("0.5.16", "--attention-backend trtllm_mha").on("b200", "sm_100")),
        ("F126", "backend-hardware", vllm("0.27.1", "--kv-cache-dtype fp8").on("rtx6000pro", "sm_120").model("m", Checkpoint { plain_head: fact(192), ..Checkpoint::default() }), vllm("0.27.1", "--kv-cache-dtype auto").on("rtx6000pro", "sm_120").model("m", Checkpoint { plain_head: fact(192), ..Checkpoint::default() })),
        ("F129", "kv-cache-type", vllm("0.27.1", "--kv-cache-dtype fp8").on("mi325x", "gfx942").of("MiniMaxM3SparseForCausalLM"), vllm("0.27.1", "--kv-cache-dtype fp8").on("mi355x", "gfx950").of("MiniMaxM3SparseForCausalLM")),
        ("F131", "moe-emulation", vllm("0.27.1", "-tp 8 -ep").on("mi355x", "gfx950").model("m", fp4("mxfp4", "")), vllm("0.27.1", "-tp 8 -ep --moe-backend aiter").on("mi355x", "gfx950").model("m", fp4("mxfp4", ""))),
        ("F133", "backend-hardware", sglang("0.5.16", "").on("mi300x", "gfx942").model("m", dsv4()), sglang("0.5.16", "").on("mi355x", "gfx950").model("m", dsv4())),
        ("F134", "kv-cache-type", sglang("0.5.23", "--dsv4-attn-backend trtllm --kv-cache-dtype bfloat16").on("b200", "sm_100"), sglang("0.5.23", "--dsv4-attn-backend trtllm --kv-cache-dtype fp8_e4m3").on("b200", "sm_100")),
        ("F134", "backend-hardware", sglang("0.5.23", "--dsv4-attn-backend trtllm --kv-cache-dtype fp8_e4m3").on("h200", "sm_90"), sglang("0.5.23", "--dsv4-attn-backend trtllm --kv-cache-dtype fp8_e4m3").on("b300", "sm_103")),
        ("F135", "backend-hardware", vllm("0.27.1", "--moe-backend deep_gemm_mega_moe --nnodes 2").on("b200", "sm_100"), vllm("0.27.1", "--moe-backend deep_gemm_mega_moe --nnodes 2").on("gb200", "sm_100")),
        ("F136", "backend-hardware", vllm("0.27.1", r#"--attention-config {"use_fp4_indexer_cache":true}"#).on("rtx6000pro", "sm_120"), vllm("0.27.1", r#"--attention-config {"use_fp4_indexer_cache":true}"#).on("b200", "sm_100")),
        ("F137", "backend-hardware", vllm("0.27.1", r#"--speculative-config {"method":"eagle3","model":"d","num_speculative_tokens":3,"attention_backend":"FLASH_ATTN"}"#).on("mi355x", "gfx950"), vllm("0.27.1", r#"--speculative-config {"method":"eagle3","model":"d","num_speculative_tokens":3,"attention_backend":"TRITON_ATTN"}"#).on("mi355x", "gfx950")),
        ("F139", "indivisible", vllm("0.27.1", "-tp 8").model("m", heads(28, None)), vllm("0.27.1", "-tp 4").model("m", heads(28, None))),
        ("F140", "weights-too-big", vllm("0.27.1", "-tp 8").on("h100", "sm_90").model("m", weights(671_000_000_000)), vllm("0.27.1", "-tp 8 -pp 2").on("h100", "sm_90").model("m", weights(671_000_000_000))),
        ("F142", "weights-too-big", vllm("0.27.1", "-tp 1").on("mi300x", "gfx942").model("m", weights(256_000_000_000)), vllm("0.27.1", "-tp 8").on("mi300x", "gfx942").model("m", weights(256_000_000_000))),
        ("F143", "indivisible", sglang("0.5.16", "--tp-size 8 --dp-size 8 --enable-dp-attention --moe-a2a-backend mori").model("m", Checkpoint { heads: fact(64), experts: fact(512), shared_experts: fact(1), ..Checkpoint::default() }), sglang("0.5.16", "--tp-size 8 --dp-size 8 --enable-dp-attention --moe-a2a-backend mori --disable-shared-experts-fusion").model("m", Checkpoint { heads: fact(64), experts: fact(512), shared_experts: fact(1), ..Checkpoint::default() })),
        ("F145", "indivisible", vllm("0.27.1", "-tp 16").model("m", width(3072, 128)), vllm("0.27.1", "-tp 8").model("m", width(3072, 128))),
        ("F146", "duplicate-flag", vllm("0.27.1", "-tp 4 --tensor-parallel-size 4"), vllm("0.27.1", "--tensor-parallel-size 4")),
        ("F147", "weights-too-big", vllm("0.27.1", "-tp 4").on("b300", "sm_103").model("m", weights(1_500_000_000_000)), vllm("0.27.1", "-tp 8").on("b300", "sm_103").model("m", weights(1_500_000_000_000))),
        ("F149", "indivisible", sglang("0.5.16", "--tp-size 3 --ep-size 3").model("m", heads(64, fact(256))), sglang("0.5.16", "--tp-size 4 --ep-size 4").model("m", heads(64, fact(256)))),
        ("F150", "indivisible", vllm("0.27.1", "-tp 8").model("m", width(320, 128)), vllm("0.27.1", "-tp 8").model("m", width(1024, 128))),
        ("F155", "per-rank-size", vllm("0.27.1", "--data-parallel-size 8 --max-num-seqs 4096 --max-cudagraph-capture-size 8192").asks(Scenario::Agentic, 4096), vllm("0.27.1", "--data-parallel-size 8 --max-num-seqs 512 --max-cudagraph-capture-size 512").asks(Scenario::Agentic, 4096)),
        ("F158", "host-memory", sglang("0.5.16", &format!("--tp-size 8 --mem-fraction-static 0.99 {hicache} 2")).on("other", "sm_100").model("m", weights(8_000_000)), sglang("0.5.16", &format!("--tp-size 8 --mem-fraction-static 0.99 {hicache} 1")).on("other", "sm_100").model("m", weights(8_000_000))),
        ("F159", "little-headroom", sglang("0.5.16", &format!("{mtp} --mem-fraction-static 0.85")).on("b200", "sm_100"), sglang("0.5.16", &format!("{mtp} --mem-fraction-static 0.82")).on("b200", "sm_100")),
        ("F130", "kv-scales", vllm("0.27.1", "--kv-cache-dtype fp8").on("mi300x", "gfx942").model("m", Checkpoint { kv_scales: fact(false), ..Checkpoint::default() }), vllm("0.27.1", "").on("mi300x", "gfx942").model("m", Checkpoint { kv_scales: fact(false), ..Checkpoint::default() })),
        ("F165", "prefix-cache-on-random", sglang("0.5.16", "--tp-size 8").asks(Scenario::FixedSequence, 16), sglang("0.5.16", "--tp-size 8 --disable-radix-cache").asks(Scenario::FixedSequence, 16)),
        ("F161", "prefix-cache-on-random", vllm("0.27.1", "").asks(Scenario::FixedSequence, 4), vllm("0.27.1", "--no-enable-prefix-caching").asks(Scenario::FixedSequence, 4)),
        ("F166", "model-override", vllm("0.27.1", r#"--hf-overrides {"index_topk_freq":4}"#).model("m", Checkpoint { config_members: fact(vec!["num_hidden_layers".to_owned()]), ..Checkpoint::default() }), vllm("0.27.1", "").model("m", Checkpoint { config_members: fact(vec!["num_hidden_layers".to_owned()]), ..Checkpoint::default() })),
        ("F170", "missing-value", vllm("0.27.1", "--attention-config.use_trtllm_attention --port 8000"), vllm("0.27.1", "--attention-config.use_trtllm_attention=True --port 8000")),
        ("F172", "broken-json", vllm("0.27.1", "--limit-mm-per-prompt image=4,audio=1"), vllm("0.27.1", r#"--limit-mm-per-prompt {"image":4,"audio":1}"#)),
        ("F173", "unexpanded-placeholder", sglang("0.5.16", "--served-model-name {MORI_COMBINE_DTYPE_DECODE}"), sglang("0.5.16", "--served-model-name m")),
        ("F175", "quoted-boolean", vllm("0.27.1", &offload("\"false\"")), vllm("0.27.1", &offload("false"))),
        ("F176", "quoted-boolean", vllm("0.33.0", &offload("\"False\"")), vllm("0.33.0", &offload("true"))),
        ("F177", "broken-json", vllm("0.27.1", r#"--speculative-config '{"method":"mtp","num_speculative_tokens":3}'"#), vllm("0.27.1", r#"--speculative-config {"method":"mtp","num_speculative_tokens":3}"#)),
        ("F181", "unread-variable", sglang("0.5.18", "").env("SGLANG_OPT_USE_FAST_MASK_EP", "1"), sglang("0.5.18", "")),
        ("F186", "label-not-realised", sglang("0.5.16", "--tp-size 8").point(8, 1, false).with(drafts(None)), sglang("0.5.16", &format!("--tp-size 8 {mtp}")).point(8, 1, false).with(drafts(None))),
        ("F202", "unknown-flag", sglang("0.5.16", "--max_running_requests 32"), sglang("0.5.16", "--max-running-requests 32")),
        ("F203", "format-hardware", sglang("0.5.16", "--quantization modelopt_fp4").on("mi355x", "gfx950"), sglang("0.5.16", "--quantization mxfp4").on("mi355x", "gfx950")),
        ("F206", "config-member", trtllm("").config(r#"{"cuda_graph_config":{"padding_enabled":true}}"#), trtllm("").config(r#"{"cuda_graph_config":{"enable_padding":true}}"#)),
        ("F206", "unknown-flag", case(Engine::Trtllm, "nvcr.io#nvidia/tensorrt-llm/release:1.3.0rc18", None, "--model m"), trtllm("")),
        ("F062", "unexpanded-placeholder", case(Engine::Vllm, "nvcr.io/nvidia/ai-dynamo/vllm-runtime:my-tag", Some("0.27.1"), "m"), case(Engine::Vllm, "nvcr.io/nvidia/ai-dynamo/vllm-runtime:1.1.1", Some("0.27.1"), "m")),
        ("", "unexpanded-placeholder", case(Engine::Vllm, "vllm/vllm-openai:<tag>", Some("0.27.1"), "m"), case(Engine::Vllm, "vllm/vllm-openai:v0.27.1", None, "m")),
        ("", "image-version", case(Engine::Vllm, "vllm/vllm-openai:v0.27.1", Some("0.25.1"), "m"), case(Engine::Vllm, "vllm/vllm-openai:v0.27.1", Some("0.27.1"), "m")),
        ("F022", "acceptance-incomplete", vllm("0.27.1", r#"--speculative-config.method mtp --speculative-config.num_speculative_tokens 3"#).with(drafts(Some("2.49"))), vllm("0.27.1", r#"--speculative-config {"method":"mtp","num_speculative_tokens":3,"rejection_sample_method":"synthetic","synthetic_acceptance_length":2.49}"#).with(drafts(Some("2.49")))),
        ("F044", "draft-pair", vllm("0.27.1", "").pair("nvidia/Kimi-K2.6-NVFP4", "lightseekorg/kimi-k2.6-eagle3-mla"), vllm("0.27.1", "").pair("nvidia/Kimi-K2.6-NVFP4", "lightseekorg/kimi-k2.6-eagle3.1-mla")),
        ("", "draft-pair", vllm("0.27.1", "").pair("nvidia/Kimi-K2.6-NVFP4", "lightseekorg/kimi-k2.5-eagle3-mla"), vllm("0.27.1", "").pair("nvidia/Kimi-K2.5-NVFP4", "lightseekorg/kimi-k2.5-eagle3-mla")),
        ("F047", "quantization-mismatch", case(Engine::Vllm, "vllm/vllm-openai:v0.27.1", None, "w.gguf --hf-config-path c").model("m", fp4("fp8", "")), case(Engine::Vllm, "vllm/vllm-openai:v0.27.1", None, "w.gguf --hf-config-path c").model("m", fp4("none", ""))),
        ("", "unknown-value", vllm("0.27.1", "").env("VLLM_FLASHINFER_ALLREDUCE_BACKEND", "nvls"), vllm("0.27.1", "").env("VLLM_FLASHINFER_ALLREDUCE_BACKEND", "mnnvl")),
        ("", "wrong-value-type", sglang("0.5.18", "").env("SGLANG_SORT_WEIGHT_FILES", "many"), sglang("0.5.18", "").env("SGLANG_SORT_WEIGHT_FILES", "2")),
        ("", "wrong-value-type", sglang("0.5.18", "").env("SGLANG_ENABLE_TORCH_INFERENCE_MODE", "on"), sglang("0.5.18", "").env("SGLANG_ENABLE_TORCH_INFERENCE_MODE", "Yes")),
        // What engines do by themselves for some models, and what those models refuse.
        ("", "family-backend", sglang("0.5.18", "--dcp-size 8 --attention-backend trtllm_mla").of("KimiK3ForConditionalGeneration"), sglang("0.5.18", "--dcp-size 8 --attention-backend trtllm_mla --decode-attention-backend tokenspeed_mla").of("KimiK3ForConditionalGeneration")),
        ("", "family-backend", sglang("0.5.23", "--dcp-size 8 --decode-attention-backend fa3").of("KimiK3ForConditionalGeneration"), sglang("0.5.23", "--dcp-size 8 --decode-attention-backend aiter").of("KimiK3ForConditionalGeneration")),
        ("", "excluded-flags", sglang("0.5.18", "--dcp-size 8 --speculative-algorithm DSPARK").env("SGLANG_RAGGED_VERIFY_MODE", "compact").of("KimiK3ForConditionalGeneration"), sglang("0.5.18", "--dcp-size 8 --speculative-algorithm DSPARK").env("SGLANG_RAGGED_VERIFY_MODE", "static").of("KimiK3ForConditionalGeneration")),
        ("", "silent-rewrite", sglang("0.5.18", "--enable-symm-mem").of("KimiK3ForConditionalGeneration"), sglang("0.5.18", "--enable-symm-mem --cuda-graph-backend-decode disabled --cuda-graph-backend-prefill disabled").of("KimiK3ForConditionalGeneration")),
        ("", "silent-rewrite", sglang("0.5.16", "--enforce-disable-flashinfer-allreduce-fusion --flashinfer-allreduce-fusion-backend mnnvl"), sglang("0.5.16", "--flashinfer-allreduce-fusion-backend mnnvl")),
        ("", "silent-rewrite", sglang("0.5.16", "--speculative-algorithm NEXTN"), sglang("0.5.16", "--speculative-algorithm EAGLE")),
        // What a later release can.
        ("", "backend-hardware", sglang("0.5.18", "--attention-backend trtllm_mha").on("h200", "sm_90"), sglang("0.5.23", "--attention-backend trtllm_mha").on("h200", "sm_90")),
        ("", "excluded-flags", vllm("0.27.1", r#"-tp 8 -dcp 8 --speculative-config {"method":"dspark","model":"d","num_speculative_tokens":7}"#), vllm("0.33.0", r#"-tp 8 -dcp 8 --speculative-config {"method":"dspark","model":"d","num_speculative_tokens":7}"#)),
        ("", "needs-another-flag", sglang("0.5.18", "--enable-dp-lm-head"), sglang("0.5.23", "--tp-size 8 --attn-dp-size 8 --enable-dp-lm-head")),
        ("", "draft-tokens", vllm("0.27.1", r#"--speculative-config {"method":"mtp","num_speculative_tokens":5}"#).model("m", head(2, 0)), vllm("0.27.1", r#"--speculative-config {"method":"mtp","num_speculative_tokens":4}"#).model("m", head(2, 0))),
        ("", "draft-tokens", vllm("0.27.1", r#"--speculative-config {"method":"dspark","num_speculative_tokens":3}"#).model("m", head(1, 7)), vllm("0.33.0", r#"--speculative-config {"method":"dspark","num_speculative_tokens":3}"#).model("m", head(1, 7))),
        ("", "excluded-flags", vllm("0.27.1", r#"--no-disable-hybrid-kv-cache-manager --speculative-config {"method":"eagle3","model":"d","num_speculative_tokens":3}"#).env("VLLM_ALLOW_CHUNKED_LOCAL_ATTN_WITH_HYBRID_KV_CACHE", "1").of("Llama4ForConditionalGeneration"), vllm("0.27.1", "--no-disable-hybrid-kv-cache-manager").env("VLLM_ALLOW_CHUNKED_LOCAL_ATTN_WITH_HYBRID_KV_CACHE", "1").of("Llama4ForConditionalGeneration")),
        // The story of the agentic copy: the architectures want opposite types.
        ("", "linear-attention-state", sglang("0.5.16", &format!("--linear-attn-backend flashinfer --mamba-ssm-dtype float32 {mtp}")).on("b200", "sm_100"), sglang("0.5.16", &format!("--linear-attn-backend flashinfer --mamba-ssm-dtype bfloat16 {mtp}")).on("b200", "sm_100")),
        ("", "linear-attention-state", sglang("0.5.16", &format!("--linear-attn-backend flashinfer --mamba-ssm-dtype bfloat16 {mtp}")).on("h200", "sm_90"), sglang("0.5.16", &format!("--linear-attn-backend flashinfer --mamba-ssm-dtype float32 {mtp}")).on("h200", "sm_90")),
    ]
}

#[test]
fn each_fault_gets_its_slug_and_its_repair_is_clean_of_it() {
    let mut faults = Vec::new();
    for (record, slug, fault, repair) in cases() {
        let (bad, good) = (slugs(&fault), slugs(&repair));
        if !bad.iter().any(|found| found == slug) {
            faults.push(format!("{record}: {slug} is not reported, but {bad:?}"));
        }
        if good.iter().any(|found| found == slug) {
            faults.push(format!("{record}: {slug} is still reported of the repair"));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn every_record_that_a_page_claims_has_a_case() {
    let cases = cases();
    // Judged on the claim itself, where no launch shows it: engine::acceptance has the tests.
    let claims = ["F018", "F025", "F026", "F032"];
    // Two processes at once: their own test has them.
    let pairs = ["F115", "F117"];
    // The same rule as its neighbour F048: another tool's generator left the flag out.
    let neighbours = ["F051"];
    for page in diag::pages().filter(|page| page.stage == "engine") {
        for record in page.explanation().unwrap().covers {
            let known = cases.iter().any(|(of, ..)| *of == record)
                || claims.contains(&record.as_str())
                || pairs.contains(&record.as_str())
                || neighbours.contains(&record.as_str());
            assert!(known, "{} claims {record}, and no case shows it", page.slug);
        }
    }
}

#[test]
fn what_must_not_be_refused_is_not() {
    let accepted = [
        ("F027 F028", atom("--method mtp --num-speculative-tokens 3 --spec-decode-acceptance-rate 0.663333").with(|launch| {
            launch.speculative = Some(Speculative { method: "mtp".to_owned(), steps: 3, sampling: None, acceptance: Some("2.99".to_owned()) });
        })),
        ("F123", sglang("0.5.16", "--speculative-algorithm EAGLE --speculative-num-steps 1 --speculative-eagle-topk 1 --speculative-num-draft-tokens 2 --max-running-requests 8").with(|launch| launch.role = engine::Role::Prefill)),
        ("F203", sglang("0.5.16", "--quantization mxfp4").on("mi355x", "gfx950")),
        ("F204", vllm("0.27.1", "-cc.mode none -cc.cudagraph_mode full_decode_only")),
        ("F205", vllm("0.27.1", "--speculative-config.method mtp --speculative-config.num_speculative_tokens 5")),
    ];
    // F073: enroot's spelling of a reference and Docker's are one image.
    let image = |image: &str| choose(Engine::Trtllm, image, None).version;
    assert_eq!(
        image("nvcr.io#nvidia/tensorrt-llm/release:1.3.0rc18"),
        image("nvcr.io/nvidia/tensorrt-llm/release:1.3.0rc18")
    );
    // F103: a nightly is newer than every release, and versions are no text.
    let version = engine::Version::parse;
    assert!(version("nightly") > version("0.20.0") && version("0.20.0") > version("0.9.1"));
    for (records, case) in accepted {
        let errors: Vec<String> = check(&case.0)
            .findings
            .into_iter()
            .filter(|finding| finding.severity == diag::Severity::Error)
            .map(|finding| finding.message)
            .collect();
        assert!(errors.is_empty(), "{records}: {errors:?}");
    }
}

#[test]
fn all_violated_divisions_are_told_together_with_the_widths_that_pass() {
    let facts = Checkpoint { heads: fact(64), experts: fact(256), ..Checkpoint::default() };
    let case = sglang("0.5.16", "--tp-size 3 --ep-size 3").model("m", facts);
    let report = check(&case.0);
    let finding = report.findings.iter().find(|finding| finding.slug.as_str() == "indivisible").unwrap();
    assert_eq!(finding.message, "64 attention heads do not divide by 3; 256 experts do not divide by 3");
    assert_eq!(finding.help, ["tensor parallelism 1, 2, 4, 8, 16, 32 or 64 passes"]);
}

#[test]
fn a_suggestion_never_says_the_opposite() {
    for line in ["--disable-log-stat", "--disable-metrics", "--no-enable-metric", "--enable-radix-cache"] {
        let report = check(&sglang("0.5.16", line).0);
        for finding in report.findings {
            for help in finding.help {
                assert!(!(line.starts_with("--disable") && help.contains("--enable")), "{line}: {help}");
                assert!(!(line.starts_with("--enable") && help.contains("--disable")), "{line}: {help}");
            }
        }
    }
}

#[test]
fn a_rule_that_lacks_a_fact_is_skipped_and_says_what_it_needs() {
    let report = check(&sglang("0.5.16", "--linear-attn-backend flashinfer --mamba-ssm-dtype float32").0);
    assert!(report.findings.iter().all(|finding| finding.slug.as_str() != "linear-attention-state"));
    assert!(report.skipped.iter().any(|skipped| skipped.slug == "linear-attention-state" && skipped.needs.contains("architecture")));
}

#[test]
fn a_branch_image_is_judged_gently_and_may_be_waived() {
    let line =
        r#"m -tp 8 -dcp 8 --speculative-config {"method":"dspark","model":"d","num_speculative_tokens":7}"#;
    let severity = |image: &str, stated, waive: bool| {
        let mut case = case(Engine::Vllm, image, stated, line);
        if waive {
            case.0.waivers.insert("vl-dspark-dcp".to_owned(), "the branch can".to_owned());
        }
        check(&case.0)
            .findings
            .iter()
            .find(|finding| finding.slug.as_str() == "excluded-flags")
            .map(|finding| finding.severity)
    };
    assert_eq!(severity("vllm/vllm-openai:v0.27.1", None, false), Some(diag::Severity::Error));
    assert_eq!(severity("example/branch:x", Some("0.27.2"), false), Some(diag::Severity::Warning));
    assert_eq!(severity("example/branch:x", Some("0.27.1"), true), None);
    assert_eq!(severity("vllm/vllm-openai:kimi-k3", Some("0.27.1"), false), None);
}

#[test]
fn halves_of_a_deployment_agree_on_what_travels_between_them() {
    let says = |prefill: Case, decode: Case| -> Vec<String> {
        let report = together(&prefill.0, &decode.0);
        assert!(report.findings.iter().all(|finding| finding.slug.as_str() == "roles-differ"));
        report.findings.into_iter().map(|finding| finding.message).collect()
    };
    let cached = |algorithm: &str| Checkpoint {
        architecture: fact("Qwen3MoeForCausalLM".to_owned()),
        kv_cache_quantization: (!algorithm.is_empty()).then(|| fact(algorithm.to_owned())).flatten(),
        ..Checkpoint::default()
    };
    let s = |line: &str| sglang("0.5.18", line);
    // F115: `auto` is what the checkpoint says.
    let auto = |algorithm| s("--kv-cache-dtype auto").model("m", cached(algorithm));
    let fp8 = |algorithm| s("--kv-cache-dtype fp8_e4m3").model("m", cached(algorithm));
    let differ = "decode keeps its cache in `fp8_e4m3`, and prefill fills it in `bfloat16`";
    assert_eq!(says(auto(""), fp8("")), [differ]);
    assert_eq!(says(auto("FP8"), fp8("FP8")), [""; 0]);
    assert_eq!(says(auto(""), auto("")), [""; 0]);
    let unknown = together(&s("").0, &s("--kv-cache-dtype fp8_e4m3").0);
    assert_eq!((unknown.findings.len(), unknown.skipped.len()), (0, 1));
    // F117: drafts on one side only; F123: their number may differ.
    let drafts = |steps, tokens| {
        format!(
            "--speculative-algorithm EAGLE --speculative-num-steps {steps} --speculative-eagle-topk 1 --speculative-num-draft-tokens {tokens}"
        )
    };
    assert_eq!(says(s(""), s(&drafts(2, 3))), ["decode drafts with `EAGLE`, and prefill with nothing"]);
    assert_eq!(says(s(&drafts(1, 2)), s(&drafts(2, 3))), [""; 0]);
    assert_eq!(says(s("--speculative-algorithm NEXTN"), s("--speculative-algorithm EAGLE")), [""; 0]);
    // Their brothers.
    let path = "--speculative-algorithm EAGLE3 --speculative-draft-model-path";
    assert_eq!(says(s(&format!("{path} a")), s(&format!("{path} b"))).len(), 1);
    assert_eq!(says(s("--page-size 64"), s("--page-size 32")).len(), 1);
    assert_eq!(says(s("--page-size 64"), s("")), [""; 0]);
    assert_eq!(says(s("--disaggregation-transfer-backend nixl"), s("")).len(), 1);
    assert_eq!(says(s("--disaggregation-mode decode"), s("--disaggregation-mode decode")).len(), 1);
    let v = |role: &str, rest: &str| {
        vllm(
            "0.27.1",
            &format!(r#"--kv-transfer-config {{"kv_connector":"NixlConnector","kv_role":"{role}"}} {rest}"#),
        )
    };
    assert_eq!(says(v("kv_producer", ""), v("kv_consumer", "")), [""; 0]);
    assert_eq!(says(v("kv_consumer", ""), v("kv_producer", "")).len(), 2);
    assert_eq!(says(v("kv_both", "--dtype bfloat16"), v("kv_both", "--dtype float16")).len(), 1);
}

/// Records that are accepted as they have to be, or that hold by another test of this file.
const ACCEPTED: &[&str] = &["F027", "F028", "F073", "F103", "F123", "F204", "F205"];

/// Compile records that no slug answers, by why.
const OPEN: &[(&str, &[&str])] = &[
    (
        "the launch and its labels are read from one manifest: there is no second text that could differ",
        &[
            "F003", "F006", "F009", "F010", "F012", "F013", "F015", "F016", "F039", "F066", "F088", "F188",
            "F190",
        ],
    ),
    ("of deployments over several nodes, which manifests do not plan yet", &["F011", "F144", "F148", "F189"]),
    (
        "a property of locks and scripts that tests of those hold, without a finding",
        &[
            "F002", "F004", "F007", "F074", "F078", "F080", "F151", "F183", "F193", "F194", "F198", "F200",
            "F201",
        ],
    ),
    (
        "a verdict of `recipec verify` over evidence and policy, whose pages list no records",
        &["F069", "F160", "F163", "F164", "F207", "F208", "F209", "F210", "F211", "F212"],
    ),
    (
        "of scripts and build files that are written by hand, which no manifest has",
        &["F001", "F068", "F083", "F084", "F167", "F168", "F169", "F174", "F179", "F184"],
    ),
    ("of fields that only the pages of cookbooks have", &["F064", "F082", "F108", "F111", "F141", "F152"]),
    ("of names in upstream's own lists, which the compiler does not know", &["F040", "F050"]),
    ("the curve's conditions are recorded; what traffic accepts is not decided before it runs", &["F020"]),
    ("needs the types of all tensors, and sound checkpoints mix them too", &["F053"]),
    ("the value is legal in every release that has the variable: only that image refuses it", &["F107"]),
    (
        "a default that the release computes by the machine; plain defaults that differ are in `recipec diff`",
        &["F128"],
    ),
    ("needs the size of a token's cache, which the facts of a checkpoint do not give", &["F156"]),
    (
        "of the client's tokenizer and interpreter, which an image does not tell before it runs",
        &["F162", "F182"],
    ),
    ("the share is a choice of the author", &["F197"]),
];

#[test]
fn every_compile_record_is_answered_or_it_is_said_why_not() {
    let Some(shared) = crate::support::shared("every_compile_record_is_answered_or_it_is_said_why_not")
    else {
        return;
    };
    let text = std::fs::read_to_string(shared.join("failures.json")).unwrap();
    let all: serde_json::Value = serde_json::from_str(&text).unwrap();
    let claimed: Vec<String> = diag::pages()
        .flat_map(|page| page.explanation().map_or_else(|_| Vec::new(), |page| page.covers))
        .collect();
    let open: Vec<&str> = OPEN.iter().flat_map(|(_, records)| records.iter().copied()).collect();
    let (mut covered, mut missing, mut total) = (0, Vec::new(), 0);
    for record in all["records"].as_array().unwrap().iter().filter(|record| record["stage"] == "compile") {
        let id = record["id"].as_str().unwrap();
        total += 1;
        if claimed.iter().any(|claimed| claimed == id) || ACCEPTED.contains(&id) {
            covered += 1;
        } else if !open.contains(&id) {
            missing.push(id.to_owned());
        }
    }
    println!("{covered} of {total} compile records are covered; for the rest it is said why not");
    assert!(missing.is_empty(), "{missing:?}");
}
