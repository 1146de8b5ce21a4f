# MiniMax-M3: its checkpoints, the draft model, and what is known of them.
let
  family = {
    prefix = "minimaxm3";
    revision = "main";
    # Stated until a lock reads them from the checkpoint itself; a pin that contradicts them is an error.
    facts.context = {
      value = 524288;
      source = "https://github.com/vllm-project/recipes/blob/main/models/MiniMaxAI/MiniMax-M3.yaml: max_position_embeddings of config.json";
    };
    # What upstream's acceptance lengths say of its traffic.
    thinking = true;
  };
in
{
  mxfp8 = family // { repository = "MiniMaxAI/MiniMax-M3-MXFP8"; precision = "fp8"; };
  nvfp4 = family // { repository = "nvidia/MiniMax-M3-NVFP4"; precision = "fp4"; };

  # AMD's own quantization.
  mxfp4 = family // { repository = "amd/MiniMax-M3-MXFP4"; precision = "fp4"; };

  # Where upstream publishes how vLLM serves it.
  vllmCookbook = "models/MiniMaxAI/MiniMax-M3.yaml";

  # How vLLM reads its calls of tools.
  vllmTools = {
    tool-call-parser = "minimax_m3";
    enable-auto-tool-choice = true;
  };

  # The draft model with grouped queries, whose KV cache is a sixteenth of the other's.
  eagle3Gqa = { repository = "Inferact/MiniMax-M3-EAGLE3-GQA"; revision = "main"; };
}
