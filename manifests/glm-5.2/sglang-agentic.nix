# GLM-5.2 on SGLang with its own MTP head, replaying agents' recorded conversations.
let
  inherit (import ../lib/numbers.nix) min table when;
  inherit (import ../lib/words.nix) word portAfter;
  glm = import ../lib/models/glm-5.2.nix;
  golden = import ../lib/golden.nix;
  sglang = import ../lib/sglang.nix;
  sizes = import ../lib/sizes.nix;
  harness = import ../lib/harness.nix;

  inherit (harness) traces;
  hicache = { medium = "dram"; backend = "hicache"; };

  base = {
    engine = "sglang";
    speculative = drafting 3;
    client = sglang.routedReplay { loader = traces; };
    datasets = [ (harness.traceDataset traces) ];
    eval = harness.lmEval { };
    harness = harness.source;
    cookbook = [ glm.sglangCookbook ];
  };

  drafting = steps: {
    method = "mtp"; algorithm = "EAGLE"; inherit steps; topk = 1; draftTokens = steps + 1;
    acceptance = { curve = golden.glm52Mtp; };
  };

  search = points: {
    agentic = [ { dramUtilization = 0.8; search = points; } ];
  };

  common = { tp, ep, ... }@point: sglang.named point // glm.sglangParsers // {
    tensor-parallel-size = tp;
    expert-parallel-size = ep;
    watchdog-timeout = 1800;
    enable-metrics = true;
  };

  env = sglang.keepAlive // { PYTHONNOUSERSITE = 1; };

  # B200 and B300.
  blackwell = base // {
    image = "lmsysorg/sglang:v0.5.16-cu130";
    model = glm.nvfp4;
    quantization = { method = "modelopt_fp4"; kvCache = "fp8_e4m3"; };
    scenarios = search [ { tp = 8; kvOffload = hicache; conc = [ 1 4 8 12 16 ]; } ];
  };
  serveBlackwell = { memory, evicted }: sglang.serveRouted ({ tp, conc, port, dpAttn, kvOffload, quantization, ... }@point:
    let
      # Concurrency counts live session trees; their branches need room.
      requests = 2 * conc;
    in
    {
      args = common point // {
        quantization = quantization.method;
        max-running-requests = requests;
        mem-fraction-static = memory;
      } // when (!dpAttn) {
        chunked-prefill-size = 8192;
        kv-cache-dtype = quantization.kvCache;
        bf16-gemm-backend = "cutedsl";
        max-prefill-tokens = 8192;
        cuda-graph-max-bs = min requests 64;
      } // when dpAttn (sglang.splitAttention point // {
        chunked-prefill-size = 32768;
        tokenizer-worker-num = tp;
        # The ranks meet beside the port of the clients, whichever that is.
        dist-init-addr = word [ "127.0.0.1:" (portAfter 1999 port) ];
        # The draft's layer is not quantized, and what sends tokens to experts takes only such that are.
        speculative-moe-a2a-backend = "none";
        speculative-moe-runner-backend = "triton";
      }) // when (kvOffload != null) (sglang.hicacheDirect { write = "write_back"; } // evicted point);
      env = env // { TORCH_CUDA_ARCH_LIST = "10.0"; };
    });

  # Of each rank; the draft's pool and the indexer's follow with as many tokens.
  pool = sizes.size "rank" "GB" 270;
in
{
  "glm5.2-fp4-b200-sglang-agentic-mtp" = blackwell // {
    download = "missing";
    targets = [ "cluster:b200-dgxc" ];
    serve = serveBlackwell {
      memory = 0.83;
      # The largest sets of conversations need more than a share of what the GPUs hold.
      evicted = { conc, ... }: table {
        key = conc;
        rows = { "12" = { hicache-size = pool; }; "16" = { hicache-size = pool; }; };
        otherwise = { hicache-ratio = 0.75; };
      };
    };
  };

  "glm5.2-fp4-b300-sglang-agentic-mtp" = blackwell // {
    targets = [ "cluster:b300-nv" ];
    serve = serveBlackwell {
      memory = 0.85;
      evicted = point: { hicache-size = pool; };
    };
  };

  "glm5.2-fp8-mi325x-sglang-agentic-mtp" = base // {
    image = "lmsysorg/sglang:v0.5.16-rocm720-mi30x";
    model = glm.fp8;
    quantization = { kvCache = "bfloat16"; };
    client = harness.traceReplay {
      loader = traces;
      # Answers that began in the last minutes may take as long to finish.
      more.benchmark-grace-period = 1800;
      moreEnv = {
        AIPERF_HTTP_TCP_USER_TIMEOUT = 900000;
        AIPERF_REQUIRED_SERVER_METRIC_PREFIX = "sglang:";
      };
    };
    targets = [ "cluster:mi325x-amds" ];
    scenarios = search [ { tp = 8; conc = [ 1 2 3 4 5 6 8 ]; } ];
    serve = sglang.serveByModule ({ conc, model, quantization, ... }@point: {
      args = common point // {
        dsa-prefill-backend = "tilelang";
        dsa-decode-backend = "tilelang";
        dsa-topk-backend = "torch";
        kv-cache-dtype = quantization.kvCache;
        context-length = model.context;
        max-total-tokens = model.context;
        chunked-prefill-size = 131072;
        mem-fraction-static = 0.85;
        max-running-requests = 2 * conc;
        cuda-graph-max-bs = 2 * conc;
        enable-cache-report = true;
      };
      env = env // { SGLANG_DSA_FUSE_TOPK = "false"; SGLANG_OPT_USE_TOPK_V2 = "false"; };
    });
  };

  "glm5.2-fp4-mi355x-sglang-agentic-mtp" = base // {
    image = "lmsysorg/sglang-rocm:v0.5.16-rocm720-mi35x-20260728";
    model = glm.mxfp4;
    quantization = { kvCache = "fp8_e4m3"; };
    speculative = drafting 5;
    client = { conc, dpAttn, ... }@point: sglang.routedReplay {
      loader = traces;
      more = when (dpAttn || conc > 16) { warmup-grace-period = 3600; };
    } point;
    targets = [ "cluster:mi355x-amds" ];
    scenarios = search [
      { tp = 4; ep = 4; kvOffload = hicache; conc = [ 1 2 4 8 10 12 16 ]; }
      { tp = 8; ep = 8; conc = [ 1 2 4 ]; }
    ];
    serve = sglang.serveRouted ({ conc, dpAttn, kvOffload, quantization, ... }@point:
      let
        requests = min conc 256;
      in
      {
        args = common point // {
          dsa-prefill-backend = "tilelang";
          dsa-decode-backend = "tilelang";
          kv-cache-dtype = quantization.kvCache;
          chunked-prefill-size = 32768;
          mem-fraction-static = 0.85;
          max-running-requests = requests;
          cuda-graph-max-bs = requests;
        } // when dpAttn (sglang.splitAttention point)
        // when (kvOffload != null) (sglang.hicacheDirect { write = "write_through"; } // {
          hicache-ratio = table { key = dpAttn; rows = { "1" = 0.5; }; otherwise = 1.5; };
        });
        # The kernel for CUDA alone is the one that is taken otherwise.
        env = env // { SGLANG_OPT_USE_TOPK_V2 = "false"; } // when dpAttn {
          SGLANG_DP_USE_GATHERV = 1;
          SGLANG_DP_USE_REDUCE_SCATTER = 1;
          GPU_MAX_HW_QUEUES = 5;
        } // when (dpAttn || conc > 16) {
          # Meant for the client, and exported to all.
          AGENTIC_WARMUP_GRACE_PERIOD = 3600;
        };
      });
  };
}
