//! Verdicts for people: a table that a reviewer reads in fifteen seconds.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use crate::facet::{FacetOutcome, FacetVerdict, plain};
use crate::rules::counted;
use crate::verdict::{Evidence, Outcome, Verdict};

/// Returns the verdicts for a terminal: one line each, and under what fails the arguments that do.
#[must_use]
pub fn human(verdicts: &[Verdict]) -> String {
    let mut text = String::new();
    let mut recipe = "";
    let widest = verdicts.iter().map(|verdict| verdict.slug.len()).max().unwrap_or(0);
    for verdict in verdicts {
        if verdict.recipe != recipe {
            recipe = &verdict.recipe;
            let title = if recipe.is_empty() { "pull request" } else { recipe };
            let _ = writeln!(text, "{}{title}", if text.is_empty() { "" } else { "\n" });
        }
        let _ = writeln!(
            text,
            "  {:<10}  {:<widest$}  {:<11} {}",
            word(verdict),
            verdict.slug,
            points(verdict),
            verdict.message
        );
        for facet in shown(verdict) {
            let note = if facet.advisory { " (advisory)" } else { "" };
            let (ours, theirs) = (plain(&facet.ours), plain(&facet.theirs));
            let _ = writeln!(
                text,
                "              {:<18} {ours}  |  cookbook: {theirs}  {}{note}",
                facet.facet, facet.reason
            );
        }
    }
    if !verdicts.is_empty() {
        let _ = writeln!(text, "\n{}", totals(verdicts));
    }
    text
}

/// Returns the verdicts as Markdown, in the manner of a reviewer's comment: the verdict, one line a check
/// with what is behind it, and for arguments that differ a table to unfold.
#[must_use]
pub fn markdown(verdicts: &[Verdict]) -> String {
    let failed = verdicts.iter().any(fails);
    let head =
        if failed { "❌❌❌ **REJECTED** ❌❌❌" } else { "✅✅✅ **Verdict: PASS** ✅✅✅" };
    let mut text = format!("## {head}\n\n{}\n\n", totals(verdicts));
    let rules: BTreeSet<&str> = verdicts.iter().map(|verdict| verdict.slug).collect();
    let order = |fails: bool| rules.iter().filter(move |rule| of(verdicts, rule).any(self::fails) == fails);
    for rule in order(true).chain(order(false)) {
        let failing: Vec<&Verdict> = of(verdicts, rule).filter(|verdict| fails(verdict)).collect();
        if failing.is_empty() {
            passed(rule, verdicts, &mut text);
        }
        for (outcome, said) in
            [(Outcome::Drifts, "FAIL"), (Outcome::Unreadable, "UNREADABLE"), (Outcome::Silent, "SILENT")]
        {
            // What is said of several recipes in the same words is one line.
            let mut causes: BTreeMap<&str, Vec<&Verdict>> = BTreeMap::new();
            for verdict in failing.iter().filter(|verdict| verdict.verdict == outcome) {
                causes.entry(&verdict.message).or_default().push(verdict);
            }
            for same in causes.values() {
                let _ = writeln!(text, "- ❌ {rule}: {said} — {}", described(same));
            }
        }
    }
    for verdict in verdicts.iter().filter(|verdict| shown(verdict).next().is_some()) {
        let _ = write!(
            text,
            "\n<details><summary><code>{}</code>, {}: {}</summary>\n\n",
            verdict.recipe,
            points(verdict),
            word(verdict)
        );
        let _ = writeln!(text, "| argument | recipe | cookbook | verdict | why |\n|---|---|---|---|---|");
        for facet in shown(verdict) {
            let _ = writeln!(
                text,
                "| {} | {} | {} | {}{} | {} |",
                facet.facet,
                code(&plain(&facet.ours)),
                code(&plain(&facet.theirs)),
                outcome(facet.verdict),
                if facet.advisory { ", advisory" } else { "" },
                cell(&facet.reason)
            );
        }
        for evidence in &verdict.evidence {
            let _ = writeln!(text, "\n{}", link(evidence));
        }
        text.push_str("\n</details>\n");
    }
    text
}

fn of<'v>(verdicts: &'v [Verdict], rule: &str) -> impl Iterator<Item = &'v Verdict> {
    verdicts.iter().filter(move |verdict| verdict.slug == rule)
}

/// True if a verdict decides against: silence and what cannot be read do so as loudly as drift.
fn fails(verdict: &Verdict) -> bool {
    verdict.verdict != Outcome::Holds && !verdict.advisory
}

/// One line for a rule that nothing fails: how many recipes hold, or what is said of the one.
fn passed(rule: &str, verdicts: &[Verdict], text: &mut String) {
    let holding: Vec<&Verdict> =
        of(verdicts, rule).filter(|verdict| verdict.verdict == Outcome::Holds).collect();
    let recipes: BTreeSet<&str> = holding.iter().map(|verdict| verdict.recipe.as_str()).collect();
    match (holding.as_slice(), of(verdicts, rule).next()) {
        ([], Some(first)) => {
            let _ = writeln!(text, "- ➖ {rule}: N/A — {}", described(&[first]));
        }
        ([one], _) => {
            let _ = writeln!(text, "- ✅ {rule}: PASS — {}", described(&[one]));
        }
        _ => {
            let _ = writeln!(text, "- ✅ {rule}: PASS — {}", counted(recipes.len(), "recipe", "recipes"));
        }
    }
}

