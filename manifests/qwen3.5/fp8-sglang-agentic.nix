# Qwen3.5-397B-A17B FP8 on SGLang with its own MTP head, replaying agents' recorded conversations.
let
  qwen = import ../lib/models/qwen3.5.nix;
  agentic = import ../lib/qwen3.5-agentic.nix;
  sizes = import ../lib/sizes.nix;
  sglang = import ../lib/sglang.nix;
  inherit (agentic) hicache;

  blackwell = agentic.base { inherit (agentic) traces; algorithm = "NEXTN"; } // {
    image = "lmsysorg/sglang:v0.5.16-cu130";
    model = qwen.fp8;
    download = "missing";
    quantization = { method = "fp8"; kvCache = "fp8_e4m3"; };
  };

  # Hopper's recipes replay the generation of traces before, and ask the engine for no metrics.
  hopper = agentic.base { traces = agentic.earlierTraces; algorithm = "EAGLE"; client.serverMetrics = point: null; } // {
    image = "lmsysorg/sglang:v0.5.16-cu130";
    model = qwen.fp8;
    quantization = { method = "fp8"; kvCache = "fp8_e4m3"; };
  };

  # HiCache has two pools a rank here, and nothing is set aside for the draft's.
  twoPools = { tp, kvOffload, ... }:
    if kvOffload == null then
      { }
    else
      {
        page-size = 64;
        enable-hierarchical-cache = true;
        hicache-size = sizes.each (tp * 2) kvOffload.total;
        hicache-io-backend = "kernel";
        hicache-mem-layout = "page_first";
        hicache-write-policy = "write_through_selective";
      };

  serveHopper = { memory }: sglang.serve ({ model, ... }@point: {
    args = sglang.named point // twoPools point // {
      mamba-ssm-dtype = "bfloat16";
      attention-backend = "flashinfer";
      enable-flashinfer-allreduce-fusion = true;
      mem-fraction-static = memory;
      stream-interval = 50;
      scheduler-recv-interval = 10;
      tokenizer-worker-num = 6;
      tokenizer-path = model.name;
      enable-metrics = true;
    };
    env = { SGLANG_ENABLE_SPEC_V2 = 1; };
  });

  withoutSpeculation = serve: point:
    let
      server = serve point;
    in
    server // { env = builtins.removeAttrs server.env [ "SGLANG_ENABLE_SPEC_V2" ]; };
in
{
  "qwen3.5-fp8-b200-sglang-agentic-mtp" = blackwell // {
    targets = [ "cluster:b200-dgxc" ];
    scenarios = agentic.search [
      { tp = 8; conc = [ 1 4 8 12 16 20 24 28 32 40 48 56 60 62 64 ]; }
      { tp = 8; kvOffload = hicache; conc = [ 64 66 68 70 72 76 ]; }
      { tp = 4; conc = [ 1 4 8 12 14 ]; }
      { tp = 4; kvOffload = hicache; conc = [ 16 18 20 22 24 28 32 ]; }
    ];
    serve = agentic.blackwell (point: { tokenizer-worker-num = 6; });
  };

  "qwen3.5-fp8-b300-sglang-agentic-mtp" = blackwell // {
    targets = [ "cluster:b300-nv" ];
    scenarios = agentic.search [
      { tp = 4; conc = [ 1 4 8 12 16 20 24 28 32 40 48 56 60 64 68 72 ]; }
      { tp = 2; ep = 2; conc = [ 1 4 8 12 16 20 24 28 32 ]; }
      { tp = 2; ep = 2; kvOffload = hicache; conc = [ 32 34 36 38 40 44 48 52 56 ]; }
    ];
    serve = agentic.blackwell (point: { });
  };

  # Two points with and without offloading, whose power is compared.
  "qwen3.5-fp8-b300-sglang-agentic-power-ab" = blackwell // {
    targets = [ "cluster:b300-nv" ];
    scenarios = agentic.search [
      { tp = 2; ep = 2; conc = [ 16 32 ]; }
      { tp = 2; ep = 2; kvOffload = hicache; conc = [ 16 32 ]; }
    ];
    serve = agentic.blackwell (point: { });
  };

  # Upstream lists this one and has no script for it: its launcher asks for
  # benchmarks/single_node/agentic/qwen3.5_fp8_h100.sh, which is not there, so no run of it can start.
  # It is served as its sibling is, without drafts.
  "qwen3.5-fp8-h100-sglang-agentic" = hopper // {
    image = "lmsysorg/sglang:v0.5.12-cu130";
    speculative = null;
    targets = [ "cluster:h100-dgxc" ];
    scenarios = agentic.search [
      { tp = 8; ep = 8; conc = [ 1 2 4 8 12 14 16 ]; }
      { tp = 8; ep = 8; kvOffload = hicache; conc = [ 12 14 16 20 24 28 32 42 ]; }
    ];
    serve = withoutSpeculation (serveHopper { memory = 0.75; });
  };

  "qwen3.5-fp8-h100-sglang-agentic-mtp" = hopper // {
    targets = [ "cluster:h100-dgxc" ];
    scenarios = agentic.search [
      { tp = 8; ep = 8; conc = [ 1 4 8 12 16 ]; }
      { tp = 8; ep = 8; kvOffload = hicache; conc = [ 4 8 12 16 ]; }
    ];
    serve = serveHopper { memory = 0.75; };
  };

  "qwen3.5-fp8-h200-sglang-agentic-mtp" = hopper // {
    targets = [ "cluster:h200-dgxc" ];
    scenarios = agentic.search [
      { tp = 8; ep = 8; conc = [ 4 8 12 16 ]; }
      { tp = 8; ep = 8; kvOffload = hicache; conc = [ 4 8 12 16 ]; }
    ];
    serve = serveHopper { memory = 0.8; };
  };

  "qwen3.5-fp8-h200-sglang-agentic-hicache-mtp" = hopper // {
    image = "lmsysorg/sglang:nightly-dev-cu13-20260815-a5ba081f";
    targets = [ "cluster:h200-dgxc" ];
    scenarios = agentic.search [
      { tp = 8; kvOffload = hicache; conc = [ 2 4 8 10 12 16 20 24 ]; }
    ];
    serve = serveHopper { memory = 0.8; };
  };
}
