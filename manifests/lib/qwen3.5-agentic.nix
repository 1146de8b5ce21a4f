# What every recipe shares that replays agents' recorded conversations on Qwen3.5 and SGLang.
let
  inherit (import ./numbers.nix) min;
  qwen = import ./models/qwen3.5.nix;
  golden = import ./golden.nix;
  sglang = import ./sglang.nix;
  harness = import ./harness.nix;
in
rec {
  # Facts that hold on any hardware. `traces` is the loader of the conversations.
  base = { traces, algorithm, client ? { } }: {
    engine = "sglang";
    speculative = {
      method = "mtp"; inherit algorithm; steps = 3; topk = 1; draftTokens = 4;
      acceptance = { curve = golden.qwen35Mtp; };
    };
    client = harness.traceReplay ({ loader = traces; } // client);
    datasets = [ (harness.traceDataset traces) ];
    eval = harness.lmEval { };
    harness = harness.source;
    cookbook = [ qwen.sglangCookbook ];
  };

  # What fits the model's context, and the generation before it.
  traces = harness.tracesOf256k;
  earlierTraces = "semianalysis_cc_traces_weka_with_subagents_256k";

  # Concurrency counts live session trees; their branches need room, while graphs of more than 64
  # sequences would cost memory that long contexts need.
  admission = { conc, ... }: {
    max-running-requests = 2 * conc;
    cuda-graph-max-bs = min conc 64;
  };

  # Longer than the client keeps its connections, so that it never reuses one that closes.
  keepAlive = { SGLANG_TIMEOUT_KEEP_ALIVE = 1800; };

  # B200 and B300. One tokenizer is too slow for four GPUs, and several race with HiCache's start
  # on two.
  blackwell = own: sglang.serve ({ tp, model, ... }@point: {
    args = sglang.named point // qwen.sglangParsers // sglang.hicache { draftShare = 15; } point // admission point // {
      enable-symm-mem = true;
      mamba-ssm-dtype = "bfloat16";
      attention-backend = "trtllm_mha";
      moe-runner-backend = "flashinfer_trtllm";
      max-prefill-tokens = 16384;
      chunked-prefill-size = 16384;
      mem-fraction-static = 0.8;
      stream-interval = 50;
      scheduler-recv-interval = 10;
      tokenizer-worker-num = if tp >= 4 then 6 else null;
      tokenizer-path = model.name;
      enable-metrics = true;
      enable-cache-report = true;
    } // own point;
    env = keepAlive // {
      TORCH_CUDA_ARCH_LIST = "10.0";
      NCCL_NVLS_ENABLE = 1;
      SGL_ENABLE_JIT_DEEPGEMM = "false";
      SGLANG_ENABLE_FLASHINFER_GEMM = "true";
    };
  });

  # A search space whose points may keep KV blocks in four fifths of the host's memory.
  search = points: {
    agentic = [ { dramUtilization = 0.8; search = points; } ];
  };

  hicache = { medium = "dram"; backend = "hicache"; };
}
