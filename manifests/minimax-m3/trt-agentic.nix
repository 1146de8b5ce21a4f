# MiniMax-M3 NVFP4 on TensorRT-LLM, drafting with EAGLE3, replaying agents' recorded conversations.
let
  inherit (import ../lib/numbers.nix) table;
  minimax = import ../lib/models/minimax-m3.nix;
  golden = import ../lib/golden.nix;
  sizes = import ../lib/sizes.nix;
  trtllm = import ../lib/trtllm.nix;
  harness = import ../lib/harness.nix;

  inherit (harness) traces;

  base = {
    engine = "trt";
    image = "nvcr.io/nvidia/tensorrt-llm/release:1.3.0rc23.post1";
    model = minimax.nvfp4;
    download = "missing";
    quantization = { kvCache = "fp8"; };
    client = harness.traceReplay {
      loader = traces;
      serverMetrics = point: null;
    };
    datasets = [ (harness.traceDataset traces) ];
    eval = harness.lmEval { };
    harness = harness.source;
  };

  speculative = {
    method = "eagle3";
    algorithm = "Eagle3";
    steps = 3;
    draft = minimax.eagle3Gqa;
    acceptance = { curve = golden.minimaxM3Eagle3Gqa; };
  };

  # The engine's own pool in the host's memory.
  search = points: {
    agentic = [
      {
        dramUtilization = 0.8;
        search = map (point: point // { kvOffload = { medium = "dram"; backend = "native"; }; }) points;
      }
    ];
  };

  # From `first` to `last` by `step`.
  by = step: first: last: builtins.genList (n: first + n * step) ((last - first) / step + 1);
  upTo = by 1 1;

  gib = sizes.size "rank" "GiB";

  # The batches that have a CUDA graph, by how many requests run at a time: every one up to 20, and
  # further up so many that padding to the next stays small. `captured` lists those of some loads.
  batches = captured: { conc, ... }: table {
    key = conc <= 20;
    rows = { "1" = upTo conc; };
    otherwise = table { key = conc; rows = captured; otherwise = [ ]; };
  };

  capturedOfB300 = {
    "25" = upTo 15 ++ by 2 17 25;
    "30" = upTo 12 ++ by 2 14 24 ++ [ 27 30 ];
  };
  capturedOfB200 = capturedOfB300 // {
    "35" = upTo 11 ++ by 3 14 35;
    "40" = by 2 2 40;
    "45" = by 2 2 18 ++ by 3 21 45;
    "50" = by 2 2 8 ++ [ 11 ] ++ by 2 14 18 ++ by 3 21 48 ++ [ 50 ];
    "55" = by 3 2 14 ++ by 2 16 18 ++ by 3 21 48 ++ [ 50 53 55 ];
  };

  # `hostCache`: the pool of each rank.
  serve = { captured, hostCache }: trtllm.serve { file = "ser.yaml"; } ({ model, conc, quantization, ... }@point: {
    args = {
      host = "0.0.0.0";
      chat_template = "${model.path}/chat_template.jinja";
      # The engine's file says it.
      trust_remote_code = null;
      ep_size = null;
    };
    config = {
      # What MiniMax says of the model; its configuration says half of it.
      max_seq_len = 1048576;
      max_num_tokens = 16384;
      max_batch_size = conc;
      cuda_graph_config = {
        enable_padding = true;
        batch_sizes = batches captured point;
      };
      torch_compile_config = {
        enable_fullgraph = true;
        enable_inductor = false;
        enable_piecewise_cuda_graph = true;
        capture_num_tokens = [ 1 512 1024 2048 ];
        enable_userbuffers = true;
        max_num_streams = 3;
      };
      moe_config = {
        backend = "TRTLLM";
        use_low_precision_moe_combine = true;
      };
      sparse_attention_config = {
        algorithm = "minimax_m3";
        implementation = "msa";
        indexer_kv_dtype = "fp8";
        sparse_disable_index_value = true;
        fuse_qkv_index_projection = true;
      };
      kv_cache_config = {
        free_gpu_memory_fraction = 0.94;
        enable_block_reuse = true;
        block_reuse_policy = "per_conversation";
        tokens_per_block = 128;
        use_kv_cache_manager_v2 = true;
        dtype = quantization.kvCache;
        event_buffer_max_size = 0;
        host_cache_size = sizes.to "B" (hostCache point);
      };
      scheduler_config.capacity_scheduler_policy = "MAX_UTILIZATION";
      enable_chunked_prefill = true;
      enable_autotuner = true;
      trust_remote_code = true;
      reasoning_parser = "minimax_m3";
      stream_interval = 20;
      print_iter_log = true;
      num_postprocess_workers = 8;
      enable_attention_dp = false;
    } // trtllm.drafting point;
    env = trtllm.newer // {
      PYTHONNOUSERSITE = 1;
      TLLM_LOG_LEVEL = "INFO";
      TLLM_PROFILE_LOG_RANKS = "all";
      TRTLLM_ENABLE_PDL = 1;
      TRTLLM_SERVE_ENABLE_MSGSPEC = 1;
      TRTLLM_TORCH_COMPILE_CONTEXT_ONLY = 1;
      ENROOT_ALLOW_DEV = "yes";
      TQDM_DISABLE = 1;
      HF_HUB_DISABLE_PROGRESS_BARS = 1;
    };
  });
in
{
  "minimaxm3-fp4-b300-trtllm-agentic-mtp" = base // {
    inherit speculative;
    targets = [ "cluster:b300-nv" ];
    scenarios = search [
      { tp = 2; conc = [ 20 25 30 ]; }
      { tp = 4; conc = [ 5 10 15 20 25 30 ]; }
      { tp = 8; conc = [ 1 5 ]; }
    ];
    serve = serve {
      captured = capturedOfB300;
      # An eighth of what the node has, and something less where all eight ranks are there.
      hostCache = { tp, ... }: if tp == 8 then gib 288 else sizes.size "rank" "B" (2964436 * 1048576 / 8);
    };
  };

  "minimaxm3-fp4-b200-trtllm-agentic-mtp" = base // {
    # Into the container alone: this folder of the cluster's is not mounted.
    speculative = speculative // {
      draft = minimax.eagle3Gqa // { folder = "/lustre/fsw/gharunners/models/MiniMax-M3-EAGLE3-GQA"; };
    };
    targets = [ "cluster:b200-dgxc" ];
    scenarios = search [
      { tp = 4; conc = [ 5 10 15 20 25 30 35 40 45 ]; }
      { tp = 8; conc = [ 1 5 ]; }
    ];
    serve = serve {
      captured = capturedOfB200;
      hostCache = { tp, ... }: gib (if tp == 8 then 200 else 250);
    };
  };
}
