//! Upstream's changelog grows at its end: history stays byte for byte, entries are one empty line
//! apart, and each links its pull request.

use diag::slugs::verify::{CHANGELOG_HISTORY, CHANGELOG_LINK, CHANGELOG_SPACING};

use super::{Dossier, about};
use crate::policy::Policy;
use crate::rules::counted;
use crate::verdict::{Outcome, Verdict};
use crate::vllm::Yaml;

const BEFORE: &str = "base/perf-changelog.yaml";
const AFTER: &str = "head/perf-changelog.yaml";
const ENTRY: &str = "- config-keys:";
const LINK: &str = "  pr-link:";

pub(super) fn judge(dossier: &Dossier, policy: &Policy) -> Vec<Verdict> {
    let (Some(before), Some(after)) = (dossier.text(BEFORE), dossier.text(AFTER)) else { return Vec::new() };
    let number = dossier.document("pull.json").and_then(|pull| pull.get("number")?.as_u64());
    judge_texts(before, after, number, policy)
}

/// Judges a changelog beside what it was.
fn judge_texts(before: &str, after: &str, number: Option<u64>, policy: &Policy) -> Vec<Verdict> {
    let verdict = |slug, wrong: Option<(usize, String)>, right: String| {
        let (outcome, message) = match &wrong {
            Some((_, message)) => (Outcome::Drifts, message.clone()),
            None => (Outcome::Holds, right),
        };
        let mut verdict = about(slug, outcome, message, "perf-changelog.yaml");
        verdict.evidence[0].line = wrong.map_or(0, |(line, _)| line);
        verdict
    };
    if before == after {
        return vec![verdict(CHANGELOG_HISTORY, None, "nothing was added".to_owned())];
    }
    let Some(added) = after.strip_prefix(before).filter(|added| added.trim_start().starts_with(ENTRY)) else {
        let wrong = changed(before, after, policy);
        let right = "only links of pull requests were corrected".to_owned();
        return vec![verdict(CHANGELOG_HISTORY, wrong, right)];
    };
    let first = before.lines().count();
    let entries = added.lines().filter(|line| line.starts_with(ENTRY)).count();
    vec![
        verdict(
            CHANGELOG_HISTORY,
            None,
            format!("history is as it was, and {} after it", counted(entries, "entry", "entries")),
        ),
        verdict(
            CHANGELOG_SPACING,
            spacing(before, added, first),
            "entries are one empty line apart".to_owned(),
        ),
        verdict(
            CHANGELOG_LINK,
            links(added, first, number, policy),
            "each entry links its pull request".to_owned(),
        ),
    ]
}

/// Returns what changed of history but links that became canonical, with its line.
fn changed(before: &str, after: &str, policy: &Policy) -> Option<(usize, String)> {
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    for (at, line) in old.iter().enumerate() {
        let now = new.get(at);
        if now == Some(line) {
            continue;
        }
        let corrected = line.starts_with(LINK)
            && now.is_some_and(|now| {
                now.strip_prefix(LINK).is_some_and(|link| pull_of(link, policy).is_some())
            });
        if !corrected {
            return Some((at + 1, format!("line {} of history changed: what is written stays", at + 1)));
        }
    }
    match new.len().cmp(&old.len()) {
        std::cmp::Ordering::Equal => None,
        _ => Some((old.len() + 1, "new entries and corrected links do not go together".to_owned())),
    }
}

/// Returns what is wrong between and around entries.
fn spacing(before: &str, added: &str, first: usize) -> Option<(usize, String)> {
    let apart = |line: usize, found: usize| {
        let empty = if found == 0 { "no empty line" } else { "several empty lines" };
        Some((line, format!("{empty} before the entry of line {line}; there is one")))
    };
    // History may end in an empty line already.
    let wanted = usize::from(!before.ends_with("\n\n"));
    let mut empty = 0;
    let mut entry = 0;
    for (at, line) in added.lines().enumerate() {
        let number = first + at + 1;
        if line.starts_with(ENTRY) {
            let wanted = if entry == 0 { wanted } else { 1 };
            if empty != wanted {
                return apart(number, if entry == 0 { empty + 1 - wanted } else { empty });
            }
            entry += 1;
        } else if line.contains(['\t', '\r']) {
            return Some((number, format!("line {number} has a tab or a carriage return")));
        }
        empty = if line.is_empty() { empty + 1 } else { 0 };
    }
    if !added.ends_with('\n') || added.ends_with("\n\n") {
        let end = first + added.lines().count();
        return Some((end, "the last entry ends in one line break".to_owned()));
    }
    None
}

