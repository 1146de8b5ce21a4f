//! Checkpoints and data sets are pinned from a hub that the hub's own client takes for one.

use std::process::Command;

use engine::known::Source;
use host::{Environment, Facts, Options, Refusal, Resolved};
use lock::pin::{Pin, Snapshot};
use recipe::want::Want;

use crate::support::hub::{Hub, Repo, STRANGER, Setup, TOKEN};
use crate::support::process::hub_python;
use crate::support::repository;

const TINY: &str = "tiny-org/tiny-moe-NVFP4";

fn checkpoint(repository: &str, revision: &str) -> Want {
    Want::Checkpoint { repository: repository.to_owned(), revision: revision.to_owned() }
}

fn options(hub: &Hub, token: Option<&str>) -> Options {
    let pairs = [("HF_ENDPOINT", hub.server.url())]
        .into_iter()
        .chain(token.map(|token| ("HF_TOKEN", token.to_owned())));
    Options { environment: pairs.collect(), ..Options::default() }
}

fn resolve(want: Want, options: &Options) -> Result<Resolved, Refusal> {
    host::resolve(&[want], options).pop().unwrap().outcome
}

#[track_caller]
fn pinned(outcome: Result<Resolved, Refusal>) -> (Snapshot, Resolved) {
    let resolved = outcome.unwrap_or_else(|refusal| panic!("{refusal:#?}"));
    let (Pin::Checkpoint(snapshot) | Pin::Dataset(snapshot)) = resolved.pin.clone() else {
        panic!("{resolved:?}")
    };
    (snapshot, resolved)
}

#[track_caller]
fn refused(outcome: Result<Resolved, Refusal>, slug: &str, exit: u8) -> Refusal {
    let refusal = outcome.expect_err("it should be refused");
    assert_eq!((refusal.diagnostic.slug.as_str(), refusal.class.exit_code()), (slug, exit), "{refusal:#?}");
    assert!(!refusal.diagnostic.help.is_empty(), "a refusal says what to do: {refusal:#?}");
    refusal
}

