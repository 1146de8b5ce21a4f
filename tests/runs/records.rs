//! The records of the failure corpus that are decided when something runs: each has a test, a rule, or a
//! reason why nobody can tell before a run.

use crate::support::{Sandbox, copy_tree, repository};

/// Who answers a record.
enum By {
    /// A page claims it, and its examples and cases show it.
    Page(&'static str),
    /// A test, by its name.
    Test(&'static str),
    /// Nobody, for a reason.
    Reason(&'static str),
}

use By::{Page, Reason, Test};

const RECORDS: [(&str, By); 21] = [
    ("F017", Test("a_curve_says_how_it_was_measured")),
    ("F033", Page("run-acceptance")),
    (
        "F113",
        Reason(
            "which KV layout a backend has is not in what a release says of itself; the text is wrong, so the score is: run-score",
        ),
    ),
    (
        "F127",
        Reason(
            "which architectures the kernels of an image were built for is in no file that a registry gives; the start fails, and the evidence says so: run-ended",
        ),
    ),
    ("F130", Page("kv-scales")),
    ("F132", Page("run-score")),
    (
        "F153",
        Reason(
            "what a release takes for its graphs is measured by it at each start; a waiver or a lower share is the author's answer to run-ended",
        ),
    ),
    (
        "F154",
        Reason(
            "the size of a model's recurrent state is in none of the facts of a checkpoint; the start fails: run-ended",
        ),
    ),
    (
        "F157",
        Reason(
            "needs the size of a token's cache, which the facts of a checkpoint do not give; the server dies under load: run-requests",
        ),
    ),
    ("F165", Page("prefix-cache-on-random")),
    ("F178", Reason("where an image keeps its interpreter, and for whom, is inside its layers")),
    ("F180", Test("a_port_can_be_computed_from_the_job")),
    ("F185", Test("nothing_else_than_the_locked_checkpoint_is_served")),
    ("F187", Test("a_missing_mount_source_is_named_before_the_container_starts")),
    ("F191", Test("paths_of_a_target_are_not_looked_for_on_the_authors_machine")),
    (
        "F214",
        Reason(
            "a fault of two kernels at one batch size in one image: a rule can only be written after the run",
        ),
    ),
    ("F215", Test("runs_that_start_together_import_an_image_once")),
    ("F216", Reason("a fault of one kernel in one image: a rule can only be written after the run")),
    ("F217", Test("a_container_is_given_the_limits_of_its_target")),
    (
        "F218",
        Reason(
            "that a run hangs is seen when it hangs; a point that is taken out is a difference that the author explains",
        ),
    ),
    (
        "F219",
        Reason(
            "a count of reverts, not a fault: rules carry where they were learnt, and a page its evidence",
        ),
    ),
];

#[test]
fn every_run_record_is_answered_or_it_is_said_why_not() {
    let sources: String = crate::support::files(&repository().join("tests"), ".rs")
        .iter()
        .map(|path| std::fs::read_to_string(path).unwrap())
        .collect();
    for (record, by) in &RECORDS {
        match by {
            Page(slug) => {
                let page = diag::page(slug).unwrap_or_else(|| panic!("{record}: there is no page {slug}"));
                let covers = page.explanation().unwrap().covers;
                assert!(covers.iter().any(|covered| covered == record), "{slug} does not claim {record}");
            }
            Test(name) => {
                assert!(sources.contains(&format!("fn {name}()")), "{record}: there is no test {name}");
            }
            Reason(why) => assert!(why.len() > 30, "{record}"),
        }
    }
    let Some(shared) = crate::support::shared("every_run_record_is_answered_or_it_is_said_why_not") else {
        return;
    };
    let text = std::fs::read_to_string(shared.join("failures.json")).unwrap();
    let all: serde_json::Value = serde_json::from_str(&text).unwrap();
    let of_runs: Vec<&str> = all["records"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|record| record["stage"] == "run")
        .map(|record| record["id"].as_str().unwrap())
        .collect();
    assert_eq!(of_runs, RECORDS.iter().map(|(record, _)| *record).collect::<Vec<_>>());
    let open = RECORDS.iter().filter(|(_, by)| matches!(by, Reason(_))).count();
    println!(
        "{} of {} run records are covered; for the rest it is said why not",
        RECORDS.len() - open,
        RECORDS.len()
    );
}

#[test]
fn a_curve_says_how_it_was_measured() {
    for (name, committed) in engine::curves::committed() {
        for condition in ["run", "dataset", "hardware", "outputTokens"] {
            assert!(
                committed.conditions.get(condition).is_some_and(|value| !value.is_empty()),
                "{name}: {condition}"
            );
        }
        assert!(!committed.curve.method.is_empty(), "{name}");
    }
}

fn tour() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.copy("fixtures/tour");
    copy_tree(&repository().join("fixtures/mirror"), &sandbox.path("mirror"));
    sandbox
}

#[test]
fn a_port_can_be_computed_from_the_job() {
    // Of a cluster whose hosts are shared: every process of a job hears of the same computed port.
    let root = repository().join("manifests");
    let target = std::fs::read_to_string(root.join("targets/mi300x-amds.nix")).unwrap();
    assert!(target.contains("port = jobPort 40000 10000;"));
    let sandbox = Sandbox::new();
    let root = repository().display().to_string();
    let words = ["plan", "*-mi300x-*", "--target", "mi300x-amds", "--root", &root, "--format", "json"];
    let value = sandbox.recipec(words).exits(0).json();
    let plans = value["plans"].as_array().unwrap();
    assert!(!plans.is_empty());
    for plan in plans {
        let servers = plan["steps"].as_array().unwrap().iter().filter(|step| step["kind"] == "server");
        for server in servers {
            assert!(
                server["argv"].to_string().contains(r#"{"base":40000,"mod":10000,"run":"port"}"#),
                "{}",
                plan["id"]
            );
        }
    }
}

#[test]
fn paths_of_a_target_are_not_looked_for_on_the_authors_machine() {
    let sandbox = tour();
    let target = sandbox.read("manifests/targets/cluster.nix");
    let path = target.split('"').find(|text| text.starts_with("/models/")).unwrap();
    assert!(!std::path::Path::new(path).exists(), "{path}");
    for words in [&["check"][..], &["lock", "--mirror", "mirror"], &["build", "--out", "out"]] {
        let ran = sandbox.recipec(words);
        assert_eq!(ran.code, 0, "{words:?}: {}{}", ran.stdout, ran.stderr);
    }
    // The script looks there, where it runs.
    let script = sandbox.read("out/tiny-fp4-b200-vllm/cluster/throughput/0.sh");
    assert!(script.contains(path) && script.contains("require_sources"));
}

#[test]
fn a_container_is_given_the_limits_of_its_target() {
    let sandbox = tour();
    let target = sandbox.read("manifests/targets/one-host.nix");
    let limited = target.replace("network = \"host\";", "network = \"host\"; ulimit = \"nofile=1048576\";");
    assert_ne!(limited, target);
    sandbox.write("manifests/targets/one-host.nix", limited);
    let value = sandbox.recipec(["plan", "--target", "one-host", "--format", "json"]).exits(0).json();
    let container = value["plans"][0]["container"].to_string();
    assert!(container.contains("nofile=1048576"), "{container}");
}
