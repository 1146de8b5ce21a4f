# Qwen3.5-397B-A17B NVFP4 on TensorRT-LLM, 8192 tokens in and 1024 out. It stays on the first
# NVFP4 checkpoint; the second is SGLang's.
let
  inherit (import ../lib/numbers.nix) max table;
  qwen = import ../lib/models/qwen3.5.nix;
  trtllm = import ../lib/trtllm.nix;
  harness = import ../lib/harness.nix;

  # Batch sizes that were found by measuring each layout.
  maxBatchSize = { tp, ep, dpAttn, conc, ... }:
    let
      unmeasured = max conc 16;
    in
    if dpAttn then
      table { key = tp; rows = { "4" = 256; "8" = 128; }; otherwise = unmeasured; }
    else if tp == 2 then
      (if ep == 2 && conc >= 32 then 32 else 256)
    else
      table { key = tp; rows = { "1" = unmeasured; "3" = unmeasured; }; otherwise = 512; };

  maxNumTokens = { isl, osl, mode, ... }@point:
    if mode == "eval" then
      harness.evalContext point
    else
      table {
        key = "${toString isl}/${toString osl}";
        rows = { "8192/1024" = 32768; "1024/1024" = 16384; };
        otherwise = max (isl + osl + 256) 8192;
      };
in
{
  "qwen3.5-fp4-b200-trt" = {
    engine = "trt";
    image = "nvcr.io#nvidia/tensorrt-llm/release:1.3.0rc18";
    model = qwen.nvfp4;
    targets = [ "b200" ];
    scenarios.fixedSequence = [
      {
        isl = 8192;
        osl = 1024;
        search = [
          { tp = 2; conc = [ 4 16 ]; }
          { tp = 4; conc = [ 4 ]; }
          { tp = 2; ep = 2; conc = [ 8 32 ]; }
          { tp = 8; ep = 8; conc = [ 4 ]; }
          { tp = 4; ep = 4; dpAttn = true; conc = [ 1024 ]; }
          { tp = 8; ep = 8; dpAttn = true; conc = [ 256 512 1024 ]; }
        ];
      }
    ];
    client = harness.servingClient { backend = "openai"; };
    eval = harness.lmEval { };
    harness = harness.source;

    serve = trtllm.serve { file = "qwen3.5-fp4-trt.yml"; } ({ isl, osl, dpAttn, mode, ... }@point: {
      args = {
        backend = "pytorch";
        max_batch_size = maxBatchSize point;
        max_seq_len = if mode == "eval" then harness.evalContext point else max (isl + osl + 256) 8192;
        max_num_tokens = maxNumTokens point;
      };
      config = {
        backend = "pytorch";
        print_iter_log = true;
        enable_layerwise_nvtx_marker = false;
        disable_overlap_scheduler = false;
        enable_iter_perf_stats = true;
        enable_chunked_prefill = false;
        stream_interval = 20;
        num_postprocess_workers = 4;
        enable_attention_dp = dpAttn;
        scheduler_config = {
          capacity_scheduler_policy = "MAX_UTILIZATION";
          context_chunking_policy = "FIRST_COME_FIRST_SERVED";
        };
        kv_cache_config = {
          free_gpu_memory_fraction = 0.9;
          enable_block_reuse = false;
          dtype = "fp8";
        };
        cuda_graph_config = {
          enable_padding = true;
          max_batch_size = maxBatchSize point;
        };
        moe_config = {
          backend = if dpAttn then "CUTEDSL" else "TRTLLM";
          use_low_precision_moe_combine = true;
        };
      } // (
        if dpAttn then
          {
            attention_dp_config = {
              enable_balance = true;
              batching_wait_iters = 10;
              timeout_iters = 500;
            };
          }
        else
          {
            batch_wait_timeout_iters = 50;
            batch_wait_max_tokens_ratio = 0.45;
          }
      );
    });
  };
}
