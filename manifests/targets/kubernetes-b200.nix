# A Kubernetes cluster with B200 GPUs. Its nodes have a hub cache on their own disks; the checked-out
# repository comes from a volume claim, into which results go as well.
{
  name = "kubernetes-b200";
  labels = [ ];

  hardware = {
    sku = "b200";
    architecture = "sm_100";
    platform = "linux/amd64";
    gpusPerNode = 8;
    # 180 GB, as the maker's data sheet counts them.
    hbmMib = 180 * 1024;
  };

  scheduler = {
    kind = "kubernetes";
    job = {
      metadata.namespace = "benchmarks";
      spec.activeDeadlineSeconds = 4 * 3600;
      spec.ttlSecondsAfterFinished = 7 * 24 * 3600;
    };
  };

  runtime = {
    kind = "kubernetes";
    gpu = "nvidia.com/gpu";
    secret = "recipec";
    pod = {
      nodeSelector."nvidia.com/gpu.product" = "NVIDIA-B200";
      tolerations = [ { key = "nvidia.com/gpu"; operator = "Exists"; effect = "NoSchedule"; } ];
    };
    container.securityContext.capabilities.add = [ "IPC_LOCK" ];
    workspace = "/workspace";
  };

  mounts = { workspace, ... }: [
    { from = "claim:inferencex"; to = workspace; }
    { from = "/var/lib/recipec/hub"; to = "/mnt/hf_hub_cache"; create = true; }
    { from = "memory:32Gi"; to = "/dev/shm"; }
  ];

  port = 8888;
  env = { port, ... }: {
    PORT = port;
    HF_HUB_CACHE = "/mnt/hf_hub_cache";
  };
  secrets = [ "HF_TOKEN" ];

  checkpoints = {
    staged = { };
    cache = "/mnt/hf_hub_cache";
  };

  meter = (import ../lib/meters.nix).nvidia;

  storage = [
    { path = "/var/lib/recipec"; scope = "node"; access = "read-write"; login = false; }
  ];
}
