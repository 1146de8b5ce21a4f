# DeepSeek-V4-Pro on SGLang, 8192 tokens in and 1024 out, plain and with its own MTP head.
let
  inherit (import ../lib/numbers.nix) max table when;
  inherit (import ../lib/words.nix) json;
  model = import ../lib/models/deepseek-v4.nix;
  sglang = import ../lib/sglang.nix;
  inherit (sglang) splitAttention;
  harness = import ../lib/harness.nix;

  base = {
    engine = "sglang";
    client = harness.inWorkspace (harness.servingClient { backend = "vllm"; });
    packages = harness.servingClientPackages;
    eval = harness.lmEval { };
    harness = harness.source;
    cookbook = [ model.sglangCookbook ];
  };

  mtp = {
    speculative = { method = "mtp"; algorithm = "EAGLE"; steps = 3; topk = 1; draftTokens = 4; };
    client = harness.inWorkspace (harness.servingClient { backend = "vllm"; more = model.conversation; });
  };

  fixedSequence = search: {
    fixedSequence = [ { isl = 8192; osl = 1024; inherit search; } ];
  };

  # No site packages of the user's own.
  alone = { PYTHONNOUSERSITE = 1; };

  # Half as many again as there are clients, and eight at least.
  admission = conc: max 8 (conc * 3 / 2);

  # Of the KV cache, what layers with a sliding window keep: short prompts leave them more to do.
  windowShare = isl: table { key = isl; rows = { "1024" = 0.5; }; otherwise = 0.1; };

  mxfp4 = {
    moe-runner-backend = "flashinfer_mxfp4";
    disable-flashinfer-autotune = true;
  };

  # One kernel sends tokens to the experts of all ranks and computes them.
  megaMoe = tokens: {
    SGLANG_OPT_SWA_EVICT_DROP_PAGE_MARGIN = 1;
    NVSHMEM_DISABLE_IB = 1;
    SGLANG_OPT_SWA_RELEASE_LEAF_LOCK_AFTER_WINDOW = 1;
    SGLANG_OPT_DEEPGEMM_MEGA_MOE_NUM_MAX_TOKENS_PER_RANK = tokens;
  };

  # B300 has a way to serve for each number of clients that is measured, and for no other.
  b300Alone = { isl, conc, ... }: {
    args = mxfp4 // {
      mem-fraction-static = 0.9;
      swa-full-tokens-ratio = windowShare isl;
      max-running-requests = admission conc;
      chunked-prefill-size = 8192;
    };
  };
  b300Mega = { memory, windowShare, requests, graphs, tokenizers, tokens, more, moreEnv }: point: {
    args = splitAttention point // {
      moe-a2a-backend = "megamoe";
      mem-fraction-static = memory;
      swa-full-tokens-ratio = windowShare;
      max-running-requests = requests;
      cuda-graph-max-bs = graphs;
      chunked-prefill-size = 65536;
      tokenizer-worker-num = tokenizers;
      enable-prefill-delayer = true;
    } // more;
    env = megaMoe tokens // moreEnv;
  };
  b300Ways = {
    "1" = b300Alone;
    "32" = b300Alone;
    "512" = { isl, conc, ... }@point: {
      args = splitAttention point // mxfp4 // {
        mem-fraction-static = 0.94;
        swa-full-tokens-ratio = windowShare isl;
        max-running-requests = admission conc;
        chunked-prefill-size = 16384;
        enable-prefill-delayer = true;
      };
      env = { SGLANG_OPT_SWA_EVICT_DROP_PAGE_MARGIN = 1; };
    };
    "2048" = b300Mega {
      memory = 0.87; windowShare = 0.06; requests = 2560; graphs = 288; tokenizers = 4; tokens = 8320;
      more = { };
      moreEnv = { SGLANG_LOG_FORWARD_ITERS = 1; };
    };
    "4096" = b300Mega {
      memory = 0.835; windowShare = 0.075; requests = 4352; graphs = 544; tokenizers = 8; tokens = 8320;
      more = { decode-log-interval = 5; };
      moreEnv = { };
    };
    "8192" = b300Mega {
      memory = 0.8; windowShare = 0.3; requests = 8192; graphs = 1088; tokenizers = 16; tokens = 8256;
      more = { stream-interval = 30; };
      moreEnv = { SGLANG_OPT_USE_ONLINE_COMPRESS = 1; };
    };
  };

  # Hopper knows no FP4 and widens the experts.
  hopper = base // {
    image = "lmsysorg/sglang:deepseek-v4-hopper@sha256:1bf5d508ab110cc0fe1659a5f21d1be02a7f0d7ca8f58cea7e7f4e11f6ae208f";
    model = model.fp8;
    targets = [ "h200-dgxc" ];
    scenarios = fixedSequence [
      { tp = 8; conc = { from = 1; to = 1; }; }
      { tp = 8; conc = { from = 4; to = 64; }; }
    ];
    serve = sglang.serveByCommand ({ tp, conc, ... }@point: {
      args = sglang.contextOfEvaluations point // {
        tensor-parallel-size = tp;
        moe-runner-backend = "marlin";
        chunked-prefill-size = 4096;
        disable-flashinfer-autotune = true;
        disable-radix-cache = true;
        mem-fraction-static = 0.88;
        max-running-requests = admission conc;
      };
      env = alone;
    });
  };

  mi355x = base // {
    packages = [ ];
    client = harness.servingClient { backend = "vllm"; };
    model = model.fp4;
    quantization = { kvCache = "fp8_e4m3"; };
    targets = [ "mi355x" ];
  };
  mi355xArgs = { tp, ep, isl, osl, conc, mode, dpAttn, quantization, ... }@point: model.sglangParsers // {
    tensor-parallel-size = tp;
    disable-radix-cache = true;
    attention-backend = "dsv4";
    cuda-graph-max-bs = conc;
    max-running-requests = conc;
    mem-fraction-static = 0.9;
    swa-full-tokens-ratio = 0.15;
    page-size = 256;
    kv-cache-dtype = quantization.kvCache;
    context-length = if mode == "eval" then harness.evalContext point else isl + osl + 256;
    chunked-prefill-size = if dpAttn then isl * tp else isl;
    disable-shared-experts-fusion = true;
    chat-template = "benchmarks/single_node/fixed_seq_len/../chat_templates/deepseek_v4_thinking.jinja";
    watchdog-timeout = 1800;
  } // when (ep > 1) { expert-parallel-size = ep; } // when dpAttn (splitAttention point // { enable-prefill-delayer = true; });
  mi355xEnv = { dpAttn, ... }: {
    SGLANG_DEFAULT_THINKING = 1;
    SGLANG_DSV4_REASONING_EFFORT = "max";
    SGLANG_USE_ROCM700A = 0;
    SGLANG_HACK_FLASHMLA_BACKEND = "unified_kv_triton";
    AITER_BF16_FP8_MOE_BOUND = 0;
  } // (
    if dpAttn then
      {
        SGLANG_SHARED_EXPERT_TP1 = 1;
        SGLANG_DP_SHARED_EXPERT_LOCAL = 1;
        SGLANG_DP_USE_GATHERV = 1;
        SGLANG_DP_USE_REDUCE_SCATTER = 1;
      }
    else
      { }
  );
