//! Evidence of runs and pull requests: what upstream's tools download, judged as a reviewer would.

use serde_json::Value;

use crate::support::{Ran, Sandbox, copy_tree, repository};

const FOLDER: &str = "with/evidence";

/// The recipe of the tour with its lock, and evidence that holds.
fn submission() -> Sandbox {
    let sandbox = Sandbox::with("fixtures/tour");
    copy_tree(&repository().join("fixtures/mirror"), &sandbox.path("mirror"));
    sandbox.copy("fixtures/explain/verify");
    sandbox.recipec(["lock", "--mirror", "mirror"]).exits(0);
    sandbox
}

fn verify(sandbox: &Sandbox, more: &[&str]) -> Ran {
    let own = ["verify", "--mirror", "mirror", "--evidence", FOLDER];
    sandbox.recipec(own.iter().chain(more).copied())
}

/// Changes a file of the evidence.
fn change(sandbox: &Sandbox, file: &str, from: &str, to: &str) {
    let path = format!("{FOLDER}/{file}");
    let text = sandbox.read(&path);
    assert!(text.contains(from), "{file} has no {from}");
    sandbox.write(&path, text.replace(from, to));
}

/// Returns the verdicts of a rule: outcome and message.
fn said(sandbox: &Sandbox, rule: &str) -> Vec<(String, String)> {
    let document = verify(sandbox, &["--rule", rule, "--format", "json"]).json();
    let text = |verdict: &Value, field: &str| verdict[field].as_str().unwrap().to_owned();
    let verdicts = document["verdicts"].as_array().unwrap().iter();
    verdicts.map(|verdict| (text(verdict, "verdict"), text(verdict, "message"))).collect()
}

#[track_caller]
fn is(sandbox: &Sandbox, rule: &str, outcome: &str, message: &str) {
    let all = said(sandbox, rule);
    assert!(
        all.iter().any(|(word, said)| word == outcome && said.contains(message)),
        "{rule} is not {outcome} with {message}: {all:?}"
    );
}

#[test]
fn evidence_that_holds_is_a_pass_and_fills_in_the_checklist() {
    let sandbox = submission();
    let passed = verify(&sandbox, &["--format", "markdown"]).exits(0);
    assert!(passed.stdout.starts_with("## ✅✅✅ **Verdict: PASS** ✅✅✅\n"), "{}", passed.stdout);
    let signoff = verify(&sandbox, &["--signoff"]).exits(0);
    // What is proven is ticked with its proof; what a person must answer is left open.
    for line in [
        "- [x] Verified that this is the latest version of the checklist",
        "- [x] Verified that this PR passes evals",
        "  - `eval-passed`: the least scores: gsm8k 0.9340 of 0.93",
        "- [ ] If anything cannot be satisfied, I have provided additional reasoning below",
    ] {
        assert!(signoff.stdout.lines().any(|found| found == line), "no {line}\n{}", signoff.stdout);
    }
    change(&sandbox, "eval_tiny/results_2026-07-10T09-00-00.json", "0.934", "0.92");
    let failed = verify(&sandbox, &["--signoff"]).exits(4);
    assert!(failed.stdout.contains("- [ ] Verified that this PR passes evals\n"), "{}", failed.stdout);
    assert!(failed.stdout.contains("0.9200 and 0.93 is asked"), "{}", failed.stdout);
    let rejected = verify(&sandbox, &["--format", "markdown"]);
    assert!(rejected.stdout.starts_with("## ❌❌❌ **REJECTED** ❌❌❌\n"), "{}", rejected.stdout);
}

#[test]
fn rows_are_matched_with_points_one_to_one_and_by_image() {
    let sandbox = submission();
    is(&sandbox, "sweep-complete", "holds", "2/2 points have their row");
    let row = sandbox.read(&format!("{FOLDER}/bmk_tiny_conc16/agg_tiny_conc16.json"));
    // The list of all beside a file for each is no second row; another measurement of a point is.
    sandbox.write(&format!("{FOLDER}/results_bmk/agg_bmk.json"), format!("[{row}]"));
    is(&sandbox, "sweep-complete", "holds", "2/2");
    sandbox
        .write(&format!("{FOLDER}/results_bmk/agg_bmk.json"), format!("[{}]", row.replace("1234.5", "1.0")));
    is(&sandbox, "sweep-complete", "drifts", "several rows for tiny-fp4-b200-vllm#1");
    sandbox.write(
        &format!("{FOLDER}/results_bmk/agg_bmk.json"),
        format!("[{}]", row.replace("\"conc\": 16", "\"conc\": 64")),
    );
    is(&sandbox, "sweep-complete", "drifts", "rows of no point: tp=1 conc=64");
    sandbox.write(&format!("{FOLDER}/results_bmk/agg_bmk.json"), "[]");
    // A digest decides over the tag before it.
    let image = "registry.example/tiny/engine:1.0";
    change(
        &sandbox,
        "bmk_tiny_conc4/agg_tiny_conc4.json",
        image,
        &format!("{image}@sha256:{}", "0".repeat(64)),
    );
    is(&sandbox, "sweep-complete", "drifts", "and not with");
    let pinned = "sha256:45c86ca2811f1367aaeb41f1315cf2ca3ca33295aeeff3c29c223f3a90d4591e";
    change(&sandbox, "bmk_tiny_conc4/agg_tiny_conc4.json", &format!("sha256:{}", "0".repeat(64)), pinned);
    is(&sandbox, "sweep-complete", "holds", "2/2");
}

