//! The checkpoint gate: what is served is complete and equal to the lock, or nothing is.

use std::fs;
use std::os::unix::fs::symlink;

use super::plans::{self, COMMIT, Case, REPOSITORY, file};
use super::run::{Bench, port, said};

const CONFIG: &[u8] = b"{\"architectures\": [\"Tiny\"]}\n";
const README: &[u8] = b"# tiny\n";
const WEIGHTS: &[u8] = &[7; 5000];

fn list() -> Vec<lock::pin::File> {
    vec![
        file("config.json", CONFIG, true),
        file("README.md", README, true),
        file("sub dir/u\u{308}\\$(touch pwned)'.json", CONFIG, true),
        file("model-00001-of-00002.safetensors", WEIGHTS, false),
        file("sub dir/back\\slash.safetensors", WEIGHTS, false),
    ]
}

fn content(name: &str) -> &'static [u8] {
    match name {
        "README.md" => README,
        name if name.ends_with(".json") => CONFIG,
        _ => WEIGHTS,
    }
}

/// Returns a run whose checkpoint is staged, complete, in a folder.
fn staged() -> (Bench, Case) {
    let bench = Bench::with_stubs();
    let mut case = plans::slurm(&bench.text("workspace"), port(), &bench.text("squash"));
    case.serve(list());
    case.site.staged.insert(REPOSITORY.to_owned(), bench.text("models/tiny"));
    for file in list() {
        bench.write(&format!("models/tiny/{}", file.path), content(&file.path));
    }
    (bench, case)
}

/// Runs and returns (exit code, what was said, the checkpoint's part of the evidence).
fn run(bench: &Bench, case: &Case) -> (i32, String, serde_json::Value) {
    let output = bench.run(&case.script().text);
    (output.status.code().unwrap_or(-1), said(&output), bench.evidence()["checkpoints"][0].clone())
}

#[test]
fn a_complete_checkpoint_is_served_and_its_stamp_spares_the_next_run_the_reading() {
    let (bench, case) = staged();
    let (code, said, gate) = run(&bench, &case);
    assert_eq!(code, 0, "{said}");
    assert_eq!(
        (&gate["check"], &gate["files"], &gate["commit"]),
        (&"full".into(), &5.into(), &COMMIT.into())
    );
    let (code, said, gate) = run(&bench, &case);
    assert_eq!((code, &gate["check"]), (0, &"stamp".into()), "{said}");
    assert!(!bench.path("workspace/pwned").exists() && !bench.path("models/tiny/pwned").exists());

    // A touch is enough to read everything again, and so is the wish to.
    bench.write("models/tiny/config.json", CONFIG);
    assert_eq!(run(&bench, &case).2["check"], "full");
    assert_eq!(run(&bench, &case).2["check"], "stamp");
    let output = bench.command(&case.script().text).env("RECIPEC_GATE", "full").output().unwrap();
    assert!(output.status.success());
    assert_eq!(bench.evidence()["checkpoints"][0]["check"], "full");

    // A stamp that was tampered with seals nothing.
    let stamp = crate::support::files(&bench.path("models/tiny/.recipec"), ".stamp").pop().unwrap();
    let text = fs::read_to_string(&stamp).unwrap();
    fs::write(&stamp, text.replacen('1', "2", 1)).unwrap();
    assert_eq!(run(&bench, &case).2["check"], "full");
}

