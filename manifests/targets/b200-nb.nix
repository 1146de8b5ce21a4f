# Nebius' B200 nodes. The container step allocates by itself and pulls the image directly.
{
  name = "b200-nb";
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
    step = { gpus, run, ... }: {
      partition = "main";
      gres = "gpu:${toString gpus}";
      exclusive = true;
      job-name = run.runner;
    };
  };

  runtime = {
    kind = "pyxis";
    options = {
      no-container-mount-home = true;
      container-remap-root = true;
      container-writable = true;
    };
    workspace = "/workspace";
  };

  mounts = { run, workspace, ... }: [
    { from = run.workspace; to = workspace; }
    { from = "/mnt/data/gharunners/hf-hub-cache/"; to = "/mnt/hf_hub_cache/"; create = true; }
  ];

  port = 8888;
  env = { port, ... }: {
    PORT = port;
    HF_HUB_CACHE = "/mnt/hf_hub_cache/";
    # The only interface that UCX may use here.
    UCX_NET_DEVICES = "eth0";
  };
  secrets = [ "HF_TOKEN" ];

  checkpoints = {
    staged = { };
    cache = "/mnt/hf_hub_cache/";
  };

  meter = (import ../lib/meters.nix).nvidia;

  storage = [
    { path = "/mnt/data/gharunners"; scope = "shared"; access = "read-write"; login = false; }
  ];
}
