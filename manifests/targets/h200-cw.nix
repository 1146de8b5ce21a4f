# CoreWeave's H200 nodes. Nothing is staged: checkpoints come through a hub cache that all nodes share.
{
  name = "h200-cw";
  labels = [ "h200" "cluster:h200-cw" ];

  hardware = {
    sku = "h200";
    architecture = "sm_90";
    platform = "linux/amd64";
    gpusPerNode = 8;
    # 141 GB, as the maker's data sheet counts them.
    hbmMib = 141 * 1024;
    dramMib = 1998848;
  };

  scheduler = {
    kind = "slurm";
    allocate = { gpus, run, ... }: {
      partition = "h200";
      gres = "gpu:h200:${toString gpus}";
      time = 180;
      no-shell = true;
      job-name = run.runner;
    };
    step = { run, ... }: { jobid = run.job; };
  };

  runtime = {
    kind = "pyxis";
    squash = "/mnt/vast/gharunner/squash";
    import = "compute";
    options = { container-mount-home = true; };
    workspace = "/workspace/";
  };

  mounts = { run, workspace, ... }: [
    { from = run.workspace; to = workspace; }
    { from = "/mnt/vast/gharunner/hf-hub-cache"; to = "/mnt/hf_hub_cache/"; create = true; }
    { from = "/mnt/vast/gharunner/ai-perf-cache"; to = "/aiperf_mmap_cache"; create = true; }
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
    { path = "/mnt/vast/gharunner"; scope = "shared"; access = "read-write"; login = true; }
  ];
}
