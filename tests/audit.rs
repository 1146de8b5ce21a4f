//! Staged checkpoints beside a lock: everything that looks finished and is not.

#[path = "audit/attestation.rs"]
mod attestation;
#[path = "audit/hostile.rs"]
mod hostile;
#[path = "audit/image.rs"]
mod image;
#[path = "audit/nodes.rs"]
mod nodes;
#[path = "audit/pitfalls.rs"]
mod pitfalls;

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::support::{Ran, Sandbox, copy_tree, files, repository};

const COMMIT: &str = "2084572b0f1fcd38a8ff90e8b5db2c2737eaf74a";
const CACHE: &str = "mirror/hub/models--tiny-org--tiny-moe-NVFP4";
const LOCK: &str = "lockfiles/tiny/tiny-fp4-b200-vllm.lock.json";
const MODEL: &str = "tiny-org/tiny-moe-NVFP4";
const SHARD: &str = "model-00002-of-00002.safetensors";

/// A locked recipe, and its checkpoint in the folder `model`.
struct Stage {
    sandbox: Sandbox,
}

impl Stage {
    fn new() -> Self {
        let sandbox = Sandbox::new();
        sandbox.copy("fixtures/tour");
        copy_tree(&repository().join("fixtures/mirror"), &sandbox.path("mirror"));
        let ran = sandbox.recipec(["lock", "--mirror", "mirror"]);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let stage = Self { sandbox };
        stage.bash(&format!("cp -rL {CACHE}/snapshots/{COMMIT} model"));
        stage
    }

    fn bash(&self, script: &str) {
        let ran = self.sandbox.bash(script);
        assert_eq!(ran.code, 0, "{script}: {}{}", ran.stdout, ran.stderr);
    }

    /// Makes what lies in the mirror's snapshot what the hub has at the commit, and locks that.
    fn relock(&self) {
        let snapshot = self.path(&format!("{CACHE}/snapshots/{COMMIT}"));
        let mut tree = serde_json::Map::new();
        for path in files(&snapshot, "") {
            let bytes = std::fs::read(&path).unwrap();
            let name = path.strip_prefix(&snapshot).unwrap().to_str().unwrap().to_owned();
            let mut entry = json!({ "blob_id": upstream::git_blob_id(&bytes), "size": bytes.len() });
            if [".safetensors", ".bin"].iter().any(|ending| name.ends_with(ending)) {
                entry["lfs_sha256"] = lock::Digest::of(&bytes).hex().into();
                entry["lfs_size"] = bytes.len().into();
            }
            tree.insert(name, entry);
        }
        let text = json!({ "files": tree, "format_version": 1 }).to_string();
        self.sandbox.write(&format!("{CACHE}/trees/{COMMIT}.json"), text);
        let ran = self.sandbox.recipec(["lock", "--mirror", "mirror", "--update", MODEL]);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
    }

    /// Changes the pins of the lock, and seals it again.
    fn edit_lock(&self, mut edit: impl FnMut(&mut lock::pin::Pin)) {
        let text = self.sandbox.read(LOCK);
        let mut lock = lock::Lock::read(LOCK, &text).unwrap();
        for entry in lock.pins.values_mut() {
            if let lock::pin::Entry::Pinned { pin, .. } = entry {
                edit(pin);
            }
        }
        self.sandbox.write(LOCK, lock.write());
    }

    fn path(&self, path: &str) -> PathBuf {
        self.sandbox.path(path)
    }

    fn audit(&self, folder: &str, more: &[&str]) -> (Ran, Value) {
        let mut words = vec!["audit", "checkpoint", folder, "--lock", LOCK, "--format", "json"];
        words.extend(["--repository", "tiny-org/tiny-moe-NVFP4"]);
        words.extend(more);
        let ran = self.sandbox.recipec(words);
        let value =
            serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{}{}", ran.stdout, ran.stderr));
        (ran, value)
    }

    /// Asserts what a folder is, with the states of the files that are not as locked.
    #[track_caller]
    fn is(&self, state: &str, code: i32, wrong: &[(&str, &str)]) -> Value {
        let (ran, value) = self.audit("model", &[]);
        let found: Vec<(&str, &str)> = value["files"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|file| file["state"] != "ok")
            .map(|file| (file["path"].as_str().unwrap(), file["state"].as_str().unwrap()))
            .collect();
        assert_eq!(
            (value["state"].as_str(), ran.code, found),
            (Some(state), code, wrong.to_vec()),
            "{value:#}"
        );
        value
    }
}

fn note<'v>(value: &'v Value, path: &str) -> &'v str {
    let files = value["files"].as_array().unwrap();
    files.iter().find(|file| file["path"] == path).unwrap()["note"].as_str().unwrap_or_default()
}

#[test]
fn a_whole_checkpoint_is_complete_in_every_layout() {
    let stage = Stage::new();
    let value = stage.is("complete", 0, &[]);
    assert_eq!(
        (&value["is"]["repo"], &value["is"]["commit"]),
        (&"tiny-org/tiny-moe-NVFP4".into(), &COMMIT.into())
    );
    assert!(value["hashed_bytes"].as_u64().unwrap() > 0);
    for folder in [CACHE, "mirror/hub", &format!("{CACHE}/snapshots/{COMMIT}")] {
        let (ran, value) = stage.audit(folder, &[]);
        assert_eq!((ran.code, &value["state"]), (0, &"complete".into()), "{folder}: {value:#}");
    }
    // A cache as the hub's client makes it: links into a folder of blobs.
    stage.bash(&format!(
        "mkdir -p hub/models--tiny-org--tiny-moe-NVFP4/{{blobs,snapshots/{COMMIT}}} && cd hub/models--tiny-org--tiny-moe-NVFP4 \
         && n=0 && for f in ../../model/*; do n=$((n+1)); cp $f blobs/$n; ln -s ../../blobs/$n snapshots/{COMMIT}/$(basename $f); done"
    ));
    assert_eq!(stage.audit("hub", &[]).1["state"], "complete");
    // The same links in a copy that left the blobs behind.
    stage.bash(&format!("cp -a hub/models--tiny-org--tiny-moe-NVFP4/snapshots/{COMMIT} links"));
    let (ran, value) = stage.audit("links", &[]);
    assert_eq!(
        (ran.code, &value["state"], &value["files"][0]["state"]),
        (4, &"incomplete".into(), &"dangling".into())
    );
}

