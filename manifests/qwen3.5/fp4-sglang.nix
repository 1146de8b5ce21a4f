# Qwen3.5-397B-A17B NVFP4-V2 on SGLang, 8192 tokens in and 1024 out, plain and with its own MTP head.
let
  qwen = import ../lib/models/qwen3.5.nix;
  sglang = import ../lib/sglang.nix;
  harness = import ../lib/harness.nix;

  base = {
    engine = "sglang";
    image = "lmsysorg/sglang:v0.5.14-cu130";
    model = qwen.nvfp4V2;
    quantization = { method = "modelopt_fp4"; kvCache = "fp8_e4m3"; };
    client = harness.servingClient { backend = "vllm"; };
    packages = harness.servingClientPackages;
    eval = harness.lmEval { };
    harness = harness.source;
    cookbook = [ qwen.sglangCookbook ];
  };

  # What B200 and B300 share beside the facts above.
  common = { conc, ... }: {
    mamba-ssm-dtype = "bfloat16";
    attention-backend = "trtllm_mha";
    moe-runner-backend = "flashinfer_trtllm";
    cuda-graph-max-bs = conc;
    mem-fraction-static = 0.8;
    tokenizer-worker-num = 6;
  };

  b200 = { conc, model, ... }@point: common point // sglang.fixedSequence point // {
    enable-symm-mem = true;
    max-prefill-tokens = 16384;
    chunked-prefill-size = 16384;
    stream-interval = 50;
    scheduler-recv-interval = if conc > 4 then 30 else 10;
    tokenizer-path = model.name;
  };

  b300 = { tp, conc, ... }@point: common point // sglang.fixedSequence point // sglang.named point // qwen.sglangParsers // {
    mamba-scheduler-strategy = "no_buffer";
    fp4-gemm-backend = "flashinfer_cutlass";
    mm-attention-backend = "triton_attn";
    max-running-requests = 128;
    max-prefill-tokens = 32768;
    chunked-prefill-size = 32768;
    stream-interval = 30;
    scheduler-recv-interval = if conc >= 16 then 30 else 10;
    # Only a whole node gains from the fused all-reduce.
    enable-flashinfer-allreduce-fusion = tp == 8;
  };

  b300Env = {
    NCCL_NVLS_ENABLE = 1;
    SGL_ENABLE_JIT_DEEPGEMM = "false";
    SGLANG_ENABLE_FLASHINFER_GEMM = "true";
    PYTHONUNBUFFERED = 1;
  };

  mtp = {
    speculative = { method = "mtp"; algorithm = "EAGLE"; steps = 3; topk = 1; draftTokens = 4; };
  };

  fixedSequence = search: {
    fixedSequence = [ { isl = 8192; osl = 1024; inherit search; } ];
  };
in
{
  "qwen3.5-fp4-b200-sglang" = base // {
    targets = [ "b200" ];
    scenarios = fixedSequence [
      { tp = 4; conc = [ 4 ]; }
      { tp = 2; conc = { from = 4; to = 128; }; }
    ];
    serve = sglang.serve (point: { args = b200 point; });
  };

  "qwen3.5-fp4-b200-sglang-mtp" = base // mtp // {
    targets = [ "b200" ];
    scenarios = fixedSequence [
      { tp = 4; conc = [ 4 ]; }
      { tp = 2; conc = { from = 4; to = 64; }; }
      { tp = 2; ep = 2; conc = [ 16 32 64 ]; }
    ];
    serve = sglang.serve (point: {
      args = b200 point // { max-running-requests = point.conc; };
      env = { SGLANG_ENABLE_SPEC_V2 = 1; };
    });
  };

  "qwen3.5-fp4-b300-sglang" = base // {
    targets = [ "b300" ];
    download = "missing";
    scenarios = fixedSequence [
      { tp = 4; conc = { from = 4; to = 128; }; }
      { tp = 2; ep = 2; conc = { from = 4; to = 128; }; }
    ];
    serve = sglang.serve (point: { args = b300 point; env = b300Env; });
  };

  "qwen3.5-fp4-b300-sglang-mtp" = base // mtp // {
    targets = [ "b300" ];
    download = "missing";
    scenarios = fixedSequence [
      { tp = 4; conc = { from = 4; to = 128; }; }
      { tp = 2; ep = 2; conc = { from = 4; to = 128; }; }
    ];
    serve = sglang.serve (point: { args = b300 point; env = b300Env; });
  };
}