/// Says once what is said of several verdicts: whom it concerns, what it is, and where it was read.
fn described(same: &[&Verdict]) -> String {
    let Some(first) = same.first() else { return String::new() };
    let mut whom: Vec<String> = Vec::new();
    for verdict in same.iter().filter(|verdict| !verdict.recipe.is_empty()) {
        let all: usize =
            same.iter().filter(|other| other.recipe == verdict.recipe).map(|other| other.points.len()).sum();
        let points = match all {
            0 => String::new(),
            1 => format!(" {}", points(verdict)),
            all => format!(" ({all} points)"),
        };
        let one = format!("`{}`{points}", verdict.recipe);
        if !whom.contains(&one) {
            whom.push(one);
        }
    }
    let more = whom.len().saturating_sub(6);
    whom.truncate(6);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let whom = if whom.is_empty() { String::new() } else { format!("{}{more}: ", whom.join(", ")) };
    let read = first.evidence.iter().filter(|evidence| !evidence.commit.is_empty() && evidence.line > 0);
    let links: Vec<String> = read.map(link).collect();
    let links = if links.is_empty() { String::new() } else { format!(" ({})", links.join(", ")) };
    format!("{whom}{}{links}", cell(&first.message))
}

/// Returns the numbers of each outcome, the loudest first.
#[must_use]
pub fn totals(verdicts: &[Verdict]) -> String {
    let order = [Outcome::Drifts, Outcome::Unreadable, Outcome::Silent, Outcome::Holds];
    let counts = order.iter().filter_map(|outcome| {
        let count = verdicts
            .iter()
            .filter(|verdict| {
                verdict.verdict == *outcome && (!verdict.advisory || *outcome == Outcome::Holds)
            })
            .count();
        (count > 0).then(|| format!("{count} {}", outcome.word()))
    });
    let advisory =
        verdicts.iter().filter(|verdict| verdict.advisory && verdict.verdict != Outcome::Holds).count();
    let mut parts: Vec<String> = counts.collect();
    if advisory > 0 {
        parts.push(format!("{advisory} advisory"));
    }
    parts.join(", ")
}

/// The arguments worth a line: what differs and changes the model.
fn shown(verdict: &Verdict) -> impl Iterator<Item = &FacetVerdict> {
    verdict.facets.iter().filter(|facet| !facet.verdict.holds())
}

fn word(verdict: &Verdict) -> &'static str {
    verdict.verdict.word()
}

fn outcome(outcome: FacetOutcome) -> &'static str {
    match outcome {
        FacetOutcome::Match => "match",
        FacetOutcome::EquivalentByDefault => "equivalent by default",
        FacetOutcome::Contradict => "contradict",
        FacetOutcome::MissingInCookbook => "missing in cookbook",
        FacetOutcome::Informational => "informational",
    }
}

fn points(verdict: &Verdict) -> String {
    match verdict.points.as_slice() {
        [] if verdict.recipe.is_empty() => String::new(),
        [] => "all points".to_owned(),
        [one] => one.rsplit_once('#').map_or_else(|| one.clone(), |(_, point)| format!("#{point}")),
        many => format!("{} points", many.len()),
    }
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace(['\n', '\r'], " ")
}

fn code(text: &str) -> String {
    format!("`{}`", cell(text).replace('`', "'"))
}

fn link(evidence: &Evidence) -> String {
    let Evidence { repo, commit, path, line, .. } = evidence;
    if repo.is_empty() || path.is_empty() {
        return if path.is_empty() { code(repo) } else { code(path) };
    }
    let anchor = if *line > 0 { format!("#L{line}") } else { String::new() };
    format!("[{path}:{line}](https://github.com/{repo}/blob/{commit}/{path}{anchor})")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cookbook::Class;

    fn verdict(recipe: &str, slug: &'static str, verdict: Outcome, advisory: bool) -> Verdict {
        Verdict {
            recipe: recipe.to_owned(),
            points: Vec::new(),
            slug,
            verdict,
            facets: Vec::new(),
            cell: None,
            evidence: vec![Evidence {
                repo: "o/r".to_owned(),
                commit: "c0ffee".to_owned(),
                path: "page.mdx".to_owned(),
                line: 7,
                class: Class::Independent,
            }],
            message: "why".to_owned(),
            advisory,
        }
    }

    #[test]
    fn a_comment_says_the_verdict_and_one_line_a_check_the_loudest_first() {
        let link = "([page.mdx:7](https://github.com/o/r/blob/c0ffee/page.mdx#L7))";
        let verdicts = [
            verdict("a", "alpha", Outcome::Holds, false),
            verdict("b", "alpha", Outcome::Holds, false),
            verdict("a", "beta", Outcome::Silent, false),
            verdict("b", "beta", Outcome::Unreadable, false),
            verdict("a", "gamma", Outcome::Silent, true),
        ];
        assert_eq!(
            markdown(&verdicts),
            format!(
                "## ❌❌❌ **REJECTED** ❌❌❌\n\n1 unreadable, 1 silent, 2 holds, 1 advisory\n\n\
                 - ❌ beta: UNREADABLE — `b`: why {link}\n\
                 - ❌ beta: SILENT — `a`: why {link}\n\
                 - ✅ alpha: PASS — 2 recipes\n\
                 - ➖ gamma: N/A — `a`: why {link}\n"
            )
        );
        assert!(markdown(&verdicts[..2]).starts_with("## ✅✅✅ **Verdict: PASS** ✅✅✅\n"));
    }
}
