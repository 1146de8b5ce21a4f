# ATOM, AMD's own engine: how the facts that belong to no engine become its options.
let
  inherit (import ./harness.nix) evalContext;
  inherit (import ./numbers.nix) table;

  address = { port, model, ... }: {
    model = model.name;
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
  # Makes `serve` of a recipe's own part: a function from the point to { args, env }.
  serve = own: point:
    let
      mine = own point;
    in
    {
      program = [ "python3" "-m" "atom.entrypoints.openai_server" ];
      args = address point // parallelism point // precision point // speculation point // mine.args;
      # As upstream starts it; why is not said there.
      env = { OMP_NUM_THREADS = 1; } // (mine.env or { });
      ready = "/health";
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
}
