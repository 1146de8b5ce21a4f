# Qwen3.5-397B-A17B: its checkpoints, what is known of them, and what every recipe says of it.
let
  family = {
    prefix = "qwen3.5";
    revision = "main";
    # Stated until a lock reads them from the checkpoint itself; a pin that contradicts them is an error.
    facts = {
      context = {
        value = 262144;
        source = "https://cookbook.sglang.io/autoregressive/Qwen/Qwen3.5: natively 262,144 tokens";
      };
      experts = {
        value = 512;
        source = "https://huggingface.co/Qwen/Qwen3.5-397B-A17B: 512 experts, 10 routed and 1 shared";
      };
    };
    # Upstream's traffic leaves thinking as the chat template has it: on.
    thinking = true;
  };
in
{
  fp8 = family // {
    repository = "Qwen/Qwen3.5-397B-A17B-FP8";
    precision = "fp8";
  };

  nvfp4 = family // {
    repository = "nvidia/Qwen3.5-397B-A17B-NVFP4";
    precision = "fp4";
  };

  # The same weights quantized again; the two are never interchangeable.
  nvfp4V2 = family // {
    repository = "nvidia/Qwen3.5-397B-A17B-NVFP4-V2";
    precision = "fp4";
  };

  # AMD's own quantization.
  mxfp4 = family // {
    repository = "amd/Qwen3.5-397B-A17B-MXFP4";
    precision = "fp4";
  };

  # Where upstream publishes how SGLang serves it.
  sglangCookbook = {
    repository = "sgl-project/sglang";
    revision = "main";
    path = "docs/src/snippets/autoregressive/qwen35-deployment.jsx";
  };

  # How SGLang reads the model's reasoning and its tool calls.
  sglangParsers = {
    reasoning-parser = "qwen3";
    tool-call-parser = "qwen3_coder";
  };
}
