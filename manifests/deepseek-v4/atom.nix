# DeepSeek-V4-Pro on ATOM and AMD's MI355X: 8192 tokens in and 1024 out, plain and with its own MTP
# head, and agents' recorded conversations with the head.
let
  inherit (import ../lib/numbers.nix) when;
  deepseek = import ../lib/models/deepseek-v4.nix;
  golden = import ../lib/golden.nix;
  atom = import ../lib/atom.nix;
  harness = import ../lib/harness.nix;

  base = {
    engine = "atom";
    model = deepseek.fp4;
    quantization = { kvCache = "fp8"; };
    eval = harness.lmEval { };
    harness = harness.source;
  };

  mtp = { method = "mtp"; steps = 3; };

  environment = {
    AITER_BF16_FP8_MOE_BOUND = 0;
    ATOM_MOE_GU_ITLV = 1;
    ATOM_DISABLE_MMAP = "true";
  };

  # `prompts`: how the client writes them.
  fixedSequence = { prompts ? { } }: search: base // {
    image = "rocm/atom-dev:nightly_202607231538";
    # The engine brings its checkpoint into the hub cache by itself.
    download = "engine";
    targets = [ "mi355x" ];
    scenarios.fixedSequence = [ { isl = 8192; osl = 1024; inherit search; } ];
    client = harness.servingClient { backend = "vllm"; more = { trust-remote-code = true; } // prompts; };
  };

  # Split attention keeps a KV pool a rank, beside which the engine's own number of sequences does
  # not fit. `overlaps` says where the two halves of a prefill batch run beside each other.
  serve = { overlaps, more ? { } }: atom.serve ({ dpAttn, conc, ... }@point: {
    args = atom.splitAttention point // {
      trust-remote-code = true;
      no-enable_prefix_caching = true;
      max-num-seqs = if dpAttn || conc >= 64 then conc else null;
      enable-tbo = overlaps point;
    } // more;
    env = environment // when (overlaps point) { GPU_MAX_HW_QUEUES = 5; };
  });

  inherit (harness) traces;
in
{
  "dsv4-fp4-mi355x-atom" = fixedSequence { } [
    { tp = 4; conc = { from = 1; to = 64; }; }
    { tp = 4; dpAttn = true; conc = { from = 16; to = 128; }; }
    { tp = 8; conc = { from = 1; to = 64; }; }
    { tp = 8; dpAttn = true; conc = { from = 64; to = 2048; }; }
  ] // {
    serve = serve {
      overlaps = { ep, dpAttn, conc, ... }: dpAttn && ep == 1 && conc >= 64;
      more = {
        gpu-memory-utilization = 0.9;
        cudagraph-capture-sizes = "[1, 2, 4, 8, 16, 32, 48, 64, 128, 256, 512]";
      };
    };
  };

  # Four GPUs have no room for the draft's KV cache beside the weights. Overlap was measured to cost
  # more than it gains up to 128 requests: the draft has made little load fast already.
  "dsv4-fp4-mi355x-atom-mtp" = fixedSequence { prompts = deepseek.conversation; } [
    { tp = 8; conc = { from = 4; to = 256; }; }
    { tp = 8; dpAttn = true; conc = { from = 32; to = 1024; }; }
  ] // {
    speculative = mtp;
    serve = serve { overlaps = { dpAttn, conc, ... }: dpAttn && conc >= 256; };
  };

  "dsv4-fp4-mi355x-atom-agentic-mtp" = base // {
    image = "rocm/atom-dev:nightly_202608201032";
    targets = [ "cluster:mi355x-amds" ];
    speculative = mtp // { acceptance = { curve = golden.deepseekV4Mtp; }; };
    scenarios.agentic = [ { search = [ { tp = 8; conc = [ 1 2 4 8 16 32 48 ]; } ]; } ];
    datasets = [ (harness.traceDataset traces) ];
    serve = atom.serve ({ model, ... }@point: {
      python = [ "python3" "-u" ];
      args = atom.admission point // {
        served-model-name = model.name;
        host = "0.0.0.0";
        index-cache-dtype = "fp4";
        enable-prefix-caching = true;
        gpu-memory-utilization = 0.9;
        max-num-batched-tokens = 16384;
        attn-prefill-chunk-size = 16384;
        state-checkpoint-interval-tokens = 8192;
        level = 3;
        cudagraph-mode = "FULL";
      };
      env = environment // {
        AITER_LOG_LEVEL = "WARNING";
        ATOM_DEBUG_PREFIX_HITS = 1;
        ATOM_PROFILER_MORE = 0;
        ATOM_PROFILER_TIMEOUT = 1200;
      };
    });
    client = harness.traceReplay {
      loader = traces;
      engineMetrics = atom.metrics;
      moreEnv = {
        AIPERF_HTTP_TCP_USER_TIMEOUT = 900000;
        # What the client's options say is said here once more upstream, and a grace period that
        # they do not say.
        AIPERF_LIVE_FAILED_REQUEST_THRESHOLD = "0.10";
        AIPERF_TRACE_IDLE_GAP_CAP_SECONDS = 300;
        AIPERF_WARMUP_REQUESTS_PER_LANE = 10;
        AIPERF_BENCHMARK_GRACE_PERIOD = 30;
      };
    };
  };
}
