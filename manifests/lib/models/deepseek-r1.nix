# DeepSeek-R1-0528: its checkpoints, and what is known of them.
let
  family = {
    prefix = "dsr1";
    revision = "main";
    # Stated until a lock reads them from the checkpoint itself; a pin that contradicts them is an error.
    facts = {
      context = {
        value = 163840;
        source = "https://huggingface.co/deepseek-ai/DeepSeek-R1-0528: max_position_embeddings of config.json";
      };
      experts = {
        value = 256;
        source = "https://huggingface.co/deepseek-ai/DeepSeek-R1-0528: n_routed_experts of config.json";
      };
    };
    thinking = true;
  };
in
{
  fp8 = family // { repository = "deepseek-ai/DeepSeek-R1-0528"; precision = "fp8"; };
  nvfp4 = family // { repository = "nvidia/DeepSeek-R1-0528-FP4-V2"; precision = "fp4"; };

  # AMD's quantization, and the preview that came before it.
  mxfp4 = family // { repository = "amd/DeepSeek-R1-0528-MXFP4"; precision = "fp4"; };
  mxfp4Preview = family // { repository = "amd/DeepSeek-R1-0528-MXFP4-Preview"; precision = "fp4"; };
}
