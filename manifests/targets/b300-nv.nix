# NVIDIA's B300 nodes. What is staged is read-only; anything else is downloaded beside it.
let
  inherit (import ../lib/words.nix) word;
in
{
  name = "b300-nv";
  labels = [ "b300" "b300-p1" "cluster:b300-nv" ];

  hardware = {
    sku = "b300";
    architecture = "sm_103";
    platform = "linux/amd64";
    gpusPerNode = 8;
    dramMib = 2964436;
  };

  scheduler = {
    kind = "slurm";
    allocate = { gpus, run, ... }: {
      partition = "batch_1";
      account = "benchmark";
      N = 1;
      gres = "gpu:${toString gpus}";
      exclusive = true;
      mem = 0;
      time = 480;
      no-shell = true;
      job-name = run.runner;
    };
    step = { run, ... }: {
      jobid = run.job;
      mpi = "none";
    };
  };

  runtime = {
    kind = "pyxis";
    squash = "/data/squash";
    # The shared file systems refuse what unpacking an image needs, so the head node's disk does it.
    import = "login";
    options = {
      no-container-mount-home = true;
      container-remap-root = true;
    };
    workspace = "/workspace";
  };

  mounts = { run, workspace, ... }: [
    { from = run.workspace; to = workspace; }
    { from = "/scratch/models/"; to = "/scratch/models/"; }
    { from = "/data/models/"; to = "/data/models/"; create = true; }
  ];

  port = 8888;
  env = { port, run, ... }: {
    PORT = port;
    HF_HUB_CACHE = word [ run.home "/.cache/huggingface" ];
  };
  secrets = [ "HF_TOKEN" ];

  checkpoints = {
    staged = {
      "nvidia/Qwen3.5-397B-A17B-NVFP4" = "/scratch/models/Qwen3.5-397B-A17B-NVFP4";
      "nvidia/Qwen3.5-397B-A17B-NVFP4-V2" = "/scratch/models/Qwen3.5-397B-A17B-NVFP4-V2";
    };
    # Where a checkpoint that nobody staged is put, under the last part of its name.
    directory = "/data/models";
  };

  meter = (import ../lib/meters.nix).nvidia;

  storage = [
    { path = "/scratch/models"; scope = "shared"; access = "read-only"; login = true; }
    { path = "/data/models"; scope = "shared"; access = "read-write"; login = true; }
    { path = "/data/squash"; scope = "shared"; access = "read-write"; login = true; }
  ];
}
