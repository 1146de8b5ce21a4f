# AMD's MI325X nodes. Compilers' caches and ports are the job's own: several jobs share a node.
let
  inherit (import ../lib/words.nix) word jobPort;
in
{
  name = "mi325x-amds";
  labels = [ "mi325x" "cluster:mi325x-amds" ];

  hardware = {
    sku = "mi325x";
    architecture = "gfx942";
    platform = "linux/amd64";
    gpusPerNode = 8;
    # 256 GB, as the maker's data sheet counts them.
    hbmMib = 256 * 1024;
    dramMib = 3091589;
  };

  scheduler = {
    kind = "slurm";
    allocate = { gpus, run, ... }: {
      partition = "compute";
      gres = "gpu:${toString gpus}";
      cpus-per-task = 256;
      time = 480;
      no-shell = true;
      job-name = run.runner;
    };
    step = { run, ... }: { jobid = run.job; };
  };

  runtime = {
    kind = "pyxis";
    squash = "/raid/squash";
    import = "compute";
    options = {
      container-mount-home = true;
      container-writable = true;
      container-remap-root = true;
    };
    workspace = "/workspace/";
  };

  mounts = { run, workspace, ... }: [
    { from = run.workspace; to = workspace; }
    { from = "/raid/hf-hub-cache/"; to = "/mnt/hf_hub_cache/"; create = true; }
    { from = "/dev/kfd"; to = "/dev/kfd"; }
    { from = "/dev/dri"; to = "/dev/dri"; }
  ];

  port = jobPort 40000 10000;
  env = { port, run, ... }: {
    PORT = port;
    HF_HUB_CACHE = "/mnt/hf_hub_cache/";
    XDG_CACHE_HOME = word [ "/tmp/xdg-cache-" run.job ];
    TRITON_CACHE_DIR = word [ "/tmp/triton-cache-" run.job ];
  };
  secrets = [ "HF_TOKEN" ];

  checkpoints = {
    staged = { };
    cache = "/mnt/hf_hub_cache/";
  };

  meter = (import ../lib/meters.nix).amd;

  storage = [
    { path = "/raid"; scope = "node"; access = "read-write"; login = false; }
    { path = "/tmp"; scope = "node"; access = "read-write"; login = false; }
  ];
}
