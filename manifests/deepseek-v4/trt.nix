# DeepSeek-V4-Pro on TensorRT-LLM, B200 and B300: 8192 tokens in and 1024 out, plain and with its own
# MTP head.
let
  inherit (import ../lib/numbers.nix) max min table when;
  inherit (import ../lib/harness.nix) evalContext;
  deepseek = import ../lib/models/deepseek-v4.nix;
  trtllm = import ../lib/trtllm.nix;
  harness = import ../lib/harness.nix;

  base = {
    engine = "trt";
    image = "ghcr.io#semianalysisai/trtllm-deepseek-v4:feat-deepseek_v4-c185066";
    model = deepseek.fp4;
    quantization = { kvCache = "fp8"; };
    eval = harness.lmEval { };
    harness = harness.source;
  };

  fixedSequence = search: {
    fixedSequence = [ { isl = 8192; osl = 1024; inherit search; } ];
  };

  # What a recipe has with the head and without.
  plain = {
    file = "dsv4-fp4-trt.yml";
    # The least load of short prompts at which DeepGEMM has the experts.
    crowd = 2048;
    kvFraction = 0.7;
    drafting = { ... }: { };
    recipe = {
      client = harness.servingClient {
        backend = "openai-chat";
        more = { endpoint = "/v1/chat/completions"; trust-remote-code = true; };
      };
    };
  };

  mtp = {
    file = "dsv4-fp4-trt-mtp.yml";
    crowd = 512;
    kvFraction = 0.6;
    drafting = { dpAttn, ... }@point: trtllm.drafting point // when dpAttn { enable_lm_head_tp_in_adp = true; };
    recipe = {
      # Long prompts leave less for drafts at high load.
      speculative = { isl, conc, ... }: {
        method = "mtp";
        algorithm = "MTP";
        steps = if isl >= 4096 && conc >= 128 then 2 else 3;
      };
      client = harness.servingClient {
        backend = "openai";
        more = { trust-remote-code = true; } // deepseek.conversation;
      };
    };
  };

  batch = { conc, ... }: max conc 16;

  # A step has room for one prompt, beside the drafts of all requests and the token after each.
  step = { isl, speculative, ... }@point: max 8192 (
    isl + 256 + (if speculative == null then 0 else (speculative.steps + 1) * batch point)
  );

  # By these the container's MPI takes the step that Slurm started for one of its own. Upstream unsets
  # every name that begins like them, and asks two switches of its own whether to, and whether MPI
  # is to start the server at all.
  outsideSlurm = {
    SLURM_JOB_ID = null;
    SLURM_JOBID = null;
    SLURM_STEP_ID = null;
    SLURM_STEPID = null;
    SLURM_JOB_NODELIST = null;
    SLURM_NODELIST = null;
    SLURM_TASKS_PER_NODE = null;
    SLURM_PROCID = null;
    SLURM_LOCALID = null;
    PMIX_NAMESPACE = null;
    PMIX_RANK = null;
    PMI_RANK = null;
    PMI_SIZE = null;
    PMI_FD = null;
    TRTLLM_DSV4_SANITIZE_SLURM_MPI_ENV = 1;
    TRTLLM_DSV4_USE_MPIRUN = 1;
  };

  # `graphs`: the largest batch that has a CUDA graph.
  serve = { file, crowd, kvFraction, drafting, ... }: { graphs, moreEnv ? { } }:
    trtllm.serve { inherit file; } ({ isl, conc, dpAttn, mode, quantization, ... }@point: {
      args = {
        host = "0.0.0.0";
        backend = "pytorch";
        max_batch_size = batch point;
        max_seq_len = trtllm.longest { least = 8192; } point;
        max_num_tokens = if mode == "eval" then evalContext point else step point;
        custom_tokenizer = "deepseek_v4";
      };
      config = {
        cuda_graph_config = {
          enable_padding = true;
          max_batch_size = graphs point;
        };
        enable_attention_dp = dpAttn;
        print_iter_log = true;
        kv_cache_config = {
          tokens_per_block = 128;
          dtype = quantization.kvCache;
          free_gpu_memory_fraction = if dpAttn then kvFraction else 0.9;
          enable_block_reuse = false;
        };
        stream_interval = 100;
        num_postprocess_workers = 4;
        moe_config = {
          backend = table {
            key = isl <= 1024 && conc >= crowd;
            rows = { "1" = "MEGAMOE_DEEPGEMM"; };
            otherwise = "TRTLLM";
          };
          use_low_precision_moe_combine = true;
        };
      } // when dpAttn {
        attention_dp_config = {
          batching_wait_iters = 30;
          enable_balance = true;
        };
      } // drafting point;
      env = trtllm.newer // outsideSlurm // { NCCL_NVLS_ENABLE = 0; } // moreEnv;
    });

  b200 = { graphs = batch; };

  # The image's own overlap of MLA reads freed memory where a graph of more than 1024 requests is
  # captured: https://github.com/NVIDIA/TensorRT-LLM/pull/15265
  b300 = {
    graphs = point: min (batch point) 1024;
    moreEnv = { TRTLLM_MHC_ENABLE_FUSED_HC = 1; };
  };

  searchOfB300 = fixedSequence [
    { tp = 4; conc = { from = 1; to = 32; }; }
    { tp = 4; ep = 4; dpAttn = true; conc = [ 64 ]; }
    { tp = 8; ep = 8; dpAttn = true; conc = { from = 256; to = 1024; }; }
  ];
in
{
  "dsv4-fp4-b200-trt" = base // plain.recipe // {
    targets = [ "b200-dsv4" ];
    scenarios = fixedSequence [
      { tp = 8; conc = { from = 1; to = 32; }; }
      { tp = 8; ep = 8; dpAttn = true; conc = { from = 32; to = 512; }; }
    ];
    serve = serve plain b200;
  };

  "dsv4-fp4-b200-trt-mtp" = base // mtp.recipe // {
    targets = [ "b200-dsv4" ];
    scenarios = fixedSequence [
      { tp = 8; conc = { from = 1; to = 32; }; }
      { tp = 8; ep = 8; dpAttn = true; conc = { from = 32; to = 256; }; }
    ];
    serve = serve mtp b200;
  };

  "dsv4-fp4-b300-trt" = base // plain.recipe // {
    download = "missing";
    targets = [ "b300" ];
    scenarios = searchOfB300;
    serve = serve plain b300;
  };

  "dsv4-fp4-b300-trt-mtp" = base // mtp.recipe // {
    download = "missing";
    targets = [ "b300" ];
    scenarios = searchOfB300;
    serve = serve mtp b300;
  };
}
