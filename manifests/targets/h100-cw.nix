# CoreWeave's H100 nodes. Nothing is staged: checkpoints come through a hub cache that all nodes share.
{
  name = "h100-cw";
  labels = [ "h100" "cluster:h100-cw" ];

  hardware = {
    sku = "h100";
    architecture = "sm_90";
    platform = "linux/amd64";
    gpusPerNode = 8;
    # 80 GB, as the maker's data sheet counts them.
    hbmMib = 80 * 1024;
    dramMib = 1998848;
  };

  scheduler = {
    kind = "slurm";
    allocate = { gpus, run, ... }: {
      partition = "h100";
      gres = "gpu:h100:${toString gpus}";
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
    { path = "/mnt/vast/gharunner"; scope = "shared"; access = "read-write"; login = true; }
  ];
}
