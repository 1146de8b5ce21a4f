# Qwen3.5-397B-A17B on SGLang and AMD's GPUs with its own MTP head, replaying agents' recorded conversations.
let
  inherit (import ../lib/words.nix) json;
  qwen = import ../lib/models/qwen3.5.nix;
  agentic = import ../lib/qwen3.5-agentic.nix;
  sglang = import ../lib/sglang.nix;


  base = client: agentic.base {
    inherit (agentic) traces;
    algorithm = "EAGLE";
    client = { engineMetrics = "sglang:"; } // client;
  };

  common = { model, ... }@point: sglang.named point // qwen.sglangParsers // agentic.admission point // {
    attention-backend = "aiter";
    max-prefill-tokens = 32768;
    scheduler-recv-interval = 30;
    tokenizer-path = model.name;
    enable-metrics = true;
    enable-cache-report = true;
  };

  # MI325X and MI355X.
  larger = { tp, ... }@point: common point // {
    model-loader-extra-config = json { enable_multithread_load = true; };
    watchdog-timeout = 1200;
    page-size = 16;
    chunked-prefill-size = 32768;
    stream-interval = 50;
    tokenizer-worker-num = if tp >= 4 then 6 else null;
  };

  aiter = {
    SGLANG_USE_AITER = 1;
    SGLANG_USE_AITER_UNIFIED_ATTN = 1;
  };
in
{
  "qwen3.5-fp8-mi300x-sglang-agentic-mtp" = base { } // {
    image = "lmsysorg/sglang-rocm:v0.5.16-rocm720-mi30x-20260730";
    model = qwen.fp8;
    targets = [ "cluster:mi300x-amds" ];
    scenarios = agentic.search [
      { tp = 8; conc = [ 4 16 20 24 32 ]; }
      { tp = 8; ep = 8; conc = [ 4 16 20 24 32 ]; }
    ];
    serve = sglang.serve (point: {
      args = common point // {
        enable-aiter-allreduce-fusion = true;
        mamba-ssm-dtype = "bfloat16";
        mem-fraction-static = 0.75;
        tokenizer-worker-num = 6;
      };
      env = agentic.keepAlive // { SGLANG_ENABLE_SPEC_V2 = 1; };
    });
  };

  "qwen3.5-fp8-mi325x-sglang-agentic-mtp" = base { more.apply-chat-template = true; moreEnv.AIPERF_HTTP_TCP_USER_TIMEOUT = 900000; } // {
    image = "lmsysorg/sglang:v0.5.16-rocm720-mi30x";
    model = qwen.fp8;
    quantization = { method = "fp8"; kvCache = "fp8_e4m3"; };
    targets = [ "cluster:mi325x-amds" ];
    scenarios = agentic.search [
      { tp = 2; ep = 2; conc = [ 1 4 6 ]; }
      { tp = 4; conc = [ 1 8 16 32 40 48 ]; }
      { tp = 4; ep = 4; conc = [ 4 16 32 40 48 ]; }
      { tp = 8; conc = [ 1 4 8 12 16 24 32 40 48 64 80 ]; }
      { tp = 8; ep = 8; conc = [ 4 16 24 32 40 48 64 ]; }
    ];
    serve = sglang.serve ({ tp, ... }@point: {
      args = larger point // {
        enable-aiter-allreduce-fusion = true;
        mamba-ssm-dtype = "bfloat16";
        # Two GPUs hold little more than the weights.
        mem-fraction-static = if tp == 2 then 0.95 else 0.8;
      };
      env = agentic.keepAlive // aiter;
    });
  };

  "qwen3.5-fp4-mi355x-sglang-agentic-mtp" = base { more.apply-chat-template = true; } // {
    image = "lmsysorg/sglang-rocm:v0.5.17-rocm720-mi35x-20260818";
    model = qwen.mxfp4;
    quantization = { kvCache = "fp8_e4m3"; };
    targets = [ "cluster:mi355x-amds" ];
    scenarios = agentic.search [
      { tp = 2; ep = 2; conc = [ 1 4 8 12 16 20 ]; }
      { tp = 4; conc = [ 1 4 8 12 16 20 24 28 32 40 ]; }
    ];
    serve = sglang.serve (point: {
      args = larger point // { mem-fraction-static = 0.8; };
      env = agentic.keepAlive // aiter // {
        AITER_FLYDSL_FORCE = 1;
        SGLANG_MAMBA_SSM_DTYPE = "bfloat16";
      };
    });
  };
}
