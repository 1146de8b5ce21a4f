# NVIDIA's B300 nodes. What is staged is read-only; anything else is downloaded beside it.
let
  inherit (import ../lib/words.nix) word;
in
{
  name = "b300-nv";
  labels = [ "b300" "b300-p1" "cluster:b300-nv" ];

  hardware = {
    sku = "b300";
    architecture = "sm_103";
    platform = "linux/amd64";
    gpusPerNode = 8;
    # 288 GB, as the maker's data sheet counts them.
    hbmMib = 288 * 1024;
    dramMib = 2964436;
  };

  scheduler = {
    kind = "slurm";
    allocate = { gpus, run, ... }: {
      partition = "batch_1";
      account = "benchmark";
      N = 1;
      gres = "gpu:${toString gpus}";
      exclusive = true;
      mem = 0;
      time = 480;
      no-shell = true;
      job-name = run.runner;
    };
    step = { run, ... }: {
      jobid = run.job;
      mpi = "none";
    };
  };

  runtime = {
    kind = "pyxis";
    squash = "/data/squash";
    # The shared file systems refuse what unpacking an image needs, so the head node's disk does it.
    import = "login";
    options = {
      no-container-mount-home = true;
      container-remap-root = true;
    };
    # Some images have their engine installed under /workspace, where a mount would hide it.
    workspace = { image, ... }:
      if builtins.match ".*(deepseek-v4-blackwell|deepseek-v4-bw-ultra|deepseek-v4-b300|sglang-b300).*" image != null
      then "/ix"
      else "/workspace";
  };

  mounts = { run, workspace, ... }: [
    { from = run.workspace; to = workspace; }
    { from = "/scratch/models/"; to = "/scratch/models/"; }
    { from = "/data/models/"; to = "/data/models/"; create = true; }
  ];

  port = 8888;
  env = { port, run, ... }: {
    PORT = port;
    HF_HUB_CACHE = word [ run.home "/.cache/huggingface" ];
  };
  secrets = [ "HF_TOKEN" ];

  checkpoints = {
    staged = {
      "deepseek-ai/DeepSeek-R1-0528" = "/scratch/models/DeepSeek-R1-0528";
      "deepseek-ai/DeepSeek-V4-Flash" = "/scratch/models/DeepSeek-V4-Flash";
      "deepseek-ai/DeepSeek-V4-Pro" = "/scratch/models/DeepSeek-V4-Pro";
      "deepseek-ai/DeepSeek-V4-Pro-0813" = "/scratch/models/DeepSeek-V4-Pro-0813";
      "MiniMaxAI/MiniMax-M2.5" = "/scratch/models/MiniMax-M2.5";
      "MiniMaxAI/MiniMax-M2.7" = "/scratch/models/MiniMax-M2.7";
      "MiniMaxAI/MiniMax-M3" = "/scratch/models/MiniMax-M3";
      "moonshotai/Kimi-K2.5" = "/scratch/models/Kimi-K2.5";
      "moonshotai/Kimi-K2.6" = "/scratch/models/Kimi-K2.6";
      "moonshotai/Kimi-K3" = "/scratch/models/Kimi-K3";
      "nvidia/DeepSeek-R1-0528-NVFP4-v2" = "/scratch/models/DeepSeek-R1-0528-NVFP4-v2";
      "nvidia/GLM-5-NVFP4" = "/scratch/models/GLM-5-NVFP4";
      "nvidia/Kimi-K2.5-NVFP4" = "/scratch/models/Kimi-K2.5-NVFP4";
      "nvidia/Kimi-K2.6-NVFP4" = "/scratch/models/Kimi-K2.6-NVFP4";
      "nvidia/MiniMax-M2.5-NVFP4" = "/scratch/models/MiniMax-M2.5-NVFP4";
      "nvidia/MiniMax-M2.7-NVFP4" = "/scratch/models/MiniMax-M2.7-NVFP4";
      "nvidia/MiniMax-M3-NVFP4" = "/scratch/models/MiniMax-M3-NVFP4";
      "nvidia/Qwen3.5-397B-A17B-NVFP4" = "/scratch/models/Qwen3.5-397B-A17B-NVFP4";
      "nvidia/Qwen3.5-397B-A17B-NVFP4-V2" = "/scratch/models/Qwen3.5-397B-A17B-NVFP4-V2";
      "openai/gpt-oss-120b" = "/scratch/models/gpt-oss-120b";
      "Qwen/Qwen3.5-397B-A17B" = "/scratch/models/Qwen3.5-397B-A17B";
      "Qwen/Qwen3.5-397B-A17B-FP8" = "/scratch/models/Qwen3.5-397B-A17B-FP8";
      "zai-org/GLM-5-FP8" = "/scratch/models/GLM-5-FP8";
      "zai-org/GLM-5.1" = "/scratch/models/GLM-5.1";
    };
    # Where a checkpoint that nobody staged is put, under the last part of its name.
    directory = "/data/models";
  };

  meter = (import ../lib/meters.nix).nvidia;

  storage = [
    { path = "/scratch/models"; scope = "shared"; access = "read-only"; login = true; }
    { path = "/data/models"; scope = "shared"; access = "read-write"; login = true; }
    { path = "/data/squash"; scope = "shared"; access = "read-write"; login = true; }
  ];
}
