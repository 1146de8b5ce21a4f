//! The rules of the house that no compiler keeps: who may depend on whom, what pure crates may
//! name, how long a file may be, and that every slug is used and explained.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{files, repository};

/// Which crates each crate may use. An arrow that is not here is a decision, made here first.
const MAY_USE: &[(&str, &[&str])] = &[
    ("diag", &[]),
    ("syntax", &["diag"]),
    ("eval", &["diag", "syntax"]),
    ("engine", &["diag"]),
    ("recipe", &["diag", "syntax", "eval", "engine"]),
    ("lock", &["diag", "engine", "recipe"]),
    ("upstream", &["diag", "engine", "recipe", "lock"]),
    ("verify", &["diag", "engine", "recipe", "lock"]),
    ("emit", &["diag", "engine", "recipe", "lock"]),
    ("audit", &["diag", "engine", "recipe", "lock"]),
    ("host", &["diag", "eval", "upstream", "verify", "audit", "lock", "recipe", "engine"]),
];

/// Crates that touch nothing outside.
const PURE: &[&str] =
    &["diag", "syntax", "eval", "engine", "recipe", "lock", "upstream", "verify", "emit", "audit"];

/// Crates that touch files, network, clock or terminal.
const WORLDLY: &[&str] = &["tokio", "reqwest", "tempfile", "walkdir", "fs-err", "indicatif"];

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Every Rust file of ours.
fn sources() -> Vec<PathBuf> {
    let mut all = files(&repository().join("compiler"), ".rs");
    all.extend(files(&repository().join("tests"), ".rs"));
    all.retain(|path| !path.components().any(|part| part.as_os_str() == "target"));
    all
}

