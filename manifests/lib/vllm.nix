# vLLM: how the facts that belong to no engine become its options.
let
  inherit (import ./harness.nix) evalContext;
  sizes = import ./sizes.nix;
  inherit (import ./numbers.nix) table when;
  inherit (import ./words.nix) word portAfter;

  address = port: {
    host = "0.0.0.0";
    inherit port;
    trust-remote-code = true;
  };

  # vLLM's tensor parallelism lies within each rank of its data parallelism. Attention that is split
  # by data has a rank on each GPU. Any expert parallelism spans them all: the engine takes no number.
  parallelism = { tp, ep, dpAttn, ... }: {
    tensor-parallel-size = if dpAttn then 1 else tp;
    data-parallel-size = if dpAttn then tp else 1;
    enable-expert-parallel = ep > 1;
  };

  precision = { quantization, ... }: {
    quantization = quantization.method;
    kv-cache-dtype = quantization.kvCache;
  };

  # How the model drafts; acceptance is added where a recipe declares one.
  drafting = speculative: {
    method = speculative.method;
    num_speculative_tokens = speculative.steps;
  };

  speculation = { speculative, ... }: {
    speculative-config = if speculative == null then null else drafting speculative;
  };

  serveAt = port: own: { model, ... }@point:
    let
      mine = own point;
    in
    {
      program = [ "vllm" "serve" model.path ];
      args = address port // parallelism point // precision point // speculation point // mine.args;
      env = mine.env or { };
      files = mine.files or { };
      tools = mine.tools or [ ];
      beside = mine.beside or [ ];
      ready = "/health";
    };

  # Where a router stands before the ranks, clients talk to it, and it talks to the engine next door.
  enginePort = { port, dpAttn, ... }: if dpAttn then portAfter 1 port else port;

  # Gives each conversation a rank and keeps it there: what the rank remembers of it is used again.
  router = { version }: { port, tp, ... }@point: {
    role = "router";
    inherit port;
    ready = "/health";
    program = [ "vllm-router" ];
    args = {
      worker-urls = word [ "http://localhost:" (enginePort point) ];
      policy = "consistent_hash";
      intra-node-data-parallel-size = tp;
      host = "0.0.0.0";
      inherit port;
      prometheus-host = "127.0.0.1";
      prometheus-port = portAfter 10000 port;
      # Agents' requests may wait for hours, and one that failed is a result.
      request-timeout-secs = 14400;
      disable-retries = true;
    };
    tools = [ (installed [ "vllm-router==${version}" ]) ];
  };

  installed = packages: {
    program = [ "python3" "-m" "pip" "install" ] ++ packages;
    args.quiet = true;
    env.PIP_BREAK_SYSTEM_PACKAGES = 1;
  };
in
{
  inherit installed;

  # A page of vLLM's recipes, with all that it is put together with.
  cookbook = page: map (path: {
    repository = "vllm-project/recipes";
    revision = "main";
    inherit path;
  }) [ page "taxonomy.yaml" "platforms.yaml" "strategies" "kv_store" ];

  # Makes `serve` of a recipe's own part: a function from the point to its arguments, and as needed
  # to its environment, files, tools and what runs beside it.
  serve = own: { port, ... }@point: serveAt port own point;

  # As `serve`, with a router before ranks that split attention by data. `routerVersion` is that of
  # its package.
  serveRouted = { routerVersion }: own: { dpAttn, ... }@point:
    let
      engine = serveAt (enginePort point) own point;
    in
    engine // when dpAttn {
      port = enginePort point;
      beside = engine.beside ++ [ (router { version = routerVersion; } point) ];
    };

  # The engine's own metrics; a router has others.
  metrics = point: word [ "http://localhost:" (enginePort point) "/metrics" ];

  # The name under which clients ask for the model.
  named = { model, ... }: { served-model-name = model.name; };

  # A sequence has room for its tokens and for what a chat template adds.
  context = { isl, osl, mode, ... }@point: {
    max-model-len = if mode == "eval" then evalContext point else isl + osl + 256;
  };

  # Reading large weights takes longer than the engine would wait for itself.
  readyWithin = seconds: { VLLM_ENGINE_READY_TIMEOUT_S = seconds; };

  # Contexts that several GPUs share.
  contextParallelism = { dcp, pcp, ... }: {
    decode-context-parallel-size = table { key = dcp; rows = { "1" = null; }; otherwise = dcp; };
    prefill-context-parallel-size = table { key = pcp; rows = { "1" = null; }; otherwise = pcp; };
  };

  # A draft that is a model of its own, and the kernels of its attention.
  draftModel = { attention }: { speculative, ... }: {
    speculative-config = drafting speculative // {
      model = speculative.draftPath;
      attention_backend = attention;
    };
  };

  # Where KV blocks go that no longer fit: an engine's connector and what is said to it.
  offload = connector: extra: {
    kv-transfer-config = {
      kv_connector = connector;
      kv_role = "kv_both";
      kv_connector_extra_config = extra;
    };
  };

  # The share of each GPU's rank in what is offloaded.
  offloadPerRank = { tp, pcp, kvOffload, ... }: sizes.each (tp * pcp) (sizes.to "B" kvOffload.total);
}
