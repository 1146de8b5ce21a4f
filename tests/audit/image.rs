//! What ran, beside the image that a lock pins.

use std::fs;

use serde_json::{Value, json};

use super::{LOCK, Stage};
use crate::emit::judges::{Docker, Registry};
use crate::emit::run::Bench;

const INDEX: &str = "sha256:45c86ca2811f1367aaeb41f1315cf2ca3ca33295aeeff3c29c223f3a90d4591e";
const AMD64: &str = "sha256:8145efaf7c54807ecc3cfeddbcf9272a0b3f0bd6659ed37d5e4a3de2ebae8b78";
const ARM64: &str = "sha256:6df0abbe13219e31de9d15977fa63cdb3857a1743c19a4706da7219608cb6d75";
const CONFIG: &str = "sha256:f71de46a7cf86ff6042d4345c69b9d917222052f121db70a920e5714ced3c9da";
const ATTESTATION: &str = "sha256:8f8e888e71164f0698c2dfdbb40b0afaf89287ba0bac659416fa98be7a03823a";
const NAME: &str = "registry.example/tiny/engine";

/// Returns the exit code, and verdict with its reason of each piece of evidence.
fn audit(stage: &Stage, evidence: &[&str]) -> (i32, Vec<(String, String)>) {
    let mut words = vec!["audit", "image", "--lock", LOCK, "--format", "json"];
    words.extend(evidence);
    let ran = stage.sandbox.recipec(words);
    let value = ran.json();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let images = value["images"].as_array().cloned().unwrap_or_default();
    let verdicts = images.iter().map(|image| {
        let how = if image["why"].is_null() { &image["through"] } else { &image["why"] };
        (text(&image["verdict"]), text(how))
    });
    (ran.code, verdicts.collect())
}

#[track_caller]
fn is(stage: &Stage, evidence: &str, code: i32, verdict: &str, how: &str) {
    let (ran, found) = audit(stage, &[evidence]);
    let one = found.first().unwrap_or_else(|| panic!("{evidence}: nothing, {ran}"));
    assert!((ran, one.0.as_str()) == (code, verdict) && one.1.contains(how), "{evidence}: {ran} {one:?}");
}

fn blob(stage: &Stage, digest: &str) -> String {
    let name = digest.replace(':', "/");
    fs::copy(stage.path(&format!("mirror/oci/blobs/{name}")), stage.path("blob.json")).unwrap();
    "blob.json".to_owned()
}

#[test]
fn every_digest_of_the_pinned_image_is_that_image() {
    let stage = Stage::new();
    for (evidence, through) in [
        (INDEX.to_owned(), "reference"),
        (format!("{NAME}@{INDEX}"), "reference"),
        (format!("{NAME}:1.0@{INDEX}"), "reference"),
        (format!("docker://registry.example#tiny/engine:{AMD64}"), "platform"),
        (CONFIG.to_owned(), "config"),
        (blob(&stage, INDEX), "reference"),
    ] {
        is(&stage, &evidence, 0, "same", through);
    }
    is(&stage, &blob(&stage, AMD64), 0, "same", "platform");
}

#[test]
fn another_platform_an_attestation_and_a_moved_tag_are_told_apart() {
    let stage = Stage::new();
    let lock = fs::read_to_string(stage.path(LOCK)).unwrap();
    assert!(lock.contains("\"linux/amd64\""));
    is(&stage, ARM64, 4, "different", "it is for linux/arm64, and linux/amd64 is needed");
    let (code, found) = audit(&stage, &[ARM64, "--platform", "linux/arm64/v8"]);
    assert_eq!((code, found[0].0.as_str()), (0, "same"));
    // An attestation by its own bytes, and by its digest where the index says what it is.
    is(&stage, &blob(&stage, ATTESTATION), 4, "different", "a statement about an image");
    let index = blob(&stage, INDEX);
    let (code, found) = audit(&stage, &[&index, ATTESTATION]);
    assert_eq!((code, found[0].0.as_str(), found[1].0.as_str()), (4, "same", "different"));
    assert!(found[1].1.contains("is an attestation of the pinned index"), "{found:?}");
    // An index that is not the pinned one calls nothing an attestation.
    stage.bash("printf ' ' >>blob.json");
    let (_, found) = audit(&stage, &[&index, ATTESTATION]);
    assert!(found[1].1.contains("nothing that the lock pins"), "{found:?}");
    let other = format!("sha256:{}", "0".repeat(64));
    is(&stage, &format!("{NAME}:1.0@{other}"), 4, "different", "the tag has moved");
    is(&stage, &format!("{NAME}@{other}"), 4, "different", "another build of registry.example/tiny/engine");
    is(&stage, &format!("registry.example/tiny/engine-nightly@{other}"), 4, "different", "another image");
}

