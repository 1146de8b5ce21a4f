//! What looks like a checkpoint and is none, as it was met in the wild: one test a pitfall.
//!
//! What is about resolving (a hub's mirror, refusals of a hub, a moved branch, rewritten history) is tested
//! with `recipec lock`; hostile folders and failing file systems stand beside this file.

use std::os::unix::fs::symlink;

use serde_json::Value;

use super::{CACHE, COMMIT, LOCK, MODEL, SHARD, Stage, note};

const FIRST: &str = "model-00001-of-00002.safetensors";
const INDEX: &str = "model.safetensors.index.json";

/// Makes a cache as the hub's client does: links into a folder of blobs.
fn cache(stage: &Stage) {
    stage.bash(&format!(
        "mkdir -p hub/models--tiny-org--tiny-moe-NVFP4/{{blobs,refs,snapshots/{COMMIT}}} \
         && cd hub/models--tiny-org--tiny-moe-NVFP4 && printf %s {COMMIT} >refs/main && for f in ../../model/*; do \
         n=$(sha256sum <$f | head -c 64); cp $f blobs/$n; ln -s ../../blobs/$n snapshots/{COMMIT}/$(basename $f); done"
    ));
}

fn wrong(value: &Value) -> Vec<(&str, &str)> {
    let files = value["files"].as_array().unwrap().iter();
    files
        .filter(|file| file["state"] != "ok")
        .map(|file| (file["path"].as_str().unwrap(), file["state"].as_str().unwrap()))
        .collect()
}

fn slugs(value: &Value) -> Vec<&str> {
    value["diagnostics"].as_array().unwrap().iter().map(|found| found["slug"].as_str().unwrap()).collect()
}

/// P1, F035: a download that was killed left names alone in the snapshot, and parts among the blobs.
#[test]
fn a_killed_download_is_incomplete_and_names_shards_and_parts() {
    let stage = Stage::new();
    cache(&stage);
    stage.bash(
        "cd hub/models--*/snapshots/* && for f in *.safetensors; do b=$(readlink $f); rm $f; \
         mv $b $b.1a2b3c4d.incomplete; touch -d '2 hours ago' $b.1a2b3c4d.incomplete; done",
    );
    for more in [&[][..], &["--fast"]] {
        let (ran, value) = stage.audit("hub", more);
        assert_eq!((ran.code, &value["state"]), (4, &"incomplete".into()));
        let found = wrong(&value);
        assert_eq!(found.iter().filter(|(_, state)| *state == "partial").count(), 2);
        assert!(found.contains(&(FIRST, "missing")) && found.contains(&(SHARD, "missing")), "{found:?}");
    }
}

/// P2, P3, F034, F036, F037: an index that lists shards is no proof that they are there.
#[test]
fn absent_shards_are_named_whatever_else_is_there() {
    let stage = Stage::new();
    stage.bash(&format!("rm model/{SHARD}"));
    stage.is("incomplete", 4, &[(SHARD, "missing")]);
    stage.bash(&format!("rm model/{FIRST}"));
    stage.is("incomplete", 4, &[(FIRST, "missing"), (SHARD, "missing")]);
}

/// F038: config and README are there, weights and tokenizer are not; "not empty" was the whole guard.
#[test]
fn a_folder_of_metadata_alone_is_incomplete() {
    let stage = Stage::new();
    stage.bash("cd model && rm *.safetensors tokenizer.json *.index.json");
    stage.is(
        "incomplete",
        4,
        &[(FIRST, "missing"), (SHARD, "missing"), (INDEX, "missing"), ("tokenizer.json", "missing")],
    );
}

/// P4: a blob that was cut short under the name of its digest.
#[test]
fn a_truncated_blob_is_found_before_anything_is_read() {
    let stage = Stage::new();
    cache(&stage);
    stage.bash(&format!("truncate -s 1000 $(readlink -f hub/models--*/snapshots/*/{SHARD})"));
    let (ran, value) = stage.audit("hub", &["--fast"]);
    assert_eq!((ran.code, wrong(&value), note(&value, SHARD)), (4, vec![(SHARD, "size")], "cut short"));
}

/// P5, P7: one bit, or other bytes of the same length under the right name.
#[test]
fn one_bit_is_enough() {
    let stage = Stage::new();
    let path = stage.path(&format!("model/{SHARD}"));
    let mut bytes = std::fs::read(&path).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    std::fs::write(&path, bytes).unwrap();
    stage.is("different", 4, &[(SHARD, "hash")]);
}