in
{
  "dsv4-fp4-b200-sglang" = base // {
    image = "lmsysorg/sglang:nightly-dev-cu13-20260628-da802ddc";
    model = model.fp4;
    targets = [ "b200-dsv4" ];
    scenarios = fixedSequence [
      { tp = 8; conc = { from = 1; to = 32; }; }
      { tp = 8; ep = 8; dpAttn = true; conc = { from = 64; to = 128; }; }
      { tp = 8; ep = 8; dpAttn = true; conc = { from = 256; to = 1024; }; }
    ];
    serve = sglang.serveByCommand ({ tp, isl, dpAttn, ... }@point: {
      args = sglang.contextOfEvaluations point // {
        tensor-parallel-size = tp;
        disable-radix-cache = true;
        tokenizer-worker-num = 8;
        stream-interval = 30;
        enable-prefill-delayer = true;
      } // (
        if dpAttn then
          splitAttention point // {
            moe-a2a-backend = "megamoe";
            mem-fraction-static = 0.835;
            swa-full-tokens-ratio = 0.12;
            max-running-requests = 4352;
            cuda-graph-max-bs = 544;
            enable-mixed-chunk = true;
            chunked-prefill-size = 16384;
            max-prefill-tokens = 16384;
          }
        else
          mxfp4 // {
            mem-fraction-static = 0.9;
            swa-full-tokens-ratio = windowShare isl;
            max-running-requests = 512;
            cuda-graph-max-bs = 512;
            chunked-prefill-size = 8192;
          }
      );
      env = alone // { SGLANG_OPT_SWA_SPLIT_LEAF_ON_INSERT = 1; } // (
        if dpAttn then
          megaMoe 2048 // {
            SGLANG_CLIP_MAX_NEW_TOKENS_ESTIMATION = 8;
            SGLANG_OPT_USE_FAST_MASK_EP = 1;
            SGLANG_OPT_FIX_MEGA_MOE_MEMORY = 1;
            SGLANG_OPT_FIX_NEXTN_MEGA_MOE = 1;
            SGLANG_OPT_USE_ONLINE_COMPRESS = 1;
            SGLANG_OPT_DEEPGEMM_MEGA_MOE_USE_FP4_ACTS = 1;
            SGLANG_OPT_DEEPGEMM_MEGA_MOE_USE_MXF4_KIND = 1;
            SGLANG_EXPERIMENTAL_ENABLE_PIECEWISE_CUDA_GRAPH_MOE_A2A = 1;
            NCCL_MNNVL_ENABLE = 1;
            NCCL_CUMEM_ENABLE = 1;
            MC_FORCE_MNNVL = 1;
            SGLANG_MOONCAKE_CUSTOM_MEM_POOL = "True";
          }
        else
          { }
      );
    });
  };

  "dsv4-fp4-b300-sglang" = base // {
    image = "lmsysorg/sglang:nightly-dev-cu13-20260624-b2c8f7a2";
    model = model.fp4;
    download = "missing";
    installs = [ { program = [ "pip" "install" "-q" "--upgrade" "transformers" ]; } ];
    targets = [ "b300" ];
    scenarios = fixedSequence [
      { tp = 8; conc = { from = 1; to = 1; }; }
      { tp = 4; conc = { from = 32; to = 32; }; }
      { tp = 4; dpAttn = true; conc = { from = 512; to = 512; }; }
      { tp = 8; ep = 8; dpAttn = true; conc = { from = 2048; to = 2048; }; }
      { tp = 8; ep = 8; dpAttn = true; conc = { from = 4096; to = 4096; }; }
    ];
    serve = sglang.serveByCommand ({ tp, conc, ... }@point:
      let
        way = (b300Ways.${toString conc} or (throw "nobody has said how B300 serves ${toString conc} clients")) point;
      in
      {
        args = sglang.named point // sglang.contextOfEvaluations point // { tensor-parallel-size = tp; } // way.args;
        env = alone // {
          SGLANG_JIT_DEEPGEMM_PRECOMPILE = 0;
          SGLANG_OPT_SWA_SPLIT_LEAF_ON_INSERT = 1;
        } // (way.env or { });
      });
  };

  "dsv4-fp4-b300-sglang-mtp" = base // mtp // {
    image = "lmsysorg/sglang:nightly-dev-cu13-20260610-f332e526";
    model = model.fp4;
    download = "missing";
    targets = [ "b300" ];
    scenarios = fixedSequence [
      { tp = 8; conc = { from = 1; to = 8; }; }
      { tp = 4; conc = { from = 4; to = 32; }; }
    ];
    serve = sglang.serveByCommand ({ tp, ep, conc, dpAttn, ... }@point: {
      args = sglang.named point // sglang.contextOfEvaluations point // mxfp4 // {
        tensor-parallel-size = tp;
        expert-parallel-size = ep;
        chunked-prefill-size = 8192;
        max-running-requests = admission conc;
        mem-fraction-static = 0.9;
        swa-full-tokens-ratio = 0.1;
        enable-deepseek-v4-fp4-indexer = true;
      } // when dpAttn (splitAttention point // {
        deepep-config = json { normal_dispatch.num_sms = 96; normal_combine.num_sms = 96; };
        cuda-graph-max-bs = 256;
        chunked-prefill-size = 32768;
        mem-fraction-static = 0.92;
        max-running-requests = 256;
      });
      env = alone // {
        SGLANG_JIT_DEEPGEMM_FAST_WARMUP = 1;
        SGLANG_RADIX_FORCE_MISS = 1;
        SGLANG_DEFAULT_THINKING = 1;
        SGLANG_DSV4_REASONING_EFFORT = "max";
        SGLANG_OPT_SWA_SPLIT_LEAF_ON_INSERT = 1;
      } // when dpAttn {
        SGLANG_OPT_SWA_EVICT_DROP_PAGE_MARGIN = 1;
        SGLANG_OPT_SWA_RELEASE_LEAF_LOCK_AFTER_WINDOW = 1;
        SGLANG_OPT_DEEPGEMM_MEGA_MOE_USE_FP4_ACTS = 1;
        SGLANG_OPT_DEEPGEMM_MEGA_MOE_USE_MXF4_KIND = 1;
        SGLANG_OPT_DEEPGEMM_MEGA_MOE_NUM_MAX_TOKENS_PER_RANK = 8192;
        SGLANG_REQUEST_STATE_WAIT_TIMEOUT = 60;
      };
    });
  };

  "dsv4-fp8-h200-sglang" = hopper;
  "dsv4-fp8-h200-sglang-mtp" = hopper // mtp;

  "dsv4-fp4-mi355x-sglang" = mi355x // {
    image = "lmsysorg/sglang-rocm:v0.5.14-rocm720-mi35x-20260706";
    scenarios = fixedSequence [
      { tp = 8; dpAttn = true; conc = { from = 64; to = 2048; }; }
      { tp = 4; dpAttn = true; conc = { from = 16; to = 128; }; }
      { tp = 4; conc = { from = 1; to = 32; }; }
    ];
    serve = sglang.serveByCommand ({ dpAttn, ... }@point: {
      args = mi355xArgs point // { enable-two-batch-overlap = dpAttn; };
      env = mi355xEnv point // { GPU_MAX_HW_QUEUES = if dpAttn then 5 else null; };
    });
  };

  "dsv4-fp4-mi355x-sglang-mtp" = mi355x // mtp // {
    client = harness.servingClient { backend = "vllm"; more = model.conversation; };
    image = "lmsysorg/sglang-rocm:v0.5.14-rocm720-mi35x-20260708";
    scenarios = fixedSequence [
      { tp = 8; dpAttn = true; conc = { from = 64; to = 2048; }; }
      { tp = 8; conc = { from = 1; to = 32; }; }
    ];
    serve = sglang.serveByModule (point: { args = mi355xArgs point; env = mi355xEnv point; });
  };
}