fn metadata() -> serde_json::Value {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .current_dir(repository())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Dependencies of each package of the workspace, those for tests left out.
fn dependencies() -> BTreeMap<String, BTreeSet<String>> {
    let mut all = BTreeMap::new();
    for package in metadata()["packages"].as_array().unwrap() {
        let uses = package["dependencies"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|dependency| dependency["kind"] != "dev")
            .map(|dependency| dependency["name"].as_str().unwrap().to_owned())
            .collect();
        all.insert(package["name"].as_str().unwrap().to_owned(), uses);
    }
    all
}

#[test]
fn crates_use_only_the_crates_below_them() {
    let packages = dependencies();
    let known: BTreeSet<String> = MAY_USE.iter().map(|(name, _)| format!("recipec-{name}")).collect();
    for (package, uses) in &packages {
        let Some(name) = package.strip_prefix("recipec-") else { continue };
        let allowed = MAY_USE.iter().find(|(other, _)| *other == name).map(|(_, uses)| *uses);
        let allowed = allowed.unwrap_or_else(|| panic!("{package} is not in the map of this test"));
        for other in uses.iter().filter_map(|other| other.strip_prefix("recipec-")) {
            assert!(allowed.contains(&other), "{name} must not use {other}");
        }
    }
    assert!(known.iter().all(|name| packages.contains_key(name)), "a crate of the map is gone");
}

#[test]
fn pure_crates_name_nothing_of_the_world() {
    let packages = dependencies();
    for name in PURE {
        let uses = &packages[&format!("recipec-{name}")];
        for other in WORLDLY {
            assert!(!uses.contains(*other), "{name} must not depend on {other}");
        }
        for path in files(&repository().join("compiler").join(name).join("src"), ".rs") {
            for (line, text) in read(&path).lines().enumerate() {
                if let Some(found) = names_the_world(text) {
                    panic!("{}:{}: {found} belongs to compiler/host", path.display(), line + 1);
                }
            }
        }
    }
}

/// Returns the first name of the outside world in a line of code.
fn names_the_world(line: &str) -> Option<String> {
    let code = line.split("//").next().unwrap_or("");
    // Addresses are values: they are parsed and printed, and open nothing.
    let code = ["IpAddr", "Ipv4Addr", "Ipv6Addr"]
        .iter()
        .fold(code.to_owned(), |code, address| code.replace(&format!("std::net::{address}"), ""));
    for part in ["fs", "net", "env", "process", "time"] {
        let word = format!("std::{part}");
        let after = code.find(&word).map(|at| code[at + word.len()..].chars().next());
        if after.is_some_and(|next| next.is_none_or(|c| !c.is_alphanumeric() && c != '_')) {
            return Some(word);
        }
        if let Some((_, group)) = code.split_once("std::{")
            && group.split(['{', '}', ',', ':', ' ']).any(|word| word == part)
        {
            return Some(word);
        }
    }
    None
}

#[test]
fn the_search_for_the_world_finds_it() {
    for line in
        ["use std::fs;", "std::env::var(x)", "use std::{fmt, process};", "use std::{io, net::IpAddr};"]
    {
        assert!(names_the_world(line).is_some(), "{line}");
    }
    for line in [
        "text.parse::<std::net::Ipv6Addr>()",
        "use std::fmt;",
        "// std::fs",
        "use std::{fmt, io};",
        "std::environment()",
    ] {
        assert_eq!(names_the_world(line), None, "{line}");
    }
}

#[test]
fn no_file_is_called_mod_and_none_is_longer_than_600_lines() {
    for path in sources() {
        assert!(path.file_name().is_some_and(|name| name != "mod.rs"), "{}", path.display());
        let lines = read(&path).lines().count();
        assert!(lines <= 600, "{} has {lines} lines", path.display());
    }
}

#[test]
fn every_test_module_is_run_and_none_is_ignored() {
    let main = read(&repository().join("tests/main.rs"));
    for entry in fs::read_dir(repository().join("tests")).unwrap() {
        let path = entry.unwrap().path();
        let (Some(name), Some(end)) = (path.file_stem(), path.extension()) else { continue };
        if end == "rs" && name != "main" {
            let line = format!("mod {};", name.display());
            assert!(main.contains(&line), "tests/main.rs lacks `{line}`");
        }
    }
    let ignored = ["#[ig", "nore"].concat();
    for path in sources() {
        assert!(!read(&path).contains(&ignored), "{} has a test that does not run", path.display());
    }
}

/// The slugs of each stage: constant, name, stage.
fn slugs() -> Vec<(String, String, String)> {
    let mut all = Vec::new();
    for path in files(&repository().join("compiler/diag/src/slugs"), ".rs") {
        let stage = path.file_stem().unwrap().to_str().unwrap().to_owned();
        for line in read(&path).lines() {
            if let Some((name, value)) = line.trim().split_once(" = \"")
                && let Some(value) = value.strip_suffix("\";")
            {
                all.push((name.to_owned(), value.to_owned(), stage.clone()));
            }
        }
    }
    all
}

#[test]
fn every_slug_is_used_and_has_its_page_and_every_page_has_its_slug() {
    let code: String = sources()
        .iter()
        .filter(|path| !path.starts_with(repository().join("compiler/diag/src/slugs")))
        .filter(|path| path.starts_with(repository().join("compiler")))
        .map(|path| read(path))
        .collect();
    let words: BTreeSet<&str> = code.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
    let pages = repository().join("compiler/diag/pages");
    let mut expected = BTreeSet::new();
    for (constant, slug, stage) in slugs() {
        assert!(words.contains(constant.as_str()), "{stage}::{constant} is never reported");
        expected.insert(pages.join(stage).join(format!("{slug}.md")));
    }
    let found: BTreeSet<PathBuf> = files(&pages, ".md").into_iter().collect();
    assert_eq!(found, expected);
}

#[test]
fn nothing_of_the_machine_that_made_it_is_in_the_project() {
    let listed = Command::new("git").args(["ls-files"]).current_dir(repository()).output();
    let Ok(listed) = listed else { return println!("skipped, there is no git") };
    // Put together here, so that this file is not found. A data set of upstream's has one of the
    // words in its name.
    let theirs = ["with_sub", "agents"].concat();
    let forbidden =
        [["/wo", "rk/"], [".libr", "ary"], ["sub", "agent"], ["/tmp/", "ifx"]].map(|parts| parts.concat());
    for name in String::from_utf8_lossy(&listed.stdout).lines().filter(|name| *name != "Cargo.lock") {
        let Ok(text) = fs::read_to_string(repository().join(name)) else { continue };
        for word in &forbidden {
            let line = text.lines().position(|line| line.replace(&theirs, "").contains(word.as_str()));
            assert_eq!(line, None, "{name} names `{word}`");
        }
    }
}
