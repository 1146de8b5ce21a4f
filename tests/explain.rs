//! The examples of the explain pages, run.
//!
//! A bad example must be reported under the page's slug and under no other; a good one must be
//! clean of it. They run in a copy of `fixtures/explain/root`; those of `lock`, `audit` and `verify` in a
//! copy of
//! `fixtures/tour` with `fixtures/mirror` as `mirror`. The folder of the page's stage in
//! `fixtures/explain`, if there is one, is laid over that.

use std::collections::BTreeSet;

use diag::{Example, ExampleKind, Page, Severity, pages};

use crate::support::{Ran, Sandbox, copy_tree, repository};

/// Returns the slugs in brackets after a severity, notes left out: a rule that says it was
/// skipped is no finding.
fn slugs(ran: &Ran) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for text in [&ran.stdout, &ran.stderr] {
        for severity in [Severity::Error, Severity::Warning] {
            for part in text.split(&format!("{}[", severity.word())).skip(1) {
                found.extend(part.split_once(']').map(|(slug, _)| slug.to_owned()));
            }
        }
    }
    found
}

fn run(page: &Page, example: &Example) -> Ran {
    let sandbox = Sandbox::new();
    if matches!(page.stage, "lock" | "audit" | "verify") {
        sandbox.copy("fixtures/tour");
        copy_tree(&repository().join("fixtures/mirror"), &sandbox.path("mirror"));
    } else {
        sandbox.copy("fixtures/explain/root");
    }
    let own = format!("fixtures/explain/{}", page.stage);
    if repository().join(&own).is_dir() {
        sandbox.copy(&own);
    }
    match example.kind {
        ExampleKind::Manifest => {
            sandbox.write("manifests/example.nix", &example.text);
            sandbox.recipec(["check", "--format", "brief"])
        }
        ExampleKind::Expression => {
            sandbox.write("example.nix", &example.text);
            sandbox.recipec(["eval", "--format", "brief", "example.nix"])
        }
        ExampleKind::Console => {
            let script: String = example
                .text
                .lines()
                .map(|line| format!("{}\n", line.strip_prefix("$ ").unwrap_or(line)))
                .collect();
            sandbox.bash(&script)
        }
    }
}

/// Returns what is wrong with a page's examples.
fn faults(page: &Page) -> Vec<String> {
    let explanation = page.explanation().expect("a test of the crate reads every page");
    let name = page.slug.as_str();
    let mut faults = Vec::new();
    let has = |bad| explanation.examples.iter().any(|example| example.bad == bad);
    // Some faults cannot be written down here, such as a text of a gigabyte.
    if has(true) && !has(false) {
        faults.push(format!("{name} shows no good example beside the bad one"));
    }
    for example in &explanation.examples {
        let ran = run(page, example);
        let mut found = slugs(&ran);
        // A page of a note is about just that.
        let note = format!("{}[{name}]", Severity::Note.word());
        if explanation.severity == Some(Severity::Note)
            && (ran.stdout.contains(&note) || ran.stderr.contains(&note))
        {
            found.insert(name.to_owned());
        }
        let holds =
            if example.bad { found.len() == 1 && found.contains(name) } else { !found.contains(name) };
        if !holds {
            let kind = if example.bad { "bad" } else { "good" };
            faults.push(format!(
                "a {kind} example of {name} reports {found:?}:\n{}---\n{}{}",
                example.text, ran.stdout, ran.stderr
            ));
        }
        if !(0..=5).contains(&ran.code) && example.kind != ExampleKind::Console {
            faults.push(format!("an example of {name} ends with {}: {}", ran.code, ran.stderr));
        }
    }
    faults
}

#[test]
fn every_bad_example_is_reported_and_every_good_one_is_clean() {
    let all: Vec<&Page> = pages().collect();
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    let faults: Vec<String> = std::thread::scope(|scope| {
        let chunks = all.chunks(all.len().div_ceil(threads).max(1));
        let running: Vec<_> = chunks
            .map(|chunk| scope.spawn(move || chunk.iter().flat_map(|page| faults(page)).collect::<Vec<_>>()))
            .collect();
        running.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    let silent: Vec<&str> = all
        .iter()
        .filter(|page| page.explanation().is_ok_and(|explanation| explanation.examples.is_empty()))
        .map(|page| page.slug.as_str())
        .collect();
    println!("{} pages, {} of them without examples: {}", all.len(), silent.len(), silent.join(", "));
    assert!(faults.is_empty(), "{} faults\n\n{}", faults.len(), faults.join("\n\n"));
}
