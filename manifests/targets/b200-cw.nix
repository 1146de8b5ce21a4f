# CoreWeave's B200 nodes. Nothing is staged: checkpoints come through the node's own hub cache.
{
  name = "b200-cw";
  labels = [ "b200" ];

  hardware = {
    sku = "b200";
    architecture = "sm_100";
    platform = "linux/amd64";
    gpusPerNode = 8;
    # 180 GB, as the maker's data sheet counts them.
    hbmMib = 180 * 1024;
  };

  scheduler = {
    kind = "slurm";
    allocate = { gpus, run, ... }: {
      partition = "b200";
      gres = "gpu:b200:${toString gpus}";
      time = 180;
      no-shell = true;
      job-name = run.runner;
    };
    step = { run, ... }: { jobid = run.job; };
  };

  runtime = {
    kind = "pyxis";
    squash = "/tmp/gharunner/squash";
    import = "compute";
    options = { container-mount-home = true; };
    # One family of images has its engine installed under /workspace, where a mount would hide it.
    workspace = { image, ... }: if builtins.match ".*deepseek-v4-blackwell.*" image != null then "/ix" else "/workspace";
  };

  mounts = { run, workspace, ... }: [
    { from = run.workspace; to = workspace; }
    { from = "/tmp/gharunner/hf-hub-cache"; to = "/mnt/hf_hub_cache/"; create = true; }
  ];

  port = 8888;
  env = { port, ... }: {
    PORT = port;
    HF_HUB_CACHE = "/mnt/hf_hub_cache/";
  };
  secrets = [ "HF_TOKEN" ];

  checkpoints = {
    staged = { };
    cache = "/mnt/hf_hub_cache/";
  };

  meter = (import ../lib/meters.nix).nvidia;

  storage = [
    { path = "/tmp/gharunner"; scope = "node"; access = "read-write"; login = false; }
  ];
}
