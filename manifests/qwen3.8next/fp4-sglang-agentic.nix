# Qwen3.8-Flash-Next NVFP4 on SGLang with its own MTP head, replaying agents' recorded conversations:
# recipes of a model on the day that it came out.
let
  inherit (import ../lib/numbers.nix) min;
  qwen = import ../lib/models/qwen3.8-flash-next.nix;
  sglang = import ../lib/sglang.nix;
  harness = import ../lib/harness.nix;
  traces = harness.tracesOf256k;

  # SGLang takes the quantization from the checkpoint, so no flag says it again.
  base = {
    engine = "sglang";
    engineVersion = "0.5.16";
    image = "lmsysorg/sglang:qwen38flashnext";
    model = qwen.nvfp4;
    speculative = {
      method = "mtp"; algorithm = "NEXTN"; steps = 3; topk = 1; draftTokens = 4;
      acceptance = { curve = qwen.mtpCurve; };
    };
    client = harness.traceReplay { loader = traces; };
    datasets = [ (harness.traceDataset traces) ];
    eval = harness.lmEval { };
    harness = harness.source;
  };

  # flashinfer's kernels of linear attention take another type of the state on each architecture,
  # and refuse the other's: what holds on one must not be copied to the other.
  stateTypes = { sm_90 = "float32"; sm_100 = "bfloat16"; };

  serve = sglang.serve ({ conc, target, ... }@point: {
    args = sglang.named point // qwen.sglangParsers // {
      linear-attn-prefill-backend = "flashinfer";
      linear-attn-decode-backend = "flashinfer";
      mamba-ssm-dtype = stateTypes.${target.architecture};
      mem-fraction-static = 0.8;
      # NEXTN resets it to 48 where nobody says it. Concurrency counts live session trees, whose
      # branches need room.
      max-running-requests = 2 * conc;
      cuda-graph-max-bs-decode = min conc 64;
      # Tokenizing 256k tokens is the CPU's work, however many GPUs there are.
      tokenizer-worker-num = 6;
      enable-metrics = true;
    };
    # Longer than the client keeps its connections, so that it never reuses one that closes.
    env = { SGLANG_TIMEOUT_KEEP_ALIVE = 1800; };
  });

  points = tp: {
    agentic = [ { search = [ { inherit tp; conc = [ 1 4 8 12 16 ]; } ]; } ];
  };
in
{
  "qwen3.8next-fp4-b200-sglang-agentic-mtp" = base // {
    inherit serve;
    targets = [ "cluster:b200-nscale" ];
    scenarios = points 1;
  };

  # 126 GB of weights leave an H200 of 141 GB no room for the KV cache, so two share them.
  "qwen3.8next-fp4-h200-sglang-agentic-mtp" = base // {
    inherit serve;
    targets = [ "cluster:h200-dgxc" ];
    scenarios = points 2;
  };
}
