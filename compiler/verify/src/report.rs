//! Verdicts for people: a table that a reviewer reads in fifteen seconds.

use std::fmt::Write as _;

use crate::facet::{FacetOutcome, FacetVerdict, plain};
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

/// Returns the verdicts as Markdown: a table with one line a check, then the root causes.
#[must_use]
pub fn markdown(verdicts: &[Verdict]) -> String {
    let mut text =
        format!("**{}**\n\n| | recipe | check | points | found |\n|---|---|---|---|---|\n", totals(verdicts));
    for verdict in verdicts {
        let mark = match (verdict.verdict, verdict.advisory) {
            (Outcome::Holds, _) => "✅",
            (_, true) => "ℹ️",
            (Outcome::Drifts, false) => "❌",
            (Outcome::Silent, false) => "🔇",
            (Outcome::Unreadable, false) => "🚫",
        };
        let _ = writeln!(
            text,
            "| {mark} {} | `{}` | {} | {} | {} |",
            word(verdict),
            verdict.recipe,
            verdict.slug,
            points(verdict),
            cell(&verdict.message)
        );
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
