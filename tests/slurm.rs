//! Emitted scripts under a real Slurm with the real pyxis and enroot, in a tiny image that is pulled
//! by digest from a real registry on loopback. Its engine and its client record what they receive.
//!
//! Needs `../shared/judges`, root, Debian's docker-registry and skopeo, and a C compiler; says that
//! it is skipped elsewhere.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use emit::{Import, Runtime};
use recipe::plan::{Hole, Mount, Word};

use crate::emit::judges::{Registry, Slurm};
use crate::emit::plans::{self, COMMIT, Case, REPOSITORY, word};
use crate::emit::quoting::Hostile;
use crate::emit::run::{Bench, port, said};

/// The workspace's place in the container.
const WORKSPACE: &str = "/workspace";

// Fields are dropped in this order: daemons first, the folder with their process ids last.
struct Stage {
    slurm: Slurm,
    registry: Registry,
    bench: Bench,
}

impl Stage {
    /// Starts everything, or says why not.
    fn open(test: &str) -> Option<Self> {
        let shared = crate::support::shared(test)?;
        let bench = Bench::new();
        let slurm = Slurm::start(test, &shared.join("judges"), &bench)?;
        let registry = Registry::start(test, &bench, "/workspace/record")?;
        Some(Self { slurm, registry, bench })
    }

    /// Makes a case run the pushed image.
    fn image(&self, case: &mut Case) {
        let image = self.registry.image.clone();
        case.pin_image(&image, &self.registry.manifest, Some(self.registry.config.clone()));
        for word in &mut case.plan.container {
            if word.as_text() == Some("--container-image=example/engine:v1") {
                *word = Word::from(format!("--container-image={image}"));
            }
        }
    }

    /// Returns the command that runs a script in a workspace of its own.
    fn command(&self, name: &str, script: &str) -> Command {
        let workspace = self.bench.path(name);
        std::fs::create_dir_all(workspace.join("record")).unwrap();
        let path = self.bench.write(&format!("{name}.sh"), script);
        let mut command = self.bench.plain("bash");
        command.arg(path).env("SLURM_CONF", &self.slurm.conf).env("GITHUB_WORKSPACE", workspace);
        command
    }

    /// Fails unless the job is gone and nothing of it runs.
    #[track_caller]
    fn is_clean(&self, name: &str) {
        let begun = Instant::now();
        loop {
            let output =
                self.bench.plain("squeue").arg("-h").env("SLURM_CONF", &self.slurm.conf).output().unwrap();
            let jobs = String::from_utf8_lossy(&output.stdout).trim().to_owned();
            if jobs.is_empty() {
                break;
            }
            // A step that allocated by itself gives its node back a moment after its end.
            assert!(begun.elapsed() < Duration::from_secs(15), "{name}: the job is still there: {jobs}");
            std::thread::sleep(Duration::from_millis(100));
        }
        self.bench.nothing_runs_in(&format!("{name}/record"));
    }
}

/// The environment that a process in the tiny image has beside what a plan declares.
fn of_image(call: &crate::emit::run::Call) -> Vec<String> {
    let known =
        ["PATH=/usr/local/bin:/usr/bin:/bin", "FROM_IMAGE=a b", "LD_LIBRARY_PATH=/usr/local/nvidia/lib"];
    for pair in known {
        assert!(call.env.contains(&pair.to_owned()), "{pair} of the image is missing in {:?}", call.env);
    }
    let mut rest: Vec<String> = call
        .env
        .iter()
        .filter(|pair| {
            !known.contains(&pair.as_str())
                && !pair.starts_with("HOME=")
                && !pair.starts_with("CUDA_VISIBLE_DEVICES=")
        })
        .cloned()
        .collect();
    rest.sort();
    rest
}

#[test]
fn a_real_slurm_runs_what_the_plan_says() {
    let Some(stage) = Stage::open("a_real_slurm_runs_what_the_plan_says") else { return };
    imported_on_the_node(&stage);
    imported_where_jobs_are_submitted(&stage);
    allocated_by_the_step(&stage);
    ended_by_a_signal(&stage);
    downloaded_to_the_node(&stage);
}