/// P6: space that was reserved and never filled. The gate that reads nothing does not let it pass.
#[test]
fn a_file_of_holes_is_found_by_content_and_doubted_without() {
    let stage = Stage::new();
    stage.bash(&format!("cd model && s=$(stat -c %s {SHARD}) && rm {SHARD} && truncate -s $s {SHARD}"));
    let value = stage.is("different", 4, &[(SHARD, "hash")]);
    assert!(note(&value, SHARD).contains("all holes"));
    let (ran, value) = stage.audit("model", &["--fast"]);
    assert_eq!((ran.code, wrong(&value)), (5, vec![(SHARD, "unreadable")]));
}

/// P8: a clone without large-file storage. A pointer to other content is another matter.
#[test]
fn a_pointer_says_whether_it_points_to_the_locked_content() {
    let stage = Stage::new();
    let pointer =
        |oid: &str| format!("version https://git-lfs.github.com/spec/v1\noid sha256:{oid}\nsize 1\n");
    std::fs::write(stage.path(&format!("model/{SHARD}")), pointer(&"0".repeat(64))).unwrap();
    let value = stage.is("incomplete", 4, &[(SHARD, "pointer")]);
    assert_eq!(note(&value, SHARD), "a pointer to other content");
}

/// P9: `cp -a` of a snapshot takes links and leaves what they lead to.
#[test]
fn a_copy_of_links_is_incomplete_and_shows_where_they_lead() {
    let stage = Stage::new();
    cache(&stage);
    stage.bash(&format!("cp -a hub/models--*/snapshots/{COMMIT} copy"));
    let (ran, value) = stage.audit("copy", &["--fast"]);
    assert_eq!((ran.code, &value["state"]), (4, &"incomplete".into()));
    assert!(wrong(&value).iter().all(|(_, state)| *state == "dangling"));
    assert!(note(&value, SHARD).contains("../../blobs/"), "{value:#}");
}

/// P10: links over two hops and out of the cache are right if the bytes are, and are said.
#[test]
fn a_link_out_of_the_cache_is_right_and_said() {
    let stage = Stage::new();
    stage.bash(&format!(
        "mkdir shared && mv model/{SHARD} shared/x && ln -s x shared/y && ln -s ../shared/y model/{SHARD}"
    ));
    let value = stage.is("complete", 0, &[]);
    assert!(note(&value, SHARD).starts_with("a link leads out of the cache, to "), "{value:#}");
    // A folder that is a link: a loader follows it.
    let stage = Stage::new();
    stage.bash("mv model elsewhere && ln -s elsewhere model");
    stage.is("complete", 0, &[]);
}

/// P11: without the index, loaders take whatever shards they find.
#[test]
fn an_absent_index_is_missing() {
    let stage = Stage::new();
    stage.bash(&format!("rm model/{INDEX}"));
    stage.is("incomplete", 4, &[(INDEX, "missing")]);
    assert_eq!(stage.audit("model", &["--fast"]).0.code, 4);
}

/// P12: upstream's own index is wrong, so every byte is as locked.
#[test]
fn an_index_that_is_not_about_its_shards_is_found_though_it_is_as_locked() {
    let stage = Stage::new();
    stage.bash(&format!(
        "sed -i 's/\"lm_head.weight\": \"model-00002/\"lm_head.weight\": \"model-00001/' {CACHE}/snapshots/*/{INDEX}"
    ));
    stage.relock();
    let (ran, value) = stage.audit("mirror/hub", &[]);
    assert_eq!((ran.code, &value["state"]), (4, &"complete".into()));
    assert_eq!(slugs(&value), ["index-wrong", "index-wrong"]);
    let first = &value["diagnostics"][0];
    assert_eq!(first["severity"], "error");
    assert_eq!(first["notes"][0], format!("`lm_head.weight` is not in `{FIRST}`, where it says so"));
    assert_eq!(value["diagnostics"][1]["severity"], "warning");
    // A file name of the index is a name, and nothing that is opened.
    stage.bash(&format!("sed -i 's|\"lm_head.weight\": \"[^\"]*\"|\"lm_head.weight\": \"../../../../etc/passwd\"|' model/{INDEX}"));
    assert_eq!(stage.audit("model", &[]).1["state"], "different");
}

/// P13: one more file that a loader's pattern takes.
#[test]
fn stray_weights_are_extra_and_other_strays_are_not() {
    let stage = Stage::new();
    stage.bash(&format!(
        "cp model/{SHARD} model/consolidated.safetensors && touch model/.gitattributes model/notes.txt"
    ));
    stage.is("different", 4, &[("consolidated.safetensors", "extra")]);
}

