//! The language's text: errors at their characters, one layout, and Nix as the judge of what parses.
//!
//! `fixtures/syntax/errors/*.nix` say what is wrong with them in comments: carets under the
//! characters, the slug and the message. Where a comment cannot stand, a file `.found` beside says
//! it. `fixtures/syntax/format/*.nix` are laid out as the file `.formatted` beside.
//! `RECIPEC_UPDATE=1` writes what is found; reading the difference is the work.

use std::fs;
use std::path::Path;

use diag::{FileId, SourceMap};
use syntax::{Interner, generate};

use crate::nix::judge::Judge;
use crate::support::{files, repository};

/// Slugs of what Nix accepts and manifests do not.
const LEFT_OUT: [&str; 4] = ["url-literal", "search-path", "home-path", "legacy-let"];

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn updating() -> bool {
    std::env::var_os("RECIPEC_UPDATE").is_some()
}

/// Returns line, column, width, slug and message of each finding.
fn findings(text: &str) -> Vec<(u32, u32, u32, String)> {
    let mut sources = SourceMap::new();
    let file = sources.add("x.nix", text);
    let parse = syntax::parse(file, text, &mut Interner::new());
    let file = sources.get(file).unwrap();
    let mut all = Vec::new();
    for finding in parse.diagnostics.iter() {
        let span = finding.span.expect("a syntax error has a place");
        let (start, end) = (file.position(span.start), file.position(span.end));
        let width = if start.line == end.line { end.column - start.column } else { 1 };
        all.push((start.line, start.column, width.max(1), format!("{}: {}", finding.slug, finding.message)));
    }
    all
}

fn is_annotation(line: &str) -> bool {
    line.strip_prefix('#').is_some_and(|rest| rest.trim_start_matches(' ').starts_with('^'))
}

/// Returns the text with what is found in it as comments under the lines.
fn annotated(text: &str) -> String {
    let found = findings(text);
    let mut lines = Vec::new();
    for (line, number) in text.split('\n').zip(1_u32..) {
        lines.push(line.to_owned());
        if is_annotation(line) {
            continue;
        }
        for (at, column, width, message) in &found {
            if *at == number {
                assert!(*column > 1, "{message}: indent the line, so that a caret has room");
                let gap = " ".repeat(*column as usize - 2);
                lines.push(format!("#{gap}{} {message}", "^".repeat(*width as usize)));
            }
        }
    }
    lines.join("\n")
}

