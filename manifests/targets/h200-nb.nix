# Nebius' H200 nodes. The container step allocates by itself, pulls the image directly and keeps
# the container under a name: the image's, and the account's that the runners work under.
let
  named = builtins.replaceStrings [ "/" ":" "@" "#" ] [ "_" "_" "_" "_" ];
in
{
  name = "h200-nb";
  labels = [ "h200" ];

  hardware = {
    sku = "h200";
    architecture = "sm_90";
    platform = "linux/amd64";
    gpusPerNode = 8;
    # 141 GB, as the maker's data sheet counts them.
    hbmMib = 141 * 1024;
    dramMib = 1472512;
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
    options = { image, ... }: {
      container-name = "${named image}-runner";
      container-remap-root = true;
      container-writable = true;
      container-mount-home = true;
    };
    workspace = "/workspace/";
  };

  mounts = { run, workspace, ... }: [
    { from = run.workspace; to = workspace; }
    { from = "/mnt/data/gharunners/hf-hub-cache/"; to = "/mnt/hf_hub_cache/"; create = true; }
    { from = "/mnt/data/gharunners/ai-perf-cache"; to = "/aiperf_mmap_cache"; create = true; }
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
    { path = "/mnt/data/gharunners"; scope = "shared"; access = "read-write"; login = false; }
  ];
}
