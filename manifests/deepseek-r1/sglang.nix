# DeepSeek-R1-0528 on SGLang and NVIDIA's GPUs, 8192 tokens in and 1024 out, plain and with its own MTP head.
let
  inherit (import ../lib/numbers.nix) table;
  model = import ../lib/models/deepseek-r1.nix;
  sglang = import ../lib/sglang.nix;
  harness = import ../lib/harness.nix;

  base = {
    engine = "sglang";
    client = harness.servingClient { backend = "vllm"; };
    packages = harness.servingClientPackages;
    eval = harness.lmEval { };
    harness = harness.source;
  };

  fp8 = base // {
    image = "lmsysorg/sglang:v0.5.12-cu130";
    model = model.fp8;
    quantization = { method = "fp8"; kvCache = "fp8_e4m3"; };
  };

  # Hopper's recipes leave the quantization to the engine.
  hopper = base // {
    image = "lmsysorg/sglang:v0.5.12-cu130";
    model = model.fp8;
    packages = [ ];
    installs = [ sentencepiece ];
    targets = [ "h200" ];
    scenarios = fixedSequence [ { tp = 8; conc = { from = 4; to = 64; }; } ];
  };

  fp4 = base // {
    model = model.nvfp4;
    quantization = { method = "modelopt_fp4"; kvCache = "fp8_e4m3"; };
  };

  mtp = {
    speculative = { method = "mtp"; algorithm = "EAGLE"; steps = 2; topk = 1; draftTokens = 3; };
  };

  fixedSequence = search: {
    fixedSequence = [ { isl = 8192; osl = 1024; inherit search; } ];
  };

  recvInterval = conc: if conc >= 16 then 30 else 10;

  blackwell = point: sglang.contextOfEvaluations point // {
    attention-backend = "trtllm_mla";
    moe-runner-backend = "flashinfer_trtllm";
    enable-flashinfer-allreduce-fusion = true;
  };

  # With attention split by data the ranks share one scheduler, which must not wait.
  fp4Args = { conc, ... }@point: blackwell point // {
    trust-remote-code = true;
    cuda-graph-max-bs = 256;
    max-running-requests = 256;
    mem-fraction-static = 0.85;
    chunked-prefill-size = 16384;
    scheduler-recv-interval = recvInterval conc;
    stream-interval = 10;
  };

  fp4B200 = { tp, dpAttn, ... }@point: fp4Args point // { disable-piecewise-cuda-graph = true; } // (
    if dpAttn then
      {
        data-parallel-size = tp;
        enable-dp-attention = true;
        enable-dp-attention-local-control-broadcast = true;
        enable-dp-lm-head = true;
        schedule-conservativeness = 3.33;
        enable-prefill-delayer = true;
        scheduler-recv-interval = 1;
        chunked-prefill-size = 32768;
      }
    else
      { }
  );

  # Prompts that were seen are taken for new ones: the cache is on, and never hit.
  missingCache = { SGLANG_RADIX_FORCE_MISS = 1; };

  fp8Blackwell = point: blackwell point // {
    trust-remote-code = null;
    disable-radix-cache = true;
    stream-interval = 30;
  };

  # Four GPUs have room for few sequences beside the weights.
  fp8Plain = { tp, conc, ... }@point: fp8Blackwell point // (
    if tp == 8 then
      {
        max-running-requests = 128;
        cuda-graph-max-bs = 128;
        mem-fraction-static = 0.82;
        chunked-prefill-size = 32768;
        max-prefill-tokens = 32768;
        scheduler-recv-interval = recvInterval conc;
      }
    else
      {
        max-running-requests = 32;
        cuda-graph-max-bs = 32;
        mem-fraction-static = 0.95;
        chunked-prefill-size = 8192;
        max-prefill-tokens = 8192;
        scheduler-recv-interval = 10;
      }
  );

  fp8Mtp = { conc, ... }@point: fp8Blackwell point // {
    fp8-gemm-backend = "flashinfer_trtllm";
    max-running-requests = 512;
    cuda-graph-max-bs = 512;
    mem-fraction-static = 0.82;
    chunked-prefill-size = 16384;
    max-prefill-tokens = 16384;
    scheduler-recv-interval = recvInterval conc;
  };

  # Short prompts leave room for twice as many sequences.
  h200 = { isl, osl, ... }@point:
    let
      sequences = table { key = "${toString isl}/${toString osl}"; rows = { "1024/1024" = 512; }; otherwise = 256; };
    in
    sglang.contextOfEvaluations point // {
      disable-radix-cache = true;
      max-running-requests = sequences;
      cuda-graph-max-bs = sequences;
      chunked-prefill-size = 32768;
      max-prefill-tokens = 32768;
      mem-fraction-static = 0.82;
      attention-backend = "flashinfer";
      stream-interval = 10;
      decode-log-interval = 1;
    };

  gemm = { SGL_ENABLE_JIT_DEEPGEMM = "false"; SGLANG_ENABLE_FLASHINFER_GEMM = "true"; };

  # The client's tokenizer needs it, and the image lacks it.
  sentencepiece = {
    program = [ "pip3" "install" "sentencepiece" ];
    args = { user = true; break-system-packages = true; };
  };

  hopperEnv = { TORCH_CUDA_ARCH_LIST = "9.0"; };