fn imported_on_the_node(stage: &Stage) {
    let port = port();
    let mut case = plans::slurm(WORKSPACE, port, "/run/judge-node/squash");
    stage.image(&mut case);
    let mut hostile = Hostile::new(23);
    let texts: Vec<String> = (0..200).map(|_| hostile.text()).collect();
    case.server().argv.extend(texts.iter().map(|text| Word::from(text.as_str())));
    for (number, text) in texts.iter().enumerate() {
        case.server().env.insert(format!("V{number}"), Word::from(text.as_str()));
    }
    case.client().argv.push(word("job=", Hole::Job, ""));
    case.client().env.insert("NODE".to_owned(), Word::hole(Hole::Host { node: (0, 0) }));
    case.client().env.insert("FROM_IMAGE".to_owned(), "declared".into());
    // A source that nobody has made yet, on storage that only the node sees.
    case.plan.mounts.push(Mount {
        from: "/run/judge-node/cache/deep".into(),
        to: "/cache".into(),
        readonly: false,
        create: true,
    });
    for word in &mut case.plan.container {
        if word.pieces().len() == 3 {
            let mut mounts = word.clone();
            mounts.push_text(",/run/judge-node/cache/deep:/cache");
            *word = mounts;
        }
    }
    case.client().argv.push("result=/cache/proof".into());
    let script = case.script();
    let mut command = stage.command("one", &script.text);
    let output = command
        .env("SGLANG_SIMULATE_ACC_LEN", "3.24")
        .env("LD_LIBRARY_PATH", "/opt/modules/lib")
        .env("HF_TOKEN", "hf_secret")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", said(&output));
    let calls = stage.bench.calls_in("one/record", "engine");
    let [engine] = &calls[..] else { panic!("{}", said(&output)) };
    assert_eq!(engine.argv[..3], ["engine", "--port", &port.to_string()]);
    assert_eq!(engine.argv[3..], texts);
    let mut wanted: Vec<String> =
        texts.iter().enumerate().map(|(number, text)| format!("V{number}={text}")).collect();
    wanted.extend(["ENGINE_MODE=fast".to_owned(), "HF_TOKEN=hf_secret".to_owned()]);
    wanted.sort();
    assert_eq!(of_image(engine), wanted);
    let client = &stage.bench.calls_in("one/record", "client")[0];
    assert!(
        client.env.contains(&"NODE=n0".to_owned()) && client.env.contains(&"FROM_IMAGE=declared".to_owned())
    );
    // Made on the node, in its own storage, and nowhere else.
    assert!(stage.bench.path("slurm/node/n0/cache/deep/proof").exists());

    let evidence = stage.bench.evidence_in("one");
    let pinned = stage.registry.pinned();
    assert_eq!(evidence["image"]["pinned"]["reference"], pinned);
    assert_eq!(evidence["image"]["seen"], pinned, "what enroot says it imported");
    assert_eq!(evidence["node"], "n0");
    assert_eq!(evidence["exit"], 0);
    assert_eq!(evidence["script"], script.sha256.to_string());
    assert_eq!(evidence["processes"][0]["argv"], serde_json::json!(engine.argv));
    assert!(!evidence.to_string().contains("hf_secret"));
    stage.is_clean("one");
}

fn imported_where_jobs_are_submitted(stage: &Stage) {
    let squash = stage.bench.text("squash");
    let mut case = plans::slurm(WORKSPACE, port(), &squash);
    case.site.runtime = Runtime::Pyxis { squash: Some(squash), import: Import::Login };
    stage.image(&mut case);
    for round in 0..2 {
        let output = stage.command("two", &case.script().text).output().unwrap();
        assert!(output.status.success(), "{}", said(&output));
        let imported = said(&output).contains("importing docker://");
        assert_eq!(imported, round == 0, "the second run takes the file that is there");
    }
    assert_eq!(stage.bench.evidence_in("two")["image"]["seen"], stage.registry.pinned());
    stage.is_clean("two");
}

