# GLM-5.2: its checkpoints, and what is known of them.
let
  family = {
    prefix = "glm5.2";
    revision = "main";
    # Stated until a lock reads them from the checkpoint itself; a pin that contradicts them is an error.
    facts = {
      context = {
        value = 1048576;
        source = "https://github.com/vllm-project/recipes/blob/main/models/zai-org/GLM-5.2.yaml: context_length";
      };
      experts = {
        value = 256;
        source = "https://cookbook.sglang.io/autoregressive/GLM/GLM-5.2: 256 experts, 8 of them at a time";
      };
    };
    # What upstream's acceptance lengths say of its traffic.
    thinking = true;
  };
in
{
  fp8 = family // { repository = "zai-org/GLM-5.2-FP8"; precision = "fp8"; };
  nvfp4 = family // { repository = "nvidia/GLM-5.2-NVFP4"; precision = "fp4"; };

  # Where upstream publishes how SGLang serves it.
  sglangCookbook = {
    repository = "sgl-project/sglang";
    revision = "main";
    path = "docs/src/snippets/configs/zai-org/glm-5.2.jsx";
  };

  # How SGLang reads its reasoning and its calls of tools, which have the form of GLM-4.7's.
  sglangParsers = {
    reasoning-parser = "glm45";
    tool-call-parser = "glm47";
  };

  # AMD's own quantization.
  mxfp4 = family // { repository = "amd/GLM-5.2-MXFP4"; precision = "fp4"; };
}
