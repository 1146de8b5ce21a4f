# AMD's MI300X nodes. The login node's home is not there on compute nodes, so the workspace is
# copied to each job's own folder; ports are the job's own too.
let
  inherit (import ../lib/words.nix) word jobPort;
in
{
  name = "mi300x-amds";
  labels = [ "mi300x" "cluster:mi300x-amds" ];

  hardware = {
    sku = "mi300x";
    architecture = "gfx942";
    platform = "linux/amd64";
    gpusPerNode = 8;
    # 192 GB, as the maker's data sheet counts them.
    hbmMib = 192 * 1024;
    dramMib = 2321924;
  };

  scheduler = {
    kind = "slurm";
    allocate = { gpus, run, ... }: {
      partition = "compute";
      # One has a full disk, the other lacks its storage.
      exclude = "chi-mi300x-049,chi-mi300x-121";
      gres = "gpu:${toString gpus}";
      cpus-per-task = 256;
      time = 180;
      no-shell = true;
      job-name = run.runner;
    };
    step = { run, ... }: { jobid = run.job; };
  };

  runtime = {
    kind = "pyxis";
    squash = "/raid/hf-hub-cache/runtime-cache/enroot";
    import = "compute";
    options = {
      container-mount-home = true;
      container-writable = true;
      container-remap-root = true;
    };
    workspace = "/workspace/";
  };

  mounts = { run, workspace, ... }: [
    { from = word [ "/tmp/inferencex-" run.job ]; to = workspace; create = true; }
    { from = "/raid/hf-hub-cache/"; to = "/mnt/hf_hub_cache/"; create = true; }
    { from = "/dev/kfd"; to = "/dev/kfd"; }
    { from = "/dev/dri"; to = "/dev/dri"; }
  ];

  port = jobPort 40000 10000;
  env = { port, ... }: {
    PORT = port;
    HF_HUB_CACHE = "/mnt/hf_hub_cache/";
  };
  secrets = [ "HF_TOKEN" ];

  checkpoints = {
    staged = { };
    cache = "/mnt/hf_hub_cache/";
  };

  meter = (import ../lib/meters.nix).amd;

  storage = [
    { path = "/raid/hf-hub-cache"; scope = "node"; access = "read-write"; login = false; }
    { path = "/tmp"; scope = "node"; access = "read-write"; login = false; }
  ];
}
