# NVIDIA DGX Cloud's B200 nodes. Checkpoints are staged, and clients ask for them by their path.
{
  name = "b200-dgxc";
  labels = [ "b200" "b200-dsv4" "cluster:b200-dgxc" ];

  hardware = {
    sku = "b200";
    architecture = "sm_100";
    platform = "linux/amd64";
    gpusPerNode = 8;
    # 180 GB, as the maker's data sheet counts them.
    hbmMib = 180 * 1024;
    dramMib = 3095781;
  };

  scheduler = {
    kind = "slurm";
    allocate = { gpus, run, ... }: {
      partition = "gpu-2";
      account = "benchmark";
      gres = "gpu:${toString gpus}";
      exclusive = true;
      mem = 0;
      time = 480;
      no-shell = true;
      job-name = run.runner;
    };
    step = { run, ... }: { jobid = run.job; };
  };

  runtime = {
    kind = "pyxis";
    squash = "/home/sa-shared/containers";
    import = "compute";
    options = { no-container-mount-home = true; };
    # One family of images has its engine installed under /workspace, where a mount would hide it.
    workspace = { image, ... }: if builtins.match ".*deepseek-v4-blackwell.*" image != null then "/ix" else "/workspace";
  };

  mounts = { run, workspace, model, ... }: [
    { from = run.workspace; to = workspace; }
    { from = model.path; to = model.path; }
    { from = "/lustre/fsw/gharunners/aiperf-cache"; to = "/aiperf_mmap_cache"; create = true; }
  ];

  port = 8888;
  env = { port, ... }: {
    PORT = port;
    HF_HUB_CACHE = "/mnt/hf_hub_cache/";
    AIPERF_DATASET_MMAP_CACHE_DIR = "/aiperf_mmap_cache";
  };
  secrets = [ "HF_TOKEN" ];

  checkpoints = {
    named = "path";
    staged = {
      "deepseek-ai/DeepSeek-R1-0528" = "/lustre/fsw/models/dsr1-0528-fp8";
      "deepseek-ai/DeepSeek-V4-Pro" = "/lustre/fsw/models/deepseek-v4-pro";
      "moonshotai/Kimi-K3" = "/lustre/fsw/models/Kimi-K3";
      "nvidia/DeepSeek-R1-0528-FP4-V2" = "/scratch/fsw/models/DeepSeek-R1-0528-NVFP4-v2";
      "nvidia/GLM-5.2-NVFP4" = "/lustre/fsw/gharunners/models/GLM-5.2-NVFP4";
      "nvidia/MiniMax-M3-NVFP4" = "/scratch/fsw/models/MiniMax-M3-NVFP4";
      "nvidia/Qwen3.5-397B-A17B-NVFP4" = "/lustre/fsw/models/Qwen3.5-397B-A17B-NVFP4";
      "nvidia/Qwen3.5-397B-A17B-NVFP4-V2" = "/scratch/fsw/models/Qwen3.5-397B-A17B-NVFP4-V2";
      "Qwen/Qwen3.5-397B-A17B-FP8" = "/lustre/fsw/models/Qwen3.5-397B-A17B-FP8";
    };
  };

  meter = (import ../lib/meters.nix).nvidia;

  storage = [
    { path = "/lustre/fsw/models"; scope = "shared"; access = "read-only"; login = true; }
    { path = "/scratch/fsw/models"; scope = "shared"; access = "read-only"; login = true; }
    { path = "/lustre/fsw/gharunners"; scope = "shared"; access = "read-write"; login = true; }
    { path = "/home/sa-shared"; scope = "shared"; access = "read-write"; login = true; }
  ];
}