/// Runs a script with the hub's own client, which knows this hub alone.
fn client(python: &std::path::Path, hub: &Hub, script: &str) -> String {
    let home = tempfile::tempdir().unwrap();
    let output = Command::new(python)
        .env_clear()
        .env("HF_ENDPOINT", hub.server.url())
        .env("HF_HOME", home.path())
        .env("HF_HUB_DISABLE_XET", "1")
        .env("HF_HUB_DISABLE_PROGRESS_BARS", "1")
        .args(["-c", script])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_hubs_own_client_sees_the_files_that_are_pinned() {
    let test = "the_hubs_own_client_sees_the_files_that_are_pinned";
    let Some(python) = hub_python(test) else { return };
    let hub = Hub::start(Setup { page: 4, ..Setup::default() });
    let (snapshot, resolved) = pinned(resolve(checkpoint(TINY, "main"), &options(&hub, None)));
    let seen = client(
        &python,
        &hub,
        &format!(
            "import json\nfrom huggingface_hub import HfApi\napi = HfApi()\n\
             commit = api.model_info('{TINY}', revision='v1.0').sha\n\
             files = [[f.path, f.size, f.lfs.sha256 if f.lfs else None, None if f.lfs else f.blob_id]\n\
             \x20        for f in api.list_repo_tree('{TINY}', revision=commit, recursive=True)]\n\
             print(json.dumps([commit, sorted(files)]))"
        ),
    );
    let seen: serde_json::Value = serde_json::from_str(&seen).unwrap();
    let ours: Vec<serde_json::Value> = resolved
        .files
        .iter()
        .map(|file| {
            serde_json::json!([file.path, file.size, file.sha256.as_ref().map(|it| it.hex()), file.blob])
        })
        .collect();
    assert_eq!(seen, serde_json::json!([snapshot.commit, ours]));
    assert_eq!(snapshot.count, 10);
    assert!(resolved.remarks.is_empty(), "{:?}", resolved.remarks);
}

#[test]
fn what_the_hubs_own_client_downloads_has_the_pinned_digests() {
    let test = "what_the_hubs_own_client_downloads_has_the_pinned_digests";
    let Some(python) = hub_python(test) else { return };
    let hub = Hub::of_mirror();
    let (snapshot, resolved) = pinned(resolve(checkpoint(TINY, "main"), &options(&hub, None)));
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("checkpoint");
    client(
        &python,
        &hub,
        &format!(
            "from huggingface_hub import snapshot_download\n\
             snapshot_download('{TINY}', revision='{}', local_dir='{}')",
            snapshot.commit,
            place.display()
        ),
    );
    for file in &resolved.files {
        let bytes = std::fs::read(place.join(&file.path)).unwrap();
        assert_eq!(bytes.len() as u64, file.size);
        match (&file.sha256, &file.blob) {
            (Some(sha256), None) => assert_eq!(*sha256, lock::Digest::of(&bytes), "{}", file.path),
            (None, Some(blob)) => assert_eq!(*blob, upstream::git_blob_id(&bytes), "{}", file.path),
            other => panic!("{}: {other:?}", file.path),
        }
    }
}

#[test]
fn a_mirror_that_the_hubs_own_client_fills_gives_the_same_pin() {
    let test = "a_mirror_that_the_hubs_own_client_fills_gives_the_same_pin";
    let Some(python) = hub_python(test) else { return };
    let hub = Hub::start(Setup { xet: true, ..Setup::default() });
    let folder = tempfile::tempdir().unwrap();
    client(
        &python,
        &hub,
        &format!(
            "from huggingface_hub import snapshot_download\nsnapshot_download('{TINY}', cache_dir='{}')",
            folder.path().join("hub").display()
        ),
    );
    let live = resolve(checkpoint(TINY, "main"), &options(&hub, None));
    let mirror = Options { mirror: Some(folder.path().to_owned()), ..Options::default() };
    let mirrored = resolve(checkpoint(TINY, "main"), &mirror);
    // The client keeps the tree only if it is new enough; without it nothing can be pinned.
    if mirrored.as_ref().is_err_and(|refusal| format!("{refusal:?}").contains("trees/")) {
        println!("{test}: skipped, this client keeps no trees");
        return;
    }
    assert_eq!(pinned(live), pinned(mirrored));
}

#[test]
fn facts_are_read_from_the_pinned_files_and_marked_so() {
    let hub = Hub::of_mirror();
    let (snapshot, resolved) = pinned(resolve(checkpoint(TINY, "main"), &options(&hub, None)));
    let Facts::Checkpoint(facts) = resolved.facts else { panic!("{:?}", resolved.facts) };
    let architecture = facts.architecture.unwrap();
    assert_eq!((architecture.value.as_str(), architecture.source), ("Qwen3MoeForCausalLM", Source::Pinned));
    assert_eq!((facts.heads.unwrap().value, facts.kv_heads.unwrap().value), (4, 2));
    assert_eq!((facts.experts.unwrap().value, facts.context.unwrap().value), (4, 32_768));
    assert_eq!(facts.quantization.unwrap().value, "modelopt");
    assert_eq!(facts.quantization_algorithm.unwrap().value, "NVFP4");
    assert_eq!(facts.producer.unwrap().value, "modelopt 0.45.0");
    assert!(facts.chat_template.unwrap().value && facts.thinks_by_default.unwrap().value);
    let weights: u64 = resolved.files.iter().filter(|file| file.sha256.is_some()).map(|file| file.size).sum();
    assert_eq!(facts.weight_bytes.unwrap().value, weights);
    assert!(snapshot.bytes > weights);
    // One request for the revision, one for the tree, and the few small files; no weights.
    assert!(hub.files.log().is_empty(), "{:?}", hub.files.log());
    assert!(hub.server.log().len() <= 14, "{}", hub.server.log().len());
}

#[test]
fn every_spelling_of_a_revision_gives_one_commit_and_a_commit_stays_itself() {
    let hub = Hub::of_mirror();
    let (main, _) = pinned(resolve(checkpoint(TINY, "main"), &options(&hub, None)));
    for revision in ["v1.0", "refs/pr/1", main.commit.as_str()] {
        assert_eq!(pinned(resolve(checkpoint(TINY, revision), &options(&hub, None))).0, main, "{revision}");
    }
    let mirror = Options { mirror: Some(repository().join("fixtures/mirror")), ..Options::default() };
    assert_eq!(pinned(resolve(checkpoint(TINY, "main"), &mirror)).0, main, "the mirror and the hub agree");
    assert_eq!(pinned(resolve(checkpoint(TINY, &main.commit), &mirror)).0, main);
    let dataset =
        Want::Dataset { repository: "tiny-org/tiny-traces".to_owned(), revision: "main".to_owned() };
    let (live, _) = pinned(resolve(dataset.clone(), &options(&hub, None)));
    assert_eq!(pinned(resolve(dataset, &mirror)).0, live);
}

fn with(name: &str, repo: Repo) -> Hub {
    let repositories = [(format!("models/{name}"), repo)].into_iter().collect();
    Hub::start(Setup { repositories, ..Setup::default() })
}

const CONFIG: (&str, &str) = ("config.json", "{}");

#[test]
fn who_may_not_see_a_checkpoint_learns_why() {
    let weights = ("model.safetensors", "weights");
    let gated = with("o/gated", Repo { gated: true, ..Repo::new('a', &[CONFIG, weights]) });
    let want = || checkpoint("o/gated", "main");
    let nobody = refused(resolve(want(), &options(&gated, None)), "gated-checkpoint", 4);
    assert!(nobody.diagnostic.notes.iter().any(|note| note.contains("no token")));
    let stranger = refused(resolve(want(), &options(&gated, Some(STRANGER))), "gated-checkpoint", 4);
    assert!(stranger.diagnostic.notes.iter().any(|note| note.contains("has no access")));
    pinned(resolve(want(), &options(&gated, Some(TOKEN))));
    let wrong = refused(resolve(want(), &options(&gated, Some("hf_wrong_secret"))), "access-denied", 4);
    assert!(!format!("{wrong:?}").contains("hf_wrong_secret"));

    let private = with("o/private", Repo { private: true, ..Repo::new('b', &[CONFIG, weights]) });
    let want = || checkpoint("o/private", "main");
    let nobody = refused(resolve(want(), &options(&private, None)), "checkpoint-not-found", 4);
    assert!(nobody.diagnostic.notes.iter().any(|note| note.contains("private")));
    pinned(resolve(want(), &options(&private, Some(TOKEN))));
    // The token may come from the file that the client writes.
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("token"), format!("{TOKEN}\n")).unwrap();
    let environment: Environment =
        [("HF_ENDPOINT", private.server.url()), ("HF_HOME", home.path().display().to_string())]
            .into_iter()
            .collect();
    pinned(resolve(want(), &Options { environment, ..Options::default() }));

    let disabled = with("o/disabled", Repo { disabled: true, ..Repo::new('c', &[CONFIG, weights]) });
    refused(resolve(checkpoint("o/disabled", "main"), &options(&disabled, None)), "checkpoint-disabled", 4);
    refused(resolve(checkpoint("o/nothing", "main"), &options(&disabled, None)), "checkpoint-not-found", 4);
    // Part of a name is lost easily when it is copied.
    let near = resolve(checkpoint("tiny-org/tiny-NVFP4", "main"), &options(&disabled, None));
    let near = refused(near, "checkpoint-not-found", 4);
    assert!(near.diagnostic.help.iter().any(|help| help.contains(TINY)), "{near:#?}");
    refused(resolve(checkpoint("o/x", "../x"), &options(&disabled, None)), "hub-reference", 1);
}

