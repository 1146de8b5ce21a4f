# nscale's B200 nodes. Checkpoints are staged on the disk of each compute node, which the login node
# does not see: what is called /scratch there is another file system.
{
  name = "b200-nscale";
  labels = [ "cluster:b200-nscale" ];

  hardware = {
    sku = "b200";
    architecture = "sm_100";
    platform = "linux/amd64";
    gpusPerNode = 8;
    # 180 GB, as the maker's data sheet counts them.
    hbmMib = 180 * 1024;
    dramMib = 2063920;
  };

  scheduler = {
    kind = "slurm";
    allocate = { gpus, run, ... }: {
      partition = "batch_1";
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
    squash = "/data/home/sa-shared/containers";
    import = "compute";
    options = { no-container-mount-home = true; };
    workspace = "/workspace";
  };

  mounts = { run, workspace, model, ... }: [
    { from = run.workspace; to = workspace; }
    { from = model.path; to = model.path; readonly = true; }
    { from = "/data/home/sa-shared/gharunners/hf-hub-cache"; to = "/mnt/hf_hub_cache"; create = true; }
    { from = "/data/home/sa-shared/gharunners/aiperf-cache"; to = "/aiperf_mmap_cache"; create = true; }
  ];

  port = 8888;
  env = { port, ... }: {
    PORT = port;
    HF_HUB_CACHE = "/mnt/hf_hub_cache";
    AIPERF_DATASET_MMAP_CACHE_DIR = "/aiperf_mmap_cache";
  };
  secrets = [ "HF_TOKEN" ];

  # Nothing may be downloaded into /scratch, and a shared folder that several nodes download into
  # at once gave stale file handles: a checkpoint is staged here or has no place.
  checkpoints = {
    named = "path";
    staged = {
      "RadixArk/Qwen3.8-Flash-Next-NVFP4" = "/scratch/models/Qwen3.8-Flash-Next-NVFP4";
    };
  };

  meter = (import ../lib/meters.nix).nvidia;

  storage = [
    { path = "/scratch/models"; scope = "node"; access = "read-only"; login = false; }
    { path = "/data/home/sa-shared"; scope = "shared"; access = "read-write"; login = true; }
  ];
}
