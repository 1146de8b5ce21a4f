# Qwen3.8-Flash-Next: its checkpoint, what is known of it, and what every recipe says of it.
{
  nvfp4 = {
    prefix = "qwen3.8next";
    repository = "RadixArk/Qwen3.8-Flash-Next-NVFP4";
    revision = "main";
    precision = "fp4";
    # Stated until a lock reads them from the checkpoint itself; a pin that contradicts them is an error.
    facts = {
      context = {
        value = 262144;
        source = "https://github.com/SemiAnalysisAI/InferenceX/pull/2751: measured on traces of at most 256k tokens";
      };
      quantization = {
        value = "modelopt";
        source = "https://github.com/SemiAnalysisAI/InferenceX/pull/2751: quantization_config.quant_method of config.json; `ignore` keeps mtp.* plain";
      };
      weightBytes = {
        value = 126000000000;
        source = "https://github.com/SemiAnalysisAI/InferenceX/pull/2751: 126 GB in 206 shards";
      };
    };
    # Upstream's traffic leaves thinking as the chat template has it: on.
    thinking = true;
  };

  # What upstream has measured of the head's acceptance; beside the recipes until it is committed.
  mtpCurve = {
    name = "qwen3.8next_mtp.yaml";
    method = "mtp";
    yaml = builtins.readFile ../../qwen3.8next/qwen3.8next_mtp.yaml;
  };

  # How SGLang reads the model's reasoning and its tool calls.
  sglangParsers = {
    reasoning-parser = "qwen3";
    tool-call-parser = "qwen3_coder";
  };
}