/// Returns the first entry that does not link the pull request that adds it.
fn links(added: &str, first: usize, number: Option<u64>, policy: &Policy) -> Option<(usize, String)> {
    let entries = match Yaml::read(added) {
        Ok(entries) => entries,
        Err(why) => return Some((first + 1, format!("what was added is no YAML: {why}"))),
    };
    let mut places =
        added.lines().enumerate().filter(|(_, line)| line.starts_with(ENTRY)).map(|(at, _)| first + at + 1);
    for entry in entries.items() {
        let line = places.next().unwrap_or(first + 1);
        let link = entry.get("pr-link").map(Yaml::word).unwrap_or_default();
        let wrong = match (pull_of(&link, policy), number) {
            (Some(linked), Some(number)) if linked != number => {
                format!("the entry of line {line} links #{linked}, and this is #{number}")
            }
            (Some(_), _) => continue,
            (None, _) if policy.changelog.placeholders.contains(&link) => continue,
            (None, _) if link.is_empty() => format!("the entry of line {line} has no `pr-link`"),
            (None, _) => format!(
                "the entry of line {line} links `{link}`; until there is a number it says {}",
                policy.changelog.placeholders.join(" or ")
            ),
        };
        return Some((line, wrong));
    }
    None
}

/// Returns the number of the pull request that a canonical link names.
fn pull_of(link: &str, policy: &Policy) -> Option<u64> {
    let start = format!("https://github.com/{}/pull/", policy.changelog.repository);
    let number = link.trim().strip_prefix(&start)?;
    number.bytes().all(|b| b.is_ascii_digit()).then(|| number.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::ChangelogPolicy;

    const HISTORY: &str = "- config-keys:\n    - a\n  pr-link: https://github.com/o/r/pull/1\n";

    fn found(after: &str) -> Vec<(&'static str, Outcome, usize)> {
        let mut changelog = ChangelogPolicy::default();
        changelog.repository = "o/r".to_owned();
        changelog.placeholders = vec!["XXX".to_owned()];
        let policy = Policy { changelog, ..Policy::default() };
        let verdicts = judge_texts(HISTORY, after, Some(7), &policy);
        verdicts
            .into_iter()
            .map(|verdict| (verdict.slug, verdict.verdict, verdict.evidence[0].line))
            .collect()
    }

    fn entry(link: &str) -> String {
        format!("- config-keys:\n    - b\n  pr-link: {link}\n")
    }

    #[test]
    fn entries_follow_history_one_empty_line_apart_with_their_link() {
        let fine = [
            ("changelog-history", Outcome::Holds, 0),
            ("changelog-spacing", Outcome::Holds, 0),
            ("changelog-link", Outcome::Holds, 0),
        ];
        let ours = "https://github.com/o/r/pull/7";
        assert_eq!(found(&format!("{HISTORY}\n{}", entry(ours))), fine);
        assert_eq!(found(&format!("{HISTORY}\n{}\n{}", entry("XXX"), entry(ours))), fine);
        for (after, slug, line) in [
            (format!("{HISTORY}{}", entry(ours)), "changelog-spacing", 4),
            (format!("{HISTORY}\n\n{}", entry(ours)), "changelog-spacing", 6),
            (format!("{HISTORY}\n{}{}", entry(ours), entry(ours)), "changelog-spacing", 8),
            (format!("{HISTORY}\n{}\n", entry(ours)), "changelog-spacing", 8),
            (format!("{HISTORY}\n{}", entry("https://github.com/o/r/pull/8")), "changelog-link", 5),
            (format!("{HISTORY}\n{}", entry("TBD")), "changelog-link", 5),
            (format!("{}\n{}", HISTORY.replace("- a", "- c"), entry(ours)), "changelog-history", 2),
            (HISTORY.replace("/pull/1", "/pull/x"), "changelog-history", 3),
        ] {
            let wrong: Vec<_> =
                found(&after).into_iter().filter(|(_, outcome, _)| *outcome == Outcome::Drifts).collect();
            assert_eq!(wrong, [(slug, Outcome::Drifts, line)], "{after}");
        }
    }

    #[test]
    fn a_link_may_be_corrected_and_nothing_else() {
        assert_eq!(found(&HISTORY.replace("/pull/1", "/pull/2")), [("changelog-history", Outcome::Holds, 0)]);
        assert_eq!(found(HISTORY), [("changelog-history", Outcome::Holds, 0)]);
    }
}
