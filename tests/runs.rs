//! Folders of results beside a lock: what emitted scripts leave, and what InferenceX's own leave.

mod inferencex;
mod records;

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::emit::plans;
use crate::emit::run::{Bench, port, said};
use crate::support::{Ran, Sandbox, copy_tree, repository};

const TINY: &str = "lockfiles/tiny/tiny-fp4-b200-vllm.lock.json";
const AGENTS: &str = "lockfiles/agents/tiny-fp4-b200-vllm-agentic.lock.json";

/// Two locked recipes, and a run of one of them in `run`.
struct Stage {
    sandbox: Sandbox,
    lock: &'static str,
}

impl Stage {
    fn new(lock: &'static str, measure: &str) -> Self {
        let sandbox = Sandbox::new();
        sandbox.copy("fixtures/tour");
        sandbox.copy("fixtures/explain/audit");
        copy_tree(&repository().join("fixtures/mirror"), &sandbox.path("mirror"));
        let stage = Self { sandbox, lock };
        stage.bash(&format!("recipec lock --mirror mirror && python3 measure.py {lock} {measure}"));
        stage
    }

    fn bash(&self, script: &str) {
        let ran = self.sandbox.bash(script);
        assert_eq!(ran.code, 0, "{script}: {}{}", ran.stdout, ran.stderr);
    }

    fn audit(&self) -> (Ran, Value) {
        let ran = self.sandbox.recipec(["audit", "run", "run", "--lock", self.lock, "--format", "json"]);
        let value =
            serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{}{}", ran.stdout, ran.stderr));
        (ran, value)
    }

    /// Asserts the verdict on the only result, and returns what was said of each kind of thing that is
    /// not as locked.
    #[track_caller]
    fn is(&self, verdict: &str, code: i32) -> BTreeMap<String, String> {
        let (ran, value) = self.audit();
        let results = value["results"].as_array().unwrap();
        assert_eq!(
            (results.len(), results[0]["verdict"].as_str(), ran.code),
            (1, Some(verdict), code),
            "{value:#}"
        );
        wrong(&results[0])
    }
}

fn wrong(result: &Value) -> BTreeMap<String, String> {
    let text = |check: &Value, name: &str| check[name].as_str().unwrap_or_default().to_owned();
    let mut all: BTreeMap<String, String> = BTreeMap::new();
    for check in result["checks"].as_array().unwrap().iter().filter(|check| check["verdict"] != "reproduced")
    {
        let line =
            format!("{}: {}, not {}", text(check, "about"), text(check, "theirs"), text(check, "ours"));
        let said = all.entry(text(check, "slug")).or_default();
        said.push_str(if said.is_empty() { "" } else { "; " });
        said.push_str(&line);
    }
    all
}

fn one(slug: &str, line: &str) -> BTreeMap<String, String> {
    [(slug.to_owned(), line.to_owned())].into()
}

#[test]
fn a_run_of_a_locked_plan_is_reproduced_in_every_mode() {
    for (lock, measure) in [(TINY, "throughput"), (TINY, "eval"), (AGENTS, "throughput")] {
        let stage = Stage::new(lock, measure);
        assert_eq!(stage.is("reproduced", 0), BTreeMap::new());
        let (_, value) = stage.audit();
        let result = &value["results"][0];
        assert_eq!((&value["command"], &value["version"]), (&json!("audit run"), &json!(1)));
        let key = lock.rsplit('/').next().unwrap().trim_end_matches(".lock.json");
        assert_eq!(result["plan"], format!("{key}/cluster/{measure}/0"));
        assert_eq!(result["points"], json!([format!("{key}#0")]));
    }
}

