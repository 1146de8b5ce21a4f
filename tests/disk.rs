//! Disks that fill and processes that are killed: the old file stays whole.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::support::Sandbox;
use crate::support::process::{Running, program};

#[test]
fn a_full_disk_leaves_the_old_file() {
    let test = "a_full_disk_leaves_the_old_file";
    let folder = tempfile::tempdir().unwrap();
    let mounted =
        Command::new("mount").args(["-t", "tmpfs", "-o", "size=64k", "tmpfs"]).arg(folder.path()).output();
    if !mounted.is_ok_and(|output| output.status.success()) {
        println!("{test}: skipped, a small file system cannot be mounted here");
        return;
    }
    let path = folder.path().join("lock.json");
    let old = vec![b'o'; 20 << 10];
    let first = host::write_atomic(&path, &old);
    let second = host::write_atomic(&path, &vec![b'n'; 100 << 10]);
    let left: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    let found = fs::read(&path).unwrap();
    Command::new("umount").arg(folder.path()).status().unwrap();
    first.unwrap();
    let error = second.unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::StorageFull, "{error}");
    assert!(error.to_string().contains("lock.json"), "{error}");
    assert_eq!(left, ["lock.json"], "no half-written file stays");
    assert_eq!(found, old);
}

/// Not a test of its own: the next one runs this binary again with this name and kills it.
#[test]
fn writer_that_is_killed() {
    let Ok(path) = std::env::var("RECIPEC_TEST_WRITER") else { return };
    for turn in 0_u32.. {
        let letter = if turn % 2 == 0 { b'a' } else { b'b' };
        host::write_atomic(Path::new(&path), &vec![letter; 300_000]).unwrap();
    }
}

#[test]
fn a_kill_at_any_moment_leaves_the_old_file_or_the_new_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lock.json");
    fs::write(&path, vec![b'a'; 300_000]).unwrap();
    let mut seen = std::collections::BTreeSet::new();
    for turn in 0..12_u64 {
        let mut child = Running::start(
            Command::new(std::env::current_exe().unwrap())
                .args(["disk::writer_that_is_killed", "--exact"])
                .env("RECIPEC_TEST_WRITER", &path),
        );
        std::thread::sleep(Duration::from_millis(60 + 17 * turn));
        child.kill();
        let found = fs::read(&path).unwrap();
        assert_eq!(found.len(), 300_000);
        assert!(found.iter().all(|byte| *byte == found[0]), "old and new are mixed");
        seen.insert(found[0]);
    }
    assert_eq!(seen.len(), 2, "the writer wrote");
}

/// Runs a command beside servers with a fault, in a folder that has a recipe for them.
fn beside(sandbox: &Sandbox, fault: &str, command: &str) -> crate::support::Ran {
    sandbox.bash(&format!("./with '{fault}' {command}"))
}

#[test]
fn whatever_fails_the_old_lock_is_whole() {
    let test = "whatever_fails_the_old_lock_is_whole";
    if program(test, "python3").is_none() {
        return;
    }
    let sandbox = Sandbox::with("fixtures/explain/root");
    sandbox.copy("fixtures/explain/upstream");
    beside(&sandbox, "nothing wrong", "recipec lock small").exits(0);
    let all = |sandbox: &Sandbox| {
        let paths = crate::support::files(&sandbox.path("lockfiles"), "");
        paths.iter().map(|path| (path.clone(), fs::read(path).unwrap())).collect::<Vec<_>>()
    };
    let before = all(&sandbox);
    assert!(!before.is_empty());
    // A cache would answer for a registry that lies about bytes that were fetched before.
    let update = "env RECIPEC_CACHE=$(mktemp -d) recipec lock small --update small";
    for (fault, exit) in [
        ("changed storage", 4),
        ("a cleanup of inner manifests", 4),
        ("a gate", 4),
        ("half an upload", 4),
        ("a login page in between", 4),
        ("a rate limit", 5),
    ] {
        beside(&sandbox, fault, update).exits(exit);
        assert_eq!(all(&sandbox), before, "{fault}");
    }
    // No byte differs between two runs, and `--check` needs nobody.
    beside(&sandbox, "nothing wrong", update).exits(0);
    assert_eq!(all(&sandbox), before);
    sandbox.bash("recipec lock small --check").exits(0);
    // A file that may not grow beyond a few bytes stands for a disk that is full.
    let full = "bash -c \"trap '' XFSZ; ulimit -f 0; recipec lock small --update small\"";
    let ran = beside(&sandbox, "two quantizations", full);
    assert_eq!(ran.code, 5, "{ran:?}");
    assert!(ran.stderr.contains("cannot-write"), "{ran:?}");
    assert_eq!(all(&sandbox), before);
}
