# TensorRT-LLM: how the facts that belong to no engine become the options and the file of `trtllm-serve`.
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
      program = [ "trtllm-serve" model.name ];
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
}
