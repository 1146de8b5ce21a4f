//! What the repository offers to other people's pipelines: the GitHub Action and the pre-commit hooks.
//! The commands are taken from the files that are offered, and run.

use std::collections::BTreeMap;
use std::fs;

use serde_json::Value;

use crate::support::{Ran, Sandbox, copy_tree, process, repository};

fn yaml(path: &str) -> Value {
    serde_saphyr::from_str(&fs::read_to_string(repository().join(path)).unwrap()).unwrap()
}

/// A repository with the tour's recipe and its lock, and a commit of it.
fn locked() -> Sandbox {
    let sandbox = Sandbox::with("fixtures/tour");
    copy_tree(&repository().join("fixtures/mirror"), &sandbox.path("mirror"));
    sandbox.recipec(["lock", "--mirror", "mirror"]).exits(0);
    sandbox.write(".gitignore", "mirror\n");
    sandbox
        .bash("git init -q -b main . && git add . && git -c user.name=a -c user.email=a@b commit -qm start")
        .exits(0);
    sandbox
}

/// The action as a runner runs it: expressions are put into variables, and only there.
struct Action {
    steps: Vec<Value>,
    values: BTreeMap<String, String>,
}

impl Action {
    fn new(inputs: &[(&str, &str)]) -> Self {
        let action = yaml("action.yml");
        assert_eq!(action["runs"]["using"], "composite");
        let mut values = BTreeMap::new();
        for (name, input) in action["inputs"].as_object().unwrap() {
            values.insert(format!("inputs.{name}"), input["default"].as_str().unwrap_or_default().to_owned());
        }
        for (name, value) in inputs {
            let old = values.insert(format!("inputs.{name}"), (*value).to_owned());
            assert!(old.is_some(), "the action takes `{name}`");
        }
        Self { steps: action["runs"]["steps"].as_array().unwrap().clone(), values }
    }

    /// Returns the value of a text with `${{ … }}` in it; the few forms that the action uses.
    fn expand(&self, text: &str, temporary: &str) -> String {
        let mut out = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("${{") {
            let (expression, after) = after.split_once("}}").unwrap();
            out.push_str(before);
            out.push_str(&self.value(expression.trim(), temporary));
            rest = after;
        }
        out + rest
    }

    fn value(&self, expression: &str, temporary: &str) -> String {
        if let Some((first, second)) = expression.split_once(" || ") {
            let first = self.value(first, temporary);
            return if first.is_empty() { self.value(second, temporary) } else { first };
        }
        match expression {
            "runner.temp" => temporary.to_owned(),
            "github.action_path" => repository().to_string_lossy().into_owned(),
            "format('{0}/recipec-target/release/recipec', runner.temp)" => {
                format!("{temporary}/recipec-target/release/recipec")
            }
            name => self.values.get(name).unwrap_or_else(|| panic!("`{name}` is not known here")).clone(),
        }
    }

