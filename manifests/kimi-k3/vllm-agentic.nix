# Kimi-K3 on vLLM, drafting with DSpark, replaying agents' recorded conversations. Fewer than eight
# GPUs do not hold it.
let
  inherit (import ../lib/numbers.nix) min multiples when;
  kimi = import ../lib/models/kimi-k3.nix;
  golden = import ../lib/golden.nix;
  vllm = import ../lib/vllm.nix;
  sizes = import ../lib/sizes.nix;
  mooncake = import ../lib/mooncake.nix;
  harness = import ../lib/harness.nix;

  inherit (harness) traces;

  base = {
    engine = "vllm";
    model = kimi.mxfp4;
    quantization = { kvCache = "fp8"; };
    client = harness.traceReplay {
      loader = traces;
      serverMetrics = point: null;
      moreEnv.AIPERF_HTTP_TCP_USER_TIMEOUT = 900000;
    };
    datasets = [ (harness.traceDataset traces) ];
    eval = harness.lmEval { };
    harness = harness.source;
    cookbook = vllm.cookbook kimi.vllmCookbook;
  };

  drafting = steps: more: {
    method = "dspark"; inherit steps;
    draft = kimi.dspark // more;
    draftSampling = "probabilistic";
    acceptance = { curve = golden.kimiK3DsparkProbabilistic; };
  };

  # Evaluations judge drafts block by block; measurements take the acceptance that is declared.
  draft = { attention, more ? { } }: { mode, speculative, ... }@point:
    let
      config = (vllm.draftModel { inherit attention; } point).speculative-config;
    in
    {
      speculative-config = config // more // { draft_sample_method = speculative.draftSampling; }
        // when (mode == "eval") { rejection_sample_method = "block"; };
    };

  common = { tp, ... }@point: vllm.named point // {
    tensor-parallel-size = tp;
    data-parallel-size = null;
    load-format = "fastsafetensors";
    moe-backend = "auto";
    language-model-only = true;
    enable-prefix-caching = true;
  };

  store = { version = "0.3.11.post1"; };