#[test]
fn what_was_not_recorded_is_unproven_and_what_was_is_compared() {
    // As InferenceX's own scripts leave it: a command, an environment, no word of the checkpoint's content.
    let stage = Stage::new(TINY, "throughput recorded");
    let wrong = stage.is("unproven", 5);
    assert_eq!(wrong.keys().collect::<Vec<_>>(), ["run-checkpoint", "run-harness"]);
    // An audit of the checkpoint and the client's command prove the rest.
    stage.bash(&format!(
        "recipec audit checkpoint mirror/hub --lock {TINY} --repository tiny-org/tiny-moe-NVFP4 --output json:run/checkpoint.json >/dev/null && \
         echo 'python3 benchmark_serving.py --max-concurrency 4 --model tiny-org/tiny-moe-NVFP4 --base-url http://127.0.0.1:8888 \
         --random-input-len 1024 --random-output-len=1024' >run/benchmark_command.txt"
    ));
    assert_eq!(stage.is("reproduced", 0), BTreeMap::new());
    // A look at names and sizes proves no content.
    stage.bash(&format!(
        "recipec audit checkpoint mirror/hub --lock {TINY} --repository tiny-org/tiny-moe-NVFP4 --fast --output json:run/checkpoint.json >/dev/null"
    ));
    assert!(stage.is("unproven", 5)["run-checkpoint"].contains("by names and sizes"));
    // A tag says what was asked for, not what it named.
    stage.bash("sed -i 's/engine:1.0@sha256:[0-9a-f]*/engine:1.0/' run/agg_tiny.json");
    assert!(stage.is("unproven", 5)["run-image"].contains("the tag registry.example/tiny/engine:1.0"));
    stage.bash("sed -i 's/engine:1.0/engine:1.1/' run/agg_tiny.json");
    assert!(stage.is("contradicted", 4).contains_key("run-image"));
}

#[test]
fn a_server_that_was_started_in_another_way_is_found_wherever_it_was_recorded() {
    let words = "vllm serve /models/tiny-moe-NVFP4 --host 0.0.0.0 --max-num-seqs 4 --no-enable-prefix-caching --port 8888 \
                 --served-model-name tiny-org/tiny-moe-NVFP4 -tp";
    let logged = |tp: u32, more: &str| {
        format!(
            "(APIServer pid=7) INFO 08-01 12:00:00 [utils.py:253] non-default args: {{'model_tag': '/models/tiny-moe-NVFP4', \
             'host': '0.0.0.0', 'port': 8888, 'max_num_seqs': 4, 'enable_prefix_caching': False, \
             'served_model_name': ['tiny-org/tiny-moe-NVFP4'], 'tensor_parallel_size': {tp}{more}}}"
        )
    };
    let recorded = |stage: &Stage, way: usize, tp: u32| match way {
        0 => stage.sandbox.write("run/vllm_command.txt", format!("{words} {tp} \n")),
        1 => stage.sandbox.write(
            "run/server.cmdline",
            format!("/usr/bin/python3 /usr/local/bin/{words} {tp}").replace(' ', "\0") + "\0",
        ),
        _ => stage.sandbox.write("run/server.log", logged(tp, "")),
    };
    for way in 0..3 {
        let stage = Stage::new(TINY, "throughput");
        recorded(&stage, way, 1);
        assert_eq!(stage.is("reproduced", 0), BTreeMap::new(), "{way}");
        recorded(&stage, way, 2);
        assert_eq!(
            stage.is("contradicted", 4),
            one("run-command", "--tensor-parallel-size: 2, not 1"),
            "{way}"
        );
    }
    let stage = Stage::new(TINY, "throughput");
    stage.sandbox.write("run/server.log", logged(1, ", 'enforce_eager': True"));
    assert_eq!(
        stage.is("contradicted", 4),
        one("run-command", "--enforce-eager: True, not not given").map_true()
    );
    // A command that only a shell could complete is not guessed at.
    stage.sandbox.write("run/vllm_command.txt", "vllm serve $MODEL\n");
    stage.bash("rm run/server.log");
    assert_eq!(stage.is("reproduced", 0), BTreeMap::new());
    let (_, value) = stage.audit();
    assert_eq!(value["diagnostics"][0]["slug"], "cannot-read");
}

/// Python says `True`, and this program `true`.
trait MapTrue {
    fn map_true(self) -> Self;
}

impl MapTrue for BTreeMap<String, String> {
    fn map_true(self) -> Self {
        self.into_iter().map(|(slug, line)| (slug, line.replace("True", "true"))).collect()
    }
}

#[test]
fn a_variable_that_forces_acceptance_is_found_in_the_environment_of_the_process() {
    let stage = Stage::new(TINY, "eval recorded");
    stage.bash(
        "printf 'HOME=/root\\0SGLANG_SIMULATE_ACC_LEN=3.24\\0HF_TOKEN=hf_secret\\0' >run/server.environ",
    );
    let (ran, value) = stage.audit();
    let wrong = wrong(&value["results"][0]);
    assert_eq!(wrong["run-environment"], "SGLANG_SIMULATE_ACC_LEN: 3.24, not not set");
    assert!(!format!("{}{}", ran.stdout, ran.stderr).contains("hf_secret"));
    // A variable that the engine reads and the image may define is not held against the run.
    stage.bash("printf 'HOME=/root\\0VLLM_LOGGING_LEVEL=DEBUG\\0' >run/server.environ");
    assert_eq!(stage.is("unproven", 5)["run-environment"], "VLLM_LOGGING_LEVEL: DEBUG, not not set");
}

