//! Recipes as InferenceX reads them: entries of its master configuration and of its changelog.

use std::collections::BTreeMap;

use eval::{Limits, MemoryFiles, Session};
use recipe::{draft, export, import};
use serde_json::{Map, Value, json};

use crate::matrix::NEWER;
use crate::oracle::{load, manifests, texts};
use crate::support::{Sandbox, repository};

/// Returns upstream's single-node entries by key.
fn upstream() -> Map<String, Value> {
    let text = std::fs::read_to_string(repository().join("fixtures/inferencex/single-node.json")).unwrap();
    serde_json::from_str::<Value>(&text).unwrap().as_object().unwrap().clone()
}

/// Reads YAML as data.
fn yaml(text: &str) -> Value {
    serde_saphyr::from_str(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Fills in what upstream's own reader fills in, and writes ranges of concurrencies out as it does.
fn filled(entry: &Value) -> Value {
    let mut entry = entry.clone();
    let scenarios = entry["scenarios"].as_object_mut().unwrap();
    for part in scenarios.values_mut().flat_map(|list| list.as_array_mut().unwrap()) {
        for space in part["search-space"].as_array_mut().unwrap() {
            let space = space.as_object_mut().unwrap();
            let defaults = [
                ("ep", json!(1)),
                ("pp", json!(1)),
                ("dcp-size", json!(1)),
                ("pcp-size", json!(1)),
                ("dp-attn", json!(false)),
                ("spec-decoding", json!("none")),
            ];
            for (name, value) in defaults {
                space.entry(name).or_insert(value);
            }
            if let (Some(from), Some(to)) = (space.remove("conc-start"), space.remove("conc-end")) {
                let (mut conc, to) = (from.as_u64().unwrap(), to.as_u64().unwrap());
                let mut all = vec![conc];
                while conc < to {
                    conc = (conc * 2).min(to);
                    all.push(conc);
                }
                space.insert("conc-list".to_owned(), json!(all));
            }
        }
    }
    entry
}

#[test]
fn every_exported_entry_equals_upstreams_field_for_field() {
    let upstream = upstream();
    let (files, recipes, targets) = manifests(repository());
    let mut session = Session::new(&files, Limits::default());
    let corpus = load(&mut session, &recipes, &targets);
    let (mut equal, mut literal, mut all) = (0, 0, 0);
    let mut apart = Vec::new();
    for recipe in &corpus.recipes {
        let key = recipe.key.value.as_str();
        if NEWER.contains(&key) {
            continue;
        }
        let mut refused = diag::Diagnostics::new();
        export::refusals(recipe, &mut refused);
        assert!(refused.is_empty(), "{key}: {refused:?}");
        let theirs = upstream.get(key).unwrap_or_else(|| panic!("upstream has no {key}"));
        let document = yaml(&export::entry(recipe));
        let ours = &document[key];
        all += 1;
        literal += usize::from(ours == theirs);
        if filled(ours) == filled(theirs) {
            equal += 1;
        } else {
            apart.push(format!("{key}\n  theirs {}\n  ours   {}", filled(theirs), filled(ours)));
        }
    }
    println!("{equal} of {all} entries are equal, {literal} of them as they are written");
    assert!(all > 0 && equal == all, "{}", apart.join("\n"));
}

#[test]
fn an_entry_of_every_kind_is_read_by_upstreams_rules() {
    // What no recipe of the corpus needs is written as well: every width, a version, a long name.
    let sandbox = Sandbox::with("fixtures/explain/root");
    sandbox.write(
        "manifests/wide.nix",
        r#"{
          "wide" = import ./lib/base.nix // {
            targets = [ "here" ];
            scenarios.fixedSequence = [
              { isl = 1024; osl = 512; search = [ { tp = 4; pp = 2; dcp = 2; pcp = 1; ep = 1; dpAttn = false; conc = { from = 4; to = 6; }; } ]; }
            ];
          };
        }"#,
    );
    let ran = sandbox.recipec(["export", "inferencex", "wide"]).exits(0);
    let expected = json!({ "wide": {
        "image": "lmsysorg/sglang:v0.5.14",
        "model": "example/Model-FP8",
        "model-prefix": "model",
        "runner": "here",
        "precision": "fp8",
        "framework": "sglang",
        "multinode": false,
        "scenarios": { "fixed-seq-len": [ { "isl": 1024, "osl": 512, "search-space": [
            { "tp": 4, "pp": 2, "dcp-size": 2, "pcp-size": 1, "ep": 1, "dp-attn": false, "conc-start": 4, "conc-end": 6 }
        ] } ] }
    } });
    assert_eq!(yaml(&ran.stdout), expected);
}

