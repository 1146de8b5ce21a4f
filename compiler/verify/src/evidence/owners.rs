//! The one who signs off owns what the pull request changes. Of the patterns that match a path the
//! last decides; owners of several do not add up.

use std::collections::BTreeSet;

use diag::slugs::verify::CODE_OWNER;
use serde_json::Value as Json;

use super::{Dossier, about, signoff};
use crate::rules::counted;
use crate::verdict::{Outcome, Verdict};

const OWNERS: &str = "base/.github/CODEOWNERS";
const FILES: &str = "files.json";

/// A line: a pattern with its owners.
#[derive(PartialEq, Eq, Debug)]
struct Rule {
    pattern: String,
    owners: Vec<String>,
}

pub(super) fn judge(dossier: &Dossier) -> Vec<Verdict> {
    let Some(signed) = signoff::signed(dossier) else { return Vec::new() };
    let (Some(owners), Some(files)) = (dossier.text(OWNERS), dossier.list(FILES)) else {
        let why = format!("the evidence lacks `{OWNERS}` or `{FILES}`: nobody says who owns what is changed");
        return vec![about(CODE_OWNER, Outcome::Unreadable, why, OWNERS)];
    };
    let rules = read(owners);
    let anybody = rules.iter().flat_map(|rule| &rule.owners).any(|owner| is(owner, &signed.author));
    let mut others: BTreeSet<String> = BTreeSet::new();
    let mut open: BTreeSet<String> = BTreeSet::new();
    for path in files.iter().filter_map(|file| file.get("filename").and_then(Json::as_str)) {
        let Some(rule) = rules.iter().rev().find(|rule| matches(&rule.pattern, path)) else { continue };
        // Whoever owns anything speaks for what nobody in particular owns.
        let mine = rule.owners.iter().any(|owner| is(owner, &signed.author))
            || rule.pattern == "*" && anybody
            || rule.owners.is_empty();
        if mine {
            continue;
        }
        let of = format!("`{path}` ({})", rule.owners.join(", "));
        if rule.owners.iter().all(|owner| owner.contains('/')) {
            open.insert(of);
        } else {
            others.insert(of);
        }
    }
    let all = |list: BTreeSet<String>| list.into_iter().take(4).collect::<Vec<_>>().join(", ");
    let author = &signed.author;
    let (outcome, message) = if !others.is_empty() {
        (Outcome::Drifts, format!("@{author} does not own {}", all(others)))
    } else if !open.is_empty() {
        let why = format!("whether @{author} is of a team that owns {} stands nowhere here", all(open));
        (Outcome::Unreadable, why)
    } else {
        (Outcome::Holds, format!("@{author} owns what is changed: {}", counted(files.len(), "file", "files")))
    };
    vec![about(CODE_OWNER, outcome, message, OWNERS)]
}

fn is(owner: &str, login: &str) -> bool {
    owner.strip_prefix('@').is_some_and(|owner| owner.eq_ignore_ascii_case(login))
}

/// Reads the lines of a file of owners; a pattern without owners takes a path from all before it.
fn read(text: &str) -> Vec<Rule> {
    let lines = text.lines().filter_map(|line| {
        let mut words = line.split_whitespace().take_while(|word| !word.starts_with('#'));
        let pattern = words.next()?.to_owned();
        Some(Rule { pattern, owners: words.map(str::to_owned).collect() })
    });
    lines.collect()
}

/// Returns true if a pattern matches a path, as in a file of what git ignores: a slash inside anchors
/// it, a slash at its end takes a folder, `*` stays within a part and `**` does not.
fn matches(pattern: &str, path: &str) -> bool {
    let folder = pattern.ends_with('/');
    let body = pattern.trim_end_matches('/');
    let anchored = body.contains('/');
    let body = body.trim_start_matches('/');
    let wanted: Vec<&str> = body.split('/').collect();
    let parts: Vec<&str> = path.split('/').collect();
    let starts: Vec<usize> = if anchored { vec![0] } else { (0..parts.len()).collect() };
    starts.into_iter().any(|start| {
        let rest = parts.get(start..).unwrap_or_default();
        // What matches a folder matches all that is in it; a pattern for folders matches no file.
        (1..=rest.len()).any(|end| {
            let whole = end == rest.len();
            (!folder || !whole) && all_parts(&wanted, rest.get(..end).unwrap_or_default(), 0)
        })
    })
}

fn all_parts(wanted: &[&str], parts: &[&str], depth: usize) -> bool {
    match (wanted, parts) {
        _ if depth > 64 => false,
        ([], []) => true,
        (["**", rest @ ..], _) => {
            all_parts(rest, parts, depth + 1)
                || parts.split_first().is_some_and(|(_, more)| all_parts(wanted, more, depth + 1))
        }
        ([first, rest @ ..], [part, more @ ..]) => {
            part_matches(first, part) && all_parts(rest, more, depth + 1)
        }
        _ => false,
    }
}

/// Matches one part of a path: `*` any letters, `?` one.
fn part_matches(pattern: &str, part: &str) -> bool {
    let (pattern, part): (Vec<char>, Vec<char>) = (pattern.chars().collect(), part.chars().collect());
    let (mut p, mut t, mut star) = (0, 0, None);
    while t < part.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p, t));
                p += 1;
            }
            Some(c) if *c == '?' || part.get(t) == Some(c) => {
                p += 1;
                t += 1;
            }
            _ => match star {
                Some((at, from)) => {
                    p = at + 1;
                    t = from + 1;
                    star = Some((at, from + 1));
                }
                None => return false,
            },
        }
    }
    pattern.get(p..).unwrap_or_default().iter().all(|c| *c == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_git_ignores() {
        for (pattern, path, expected) in [
            ("*", "a/b/c.yaml", true),
            ("configs/amd.yaml", "configs/amd.yaml", true),
            ("configs/amd.yaml", "x/configs/amd.yaml", false),
            ("MODELS.md", "docs/MODELS.md", true),
            ("/MODELS.md", "docs/MODELS.md", false),
            ("experimental/operatorx/", "experimental/operatorx/a/b.py", true),
            ("experimental/operatorx/", "experimental/operatorx", false),
            ("docs/*", "docs/a.md", true),
            ("docs/**/a.md", "docs/x/y/a.md", true),
            ("*.md", "docs/x/a.md", true),
            ("*.md", "docs/x/a.mdx", false),
            ("a?c", "abc", true),
        ] {
            assert_eq!(matches(pattern, path), expected, "{pattern} {path}");
        }
    }

    #[test]
    fn the_last_pattern_that_matches_decides() {
        let rules = read("* @org/core\n# nobody\n\nconfigs/a.yaml @x @y # both\nconfigs/ \n");
        let owners = |path: &str| {
            rules.iter().rev().find(|rule| matches(&rule.pattern, path)).map(|rule| rule.owners.join(" "))
        };
        assert_eq!(owners("README.md").as_deref(), Some("@org/core"));
        assert_eq!(owners("configs/a.yaml").as_deref(), Some(""));
    }
}