#[test]
fn nothing_else_than_the_locked_checkpoint_is_served() {
    let shard = "model-00001-of-00002.safetensors";
    let mut flipped = WEIGHTS.to_vec();
    flipped[4000] ^= 1;
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5000\n";
    type Harm = Box<dyn Fn(&Bench)>;
    let path = move |bench: &Bench, name: &str| bench.path(&format!("models/tiny/{name}"));
    let cases: Vec<(&str, Harm)> = vec![
        ("checkpoint-missing", Box::new(|bench| fs::remove_dir_all(bench.path("models/tiny")).unwrap())),
        ("checkpoint-incomplete", Box::new(move |bench| fs::remove_file(path(bench, shard)).unwrap())),
        (
            "checkpoint-incomplete",
            Box::new(move |bench| {
                fs::remove_file(path(bench, shard)).unwrap();
                symlink("../../blobs/gone", path(bench, shard)).unwrap();
            }),
        ),
        (
            "checkpoint-different",
            Box::new(move |bench| fs::write(path(bench, shard), &WEIGHTS[..100]).unwrap()),
        ),
        ("checkpoint-different", Box::new(move |bench| fs::write(path(bench, shard), &flipped).unwrap())),
        (
            "checkpoint-different",
            Box::new(move |bench| fs::write(path(bench, shard), vec![0; 5000]).unwrap()),
        ),
        (
            "checkpoint-different",
            Box::new(move |bench| {
                fs::write(path(bench, "config.json"), b"{\"architectures\": [\"Tony\"]}\n").unwrap();
            }),
        ),
        ("checkpoint-pointer", Box::new(move |bench| fs::write(path(bench, shard), pointer).unwrap())),
        (
            "checkpoint-extra",
            Box::new(move |bench| fs::write(path(bench, "consolidated.safetensors"), b"x").unwrap()),
        ),
        (
            "checkpoint-in-progress",
            Box::new(|bench| {
                bench.write("models/tiny/.cache/huggingface/download/x.abc.incomplete", "half");
            }),
        ),
    ];
    for (reason, harm) in cases {
        let (bench, case) = staged();
        harm(&bench);
        let (code, said, gate) = run(&bench, &case);
        assert_eq!(code, 4, "{reason}: {said}");
        assert!(said.contains(&format!("stopped: {reason}: ")), "{reason}: {said}");
        assert_eq!(bench.evidence()["stopped"], reason);
        assert!(gate["problems"][0].as_str().unwrap().starts_with(reason), "{gate}");
        assert!(bench.calls("engine").is_empty(), "{reason}");
        assert_eq!(bench.calls("scancel").len(), 1);
    }
}

#[test]
fn what_no_engine_reads_may_lie_beside_a_checkpoint() {
    let (bench, case) = staged();
    bench.write("models/tiny/NOTICE.txt", "x");
    bench.write("models/tiny/.cache/huggingface/trees/x.json", "{}");
    let (code, said, gate) = run(&bench, &case);
    assert_eq!((code, &gate["extras"]), (0, &serde_json::json!(["NOTICE.txt"])), "{said}");
}

/// A downloader that fills a folder or a hub cache, slowly, one file at a time, and is killed once.
fn downloader(bench: &Bench) {
    let mut script = String::from(
        "#!/usr/bin/env bash\nset -euo pipefail\n. \"$(dirname -- \"$0\")/record.sh\"\ncommit='' folder=''\n\
         while (($#)); do case $1 in --revision) commit=$2; shift ;; --local-dir) folder=$2; shift ;; esac; shift; done\n\
         [[ -n $folder ]] || folder=$HF_HUB_CACHE/models--example--tiny-model/snapshots/$commit\n",
    );
    for (number, file) in list().iter().enumerate() {
        let source = bench.write(&format!("hub/{number}"), content(&file.path));
        let path = emit::quote::quote(&file.path);
        script.push_str(&format!(
            "[[ -e $folder/{path} ]] || {{ mkdir -p \"$(dirname \"$folder/\"{path})\"; cp {} \"$folder/\"{path}; echo {number} >>\"$stub_folder/copied\"; }}\n",
            source.display()
        ));
        if number == 2 {
            script.push_str("[[ -e $stub_folder/killed ]] || { : >\"$stub_folder/killed\"; kill -9 $$; }\n");
        }
    }
    bench.program("hf", &script);
}

