//! Locks of the recipes here: small, readable, the same bytes whatever the order, and a difference
//! that names what moved and nothing else.

use std::collections::BTreeMap;

use engine::known::Known;
use eval::{Limits, MemoryFiles, Session};
use lock::pin::Entry;
use lock::summary::{self, Comparison, Language};
use lock::{Change, Lock, build, check, diff};

use crate::oracle::{load, manifests};
use crate::support::repository;

/// Locks of every recipe below a root, without pins: nobody has resolved anything here.
fn locks(files: &MemoryFiles, recipes: &[String], targets: &[String]) -> BTreeMap<String, Lock> {
    let mut session = Session::new(files, Limits::default());
    let corpus = load(&mut session, recipes, targets);
    let mut locks = BTreeMap::new();
    for recipe in &corpus.recipes {
        let key = recipe.key.value.clone();
        let (plans, findings) = recipe::plans(&mut session, &corpus, recipe, &Known::default());
        assert!(!findings.has_errors(), "{key}: {findings:#?}");
        let wants = recipe.wants(&["linux/amd64".to_owned()]);
        let pins = wants.iter().map(|want| {
            (want.name(), Entry::Unpinned { want: want.clone(), reason: "not resolved here".to_owned() })
        });
        let lock = build(&key, &plans, pins.collect(), recipe::facts::stated(recipe));
        assert_eq!(check(&lock, &plans, &wants), [], "{key}");
        let mut shuffled = plans.clone();
        shuffled.reverse();
        let again = build(&key, &shuffled, lock.pins.clone(), lock.known.clone());
        assert_eq!(again.write(), lock.write(), "{key}");
        locks.insert(key, lock);
    }
    locks
}

#[test]
fn locks_of_real_recipes_are_read_back_and_stay_small() {
    let (files, recipes, targets) = manifests(repository());
    let locks = locks(&files, &recipes, &targets);
    let mut largest = 0;
    for (key, lock) in &locks {
        let text = lock.write();
        assert_eq!(Lock::read(key, &text).as_ref(), Ok(lock), "{key}");
        let launch = text
            .split("\"launch\": {")
            .nth(1)
            .and_then(|rest| rest.split("\n  \"plans\":").next())
            .unwrap_or_default();
        largest = largest.max(launch.len());
        assert!(launch.len() < 24 * 1024, "{key}: the launch takes {} bytes", launch.len());
    }
    println!("{} locks; the longest launch takes {largest} bytes", locks.len());
}

#[test]
fn one_checkpoint_moves_and_exactly_its_recipes_differ() {
    let (files, recipes, targets) = manifests(repository());
    let after = locks(&files, &recipes, &targets);
    // The same manifests as before the move: the model's definition names the older checkpoint.
    let path = "manifests/lib/models/qwen3.5.nix";
    let text = std::fs::read_to_string(repository().join(path)).unwrap();
    let mut texts = crate::oracle::texts(repository());
    texts.insert(path.to_owned(), text.replace("NVFP4-V2\"", "NVFP4\""));
    let before = locks(&MemoryFiles::new(texts), &recipes, &targets);
    let mut comparison = Comparison::default();
    for (key, lock) in &after {
        let changes = diff(&before[key], lock);
        if changes.is_empty() {
            comparison.unchanged += 1;
        }
        comparison.changes.extend(changes);
    }
    let moved: std::collections::BTreeSet<&str> =
        comparison.changes.iter().map(|change| change.recipe.as_str()).collect();
    assert_eq!(
        moved.into_iter().collect::<Vec<_>>(),
        [
            "qwen3.5-fp4-b200-sglang",
            "qwen3.5-fp4-b200-sglang-mtp",
            "qwen3.5-fp4-b300-sglang",
            "qwen3.5-fp4-b300-sglang-mtp"
        ]
    );
    let words = summary::words(&comparison, Language::English);
    assert_eq!(
        words[0],
        "4 recipes: checkpoint `nvidia/Qwen3.5-397B-A17B-NVFP4` to `nvidia/Qwen3.5-397B-A17B-NVFP4-V2`"
    );
    assert!(words.iter().any(|line| line == "40 points change argv"), "{words:#?}");
    assert!(words.iter().any(|line| line == "image unchanged"), "{words:#?}");
    let other: Vec<&Change> = comparison
        .changes
        .iter()
        .filter(|change| {
            change.path.starts_with("server.")
                && !matches!(
                    change.path.as_str(),
                    "server.--model-path" | "server.--tokenizer-path" | "server.--served-model-name"
                )
        })
        .collect();
    assert!(other.is_empty(), "{other:#?}");
    println!("{}", summary::markdown(&comparison, Language::English));
}

#[test]
fn which_thread_looks_at_which_lock_changes_no_byte_of_the_answer() {
    let sandbox = crate::support::Sandbox::with("fixtures/tour");
    crate::support::copy_tree(&repository().join("fixtures/mirror"), &sandbox.path("mirror"));
    for index in 0..12 {
        let key = format!("tiny-{index}");
        sandbox
            .recipec(["new", &key, "--from", "tiny-fp4-b200-vllm", "--change", "engineVersion=0.25.1"])
            .exits(0);
    }
    sandbox.recipec(["lock", "--mirror", "mirror"]).exits(0);
    assert_eq!(sandbox.recipec(["lock", "--check"]).exits(0).stdout, "nothing differs in 13 recipes\n");
    // Two are behind, one was edited, one has no lock, and the others are as they should be.
    for key in ["tiny-3", "tiny-9"] {
        let manifest = sandbox.read(&format!("manifests/{key}.nix"));
        sandbox.write(
            &format!("manifests/{key}.nix"),
            manifest.replace(r#"engineVersion = "0.25.1""#, r#"image = "registry.example/tiny/engine:1.1""#),
        );
    }
    sandbox.bash("sed -i s/max-num-seqs/max-num-sequences/ lockfiles/tiny-5/*.lock.json; rm lockfiles/tiny-7/*.lock.json").exits(0);
    let answers: std::collections::BTreeSet<(String, String)> = (0..8)
        .map(|_| {
            let ran = sandbox.recipec(["lock", "--check"]).exits(3);
            (ran.stdout, ran.stderr)
        })
        .collect();
    assert_eq!(answers.len(), 1, "{answers:#?}");
    let document = sandbox.recipec(["lock", "--check", "--format", "json"]).exits(3).json();
    assert_eq!(document["added"], serde_json::json!(["tiny-7"]));
    let slugs: Vec<&str> =
        document["diagnostics"].as_array().unwrap().iter().map(|one| one["slug"].as_str().unwrap()).collect();
    for (slug, count) in [("lock-edited", 1), ("lock-missing", 1), ("lock-stale", 2)] {
        assert_eq!(slugs.iter().filter(|found| **found == slug).count(), count, "{slugs:?}");
    }
}
