//! What a reviewer is told of a change: a checkpoint that gives way to another, an engine that moves.

use std::fs;

use serde_json::{Value, json};

use crate::support::{Sandbox, copy_tree, repository};

const OLD: &str = "tiny-org/tiny-moe-NVFP4";
const NEW: &str = "tiny-org/tiny-moe-NVFP4-V2";
const COMMIT: &str = "2084572b0f1fcd38a8ff90e8b5db2c2737eaf74a";

/// The tour's recipe, locked and committed, and a mirror that also has a second checkpoint: quantized
/// anew by a later tool, in other modules, for a longer context, with one file less and one more.
fn locked() -> Sandbox {
    let sandbox = Sandbox::with("fixtures/tour");
    copy_tree(&repository().join("fixtures/mirror"), &sandbox.path("mirror"));
    let hub = |name: &str| sandbox.path("mirror/hub").join(format!("models--{}", name.replace('/', "--")));
    copy_tree(&hub(OLD), &hub(NEW));
    let snapshot = hub(NEW).join("snapshots").join(COMMIT);
    let tree = hub(NEW).join("trees").join(format!("{COMMIT}.json"));
    let mut listed: Value = serde_json::from_str(&fs::read_to_string(&tree).unwrap()).unwrap();
    for (file, edits) in [
        (
            "config.json",
            &[("0.45.0", "0.47.1"), ("32768", "65536"), ("\"lm_head\",\n", "\"lm_head\",\n   \"mtp.fc\",\n")]
                [..],
        ),
        (
            "hf_quant_config.json",
            &[("0.45.0", "0.47.1"), ("\"lm_head\",\n", "\"lm_head\",\n   \"mtp.fc\",\n")][..],
        ),
    ] {
        let mut text = fs::read_to_string(snapshot.join(file)).unwrap();
        for (from, to) in edits {
            assert!(text.contains(from), "{file}: {from}");
            text = text.replace(from, to);
        }
        fs::write(snapshot.join(file), &text).unwrap();
        listed["files"][file] =
            json!({ "blob_id": upstream::git_blob_id(text.as_bytes()), "size": text.len() });
    }
    let files = listed["files"].as_object_mut().unwrap();
    files.remove("README.md").unwrap();
    fs::remove_file(snapshot.join("README.md")).unwrap();
    fs::write(snapshot.join("NOTES.md"), "new\n").unwrap();
    files.insert("NOTES.md".to_owned(), json!({ "blob_id": upstream::git_blob_id(b"new\n"), "size": 4 }));
    fs::write(&tree, listed.to_string()).unwrap();
    sandbox.recipec(["lock", "--mirror", "mirror"]).exits(0);
    sandbox.write(".gitignore", "mirror\n");
    sandbox
        .bash("git init -q -b main . && git add . && git -c user.name=a -c user.email=a@b commit -qm start")
        .exits(0);
    sandbox
}

#[test]
fn another_checkpoint_is_told_by_what_differs_between_the_two() {
    let sandbox = locked();
    sandbox
        .bash(&format!("sed -i 's#{OLD}#{NEW}#' manifests/tiny.nix manifests/targets/*.nix && recipec lock --mirror mirror"))
        .exits(0);
    let markdown = sandbox.recipec(["diff", "--format", "markdown"]).exits(0).stdout;
    let summary: Vec<&str> = markdown.lines().take_while(|line| line.starts_with("- ")).collect();
    assert_eq!(
        summary,
        [
            &*format!("- 1 recipe: checkpoint `{OLD}` to `{NEW}`"),
            "- checkpoint: producer `modelopt 0.45.0` to `modelopt 0.47.1`",
            "- checkpoint: context `32768` to `65536`",
            "- checkpoint: modules `mtp.fc –` to `mtp.fc none`",
            "- checkpoint files: 2 changed, 1 added, 1 removed, 7 the same: `config.json`, `hf_quant_config.json`, `NOTES.md`, `README.md`",
            "- 2 points change argv",
            "- image unchanged",
            "- 0 recipes unchanged",
        ],
        "{markdown}"
    );
    let chinese = sandbox.recipec(["diff", "--format", "markdown", "--lang", "zh"]).exits(0).stdout;
    assert!(chinese.contains("- 模型权重：上下文长度 `32768` → `65536`\n"), "{chinese}");
    assert!(chinese.contains("- 模型文件：2 个有变化，新增 1，删除 1，7 个不变："), "{chinese}");
    assert!(chinese.contains("| 字段 | 旧值 | 新值 | 测试点 |"), "{chinese}");

    let document = sandbox.recipec(["diff", "--format", "json"]).exits(0).json();
    let files = &document["files"][0];
    assert_eq!(
        (&files["added"][0]["path"], &files["removed"][0]["path"]),
        (&json!("NOTES.md"), &json!("README.md"))
    );
    assert_eq!(files["changed"][0][1]["path"], "config.json");
    let path = |path: &str| {
        document["changes"].as_array().unwrap().iter().find(|change| change["path"] == path).cloned()
    };
    assert_eq!(path("known.checkpoint.schemes.mtp.fc").unwrap()["new"], "none");
    assert_eq!(path("pins.checkpoint.files").unwrap()["new"], files["new"]);

    // The list before is at a revision alone: the summary finds it there.
    sandbox.bash("git add . && git -c user.name=a -c user.email=a@b commit -qm next").exits(0);
    let old = files["old"].as_str().unwrap().replace(':', "-");
    fs::remove_file(sandbox.path(&format!("lockfiles/files/{old}.json"))).unwrap();
    let again = sandbox.recipec(["diff", "rev:HEAD~1", "--format", "markdown"]).exits(0).stdout;
    assert_eq!(again, markdown);
}