#[test]
fn the_tail_that_went_quiet_is_named() {
    let stage = Stage::new(AGENTS, "throughput");
    let records = "run/aiperf_artifacts/profile_export.jsonl";
    // Ten of two hundred are the most that may lack a metric.
    stage.bash(&format!("sed -i '191,200s/\"time_to_first_token\": {{\"value\": 40.0}}/\"time_to_first_token\": {{\"value\": null}}/' {records}"));
    assert_eq!(stage.is("reproduced", 0), BTreeMap::new());
    stage.bash(&format!("sed -i '190s/\"inter_token_latency\": {{\"value\": 9.0}}/\"inter_token_latency\": {{}}/;190s/\"time_to_first_token\": {{\"value\": 40.0}}/\"x\": 1/' {records}"));
    assert_eq!(
        stage.is("contradicted", 4),
        one(
            "run-coverage",
            "time to first token: 94.50 %: 11 of 200 without; nothing after 1:34 of 1:39; the last are c197 turn 0, c198 turn 0, \
             c199 turn 0, not at least 95 %"
        )
    );
    // Another bound is the caller's.
    let ran = stage.sandbox.recipec(["audit", "run", "run", "--lock", AGENTS, "--coverage", "90"]);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    assert_eq!(stage.sandbox.recipec(["audit", "run", "run", "--lock", AGENTS, "--coverage", "900"]).code, 2);
}

#[test]
fn a_realised_acceptance_length_is_shown_with_what_counted_it() {
    let stage = Stage::new(AGENTS, "throughput");
    let counters = "run/aiperf_artifacts/server_metrics_export.json";
    // The engine took the length for the number of accepted drafts.
    stage.bash(&format!("sed -i 's/132400/232000/' {counters}"));
    assert_eq!(
        stage.is("contradicted", 4),
        one(
            "run-acceptance",
            "acceptance length: 3.320 (1 + 232000 accepted drafts / 100000 steps, vLLM), not 2.32 ± 2.0 %"
        )
    );
    // Without counters the engine's log says it; without a log nobody does.
    let line = "INFO 08-01 [metrics.py:96] SpecDecoding metrics: Mean acceptance length: 2.31, Accepted: 131 tokens, Drafted: 300 tokens";
    stage.bash(&format!("rm {counters}"));
    stage.sandbox.write("run/server.log", line);
    assert_eq!(stage.is("reproduced", 0), BTreeMap::new());
    stage.bash("rm run/server.log");
    assert!(stage.is("unproven", 5)["run-acceptance"].contains("no counter and no log"));
}

#[test]
fn a_score_is_held_against_the_threshold_of_its_model() {
    let stage = Stage::new(TINY, "eval");
    let scored = |score: &str| {
        stage.bash(&format!("sed -i 's/match\": 0\\.[0-9]*/match\": {score}/' run/results_tiny.json"));
    };
    scored("0.905");
    assert_eq!(stage.is("reproduced", 0), BTreeMap::new());
    // The same score is too low for a model that has a threshold of its own.
    stage.bash("sed -i 's/\"infmax_model_prefix\": \"tiny\"/\"infmax_model_prefix\": \"qwen3.5\"/' run/meta_env.json");
    assert_eq!(
        stage.is("contradicted", 4),
        one("run-score", "gsm8k exact_match,strict-match: 0.9050, not at least 0.94 (of the model)")
    );
    scored("0.95");
    // A slice of the questions is no evaluation.
    stage.bash("sed -i 's/\"effective\": 1319/\"effective\": 50/' run/results_tiny.json");
    assert_eq!(
        stage.is("contradicted", 4),
        one("run-harness", "gsm8k: 50 of 1319 questions, not all questions")
    );
}