#[test]
fn a_checkpoint_that_nobody_staged_is_downloaded_at_its_commit_and_resumed() {
    for cache in [false, true] {
        let bench = Bench::with_stubs();
        downloader(&bench);
        let mut case = plans::slurm(&bench.text("workspace"), port(), &bench.text("squash"));
        case.serve(list());
        let hub = bench.text("hub-cache");
        let folder = bench.text("node/models/tiny-model");
        case.site.cache = Some(hub.clone());
        case.prepend(plans::download(&hub, (!cache).then_some(folder.as_str())));
        let (code, said, gate) = run(&bench, &case);
        assert_eq!(code, 0, "{said}");
        let calls = bench.calls("hf");
        assert_eq!(calls.len(), 2, "{said}");
        assert_eq!(calls[0].argv[1..5], ["download", REPOSITORY, "--revision", COMMIT]);
        // The second attempt went on where the first was killed.
        assert_eq!(fs::read_to_string(bench.path("record/copied")).unwrap(), "0\n1\n2\n3\n4\n");
        assert_eq!(gate["layout"], if cache { "cache" } else { "directory" });
        if cache {
            let main =
                fs::read_to_string(bench.path("hub-cache/models--example--tiny-model/refs/main")).unwrap();
            assert_eq!(main, COMMIT);
        }
        // Once it is there, nobody asks the hub again.
        let (code, said, _) = run(&bench, &case);
        assert_eq!((code, bench.calls("hf").len()), (0, 2), "{said}");
    }
}

#[test]
fn runs_that_start_together_download_once() {
    let bench = Bench::with_stubs();
    downloader(&bench);
    bench.write("record/killed", "");
    let folder = bench.text("node/models/tiny-model");
    let children: Vec<_> = (0..3)
        .map(|number| {
            let mut case = plans::slurm(&bench.text("workspace"), port(), &bench.text("squash"));
            case.plan.job = Some(number);
            case.serve(list());
            case.prepend(plans::download("/unused", Some(&folder)));
            let path = bench.write(&format!("{number}.sh"), case.script().text);
            bench.plain("bash").arg(path).stderr(std::process::Stdio::piped()).spawn().unwrap()
        })
        .collect();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", said(&output));
    }
    assert_eq!(bench.calls("hf").len(), 1);
}

#[test]
fn read_only_storage_is_never_downloaded_to() {
    let bench = Bench::with_stubs();
    downloader(&bench);
    let mut case = plans::slurm(&bench.text("workspace"), port(), &bench.text("squash"));
    case.serve(list());
    let folder = bench.text("models/tiny");
    let models = bench.text("models");
    fs::create_dir(bench.path("models")).unwrap();
    case.plan.mounts.push(recipe::plan::Mount {
        from: models.as_str().into(),
        to: models.as_str().into(),
        readonly: false,
        create: false,
    });
    case.site.readonly.push(models);
    case.prepend(plans::download("/unused", Some(&folder)));
    let (code, said, _) = run(&bench, &case);
    assert_eq!(code, 4, "{said}");
    assert!(said.contains("stopped: checkpoint-missing"), "{said}");
    assert!(bench.calls("hf").is_empty());
}

#[test]
fn an_engine_that_moves_the_branch_of_a_cache_is_noticed_before_anything_is_measured() {
    let bench = Bench::with_stubs();
    downloader(&bench);
    bench.write("record/killed", "");
    let mut case = plans::slurm(&bench.text("workspace"), port(), &bench.text("squash"));
    case.serve(list());
    let hub = bench.text("hub-cache");
    case.site.cache = Some(hub.clone());
    case.prepend(plans::download(&hub, None));
    // The engine asks the hub itself, and the branch has moved there.
    case.server().argv.push(format!("result={hub}/models--example--tiny-model/refs/main").into());
    let (code, said, _) = run(&bench, &case);
    assert_eq!(code, 4, "{said}");
    assert!(said.contains("stopped: checkpoint-moved"), "{said}");
    assert!(bench.calls("client").is_empty());
}