#[test]
fn an_evaluation_counts_with_the_image_of_the_row_of_its_fingerprint() {
    let sandbox = submission();
    for conc in ["4", "16"] {
        let file = format!("bmk_tiny_conc{conc}/agg_tiny_conc{conc}.json");
        change(&sandbox, &file, "tiny-one", "tiny-two");
    }
    is(&sandbox, "eval-passed", "unreadable", "with which image");
    change(
        &sandbox,
        "eval_tiny/meta_env.json",
        "\"hw\"",
        "\"image\": \"registry.example/other:1\",\n  \"hw\"",
    );
    is(&sandbox, "eval-passed", "drifts", "evaluated with `registry.example/other:1`");
    // Without upstream's table the least score is policy's.
    std::fs::remove_file(sandbox.path(FOLDER).join("base/utils/evals/thresholds.yaml")).unwrap();
    change(
        &sandbox,
        "eval_tiny/meta_env.json",
        "registry.example/other:1",
        "registry.example/tiny/engine:1.0",
    );
    is(&sandbox, "eval-passed", "holds", "gsm8k 0.9340 of 0.9");
    std::fs::remove_dir_all(sandbox.path(FOLDER).join("eval_tiny")).unwrap();
    is(&sandbox, "eval-passed", "silent", "no evaluation");
}

#[test]
fn evidence_ages_by_commits_and_by_machines_that_were_taken_out() {
    let sandbox = submission();
    let (head, first) =
        ("5f0c1e2d3b4a59687786958493a2b1c0d1e2f301", "0a1b2c3d4e5f60718293a4b5c6d7e8f901234567");
    change(&sandbox, "run.json", head, first);
    is(&sandbox, "evidence-current", "holds", "is of commit 0a1b2c3d4e5f of the pull request");
    change(
        &sandbox,
        "commits.json",
        &format!("\"sha\": \"{head}\""),
        &format!("\"sha\": \"{head}\", \"files\": [{{\"filename\": \"manifests/tiny.nix\"}}]"),
    );
    is(&sandbox, "evidence-current", "drifts", "changed until the head 5f0c1e2d3b4a: manifests/tiny.nix");
    change(&sandbox, "run.json", first, &"9".repeat(40));
    is(&sandbox, "evidence-current", "drifts", "no longer part of the pull request");
    change(&sandbox, "run.json", "success", "failure");
    is(&sandbox, "evidence-current", "drifts", "ended in failure");

    let sandbox = submission();
    change(&sandbox, "jobs.json", "cluster_00", "cluster_07");
    is(&sandbox, "evidence-current", "drifts", "`cluster_07`: it is no longer among the runners of `b200`");
    let sandbox = submission();
    change(&sandbox, "jobs.json", "\"labels\"", "\"node\": \"gpu-13\", \"labels\"");
    is(&sandbox, "evidence-current", "holds", "1 job ran");
    let target = sandbox.read("manifests/targets/cluster.nix");
    let excluding =
        target.replace("partition = \"b200\";", "partition = \"b200\"; exclude = \"gpu-12,gpu-13\";");
    sandbox.write("manifests/targets/cluster.nix", excluding);
    is(&sandbox, "evidence-current", "drifts", "`gpu-13`: its target excludes it by now");
}

#[test]
fn the_last_word_of_one_who_may_decides_on_reuse() {
    let sandbox = submission();
    is(&sandbox, "reuse-authorized", "holds", "@olga authorized run 4242");
    change(&sandbox, "run.json", "4242", "4243");
    is(&sandbox, "reuse-authorized", "drifts", "authorized run 4242, and the evidence is of run 4243");
    let path = format!("{FOLDER}/comments.json");
    let comments: Value = serde_json::from_str(&sandbox.read(&path)).unwrap();
    let add = |association: &str, body: &str| {
        let mut all = comments.as_array().unwrap().clone();
        all.push(serde_json::json!({
            "created_at": "2026-07-10T14:00:00Z", "author_association": association,
            "user": { "login": "otto" }, "body": body,
        }));
        sandbox.write(&path, Value::from(all).to_string());
    };
    add("COLLABORATOR", "/reuse-sweep-run 4243");
    is(&sandbox, "reuse-authorized", "holds", "@otto authorized run 4243");
    add("NONE", "/reuse-sweep-run 4243");
    is(&sandbox, "reuse-authorized", "drifts", "@olga authorized run 4242, and");
    add("MEMBER", "a node was bad\n/revoke-sweep-run");
    is(&sandbox, "reuse-authorized", "drifts", "@otto has revoked the reuse");
    add("NONE", "/revoke-sweep-run");
    is(&sandbox, "reuse-authorized", "drifts", "@olga authorized run 4242, and");
}

#[test]
fn what_is_not_there_or_no_json_is_unreadable_and_never_fine() {
    let sandbox = submission();
    for file in ["run.json", "comments.json"] {
        std::fs::remove_file(sandbox.path(FOLDER).join(file)).unwrap();
    }
    is(&sandbox, "evidence-current", "unreadable", "no `run.json`");
    is(&sandbox, "reuse-authorized", "unreadable", "no `comments.json`");
    sandbox.write(&format!("{FOLDER}/pull.json"), "{ \"head\": ");
    is(&sandbox, "evidence-current", "unreadable", "`pull.json` cannot be read");
    verify(&sandbox, &[]).exits(5);
    sandbox.recipec(["verify", "--offline", "--evidence", "nowhere"]).exits(5);
}
