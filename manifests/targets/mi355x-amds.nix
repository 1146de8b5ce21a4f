# AMD's MI355X nodes. Large checkpoints come from the shared cache, the rest from each node's own.
let
  shared = [
    "MiniMaxAI/MiniMax-M3.*"
    "amd/MiniMax-M3.*"
  ];
  # DeepSeek-V4-Pro is in the shared cache for the engines that were set up with it.
  sharedFor = { vllm = [ "deepseek-ai/DeepSeek-V4-Pro" ]; atom = [ "deepseek-ai/DeepSeek-V4-Pro" ]; };
  isShared = { model, engine, ... }:
    builtins.any (pattern: builtins.match pattern model.repository != null) (shared ++ (sharedFor.${engine} or [ ]));
in
{
  name = "mi355x-amds";
  labels = [ "mi355x" "cluster:mi355x-amds" ];

  hardware = {
    sku = "mi355x";
    architecture = "gfx950";
    platform = "linux/amd64";
    gpusPerNode = 8;
    # 288 GB, as the maker's data sheet counts them.
    hbmMib = 288 * 1024;
    dramMib = 3095781;
  };

  scheduler = {
    kind = "slurm";
    allocate = { gpus, run, ... }: {
      partition = "compute";
      gres = "gpu:${toString gpus}";
      exclusive = true;
      cpus-per-task = 128;
      time = 500;
      no-shell = true;
      job-name = run.runner;
    };
    step = { run, ... }: { jobid = run.job; };
  };

  runtime = {
    kind = "pyxis";
    squash = "/var/lib/squash";
    import = "compute";
    options = { engine, ... }: {
      # Files of the user's home hide what SGLang's and ATOM's images bring.
      container-mount-home = engine != "sglang" && engine != "atom";
      container-writable = true;
      container-remap-root = true;
    };
    workspace = "/workspace/";
  };

  mounts = { run, workspace, ... }@given: [
    { from = run.workspace; to = workspace; }
    {
      from = if isShared given then "/it-share/hf-hub-cache/" else "/var/lib/hf-hub-cache/";
      to = "/mnt/hf_hub_cache/";
      create = true;
    }
    { from = "/it-share/aiperf-cache/"; to = "/aiperf_mmap_cache"; create = true; }
  ];

  # A node belongs to one job, so the port may be the same in all.
  port = 8888;
  env = { port, ... }: {
    PORT = port;
    HF_HUB_CACHE = "/mnt/hf_hub_cache/";
    AIPERF_DATASET_MMAP_CACHE_DIR = "/aiperf_mmap_cache";
    VLLM_CACHE_ROOT = "/it-share/gharunners/.cache/vllm";
  };
  secrets = [ "HF_TOKEN" ];

  checkpoints = {
    staged = { };
    cache = "/mnt/hf_hub_cache/";
  };

  meter = (import ../lib/meters.nix).amd;

  storage = [
    { path = "/var/lib/hf-hub-cache"; scope = "node"; access = "read-write"; login = false; }
    { path = "/var/lib/squash"; scope = "node"; access = "read-write"; login = false; }
    { path = "/it-share"; scope = "shared"; access = "read-write"; login = true; }
  ];
}
