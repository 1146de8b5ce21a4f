# Golden acceptance-length curves, as upstream measured and committed them: which files there are.
# What a file says is read from it; the lock pins its content.
let
  committed = name: {
    inherit name;
    source = {
      repository = "SemiAnalysisAI/InferenceX";
      revision = "843c6254ff69b567f772f6a5fd97675af3d04431";
      path = "golden_al_distribution/${name}";
    };
  };
in
{
  deepseekV4Mtp = committed "dsv4_mtp.yaml";
  glm52Mtp = committed "glm5.2_mtp.yaml";
  kimiK3DsparkProbabilistic = committed "kimik3_dspark_probabilistic_sample_method_block_rejection_sample_method.yaml";
  minimaxM3Eagle3Gqa = committed "minimaxm3_eagle3_gqa.yaml";
  qwen35Mtp = committed "qwen3.5_mtp.yaml";
}