    /// Runs the step of a name, as `shell: bash` of a runner does.
    fn run(&self, sandbox: &Sandbox, name: &str) -> Ran {
        let step = self.steps.iter().find(|step| step["name"] == name).unwrap();
        assert_eq!(step["shell"], "bash", "{name}");
        sandbox.write("../temporary/step.sh", step["run"].as_str().unwrap());
        let temporary = sandbox.path("../temporary").canonicalize().unwrap().to_string_lossy().into_owned();
        let mut command = sandbox.command("bash");
        for (name, value) in step["env"].as_object().unwrap() {
            command.env(name, self.expand(value.as_str().unwrap(), &temporary));
        }
        for name in ["GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY"] {
            command.env(name, format!("{temporary}/{name}"));
        }
        command.args(["--noprofile", "--norc", "-eo", "pipefail"]).arg(format!("{temporary}/step.sh"));
        let output = command.output().unwrap();
        Ran {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

const RECIPEC: (&str, &str) = ("recipec", env!("CARGO_BIN_EXE_recipec"));

#[test]
fn the_action_passes_on_a_good_root_and_annotates_a_bad_one() {
    let sandbox = locked();
    let action = Action::new(&[RECIPEC, ("base", "")]);
    assert!(!action.run(&sandbox, "Check the recipes").exits(0).stdout.contains("::error"));
    assert_eq!(action.run(&sandbox, "Check the locks").exits(0).stdout, "");
    sandbox.bash("sed -i 's/max-num-seqs = conc/max-num-seqs = 2 * conc/' manifests/tiny.nix").exits(0);
    action.run(&sandbox, "Check the recipes").exits(0);
    let stale = action.run(&sandbox, "Check the locks").exits(3);
    assert!(stale.stdout.starts_with("::error file=manifests/tiny.nix,line=90,"), "{stale:?}");
}

#[test]
fn the_action_needs_pins_where_it_is_told_to() {
    let sandbox = locked();
    fs::remove_dir_all(sandbox.path("lockfiles")).unwrap();
    sandbox.recipec(["lock", "--offline", "--allow-unpinned"]);
    let check = |pins: &str| {
        Action::new(&[RECIPEC, ("base", ""), ("require-pins", pins)]).run(&sandbox, "Check the locks")
    };
    assert!(check("false").exits(0).stdout.contains("::warning title=lock-unpinned"));
    assert!(check("true").exits(3).stdout.contains("::error title=lock-unpinned"));
}

#[test]
fn the_action_says_what_a_pull_request_changes() {
    let sandbox = locked();
    let base = sandbox.bash("git rev-parse HEAD").stdout.trim().to_owned();
    sandbox.bash("sed -i 's/max-num-seqs = conc/max-num-seqs = 2 * conc/' manifests/tiny.nix").exits(0);
    let action = Action::new(&[RECIPEC, ("base", &base)]);
    action.run(&sandbox, "Say what changes").exits(0);
    let summary = sandbox.read("../temporary/GITHUB_STEP_SUMMARY");
    assert!(summary.starts_with("- 2 points change argv\n- image unchanged\n"), "{summary}");
    let output = sandbox.read("../temporary/GITHUB_OUTPUT");
    let file = output.trim().strip_prefix("summary=").unwrap();
    assert_eq!(fs::read_to_string(file).unwrap(), summary);
    let chinese = Action::new(&[RECIPEC, ("base", &base), ("language", "zh")]);
    chinese.run(&sandbox, "Say what changes").exits(0);
    assert!(fs::read_to_string(file).unwrap().starts_with("- 2 个测试点的命令行参数有变化\n"));
}

#[test]
fn a_checkout_of_one_commit_fetches_the_base() {
    let origin = locked();
    let base = origin.bash("git rev-parse HEAD").stdout.trim().to_owned();
    origin
        .bash("git config uploadpack.allowAnySHA1InWant true; git -c user.name=a -c user.email=a@b commit -qm next --allow-empty")
        .exits(0);
    let sandbox = Sandbox::new();
    let from = origin.root();
    sandbox.bash(&format!("git clone -q --depth=1 file://{} .", from.display())).exits(0);
    assert_ne!(sandbox.bash(&format!("git cat-file -e {base}")).code, 0);
    let action = Action::new(&[RECIPEC, ("base", &base)]);
    action.run(&sandbox, "Say what changes").exits(0);
    assert_eq!(sandbox.read("../temporary/GITHUB_STEP_SUMMARY"), "- nothing differs in 1 recipe\n");
}

#[test]
fn names_that_are_commands_reach_no_shell() {
    let sandbox = locked();
    for hostile in [
        "$(touch hit)",
        "`touch hit`",
        "x; touch hit #",
        "x' ; touch hit '",
        "--upload-pack=touch hit",
        "x\"\ntouch hit\n\"",
    ] {
        for input in ["root", "base", "language", "require-pins"] {
            let action = Action::new(&[RECIPEC, ("base", "HEAD"), (input, hostile)]);
            for step in ["Check the recipes", "Check the locks", "Say what changes"] {
                let ran = action.run(&sandbox, step);
                assert!(ran.code != 0 || input != "base" || step != "Say what changes", "{hostile}: {ran:?}");
            }
        }
    }
    assert!(!sandbox.path("hit").exists() && !repository().join("hit").exists());
}

#[test]
fn no_expression_stands_in_the_text_of_a_shell() {
    for step in yaml("action.yml")["runs"]["steps"].as_array().unwrap() {
        assert!(!step["run"].as_str().unwrap().contains("${{"), "{step}");
    }
}

#[test]
fn the_build_step_builds_this_repository() {
    let action = Action::new(&[]);
    let step = &action.steps[0];
    let words: Vec<&str> = step["run"].as_str().unwrap().split_whitespace().collect();
    assert_eq!(words[..6], ["cargo", "build", "--release", "--locked", "--bin", "recipec"]);
    // Building takes minutes; that cargo takes the words and finds the package is asked here.
    let manifest = action.expand(step["env"]["ACTION"].as_str().unwrap(), "/nowhere");
    let asked = std::process::Command::new(env!("CARGO"))
        .args(["metadata", "--locked", "--offline", "--no-deps", "--format-version=1"])
        .arg(format!("--manifest-path={manifest}/Cargo.toml"))
        .output()
        .unwrap();
    let metadata: Value = serde_json::from_slice(&asked.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let is_recipec = |target: &Value| target["name"] == "recipec" && target["kind"][0] == "bin";
    assert!(packages.iter().any(|package| package["targets"].as_array().unwrap().iter().any(is_recipec)));
}

/// Runs a hook as pre-commit does: the words of its entry, and the changed files where it takes them.
fn hook(sandbox: &Sandbox, id: &str, files: &[&str]) -> Ran {
    let hooks = yaml(".pre-commit-hooks.yaml");
    let hook = hooks.as_array().unwrap().iter().find(|hook| hook["id"] == id).unwrap().clone();
    assert_eq!(hook["language"], "rust", "pre-commit then builds it from this repository");
    let mut words: Vec<&str> = hook["entry"].as_str().unwrap().split(' ').collect();
    if hook["pass_filenames"] != false {
        words.extend(files);
    }
    assert_eq!(words.remove(0), "recipec");
    sandbox.recipec(words)
}

#[test]
fn hooks_pass_on_a_good_root_and_stop_a_bad_commit() {
    let sandbox = locked();
    for id in ["recipec-fmt", "recipec-check", "recipec-lock"] {
        hook(&sandbox, id, &["manifests/tiny.nix"]).exits(0);
    }
    sandbox.bash("sed -i 's/max-num-seqs = conc/max-num-seqs =  2 * conc/' manifests/tiny.nix").exits(0);
    assert!(hook(&sandbox, "recipec-fmt", &["manifests/tiny.nix"]).exits(1).stderr.contains("unformatted"));
    hook(&sandbox, "recipec-lock", &[]).exits(3);
    sandbox.bash("sed -i 's/max-num-seqs/max-num-sequences/' manifests/tiny.nix").exits(0);
    assert!(hook(&sandbox, "recipec-check", &[]).exits(1).stderr.contains("unknown-flag"));
}

#[test]
fn pre_commit_itself_runs_the_hooks() {
    let Some(program) = process::program("pre_commit_itself_runs_the_hooks", "pre-commit") else { return };
    let sandbox = locked();
    let hooks = repository().join(".pre-commit-hooks.yaml");
    let valid = sandbox.command(&program).arg("validate-manifest").arg(&hooks).output().unwrap();
    assert!(valid.status.success(), "{valid:?}");
    // The same definitions, with the recipec that is here in place of one that pre-commit builds.
    let text = fs::read_to_string(&hooks).unwrap().replace("language: rust", "language: system");
    let indented: String = text.lines().map(|line| format!("      {line}\n")).collect();
    sandbox.write(".pre-commit-config.yaml", format!("repos:\n  - repo: local\n    hooks:\n{indented}"));
    let run = || {
        let mut command = sandbox.command(&program);
        let output = command.args(["run", "--all-files", "--color=never"]).output().unwrap();
        (output.status.success(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    sandbox.bash("git add .").exits(0);
    let (passed, text) = run();
    assert!(passed && text.matches("Passed").count() == 3, "{text}");
    sandbox
        .bash("sed -i 's/max-num-seqs = conc/max-num-seqs = 2 * conc/' manifests/tiny.nix && git add .")
        .exits(0);
    let (passed, text) = run();
    assert!(!passed && text.matches("Failed").count() == 1 && text.contains("lock-stale"), "{text}");
}

#[test]
fn judges_of_workflows_have_no_complaint() {
    let action = repository().join("action.yml");
    if let Some(schema) = process::program("judges_of_workflows_have_no_complaint", "check-jsonschema") {
        let judged = std::process::Command::new(schema)
            .args(["--builtin-schema", "vendor.github-actions"])
            .arg(&action)
            .output()
            .unwrap();
        assert!(judged.status.success(), "{judged:?}");
    }
    if let Some(zizmor) = process::program("judges_of_workflows_have_no_complaint", "zizmor") {
        let judged = std::process::Command::new(zizmor)
            .args(["--offline", "--no-progress"])
            .arg(&action)
            .output()
            .unwrap();
        assert!(judged.status.success(), "{judged:?}");
    }
}