#[test]
fn a_changelog_says_what_is_new_and_what_changed() {
    let sandbox = Sandbox::with("fixtures/tour");
    let commit = "git add . && git -c user.name=me -c user.email=me@example.org commit -qm x";
    sandbox.bash(&format!("git init -q . && {commit}")).exits(0);
    let entry = |sandbox: &Sandbox| {
        let ran = sandbox.recipec(["export", "inferencex", "--changelog"]).exits(0);
        assert!(ran.stdout.ends_with("/XXX\n") && ran.stdout.starts_with("- config-keys:\n"), "{ran:?}");
        yaml(&ran.stdout)[0].clone()
    };
    let new = entry(&sandbox);
    let fields: BTreeMap<String, Value> = serde_json::from_value(new.clone()).unwrap();
    let names: Vec<&str> = fields.keys().map(String::as_str).collect();
    assert_eq!(names, ["config-keys", "description", "pr-link", "scenario-type"]);
    assert_eq!(new["config-keys"], json!(["tiny-fp4-b200-vllm"]));
    assert_eq!(new["scenario-type"], json!(["fixed-seq-len"]));
    let line = new["description"][0].as_str().unwrap();
    assert!(line.starts_with("Add tiny-org/tiny-moe-NVFP4 on vllm") && line.contains("TP1"), "{line}");

    crate::support::copy_tree(&repository().join("fixtures/mirror"), &sandbox.path("mirror"));
    sandbox.recipec(["lock", "--mirror", "mirror"]).exits(0);
    sandbox.bash(commit).exits(0);
    assert_eq!(entry(&sandbox)["description"], json!(["Run again, unchanged"]));
    let text = sandbox.read("manifests/tiny.nix").replace("max-num-seqs = conc", "max-num-seqs = 2 * conc");
    sandbox.write("manifests/tiny.nix", text);
    let lines = entry(&sandbox)["description"].clone();
    let line = lines[0].as_str().unwrap();
    assert!(line.contains("server.--max-num-seqs from ") && line.contains("1 point"), "{lines}");
}

#[test]
fn a_description_says_what_the_plans_start() {
    let sandbox = Sandbox::with("fixtures/tour");
    let ran = sandbox.recipec(["matrix", "--format", "markdown"]).exits(0);
    assert!(ran.stdout.starts_with("2 jobs of 1 recipe, 0 evaluated; 4 throughput plans\n"), "{ran:?}");
    let row = "| 1024 tokens in, 1024 out | TP1 | 1 | 4, 16 | – | `cluster`, `one-host` |\n";
    assert!(ran.stdout.contains(row), "{ran:?}");
    // A label that the server was never told is no description.
    let text =
        sandbox.read("manifests/tiny.nix").replace("tensor-parallel-size = tp", "tensor-parallel-size = 2");
    sandbox.write("manifests/tiny.nix", text);
    let ran = sandbox.recipec(["matrix", "--format", "markdown"]).exits(1);
    assert!(ran.stdout.contains("label-not-realised"), "{ran:?}");
    sandbox.recipec(["matrix"]).exits(0);
}

#[test]
fn a_draft_of_every_upstream_entry_measures_what_the_entry_does() {
    let upstream = upstream();
    let (files, recipes, targets) = manifests(repository());
    let mut session = Session::new(&files, Limits::default());
    let corpus = load(&mut session, &recipes, &targets);
    let mut all: BTreeMap<String, String> = texts(repository());
    let mut paths = Vec::new();
    let mut alone = Vec::new();
    for key in upstream.keys() {
        let started = import::draft(&Value::Object(upstream.clone()), key).unwrap();
        let sibling = draft::nearest(&started, &corpus.recipes);
        assert!(sibling.is_none_or(|sibling| sibling.key.value != *key), "{key}");
        let Some(sibling) = sibling else {
            alone.push(key);
            continue;
        };
        let path = format!("manifests/started/{key}.nix");
        let import = format!("../../{}", sibling.manifest);
        let changes = draft::changes(&started, Some(sibling));
        let text = draft::text(key, &[], Some((&sibling.key.value, &import)), &changes);
        all.insert(path.clone(), syntax::format(&text).unwrap());
        paths.push(path);
    }
    let files = MemoryFiles::new(all);
    let mut session = Session::new(&files, Limits::default());
    let (corpus, findings) = recipe::load(&mut session, &paths, &targets);
    // A draft that begins to speculate has that left to fill in.
    let left = findings.iter().filter(|finding| finding.slug.as_str() != "missing-field").count();
    assert_eq!(left, 0, "{findings:#?}");
    for recipe in &corpus.recipes {
        let key = recipe.key.value.as_str();
        let ours = yaml(&export::entry(recipe))[key].clone();
        assert_eq!(filled(&ours), filled(&upstream[key]), "{key}");
    }
    println!(
        "{} of {} drafts; without a recipe of their engine: {alone:?}",
        corpus.recipes.len(),
        upstream.len()
    );
    assert!(corpus.recipes.len() > 50);
}

