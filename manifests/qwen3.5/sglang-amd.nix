# Qwen3.5-397B-A17B on SGLang and AMD's GPUs, 8192 tokens in and 1024 out, plain and with its own MTP head.
let
  inherit (import ../lib/words.nix) json;
  qwen = import ../lib/models/qwen3.5.nix;
  sglang = import ../lib/sglang.nix;
  harness = import ../lib/harness.nix;

  base = {
    engine = "sglang";
    client = harness.servingClient { backend = "vllm"; };
    eval = harness.lmEval { };
    harness = harness.source;
    cookbook = [ qwen.sglangCookbook ];
  };

  fp8 = base // { model = qwen.fp8; };
  fp4 = base // { model = qwen.mxfp4; };

  mtp = {
    speculative = { method = "mtp"; algorithm = "EAGLE"; steps = 3; topk = 1; draftTokens = 4; };
  };

  fixedSequence = search: {
    fixedSequence = [ { isl = 8192; osl = 1024; inherit search; } ];
  };

  # What the FP8 recipes share.
  fp8Args = { conc, ... }@point: sglang.fixedSequence point // {
    attention-backend = "aiter";
    tokenizer-worker-num = 6;
    enable-aiter-allreduce-fusion = true;
    cuda-graph-max-bs = conc;
    scheduler-recv-interval = 30;
  };

  # MI300X and MI325X.
  gfx942 = point: fp8Args point // {
    max-prefill-tokens = 32768;
    mem-fraction-static = 0.75;
  };

  # Without drafting their scripts spell data parallelism out and say nothing of expert parallelism;
  # with it the other way round.
  gfx942Plain = point: gfx942 point // { expert-parallel-size = null; };
  gfx942Mtp = point: gfx942 point // { data-parallel-size = null; };

  fp8Mi355x = { conc, ... }@point: fp8Args point // {
    data-parallel-size = null;
    max-running-requests = conc;
    chunked-prefill-size = 32768;
    mem-fraction-static = 0.8;
    model-loader-extra-config = json { enable_multithread_load = true; };
    page-size = 16;
  };

  aiter = {
    SGLANG_USE_AITER = 1;
    SGLANG_USE_AITER_UNIFIED_ATTN = 1;
  };

  # The context is left to the engine, which takes the checkpoint's own.
  fp4Mi355x = { conc, ... }: {
    data-parallel-size = null;
    expert-parallel-size = null;
    attention-backend = "aiter";
    mem-fraction-static = 0.8;
    model-loader-extra-config = json { enable_multithread_load = true; };
    watchdog-timeout = 1200;
    disable-radix-cache = true;
    enable-aiter-allreduce-fusion = true;
    max-running-requests = conc;
    page-size = 16;
  };

  fp4Env = aiter // {
    AITER_FLYDSL_FORCE = 1;
    SGLANG_MAMBA_SSM_DTYPE = "bfloat16";
  };
in
{
  "qwen3.5-fp8-mi300x-sglang" = fp8 // {
    image = "lmsysorg/sglang:v0.5.12-rocm720-mi30x";
    targets = [ "mi300x" ];
    scenarios = fixedSequence [ { tp = 8; conc = { from = 4; to = 64; }; } ];
    serve = sglang.serveWithUserPackages (point: { args = gfx942Plain point; });
  };

  "qwen3.5-fp8-mi325x-sglang" = fp8 // {
    image = "lmsysorg/sglang:v0.5.12-rocm720-mi30x";
    targets = [ "mi325x" ];
    scenarios = fixedSequence [ { tp = 8; conc = { from = 4; to = 64; }; } ];
    serve = sglang.serveWithUserPackages (point: { args = gfx942Plain point; });
  };

  "qwen3.5-fp8-mi325x-sglang-mtp" = fp8 // mtp // {
    image = "lmsysorg/sglang:v0.5.12-rocm720-mi30x";
    targets = [ "mi325x" ];
    scenarios = fixedSequence [ { tp = 8; conc = { from = 4; to = 64; }; } ];
    serve = sglang.serveWithUserPackages (point: { args = gfx942Mtp point; });
  };

  "qwen3.5-fp8-mi355x-sglang" = fp8 // {
    image = "lmsysorg/sglang-rocm:v0.5.16-rocm720-mi35x-20260726";
    targets = [ "mi355x" ];
    scenarios = fixedSequence [ { tp = 4; conc = { from = 4; to = 256; }; } ];
    serve = sglang.serveWithUserPackages (point: { args = fp8Mi355x point; env = aiter; });
  };

  "qwen3.5-fp8-mi355x-sglang-mtp" = fp8 // mtp // {
    image = "lmsysorg/sglang-rocm:v0.5.16-rocm720-mi35x-20260726";
    targets = [ "mi355x" ];
    scenarios = fixedSequence [ { tp = 4; conc = { from = 4; to = 256; }; } ];
    serve = sglang.serveWithUserPackages (point: { args = fp8Mi355x point; env = aiter; });
  };

  "qwen3.5-fp4-mi355x-sglang" = fp4 // {
    image = "lmsysorg/sglang-rocm:v0.5.16-rocm720-mi35x-20260730";
    targets = [ "mi355x" ];
    scenarios = fixedSequence [
      { tp = 2; conc = { from = 4; to = 256; }; }
      { tp = 4; conc = { from = 4; to = 16; }; }
    ];
    serve = sglang.serveWithUserPackages (point: { args = fp4Mi355x point; env = fp4Env; });
  };

  "qwen3.5-fp4-mi355x-sglang-mtp" = fp4 // mtp // {
    image = "lmsysorg/sglang-rocm:v0.5.16-rocm720-mi35x-20260730";
    targets = [ "mi355x" ];
    scenarios = fixedSequence [
      { tp = 2; conc = { from = 4; to = 128; }; }
      { tp = 4; conc = { from = 4; to = 16; }; }
    ];
    serve = sglang.serveWithUserPackages (point: { args = fp4Mi355x point; env = fp4Env; });
  };
}