/// P14: each of two shards is the other.
#[test]
fn swapped_shards_name_each_other() {
    let stage = Stage::new();
    // Of one size, so that the sizes say nothing.
    stage.bash(&format!(
        "cd {CACHE}/snapshots/* && head -c 128 /dev/zero >>{FIRST} && cp *.safetensors ../../../../../model"
    ));
    stage.relock();
    stage.bash(&format!("cd model && mv {FIRST} x && mv {SHARD} {FIRST} && mv x {SHARD}"));
    let value = stage.is("different", 4, &[(FIRST, "hash"), (SHARD, "hash")]);
    assert_eq!(note(&value, FIRST), format!("it is the content of {SHARD}"));
    assert_eq!(note(&value, SHARD), format!("it is the content of {FIRST}"));
}

/// P15: an editor or `core.autocrlf` changed the line ends and nothing else.
#[test]
fn line_ends_alone_are_said_to_be_that() {
    let stage = Stage::new();
    stage.bash("sed -i 's/$/\\r/' model/config.json");
    let value = stage.is("different", 4, &[("config.json", "size")]);
    assert!(note(&value, "config.json").contains("only its line ends differ"), "{value:#}");
}

/// P16, F046: an edited configuration says which members differ: all of them where the locked text is at
/// hand, else the facts that the lock has.
#[test]
fn an_edited_config_says_what_differs() {
    let stage = Stage::new();
    stage.bash("sed -i 's/\"modelopt\"/\"compressed-tensors\"/; s/\"num_attention_heads\": [0-9]*/\"num_attention_heads\": 7/' model/config.json");
    let value = stage.audit("model", &[]).1;
    assert_eq!((&value["state"], wrong(&value)), (&"different".into(), vec![("config.json", "size")]));
    let said = note(&value, "config.json");
    assert!(said.contains("it states heads 7, the lock "), "{said}");
    assert!(said.contains("it states quantization \"compressed-tensors\", the lock \"modelopt\""), "{said}");
    // The hub's cache still has the locked blob.
    cache(&stage);
    stage.bash(&format!(
        "o=mirror/hub/models--tiny-org--tiny-moe-NVFP4/snapshots/{COMMIT}/config.json; cp $o hub/models--tiny-org--tiny-moe-NVFP4/blobs/$(git hash-object $o)"
    ));
    let value = stage.audit("hub", &[]).1;
    let said = note(&value, "config.json");
    assert!(said.contains("`num_attention_heads` is 7, ") && said.contains(" in the locked one"), "{said}");
}

/// P17: two files that state another quantization, and one that is gone.
#[test]
fn quantization_files_that_disagree_are_found() {
    let stage = Stage::new();
    stage.bash("sed -i 's/\"quant_algo\": \"NVFP4\"/\"quant_algo\": \"FP8\"/' model/hf_quant_config.json");
    let (ran, value) = stage.audit("model", &[]);
    assert_eq!((ran.code, &value["state"]), (4, &"different".into()));
    assert!(slugs(&value).contains(&"quantization-files-disagree"), "{value:#}");
    stage.bash("rm model/hf_quant_config.json");
    stage.is("incomplete", 4, &[("hf_quant_config.json", "missing")]);
}

/// P18, P19: a cache that has another commit, and one whose `main` has moved on.
#[test]
fn another_revision_in_a_cache_is_named() {
    let stage = Stage::new();
    cache(&stage);
    let other = "e".repeat(40);
    stage.bash(&format!(
        "cd hub/models--*/ && cp -a snapshots/{COMMIT} snapshots/{other} && printf {other} >refs/main"
    ));
    let (ran, value) = stage.audit("hub", &[]);
    assert_eq!((ran.code, &value["state"]), (0, &"complete".into()));
    assert!(value["notes"][0].as_str().unwrap().starts_with(&format!("`main` is {other}")), "{value:#}");
    stage.bash(&format!(
        "cd hub/models--*/ && rm -r snapshots/{COMMIT} && rm snapshots/{other}/README.md && echo new >snapshots/{other}/README.md"
    ));
    let (ran, value) = stage.audit("hub", &[]);
    assert_eq!((ran.code, &value["state"]), (4, &"different".into()), "{value:#}");
    assert_eq!((&value["is"]["commit"], &value["is_said_by"]), (&other.into(), &"client".into()));
    // A cache that knows the repository and has nothing of it.
    stage.bash("rm -r hub/models--*/snapshots/*");
    assert_eq!(stage.audit("hub", &[]).1["state"], "incomplete");
}