#[test]
fn a_recipe_starts_from_its_sibling_and_checks_clean() {
    let sandbox = Sandbox::with("fixtures/tour");
    let new = ["new", "tiny-fp4-b200-vllm-wide", "--from", "tiny-fp4-b200-vllm"];
    let ran = sandbox
        .recipec(
            [
                &new[..],
                &["--change", "image=registry.example/tiny/engine:1.1", "--change", "model.precision=fp8"],
            ]
            .concat(),
        )
        .exits(0);
    assert!(ran.stdout.contains("nothing is left to fill in"), "{ran:?}");
    let path = "manifests/tiny-fp4-b200-vllm-wide.nix";
    sandbox.recipec(["fmt", "--check", path]).exits(0);
    sandbox.recipec(["check"]).exits(0);
    let rows = sandbox.recipec(["matrix", "tiny-fp4-b200-vllm-wide", "--format", "json"]).exits(0).json();
    let row = &rows["tiny-fp4-b200-vllm-wide"][0];
    assert_eq!(
        (&row["image"], &row["precision"]),
        (&json!("registry.example/tiny/engine:1.1"), &json!("fp8"))
    );
    // Nothing is overwritten, and what cannot be read is said.
    let before = sandbox.read(path);
    sandbox.recipec(new).exits(2);
    assert_eq!(sandbox.read(path), before);
    sandbox.recipec(["new", "b", "--from", "tiny-fp4-b200-vlm"]).exits(2);
    for change in ["image", "=x", "targets=[ ", "a..b=1"] {
        sandbox.recipec(["new", "b", "--from", "tiny-fp4-b200-vllm", "--change", change]).exits(2);
    }
    sandbox.recipec(["new", "../b", "--from", "tiny-fp4-b200-vllm"]).exits(2);
    // A field that there is not is for the check to find.
    let ran = sandbox.recipec(["new", "b", "--from", "tiny-fp4-b200-vllm", "--change", "imag=x"]).exits(1);
    assert!(ran.stderr.contains("unknown-field") && ran.stderr.contains("image"), "{ran:?}");
}

#[test]
fn answers_start_a_recipe_too_and_all_that_is_missing_is_named() {
    let sandbox = Sandbox::with("fixtures/tour");
    let ran = sandbox.recipec(["new", "tiny-fp4-h200-vllm", "--engine", "vllm"]).exits(2);
    for option in ["--image", "--model", "--precision", "--target", "--isl", "--tp", "--conc"] {
        assert!(ran.stderr.contains(option), "{option}: {ran:?}");
    }
    let answers = [
        "new",
        "tiny-fp4-h200-vllm",
        "--engine",
        "vllm",
        "--image",
        "registry.example/tiny/engine:1.0",
        "--model",
        "tiny-org/tiny-moe-NVFP4",
        "--precision",
        "fp4",
        "--target",
        "b200",
        "--isl",
        "1024",
        "--osl",
        "1024",
        "--tp",
        "2",
        "--conc",
        "4..16",
    ];
    sandbox.recipec(answers).exits(0);
    let text = sandbox.read("manifests/tiny-fp4-h200-vllm.nix");
    assert!(text.contains("sibling") && !text.contains("image"), "{text}");
    let rows = sandbox.recipec(["matrix", "tiny-fp4-h200-vllm", "--format", "json"]).exits(0).json();
    let conc: Vec<u64> = rows["tiny-fp4-h200-vllm"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["conc"].as_u64().unwrap())
        .collect();
    assert_eq!(conc, [4, 8, 16]);
}
