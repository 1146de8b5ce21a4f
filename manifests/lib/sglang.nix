# SGLang: how the facts that belong to no engine become its options.
let
  inherit (import ./harness.nix) evalContext traceReplay;
  inherit (import ./numbers.nix) when;
  inherit (import ./words.nix) word portAfter;
  sizes = import ./sizes.nix;

  address = { port, model, ... }: {
    host = "0.0.0.0";
    inherit port;
    model-path = model.path;
    trust-remote-code = true;
  };

  # SGLang's tensor parallelism spans the GPUs of its data parallelism.
  parallelism = { tp, ep, ... }: {
    tensor-parallel-size = tp;
    data-parallel-size = 1;
    expert-parallel-size = ep;
  };

  precision = { quantization, ... }:
    if quantization == null then
      { }
    else
      {
        quantization = quantization.method;
        kv-cache-dtype = quantization.kvCache;
      };

  speculation = { speculative, ... }:
    if speculative == null then
      { }
    else
      {
        speculative-algorithm = speculative.algorithm;
        speculative-num-steps = speculative.steps;
        speculative-eagle-topk = speculative.topk;
        speculative-num-draft-tokens = speculative.draftTokens;
      };

  # Where a router stands before the ranks, clients talk to it, and it talks to the engine next door.
  enginePort = { port, dpAttn, ... }: if dpAttn then portAfter 1 port else port;

  # Gives each conversation a rank and keeps it there: what the rank remembers of it is used again.
  router = { port, ... }@point: {
    role = "router";
    inherit port;
    ready = "/health";
    program = [ "python3" "-m" "sglang_router.launch_router" ];
    args = {
      worker-urls = word [ "http://localhost:" (enginePort point) ];
      policy = "consistent_hashing";
      request-id-headers = "x-correlation-id";
      dp-aware = true;
      host = "0.0.0.0";
      inherit port;
      prometheus-host = "127.0.0.1";
      prometheus-port = portAfter 10000 port;
      connect-timeout-secs = 900;
      # Agents' requests may wait for hours, and one that failed is a result.
      request-timeout-secs = 14400;
      disable-health-check = true;
      disable-retries = true;
    };
  };
in
rec {
  # Makes `serve` of a recipe's own part: a function from the point to { args, env }.
  serve = own: point:
    let
      mine = own point;
    in
    {
      program = [ "python3" "-m" "sglang.launch_server" ];
      args = address point // parallelism point // precision point // speculation point // mine.args;
      env = { PYTHONNOUSERSITE = 1; } // (mine.env or { });
      ready = "/health";
    };

  # As `serve`, with the user's own packages visible.
  serveWithUserPackages = own: point:
    let
      mine = own point;
    in
    {
      program = [ "python3" "-m" "sglang.launch_server" ];
      args = address point // parallelism point // precision point // speculation point // mine.args;
      env = mine.env or { };
      ready = "/health";
    };

  # As `serve`, but by the engine's own command, and split over GPUs as the recipe itself says.
  serveByCommand = own: point:
    let
      mine = own point;
    in
    {
      program = [ "sglang" "serve" ];
      args = address point // speculation point // mine.args;
      env = mine.env or { };
      ready = "/health";
    };

  # As `serveByCommand`, by the module that the command stands for.
  serveByModule = own: point: (serveByCommand own point) // {
    program = [ "python3" "-m" "sglang.launch_server" ];
  };

  # As `serveByModule`, with a router before ranks that split attention by data.
  serveRouted = own: { dpAttn, ... }@point:
    serveByModule own (point // { port = enginePort point; }) // when dpAttn {
      port = enginePort point;
      beside = [ (router point) ];
    };

  # The engine's own metrics; a router has others.
  metrics = point: word [ "http://localhost:" (enginePort point) "/metrics" ];

  # A replay through the router. Hundreds of large prompts come at once, and it takes minutes until
  # the engine has read them. The router knows a conversation by a key that the client gives it.
  routedReplay = { loader, more ? { }, moreEnv ? { } }: { dpAttn, ... }@point: traceReplay {
    inherit loader more;
    serverMetrics = metrics;
    moreEnv = moreEnv // {
      AIPERF_HTTP_TCP_USER_TIMEOUT = 900000;
    } // when dpAttn { AIPERF_HTTP_X_SMG_ROUTING_KEY_FROM_CORRELATION_ID = "true"; };
  } point;

  # Longer than that client keeps its connections, so that it never reuses one that closes.
  keepAlive = { SGLANG_TIMEOUT_KEEP_ALIVE = 900; };

  # What is evicted goes to the host's memory page by page, past the GPU's own streams.
  hicacheDirect = { write }: {
    enable-hierarchical-cache = true;
    hicache-write-policy = write;
    hicache-io-backend = "direct";
    hicache-mem-layout = "page_first_direct";
  };

  # Attention that is split by data has a rank on each GPU.
  splitAttention = { tp, ... }: {
    data-parallel-size = tp;
    enable-dp-attention = true;
  };

  # The name under which clients ask for the model.
  named = { model, ... }: { served-model-name = model.name; };

  # HiCache keeps evicted KV blocks in the host's memory. `--hicache-size` counts decimal GB for
  # each rank and each pool. Beside the pool of the target model there are one of its Mamba state,
  # equal in size, and one of the draft, whose single attention layer adds `draftShare` of the
  # target's: so many GB a rank are left once one GB a rank is kept for page alignment.
  hicache = { draftShare }: { tp, kvOffload, ... }:
    if kvOffload == null then
      { }
    else
      let
        usable = sizes.amount kvOffload.total - tp;
        perRank = sizes.size "rank" "GB" (usable * draftShare / tp / (2 * draftShare + 1));
      in
      {
        page-size = 64;
        enable-hierarchical-cache = true;
        hicache-size = perRank;
        hicache-io-backend = "kernel";
        hicache-mem-layout = "page_first";
        hicache-write-policy = "write_through_selective";
      };

  # The context is the checkpoint's own, but for evaluations.
  contextOfEvaluations = { mode, ... }@point: {
    context-length = if mode == "eval" then evalContext point else null;
  };

  # A fixed sequence shares no prefixes that may be measured.
  fixedSequence = { isl, osl, mode, ... }@point: {
    disable-radix-cache = true;
    context-length = if mode == "eval" then evalContext point else isl + osl + 20;
  };
}
