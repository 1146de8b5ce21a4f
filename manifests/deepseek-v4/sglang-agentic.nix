# DeepSeek-V4-Pro on SGLang with its own MTP head, replaying agents' recorded conversations.
let
  inherit (import ../lib/numbers.nix) min table when;
  inherit (import ../lib/words.nix) word portAfter;
  model = import ../lib/models/deepseek-v4.nix;
  golden = import ../lib/golden.nix;
  sglang = import ../lib/sglang.nix;
  harness = import ../lib/harness.nix;
  inherit (sglang) splitAttention;

  inherit (harness) traces;
  router = { name = "sglang-router"; version = "0.3.2"; };
  hicache = { medium = "dram"; backend = "hicache"; };

  base = {
    engine = "sglang";
    model = model.fp4;
    speculative = {
      method = "mtp"; algorithm = "EAGLE"; steps = 3; topk = 1; draftTokens = 4;
      acceptance = { curve = golden.deepseekV4Mtp; };
    };
    # A run without the engine's metrics does not count.
    client = sglang.routedReplay { loader = traces; moreEnv.AIPERF_REQUIRED_SERVER_METRIC_PREFIX = "sglang:"; };
    datasets = [ (harness.traceDataset traces) ];
    eval = harness.lmEval { };
    harness = harness.source;
    cookbook = [ model.sglangCookbook ];
  };

  search = points: {
    agentic = [ { dramUtilization = 0.8; search = points; } ];
  };

  # What is evicted goes to the host's memory, so many times as much as the GPUs hold: this model's
  # pools take no size.
  evicted = { ratio, write }: { kvOffload, ... }: when (kvOffload != null) (
    sglang.hicacheDirect { inherit write; } // { hicache-ratio = ratio; }
  );

  # One radix tree for all kinds of layers, which lets go of what has left the window.
  unifiedTree = {
    SGLANG_ENABLE_UNIFIED_RADIX_TREE = 1;
    SGLANG_OPT_UNIFIED_CACHE_FREE_OUT_OF_WINDOW_SLOTS = 1;
  };

  # B200 and B300.
  blackwell = { tp, ep, conc, port, dpAttn, workspace, ... }@point: sglang.named point // model.sglangParsers // {
    tensor-parallel-size = tp;
    mem-fraction-static = 0.88;
    swa-full-tokens-ratio = 0.1;
    # Concurrency counts live session trees; their branches need room.
    max-running-requests = 2 * conc;
    chunked-prefill-size = 8192;
    chat-template = "${workspace}/benchmarks/single_node/agentic/../chat_templates/deepseek_v4_thinking.jinja";
    watchdog-timeout = 1800;
    disable-flashinfer-autotune = true;
    enable-metrics = true;
    enable-cache-report = true;
  } // when (!dpAttn) {
    moe-runner-backend = "flashinfer_mxfp4";
  } // when dpAttn (splitAttention point // {
    tokenizer-worker-num = tp;
    enable-dp-attention-local-control-broadcast = true;
    incremental-streaming-output = true;
    stream-interval = 20;
    # The ranks meet beside the port of the clients, whichever that is.
    dist-init-addr = word [ "127.0.0.1:" (portAfter 1999 port) ];
    expert-parallel-size = ep;
  });

  blackwellEnv = { workspace, ... }: sglang.keepAlive // unifiedTree // {
    INFMAX_CONTAINER_WORKSPACE = workspace;
    PYTHONNOUSERSITE = 1;
    TORCH_CUDA_ARCH_LIST = "10.0";
    SGLANG_JIT_DEEPGEMM_FAST_WARMUP = 1;
    SGLANG_OPT_SWA_SPLIT_LEAF_ON_INSERT = 1;
    SGLANG_OPT_USE_JIT_NORM = 1;
    SGLANG_OPT_USE_JIT_INDEXER_METADATA = 1;
    SGLANG_OPT_USE_TOPK_V2 = 1;
    SGLANG_OPT_USE_CUSTOM_ALL_REDUCE_V2 = 1;
  };
