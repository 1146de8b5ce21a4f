# Kimi-K3 on ATOM and AMD's MI355X, drafting with DSpark, replaying agents' recorded conversations.
# Fewer than eight GPUs do not hold it.
let
  inherit (import ../lib/numbers.nix) when;
  kimi = import ../lib/models/kimi-k3.nix;
  golden = import ../lib/golden.nix;
  atom = import ../lib/atom.nix;
  sizes = import ../lib/sizes.nix;
  harness = import ../lib/harness.nix;

  inherit (harness) traces;

  # What was found for each load.
  quiet = { sequences = 32; stepTokens = 8192; memory = 0.88; replaySsm = 0; checkpointSlots = null; };
  measured = { conc, ... }: {
    "1" = quiet;
    "4" = quiet;
    "8" = { sequences = 16; stepTokens = 8192; memory = 0.88; replaySsm = 1; checkpointSlots = 16; };
    "10" = { sequences = 16; stepTokens = 4096; memory = 0.9; replaySsm = 0; checkpointSlots = 16; };
  }.${toString conc} or (throw "nobody has measured Kimi-K3 at ${toString conc} requests at a time");
in
{
  "kimik3-fp4-mi355x-atom-agentic-mtp" = {
    engine = "atom";
    image = "rocm/atom-dev:ubuntu24.04_py3.12_pytorch_release_2.10.0_kimi_k3_agentic_0820";
    model = kimi.mxfp4;
    quantization = { kvCache = "fp8"; };
    # Alone, a request drafts three times as far.
    speculative = { conc, ... }: {
      method = "dspark";
      steps = if conc == 1 then 6 else 2;
      draft = kimi.dspark // { download = "engine"; };
      draftSampling = "probabilistic";
      acceptance = { curve = golden.kimiK3DsparkProbabilistic; };
    };
    drafts = [ kimi.dspark ];
    curves = [ golden.kimiK3DsparkProbabilistic ];
    targets = [ "cluster:mi355x-amds" ];
    scenarios.agentic = [
      {
        dramUtilization = 0.086;
        search = [
          { tp = 8; conc = [ 1 4 ]; }
          { tp = 8; kvOffload = { medium = "dram"; backend = "lmcache"; version = "0.4.5"; }; conc = [ 8 10 ]; }
        ];
      }
    ];

    serve = atom.serve ({ tp, kvOffload, speculative, ... }@point:
      let
        of = measured point;
      in
      {
        python = [ "python" ];
        args = atom.connector point // {
          draft-model = speculative.draftPath;
          host = "0.0.0.0";
          trust-remote-code = true;
          # Experts are split like everything else.
          enable-expert-parallel = null;
          block-size = 128;
          max-num-seqs = of.sequences;
          max-num-batched-tokens = of.stepTokens;
          gpu-memory-utilization = of.memory;
          enable_prefix_caching = true;
          # The state of the linear attention is kept at the ends of prompts alone, and `slots` more
          # than requests in flight need.
          state-checkpoint-interval-tokens = -1;
          state-checkpoint-slots = of.checkpointSlots;
          online_quant_config = {
            global_quant_config = "ptpc_fp8";
            exclude_layer = [
              "lm_head" "model.embed_tokens" "*self_attn.[qkv]_conv1d*" "*block_sparse_moe.experts*"
              "*block_sparse_moe.routed_expert_*" "*vision_tower*" "*mm_projector*"
            ];
          };
        };
        env = atom.lmcache { perRank = sizes.each tp kvOffload.total; } point // when (kvOffload != null) {
          # The state goes the same way. Its buffer has to hold one of 54.78 MiB, or the engine leaves
          # states where they are and says so in one line.
          OFFLOAD_STATE = 1;
          OFFLOAD_STATE_STAGING_GROUPS = 8;
          OFFLOAD_STATE_MIN_LOAD_TOKENS = 0;
          OFFLOAD_GPU_STAGING_CHUNKS = 16;
        } // {
          PYTHONNOUSERSITE = 1;
          AITER_LOG_LEVEL = "WARNING";
          AITER_SITUV2_A4W4 = 1;
          AITER_QUICK_REDUCE_QUANTIZATION = "INT4";
          AITER_FLYDSL_STAGE2_FP8 = 1;
          ATOM_MLA_MAX_SPLIT_PER_BATCH = 256;
          ATOM_STATE_CHECKPOINT_DEMAND = 0;
          ATOM_ENABLE_REPLAYSSM = of.replaySsm;
        };
      });

    client = harness.traceReplay {
      loader = traces;
      engineMetrics = atom.metrics;
      more.apply-chat-template = true;
      moreEnv.AIPERF_HTTP_TCP_USER_TIMEOUT = 900000;
    };
    datasets = [ (harness.traceDataset traces) ];
    eval = harness.lmEval { };
    harness = harness.source;
  };
}
