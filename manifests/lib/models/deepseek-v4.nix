# DeepSeek-V4-Pro: its checkpoint, what is known of it, and what every recipe says of it.
let
  config = field: "https://huggingface.co/deepseek-ai/DeepSeek-V4-Pro: ${field} of config.json";

  pro = {
    prefix = "dsv4";
    repository = "deepseek-ai/DeepSeek-V4-Pro";
    revision = "main";
    # Stated until a lock reads them from the checkpoint itself; a pin that contradicts them is an error.
    facts = {
      context = { value = 1048576; source = config "max_position_embeddings"; };
      heads = { value = 128; source = config "num_attention_heads"; };
      kvHeads = { value = 1; source = config "num_key_value_heads"; };
      experts = { value = 384; source = config "n_routed_experts"; };
    };
    # What upstream's acceptance lengths say of its traffic.
    thinking = true;
  };
in
{
  # One checkpoint, of FP4 experts and all the rest in FP8. It is called by what the experts are
  # computed in: GPUs that know no FP4 widen them.
  fp4 = pro // { precision = "fp4"; };
  fp8 = pro // { precision = "fp8"; };

  # Where upstream publishes how vLLM serves it.
  vllmCookbook = "models/deepseek-ai/DeepSeek-V4-Pro.yaml";

  # Where upstream publishes how SGLang serves it.
  sglangCookbook = {
    repository = "sgl-project/sglang";
    revision = "main";
    path = "docs/src/snippets/configs/deepseek-ai/deepseek-v4.jsx";
  };

  # How SGLang reads its reasoning and its calls of tools.
  sglangParsers = {
    reasoning-parser = "deepseek-v4";
    tool-call-parser = "deepseekv4";
  };

  # How the serving client writes its prompts where they have to read like a conversation: the
  # checkpoint brings an encoding in place of a chat template.
  conversation = { dsv4 = true; };

  # How vLLM reads the model's prompts and its reasoning.
  vllmReaders = {
    tokenizer-mode = "deepseek_v4";
    reasoning-parser = "deepseek_v4";
  };

  # How vLLM reads its calls of tools.
  vllmTools = {
    tool-call-parser = "deepseek_v4";
    enable-auto-tool-choice = true;
  };
}
