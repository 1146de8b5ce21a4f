# TensorRT-LLM: how the facts that belong to no engine become the options and the file of `trtllm-serve`.
let
  inherit (import ./harness.nix) evalContext;
  inherit (import ./numbers.nix) max multiples table when;
in
{
  # Makes `serve` of a recipe's own part: a function from the point to { args, env, config }, where
  # `config` is the engine's configuration as a value, written to `file` before it starts.
  serve = { file }: own: { port, model, tp, ep, ... }@point:
    let
      mine = own point;
    in
    {
      wrappers = [
        {
          program = [ "mpirun" ];
          args = [
            { n = 1; }
            { oversubscribe = true; }
            { allow-run-as-root = true; }
          ];
        }
      ];
      program = [ "trtllm-serve" model.path ];
      args = {
        inherit port;
        trust_remote_code = true;
        tp_size = tp;
        ep_size = ep;
        extra_llm_api_options = file;
      } // mine.args;
      env = mine.env or { };
      files.${file}.yaml = mine.config;
      ready = "/health";
    };

  # The longest sequence: what a point needs, with room for a chat template, and no less than `least`.
  longest = { least ? 0 }: { isl, osl, mode, ... }@point:
    if mode == "eval" then evalContext point else max (isl + osl + 256) least;

  # As upstream starts its newer recipes; why is not said there.
  newer = {
    TRTLLM_SERVER_DISABLE_GC = 1;
    TRTLLM_WORKER_DISABLE_GC = 1;
    NCCL_GRAPH_MIXING_SUPPORT = 0;
    MIMALLOC_PURGE_DELAY = 0;
    PYTORCH_CUDA_ALLOC_CONF = "expandable_segments:True";
  };

  # Drafting by so many layers of the model itself, as older recipes say it.
  speculation = { speculative, ... }: {
    speculative_config = {
      decoding_type = speculative.algorithm;
      num_nextn_predict_layers = speculative.steps;
    };
  };

  # Drafting by the model's own layers, or by a model of its own.
  drafting = { speculative, ... }: {
    speculative_config = {
      decoding_type = speculative.algorithm;
      max_draft_len = speculative.steps;
    } // when (speculative.draft != null) { speculative_model = speculative.draftPath; };
  };

  # CUDA graphs of the pieces between attentions: each is captured for a few numbers of tokens, and
  # a step is padded to the next of them.
  piecewiseGraphs = tokens: {
    torch_compile_config = {
      capture_num_tokens = tokens;
      enable_piecewise_cuda_graph = true;
    };
  };

  # Powers of two up to 128, then every multiple of 256, so far as a step may have so many tokens.
  captures = maxNumTokens: [ 1 2 4 8 16 32 64 128 ] ++ multiples 256 maxNumTokens;

  # As `captures`, and the largest step there is where it is not a multiple itself.
  capturesToTheEnd = maxNumTokens:
    let
      rest = maxNumTokens - maxNumTokens / 256 * 256;
    in
    [ 1 2 4 8 16 32 64 128 ]
    ++ multiples 256 maxNumTokens
    ++ table { key = rest; rows = { "0" = [ ]; }; otherwise = [ maxNumTokens ]; };
}