fn allocated_by_the_step(stage: &Stage) {
    let mut case = plans::direct(WORKSPACE, port());
    stage.image(&mut case);
    case.plan.mounts.push(Mount {
        from: "/run/judge-node/own".into(),
        to: "/own".into(),
        readonly: false,
        create: true,
    });
    let output = stage.command("three", &case.script().text).output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    let evidence = stage.bench.evidence_in("three");
    assert_eq!(evidence["image"]["seen"], stage.registry.pinned());
    assert_eq!(evidence["node"], "n0");
    assert!(stage.bench.path("slurm/node/n0/own").is_dir());
    stage.is_clean("three");
}

fn ended_by_a_signal(stage: &Stage) {
    for allocates in [true, false] {
        let name = if allocates { "four" } else { "five" };
        let mut case = if allocates {
            plans::slurm(WORKSPACE, port(), "/run/judge-node/squash")
        } else {
            plans::direct(WORKSPACE, port())
        };
        stage.image(&mut case);
        case.client().argv.push("sleep=300".into());
        let mut child = stage.command(name, &case.script().text).stderr(Stdio::piped()).spawn().unwrap();
        stage.bench.wait_for(&format!("{name}/record/client.0.argv"), &mut child);
        let pid = child.id().to_string();
        assert!(
            stage.bench.plain("bash").args(["-c", &format!("kill -TERM {pid}")]).status().unwrap().success()
        );
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(143), "{name}: {}", said(&output));
        let evidence = stage.bench.evidence_in(name);
        assert_eq!(evidence["processes"][1]["kind"], "client", "{name}: {}", said(&output));
        assert_ne!(evidence["exit"], 0);
        stage.is_clean(name);
    }
}

fn downloaded_to_the_node(stage: &Stage) {
    // The stand-in downloads nothing, so the gate stops the run, after three attempts at the commit.
    let mut case = plans::slurm(WORKSPACE, port(), "/run/judge-node/squash");
    stage.image(&mut case);
    case.serve(vec![
        plans::file("config.json", b"{}\n", true),
        plans::file("model.safetensors", &[3; 4000], false),
    ]);
    let folder = "/run/judge-node/models/tiny-model";
    case.prepend(plans::download("/unused", Some("/models/tiny-model")));
    case.plan.mounts.push(Mount {
        from: "/run/judge-node/models".into(),
        to: "/models".into(),
        readonly: false,
        create: true,
    });
    for word in &mut case.plan.container {
        if word.pieces().len() == 3 {
            let mut mounts = word.clone();
            mounts.push_text(",/run/judge-node/models:/models");
            *word = mounts;
        }
    }
    let script = case.script().text;
    let output = stage.command("six", &script).output().unwrap();
    assert_eq!(output.status.code(), Some(4), "{}", said(&output));
    assert!(said(&output).contains("stopped: checkpoint-incomplete"), "{}", said(&output));
    let hf = &stage.bench.calls_in("six/record", "hf")[0];
    assert_eq!(
        hf.argv,
        ["hf", "download", REPOSITORY, "--revision", COMMIT, "--local-dir", "/models/tiny-model"]
    );
    stage.is_clean("six");

    // Once it is there, it is gated and served.
    let on_node = folder.replace("/run/judge-node", "slurm/node/n0");
    stage.bench.write(&format!("{on_node}/config.json"), b"{}\n");
    stage.bench.write(&format!("{on_node}/model.safetensors"), [3; 4000]);
    let output = stage.command("seven", &script).output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    assert_eq!(stage.bench.evidence_in("seven")["checkpoints"][0]["check"], "full");
    assert!(stage.bench.calls_in("seven/record", "hf").is_empty());
    stage.is_clean("seven");
}
