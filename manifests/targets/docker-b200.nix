# A plain Docker host with B200 GPUs: no scheduler, one container, a hub cache on its own disk.
{
  name = "docker-b200";
  labels = [ ];

  hardware = {
    sku = "b200";
    architecture = "sm_100";
    platform = "linux/amd64";
    gpusPerNode = 8;
    # 180 GB, as the maker's data sheet counts them.
    hbmMib = 180 * 1024;
  };

  scheduler.kind = "none";

  runtime = {
    kind = "docker";
    options = { gpus, ... }: {
      inherit gpus;
      network = "host";
      ipc = "host";
      shm-size = "32g";
    };
    workspace = "/workspace";
  };

  mounts = { run, workspace, ... }: [
    { from = run.workspace; to = workspace; }
    { from = "/var/lib/recipec/hub"; to = "/mnt/hf_hub_cache"; create = true; }
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
    { path = "/var/lib/recipec"; scope = "node"; access = "read-write"; login = true; }
  ];
}
