# Qwen3.5-397B-A17B NVFP4 on SGLang with its own MTP head, replaying agents' recorded conversations.
let
  qwen = import ../lib/models/qwen3.5.nix;
  agentic = import ../lib/qwen3.5-agentic.nix;
  inherit (agentic) hicache;

  base = agentic.base { inherit (agentic) traces; algorithm = "NEXTN"; } // {
    image = "lmsysorg/sglang:v0.5.16-cu130";
    model = qwen.nvfp4;
    download = "missing";
    quantization = { method = "modelopt_fp4"; kvCache = "fp8_e4m3"; };
    serve = agentic.blackwell (point: { fp4-gemm-backend = "flashinfer_cutlass"; });
  };
in
{
  "qwen3.5-fp4-b200-sglang-agentic-mtp" = base // {
    targets = [ "cluster:b200-dgxc" ];
    scenarios = agentic.search [
      { tp = 4; conc = [ 1 4 8 12 16 20 24 28 32 40 48 56 60 62 64 ]; }
      { tp = 4; kvOffload = hicache; conc = [ 64 66 68 70 72 ]; }
      { tp = 2; conc = [ 1 4 8 12 14 ]; }
      { tp = 2; kvOffload = hicache; conc = [ 16 18 20 22 24 28 32 ]; }
    ];
  };

  "qwen3.5-fp4-b300-sglang-agentic-mtp" = base // {
    targets = [ "cluster:b300-nv" ];
    scenarios = agentic.search [
      { tp = 4; conc = [ 1 4 8 12 16 20 24 28 32 40 48 56 60 64 68 72 ]; }
      { tp = 2; ep = 2; conc = [ 1 4 8 12 16 20 24 28 32 ]; }
      { tp = 2; ep = 2; kvOffload = hicache; conc = [ 36 44 52 ]; }
    ];
  };

  # Two points with and without offloading, whose power is compared.
  "qwen3.5-fp4-b300-sglang-agentic-power-ab" = base // {
    targets = [ "cluster:b300-nv" ];
    scenarios = agentic.search [
      { tp = 2; ep = 2; conc = [ 16 32 ]; }
      { tp = 2; ep = 2; kvOffload = hicache; conc = [ 16 32 ]; }
    ];
  };
}
