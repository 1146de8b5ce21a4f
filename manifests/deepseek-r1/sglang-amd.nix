# DeepSeek-R1-0528 on SGLang and AMD's GPUs, 8192 tokens in and 1024 out, plain and with its own MTP head.
let
  model = import ../lib/models/deepseek-r1.nix;
  sglang = import ../lib/sglang.nix;
  harness = import ../lib/harness.nix;

  base = {
    engine = "sglang";
    client = harness.servingClient { backend = "vllm"; };
    eval = harness.lmEval { };
    harness = harness.source;
  };

  fp8 = base // {
    model = model.fp8;
    quantization = { kvCache = "fp8_e4m3"; };
  };

  mtp = {
    speculative = { method = "mtp"; algorithm = "EAGLE"; steps = 3; topk = 1; draftTokens = 4; };
  };

  fixedSequence = search: {
    fixedSequence = [ { isl = 8192; osl = 1024; inherit search; } ];
  };

  # The scripts name neither data nor, without drafting, expert parallelism.
  plain = { expert-parallel-size = null; };

  common = point: sglang.contextOfEvaluations point // {
    data-parallel-size = null;
    mem-fraction-static = 0.8;
    attention-backend = "aiter";
  };

  gfx942 = point: common point // {
    disable-radix-cache = true;
    cuda-graph-max-bs = 128;
    num-continuous-decode-steps = 4;
    chunked-prefill-size = 131072;
    max-prefill-tokens = 131072;
  };

  aiter = { SGLANG_USE_AITER = 1; SGLANG_AITER_MLA_PERSIST = 1; };

  # Many long prompts at once leave less room for each chunk.
  fp4 = { isl, osl, conc, ... }@point:
    let
      prefill = if isl == 8192 && osl == 1024 && conc > 32 then 32768 else 196608;
    in
    common point // {
      disable-radix-cache = true;
      cuda-graph-max-bs = 128;
      num-continuous-decode-steps = 4;
      chunked-prefill-size = prefill;
      max-prefill-tokens = prefill;
    };

  fp8Mi355x = { conc, ... }@point: common point // {
    cuda-graph-max-bs = conc;
    disable-radix-cache = true;
    num-continuous-decode-steps = 8;
    chunked-prefill-size = 196608;
    max-prefill-tokens = 196608;
  };

  # Reductions between GPUs are quantized.
  quickReduce = { SGLANG_USE_AITER = 1; ROCM_QUICK_REDUCE_QUANTIZATION = "INT4"; };
in
{
  "dsr1-fp8-mi300x-sglang" = fp8 // {
    image = "lmsysorg/sglang:v0.5.12-rocm700-mi30x";
    targets = [ "mi300x" ];
    scenarios = fixedSequence [ { tp = 8; conc = { from = 4; to = 64; }; } ];
    serve = sglang.serveWithUserPackages (point: { args = gfx942 point // plain; env = aiter; });
  };

  "dsr1-fp8-mi325x-sglang" = fp8 // {
    image = "lmsysorg/sglang:v0.5.12-rocm700-mi30x";
    targets = [ "mi325x" ];
    port = 8888;
    scenarios = fixedSequence [ { tp = 8; conc = { from = 4; to = 64; }; } ];
    serve = sglang.serveWithUserPackages (point: { args = gfx942 point // plain; env = aiter; });
  };

  "dsr1-fp8-mi325x-sglang-mtp" = fp8 // mtp // {
    image = "lmsysorg/sglang:v0.5.12-rocm700-mi30x";
    targets = [ "mi325x" ];
    port = 8888;
    scenarios = fixedSequence [ { tp = 8; conc = { from = 4; to = 64; }; } ];
    serve = sglang.serveWithUserPackages (point: { args = gfx942 point; env = aiter // { SGLANG_ENABLE_SPEC_V2 = 1; }; });
  };

  "dsr1-fp8-mi355x-sglang" = fp8 // {
    image = "lmsysorg/sglang:v0.5.12-rocm700-mi35x";
    targets = [ "mi355x" ];
    scenarios = fixedSequence [
      { tp = 4; conc = { from = 32; to = 64; }; }
      { tp = 8; conc = { from = 4; to = 64; }; }
    ];
    serve = sglang.serveWithUserPackages (point: {
      args = fp8Mi355x point // plain;
      env = quickReduce // { RCCL_MSCCL_ENABLE = 0; };
    });
  };

  "dsr1-fp8-mi355x-sglang-mtp" = fp8 // mtp // {
    image = "lmsysorg/sglang:v0.5.12-rocm700-mi35x";
    targets = [ "mi355x" ];
    scenarios = fixedSequence [ { tp = 8; conc = { from = 4; to = 64; }; } ];
    serve = sglang.serveWithUserPackages ({ conc, ... }@point: {
      args = fp8Mi355x point // { max-running-requests = conc; };
      env = quickReduce // { RCCL_MSCCL_ENABLE = 0; SGLANG_AITER_MLA_PERSIST = 1; SGLANG_ENABLE_SPEC_V2 = 1; };
    });
  };

  "dsr1-fp4-mi355x-sglang" = base // {
    image = "lmsysorg/sglang:v0.5.12-rocm700-mi35x";
    model = model.mxfp4Preview;
    quantization = { kvCache = "fp8_e4m3"; };
    targets = [ "mi355x" ];
    scenarios = fixedSequence [
      { tp = 4; conc = { from = 4; to = 64; }; }
      { tp = 8; conc = { from = 4; to = 64; }; }
    ];
    serve = sglang.serveWithUserPackages (point: { args = fp4 point // plain; env = quickReduce; });
  };

  "dsr1-fp4-mi355x-sglang-mtp" = base // mtp // {
    image = "lmsysorg/sglang:v0.5.12-rocm700-mi35x";
    model = model.mxfp4;
    quantization = { kvCache = "fp8_e4m3"; };
    targets = [ "mi355x" ];
    scenarios = fixedSequence [ { tp = 8; conc = { from = 4; to = 64; }; } ];
    serve = sglang.serveWithUserPackages (point: {
      args = fp4 point;
      env = quickReduce // { SGLANG_AITER_MLA_PERSIST = 1; SGLANG_ENABLE_SPEC_V2 = 1; };
    });
  };
}
