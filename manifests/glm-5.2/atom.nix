# GLM-5.2 on ATOM and AMD's MI355X with its own MTP head, replaying agents' recorded conversations.
let
  inherit (import ../lib/numbers.nix) multiples when;
  glm = import ../lib/models/glm-5.2.nix;
  atom = import ../lib/atom.nix;
  sizes = import ../lib/sizes.nix;
  harness = import ../lib/harness.nix;

  inherit (harness) traces;
in
{
  "glm5.2-fp4-mi355x-atom-agentic-mtp" = {
    engine = "atom";
    image = "rocm/atom-dev:ubuntu24.04_py3.12_pytorch_release_2.10.0_glm52_agentic_0813";
    model = glm.mxfp4;
    quantization = { kvCache = "fp8"; };
    speculative = { method = "mtp"; steps = 3; };
    targets = [ "cluster:mi355x-amds" ];
    scenarios.agentic = [
      {
        dramUtilization = 0.14;
        search = [
          { tp = 4; kvOffload = { medium = "dram"; backend = "lmcache"; version = "0.4.5"; }; conc = [ 2 4 8 10 ]; }
          { tp = 8; conc = [ 1 2 4 ]; }
        ];
      }
    ];

    serve = atom.serve ({ conc, mode, kvOffload, ... }@point: {
      python = [ "python" ];
      args = atom.splitAttention point // atom.admission point // atom.connector point // {
        host = "0.0.0.0";
        # All but the experts and the ends is quantized as it is loaded.
        online_quant_config = {
          global_quant_config = "ptpc_fp8";
          exclude_layer = [ "lm_head" "model.embed_tokens" "*.mlp.gate" "*expert*" ];
        };
        cudagraph-capture-sizes = builtins.toJSON ([ 1 2 ] ++ multiples 4 (2 * conc));
        max-num-batched-tokens = 16384;
      } // when (mode == "throughput") {
        # This build is told a share of the drafts: (2.99 - 1) / 3, of glm5.2_mtp.yaml.
        spec-decode-acceptance-rate = 0.663333;
      };
      # Upstream gives each rank what all may have together.
      env = atom.lmcache { perRank = sizes.takenOf "rank" kvOffload.total; } point // when (kvOffload != null) {
        OFFLOAD_MIN_LOAD_TOKENS = 8192;
      } // {
        PYTHONNOUSERSITE = 1;
        AITER_QUICK_REDUCE_QUANTIZATION = "INT4";
        AITER_USE_FLYDSL_MOE_SORTING = 1;
      };
    });

    client = harness.traceReplay {
      loader = traces;
      engineMetrics = atom.metrics;
      more.apply-chat-template = true;
    };
    datasets = [ (harness.traceDataset traces) ];
    eval = harness.lmEval { };
    harness = harness.source;
  };
}
