# Qwen3.5-397B-A17B NVFP4 on TensorRT-LLM, 8192 tokens in and 1024 out, plain and with its own MTP
# head. It stays on the first NVFP4 checkpoint; the second is SGLang's.
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

  # Of a GPU's memory that is free once the model is loaded, drafting leaves the KV cache less. What
  # is left over was found for each layout; where attention is split, for the largest load.
  kvFractionOfDrafting = { isl, tp, ep, dpAttn, conc, ... }:
    if dpAttn then
      (if conc >= 1024 then 0.8 else 0.9)
    else
      table {
        key = "${toString isl}/tp${toString tp}/ep${toString ep}";
        rows = {
          "1024/tp2/ep1" = 0.6;
          "1024/tp2/ep2" = 0.75;
          "8192/tp2/ep1" = 0.7;
          "8192/tp2/ep2" = 0.6;
          "8192/tp4/ep4" = 0.75;
        };
        otherwise = 0.8;
      };

  base = {
    engine = "trt";
    image = "nvcr.io#nvidia/tensorrt-llm/release:1.3.0rc18";
    model = qwen.nvfp4;
    targets = [ "b200" ];
    client = harness.servingClient { backend = "openai"; };
    eval = harness.lmEval { };
    harness = harness.source;
  };

  args = maxBatchSize: point: {
    backend = "pytorch";
    max_batch_size = maxBatchSize;
    max_seq_len = trtllm.longest { least = 8192; } point;
    max_num_tokens = maxNumTokens point;
  };

  config = { dpAttn, ... }: {
    backend = "pytorch";
    print_iter_log = true;
    enable_layerwise_nvtx_marker = false;
    disable_overlap_scheduler = false;
    enable_iter_perf_stats = true;
    enable_chunked_prefill = false;
    stream_interval = 20;
    num_postprocess_workers = 4;
    scheduler_config = {
      capacity_scheduler_policy = "MAX_UTILIZATION";
      context_chunking_policy = "FIRST_COME_FIRST_SERVED";
    };
    moe_config = {
      backend = if dpAttn then "CUTEDSL" else "TRTLLM";
      use_low_precision_moe_combine = true;
    };
  };

  kvCache = fraction: {
    free_gpu_memory_fraction = fraction;
    enable_block_reuse = false;
    dtype = "fp8";
  };

  # How long requests wait for others to be batched with.
  batching = { tokensRatio }: { dpAttn, ... }:
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
        batch_wait_max_tokens_ratio = tokensRatio;
      };
in
{
  "qwen3.5-fp4-b200-trt" = base // {
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

    serve = trtllm.serve { file = "qwen3.5-fp4-trt.yml"; } ({ dpAttn, ... }@point: {
      args = args (maxBatchSize point) point;
      config = config point // batching { tokensRatio = 0.45; } point // {
        enable_attention_dp = dpAttn;
        kv_cache_config = kvCache 0.9;
        cuda_graph_config = {
          enable_padding = true;
          max_batch_size = maxBatchSize point;
        };
      };
    });
  };

  "qwen3.5-fp4-b200-trt-mtp" = base // {
    speculative = { method = "mtp"; algorithm = "MTP"; steps = 3; };
    scenarios.fixedSequence = [
      {
        isl = 8192;
        osl = 1024;
        search = [
          { tp = 2; conc = [ 4 ]; }
          { tp = 2; ep = 2; conc = [ 8 16 ]; }
          { tp = 4; ep = 4; conc = [ 4 ]; }
          { tp = 8; ep = 8; conc = [ 4 ]; }
          { tp = 8; ep = 8; dpAttn = true; conc = [ 128 256 1024 ]; }
        ];
      }
    ];

    serve = trtllm.serve { file = "qwen3.5-fp4-trt-mtp.yml"; } ({ isl, dpAttn, conc, ... }@point:
      let
        tokensRatio = table { key = isl; rows = { "1024" = 0.0625; }; otherwise = 0.45; };
      in
      {
        # A rank has an eighth of the requests where attention is split, on however many GPUs.
        args = args (if dpAttn then conc / 8 else conc) point;
        config = config point // batching { inherit tokensRatio; } point // trtllm.speculation point // {
          kv_cache_config = kvCache (kvFractionOfDrafting point);
          cuda_graph_config = {
            enable_padding = true;
            batch_sizes = [ 1 2 4 8 16 32 64 128 ];
          };
        } // (if dpAttn then { enable_attention_dp = true; } else { });
        env = { TLLM_USE_FLASHINFER_GDN_PREFILL = 0; };
      });
  };
}
