# Qwen3.5-397B-A17B FP8 on SGLang, 8192 tokens in and 1024 out, plain and with its own MTP head.
let
  inherit (import ../lib/numbers.nix) table;
  qwen = import ../lib/models/qwen3.5.nix;
  sglang = import ../lib/sglang.nix;
  harness = import ../lib/harness.nix;

  base = {
    engine = "sglang";
    image = "lmsysorg/sglang:v0.5.14-cu130";
    model = qwen.fp8;
    quantization = { method = "fp8"; kvCache = "fp8_e4m3"; };
    client = harness.servingClient { backend = "vllm"; };
    packages = harness.servingClientPackages;
    eval = harness.lmEval { };
    harness = harness.source;
    cookbook = [ qwen.sglangCookbook ];
  };

  mtp = {
    speculative = { method = "mtp"; algorithm = "EAGLE"; steps = 3; topk = 1; draftTokens = 4; };
  };

  # What every SKU shares.
  common = { conc, ... }@point: sglang.fixedSequence point // {
    mamba-ssm-dtype = "bfloat16";
    cuda-graph-max-bs = conc;
    mem-fraction-static = 0.8;
    chunked-prefill-size = 16384;
    stream-interval = 50;
    tokenizer-worker-num = 6;
  };

  blackwell = point: common point // {
    enable-symm-mem = true;
    attention-backend = "trtllm_mha";
    moe-runner-backend = "flashinfer_trtllm";
    max-prefill-tokens = 16384;
  };

  b200 = { conc, ... }@point: blackwell point // {
    scheduler-recv-interval = if conc > 4 then 30 else 10;
  };

  b300 = { conc, model, ... }@point: blackwell point // sglang.named point // {
    mm-attention-backend = "triton_attn";
    max-running-requests = conc;
    scheduler-recv-interval = 10;
    tokenizer-path = model.path;
  };

  # Hopper's recipes are of an older hand: no data parallelism is spelled out.
  hopper = point: common point // qwen.sglangParsers // {
    data-parallel-size = null;
    attention-backend = "flashinfer";
    enable-flashinfer-allreduce-fusion = true;
    decode-log-interval = 1;
  };

  # Found by measuring each concurrency; no other has an interval.
  h100RecvInterval = conc: table {
    key = conc;
    rows = {
      "1" = 2; "2" = 2; "4" = 2; "8" = 60; "16" = 30;
      "32" = 1200; "64" = 600; "128" = 1920; "256" = 1920;
    };
    otherwise = throw "no scheduler interval was measured on H100 at concurrency ${toString conc}";
  };

  # Upstream's script for drafting on H200 has no context of its own for evaluations.
  h200MtpContext = { isl, osl, ... }: isl + osl + 256;

  fixedSequence = search: {
    fixedSequence = [ { isl = 8192; osl = 1024; inherit search; } ];
  };
in
{
  "qwen3.5-fp8-b200-sglang" = base // {
    targets = [ "b200" ];
    scenarios = fixedSequence [
      { tp = 8; conc = [ 4 ]; }
      { tp = 4; conc = { from = 4; to = 256; }; }
    ];
    serve = sglang.serve (point: { args = b200 point; });
  };

  "qwen3.5-fp8-b200-sglang-mtp" = base // mtp // {
    targets = [ "b200" ];
    scenarios = fixedSequence [
      { tp = 8; conc = [ 4 ]; }
      { tp = 4; conc = { from = 4; to = 256; }; }
    ];
    serve = sglang.serve ({ conc, model, ... }@point: {
      args = b200 point // { max-running-requests = conc; tokenizer-path = model.name; };
      env = { SGLANG_ENABLE_SPEC_V2 = 1; };
    });
  };

  "qwen3.5-fp8-b300-sglang" = base // {
    image = "lmsysorg/sglang:v0.5.12-cu130";
    targets = [ "b300" ];
    download = "missing";
    scenarios = fixedSequence [
      { tp = 4; conc = { from = 4; to = 256; }; }
    ];
    # The one recipe without drafting whose prompts go through the chat template.
    client = harness.servingClient { backend = "vllm"; chatTemplate = true; };
    serve = sglang.serve (point: { args = b300 point; });
  };

  "qwen3.5-fp8-b300-sglang-mtp" = base // mtp // {
    image = "lmsysorg/sglang:v0.5.12-cu130";
    targets = [ "b300" ];
    download = "missing";
    scenarios = fixedSequence [
      { tp = 4; conc = { from = 4; to = 256; }; }
    ];
    serve = sglang.serve (point: { args = b300 point; env = { SGLANG_ENABLE_SPEC_V2 = 1; }; });
  };

  "qwen3.5-fp8-h100-sglang" = base // {
    targets = [ "h100" ];
    scenarios = fixedSequence [
      { tp = 8; conc = { from = 1; to = 8; }; }
      { tp = 8; ep = 8; conc = { from = 16; to = 256; }; }
    ];
    serve = sglang.serveWithUserPackages ({ ep, conc, ... }@point: {
      args = hopper point // {
        expert-parallel-size = if ep > 1 then ep else null;
        max-running-requests = 256;
        enable-symm-mem = true;
        scheduler-recv-interval = h100RecvInterval conc;
      };
    });
  };

  "qwen3.5-fp8-h100-sglang-mtp" = base // mtp // {
    targets = [ "h100" ];
    scenarios = fixedSequence [
      { tp = 8; ep = 8; conc = { from = 4; to = 32; }; }
    ];
    serve = sglang.serveWithUserPackages (point: {
      args = hopper point // {
        max-running-requests = 64;
        chunked-prefill-size = 8192;
        mem-fraction-static = 0.75;
      };
      env = { SGLANG_ENABLE_SPEC_V2 = 1; };
    });
  };

  "qwen3.5-fp8-h200-sglang" = base // {
    targets = [ "h200" ];
    scenarios = fixedSequence [
      { tp = 8; ep = 8; conc = { from = 4; to = 64; }; }
    ];
    serve = sglang.serveWithUserPackages (point: { args = hopper point // { max-running-requests = 128; }; });
  };

  "qwen3.5-fp8-h200-sglang-mtp" = base // mtp // {
    targets = [ "h200" ];
    scenarios = fixedSequence [
      { tp = 8; ep = 8; conc = { from = 4; to = 128; }; }
    ];
    serve = sglang.serveWithUserPackages (point: {
      args = hopper point // {
        max-running-requests = 128;
        context-length = h200MtpContext point;
        decode-log-interval = null;
      };
      env = { SGLANG_ENABLE_SPEC_V2 = 1; };
    });
  };
}
