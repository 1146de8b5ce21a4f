//! One checkpoint on many nodes.

use std::process::Command;

use serde_json::Value;

use super::{LOCK, MODEL, SHARD, Stage};
use crate::emit::judges::Slurm;
use crate::emit::run::Bench;

/// Audits as a task of a Slurm step does; returns the exit code.
fn task(stage: &Stage, (node, number, of): (&str, usize, usize), folder: &str, more: &[&str]) -> i32 {
    let mut command: Command = stage.sandbox.command("recipec");
    command.env("SLURM_JOB_ID", "77").env("SLURMD_NODENAME", node).env("SLURM_PROCID", number.to_string());
    command.env("SLURM_NTASKS", of.to_string());
    command.args([
        "audit",
        "checkpoint",
        folder,
        "--lock",
        LOCK,
        "--repository",
        MODEL,
        "--report",
        "reports",
    ]);
    command.args(more).output().unwrap().status.code().unwrap()
}

fn merged(stage: &Stage, more: &[&str]) -> (i32, Value) {
    let words = ["audit", "nodes", "reports", "--format", "json"];
    let ran = stage.sandbox.recipec(words.iter().chain(more));
    (ran.code, ran.json())
}

#[test]
fn nodes_that_share_a_folder_share_the_reading() {
    let stage = Stage::new();
    let part = ["--part", "slurm"];
    for number in 0..3 {
        assert_eq!(task(&stage, (&format!("n{number}"), number, 3), "model", &part), 0);
    }
    let (code, value) = merged(&stage, &["--expect", "3"]);
    assert_eq!(
        (code, &value["state"], &value["unread"]),
        (0, &"complete".into(), &Value::Array(vec![])),
        "{value:#}"
    );
    // Each file was read by one of them, and by no more.
    let reports = crate::support::files(&stage.path("reports"), ".node.json");
    let read = |path: &std::path::PathBuf| -> Vec<String> {
        let value: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        let files = value["files"].as_array().unwrap().iter().filter(|file| file["read"] == true);
        files.map(|file| file["path"].as_str().unwrap().to_owned()).collect()
    };
    let mut all: Vec<String> = reports.iter().flat_map(read).collect();
    all.sort();
    let before = all.len();
    all.dedup();
    assert_eq!((before, all.len()), (10, 10));
    // One that is silent left files that nobody has read, and is missed.
    std::fs::remove_file(&reports[1]).unwrap();
    let (code, value) = merged(&stage, &[]);
    assert_eq!((code, &value["state"]), (5, &"unreadable".into()));
    assert!(!value["unread"].as_array().unwrap().is_empty());
    let (code, value) = merged(&stage, &["--expect", "3"]);
    assert_eq!((code, &value["diagnostics"][0]["slug"]), (4, &"nodes-unreported".into()));
}

#[test]
fn a_node_with_another_checkpoint_is_named() {
    let stage = Stage::new();
    stage.bash(&format!(
        "cp -r model other && printf X | dd of=other/{SHARD} bs=1 seek=9000 conv=notrunc status=none"
    ));
    assert_eq!(task(&stage, ("n0", 0, 2), "model", &[]), 0);
    assert_eq!(task(&stage, ("n1", 1, 2), "other", &[]), 4);
    let (code, value) = merged(&stage, &["--expect", "2"]);
    assert_eq!((code, &value["state"]), (4, &"different".into()));
    let wrong = &value["wrong"][0];
    assert_eq!(
        (&wrong["path"], &wrong["state"], &wrong["nodes"]),
        (&SHARD.into(), &"hash".into(), &serde_json::json!(["n1.1"]))
    );
    // A gate by names and sizes is no audit of the content: the two do not add up.
    assert_eq!(task(&stage, ("n1", 1, 2), "model", &["--fast"]), 0);
    let (code, value) = merged(&stage, &[]);
    assert_eq!((code, &value["diagnostics"][0]["slug"]), (4, &"nodes-unreported".into()), "{value:#}");
}

#[test]
fn reports_that_are_none_are_refused() {
    let stage = Stage::new();
    assert_eq!(task(&stage, ("../../n0\n", 0, 1), "model", &[]), 0);
    let reports = crate::support::files(&stage.path("reports"), ".node.json");
    assert_eq!(reports.len(), 1, "a node's name leads nowhere else");
    for text in ["", "{}", "[1]", "{\"version\":2}"] {
        stage.sandbox.write("reports/x.node.json", text);
        let (code, value) = merged(&stage, &[]);
        assert_eq!((code, &value["diagnostics"][0]["slug"]), (5, &"cannot-read".into()), "{text}");
    }
    for part in ["3/2", "x", "slurm"] {
        let (ran, _) = stage.audit("model", &["--part", part]);
        assert_eq!(ran.code, 2, "{part}");
    }
}

/// The scheduler's own variables say which part each task of a step has.
#[test]
fn a_real_step_shares_the_reading() {
    let test = "a_real_step_shares_the_reading";
    let Some(shared) = crate::support::shared(test) else { return };
    let bench = Bench::new();
    let Some(slurm) = Slurm::start(test, &shared.join("judges"), &bench) else { return };
    let stage = Stage::new();
    let mut command: Command = stage.sandbox.command("srun");
    command.env("SLURM_CONF", &slurm.conf).args(["-N1", "-n2", "recipec", "audit", "checkpoint", "model"]);
    command.args(["--lock", LOCK, "--repository", MODEL, "--part", "slurm", "--report", "reports"]);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("part 1 of 2") && said.contains("part 2 of 2"), "{said}");
    let (code, value) = merged(&stage, &["--expect", "2"]);
    assert_eq!((code, &value["state"]), (0, &"complete".into()), "{value:#}");
    assert_eq!(value["nodes"].as_array().unwrap().len(), 2);
}
