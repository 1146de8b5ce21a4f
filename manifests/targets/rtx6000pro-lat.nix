# A host with RTX PRO 6000 GPUs: no scheduler, one container with the host's network.
let
  inherit (import ../lib/words.nix) word repeat;
  join = builtins.concatStringsSep;
in
{
  name = "rtx6000pro-lat";
  labels = [ "rtx6000pro" "cluster:rtx6000pro-lat" ];

  hardware = {
    sku = "rtx6000pro";
    architecture = "sm_120";
    platform = "linux/amd64";
    gpusPerNode = 8;
    # 96 GB, as the maker's data sheet counts them.
    hbmMib = 96 * 1024;
    dramMib = 1500000;
  };

  scheduler.kind = "none";

  runtime = {
    kind = "docker";
    options = { gpus, run, ... }: {
      pull = "missing";
      name = word [ "bmk-server-" run.runner ];
      runtime = "nvidia";
      inherit gpus;
      network = "host";
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
    { from = "/var/lib/inferencex/hf-hub-cache"; to = "/mnt/hf_hub_cache/"; create = true; }
    { from = run.workspace; to = workspace; }
  ];

  port = 8888;
  env = { gpus, port, ... }: {
    PORT = port;
    HF_HUB_CACHE = "/mnt/hf_hub_cache/";
    PYTHONPYCACHEPREFIX = "/tmp/pycache/";
    CUDA_DEVICE_ORDER = "PCI_BUS_ID";
    CUDA_VISIBLE_DEVICES = join "," (builtins.genList toString gpus);
    # The host has no InfiniBand.
    NCCL_IB_DISABLE = 1;
  };
  secrets = [ "HF_TOKEN" ];

  checkpoints = {
    staged = { };
    cache = "/mnt/hf_hub_cache/";
  };

  meter = (import ../lib/meters.nix).nvidia;

  storage = [
    { path = "/var/lib/inferencex"; scope = "node"; access = "read-write"; login = true; }
  ];
}