#[test]
fn thresholds_are_upstreams() {
    let Some(shared) = crate::support::shared("thresholds_are_upstreams") else { return };
    let text = std::fs::read_to_string(shared.join("upstream/inferencex/thresholds.yaml")).unwrap();
    let own = std::fs::read_to_string(repository().join("manifests/policy/scores.json")).unwrap();
    let least = audit::scores::Thresholds::read(&own).unwrap();
    let (mut model, mut compared) = (None, 0);
    for line in text.lines().filter(|line| !line.trim_start().starts_with('#') && line.contains(':')) {
        let (name, value) = line.trim().rsplit_once(':').unwrap();
        let indent = line.len() - line.trim_start().len();
        if let Ok(value) = value.trim().parse::<f64>() {
            assert!((least.least(model, name).0 - value).abs() < 1e-9, "{model:?} {name}");
            compared += 1;
        } else {
            model = (indent == 2).then_some(name);
        }
    }
    assert!(compared > 8, "{compared}");
}

#[test]
fn a_result_of_another_point_or_another_recipe_is_of_no_plan() {
    let stage = Stage::new(TINY, "throughput recorded");
    stage.bash("sed -i 's/\"conc\": 4/\"conc\": 64/' run/agg_tiny.json");
    let (ran, value) = stage.audit();
    assert_eq!((ran.code, &value["results"][0]["plan"]), (4, &Value::Null));
    assert_eq!(wrong(&value["results"][0]), one("run-plan", "conc: 64, not 16"));
    // Evidence of another recipe.
    let stage = Stage::new(TINY, "throughput");
    stage.bash("sed -i 's/\"recipe\": \"tiny-fp4-b200-vllm\"/\"recipe\": \"other\"/' run/tiny.evidence.json");
    assert_eq!(stage.is("contradicted", 4), one("run-plan", "recipe: other, not tiny-fp4-b200-vllm"));
    // A run that was stopped and left nothing is no contradiction: nothing is published of it.
    let stage = Stage::new(TINY, "throughput");
    stage.bash("rm run/tiny.json run/agg_tiny.json && sed -i 's/\"stopped\": null/\"stopped\": \"checkpoint-missing\"/;s/^ \"exit\": 0/ \"exit\": 4/' run/tiny.evidence.json");
    let wrong = stage.is("unproven", 5);
    assert_eq!(wrong["run-ended"], "end: stopped: checkpoint-missing, not ended with 0");
}

#[test]
fn a_file_that_changed_after_the_run_and_one_that_the_run_did_not_leave_are_told_apart() {
    let stage = Stage::new(TINY, "throughput");
    let digest = stage.sandbox.bash("sha256sum <run/tiny.json | head -c 64").stdout;
    stage.bash(&format!(
        "sed -i 's/\"results\": \\[\\]/\"results\": [{{\"path\": \"tiny.json\", \"sha256\": \"{digest}\"}}]/' run/tiny.evidence.json"
    ));
    assert_eq!(stage.is("reproduced", 0), BTreeMap::new());
    stage.bash("sed -i 's/41.5/31.5/' run/tiny.json");
    let wrong = stage.is("contradicted", 4);
    assert!(wrong["run-result"].starts_with("content of tiny.json: "), "{wrong:?}");
    // A published file of which the measurement is not there follows from nothing.
    stage.bash("rm run/tiny.json");
    assert_eq!(
        stage.is("unproven", 5)["run-result"],
        "what the run left: this file is not among them, not 1 files"
    );
}

#[test]
fn many_runs_are_summed_up_by_recipe() {
    let stage = Stage::new(TINY, "throughput");
    stage.bash(&format!("recipec audit run run --lock {TINY} --output json:one.json >/dev/null && mv run first && python3 measure.py {TINY} eval && mv run second"));
    stage.bash(&format!("python3 measure.py {AGENTS} throughput && mv run third && sed -i 's/132400/232400/' third/aiperf_artifacts/server_metrics_export.json"));
    // A document that was written, and folders that are audited by the locks that are here.
    let ran = stage
        .sandbox
        .recipec(["audit", "results", "one.json", "second", "third", "--format", "json"])
        .exits(4);
    let value = ran.json();
    assert_eq!(
        value["recipes"],
        json!([
            {"recipe": "tiny-fp4-b200-vllm", "reproduced": 2, "contradicted": 0, "unproven": 0},
            {"recipe": "tiny-fp4-b200-vllm-agentic", "reproduced": 0, "contradicted": 1, "unproven": 0}
        ])
    );
    let ran = stage.sandbox.recipec(["audit", "results", "one.json", "second"]).exits(0);
    assert!(ran.stdout.starts_with("tiny-fp4-b200-vllm  2 results: 2 reproduced\n"), "{}", ran.stdout);
    let ran = stage.sandbox.recipec(["audit", "results", "third", "--format", "markdown"]).exits(4);
    assert!(
        ran.stdout.contains("| contradicted | tiny-fp4-b200-vllm-agentic#0 | 2100.00 |"),
        "{}",
        ran.stdout
    );
    let ran = stage.sandbox.recipec(["audit", "results", "third", "--format", "github"]).exits(4);
    assert!(ran.stdout.starts_with("::error "), "{}", ran.stdout);
}