/// "Which locked checkpoint is this really?": any lock of the root may know it.
#[test]
fn another_locked_checkpoint_is_recognised_by_its_files() {
    let stage = Stage::new();
    let old = std::fs::read_to_string(stage.path(LOCK)).unwrap();
    stage.bash(&format!("printf changed >>{CACHE}/snapshots/{COMMIT}/tokenizer.json"));
    stage.relock();
    std::fs::write(stage.path("lockfiles/tiny/before.lock.json"), old).unwrap();
    let (ran, value) = stage.audit("model", &[]);
    assert_eq!((ran.code, &value["state"]), (4, &"different".into()));
    assert_eq!((&value["is"]["repo"], &value["is_said_by"]), (&MODEL.into(), &"content".into()));
}

/// P23: a file that this user may not read.
#[test]
fn a_file_without_permission_is_unreadable() {
    let stage = Stage::new();
    stage.bash(&format!("chmod 0 model/{SHARD}"));
    if std::fs::File::open(stage.path(&format!("model/{SHARD}"))).is_ok() {
        println!("a_file_without_permission_is_unreadable: skipped, this user may read everything");
        return;
    }
    stage.is("unreadable", 5, &[(SHARD, "unreadable")]);
}

/// P27: a list of files that leads out of the folder is no list, although its digest is the locked one.
#[test]
fn a_locked_path_that_leads_out_is_refused() {
    let stage = Stage::new();
    let lists = crate::support::files(&stage.path("lockfiles/files"), ".json");
    let list = lists.iter().find(|path| std::fs::read_to_string(path).unwrap().contains(SHARD)).unwrap();
    let text = std::fs::read_to_string(list).unwrap().replace("README.md", "../../../etc/passwd");
    let (old, new) = (lock::Digest::of(&std::fs::read(list).unwrap()), lock::Digest::of(text.as_bytes()));
    std::fs::write(list.with_file_name(format!("sha256-{}.json", new.hex())), text).unwrap();
    stage.edit_lock(|pin| match pin {
        lock::pin::Pin::Checkpoint(snapshot) if snapshot.files == old => snapshot.files = new.clone(),
        _ => {}
    });
    let ran = stage.sandbox.recipec(["audit", "checkpoint", "model", "--lock", LOCK, "--repository", MODEL]);
    assert!(
        ran.code == 3 && ran.stderr.contains("leads out of the checkpoint"),
        "{}{}",
        ran.stdout,
        ran.stderr
    );
}

/// P28: names with spaces, percent signs and letters of any script.
#[test]
fn unusual_names_are_plain_names() {
    let stage = Stage::new();
    stage.bash(&format!(
        "cd {CACHE}/snapshots/{COMMIT} && mkdir -p sub && echo x >'sub/ünï code 100%20.txt' && cp -r sub ../../../../../model"
    ));
    stage.relock();
    let value = stage.is("complete", 0, &[]);
    assert!(value.to_string().contains("sub/ünï code 100%20.txt"));
}

/// What was read once is not read again; what changed since is.
#[test]
fn remembered_files_are_not_read_again_unless_they_changed() {
    let stage = Stage::new();
    let remember = ["--remember", "seen/memory"];
    let (ran, value) = stage.audit("model", &remember);
    assert_eq!((ran.code, &value["remembered"]), (0, &0.into()));
    let all = value["files"].as_array().unwrap().len();
    assert_eq!(stage.audit("model", &remember).1["remembered"], all);
    // Other content of the same size, with the time of the old: as a copy that keeps times makes it.
    stage.bash(&format!(
        "cd model && touch -r {SHARD} t && printf X | dd of={SHARD} bs=1 seek=9000 conv=notrunc status=none && touch -r t {SHARD} && rm t"
    ));
    let (ran, value) = stage.audit("model", &remember);
    assert_eq!((ran.code, wrong(&value)), (4, vec![(SHARD, "hash")]));
    assert_eq!(value["remembered"], all - 1);
    // That it is wrong is remembered too.
    let (ran, value) = stage.audit("model", &remember);
    assert_eq!((ran.code, &value["remembered"]), (4, &all.into()));
    symlink("/dev/null", stage.path("device")).unwrap();
    let (ran, value) = stage.audit("model", &["--remember", "device"]);
    assert!(ran.code == 4 && slugs(&value).contains(&"not-remembered"), "{value:#}");
}
