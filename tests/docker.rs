//! Emitted scripts on a real Docker daemon, in a tiny image that is pulled by digest from a real
//! registry on loopback. Its engine and its client record what they receive.
//!
//! Needs `../shared/judges`, root, Debian's docker.io, docker-registry and skopeo, and a C compiler;
//! says that it is skipped elsewhere. Some machines refuse `--privileged` inside: the test drops
//! that one option from the plan, and says so.

use std::process::{Command, Stdio};

use recipe::plan::{Mount, Word};

use crate::emit::judges::{Docker, Registry};
use crate::emit::plans::{self, Case};
use crate::emit::quoting::Hostile;
use crate::emit::run::{Bench, port, said};

// Fields are dropped in this order: daemons first, the folder with their process ids last.
struct Stage {
    docker: Docker,
    registry: Registry,
    bench: Bench,
}

impl Stage {
    fn open(test: &str) -> Option<Self> {
        let shared = crate::support::shared(test)?;
        let bench = Bench::new();
        let registry = Registry::start(test, &bench, "/workspace/record")?;
        let docker = Docker::start(test, &shared.join("judges"), &bench, &registry.address)?;
        Some(Self { docker, registry, bench })
    }

    fn case(&self) -> Case {
        let mut case = plans::docker("/workspace", port());
        case.pin_image(
            &self.registry.image.clone(),
            &self.registry.manifest,
            Some(self.registry.config.clone()),
        );
        for word in &mut case.plan.container {
            if word.as_text() == Some("example/engine:v1") {
                *word = Word::from(self.registry.image.as_str());
            }
        }
        println!("the plan's `--privileged` is dropped: a daemon inside a test machine may not have it");
        case.plan.container.retain(|word| word.as_text() != Some("--privileged"));
        case
    }

    fn command(&self, name: &str, script: &str) -> Command {
        let workspace = self.bench.path(name);
        std::fs::create_dir_all(workspace.join("record")).unwrap();
        let path = self.bench.write(&format!("{name}.sh"), script);
        let mut command = self.bench.plain("bash");
        command.arg(path).env("DOCKER_HOST", &self.docker.host).env("GITHUB_WORKSPACE", workspace);
        command
    }

    fn containers(&self) -> String {
        let output = self
            .bench
            .plain("docker")
            .args(["ps", "-aq"])
            .env("DOCKER_HOST", &self.docker.host)
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap()
    }
}

#[test]
fn a_real_docker_runs_what_the_plan_says() {
    let Some(stage) = Stage::open("a_real_docker_runs_what_the_plan_says") else { return };
    run_to_its_end(&stage);
    ended_by_a_signal(&stage);
}

fn run_to_its_end(stage: &Stage) {
    let mut case = stage.case();
    let mut hostile = Hostile::new(42);
    let texts: Vec<String> = (0..200).map(|_| hostile.text()).collect();
    case.server().argv.extend(texts.iter().map(|text| Word::from(text.as_str())));
    for (number, text) in texts.iter().enumerate() {
        case.server().env.insert(format!("V{number}"), Word::from(text.as_str()));
    }
    case.server().unset.insert("FROM_IMAGE".to_owned());
    let made = stage.bench.text("made/deep");
    case.plan.mounts.push(Mount {
        from: made.as_str().into(),
        to: "/made".into(),
        readonly: false,
        create: true,
    });
    let at = case.plan.container.iter().position(|word| word.as_text() == Some("--network=host")).unwrap();
    case.plan.container.insert(at, format!("--volume={made}:/made").into());
    case.client().argv.push("result=/made/proof".into());
    let script = case.script();
    let output = stage
        .command("one", &script.text)
        .env("SGLANG_SIMULATE_ACC_LEN", "3.24")
        .env("HF_TOKEN", "hf_secret")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", said(&output));
    let engine = &stage.bench.calls_in("one/record", "engine")[0];
    assert_eq!(engine.argv[3..], texts);
    let mut wanted: Vec<String> =
        texts.iter().enumerate().map(|(number, text)| format!("V{number}={text}")).collect();
    wanted.extend([
        "ENGINE_MODE=fast".to_owned(),
        "HF_TOKEN=hf_secret".to_owned(),
        "HOME=/root".to_owned(),
        "LD_LIBRARY_PATH=/usr/local/nvidia/lib".to_owned(),
        "PATH=/usr/local/bin:/usr/bin:/bin".to_owned(),
    ]);
    wanted.sort();
    let mut got = engine.env.clone();
    got.sort();
    assert_eq!(got, wanted);
    assert!(stage.bench.calls_in("one/record", "client")[0].env.contains(&"FROM_IMAGE=a b".to_owned()));
    assert!(stage.bench.path("made/deep/proof").exists());
    let evidence = stage.bench.evidence_in("one");
    let reference = format!("{}/tiny/engine@{}", stage.registry.address, stage.registry.manifest);
    // The daemon's own id of the image is the digest of its config, which the lock knows.
    assert_eq!(evidence["image"]["seen"], format!("{reference} {}", stage.registry.config));
    assert_eq!(evidence["image"]["pinned"]["config"], stage.registry.config.to_string());
    assert_eq!(evidence["exit"], 0);
    assert!(!evidence.to_string().contains("hf_secret"));
    assert_eq!(stage.containers(), "");
}

fn ended_by_a_signal(stage: &Stage) {
    let mut case = stage.case();
    case.client().argv.push("sleep=300".into());
    let mut child = stage.command("two", &case.script().text).stderr(Stdio::piped()).spawn().unwrap();
    stage.bench.wait_for("two/record/client.0.argv", &mut child);
    assert_ne!(stage.containers(), "");
    let pid = child.id().to_string();
    assert!(stage.bench.plain("bash").args(["-c", &format!("kill -TERM {pid}")]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(143), "{}", said(&output));
    assert_eq!(stage.bench.evidence_in("two")["processes"][1]["kind"], "client");
    assert_eq!(stage.containers(), "");
}