#[test]
fn errors_stand_at_their_characters() {
    let mut wrong = Vec::new();
    for path in files(&repository().join("fixtures/syntax/errors"), ".nix") {
        let beside = path.with_extension("found");
        let given = read(&path);
        let (target, expected, found) = if beside.exists() {
            let lines: String =
                findings(&given).iter().map(|(l, c, w, m)| format!("{l}:{c} +{w} {m}\n")).collect();
            (beside.clone(), read(&beside), lines)
        } else {
            let bare: Vec<&str> = given.split('\n').filter(|line| !is_annotation(line)).collect();
            (path.clone(), given.clone(), annotated(&bare.join("\n")))
        };
        assert!(found.contains(": "), "{}: nothing is wrong with it", path.display());
        if expected != found {
            if updating() {
                fs::write(&target, &found).unwrap();
            } else {
                wrong.push(format!("{}:\n{}", path.display(), similar(&expected, &found)));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn similar(expected: &str, found: &str) -> String {
    let missing = expected.lines().filter(|line| !found.lines().any(|other| other == *line));
    let extra = found.lines().filter(|line| !expected.lines().any(|other| other == *line));
    missing.map(|line| format!("- {line}\n")).chain(extra.map(|line| format!("+ {line}\n"))).collect()
}

#[test]
fn several_errors_of_one_file_read_well() {
    let path = repository().join("fixtures/syntax/rendered");
    let mut wrong = Vec::new();
    for expected in files(&path, ".txt") {
        let name = expected.file_stem().unwrap().to_string_lossy().into_owned();
        let source = repository().join(format!("fixtures/syntax/errors/{name}.nix"));
        let text: String = read(&source).split_inclusive('\n').filter(|line| !is_annotation(line)).collect();
        let mut sources = SourceMap::new();
        let file = sources.add(format!("manifests/{name}.nix"), text.as_str());
        let parse = syntax::parse(file, &text, &mut Interner::new());
        let rendered = diag::render::human(parse.diagnostics.iter(), &sources, diag::render::Look::default());
        if updating() {
            fs::write(&expected, &rendered).unwrap();
        } else if read(&expected) != rendered {
            wrong.push(format!("{}:\n{rendered}", expected.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Says what is wrong with the layout of a text: it must keep its meaning and its comments, and be its
/// own layout.
fn faults_of_layout(text: &str) -> Vec<String> {
    let mut names = Interner::new();
    let before = syntax::parse(FileId(0), text, &mut names);
    if before.diagnostics.has_errors() {
        return Vec::new();
    }
    let formatted = syntax::format_unchecked(text);
    let after = syntax::parse(FileId(0), &formatted, &mut names);
    let mut faults = Vec::new();
    if !syntax::compare::same(&before, &after) {
        faults.push(format!("the meaning changed:\n{text}\n---\n{formatted}"));
    }
    if syntax::format_unchecked(&formatted) != formatted {
        faults.push(format!("laid out again it is other:\n{text}\n---\n{formatted}"));
    }
    if comments(text) != comments(&formatted) {
        faults.push(format!("comments changed:\n{text}\n---\n{formatted}"));
    }
    faults
}

/// Returns the words of all comments, sorted: some move with their bracket or comma.
fn comments(text: &str) -> Vec<String> {
    use syntax::kind::Kind;
    let mut start = 0;
    let mut words = Vec::new();
    for token in syntax::lex(text).tokens {
        if matches!(token.kind, Kind::LineComment | Kind::BlockComment) {
            let comment = text.get(start..token.end as usize).unwrap_or("");
            words.extend(comment.split(|c: char| c.is_whitespace() || "#*/".contains(c)).map(str::to_owned));
        }
        start = token.end as usize;
    }
    words.retain(|word| !word.is_empty());
    words.sort();
    words
}

#[test]
fn every_nix_file_here_keeps_its_meaning_and_its_comments() {
    let mut faults = Vec::new();
    let mut seen = 0;
    for folder in ["manifests", "fixtures", "compiler", "tests"] {
        for path in files(&repository().join(folder), ".nix") {
            let Ok(text) = fs::read_to_string(&path) else { continue };
            seen += 1;
            faults.extend(
                faults_of_layout(&text).into_iter().map(|fault| format!("{}: {fault}", path.display())),
            );
        }
    }
    assert!(seen > 50, "only {seen} files were found");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn the_layout_is_that_of_rfc_166() {
    let mut wrong = Vec::new();
    for path in files(&repository().join("fixtures/syntax/format"), ".nix") {
        let beside = path.with_extension("formatted");
        let formatted = syntax::format(&read(&path)).unwrap_or_else(|_| panic!("{}", path.display()));
        if updating() {
            fs::write(&beside, &formatted).unwrap();
        } else if read(&beside) != formatted {
            wrong.push(format!("{}:\n{}", path.display(), similar(&read(&beside), &formatted)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// `RECIPEC_NIX_PROGRAMS` says how many programs are judged, half of them damaged (600).
#[test]
fn nix_accepts_what_we_accept() {
    let Some(judge) = Judge::find(repository()) else {
        return println!("nix_accepts_what_we_accept: skipped, there is no Nix");
    };
    if !judge.is_reference() {
        return println!("nix_accepts_what_we_accept: skipped, {} is not the reference", judge.version);
    }
    let count = std::env::var("RECIPEC_NIX_PROGRAMS").ok().and_then(|n| n.parse().ok()).unwrap_or(600_u64);
    let texts: Vec<String> = (0..count)
        .map(|seed| {
            let size = 6 + usize::try_from(seed % 7).unwrap();
            if seed % 2 == 0 { generate::program(seed, size) } else { generate::broken(seed, size) }
        })
        // What is damaged may lose the `with` in front, by which all variables are defined.
        .filter(|text| text.starts_with("with { };"))
        .collect();
    let theirs = judge.parses(&texts);
    assert_eq!(theirs.len(), texts.len());
    let mut wrong = Vec::new();
    for (text, theirs) in texts.iter().zip(&theirs) {
        let parse = syntax::parse(FileId(0), text, &mut Interner::new());
        let errors: Vec<&str> = parse
            .diagnostics
            .iter()
            .filter(|finding| finding.severity == diag::Severity::Error)
            .map(|finding| finding.slug.as_str())
            .collect();
        let on_purpose = !errors.is_empty() && errors.iter().all(|slug| LEFT_OUT.contains(slug));
        if errors.is_empty() != *theirs && !on_purpose {
            wrong.push(format!(
                "Nix {} and we say {errors:?}:\n{text}",
                if *theirs { "accepts" } else { "refuses" }
            ));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), texts.len(), wrong.join("\n----\n"));
}
