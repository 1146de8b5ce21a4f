# Golden acceptance lengths that recipes may inject, as upstream measured and committed them.
#
# A curve belongs to a model, a draft, a method and a way of sampling, never to a model alone.
# Lengths stand by thinking mode, then by the number of draft tokens.
let
  upstream = path: {
    repository = "SemiAnalysisAI/InferenceX";
    revision = "843c6254ff69b567f772f6a5fd97675af3d04431";
    path = "golden_al_distribution/${path}";
  };
in
{
  qwen35Mtp = {
    name = "qwen3.5_mtp.yaml";
    source = upstream "qwen3.5_mtp.yaml";
    model = "qwen3.5-397b-a17b-nvfp4";
    checkpoints = [
      "nvidia/Qwen3.5-397B-A17B-NVFP4"
      "nvidia/Qwen3.5-397B-A17B-NVFP4-V2"
    ];
    method = "mtp";
    lengths = {
      on = { "1" = 1.93; "2" = 2.73; "3" = 3.39; "4" = 3.97; "5" = 4.41; "6" = 4.8; "7" = 5.04; "8" = 5.21; };
      off = { "1" = 1.92; "2" = 2.7; "3" = 3.33; "4" = 3.83; "5" = 4.2; "6" = 4.48; "7" = 4.73; "8" = 4.71; };
    };
  };
}
