# NVIDIA DGX Cloud's H200 nodes. Nothing is staged for one node: checkpoints come through a shared hub cache.
{
  name = "h200-dgxc-slurm";
  labels = [ "h200" "h200-dgxc" "cluster:h200-dgxc" ];

  hardware = {
    sku = "h200";
    architecture = "sm_90";
    platform = "linux/amd64";
    gpusPerNode = 8;
    # 141 GB, as the maker's data sheet counts them.
    hbmMib = 141 * 1024;
    dramMib = 1471356;
  };

  scheduler = {
    kind = "slurm";
    allocate = { gpus, run, ... }: {
      partition = "main";
      account = "sa-shared";
      gres = "gpu:${toString gpus}";
      exclusive = true;
      time = 180;
      no-shell = true;
      job-name = run.runner;
    };
    step = { run, ... }: { jobid = run.job; };
  };

  runtime = {
    kind = "pyxis";
    squash = "/data/containers";
    import = "compute";
    options = {
      no-container-mount-home = true;
      container-remap-root = true;
    };
    # One family of images has its engine installed under /workspace, where a mount would hide it.
    workspace = { image, ... }: if builtins.match ".*deepseek-v4-hopper.*" image != null then "/ix/" else "/workspace/";
  };

  mounts = { run, workspace, ... }: [
    { from = run.workspace; to = workspace; }
    { from = "/models/gharunners/hf-hub-cache"; to = "/mnt/hf_hub_cache/"; create = true; }
    { from = "/home/sa-shared/gharunners/ai-perf-cache"; to = "/aiperf_mmap_cache"; create = true; }
  ];

  port = 8888;
  env = { port, ... }: {
    PORT = port;
    HF_HUB_CACHE = "/mnt/hf_hub_cache/";
    AIPERF_DATASET_MMAP_CACHE_DIR = "/aiperf_mmap_cache";
  };
  secrets = [ "HF_TOKEN" ];

  checkpoints = {
    staged = { };
    cache = "/mnt/hf_hub_cache/";
  };

  meter = (import ../lib/meters.nix).nvidia;

  storage = [
    { path = "/data/containers"; scope = "shared"; access = "read-write"; login = true; }
    { path = "/models/gharunners"; scope = "shared"; access = "read-write"; login = true; }
    { path = "/home/sa-shared"; scope = "shared"; access = "read-write"; login = true; }
  ];
}
