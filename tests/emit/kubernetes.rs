//! Plans on Kubernetes: the file is what the published API takes, and its entry runs the plan.

use std::os::unix::fs::PermissionsExt as _;

use engine::known::Known;
use eval::{Limits, Session};
use k8s_openapi::api::{batch::v1::Job, core::v1::ConfigMap};
use recipe::plan::Mode;
use serde_json::{Value, json};

use super::plans::{self, Case};
use super::run::{self, Bench, port, said};
use crate::oracle::{load, manifests};
use crate::support::repository;

/// Returns the plan of the first job of a recipe on the Kubernetes target of the repository.
fn real_job() -> Value {
    let (files, recipes, targets) = manifests(repository());
    let mut session = Session::new(&files, Limits::default());
    let corpus = load(&mut session, &recipes, &targets);
    let key = "qwen3.5-fp4-b200-sglang-agentic-mtp";
    let recipe = corpus.recipes.iter().find(|recipe| recipe.key.value == key).unwrap();
    let target = corpus.targets.iter().find(|target| target.name.value == "kubernetes-b200").unwrap();
    let job = &recipe::matrix(recipe, &corpus.targets)[0];
    let plan = recipe::plan(&mut session, recipe, target, job, Mode::Throughput, &Known::default()).unwrap();
    assert!(plan.container.is_empty() && plan.allocate.is_none());
    plan.kubernetes.unwrap()
}

/// Returns a plan of two stand-ins in a pod whose workspace is at `workspace`.
fn in_pod(workspace: &str, port: u16) -> Case {
    let mut case = plans::plain(workspace, port);
    case.site.runtime = emit::Runtime::Kubernetes;
    case.plan.mounts.clear();
    case.plan.mounts.push(recipe::plan::Mount {
        from: "claim:inferencex".into(),
        to: workspace.into(),
        readonly: false,
        create: false,
    });
    let mut job = real_job();
    job["spec"]["template"]["spec"]["containers"][0]["workingDir"] = json!(workspace);
    case.plan.kubernetes = Some(job);
    case
}

/// Returns the two documents of a file.
fn documents(text: &str) -> [Value; 2] {
    let (config, job) = text.split_once("\n---\n").unwrap();
    [config, job].map(|document| serde_saphyr::from_str(document).unwrap())
}

#[test]
fn the_file_is_what_the_published_api_takes() {
    let case = in_pod("/workspace", 8888);
    let script = case.script();
    assert_eq!(script.path, "example-recipe/example-target/throughput/3.yaml");
    let [config, job] = documents(&script.text);
    // A field that the API does not have is not in what it gives back.
    let config_again =
        serde_json::to_value(serde_json::from_value::<ConfigMap>(config.clone()).unwrap()).unwrap();
    let job_again = serde_json::to_value(serde_json::from_value::<Job>(job.clone()).unwrap()).unwrap();
    assert_eq!((&config, &job), (&config_again, &job_again));
    let pod = &job["spec"]["template"]["spec"];
    let container = &pod["containers"][0];
    let digest = lock::Digest::of(b"the manifest");
    assert_eq!(container["image"], format!("example/engine@sha256:{}", digest.hex()));
    assert_eq!(container["resources"]["limits"]["nvidia.com/gpu"], "4");
    assert_eq!(container["command"], json!(["bash", "/recipec/run.sh", "pod"]));
    assert_eq!(container["env"][0]["valueFrom"]["secretKeyRef"]["key"], "HF_TOKEN");
    assert_eq!(job["metadata"]["namespace"], "benchmarks");
    let name = job["metadata"]["name"].as_str().unwrap();
    assert!(name.len() <= 63 && name.starts_with("example-recipe-throughput-3-"), "{name}");
    assert_eq!(pod["volumes"].as_array().unwrap().last().unwrap()["configMap"]["name"], name);
    // What a mount says becomes a volume of its kind.
    let kinds = ["persistentVolumeClaim", "hostPath", "emptyDir", "configMap"];
    for (volume, kind) in pod["volumes"].as_array().unwrap().iter().zip(kinds) {
        assert!(volume.get(kind).is_some(), "{volume} is no {kind}");
    }
}

#[test]
fn the_entry_of_the_job_runs_the_plan() {
    let bench = Bench::with_stubs();
    let port = port();
    let case = in_pod(&bench.text("workspace"), port);
    let [config, _] = documents(&case.script().text);
    let entry = bench.write("run.sh", config["data"]["run.sh"].as_str().unwrap());
    std::fs::set_permissions(&entry, std::fs::Permissions::from_mode(0o555)).unwrap();
    if run::has("shellcheck") {
        let ran = bench.plain("shellcheck").args(["--severity=style", "--shell=bash"]).arg(&entry).output();
        let ran = ran.unwrap();
        assert!(ran.status.success(), "{}", said(&ran));
    }
    let output = bench
        .plain("bash")
        .arg(&entry)
        .arg("pod")
        .env("RECIPEC_NODE", "node-7")
        .env("RECIPEC_POD", "0b1c")
        .env("RECIPEC_RUN", "example-recipe-throughput-3-x")
        .env("KUBERNETES_SERVICE_HOST", "10.0.0.1")
        .env("IMAGE_VARIABLE", "of the image")
        .env("HF_TOKEN", "hf_secret")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", said(&output));
    let [engine] = &bench.calls("engine")[..] else { panic!("{}", said(&output)) };
    assert_eq!(engine.argv, ["engine", "--port", &port.to_string()]);
    let has = |pair: &str| engine.env.iter().any(|one| one == pair);
    assert!(has("ENGINE_MODE=fast") && has("HF_TOKEN=hf_secret") && has("IMAGE_VARIABLE=of the image"));
    assert!(!engine.env.iter().any(|pair| pair.starts_with("KUBERNETES_") || pair.starts_with("RECIPEC_")));
    let evidence = bench.path("workspace/example-recipe_example-target_throughput_3.evidence.json");
    let evidence: Value = serde_json::from_slice(&std::fs::read(evidence).unwrap()).unwrap();
    assert_eq!((&evidence["exit"], &evidence["node"]), (&json!(0), &json!("node-7")));
    assert!(!evidence.to_string().contains("hf_secret"));
}

#[test]
fn a_pod_says_nothing_of_a_value_that_only_the_run_knows() {
    let (files, recipes, targets) = manifests(repository());
    let mut session = Session::new(&files, Limits::default());
    let mut corpus = load(&mut session, &recipes, &targets);
    let place = corpus.targets.iter().position(|target| target.name.value == "kubernetes-b200").unwrap();
    let docker = corpus.targets.iter().position(|target| target.name.value == "docker-b200").unwrap();
    // The workspace of a Docker host is wherever it is run.
    corpus.targets[place].mounts = corpus.targets[docker].mounts.clone();
    let recipe = corpus.recipes.iter().find(|recipe| recipe.key.value.contains("b200-sglang")).unwrap();
    let job = &recipe::matrix(recipe, &corpus.targets)[0];
    let target = &corpus.targets[place];
    let found = recipe::plan(&mut session, recipe, target, job, Mode::Throughput, &Known::default());
    let found = format!("{:?}", found.unwrap_err());
    assert!(found.contains("a mount of `kubernetes-b200` holds a value that only the run knows"), "{found}");
}