in
{
  "dsr1-fp4-b200-sglang" = fp4 // {
    image = "lmsysorg/sglang:v0.5.16-cu130";
    targets = [ "b200" ];
    scenarios = fixedSequence [
      { tp = 4; conc = { from = 1; to = 32; }; }
      { tp = 4; ep = 4; dpAttn = true; conc = { from = 64; to = 256; }; }
    ];
    serve = sglang.serve (point: { args = fp4B200 point // { enable-symm-mem = true; }; env = missingCache; });
  };

  "dsr1-fp4-b200-sglang-mtp" = fp4 // mtp // {
    image = "lmsysorg/sglang:v0.5.16-cu130";
    targets = [ "b200" ];
    scenarios = fixedSequence [
      { tp = 4; conc = { from = 1; to = 32; }; }
      { tp = 4; ep = 4; dpAttn = true; conc = { from = 64; to = 256; }; }
    ];
    serve = sglang.serve (point: { args = fp4B200 point; env = missingCache // { SGLANG_ENABLE_SPEC_V2 = 1; }; });
  };

  "dsr1-fp4-b300-sglang" = fp4 // {
    image = "lmsysorg/sglang:v0.5.12-cu130";
    targets = [ "b300" ];
    scenarios = fixedSequence [
      { tp = 4; ep = 4; conc = { from = 1; to = 128; }; }
      { tp = 8; ep = 8; conc = { from = 1; to = 16; }; }
    ];
    serve = sglang.serve (point: {
      args = fp4Args point // sglang.named point // { disable-radix-cache = true; enable-symm-mem = true; };
    });
  };

  "dsr1-fp8-b200-sglang" = fp8 // {
    targets = [ "b200" ];
    scenarios = fixedSequence [
      { tp = 8; conc = { from = 1; to = 4; }; }
      { tp = 4; conc = { from = 1; to = 32; }; }
    ];
    serve = sglang.serve (point: { args = fp8Plain point; env = gemm; });
  };

  "dsr1-fp8-b300-sglang" = fp8 // {
    targets = [ "b300" ];
    download = "missing";
    scenarios = fixedSequence [
      { tp = 8; conc = { from = 1; to = 4; }; }
      { tp = 4; conc = { from = 1; to = 32; }; }
    ];
    serve = sglang.serve (point: {
      args = fp8Plain point // sglang.named point;
      env = gemm;
    });
  };

  "dsr1-fp8-b200-sglang-mtp" = fp8 // mtp // {
    targets = [ "b200" ];
    scenarios = fixedSequence [ { tp = 8; conc = { from = 1; to = 512; }; } ];
    serve = sglang.serve (point: { args = fp8Mtp point; env = { SGLANG_ENABLE_JIT_DEEPGEMM = "false"; }; });
  };

  "dsr1-fp8-b300-sglang-mtp" = fp8 // mtp // {
    image = "lmsysorg/sglang:v0.5.15.post1-cu130";
    targets = [ "b300" ];
    download = "missing";
    scenarios = fixedSequence [ { tp = 8; conc = { from = 1; to = 512; }; } ];
    serve = sglang.serve (point: {
      args = fp8Mtp point // sglang.named point;
      env = { SGLANG_ENABLE_JIT_DEEPGEMM = "false"; };
    });
  };

  "dsr1-fp8-h200-sglang" = hopper // {
    serve = sglang.serve (point: { args = h200 point // { expert-parallel-size = null; }; env = hopperEnv; });
  };

  "dsr1-fp8-h200-sglang-mtp" = hopper // mtp // {
    serve = sglang.serve (point: { args = h200 point; env = hopperEnv // { SGLANG_ENABLE_SPEC_V2 = 1; }; });
  };
}