in
{
  "dsv4-fp4-b200-sglang-agentic-hicache-mtp" = base // {
    image = "lmsysorg/sglang:dev-nightly-0820";
    download = "missing";
    targets = [ "cluster:b200-dgxc" ];
    scenarios = search [
      { tp = 8; conc = [ 1 2 3 4 5 ]; }
      { tp = 8; kvOffload = hicache; conc = [ 8 10 16 32 ]; }
      { tp = 8; ep = 8; dpAttn = true; kvOffload = hicache; inherit router; conc = [ 32 64 96 ]; }
    ];
    serve = sglang.serveRouted ({ tp, conc, dpAttn, ... }@point: {
      args = blackwell point // evicted { ratio = 8; write = "write_through"; } point // {
        cuda-graph-max-bs = 2 * conc;
        enable-deepseek-v4-fp4-indexer = true;
        # The checkpoint lies on Lustre: each rank reads ahead what it will need.
        weight-loader-prefetch-checkpoints = true;
      } // when dpAttn {
        moe-a2a-backend = "megamoe";
        enable-prefill-delayer = true;
        prefill-decode-interval = 10;
        disable-shared-experts-fusion = true;
        # The engine divides it by the ranks.
        chunked-prefill-size = 8192 * tp;
        swa-full-tokens-ratio = 0.02;
      };
      env = blackwellEnv point // when dpAttn {
        SGLANG_OPT_DEEPGEMM_MEGA_MOE_USE_FP4_ACTS = 1;
        SGLANG_OPT_DEEPGEMM_MEGA_MOE_USE_MXF4_KIND = 1;
        SGLANG_OPT_DEEPGEMM_MEGA_MOE_NUM_MAX_TOKENS_PER_RANK = 8320;
      };
    });
  };

  "dsv4-fp4-b300-sglang-agentic-hicache-mtp" = base // {
    image = "lmsysorg/sglang:v0.5.17-cu130";
    download = "missing";
    targets = [ "cluster:b300-nv" ];
    scenarios = search [
      { tp = 4; conc = [ 1 4 8 16 20 24 32 ]; }
      { tp = 8; conc = [ 1 4 8 16 32 40 48 52 56 60 64 72 ]; }
      { tp = 4; ep = 4; dpAttn = true; inherit router; conc = [ 8 16 24 32 40 64 ]; }
      { tp = 4; ep = 4; dpAttn = true; kvOffload = hicache; inherit router; conc = [ 32 40 48 56 64 72 80 88 96 128 ]; }
      { tp = 8; ep = 8; dpAttn = true; inherit router; conc = [ 52 72 100 128 144 196 512 ]; }
    ];
    serve = sglang.serveRouted ({ tp, conc, dpAttn, kvOffload, ... }@point: {
      args = blackwell point // evicted {
        # As much as the share of the host's memory allows.
        ratio = table { key = tp; rows = { "8" = 2; }; otherwise = 8; };
        write = "write_back";
      } point // {
        attention-backend = "compressed";
        page-size = 256;
        disable-shared-experts-fusion = true;
        cuda-graph-max-bs = min conc 64;
        allow-auto-truncate = true;
        # The client's own warm-up is enough, and each rank's would take too long beside a cache.
        skip-server-warmup = kvOffload != null;
      } // when dpAttn {
        moe-runner-backend = "flashinfer_mxfp4";
        chunked-prefill-size = 16384;
        # The largest batches need room for what FlashInfer computes in.
        mem-fraction-static = if conc >= 512 then 0.94 else 0.95;
      };
      env = blackwellEnv point;
    });
  };

  "dsv4-fp4-mi355x-sglang-agentic-mtp" = base // {
    image = "lmsysorg/sglang-rocm:v0.5.17-rocm720-mi35x-20260813";
    quantization = { kvCache = "fp8_e4m3"; };
    client = { conc, ... }@point: sglang.routedReplay {
      loader = traces;
      # What is left to answer at the end of the warm-up takes longer the more there is of it.
      more.warmup-grace-period = if conc >= 32 then 3600 else 1800;
    } point;
    targets = [ "cluster:mi355x-amds" ];
    scenarios = search [
      { tp = 8; conc = [ 1 2 4 8 16 ]; }
      { tp = 8; kvOffload = hicache; conc = [ 16 32 48 ]; }
    ];
    serve = sglang.serveRouted ({ tp, ep, conc, dpAttn, quantization, ... }@point:
      let
        requests = min (2 * conc) 256;
      in
      {
        args = sglang.named point // model.sglangParsers // evicted { ratio = 1.5; write = "write_through"; } point // {
          tensor-parallel-size = tp;
          attention-backend = "dsv4";
          page-size = 256;
          swa-full-tokens-ratio = 0.1;
          kv-cache-dtype = quantization.kvCache;
          disable-shared-experts-fusion = true;
          chunked-prefill-size = 8192;
          mem-fraction-static = 0.85;
          max-running-requests = requests;
          cuda-graph-max-bs = min requests 128;
          # Drafts on long contexts keep the scheduler longer than its watchdog waits by itself.
          watchdog-timeout = 3600;
          enable-metrics = true;
        } // when (ep > 1) { expert-parallel-size = ep; } // when dpAttn (splitAttention point // {
          enable-prefill-delayer = true;
          chunked-prefill-size = 8192 * tp;
        });
        env = sglang.keepAlive // unifiedTree // {
          PYTHONNOUSERSITE = 1;
          SGLANG_DEFAULT_THINKING = 1;
          SGLANG_DSV4_REASONING_EFFORT = "high";
          SGLANG_USE_ROCM700A = 0;
          SGLANG_HACK_FLASHMLA_BACKEND = "unified_kv_triton";
          AITER_BF16_FP8_MOE_BOUND = 0;
        } // when (conc >= 32) {
          # Meant for the client, and exported to all.
          AGENTIC_WARMUP_GRACE_PERIOD = 3600;
        } // when dpAttn {
          SGLANG_SHARED_EXPERT_TP1 = 1;
          SGLANG_DP_SHARED_EXPERT_LOCAL = 1;
          SGLANG_DP_USE_GATHERV = 1;
          SGLANG_DP_USE_REDUCE_SCATTER = 1;
          GPU_MAX_HW_QUEUES = 5;
        };
      });
  };
}
