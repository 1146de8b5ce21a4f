# MiniMax-M3 on vLLM with an EAGLE-3 draft, replaying agents' recorded conversations.
let
  inherit (import ../lib/numbers.nix) table when;
  model = import ../lib/models/minimax-m3.nix;
  golden = import ../lib/golden.nix;
  vllm = import ../lib/vllm.nix;
  sizes = import ../lib/sizes.nix;
  mooncake = import ../lib/mooncake.nix;
  lmcache = import ../lib/lmcache.nix;
  harness = import ../lib/harness.nix;

  inherit (harness) traces;

  base = {
    engine = "vllm";
    quantization = { kvCache = "fp8"; };
    speculative = {
      method = "eagle3"; steps = 3;
      draft = model.eagle3Gqa;
      acceptance = { curve = golden.minimaxM3Eagle3Gqa; };
    };
    # A run without the engine's metrics does not count.
    client = harness.traceReplay { loader = traces; engineMetrics = "vllm:"; };
    datasets = [ (harness.traceDataset traces) ];
    eval = harness.lmEval { };
    harness = harness.source;
    cookbook = vllm.cookbook model.vllmCookbook;
  };

  search = share: points: {
    agentic = [ { dramUtilization = share; search = points; } ];
  };

  # Upstream's scripts split nothing by data, and experts on AMD's GPUs alone.
  common = { tp, ... }@point: vllm.named point // model.vllmTools // {
    tensor-parallel-size = tp;
    data-parallel-size = null;
    enable-expert-parallel = false;
    block-size = 128;
    language-model-only = true;
    enable-prefix-caching = true;
    default-chat-template-kwargs = { thinking_mode = "enabled"; };
  };

  reader = { reasoning-parser = "minimax_m3"; };

  env = vllm.readyWithin 3600 // { PYTHONNOUSERSITE = 1; };

  # B200 and B300.
  blackwell = base // {
    image = "vllm/vllm-openai:nightly-ac7509e2b1db40fec2f03dde1ed4e9dfdc2338c9";
    model = model.nvfp4;
    download = "missing";
    client = harness.traceReplay { loader = traces; serverMetrics = point: null; };
    serve = vllm.serve ({ kvOffload, ... }@point: {
      args = common point // reader // vllm.draftModel { attention = "FLASH_ATTN"; } point // {
        gpu-memory-utilization = 0.9;
        no-enable-flashinfer-autotune = true;
        attention-config = { backend = "FLASHINFER"; use_trtllm_attention = true; indexer_kv_dtype = "fp8"; };
        max-cudagraph-capture-size = 512;
        max-num-batched-tokens = 16384;
        stream-interval = 20;
      } // when (kvOffload != null) (vllm.offload "SimpleCPUOffloadConnector" {
        # Upstream takes the GB of the host's share for GiB.
        cpu_bytes_to_use = sizes.to "B" (sizes.takenFor "GiB" kvOffload.total);
        lazy_offload = true;
      });
      env = env // {
        VLLM_FLOAT32_MATMUL_PRECISION = "high";
        VLLM_FLASHINFER_ALLREDUCE_BACKEND = "trtllm";
      } // when (kvOffload != null) { VLLM_USE_SIMPLE_KV_OFFLOAD = 1; };
    });
  };
  simple = { medium = "dram"; backend = "vllm-simple"; };

  # H100 and H200. What the page cache holds of the checkpoint is no room for KV blocks.
  hopper = base // {
    image = "vllm/vllm-openai:v0.27.1";
    model = model.mxfp8;
  };
  store = { version = "0.3.11.post1"; };
  inStore = { medium = "dram"; backend = "mooncake"; inherit (store) version; };
  pageCache = sizes.size "all" "GiB" 414;
  serveHopper = { weightsInHost, more }: { tp, conc, speculative, kvOffload, ... }@point:
    let
      sequences = 2 * conc;
      server = vllm.serve (point: {
        args = common point // reader // vllm.draftModel { attention = "FLASH_ATTN"; } point // {
          data-parallel-size = 1;
          gpu-memory-utilization = 0.9;
          attention-backend = "TRITON_ATTN";
          enable-prompt-tokens-details = true;
          max-num-seqs = sequences;
          max-cudagraph-capture-size = sequences * (speculative.steps + 1);
        } // more // when (kvOffload != null) (vllm.offload "MooncakeStoreConnector" { load_async = true; });
        env = env // when (kvOffload != null) { PYTHONHASHSEED = 0; };
      }) point;
      total = sizes.amount (sizes.to "GiB" kvOffload.total);
      kept = mooncake.store (store // {
        segment = sizes.size "rank" "GiB" (
          (total - sizes.amount pageCache) / tp - weightsInHost - sizes.amount mooncake.localBuffer
        );
        highWatermark = "0.80";
      }) point;
    in
    server // when (kvOffload != null) (kept // { env = server.env // kept.env; });

  # AMD's GPUs. The client renders the chat template by itself.
  amd = base // {
    image = "vllm/vllm-openai-rocm:v0.27.1";
    client = harness.traceReplay { loader = traces; engineMetrics = "vllm:"; more.apply-chat-template = true; };
  };
  inCache = { medium = "dram"; backend = "lmcache"; version = "0.5.3"; };
  serveAmd = own: { conc, kvOffload, ... }@point:
    let
      mine = own point;
      server = vllm.serve (point: {
        args = common point // vllm.draftModel { attention = "TRITON_ATTN"; } point // {
          attention-backend = "TRITON_ATTN";
          enable-chunked-prefill = true;
          max-num-seqs = 2 * conc;
          stream-interval = 20;
        } // mine.args // when (kvOffload != null) cached.args;
        env = env // { VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS = 1800; VLLM_USE_BREAKABLE_CUDAGRAPH = 0; } // (mine.env or { });
      }) point;
      cached = lmcache.servers { inherit (inCache) version; } point;
    in
    server // when (kvOffload != null) { inherit (cached) tools beside; };
