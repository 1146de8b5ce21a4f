# LMCache keeps KV blocks in the host's memory: a server for each rank, which its engine talks to.
let
  sizes = import ./sizes.nix;

  ports = { tp, ... }: builtins.genList (rank: 5555 + rank) tp;
in
{
  # What a server has with it: its option, what is installed first, and the servers beside it.
  servers = { version }: { tp, kvOffload, ... }@point: {
    args.kv-transfer-config = {
      kv_connector = "LMCacheMPConnector";
      kv_connector_module_path = "lmcache.integration.vllm.lmcache_mp_connector";
      kv_role = "kv_both";
      kv_connector_extra_config = {
        "lmcache.mp.server_urls" =
          builtins.concatStringsSep "," (map (port: "tcp://127.0.0.1:${toString port}") (ports point));
        "lmcache.mp.mq_timeout" = 6000.0;
      };
    };
    tools = [
      {
        program = [
          "python3" "-m" "pip" "install"
          "sortedcontainers==2.4.0"
          "opentelemetry-exporter-prometheus==0.61b0"
          "cupy-rocm-7-0==14.1.1"
          "lmcache==${version}"
        ];
        args = {
          quiet = true;
          no-cache-dir = true;
          no-deps = true;
          find-links = "https://github.com/LMCache/LMCache/releases/expanded_assets/v${version}-rocm";
        };
        env.PIP_BREAK_SYSTEM_PACKAGES = 1;
      }
    ];
    beside = map (port:
      let
        http = port + 2525;
      in
      {
        role = "kv-store";
        port = http;
        ready = "/healthcheck";
        program = [ "lmcache" "server" ];
        args = {
          host = "127.0.0.1";
          inherit port;
          http-host = "127.0.0.1";
          http-port = http;
          l1-size-gb = sizes.each tp kvOffload.total;
          l1-init-size-gb = 10;
          l1-read-ttl-seconds = 7200;
          chunk-size = 256;
          max-workers = 2;
          eviction-policy = "LRU";
          supported-transfer-mode = "lmcache_driven";
        };
      }) (ports point);
  };
}
