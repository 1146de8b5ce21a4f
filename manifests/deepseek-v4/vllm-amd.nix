# DeepSeek-V4-Pro on vLLM and AMD's GPUs, 8192 tokens in and 1024 out, plain and with its own MTP head.
let
  model = import ../lib/models/deepseek-v4.nix;
  vllm = import ../lib/vllm.nix;
  harness = import ../lib/harness.nix;

  base = {
    engine = "vllm";
    image = "vllm/vllm-openai-rocm:nightly-09663abde0f50944a8d5ea30120666024b503faa";
    client = harness.servingClient { backend = "vllm"; more.trust-remote-code = true; };
    eval = harness.lmEval { };
    harness = harness.source;
    cookbook = vllm.cookbook model.vllmCookbook;
  };

  mtp = {
    speculative = { method = "mtp"; steps = 2; };
    client = harness.servingClient { backend = "vllm"; more = { trust-remote-code = true; } // model.conversation; };
  };

  upTo = conc: {
    fixedSequence = [ { isl = 8192; osl = 1024; search = [ { tp = 8; conc = { from = 4; to = conc; }; } ]; } ];
  };

  common = model.vllmReaders // {
    # The engine's own: every address.
    host = null;
    async-scheduling = true;
    distributed-executor-backend = "mp";
    no-enable-prefix-caching = true;
    compilation-config = { mode = 3; cudagraph_mode = "FULL_AND_PIECEWISE"; };
  };

  aiter = { VLLM_ROCM_USE_AITER = 1; VLLM_ROCM_USE_AITER_MOE = 1; };

  # Wider weights leave little room for sequences.
  questionsAtOnce = 8;

  # CDNA 3 knows no FP4, and what computes the experts there is left to the engine.
  gfx942 = base // {
    model = model.fp8;
    quantization = { method = "deepseek_v4_fp8"; kvCache = "fp8"; };
    eval = harness.lmEval { concurrent = questionsAtOnce; };
    serve = vllm.serve (point: {
      args = vllm.context point // common // { gpu-memory-utilization = 0.9; };
      # Upstream tells its evaluator by the environment of the whole container.
      env = aiter // { EVAL_CONCURRENT_REQUESTS = questionsAtOnce; };
    });
  };

  gfx950 = base // {
    model = model.fp4;
    quantization = { kvCache = "fp8"; };
    targets = [ "mi355x" ];
    scenarios = upTo 512;
    serve = vllm.serve (point: {
      args = common // { gpu-memory-utilization = 0.8; moe-backend = "aiter"; };
      env = aiter;
    });
  };
in
{
  "dsv4-fp4-mi355x-vllm" = gfx950;
  "dsv4-fp4-mi355x-vllm-mtp" = gfx950 // mtp;

  # With more requests at once than these, too many of them fail: a draft's cache takes room as well.
  "dsv4-fp8-mi300x-vllm" = gfx942 // { targets = [ "mi300x" ]; scenarios = upTo 256; };
  "dsv4-fp8-mi300x-vllm-mtp" = gfx942 // mtp // { targets = [ "mi300x" ]; scenarios = upTo 128; };
  "dsv4-fp8-mi325x-vllm" = gfx942 // { targets = [ "cluster:mi325x-tw" ]; scenarios = upTo 256; };
  "dsv4-fp8-mi325x-vllm-mtp" = gfx942 // mtp // { targets = [ "cluster:mi325x-tw" ]; scenarios = upTo 128; };
}
