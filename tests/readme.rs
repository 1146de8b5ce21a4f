//! The README, run: every console block of its tour, and its first command but for the build.

use std::fs;

use crate::support::{Sandbox, copy_tree, repository, transcript};

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::with("fixtures/tour");
    copy_tree(&repository().join("fixtures/mirror"), &sandbox.path("mirror"));
    sandbox
}

#[test]
fn every_block_of_the_tour_shows_what_stands_there() {
    transcript::check("README.md", &sandbox());
}

#[test]
fn the_first_command_locks_verifies_and_builds() {
    let text = fs::read_to_string(repository().join("README.md")).unwrap();
    let commands: Vec<&str> = text.lines().filter(|line| line.starts_with("cargo ")).collect();
    let [first, second] = commands.as_slice() else { panic!("two commands, not {commands:?}") };
    assert_eq!(*second, "cargo test --workspace");
    // The build is cargo's; what follows runs in a copy of the repository's fixtures.
    let (build, rest) = first.split_once(" && ").unwrap();
    assert_eq!(build, "cargo build --release");
    let sandbox = Sandbox::new();
    for folder in ["tour", "mirror"] {
        copy_tree(&repository().join("fixtures").join(folder), &sandbox.path(&format!("fixtures/{folder}")));
    }
    let bin = std::path::Path::new(env!("CARGO_BIN_EXE_recipec")).parent().unwrap();
    let ran = sandbox.bash(&rest.replace("$PWD/../../target/release", &bin.to_string_lossy())).exits(0);
    assert!(ran.stdout.contains("8 scripts"), "{ran:?}");
    assert!(sandbox.path("out/tiny-fp4-b200-vllm/one-host/throughput/0.sh").is_file());
}

#[test]
fn the_exit_codes_of_the_readme_are_those_of_the_help() {
    let text = fs::read_to_string(repository().join("README.md")).unwrap();
    let help = Sandbox::new().recipec(["--help"]).exits(0).stdout;
    let words = help.split_whitespace().collect::<Vec<_>>().join(" ");
    for (code, meaning) in [(1, "the manifest is wrong"), (2, "usage"), (4, "the outside disagrees")] {
        assert!(text.contains(&format!("| {code} | {meaning}")), "README, {code}");
        assert!(words.contains(&format!("{code} {meaning}")), "help, {code}: {words}");
    }
}
