# DeepSeek-V4-Pro on vLLM and NVIDIA's GPUs, 8192 tokens in and 1024 out, plain and with its own MTP head.
let
  model = import ../lib/models/deepseek-v4.nix;
  vllm = import ../lib/vllm.nix;
  harness = import ../lib/harness.nix;

  base = {
    engine = "vllm";
    client = harness.servingClient { backend = "vllm"; more.trust-remote-code = true; };
    packages = harness.servingClientPackages;
    eval = harness.lmEval { };
    harness = harness.source;
    cookbook = vllm.cookbook model.vllmCookbook;
  };

  blackwell = base // {
    image = "vllm/vllm-openai:v0.25.0";
    model = model.fp4;
    quantization = { kvCache = "fp8"; };
  };

  # Hopper knows no FP4.
  hopper = base // {
    image = "vllm/vllm-openai:v0.25.1";
    model = model.fp8;
    quantization = { method = "deepseek_v4_fp8"; kvCache = "fp8"; };
    targets = [ "h200" ];
    scenarios = fixedSequence [
      { tp = 8; conc = { from = 1; to = 256; }; }
      { tp = 8; ep = 8; dpAttn = true; conc = { from = 1; to = 256; }; }
    ];
  };

  mtp = {
    speculative = { method = "mtp"; steps = 2; };
    client = harness.servingClient { backend = "vllm"; more = { trust-remote-code = true; } // model.conversation; };
  };

  fixedSequence = search: {
    fixedSequence = [ { isl = 8192; osl = 1024; inherit search; } ];
  };

  common = point: vllm.context point // model.vllmReaders // model.vllmTools // {
    block-size = 256;
    no-enable-prefix-caching = true;
  };

  blackwellArgs = { dpAttn, ... }@point: common point // {
    # The engine reads a member that is given by itself as text, and a yes or no from that.
    "attention-config.use_fp4_indexer_cache" = "True";
    compilation-config = { cudagraph_mode = "FULL_AND_PIECEWISE"; custom_ops = [ "all" ]; };
    max-cudagraph-capture-size = 2048;
    # One kernel sends tokens to the experts of all ranks and computes them.
    moe-backend = if dpAttn then "deep_gemm_mega_moe" else null;
  };

  # Ranks that decode would wait for every rank that reads a prompt.
  b200 = { dpAttn, ... }@point: blackwellArgs point // {
    prefill-schedule-interval = if dpAttn then 4 else null;
  };

  b300 = { isl, dpAttn, ... }@point: blackwellArgs point // vllm.named point // {
    pipeline-parallel-size = 1;
    max-num-batched-tokens = if dpAttn then 2048 else isl * 2;
  };

  h200 = point: common point // {
    gpu-memory-utilization = 0.95;
    max-num-seqs = 512;
    max-num-batched-tokens = 512;
    no-enable-flashinfer-autotune = true;
    compilation-config = { mode = 0; cudagraph_mode = "FULL_DECODE_ONLY"; };
  };

  ready = vllm.readyWithin 3600;
in
{
  "dsv4-fp4-b200-vllm" = blackwell // {
    targets = [ "cluster:b200-dgxc" ];
    scenarios = fixedSequence [
      { tp = 8; conc = { from = 1; to = 64; }; }
      { tp = 8; ep = 8; conc = { from = 128; to = 256; }; }
      { tp = 8; ep = 8; dpAttn = true; conc = { from = 64; to = 1024; }; }
    ];
    serve = vllm.serve ({ isl, conc, dpAttn, ... }@point: {
      args = b200 point // {
        # A step reads a whole prompt so long as few others wait for it.
        max-num-batched-tokens = if isl == 8192 && conc <= 128 then isl else 2048;
        enable-eplb = dpAttn;
        eplb-config = if dpAttn then { communicator = "torch_nccl"; use_async = false; } else null;
      };
      env = ready;
    });
  };

  "dsv4-fp4-b200-vllm-mtp" = blackwell // mtp // {
    targets = [ "cluster:b200-dgxc" ];
    scenarios = fixedSequence [
      { tp = 8; conc = { from = 1; to = 64; }; }
      { tp = 8; ep = 8; conc = { from = 128; to = 256; }; }
      { tp = 8; ep = 8; dpAttn = true; conc = { from = 64; to = 256; }; }
    ];
    serve = vllm.serve ({ isl, dpAttn, ... }@point: {
      args = b200 point // {
        max-num-batched-tokens = isl * 2;
        gpu-memory-utilization = if dpAttn then 0.9 else null;
      };
      env = ready;
    });
  };

  "dsv4-fp4-b300-vllm" = blackwell // {
    targets = [ "cluster:b300-nv" ];
    download = "missing";
    scenarios = fixedSequence [
      { tp = 4; conc = { from = 1; to = 64; }; }
      { tp = 8; conc = { from = 1; to = 4; }; }
      { tp = 4; ep = 4; dpAttn = true; conc = { from = 256; to = 512; }; }
      { tp = 8; ep = 8; dpAttn = true; conc = { from = 2048; to = 2048; }; }
    ];
    serve = vllm.serve (point: { args = b300 point; env = ready; });
  };

  "dsv4-fp4-b300-vllm-mtp" = blackwell // mtp // {
    targets = [ "cluster:b300-nv" ];
    download = "missing";
    scenarios = fixedSequence [
      { tp = 4; conc = { from = 1; to = 64; }; }
      { tp = 8; conc = { from = 1; to = 8; }; }
      { tp = 4; ep = 4; conc = { from = 64; to = 256; }; }
      { tp = 4; ep = 4; dpAttn = true; conc = { from = 256; to = 512; }; }
    ];
    serve = vllm.serve (point: { args = b300 point; env = ready; });
  };

  "dsv4-fp8-h200-vllm" = hopper // {
    serve = vllm.serve (point: { args = h200 point; env = ready; });
  };

  "dsv4-fp8-h200-vllm-mtp" = hopper // mtp // {
    serve = vllm.serve (point: {
      args = h200 point;
      # What graphs need is estimated too high beside a draft, and they fit.
      env = ready // { VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS = 0; };
    });
  };
}