#[test]
fn an_engine_that_moves_is_told_by_its_own_defaults_too() {
    let sandbox = Sandbox::with("fixtures/tour");
    copy_tree(&repository().join("fixtures/mirror"), &sandbox.path("mirror"));
    let image = |tag: &str| {
        format!(
            "sed -i 's#registry.example/tiny/engine:1.0\\|vllm/vllm-openai:[a-z0-9.]*#vllm/vllm-openai:{tag}#; /engineVersion/d' manifests/tiny.nix"
        )
    };
    sandbox
        .bash(&format!(
            "{} && {{ recipec lock --mirror mirror --allow-unpinned; true; }} && git init -q . && git add . && git -c user.name=a -c user.email=a@b commit -qm start && {}",
            image("v0.23.0"),
            image("v0.33.0")
        ))
        .exits(0);
    let document = sandbox.recipec(["diff", "--format", "json"]).exits(0).json();
    let defaults: Vec<&Value> = document["changes"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|change| change["cause"] == "engine-default")
        .collect();
    assert!(!defaults.is_empty(), "{document:#}");
    for change in &defaults {
        assert!(change["path"].as_str().unwrap().starts_with("server.--") && change["old"] != change["new"]);
        assert_ne!(change["path"], "server.--max-num-seqs", "the recipe sets it");
        assert_eq!(change["points"].as_array().unwrap().len(), 2);
    }
    let markdown = sandbox.recipec(["diff", "--format", "markdown"]).exits(0).stdout;
    let count = defaults.len();
    assert!(
        markdown.contains(&format!(
            "- {count} of the engine's own defaults changed under flags that nobody sets\n"
        )),
        "{markdown}"
    );
}

#[test]
fn a_branch_that_moves_changes_no_lock_until_it_is_named() {
    let sandbox = locked();
    let hub = sandbox.path("mirror/hub/models--tiny-org--tiny-moe-NVFP4");
    let next = "f".repeat(40);
    copy_tree(&hub.join("snapshots").join(COMMIT), &hub.join("snapshots").join(&next));
    let mut listed: Value =
        serde_json::from_str(&fs::read_to_string(hub.join("trees").join(format!("{COMMIT}.json"))).unwrap())
            .unwrap();
    let template = "{{ other }}\n";
    fs::write(hub.join("snapshots").join(&next).join("chat_template.jinja"), template).unwrap();
    listed["files"]["chat_template.jinja"] =
        json!({ "blob_id": upstream::git_blob_id(template.as_bytes()), "size": template.len() });
    fs::write(hub.join("trees").join(format!("{next}.json")), listed.to_string()).unwrap();
    fs::write(hub.join("refs/main"), &next).unwrap();

    sandbox.recipec(["lock", "--mirror", "mirror"]).exits(0);
    assert_eq!(sandbox.recipec(["diff"]).exits(0).stdout, "nothing differs in 1 recipe\n");
    let moved = sandbox.recipec(["lock", "--mirror", "mirror", "--update", OLD]).exits(0).stdout;
    assert!(moved.contains(&format!("moved   checkpoint:{OLD}@main  {COMMIT} -> {next}")), "{moved}");
    let told = sandbox.recipec(["diff"]).exits(0).stdout;
    assert!(told.contains("1 recipe: a pin moved under an unchanged name\n"), "{told}");
    assert!(
        told.contains("checkpoint files: 1 changed, 0 added, 0 removed, 9 the same: `chat_template.jinja`\n"),
        "{told}"
    );
}
