//! The evaluator judged by Nix itself: the same value, or a failure in both.
//!
//! `RECIPEC_NIX_EXPRESSIONS` says how many expressions are generated (20,000), `RECIPEC_NIX_SEED`
//! where the generator begins, `RECIPEC_NIX` where the recent Nix is or shall be installed.

mod generator;
pub mod judge;
mod random;
mod term;

use std::fs;
use std::path::Path;

use eval::{FileError, FileKind, Files, Limits, MemoryFiles, Session};

use crate::support::{files, repository};
use generator::Generator;
use judge::Judge;
use term::Term;

/// How many steps of making a disagreement smaller are taken, and how many are shown.
const SHRINKS: usize = 12;
const SHOWN: usize = 5;

/// What an older Nix than the reference does otherwise: a text that shows the expression is about
/// it, and what changed since.
const CHANGED_SINCE: &[(&str, &str)] = &[
    ("9223372036854775807", "2.24: integer overflow is an error"),
    ("4611686018427387904", "2.24: integer overflow is an error"),
    ("1000000", "2.24: integer overflow is an error"),
    (".", "2.9: a whole float is written `1.0` as JSON"),
    ("toXML", "2.9 and later: what is unevaluated and what is escaped"),
    ("fromJSON", "2.20: numbers that fit no integer are refused"),
    ("genericClosure", "2.14: keys are compared as `<` compares them"),
    ("foldl'", "2.20: the first value is not evaluated"),
    ("__functor", "2.13: what is called in a set may be another set"),
    ("outPath", "2.20: what a set becomes as text may be a set again"),
    ("__toString", "2.20: what a set becomes as text may be a set again"),
    ("replaceStrings", "2.16: replacements are evaluated only if they are needed"),
    ("partition", "2.21: the function is looked at first"),
    ("genList", "2.13: the function is looked at first"),
    ("ceil", "2.33: the argument must fit an integer"),
    ("floor", "2.33: the argument must fit an integer"),
    ("substring", "2.10: positions are compared without a sign"),
    ("compareVersions", "2.9: long numbers compare as text"),
    ("é", "2.9: what is no Unicode is refused as JSON"),
];