in
{
  "kimik3-fp4-b300-vllm-agentic-dspark" = base // {
    image = "vllm/vllm-openai:nightly-dev-x86_64-cu13.0.1-5894fdf";
    download = "missing";
    # The more run at a time, the less a draft is worth.
    speculative = { conc, ... }: if conc <= 8 then drafting 7 { } else if conc <= 16 then drafting 3 { } else null;
    drafts = [ kimi.dspark ];
    curves = [ golden.kimiK3DsparkProbabilistic ];
    targets = [ "cluster:b300-nv" ];
    scenarios.agentic = [
      {
        dramUtilization = 0.75;
        search = [
          {
            tp = 8; dcp = 8;
            kvOffload = { medium = "dram"; backend = "mooncake"; inherit (store) version; };
            conc = [ 1 2 4 8 16 24 32 40 48 56 70 ];
          }
        ];
      }
    ];
    serve = { tp, dcp, conc, speculative, kvOffload, ... }@point:
      let
        # Concurrency counts live session trees; their branches need room.
        sequences = 2 * conc;
        # A step verifies each sequence's drafts and its next token.
        tokens = 1 + (if speculative == null then 0 else speculative.steps);
        dense = multiples tokens (min sequences 128 * tokens);
        longest = builtins.elemAt dense (builtins.length dense - 1);
        sparse = builtins.filter (size: size > longest) [ 64 128 256 512 1024 2048 4096 8192 ];
        server = vllm.serve (point: {
          args = common point // vllm.contextParallelism point // when (dcp > 1) { dcp-comm-backend = "a2a"; } // {
            max-num-seqs = sequences;
            gpu-memory-utilization = if conc >= 56 then 0.9 else 0.92;
            max-num-batched-tokens = 16384;
            no-enable-flashinfer-autotune = true;
            enable-cumem-allocator = true;
            prefix-match-unit = 128;
            stream-interval = 10;
            attention-backend = "TOKENSPEED_MLA";
            attention-config = { mla_prefill_backend = "TRTLLM_RAGGED"; use_prefill_query_quantization = true; };
            compilation-config = { cudagraph_mode = "FULL_AND_PIECEWISE"; cudagraph_capture_sizes = dense ++ sparse; };
            disable-uvicorn-access-log = true;
          } // when (speculative != null) (draft { attention = "TOKENSPEED_MLA"; } point)
          // when (kvOffload != null) {
            kv-transfer-config = {
              kv_connector = "MooncakeStoreConnector";
              kv_role = "kv_both";
              # Blocks that do not come are computed again.
              kv_load_failure_policy = "recompute";
              kv_connector_extra_config = { load_async = true; lookup_async = true; enable_offload = false; };
            };
          };
          env = vllm.readyWithin 3600 // {
            PYTHONNOUSERSITE = 1;
            TORCH_CUDA_ARCH_LIST = "10.0";
            # Equal prefixes have equal names on all ranks.
            PYTHONHASHSEED = 42;
            AIPERF_HTTP_TCP_USER_TIMEOUT = 900000;
            VLLM_ALLREDUCE_USE_FLASHINFER = 1;
            VLLM_ENABLE_K3_LATENT_MOE_TAIL_FUSION = 1;
            VLLM_USE_V2_MODEL_RUNNER = 1;
            VLLM_USE_DIRECT_DCP_A2A = 1;
            VLLM_USE_DIRECT_DCP_Q_GATHER = 1;
            VLLM_USE_DIRECT_DCP_KV_GATHER = 1;
            VLLM_RPC_TIMEOUT = 600000;
            VLLM_PREFIX_CACHE_RETENTION_INTERVAL = 0;
            VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS = 0;
            VLLM_HTTP_TIMEOUT_KEEP_ALIVE = 900;
          };
        }) point;
        kept = mooncake.store (store // {
          segment = sizes.each tp kvOffload.total;
          # The first rail that is up; upstream looks for it when the run starts.
          device = "mlx5_0";
          highWatermark = "0.95";
          env = {
            MC_GID_INDEX = 3;
            MC_STORE_MEMCPY = 1;
            WITH_NVIDIA_PEERMEM = 0;
            VLLM_MOONCAKE_LOAD_RECV_THREADS = 4;
          };
        }) point;
      in
      server // when (kvOffload != null) (kept // { env = server.env // kept.env; });
  };

  "kimik3-fp4-mi355x-vllm-agentic-mtp" = base // {
    image = "vllm/vllm-openai-rocm:nightly-cb8104839c141609d99f1254459ef3a4f1bd4263";
    speculative = drafting 2 { download = "engine"; };
    targets = [ "cluster:mi355x-amds" ];
    scenarios.agentic = [
      {
        dramUtilization = 0.5;
        search = [
          { tp = 8; conc = [ 1 4 8 ]; }
          { tp = 8; kvOffload = { medium = "dram"; backend = "vllm-simple"; }; conc = [ 10 ]; }
        ];
      }
    ];
    serve = { workspace, ... }@point: vllm.serve ({ ep, model, kvOffload, ... }@point: {
      args = common point // kimi.vllmReaders // draft { attention = "TRITON_MLA"; more.kv_cache_dtype = "auto"; } point // {
        enable-expert-parallel = ep > 1;
        gpu-memory-utilization = 0.9;
        max-num-seqs = 20;
        max-model-len = model.context;
        compilation-config = {
          mode = 3;
          cudagraph_mode = "FULL_AND_PIECEWISE";
          max_cudagraph_capture_size = 60;
          custom_ops = [ "+fused_rms_norm_gated" ];
          cudagraph_capture_sizes = multiples 1 60;
        };
      } // when (kvOffload != null) (vllm.offload "SimpleCPUOffloadConnector" {
        cpu_bytes_to_use_per_rank = vllm.offloadPerRank point;
        lazy_offload = false;
      });
      env = vllm.readyWithin 7200 // {
        PYTHONNOUSERSITE = 1;
        AIPERF_HTTP_TCP_USER_TIMEOUT = 900000;
        VLLM_ROCM_AITER_MLA_ASM_PADDING = "asm";
        VLLM_ROCM_USE_AITER = 1;
        SAFETENSORS_FAST_GPU = 1;
        VLLM_ROCM_USE_AITER_MOE_SITUV2_A8W4 = 1;
        AITER_BF16_FP8_MOE_BOUND = 0;
        VLLM_USE_BREAKABLE_CUDAGRAPH = 0;
        VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS = 1200;
      } // when (kvOffload != null) { PYTHONHASHSEED = 42; };
    }) point // {
      # The image's engine is changed before it starts.
      tools = [ { program = [ "bash" "${workspace}/benchmarks/single_node/agentic/apply_k3_container_patches.sh" ]; } ];
    };
  };
}
