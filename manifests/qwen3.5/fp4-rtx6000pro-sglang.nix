# Qwen3.5-397B-A17B NVFP4 on SGLang and RTX PRO 6000, 8192 tokens in and 1024 out.
let
  qwen = import ../lib/models/qwen3.5.nix;
  sglang = import ../lib/sglang.nix;
  harness = import ../lib/harness.nix;

  base = {
    engine = "sglang";
    image = "lmsysorg/sglang:v0.5.16-cu130";
    model = qwen.nvfp4;
    quantization = { method = "modelopt_fp4"; kvCache = "fp8_e4m3"; };
    targets = [ "rtx6000pro-lat" ];
    client = harness.servingClient { backend = "vllm"; more = { trust-remote-code = true; }; };
    eval = harness.lmEval { };
    harness = harness.source;
    cookbook = [ qwen.sglangCookbook ];
    scenarios.fixedSequence = [
      {
        isl = 8192;
        osl = 1024;
        search = [
          { tp = 4; conc = [ 1 4 16 64 ]; }
          { tp = 4; ep = 4; conc = [ 1 4 16 64 ]; }
        ];
      }
    ];
  };

  serve = own: sglang.serve ({ isl, conc, ... }@point: {
    args = sglang.fixedSequence point // sglang.named point // qwen.sglangParsers // {
      fp4-gemm-backend = "flashinfer_cutlass";
      moe-runner-backend = "flashinfer_cutlass";
      attention-backend = "flashinfer";
      mamba-ssm-dtype = "bfloat16";
      mamba-scheduler-strategy = "no_buffer";
      disable-custom-all-reduce = true;
      # Two prompts' worth: this GPU has less memory than its siblings, and no fast link.
      chunked-prefill-size = isl * 2;
      max-prefill-tokens = isl * 2;
      cuda-graph-max-bs-decode = conc;
      scheduler-recv-interval = if conc >= 16 then 30 else 10;
      stream-interval = 20;
    } // own point;
    env = { SGLANG_ENABLE_JIT_DEEPGEMM = "false"; PYTHONUNBUFFERED = 1; };
  });
in
{
  "qwen3.5-fp4-rtx6000pro-sglang" = base // {
    serve = serve (point: { mem-fraction-static = 0.7; max-running-requests = 128; });
  };

  "qwen3.5-fp4-rtx6000pro-sglang-mtp" = base // {
    speculative = { method = "mtp"; algorithm = "EAGLE"; steps = 3; topk = 1; draftTokens = 4; };
    serve = serve ({ conc, ... }: { mem-fraction-static = 0.8; max-running-requests = conc; });
  };
}
