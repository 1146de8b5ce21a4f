# NVIDIA DGX Cloud's H100 nodes. Nothing is staged: checkpoints come through a shared hub cache.
{
  name = "h100-dgxc-slurm";
  labels = [ "h100" "cluster:h100-dgxc" ];

  hardware = {
    sku = "h100";
    architecture = "sm_90";
    platform = "linux/amd64";
    gpusPerNode = 8;
    # 80 GB, as the maker's data sheet counts them.
    hbmMib = 80 * 1024;
    dramMib = 2063837;
  };

  scheduler = {
    kind = "slurm";
    allocate = { gpus, run, ... }: {
      partition = "hpc-gpu-1";
      account = "customer";
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
    squash = "/mnt/nfs/lustre/containers";
    import = "compute";
    options = { no-container-mount-home = true; };
    workspace = "/workspace/";
  };

  mounts = { run, workspace, ... }: [
    { from = run.workspace; to = workspace; }
    { from = "/mnt/nfs/sa-shared/gharunners/hf-hub-cache/"; to = "/mnt/hf_hub_cache/"; create = true; }
    { from = "/mnt/nfs/sa-shared/gharunners/ai-perf-cache"; to = "/aiperf_mmap_cache"; create = true; }
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
    { path = "/mnt/nfs/lustre/containers"; scope = "shared"; access = "read-write"; login = true; }
    { path = "/mnt/nfs/sa-shared/gharunners"; scope = "shared"; access = "read-write"; login = true; }
  ];
}
