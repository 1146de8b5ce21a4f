# DeepSeek-R1-0528 on TensorRT-LLM, 8192 tokens in and 1024 out, plain and with its own MTP head.
let
  inherit (import ../lib/numbers.nix) max roundUp shareOf table when;
  inherit (import ../lib/harness.nix) evalContext;
  model = import ../lib/models/deepseek-r1.nix;
  trtllm = import ../lib/trtllm.nix;
  harness = import ../lib/harness.nix;

  base = {
    engine = "trt";
    image = "nvcr.io#nvidia/tensorrt-llm/release:1.3.0rc14";
    quantization = { kvCache = "fp8"; };
    client = harness.servingClient { backend = "openai"; };
    eval = harness.lmEval { };
    harness = harness.source;
  };

  # Three tokens are drafted at a time, and one where attention is split.
  mtp = {
    speculative = { dpAttn, ... }: {
      method = "mtp";
      algorithm = "MTP";
      steps = table { key = dpAttn; rows = { "1" = 1; }; otherwise = 3; };
    };
  };

  fixedSequence = search: {
    fixedSequence = [ { isl = 8192; osl = 1024; inherit search; } ];
  };

  lengths = { isl, osl, ... }: "${toString isl}/${toString osl}";

  # A step has room for one prompt beside a token of each request; drafted tokens count too.
  stepOf = tokens: { isl, ... }: roundUp 64 (tokens + isl + 64);
  plainStep = { conc, ... }@point: max (stepOf conc point) 8192;
  draftingStep = batch: { speculative, ... }@point: stepOf ((speculative.steps + 1) * batch) point;

  inEvaluations = step: { mode, ... }@point: if mode == "eval" then evalContext point else step;

  plainArgs = point: {
    backend = "pytorch";
    max_seq_len = trtllm.longest { least = 8192; } point;
    max_num_tokens = inEvaluations (plainStep point) point;
  };

  draftingArgs = batch: point: {
    backend = "pytorch";
    max_batch_size = batch;
    max_seq_len = trtllm.longest { } point;
    max_num_tokens = inEvaluations (draftingStep batch point) point;
  };

  config = { graphs, kvFraction, moe }: { dpAttn, quantization, ... }: {
    cuda_graph_config = {
      enable_padding = true;
      max_batch_size = graphs;
    };
    enable_attention_dp = dpAttn;
    print_iter_log = true;
    kv_cache_config = {
      dtype = quantization.kvCache;
      free_gpu_memory_fraction = kvFraction;
      enable_block_reuse = false;
    };
    stream_interval = 10;
    moe_config.backend = moe;
  } // when dpAttn {
    attention_dp_config = {
      batching_wait_iters = 0;
      enable_balance = true;
      timeout_iters = 60;
    };
  };

  # FP4 on B200: CUTLASS has the experts of split attention, and a rank a quarter of the requests.
  fp4Batch = { dpAttn, conc, ... }: if dpAttn then shareOf 4 conc else conc;
  fp4Config = { dpAttn, ... }@point: config {
    graphs = fp4Batch point;
    kvFraction = 0.8;
    moe = if dpAttn then "CUTLASS" else "TRTLLM";
  } point;

  # FP8 on B200: DeepGEMM has the experts of split attention, and a rank an eighth of the requests.
  fp8Batch = { dpAttn, conc, ... }: table { key = dpAttn; rows = { "1" = shareOf 8 conc; }; otherwise = conc; };

  # H200. Its graphs are for 128 requests, whatever the load.
  h200Config = config { graphs = 128; kvFraction = 0.75; moe = "CUTLASS"; };
  h200Batch = { tp, dpAttn, conc, ... }: if dpAttn then max (conc / tp) 1 else conc;
