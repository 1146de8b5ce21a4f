# vLLM: how the facts that belong to no engine become its options.
let
  inherit (import ./harness.nix) evalContext;

  address = { port, ... }: {
    host = "0.0.0.0";
    inherit port;
    trust-remote-code = true;
  };

  # vLLM's tensor parallelism lies within each rank of its data parallelism. Attention that is split
  # by data has a rank on each GPU. Any expert parallelism spans them all: the engine takes no number.
  parallelism = { tp, ep, dpAttn, ... }: {
    tensor-parallel-size = if dpAttn then 1 else tp;
    data-parallel-size = if dpAttn then tp else 1;
    enable-expert-parallel = ep > 1;
  };

  precision = { quantization, ... }: {
    quantization = quantization.method;
    kv-cache-dtype = quantization.kvCache;
  };

  # How the model drafts; acceptance is added where a recipe declares one.
  drafting = speculative: {
    method = speculative.method;
    num_speculative_tokens = speculative.steps;
  };

  speculation = { speculative, ... }: {
    speculative-config = if speculative == null then null else drafting speculative;
  };
in
{
  # Makes `serve` of a recipe's own part: a function from the point to { args, env }.
  serve = own: { model, ... }@point:
    let
      mine = own point;
    in
    {
      program = [ "vllm" "serve" model.path ];
      args = address point // parallelism point // precision point // speculation point // mine.args;
      env = mine.env or { };
      ready = "/health";
    };

  # The name under which clients ask for the model.
  named = { model, ... }: { served-model-name = model.name; };

  # A sequence has room for its tokens and for what a chat template adds.
  context = { isl, osl, mode, ... }@point: {
    max-model-len = if mode == "eval" then evalContext point else isl + osl + 256;
  };

  # Reading large weights takes longer than the engine would wait for itself.
  readyWithin = seconds: { VLLM_ENGINE_READY_TIMEOUT_S = seconds; };
}
