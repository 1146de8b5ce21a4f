//! Folders that mean harm, and file systems that fail.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use super::{LOCK, MODEL, SHARD, Stage, note};
use crate::support::{Ran, Sandbox};

#[test]
fn hostile_folders_end_with_a_verdict() {
    let stage = Stage::new();
    // Names that shells and terminals take for something else, loops of links, a terabyte of holes.
    fs::write(stage.path("model/a\nb $(touch owned)\u{1b}[31m.safetensors"), "x").unwrap();
    symlink(".", stage.path("model/loop")).unwrap();
    symlink("loop2", stage.path("model/loop1")).unwrap();
    symlink("loop1", stage.path("model/loop2")).unwrap();
    fs::File::create(stage.path("model/huge.bin")).unwrap().set_len(1 << 40).unwrap();
    stage.bash("mkfifo model/pipe.safetensors");
    let (ran, value) = stage.audit("model", &[]);
    assert_eq!((ran.code, &value["state"]), (4, &"different".into()));
    // Extra weights are not read, however large they say they are.
    assert!(value["hashed_bytes"].as_u64().unwrap() < 1 << 20);
    let words = ["audit", "checkpoint", "model", "--lock", LOCK, "--repository", MODEL];
    let ran = stage.sandbox.recipec(words);
    assert!(!ran.stderr.contains('\u{1b}') && ran.stderr.contains("a\\nb $(touch owned)"), "{}", ran.stderr);
    assert!(!stage.path("owned").exists());
}

/// A terabyte of holes under a locked name is not read: its size is not the locked one.
#[test]
fn a_terabyte_under_a_locked_name_is_refused_by_its_size() {
    let stage = Stage::new();
    fs::File::options()
        .write(true)
        .open(stage.path(&format!("model/{SHARD}")))
        .unwrap()
        .set_len(1 << 40)
        .unwrap();
    stage.is("different", 4, &[(SHARD, "size")]);
}

/// Returns how many kibibytes a command took at most.
fn peak(sandbox: &Sandbox, words: &[&str]) -> (Ran, u64) {
    let script = "import resource, subprocess, sys\n\
        code = subprocess.call(sys.argv[1:])\n\
        print('peak', resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)\n\
        sys.exit(code)";
    let output = sandbox.command("python3").args(["-c", script, "recipec"]).args(words).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    let peak = stderr.split("peak ").nth(1).and_then(|text| text.trim().parse().ok()).unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    (Ran { code: output.status.code().unwrap(), stdout, stderr }, peak)
}

#[test]
fn a_folder_of_very_many_names_takes_no_more_memory() {
    let stage = Stage::new();
    let words = ["audit", "checkpoint", "model", "--lock", LOCK, "--repository", MODEL, "--format", "json"];
    let (ran, few) = peak(&stage.sandbox, &words);
    assert_eq!(ran.code, 0);
    fs::create_dir(stage.path("model/many")).unwrap();
    for number in 0..30_000 {
        let ending = if number % 2 == 0 { "txt" } else { "bin" };
        fs::File::create(stage.path(&format!("model/many/{number}.{ending}"))).unwrap();
    }
    let (ran, many) = peak(&stage.sandbox, &words);
    let value = ran.json();
    assert_eq!((ran.code, &value["state"]), (4, &"different".into()));
    assert_eq!(value["notes"][0], "15000 weights lie beside the locked ones");
    assert!(value["files"].as_array().unwrap().len() < 2_000);
    assert!(many < few + 4 * 1024, "{few} KiB, then {many} KiB");
}

#[test]
fn reading_takes_little_memory_however_many_files_are_read_at_a_time() {
    let stage = Stage::new();
    // Another checkpoint: 40 shards of 8 MiB each.
    stage.bash(
        "cd mirror/hub/models--*/snapshots/* && rm model-0000* *.index.json && for n in $(seq 10 49); do \
         head -c 8388608 /dev/zero | tr '\\0' a >big-$n.bin; done",
    );
    stage.relock();
    let words = ["audit", "checkpoint", "mirror/hub", "--lock", LOCK, "--repository", MODEL, "--jobs", "64"];
    let (ran, peak) = peak(&stage.sandbox, &words);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(peak < 64 * 1024, "{peak} KiB");
}

/// Makes a library that fails reads of one file, and returns its path; `None` without a C compiler.
fn failing_reads(stage: &Stage) -> Option<PathBuf> {
    stage.sandbox.write("fail.c", include_str!("failing_read.c"));
    let ran = stage.sandbox.bash("cc -shared -fPIC -o fail.so fail.c -ldl");
    if ran.code == 0 {
        return Some(stage.path("fail.so"));
    }
    println!("failing reads: skipped, there is no C compiler");
    None
}

#[test]
fn a_file_system_that_fails_is_named_and_the_other_files_are_read() {
    let stage = Stage::new();
    let Some(library) = failing_reads(&stage) else { return };
    let run = |error: &str, times: &str| {
        let mut command = stage.sandbox.command("recipec");
        command.env("LD_PRELOAD", &library).env("FAIL_NAME", SHARD).env("FAIL_ERROR", error);
        command.env("FAIL_TIMES", times).args(["audit", "checkpoint", "model", "--lock", LOCK]);
        let output = command.args(["--repository", MODEL, "--format", "json"]).output().unwrap();
        let value: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        (output.status.code().unwrap(), value)
    };
    // ESTALE once: the file is opened anew. Twice: it is lost. Then EIO, and an end before the end.
    let (code, value) = run("116", "1");
    assert_eq!((code, &value["state"]), (0, &"complete".into()), "{value:#}");
    for (error, times, says) in [
        ("116", "9", "stale file handle, also when it was opened anew: the network file system has lost it"),
        ("5", "9", "Input/output error (os error 5)"),
        ("0", "9", "short read: it ended after 0 of 22424 bytes"),
    ] {
        let (code, value) = run(error, times);
        assert_eq!((code, &value["state"]), (5, &"unreadable".into()), "{value:#}");
        assert_eq!(note(&value, SHARD), says);
        let wrong = value["files"].as_array().unwrap().iter().filter(|file| file["state"] != "ok").count();
        assert_eq!(wrong, 1);
    }
}
