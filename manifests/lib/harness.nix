# Benchmark clients and evaluators, as InferenceX runs them.
let
  inherit (import ./words.nix) word repeat;
  inherit (import ./numbers.nix) min max table;

  # `k=v,k=v`, as lm-eval reads its arguments.
  pairs = set: word (
    builtins.tail (builtins.concatMap (name: [ "," "${name}=" set.${name} ]) (builtins.attrNames set))
  );

  # Questions need as much context as the measured points, and no more than the model has. Agents
  # are measured at all of it.
  evalContext = { scenario, isl, osl, model, ... }:
    if scenario == "agentic" then model.context else min (isl + osl + 256) model.context;
in
{
  inherit evalContext;

  # The repository that is checked out in the workspace of a run.
  source = {
    repository = "SemiAnalysisAI/InferenceX";
    revision = "843c6254ff69b567f772f6a5fd97675af3d04431";
  };

  # Random tokens of fixed lengths in a closed loop: ten prompts and two warm-ups for each
  # concurrent request. Drafting makes the text matter, so it goes through the chat template then,
  # and where a recipe asks for it.
  servingClient = { backend, chatTemplate ? false, more ? { } }: { model, port, workspace, isl, osl, conc, speculative, result, ... }: {
    program = [ "python3" "${workspace}/utils/bench_serving/benchmark_serving.py" ];
    args = {
      model = model.name;
      inherit backend;
      base-url = word [ "http://0.0.0.0:" port ];
      dataset-name = "random";
      random-input-len = isl;
      random-output-len = osl;
      random-range-ratio = 0.8;
      num-prompts = conc * 10;
      max-concurrency = conc;
      request-rate = "inf";
      ignore-eos = true;
      save-result = true;
      num-warmups = conc * 2;
      percentile-metrics = "ttft,tpot,itl,e2el";
      result-dir = "/workspace/";
      result-filename = word [ result ".json" ];
      use-chat-template = speculative != null || chatTemplate;
    } // more;
  };

  # The same client, whose results go where the workspace is.
  inWorkspace = client: { workspace, ... }@point:
    let
      mine = client point;
    in
    mine // { args = mine.args // { result-dir = "${workspace}/"; }; };

  # What the serving client imports and most engine images lack.
  servingClientPackages = [ "datasets" "pandas" ];

  # The latest recorded conversations of agents, at their full lengths: which loader reads them.
  traces = "semianalysis_cc_traces_weka_062126";

  # The same, without those whose prompts do not fit 256k tokens.
  tracesOf256k = "semianalysis_cc_traces_weka_062126_256k";

  # Recorded agents' conversations, replayed for `duration` seconds with their own idle times.
  #
  # `engineMetrics` is how the engine's metrics begin (`sglang:`): where it is given, a run without
  # them does not count. Other clients only take them along.
  traceReplay = {
    loader,
    serverMetrics ? { port, ... }: word [ "http://localhost:" port "/metrics" ],
    engineMetrics ? null,
    more ? { },
    moreEnv ? { },
  }: { model, port, workspace, conc, duration, ... }@point: {
    program = [ "aiperf" "profile" ];
    args = {
      scenario = "inferencex-agentx-mvp";
      url = word [ "http://localhost:" port ];
      endpoint = "/v1/chat/completions";
      endpoint-type = "chat";
      streaming = true;
      model = model.name;
      tokenizer = model.name;
      tokenizer-trust-remote-code = true;
      concurrency = conc;
      benchmark-duration = duration;
      stats-interval = 30;
      random-seed = 42;
      failed-request-threshold = 0.1;
      trajectory-start-min-ratio = 0.25;
      trajectory-start-max-ratio = 0.75;
      warmup-requests-per-lane = 10;
      trace-idle-gap-cap-seconds = 300;
      warmup-grace-period = 1800;
      use-server-token-count = true;
      no-gpu-telemetry = true;
      num-dataset-entries = 393;
      slice-duration = 1.0;
      output-artifact-dir = "/workspace/results/aiperf_artifacts";
      public-dataset = loader;
      server-metrics = serverMetrics point;
    } // more;
    env = {
      # Loading the traces takes minutes, and up to fourteen on a slow disk.
      AIPERF_DATASET_CONFIGURATION_TIMEOUT = 1800;
      AIPERF_SERVICE_PROFILE_CONFIGURE_TIMEOUT = 1800;
      AIPERF_UI_REALTIME_METRICS_ENABLED = "true";
      # Recorded answers, not live ones, stand in the prompts that follow.
      AIPERF_DATASET_WEKA_LIVE_ASSISTANT_RESPONSES = 0;
    } // moreEnv // (
      if engineMetrics == null then
        { }
      else
        {
          AIPERF_SERVER_METRICS_URLS = serverMetrics point;
          AIPERF_REQUIRED_SERVER_METRIC_PREFIX = engineMetrics;
        }
    );
    # Not among the engine's own packages: the client's dependencies would replace some of them.
    tools = [
      {
        program = [ "python3" "-m" "pip" "install" "uv" ];
        args.quiet = true;
        env.PIP_BREAK_SYSTEM_PACKAGES = 1;
      }
      {
        program = [ "uv" "tool" "install" "${workspace}/utils/aiperf" ];
        args = {
          editable = true;
          python = "3.11";
          "with" = repeat [ "datasets>=4.7.0" "huggingface_hub[cli]>=0.25.0" "urllib3" "requests" ];
          with-requirements = "${workspace}/utils/agentic-benchmark/requirements.txt";
        };
        env.UV_TOOL_BIN_DIR = "/usr/local/bin";
      }
    ];
  };

  # The data set that a loader of the trace replay reads: the loader's name with dashes, but for
  # the two loaders that are named after what is in the traces.
  traceDataset = loader: {
    repository = table {
      key = loader;
      rows = {
        semianalysis_cc_traces_weka_with_subagents = "semianalysisai/cc-traces-weka-061526";
        semianalysis_cc_traces_weka_with_subagents_256k = "semianalysisai/cc-traces-weka-061526-256k";
      };
      otherwise = "semianalysisai/${builtins.replaceStrings [ "semianalysis_" "_" ] [ "" "-" ] loader}";
    };
    revision = "main";
  };

  # Questions with one right answer each, asked greedily through the chat endpoint: as many at once
  # as requests are measured, or `concurrent`.
  lmEval = { task ? "gsm8k", concurrent ? null }: { model, port, workspace, conc, run, ... }@point:
  let
    context = evalContext point;
  in
  {
    program = [ "python3" "-m" "lm_eval" ];
    args = {
      model = "local-chat-completions";
      apply_chat_template = true;
      tasks = "${workspace}/utils/evals/${task}.yaml";
      output_path = word [ run.logs "/eval" ];
      log_samples = true;
      model_args = pairs {
        model = model.name;
        base_url = word [ "http://0.0.0.0:" port "/v1/chat/completions" ];
        api_key = "EMPTY";
        eos_string = "</s>";
        max_retries = 5;
        num_concurrent = if concurrent == null then conc else concurrent;
        timeout = 1800;
        tokenized_requests = "False";
        max_length = context;
      };
      gen_kwargs = pairs {
        # 4096 tokens are the question's, but of a short context it never has more than half.
        max_tokens = min 16384 (max (context - 4096) (min context 4096 / 2));
        temperature = 0;
        top_p = 1;
      };
    };
    env = {
      OPENAI_API_KEY = "EMPTY";
      # Python imports `sitecustomize` before anything else: upstream's repairs of lm-eval.
      PYTHONPATH = word [ run.logs "/lm-eval" ];
    };
    tools = [
      {
        program = [
          "python3" "-m" "pip" "install"
          "lm-eval[api] @ git+https://github.com/EleutherAI/lm-evaluation-harness.git@b315ef3b05176acc9732bb7fdec116abe1ecc476"
        ];
        args = {
          quiet = true;
          no-cache-dir = true;
        };
        env.PIP_BREAK_SYSTEM_PACKAGES = 1;
      }
      {
        program = [
          "install" "-D"
          "${workspace}/utils/evals/patches/lm_eval_sitecustomize.py"
          (word [ run.logs "/lm-eval/sitecustomize.py" ])
        ];
      }
    ];
    framework = "lm-eval";
  };
}
