# Mooncake keeps KV blocks in the host's memory, a segment for each rank, and a master knows them all.
let
  inherit (import ./words.nix) word portAfter;
  sizes = import ./sizes.nix;

  config = "./results/mooncake_config.json";
  masterPort = port: portAfter 12000 port;
  localBuffer = sizes.size "rank" "GiB" 4;
in
{
  # What a server has with it: its environment, its file, what is installed first, and the master
  # beside it. A segment is of each rank; the store's `GB` are GiB. A lease is how long a block that
  # was found stays where it is.
  store = { version, segment, device ? "", highWatermark, lease ? null, env ? { } }: { port, workspace, ... }: {
    env = {
      MOONCAKE_CONFIG_PATH = "${workspace}/results/mooncake_config.json";
      MC_SLICE_SIZE = 1048576;
      MC_WORKERS_PER_CTX = 4;
      MC_ENABLE_DEST_DEVICE_AFFINITY = 1;
    } // env;
    files.${config}.json = {
      mode = "embedded";
      metadata_server = "P2PHANDSHAKE";
      master_server_address = word [ "127.0.0.1:" (masterPort port) ];
      global_segment_size = word [ (sizes.amount segment) "GB" ];
      local_buffer_size = word [ (sizes.amount localBuffer) "GB" ];
      protocol = "rdma";
      device_name = device;
      enable_offload = false;
    };
    tools = [
      {
        program = [ "python3" "-m" "pip" "install" "mooncake-transfer-engine-cuda13==${version}" ];
        args = { quiet = true; no-cache-dir = true; no-deps = true; force-reinstall = true; };
        env.PIP_BREAK_SYSTEM_PACKAGES = 1;
      }
    ];
    beside = [
      {
        role = "kv-store";
        port = masterPort port;
        program = [ "mooncake_master" ];
        args = {
          port = masterPort port;
          eviction_high_watermark_ratio = highWatermark;
          eviction_ratio = "0.10";
          default_kv_lease_ttl = lease;
        };
      }
    ];
  };

  # What each rank has beside its segment.
  inherit localBuffer;
}