#[test]
fn a_renamed_repository_is_pinned_under_both_names() {
    let weights = ("model.safetensors", "weights");
    let repositories = [
        ("models/o/old".to_owned(), Repo { moved_to: Some("new-owner/new".to_owned()), ..Repo::default() }),
        ("models/new-owner/new".to_owned(), Repo::new('d', &[CONFIG, weights])),
    ];
    let hub = Hub::start(Setup { repositories: repositories.into_iter().collect(), ..Setup::default() });
    let (snapshot, resolved) = pinned(resolve(checkpoint("o/old", "main"), &options(&hub, None)));
    assert_eq!(snapshot.renamed.as_deref(), Some("new-owner/new"));
    assert_eq!(resolved.remarks[0].slug.as_str(), "renamed-checkpoint");
    assert_eq!(
        snapshot.files,
        pinned(resolve(checkpoint("new-owner/new", "main"), &options(&hub, None))).0.files
    );
}

#[test]
fn a_revision_that_cannot_be_served_is_refused_and_main_is_not_taken() {
    let hub = with("o/empty", Repo::new('e', &[CONFIG, ("README.md", "soon")]));
    let refusal = refused(resolve(checkpoint("o/empty", "main"), &options(&hub, None)), "no-weights", 4);
    assert!(refusal.diagnostic.notes.iter().any(|note| note.contains("never taken")));
    refused(resolve(checkpoint(TINY, "v9"), &options(&hub, None)), "revision-not-found", 4);
    refused(resolve(checkpoint(TINY, &"0".repeat(40)), &options(&hub, None)), "revision-not-found", 4);

    let index = r#"{"metadata":{"total_size":3},"weight_map":{"a":"model-00001-of-00002.safetensors","b":"model-00002-of-00002.safetensors"}}"#;
    let half = [CONFIG, ("model-00001-of-00002.safetensors", "one"), ("model.safetensors.index.json", index)];
    let hub = with("o/half", Repo::new('f', &half));
    let refusal =
        refused(resolve(checkpoint("o/half", "main"), &options(&hub, None)), "incomplete-upload", 4);
    assert!(refusal.diagnostic.notes.iter().any(|note| note.contains("model-00002-of-00002.safetensors")));

    // Free names: only the index knows that one is missing.
    let index = r#"{"weight_map":{"a":"experts.safetensors","b":"rest.safetensors"}}"#;
    let named = [CONFIG, ("rest.safetensors", "one"), ("model.safetensors.index.json", index)];
    let hub = with("o/named", Repo::new('0', &named));
    refused(resolve(checkpoint("o/named", "main"), &options(&hub, None)), "incomplete-upload", 4);

    let hub = with(
        "o/broken",
        Repo::new('1', &[CONFIG, ("a.safetensors", "one"), ("model.safetensors.index.json", "{")]),
    );
    refused(resolve(checkpoint("o/broken", "main"), &options(&hub, None)), "shard-index-wrong", 4);
}