#[test]
fn what_has_not_arrived_is_named() {
    let stage = Stage::new();
    stage.bash(&format!("rm model/{SHARD}"));
    stage.is("incomplete", 4, &[(SHARD, "missing")]);
    // A download that was killed: what it had is under another name, and old.
    stage.bash(&format!(
        "mkdir -p model/.cache/huggingface/download && head -c 10 {CACHE}/snapshots/{COMMIT}/{SHARD} \
         >model/.cache/huggingface/download/x.incomplete && touch -d '2 hours ago' model/.cache/huggingface/download/x.incomplete"
    ));
    let left = ".cache/huggingface/download/x.incomplete";
    let value = stage.is("incomplete", 4, &[(left, "partial"), (SHARD, "missing")]);
    assert_eq!(note(&value, left), "left behind");
    // One that is running is no fault yet.
    stage.bash(&format!("touch model/{left}"));
    stage.is("in-progress", 5, &[(left, "partial"), (SHARD, "missing")]);
    stage
        .bash(&format!("rm -r model/.cache && head -c 20 {CACHE}/snapshots/{COMMIT}/{SHARD} >model/{SHARD}"));
    let value = stage.is("incomplete", 4, &[(SHARD, "size")]);
    assert_eq!(note(&value, SHARD), "cut short");
    // Only some metadata: a folder that is not empty is no checkpoint.
    stage.bash("cd model && ls | grep -v config.json | xargs rm");
    assert_eq!(stage.audit("model", &["--fast"]).1["state"], "incomplete");
}

#[test]
fn other_content_of_the_same_size_is_found_and_named() {
    let stage = Stage::new();
    let shard = format!("model/{SHARD}");
    stage.bash(&format!("printf X | dd of={shard} bs=1 seek=3 conv=notrunc status=none"));
    stage.is("different", 4, &[(SHARD, "hash")]);
    // Names and sizes say nothing of it: that gate is for what has not arrived.
    assert_eq!(stage.audit("model", &["--fast"]).0.code, 0);
    stage.bash(&format!("size=$(stat -c %s {shard}) && rm {shard} && truncate -s $size {shard}"));
    let value = stage.is("different", 4, &[(SHARD, "hash")]);
    assert_eq!(note(&value, SHARD), "it takes no room on the disk: all holes");
    // Two files in each other's place, of one size.
    let stage = Stage::new();
    stage.bash("cd model && mv config.json x && mv x config.json && sed -i 's/$/\\r/' tokenizer_config.json");
    let value = stage.audit("model", &[]).1;
    assert_eq!(value["state"], "different");
}

#[test]
fn pointers_and_stray_weights_are_told_from_weights() {
    let stage = Stage::new();
    let digest = stage.sandbox.bash(&format!("sha256sum <model/{SHARD}")).stdout;
    let oid = digest.split(' ').next().unwrap();
    let pointer = format!("version https://git-lfs.github.com/spec/v1\noid sha256:{oid}\nsize 1\n");
    std::fs::write(stage.path(&format!("model/{SHARD}")), &pointer).unwrap();
    let value = stage.is("incomplete", 4, &[(SHARD, "pointer")]);
    assert_eq!(note(&value, SHARD), "a pointer to the locked content: run `git lfs pull`");
    let stage = Stage::new();
    stage.bash("cp model/config.json model/consolidated.safetensors && echo >model/NOTES.md");
    stage.is("different", 4, &[("consolidated.safetensors", "extra")]);
}

#[test]
fn a_file_that_cannot_be_read_is_neither_right_nor_wrong() {
    let stage = Stage::new();
    stage.bash(&format!("rm model/{SHARD} && mkfifo model/{SHARD}"));
    let value = stage.is("unreadable", 5, &[(SHARD, "unreadable")]);
    assert_eq!(note(&value, SHARD), "no regular file");
    stage.bash(&format!("rm model/{SHARD} && ln -s {SHARD} model/{SHARD}"));
    assert_eq!(stage.audit("model", &[]).0.code, 5, "a link to itself");
    let (ran, _) = {
        let ran = stage.sandbox.recipec([
            "audit",
            "checkpoint",
            "nowhere",
            "--lock",
            LOCK,
            "--repository",
            "tiny-org/tiny-moe-NVFP4",
        ]);
        (ran, ())
    };
    assert!(ran.code == 5 && ran.stderr.contains("cannot-read"), "{}", ran.stderr);
}

/// The hub's own client put this folder there; it notes where each file came from.
#[test]
fn a_folder_of_another_revision_says_so() {
    let stage = Stage::new();
    stage.bash("printf ' ' >>model/README.md && mkdir -p model/.cache/huggingface/download");
    let other = "f".repeat(40);
    for name in ["README.md", "config.json"] {
        let path = stage.path(&format!("model/.cache/huggingface/download/{name}.metadata"));
        std::fs::write(path, format!("{other}\nabc\n1.0\n")).unwrap();
    }
    let value = stage.is("different", 4, &[("README.md", "size")]);
    assert_eq!(value["is"]["commit"], other);
}
