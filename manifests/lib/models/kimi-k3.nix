# Kimi-K3: its checkpoint, the draft model, and what is known of them.
{
  mxfp4 = {
    prefix = "kimik3";
    repository = "moonshotai/Kimi-K3";
    revision = "main";
    precision = "fp4";
    # Stated until a lock reads them from the checkpoint itself; a pin that contradicts them is an error.
    facts = {
      context = {
        value = 1048576;
        source = "https://github.com/vllm-project/recipes/blob/main/models/moonshotai/Kimi-K3.yaml: context_length";
      };
      experts = {
        value = 896;
        source = "https://github.com/vllm-project/recipes/blob/main/models/moonshotai/Kimi-K3.yaml: 896 routed experts, 16 of them at a time";
      };
    };
    # What upstream's acceptance lengths say of its traffic.
    thinking = true;
  };

  # Where upstream publishes how vLLM serves it.
  vllmCookbook = "models/moonshotai/Kimi-K3.yaml";

  # How vLLM reads its reasoning and its calls of tools.
  vllmReaders = {
    reasoning-parser = "kimi_k3";
    tool-call-parser = "kimi_k3";
    enable-auto-tool-choice = true;
  };

  # The draft model.
  dspark = { repository = "Inferact/Kimi-K3-DSpark"; revision = "main"; };
}
