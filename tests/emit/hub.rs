//! A checkpoint that nobody staged, downloaded by the hub's own client from a hub on loopback.

use std::collections::BTreeMap;
use std::fs;

use lock::pin::File;
use lock::{Digest, pin};
use recipe::plan::{Ready, Role, Word};
use recipe::want::Want;

use super::plans::{self, Case, group, words};
use super::run::{Bench, port, said};
use crate::support::hub::Hub;
use crate::support::{process, repository};

const REPOSITORY: &str = "tiny-org/tiny-moe-NVFP4";

/// Returns the commit and the files of the small mirror's checkpoint, as a lock has them.
fn locked() -> (String, Vec<File>) {
    let folder = repository().join("fixtures/mirror/hub/models--tiny-org--tiny-moe-NVFP4");
    let commit = fs::read_to_string(folder.join("refs/main")).unwrap().trim().to_owned();
    let text = fs::read_to_string(folder.join(format!("trees/{commit}.json"))).unwrap();
    let tree: serde_json::Value = serde_json::from_str(&text).unwrap();
    let files = tree["files"].as_object().unwrap().iter().map(|(path, file)| File {
        path: path.clone(),
        size: file["size"].as_u64().unwrap(),
        sha256: file["lfs_sha256"].as_str().map(|hex| Digest::from_hex(hex).unwrap()),
        blob: file["lfs_sha256"].is_null().then(|| file["blob_id"].as_str().unwrap().to_owned()),
    });
    (commit.clone(), files.collect())
}

fn case(bench: &Bench, hub: &Hub, folder: Option<&str>) -> Case {
    let mut case = plans::slurm(&bench.text("workspace"), port(), &bench.text("squash"));
    let (commit, files) = locked();
    let want = Want::Checkpoint { repository: REPOSITORY.to_owned(), revision: "main".to_owned() };
    let list = lock::files::digest(&files);
    let snapshot = pin::Snapshot { commit, renamed: None, files: list.clone(), count: 0, bytes: 0 };
    case.plan.wants.insert(want.name());
    case.lock.pins.insert(want.name(), pin::Entry::Pinned { want, pin: pin::Pin::Checkpoint(snapshot) });
    case.files = BTreeMap::from([(list, files)]);
    let cache = bench.text("node/hub");
    case.site.cache = Some(cache.clone());
    let mut argv = words(&["hf", "download", REPOSITORY]);
    argv.extend(folder.map(|folder| [Word::from("--local-dir"), Word::from(folder)]).into_iter().flatten());
    let url = hub.server.url();
    let env = [
        ("HF_HUB_CACHE", cache.as_str()),
        ("HF_ENDPOINT", url.as_str()),
        ("HF_HUB_DISABLE_XET", "1"),
        ("HF_HUB_DISABLE_TELEMETRY", "1"),
    ];
    case.prepend(group(Role::Stage, "download", argv, &env, Ready::Ended, vec![]));
    case
}

#[test]
fn the_hubs_own_client_brings_the_locked_commit_and_resumes() {
    let test = "the_hubs_own_client_brings_the_locked_commit_and_resumes";
    let Some(python) = process::hub_python(test) else { return };
    let hf = python.with_file_name("hf");
    if !hf.is_file() {
        println!("{test}: skipped, there is no `hf` beside {}", python.display());
        return;
    }
    let hub = Hub::of_mirror();
    for in_folder in [false, true] {
        let bench = Bench::with_stubs();
        bench.program("hf", &format!("#!/bin/sh\nexec {} \"$@\"\n", hf.display()));
        let folder = bench.text("node/models/tiny");
        let case = case(&bench, &hub, in_folder.then_some(folder.as_str()));
        let script = case.script().text;
        let output = bench.run(&script);
        assert!(output.status.success(), "{}", said(&output));
        let gate = &bench.evidence()["checkpoints"][0];
        assert_eq!((&gate["check"], &gate["problems"]), (&"full".into(), &serde_json::json!([])), "{gate}");
        let (commit, _) = locked();
        let root = if in_folder {
            folder
        } else {
            format!("{}/models--tiny-org--tiny-moe-NVFP4/snapshots/{commit}", bench.text("node/hub"))
        };

        // A shard that got lost, with what a killed download leaves, is fetched again; nothing else is.
        let shard = format!("{root}/model-00002-of-00002.safetensors");
        let real = fs::canonicalize(&shard).unwrap();
        fs::remove_file(&real).unwrap();
        let half = if in_folder {
            bench.path("node/models/tiny/.cache/huggingface/download/abc.0022bea0.1234abcd.incomplete")
        } else {
            real.with_extension("1234abcd.incomplete")
        };
        fs::write(&half, b"half").unwrap();
        let before = hub.files.log().len();
        let output = bench.run(&script);
        assert!(output.status.success(), "{}", said(&output));
        assert_eq!(hub.files.log().len() - before, 1, "one large file was asked for");
        assert!(!half.exists(), "what the killed download left is gone");

        // And with everything there, nobody asks at all.
        let before = hub.server.log().len();
        let output = bench.run(&script);
        assert!(output.status.success(), "{}", said(&output));
        assert_eq!(hub.server.log().len(), before);
        assert_eq!(bench.evidence()["checkpoints"][0]["check"], "stamp");
    }
}
