# DeepSeek-V4-Pro on vLLM with its own MTP head, replaying agents' recorded conversations.
let
  inherit (import ../lib/numbers.nix) multiples when;
  model = import ../lib/models/deepseek-v4.nix;
  golden = import ../lib/golden.nix;
  vllm = import ../lib/vllm.nix;
  mooncake = import ../lib/mooncake.nix;
  sizes = import ../lib/sizes.nix;
  harness = import ../lib/harness.nix;

  inherit (harness) traces;
  router = { name = "vllm-router"; version = "0.1.14"; };
  serve = vllm.serveRouted { routerVersion = router.version; };

  base = {
    engine = "vllm";
    model = model.fp4;
    quantization = { kvCache = "fp8"; };
    speculative = { method = "mtp"; steps = 3; acceptance = { curve = golden.deepseekV4Mtp; }; };
    client = replay { };
    datasets = [ (harness.traceDataset traces) ];
    eval = harness.lmEval { };
    harness = harness.source;
    cookbook = vllm.cookbook model.vllmCookbook;
  };

  # The router knows a conversation by the name that the client gives it.
  replay = moreEnv: { dpAttn, ... }@point: harness.traceReplay {
    loader = traces;
    serverMetrics = vllm.metrics;
    engineMetrics = "vllm:";
    moreEnv = moreEnv // when dpAttn { AIPERF_HTTP_X_SESSION_ID_FROM_CORRELATION_ID = 1; };
  } point;

  # Nineteen of twenty bytes of the host's memory may keep KV blocks.
  search = points: {
    agentic = [ { dramUtilization = 0.95; search = points; } ];
  };

  simple = { medium = "dram"; backend = "vllm-simple"; };

  common = point: vllm.named point // model.vllmReaders // model.vllmTools // {
    no-disable-hybrid-kv-cache-manager = true;
    max-num-seqs = sequences point;
  };

  # Concurrency counts live session trees; their branches need room. The ranks share it.
  sequences = { tp, conc, dpAttn, ... }: if dpAttn then 2 * conc / tp else 2 * conc;

  # A step verifies each sequence's drafts and its next token: a graph for every number of sequences.
  captures = { speculative, ... }@point:
    let
      tokens = speculative.steps + 1;
    in
    multiples tokens (sequences point * tokens);

  decodeGraphs = point: {
    mode = 0;
    cudagraph_mode = "FULL_DECODE_ONLY";
    cudagraph_capture_sizes = captures point;
  };

  blackwell = { model, ep, dpAttn, ... }@point: common point // vllm.contextParallelism point // {
    block-size = 256;
    max-model-len = model.context;
    attention-config = {
      backend = "FLASHINFER_MLA_SPARSE_DSV4";
      use_prefill_query_quantization = true;
      use_fp4_indexer_cache = true;
    };
    no-enable-flashinfer-autotune = true;
    disable-uvicorn-access-log = true;
    enable-ep-weight-filter = ep > 1;
    moe-backend = if ep > 1 then "deep_gemm_amxf4_mega_moe" else null;
    # Ranks that decode would wait for every rank that reads a prompt.
    prefill-schedule-interval = if dpAttn then 8 else null;
    long-prefill-token-threshold = if dpAttn then 512 else null;
  };

  blackwellEnv = { dpAttn, ... }: vllm.readyWithin 3600 // {
    VLLM_PREFIX_CACHE_RETENTION_INTERVAL = 32768;
    VLLM_USE_V2_MODEL_RUNNER = 1;
    VLLM_USE_RUST_FRONTEND = 1;
    VLLM_DSV4_MEGA_FP8_COMBINE = 1;
    VLLM_FLOAT32_MATMUL_PRECISION = "high";
    TORCH_CUDA_ARCH_LIST = "10.0";
    PYTHONNOUSERSITE = 1;
  } // when dpAttn {
    PYTORCH_ALLOC_CONF = "expandable_segments:True";
  };

  # Where KV blocks go, by the backend. Equal prefixes have equal names on all ranks, whatever the seed.
  offload = { simple, store ? { } }: { tp, pcp, kvOffload, ... }@point:
    let
      kept = mooncake.store ({
        version = "0.3.11.post1";
        # Upstream counts what are GB to it.
        segment = sizes.takenFor "GiB" (sizes.each (tp * pcp) kvOffload.total);
        highWatermark = "0.80";
        env = { PYTHONHASHSEED = 0; WITH_NVIDIA_PEERMEM = 0; };
      } // store) point;
    in
    {
      none = { args = { }; env = { }; };
      vllm-simple = {
        args = vllm.offload "SimpleCPUOffloadConnector" ({ enable_cross_layers_blocks = "true"; } // simple);
        env = { PYTHONHASHSEED = 42; };
      };
      mooncake = kept // { args = vllm.offload "MooncakeStoreConnector" { load_async = true; }; };
    }.${kvOffload.backend or "none"};
in
{
  "dsv4-fp4-b200-vllm-agentic-mtp" = base // {
    image = "vllm/vllm-openai:nightly-dev-x86_64-cu13.0.1-426e59f";
    download = "missing";
    targets = [ "cluster:b200-dgxc" ];
    scenarios = search [
      { tp = 8; kvOffload = simple; conc = [ 1 4 8 14 ]; }
      { tp = 8; ep = 8; dpAttn = true; kvOffload = simple; inherit router; conc = [ 32 64 96 128 160 196 ]; }
    ];
    serve = serve ({ dpAttn, ... }@point:
      let
        offloaded = offload {
          simple = { cpu_bytes_to_use_per_rank = vllm.offloadPerRank point; lazy_offload = false; };
          store = {
            device = "mlx5_0,mlx5_1,mlx5_2,mlx5_3,mlx5_4,mlx5_5,mlx5_10,mlx5_11";
            # Large blocks take longer than the five seconds that the store holds them for by itself.
            lease = "60s";
          };
        } point;
        decode = captures point;
        longest = builtins.elemAt decode (builtins.length decode - 1);
        # Shorter ones are among those of decoding already.
        mixed = builtins.filter (tokens: tokens > longest) [ 100 200 300 400 500 ];
      in
      offloaded // {
        args = blackwell point // offloaded.args // {
          gpu-memory-utilization = 0.9;
          numa-bind = true;
          enable-cumem-allocator = true;
          max-num-batched-tokens = if dpAttn then 8192 else null;
          # Without ranks that wait for each other, steps that mix prompts and decoding have graphs too.
          compilation-config =
            if dpAttn then
              decodeGraphs point
            else
              { cudagraph_mode = "FULL_AND_PIECEWISE"; cudagraph_capture_sizes = decode ++ mixed; };
        };
        env = blackwellEnv point // offloaded.env // { VLLM_RPC_TIMEOUT = 600000; };
      });
  };

  "dsv4-fp4-b300-vllm-agentic-mtp" = base // {
    image = "vllm/vllm-openai:nightly-dev-x86_64-cu13.0.1-426e59f";
    download = "missing";
    targets = [ "cluster:b300-nv" ];
    scenarios = search [
      { tp = 8; conc = [ 1 4 ]; }
      { tp = 4; conc = [ 1 2 4 6 8 ]; }
      { tp = 4; kvOffload = simple; conc = [ 16 ]; }
      { tp = 4; ep = 4; dpAttn = true; kvOffload = simple; inherit router; conc = [ 48 64 ]; }
      { tp = 8; ep = 8; dpAttn = true; kvOffload = simple; inherit router; conc = [ 128 256 384 512 576 ]; }
    ];
    serve = serve ({ tp, dpAttn, ... }@point:
      let
        offloaded = offload {
          simple = {
            # Upstream gives all ranks what one may have; where attention is split, each is alone.
            cpu_bytes_to_use = sizes.takenOf "all" (vllm.offloadPerRank point);
            lazy_offload = !dpAttn;
          };
        } point;
        # Eight ranks read more of their prompts in a step, and leave room for that.
        eightRanks = dpAttn && tp == 8;
      in
      offloaded // {
        args = blackwell point // offloaded.args // {
          gpu-memory-utilization = if eightRanks then 0.92 else 0.95;
          max-num-batched-tokens = if eightRanks then 16384 else if dpAttn then 8192 else null;
          disable-custom-all-reduce = !dpAttn;
          compilation-config = decodeGraphs point;
        };
        env = blackwellEnv point // offloaded.env // { NCCL_NVLS_ENABLE = 1; } // when (!dpAttn) {
          VLLM_ALLREDUCE_USE_FLASHINFER = 1;
          VLLM_FLASHINFER_ALLREDUCE_BACKEND = "auto";
        };
      });
  };

  "dsv4-fp4-mi355x-vllm-agentic-mtp" = base // {
    image = "vllm/vllm-openai-rocm:nightly-311b3513af33bc29b4acb2fde2e9313e5e9966a0";
    targets = [ "cluster:mi355x-amds" ];
    client = replay { AIPERF_HTTP_TCP_USER_TIMEOUT = 900000; };
    scenarios.agentic = [
      {
        dramUtilization = 0.6;
        search = [
          { tp = 8; conc = [ 1 4 8 16 32 40 48 56 64 ]; }
          { tp = 8; dpAttn = true; inherit router; conc = [ 64 ]; }
        ];
      }
    ];
    serve = serve ({ conc, dpAttn, ... }@point: {
      args = common point // {
        async-scheduling = true;
        distributed-executor-backend = "mp";
        enable-prefix-caching = true;
        gpu-memory-utilization = 0.86;
        moe-backend = "aiter";
        compilation-config = { mode = 3; cudagraph_mode = "FULL_AND_PIECEWISE"; };
        max-num-batched-tokens = 8192;
        prefill-schedule-interval = if dpAttn then 8 else null;
        long-prefill-token-threshold = if dpAttn then 16384 else null;
        # Each rank has room for all session trees, without their branches.
        max-num-seqs = if dpAttn then conc else sequences point;
      };
      env = vllm.readyWithin 10800 // {
        VLLM_PREFIX_CACHE_RETENTION_INTERVAL = 32768;
        VLLM_ROCM_USE_AITER = 1;
        VLLM_ROCM_USE_AITER_MOE = 1;
        VLLM_ROCM_USE_AITER_FUSION_SHARED_EXPERTS = 1;
        VLLM_ROCM_QUICK_REDUCE_QUANTIZATION = "INT4";
      };
      # A nightly image may lack them.
      tools = [ (vllm.installed [ "Pillow" "fastapi" "uvicorn" ]) ];
    });
  };
}