in
{
  "dsr1-fp4-b200-trt" = base // {
    model = model.nvfp4;
    targets = [ "b200" ];
    # The tensors alone are split at low load, the experts too at 32, and attention above.
    scenarios = fixedSequence [
      { tp = 4; conc = { from = 4; to = 32; }; }
      { tp = 4; ep = 4; conc = [ 32 ]; }
      { tp = 4; ep = 4; dpAttn = true; conc = [ 256 ]; }
      { tp = 8; conc = [ 4 ]; }
      { tp = 8; ep = 8; dpAttn = true; conc = { from = 128; to = 256; }; }
    ];
    serve = trtllm.serve { file = "dsr1-fp4.yml"; } ({ tp, ep, ... }@point:
      let
        args = plainArgs point;
        piecewise = lengths point == "1024/1024" && tp == 8 && ep == 8;
      in
      {
        inherit args;
        config = fp4Config point // when piecewise (trtllm.piecewiseGraphs (trtllm.captures args.max_num_tokens));
      });
  };

  "dsr1-fp4-b200-trt-mtp" = base // mtp // {
    model = model.nvfp4;
    targets = [ "b200" ];
    scenarios = fixedSequence [
      { tp = 4; conc = { from = 4; to = 16; }; }
      { tp = 4; ep = 4; conc = [ 32 ]; }
      { tp = 4; ep = 4; dpAttn = true; conc = [ 256 ]; }
      { tp = 8; conc = [ 4 ]; }
      { tp = 8; ep = 8; dpAttn = true; conc = { from = 64; to = 256; }; }
    ];
    serve = trtllm.serve { file = "dsr1-fp4-mtp.yml"; } ({ dpAttn, conc, ... }@point:
      let
        batch = fp4Batch point;
        piecewise =
          lengths point == "1024/1024" && (conc == 32 || conc == 64 || (conc == 128 && !dpAttn));
        # Evaluations capture the graphs of the measured points too.
        captures = trtllm.capturesToTheEnd (draftingStep batch point);
      in
      {
        args = draftingArgs batch point;
        config = fp4Config point // trtllm.speculation point // when piecewise (trtllm.piecewiseGraphs captures);
      });
  };

  "dsr1-fp8-b200-trt" = base // {
    model = model.fp8;
    targets = [ "b200" ];
    scenarios = fixedSequence [
      { tp = 8; conc = { from = 64; to = 256; }; }
      { tp = 4; conc = { from = 8; to = 32; }; }
      { tp = 8; conc = { from = 4; to = 8; }; }
    ];
    serve = trtllm.serve { file = "dsr1-fp8.yml"; } ({ tp, conc, ... }@point:
      let
        args = plainArgs point;
        short = lengths point == "1024/1024";
        long = lengths point == "8192/1024";
        busy = conc >= 64;
      in
      {
        inherit args;
        config = config {
          graphs = conc;
          kvFraction = if long && tp == 4 then 0.75 else 0.8;
          moe = "TRTLLM";
        } point
        // when (short && busy) { batch_wait_timeout_iters = 40; batch_wait_max_tokens_ratio = 0.8; }
        // when ((short || long) && busy) (trtllm.piecewiseGraphs (trtllm.capturesToTheEnd args.max_num_tokens));
        # Upstream's way around running out of memory, meant to go again.
        env = { TLLM_OVERRIDE_LAYER_NUM = 61; };
      });
  };

  "dsr1-fp8-b200-trt-mtp" = base // mtp // {
    model = model.fp8;
    targets = [ "b200" ];
    scenarios = fixedSequence [ { tp = 8; conc = { from = 4; to = 256; }; } ];
    serve = trtllm.serve { file = "dsr1-fp8-mtp.yml"; } ({ dpAttn, conc, ... }@point:
      let
        args = draftingArgs (fp8Batch point) point;
        # Below this load the graphs of the pieces gain nothing.
        quiet = table {
          key = lengths point;
          rows = { "1024/1024" = 4; "8192/1024" = 16; };
          otherwise = 0;
        };
      in
      {
        inherit args;
        config = config {
          graphs = fp8Batch point;
          kvFraction = table { key = dpAttn; rows = { "1" = 0.7; }; otherwise = 0.8; };
          moe = table { key = dpAttn; rows = { "1" = "DEEPGEMM"; }; otherwise = "TRTLLM"; };
        } point
        // trtllm.speculation point
        // when (!dpAttn && conc > quiet) (trtllm.piecewiseGraphs (trtllm.capturesToTheEnd args.max_num_tokens));
        env = when dpAttn { ENABLE_CONFIGURABLE_MOE = 1; };
      });
  };

  "dsr1-fp8-h200-trt" = base // {
    model = model.fp8;
    targets = [ "h200" ];
    scenarios = fixedSequence [
      { tp = 8; ep = 8; conc = { from = 4; to = 32; }; }
      { tp = 8; ep = 8; dpAttn = true; conc = [ 64 ]; }
    ];
    serve = trtllm.serve { file = "dsr1-fp8.yml"; } (point: {
      args = plainArgs point;
      config = h200Config point;
      env = { PYTHONNOUSERSITE = 1; };
    });
  };

  "dsr1-fp8-h200-trt-mtp" = base // mtp // {
    model = model.fp8;
    targets = [ "h200" ];
    scenarios = fixedSequence [
      { tp = 8; ep = 8; conc = { from = 4; to = 32; }; }
      { tp = 8; ep = 8; dpAttn = true; conc = { from = 64; to = 256; }; }
    ];
    serve = trtllm.serve { file = "dsr1-fp8-mtp.yml"; } ({ isl, dpAttn, ... }@point: {
      args = draftingArgs (h200Batch point) point;
      config = h200Config point // trtllm.speculation point;
      env = { PYTHONNOUSERSITE = 1; } // when (isl == 8192 && dpAttn) { PYTORCH_CUDA_ALLOC_CONF = "max_split_size_mb:8192"; };
    });
  };
}