#[test]
fn what_is_odd_about_a_checkpoint_is_said_and_it_is_still_pinned() {
    let odd = |files: &[(&str, &str)]| {
        let hub = with("o/odd", Repo::new('2', files));
        let (_, resolved) = pinned(resolve(checkpoint("o/odd", "main"), &options(&hub, None)));
        resolved.remarks.iter().map(|remark| remark.slug.as_str()).collect::<Vec<_>>()
    };
    let one = ("model.safetensors", "weights");
    assert_eq!(odd(&[CONFIG, one]), Vec::<&str>::new());
    assert_eq!(odd(&[CONFIG, one, ("pytorch_model.bin", "older")]), ["ambiguous-weights"]);
    assert_eq!(odd(&[CONFIG, one, ("consolidated.safetensors", "again")]), ["ambiguous-weights"]);
    let index = r#"{"metadata":{"total_size":700},"weight_map":{"a":"model.safetensors"}}"#;
    assert_eq!(odd(&[CONFIG, one, ("model.safetensors.index.json", index)]), ["shard-index-wrong"]);
    let shards = [CONFIG, ("m-00001-of-00002.safetensors", "a"), ("m-00002-of-00002.safetensors", "b")];
    assert_eq!(odd(&shards), ["shard-index-absent"]);
    let config = ("config.json", r#"{"quantization_config":{"quant_algo":"NVFP4"}}"#);
    let other = ("hf_quant_config.json", r#"{"quantization":{"quant_algo":"FP8"}}"#);
    assert_eq!(odd(&[config, other, one]), ["quantization-files-disagree"]);
    assert_eq!(odd(&[("config.json", "{"), one]), ["config-unreadable"]);
}

#[test]
fn a_tree_that_cannot_be_unpacked_everywhere_is_refused() {
    let weights = ("model.safetensors", "weights");
    for (path, slug) in [
        ("../evil", "unsafe-path"),
        ("/etc/x", "unsafe-path"),
        ("C:\\x", "unsafe-path"),
        ("CONFIG.json", "case-collision"),
    ] {
        let hub = with("o/evil", Repo::new('3', &[CONFIG, weights, (path, "x")]));
        refused(resolve(checkpoint("o/evil", "main"), &options(&hub, None)), slug, 4);
    }
    let hub = with("o/fine", Repo::new('4', &[CONFIG, weights, ("sub/\u{fc}n\u{ef} code 100%.txt", "x")]));
    pinned(resolve(checkpoint("o/fine", "main"), &options(&hub, None)));
}
