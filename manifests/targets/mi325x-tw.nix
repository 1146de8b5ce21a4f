# TensorWave's MI325X host: no scheduler, one container with the host's network.
let
  inherit (import ../lib/words.nix) word repeat;
in
{
  name = "mi325x-tw";
  labels = [ "cluster:mi325x-tw" ];

  hardware = {
    sku = "mi325x";
    architecture = "gfx942";
    platform = "linux/amd64";
    gpusPerNode = 8;
    # 256 GB, as the maker's data sheet counts them.
    hbmMib = 256 * 1024;
  };

  scheduler.kind = "none";

  runtime = {
    kind = "docker";
    options = { run, ... }: {
      network = "host";
      name = word [ "bmk-server-" run.runner ];
      device = repeat [ "/dev/kfd" "/dev/dri" ];
      group-add = repeat [ "video" "render" ];
      ipc = "host";
      privileged = true;
      shm-size = "32g";
      ulimit = repeat [ "memlock=-1" "stack=67108864" ];
      security-opt = "seccomp=unconfined";
      cap-add = "SYS_PTRACE";
    };
    workspace = "/workspace/";
  };

  mounts = { run, workspace, ... }: [
    { from = "/home/gharunner/hf_hub_cache/"; to = "/mnt/hf_hub_cache/"; create = true; }
    { from = run.workspace; to = workspace; }
  ];

  port = 8888;
  env = { port, ... }: {
    PORT = port;
    HF_HUB_CACHE = "/mnt/hf_hub_cache/";
    PYTHONPYCACHEPREFIX = "/tmp/pycache/";
    CUDA_DEVICE_ORDER = "PCI_BUS_ID";
  };
  secrets = [ "HF_TOKEN" ];

  checkpoints = {
    staged = { };
    cache = "/mnt/hf_hub_cache/";
  };

  meter = (import ../lib/meters.nix).amd;

  storage = [
    { path = "/home/gharunner"; scope = "node"; access = "read-write"; login = true; }
  ];
}