#[test]
fn hostile_folders_are_read_with_a_limit_and_without_waiting() {
    let stage = Stage::new(TINY, "throughput");
    stage.bash(
        "cd run && mkfifo server.log x.json && ln -s . loop && ln -s /etc/passwd y.json && ln -s nowhere z.log && \
         mkdir -p $'a\\nb/`id`' && cp agg_tiny.json $'a\\nb/`id`/agg_\\e[31m.json' && truncate -s 3T big.json && \
         head -c 40000000 /dev/zero | tr '\\0' '[' >deep.json && printf '{\"a\": NaN}' >nan.json && \
         head -c 20000000 /dev/zero | tr '\\0' 'x' >long.log && printf '\\nMean acceptance length: 2.0\\n' >>long.log && \
         printf 'server_args=ServerArgs(%s' \"$(head -c 100000 /dev/zero | tr '\\0' '(')\" >nest.log",
    );
    let (ran, value) = stage.audit();
    assert_eq!(ran.code, 0, "{value:#}");
    let results = value["results"].as_array().unwrap();
    assert_eq!(results.len(), 2);
    let unread: Vec<&str> = value["diagnostics"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|finding| finding["slug"] == "cannot-read")
        .map(|finding| finding["message"].as_str().unwrap())
        .collect();
    assert_eq!(unread, ["cannot read `big.json`", "cannot read `deep.json`", "cannot read `nan.json`"]);
    let ran = stage.sandbox.recipec(["audit", "run", "run", "--lock", TINY]);
    let steers = |c: char| c.is_control() && c != '\n';
    assert!(!ran.stdout.contains(steers) && !ran.stderr.contains(steers), "{:?}", ran.stdout);
    assert_eq!(stage.sandbox.recipec(["audit", "run", "nothing-here", "--lock", TINY]).code, 5);
}

#[test]
fn what_a_real_script_leaves_is_what_its_lock_says() {
    let bench = Bench::with_stubs();
    let mut case = plans::slurm(&bench.text("workspace"), port(), &bench.text("squash"));
    case.server().argv.push(plans::word("--run=", recipe::plan::Hole::Job, ""));
    case.lock =
        lock::build("example-recipe", &[case.plan.clone()], case.lock.pins.clone(), case.lock.known.clone());
    let output = bench.run(&case.script().text);
    assert!(output.status.success(), "{}", said(&output));
    let all = host::results::gather(&bench.path("workspace")).unwrap();
    let least = std::fs::read_to_string(repository().join("manifests/policy/scores.json")).unwrap();
    let policy = audit::run::Policy {
        thresholds: audit::scores::Thresholds::read(&least).unwrap(),
        tolerance: 0.02,
        share: 0.95,
    };
    let judged = audit::run::judge(&case.lock, &all, &policy);
    let [run] = &judged[..] else { panic!("{judged:#?}") };
    let of = |slug: &str| -> Vec<_> {
        run.checks
            .iter()
            .filter(|check| check.slug.as_str() == slug)
            .map(|check| check.verdict.word())
            .collect()
    };
    for slug in ["run-plan", "run-command", "run-environment", "run-harness", "run-ended"] {
        assert_eq!(of(slug), ["reproduced"], "{slug}: {:#?}", run.checks);
    }
    // The stand-in for the runtime does not say what it ran, and there is no result in a form that is known.
    assert!(
        run.checks.iter().all(|check| check.verdict != audit::run::Verdict::Contradicted),
        "{:#?}",
        run.checks
    );
    // Another lock, whose engine is told something else.
    case.server().argv.push("--more".into());
    let other =
        lock::build("example-recipe", &[case.plan.clone()], case.lock.pins.clone(), case.lock.known.clone());
    let judged = audit::run::judge(&other, &all, &policy);
    let wrong: Vec<(&str, &str)> = judged[0]
        .checks
        .iter()
        .filter(|check| check.verdict == audit::run::Verdict::Contradicted)
        .map(|check| (check.slug.as_str(), check.about.as_str()))
        .collect();
    assert_eq!(wrong, [("run-plan", "digest"), ("run-command", "server: --more")]);
}