#[test]
fn what_daemons_say_is_read() {
    let stage = Stage::new();
    let say = |value: Value| {
        stage.sandbox.write("said.json", value.to_string());
        "said.json"
    };
    let pulled = json!([{ "Id": CONFIG, "RepoTags": [], "RepoDigests": [format!("{NAME}@{INDEX}")],
        "Architecture": "amd64", "Os": "linux" }]);
    is(&stage, say(pulled), 0, "same", "config");
    // A container has only the id; podman writes it without the algorithm.
    let container = json!([{ "Id": "1".repeat(64), "Image": CONFIG, "State": {}, "Config": { "Image": format!("{NAME}:1.0") } }]);
    is(&stage, say(container), 0, "same", "config");
    let bare = json!([{ "Id": CONFIG.trim_start_matches("sha256:"), "Digest": AMD64 }]);
    is(&stage, say(bare), 0, "same", "");
    let moved = json!([{ "Id": ARM64.replace('6', "7"), "RepoTags": [format!("{NAME}:1.0")],
        "RepoDigests": [format!("{NAME}@{}", INDEX.replace('4', "5"))] }]);
    is(&stage, say(moved), 4, "different", "the tag has moved");
    // The digest that it was pulled by is of an index; what it is for is what the daemon says.
    let arm = json!([{ "RepoDigests": [format!("{NAME}@{INDEX}")], "Architecture": "arm64", "Os": "linux", "Variant": "v8" }]);
    is(&stage, say(arm), 4, "different", "it is for linux/arm64/v8");
    is(
        &stage,
        say(json!({ "State": {}, "Config": { "Image": format!("{NAME}:1.0") } })),
        5,
        "unproven",
        "tags move",
    );
    let seen = |seen: &str| json!({ "version": 1, "kind": "recipec-evidence", "image": { "seen": seen } });
    is(&stage, say(seen(&format!("{NAME}@{INDEX} {CONFIG}"))), 0, "same", "config");
    is(&stage, say(seen(&format!("docker://registry.example#tiny/engine:{INDEX}"))), 0, "same", "reference");
    let (code, found) = audit(&stage, &[say(seen(""))]);
    assert_eq!((code, found.len()), (5, 0));
}

#[test]
fn hostile_evidence_ends_with_a_finding() {
    let stage = Stage::new();
    stage.bash("mkfifo pipe && mkdir folder && truncate -s 1T huge && printf '[%.0s' $(seq 100000) >deep && head -c 3 /dev/zero >zero && printf hsqs >squash");
    for evidence in ["pipe", "folder", "huge", "deep", "nowhere", "a\nb", "--", "-x.sqsh"] {
        let words = ["audit", "image", "--lock", LOCK, "--", evidence];
        let ran = stage.sandbox.recipec(words);
        assert!(matches!(ran.code, 4 | 5), "{evidence}: {} {}", ran.code, ran.stderr);
    }
    let ran = stage.sandbox.recipec(["audit", "image", "--lock", LOCK, "squash", "zero"]);
    assert_eq!(ran.code, 5, "{}", ran.stderr);
}

/// A squash file as enroot makes it from what the emitted script asks for, and one without its note.
#[test]
fn a_squash_file_says_what_was_imported() {
    let stage = Stage::new();
    if stage.sandbox.bash("command -v mksquashfs && command -v unsquashfs").code != 0 {
        println!("a_squash_file_says_what_was_imported: skipped, there are no squashfs-tools");
        return;
    }
    let make = |name: &str, rc: &str| {
        stage.sandbox.write("image/etc/rc", rc);
        stage.bash(&format!("rm -f -- ./{name} && mksquashfs image ./{name} -quiet -no-progress >/dev/null"));
    };
    make(
        "a.sqsh",
        &format!("# enroot-provenance: docker://registry.example#tiny/engine:{INDEX}\nexec \"$@\"\n"),
    );
    is(&stage, "a.sqsh", 0, "same", "reference");
    make("b.sqsh", &format!("# enroot-provenance: docker://registry.example#tiny/engine:{ARM64}\n"));
    is(&stage, "b.sqsh", 4, "different", "it is for linux/arm64");
    make("c.sqsh", &format!("#!/bin/sh\n# {INDEX}\n"));
    is(&stage, "c.sqsh", 5, "unproven", "it says no digest");
    make("d.sqsh", "# enroot-provenance: docker://registry.example#tiny/engine:1.0\n");
    is(&stage, "d.sqsh", 5, "unproven", "tags move");
}

/// A real daemon says of an image that it pulled by digest what makes it the pinned one.
#[test]
fn a_real_daemon_says_enough() {
    let test = "a_real_daemon_says_enough";
    let Some(shared) = crate::support::shared(test) else { return };
    let bench = Bench::new();
    let Some(registry) = Registry::start(test, &bench, "/workspace/record") else { return };
    let Some(docker) = Docker::start(test, &shared.join("judges"), &bench, &registry.address) else { return };
    let stage = Stage::new();
    stage.edit_lock(|pin| {
        let lock::pin::Pin::Image(image) = pin else { return };
        let platform = image.platforms.get_mut("linux/amd64").unwrap();
        platform.digest = registry.manifest.clone();
        platform.config = Some(registry.config.clone());
    });
    let name = registry
        .image
        .split('@')
        .next()
        .unwrap()
        .rsplit_once(':')
        .map_or(registry.image.as_str(), |(name, _)| name);
    let pulled = format!("{name}@{}", registry.manifest);
    let host = &docker.host;
    stage.bash(&format!(
        "export DOCKER_HOST={host} && docker pull -q {pulled} && docker image inspect {pulled} >image.json"
    ));
    is(&stage, "image.json", 0, "same", "");
    stage.bash(&format!(
        "export DOCKER_HOST={host} && docker create --name one {pulled} x && docker inspect one >one.json"
    ));
    is(&stage, "one.json", 0, "same", "");
}
