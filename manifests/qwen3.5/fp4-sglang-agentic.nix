# Qwen3.5-397B-A17B NVFP4 on SGLang with its own MTP head, replaying agents' recorded conversations.
let
  inherit (import ../lib/numbers.nix) min;
  qwen = import ../lib/models/qwen3.5.nix;
  golden = import ../lib/golden.nix;
  sglang = import ../lib/sglang.nix;
  harness = import ../lib/harness.nix;

  # The generation of the traces whose prompts fit 256k tokens.
  traces = "semianalysis_cc_traces_weka_062126_256k";

  base = {
    engine = "sglang";
    image = "lmsysorg/sglang:v0.5.16-cu130";
    model = qwen.nvfp4;
    download = "missing";
    quantization = { method = "modelopt_fp4"; kvCache = "fp8_e4m3"; };
    speculative = {
      method = "mtp"; algorithm = "NEXTN"; steps = 3; topk = 1; draftTokens = 4;
      acceptance = { curve = golden.qwen35Mtp; };
    };
    client = harness.traceReplay { loader = traces; };
    datasets = [ (harness.traceDataset traces) ];
    eval = harness.lmEval { };
    harness = harness.source;
    cookbook = [ qwen.sglangCookbook ];

    serve = sglang.serve ({ tp, conc, model, ... }@point: {
      args = sglang.named point // qwen.sglangParsers // sglang.hicache { draftShare = 15; } point // {
        enable-symm-mem = true;
        fp4-gemm-backend = "flashinfer_cutlass";
        mamba-ssm-dtype = "bfloat16";
        attention-backend = "trtllm_mha";
        moe-runner-backend = "flashinfer_trtllm";
        # Concurrency counts live session trees; their subagents need room, while graphs of more
        # than 64 sequences would cost memory that long contexts need.
        max-running-requests = 2 * conc;
        cuda-graph-max-bs = min conc 64;
        max-prefill-tokens = 16384;
        chunked-prefill-size = 16384;
        mem-fraction-static = 0.8;
        stream-interval = 50;
        scheduler-recv-interval = 10;
        # One tokenizer is too slow for four GPUs, and several race with HiCache's start on two.
        tokenizer-worker-num = if tp >= 4 then 6 else null;
        tokenizer-path = model.name;
        enable-metrics = true;
        enable-cache-report = true;
      };
      env = {
        TORCH_CUDA_ARCH_LIST = "10.0";
        NCCL_NVLS_ENABLE = 1;
        SGL_ENABLE_JIT_DEEPGEMM = "false";
        SGLANG_ENABLE_FLASHINFER_GEMM = "true";
        # Longer than the client keeps its connections, so that it never reuses one that closes.
        SGLANG_TIMEOUT_KEEP_ALIVE = 1800;
      };
    });
  };

  agentic = search: {
    agentic = [ { dramUtilization = 0.8; inherit search; } ];
  };

  hicache = { medium = "dram"; backend = "hicache"; };
in
{
  "qwen3.5-fp4-b200-sglang-agentic-mtp" = base // {
    targets = [ "cluster:b200-dgxc" ];
    scenarios = agentic [
      { tp = 4; conc = [ 1 4 8 12 16 20 24 28 32 40 48 56 60 62 64 ]; }
      { tp = 4; kvOffload = hicache; conc = [ 64 66 68 70 72 ]; }
      { tp = 2; conc = [ 1 4 8 12 14 ]; }
      { tp = 2; kvOffload = hicache; conc = [ 16 18 20 22 24 28 32 ]; }
    ];
  };

  "qwen3.5-fp4-b300-sglang-agentic-mtp" = base // {
    targets = [ "cluster:b300-nv" ];
    scenarios = agentic [
      { tp = 4; conc = [ 1 4 8 12 16 20 24 28 32 40 48 56 60 64 68 72 ]; }
      { tp = 2; ep = 2; conc = [ 1 4 8 12 16 20 24 28 32 ]; }
      { tp = 2; ep = 2; kvOffload = hicache; conc = [ 36 44 52 ]; }
    ];
  };
}