fn setting(name: &str, usual: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

/// Returns the JSON of an expression, or the slug of its failure.
fn ours(text: &str) -> Result<String, String> {
    let nothing = MemoryFiles::default();
    let limits = Limits { steps: 5_000_000, ..Limits::default() };
    let mut session = Session::new(&nothing, limits);
    let value = session.evaluate_text("/x.nix", text);
    let json = value.and_then(|value| session.render_json(&value).map_err(eval::Error::into_diagnostics));
    json.map_err(|found| found.iter().next().map(|first| first.slug.to_string()).unwrap_or_default())
}

/// Returns what both say where they disagree.
fn disagreements(judge: &Judge, terms: &[Term]) -> Vec<(usize, Result<String, String>, Option<String>)> {
    let texts: Vec<String> = terms.iter().map(Term::text).collect();
    let theirs = judge.ask(&texts);
    let allowed = |text: &str| {
        !judge.is_reference()
            && CHANGED_SINCE.iter().any(|(about, _)| text.replace("builtins.", "").contains(about))
    };
    let mut found = Vec::new();
    for (index, (text, theirs)) in texts.iter().zip(theirs).enumerate() {
        let ours = ours(text);
        if ours.as_ref().ok() != theirs.as_ref() && !allowed(text) {
            found.push((index, ours, theirs));
        }
    }
    found
}

/// Makes a disagreement as small as it gets.
fn shrink(judge: &Judge, mut term: Term) -> Term {
    for _ in 0..SHRINKS {
        let smaller: Vec<Term> = term.smaller().into_iter().take(300).collect();
        match disagreements(judge, &smaller).first() {
            Some((index, ..)) => term = smaller[*index].clone(),
            None => break,
        }
    }
    term
}

#[test]
fn generated_expressions_have_the_values_that_nix_gives_them() {
    let Some(judge) = Judge::find(repository()) else {
        println!("skipped: there is no Nix here");
        return;
    };
    let count = setting("RECIPEC_NIX_EXPRESSIONS", 20_000);
    let seed = setting("RECIPEC_NIX_SEED", 1);
    let mut wrong = Vec::new();
    let mut first = seed;
    while first < seed + count && wrong.len() < SHOWN {
        let last = (first + 10_000).min(seed + count);
        let terms: Vec<Term> = (first..last).map(|seed| Generator::new(seed).expression()).collect();
        for (index, ..) in disagreements(&judge, &terms).into_iter().take(SHOWN) {
            let term = shrink(&judge, terms[index].clone());
            let shown = disagreements(&judge, std::slice::from_ref(&term));
            wrong.push(format!("seed {}:\n{}\n{shown:?}", first + index as u64, term.text()));
        }
        first = last;
    }
    println!("{count} expressions from seed {seed} on, judged by {}", judge.version);
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// Files of the repository, for fixtures that import their neighbours.
struct Fixtures;

impl Files for Fixtures {
    fn read(&self, path: &str) -> Result<String, FileError> {
        fs::read_to_string(folder().join(path.trim_start_matches('/'))).map_err(|_| FileError::Missing)
    }

    fn kind(&self, path: &str) -> Result<Option<FileKind>, FileError> {
        let path = folder().join(path.trim_start_matches('/'));
        let kind = |path: &Path| if path.is_dir() { FileKind::Directory } else { FileKind::Regular };
        Ok(path.exists().then(|| kind(&path)))
    }

    fn list(&self, path: &str) -> Result<Vec<(String, FileKind)>, FileError> {
        let entries = fs::read_dir(folder().join(path.trim_start_matches('/')));
        let entries = entries.map_err(|_| FileError::Missing)?;
        Ok(entries
            .map(|entry| (entry.unwrap().file_name().to_string_lossy().into_owned(), FileKind::Regular))
            .collect())
    }
}

fn folder() -> std::path::PathBuf {
    repository().join("fixtures/eval")
}

fn value_of(path: &str) -> Result<String, String> {
    let mut session = Session::new(&Fixtures, Limits::default());
    let value = session.evaluate_file(path);
    let json = value.and_then(|value| session.render_json(&value).map_err(eval::Error::into_diagnostics));
    json.map_err(|found| found.iter().next().map(|first| first.slug.to_string()).unwrap_or_default())
}

/// The fixtures directly in a folder below fixtures/eval, by name.
fn fixtures(below: &str) -> Vec<String> {
    let found = files(&folder().join(below), ".nix");
    let here = found.iter().filter(|path| path.parent() == Some(folder().join(below).as_path()));
    here.map(|path| path.file_stem().unwrap().to_string_lossy().into_owned()).collect()
}

#[test]
fn what_trips_implementers_is_as_in_nix() {
    let judge = Judge::find(repository()).filter(Judge::is_reference);
    if judge.is_none() {
        println!("the expectations are compared with ours only: there is no Nix 2.34 here");
    }
    if let Some(judge) = &judge {
        for path in files(&folder().join("parts"), "") {
            let name = path.strip_prefix(folder()).unwrap().to_string_lossy().into_owned();
            judge.write(&name, &fs::read_to_string(&path).unwrap());
        }
    }
    let read = |name: &str, end: &str| {
        fs::read_to_string(folder().join(format!("{name}.{end}"))).ok().map(|text| text.trim_end().to_owned())
    };
    let names = fixtures("");
    assert!(names.len() > 50, "the fixtures are where they are looked for");
    let texts: Vec<String> = names.iter().map(|name| read(name, "nix").unwrap()).collect();
    let theirs = judge.as_ref().map(|judge| judge.ask(&texts));
    for (index, name) in names.iter().enumerate() {
        let ours = value_of(&format!("/{name}.nix"));
        match (read(name, "json"), read(name, "slug")) {
            (Some(expected), None) => assert_eq!(ours, Ok(expected), "{name}"),
            (None, Some(slug)) => assert_eq!(ours, Err(slug), "{name}"),
            _ => panic!("{name}: either a value or a slug is expected"),
        }
        if let Some(theirs) = &theirs {
            assert_eq!(theirs[index], read(name, "json"), "{name} in Nix");
        }
    }
}

#[test]
fn where_we_differ_from_nix_on_purpose_we_do_and_say_why() {
    let judge = Judge::find(repository()).filter(Judge::is_reference);
    let names = fixtures("differs");
    assert!(names.len() > 5, "the disagreements are where they are looked for");
    for (judge, name) in judge.iter().flat_map(|judge| names.iter().map(move |name| (judge, name))) {
        let text = fs::read_to_string(folder().join(format!("differs/{name}.nix"))).unwrap();
        judge.write(&format!("differs/{name}.nix"), &text);
    }
    for name in names {
        let text = fs::read_to_string(folder().join(format!("differs/{name}.nix"))).unwrap();
        let note = |what: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(&format!("# {what}: ")));
            line.unwrap_or_else(|| panic!("{name} does not say what {what} gives")).to_owned()
        };
        assert!(text.starts_with("# ") && !text.starts_with("# recipec:"), "{name} begins with its reason");
        let ours = value_of(&format!("/differs/{name}.nix"));
        let said = ours.clone().unwrap_or_else(|slug| slug);
        assert_eq!(said, note("recipec"), "{name}");
        if let Some(judge) = &judge {
            let theirs = judge.instantiate(&format!("differs/{name}.nix"));
            assert_ne!(ours.ok(), theirs, "{name} is no disagreement any more");
            match note("nix").as_str() {
                "value" => assert!(theirs.is_some(), "{name} fails in Nix"),
                value => assert_eq!(theirs.as_deref(), Some(value), "{name} in Nix"),
            }
        }
    }
}