in
{
  "minimaxm3-fp4-b200-vllm-agentic-mtp" = blackwell // {
    # The draft lies beside the model, which the script itself finds.
    speculative = blackwell.speculative // { draft = model.eagle3Gqa // { folder = "/scratch/fsw/models/MiniMax-M3-EAGLE3-GQA"; }; };
    targets = [ "cluster:b200-dgxc" ];
    scenarios.agentic = [
      {
        dramUtilization = 0.683;
        search = [
          { tp = 8; conc = [ 1 ]; }
          { tp = 4; conc = [ 1 5 10 15 20 ]; }
        ];
      }
      { dramUtilization = 1.0; search = [ { tp = 4; kvOffload = simple; conc = [ 15 20 25 30 32 34 36 38 40 ]; } ]; }
    ];
  };

  "minimaxm3-fp4-b300-vllm-agentic-mtp" = blackwell // {
    targets = [ "cluster:b300-nv" ];
    scenarios.agentic = [
      {
        dramUtilization = 0.683;
        search = [
          { tp = 8; conc = [ 1 ]; }
          { tp = 4; conc = [ 1 5 10 15 20 ]; }
          { tp = 4; kvOffload = simple; conc = [ 30 ]; }
        ];
      }
      { dramUtilization = 1.0; search = [ { tp = 2; kvOffload = simple; conc = [ 24 ]; } ]; }
    ];
  };

  "minimaxm3-fp8-h100-vllm-agentic-mtp" = hopper // {
    targets = [ "cluster:h100-dgxc" ];
    scenarios = search 0.8 [
      { tp = 8; conc = [ 1 2 3 4 5 ]; }
      { tp = 8; kvOffload = inStore; conc = [ 6 8 ]; }
    ];
    serve = serveHopper {
      weightsInHost = 26;
      more = { cpu-offload-gb = sizes.size "rank" "GiB" 26; safetensors-load-strategy = "lazy"; };
    };
  };

  "minimaxm3-fp8-h200-vllm-agentic-mtp" = hopper // {
    download = "engine";
    targets = [ "cluster:h200-dgxc" ];
    scenarios = search 0.8 [
      { tp = 8; conc = [ 1 2 4 6 8 10 ]; }
      { tp = 8; kvOffload = inStore; conc = [ 12 14 ]; }
    ];
    serve = serveHopper { weightsInHost = 0; more = { }; };
  };

  "minimaxm3-fp8-mi300x-vllm-agentic-mtp" = amd // {
    model = model.mxfp8;
    targets = [ "cluster:mi300x-amds" ];
    scenarios = search 0.8 [
      { tp = 8; conc = [ 2 4 6 8 10 ]; }
      { tp = 8; kvOffload = inCache; conc = [ 16 ]; }
    ];
    serve = serveAmd ({ ep, ... }: {
      args = reader // {
        enable-expert-parallel = ep > 1;
        gpu-memory-utilization = 0.9;
        max-num-batched-tokens = 16384;
      };
      env = {
        VLLM_ROCM_USE_AITER = 1;
        VLLM_ROCM_USE_AITER_MHA = 0;
        TORCH_BLAS_PREFER_HIPBLASLT = 1;
        NCCL_MIN_NCHANNELS = 112;
        GPU_MAX_HW_QUEUES = 2;
      };
    });
  };

  "minimaxm3-fp8-mi325x-vllm-agentic-mtp" = amd // {
    model = model.mxfp8;
    targets = [ "cluster:mi325x-amds" ];
    scenarios = search 0.2 [ { tp = 8; conc = [ 1 2 4 8 10 12 14 16 18 ]; } ];
    serve = serveAmd (point: {
      args = reader // { gpu-memory-utilization = 0.9; max-num-batched-tokens = 32768; };
    });
  };

  "minimaxm3-fp4-mi355x-vllm-agentic-mtp" = amd // {
    model = model.mxfp4;
    targets = [ "cluster:mi355x-amds" ];
    scenarios = search 0.2 [
      { tp = 4; conc = [ 1 2 4 5 8 10 12 15 20 24 28 32 ]; }
      { tp = 2; conc = [ 1 2 5 ]; }
      { tp = 4; kvOffload = inCache; conc = [ 32 40 ]; }
    ];
    serve = serveAmd ({ tp, ep, ... }: {
      args = {
        enable-expert-parallel = ep > 1;
        gpu-memory-utilization = 0.85;
        max-num-batched-tokens = 32768;
        moe-backend = "aiter";
        # Which tokens matter is looked up again for every fourth layer alone.
        hf-overrides = { text_config = { use_index_cache = true; index_topk_freq = 4; }; };
      };
      env = {
        VLLM_ROCM_USE_AITER = 1;
        VLLM_ROCM_USE_AITER_MOE = 1;
        VLLM_ROCM_USE_AITER_FUSION_SHARED_EXPERTS = 1;
        VLLM_ROCM_SHUFFLE_KV_CACHE_LAYOUT = table { key = tp; rows = { "4" = 1; }; otherwise = 0; };
        VLLM_ROCM_QUICK_REDUCE_QUANTIZATION = "INT4";
        VLLM_ROCM_QUICK_REDUCE_CAST_BF16_TO_FP16 = 0;
        VLLM_ROCM_QUICK_REDUCE_QUANTIZATION_MIN_SIZE_KB = 256;
      };
    });
  };
}
