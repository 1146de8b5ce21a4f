# ATOM, AMD's own engine: how the facts that belong to no engine become its options.
let
  inherit (import ./harness.nix) evalContext;
  inherit (import ./numbers.nix) table when;
  sizes = import ./sizes.nix;

  address = { port, model, ... }: {
    model = model.path;
    server-port = port;
  };

  # Any expert parallelism spans all GPUs of the tensor parallelism: the engine takes no number.
  parallelism = { tp, ep, ... }: {
    tensor-parallel-size = tp;
    enable-expert-parallel = ep > 1;
  };

  precision = { quantization, ... }:
    { kv_cache_dtype = quantization.kvCache; };

  # A depth of one is the engine's own and need not be said.
  speculation = { speculative, ... }:
    if speculative == null then
      { }
    else
      {
        method = speculative.method;
        num-speculative-tokens = table {
          key = speculative.steps;
          rows = { "1" = null; };
          otherwise = speculative.steps;
        };
      };
in
{
  # Makes `serve` of a recipe's own part: a function from the point to { args, env }, and `python`
  # where that is started in another way.
  serve = own: point:
    let
      mine = own point;
    in
    {
      program = (mine.python or [ "python3" ]) ++ [ "-m" "atom.entrypoints.openai_server" ];
      args = address point // parallelism point // precision point // speculation point // mine.args;
      env = mine.env or { };
      ready = "/health";
    };

  # As upstream starts some recipes; why is not said there.
  oneThread = { OMP_NUM_THREADS = 1; };

  # Attention is split by requests, and experts are spread only where it is.
  splitAttention = { ep, dpAttn, ... }: {
    enable-dp-attention = dpAttn;
    enable-expert-parallel = dpAttn && ep > 1;
  };

  # Short answers to short prompts leave the context to the engine, which takes the checkpoint's
  # own; everything else has room to spare.
  context = { isl, osl, ... }: {
    max-model-len = table {
      key = "${toString isl}/${toString osl}";
      rows = { "1024/1024" = null; };
      otherwise = 10240;
    };
  };

  contextOfEvaluations = { mode, ... }@point:
    if mode == "eval" then { max-model-len = evalContext point; } else { };

  # Concurrency counts live session trees, whose branches come in bursts.
  admission = { conc, ... }: { max-num-seqs = 2 * conc; };

  # LMCache keeps evicted KV blocks in the host's memory, `perRank` for each rank.
  lmcache = { perRank }: { kvOffload, ... }: when (kvOffload != null) {
    PYTHONHASHSEED = 0;
    LMCACHE_LOCAL_CPU = "True";
    LMCACHE_MAX_LOCAL_CPU_SIZE = sizes.to "GB" perRank;
    LMCACHE_CHUNK_SIZE = 256;
  };
  connector = { kvOffload, ... }: when (kvOffload != null) {
    kv-transfer-config = { kv_connector = "lmcache_offload"; kv_role = "offload"; };
  };

  # How the names of the engine's metrics begin.
  metrics = "atom:";
}
