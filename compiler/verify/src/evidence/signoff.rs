//! The sign-off: whether its checklist is the current template's, and the checklist filled in with
//! what is proven.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use diag::slugs::verify::SIGNOFF_CURRENT;
use serde_json::Value as Json;

use super::{Dossier, about};
use crate::policy::Policy;
use crate::verdict::{Outcome, Verdict};

/// Where upstream keeps the template.
const TEMPLATE: &str = "base/docs/PR_REVIEW_CHECKLIST.md";
/// What a sign-off begins with.
const BEGINS: &str = "As a PR reviewer and CODEOWNER";

/// A sign-off as it was posted.
pub(super) struct Signed {
    pub(super) author: String,
    body: String,
    path: &'static str,
}

/// Returns the last sign-off among comments and reviews.
pub(super) fn signed(dossier: &Dossier) -> Option<Signed> {
    let field =
        |json: &Json, name: &str| json.get(name).and_then(Json::as_str).unwrap_or_default().to_owned();
    let mut all: Vec<(String, Signed)> = Vec::new();
    for path in ["comments.json", "reviews.json"] {
        for entry in dossier.list(path).unwrap_or_default() {
            let body = field(entry, "body");
            if body.contains(BEGINS) {
                let at = [field(entry, "created_at"), field(entry, "submitted_at")].concat();
                let author = entry.get("user").map(|user| field(user, "login")).unwrap_or_default();
                all.push((at, Signed { author, body, path }));
            }
        }
    }
    all.sort_by(|a, b| a.0.cmp(&b.0));
    all.pop().map(|(_, signed)| signed)
}

/// Returns the template within the page that explains it: the fenced block that begins as sign-offs
/// do.
fn template(dossier: &Dossier) -> Option<String> {
    let fences = crate::cookbook::command::fences(dossier.text(TEMPLATE)?);
    fences.into_iter().map(|fence| fence.text).find(|text| text.contains(BEGINS))
}

/// Returns the items of a checklist: whether each is ticked, and its words.
fn items(text: &str) -> Vec<(bool, String)> {
    let items = text.lines().filter_map(|line| {
        let rest = line.trim_start().strip_prefix(['-', '*'])?.trim_start().strip_prefix('[')?;
        let (mark, words) = rest.split_once(']')?;
        Some((mark.eq_ignore_ascii_case("x"), words.trim().to_owned()))
    });
    items.collect()
}

/// Returns the letters and digits of a text, so that spacing, case and marks do not count.
fn letters(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| word.len() > 2);
    words.map(str::to_lowercase).collect()
}

/// True if two items are one: nine words in ten of the template's are there.
fn same(template: &str, found: &str) -> bool {
    let (wanted, found) = (letters(template), letters(found));
    let common = wanted.intersection(&found).count();
    common * 10 >= wanted.len() * 9
}

pub(super) fn judge(dossier: &Dossier) -> Vec<Verdict> {
    let Some(signed) = signed(dossier) else { return Vec::new() };
    let Some(template) = template(dossier) else {
        let why = format!("the evidence lacks `{TEMPLATE}`: nobody says what the current checklist asks");
        return vec![about(SIGNOFF_CURRENT, Outcome::Unreadable, why, TEMPLATE)];
    };
    let (wanted, found) = (items(&template), items(&signed.body));
    let shown = |list: &[&String]| {
        let list = list.iter().map(|item| format!("\u{ab}{}\u{bb}", start(item)));
        list.collect::<Vec<_>>().join(", ")
    };
    let missing: Vec<&String> = wanted
        .iter()
        .map(|(_, item)| item)
        .filter(|item| !found.iter().any(|(_, other)| same(item, other)))
        .collect();
    let open: Vec<&String> = found.iter().filter(|(ticked, _)| !ticked).map(|(_, item)| item).collect();
    let explained = detail(&signed.body, &template);
    let (outcome, message) = if !missing.is_empty() {
        let what =
            format!("@{}'s checklist is not the current one; it lacks {}", signed.author, shown(&missing));
        (Outcome::Drifts, what)
    } else if !open.is_empty() && !explained {
        (Outcome::Drifts, format!("@{} left open and did not explain {}", signed.author, shown(&open)))
    } else if !open.is_empty() {
        let what = format!("@{} explains what is left open: {}", signed.author, shown(&open));
        (Outcome::Holds, what)
    } else {
        (Outcome::Holds, format!("all {} items of the current checklist are ticked", wanted.len()))
    };
    vec![about(SIGNOFF_CURRENT, outcome, message, signed.path)]
}

/// True if the section for details has more than the template's own words.
fn detail(body: &str, template: &str) -> bool {
    let of = |text: &str| -> String {
        let after = text.split_once("detail section").map_or("", |(_, after)| after);
        after.split("Signed").next().unwrap_or_default().to_owned()
    };
    !letters(&of(body)).is_subset(&letters(&of(template)))
}

/// Returns the beginning of an item.
fn start(item: &str) -> String {
    let words: String = item.chars().take(60).collect();
    if words.len() < item.len() { format!("{}…", words.trim_end()) } else { words }
}

/// Returns the current checklist filled in: ticked what is proven for every recipe, with its evidence,
/// and left open what drifts, what nobody could read, and what a person must answer.
///
/// # Errors
/// If the evidence has no template.
pub fn fill_in(dossier: &Dossier, verdicts: &[Verdict], policy: &Policy) -> Result<String, String> {
    let template = template(dossier).ok_or_else(|| {
        format!("the evidence lacks `{TEMPLATE}`, which has the checklist that is to be filled in")
    })?;
    let mut text = String::new();
    let mut details: Vec<String> = Vec::new();
    for line in template.lines() {
        let [(_, item)] = &items(line)[..] else {
            let _ = writeln!(text, "{line}");
            // Before the place for further words stands what could not be ticked.
            if line.contains("detail section") {
                for detail in &details {
                    let _ = writeln!(text, "- {detail}");
                }
            }
            continue;
        };
        let (ticked, proof) = prove(item, verdicts, policy);
        let marked = if ticked { line.replacen("[ ]", "[x]", 1) } else { line.to_owned() };
        let _ = writeln!(text, "{marked}");
        let indent: String = line.chars().take_while(|c| c.is_whitespace()).collect();
        for line in proof {
            let _ = writeln!(text, "{indent}  - {line}");
            if !ticked {
                details.push(format!("open: {}: {line}", start(item)));
            }
        }
    }
    Ok(text)
}

/// Returns whether the verdicts prove an item, and what is to be said of it.
fn prove(item: &str, verdicts: &[Verdict], policy: &Policy) -> (bool, Vec<String>) {
    let lower = item.to_lowercase();
    let known = policy
        .review
        .checklist
        .iter()
        .find(|known| known.words.iter().all(|word| lower.contains(&word.to_lowercase())));
    let Some(known) = known else { return (false, Vec::new()) };
    let (mut ticked, mut lines) = (true, Vec::new());
    for rule in &known.rules {
        let about: Vec<&Verdict> = verdicts.iter().filter(|verdict| verdict.slug == rule).collect();
        let open: Vec<&&Verdict> =
            about.iter().filter(|verdict| verdict.verdict != Outcome::Holds && !verdict.advisory).collect();
        if about.is_empty() {
            // A rule that concerns nothing here proves nothing, and a person says so.
            ticked = false;
            lines.push(format!("`{rule}` concerns no recipe that was judged"));
        } else if open.is_empty() {
            let first = about.first().map(|verdict| verdict.message.as_str()).unwrap_or_default();
            let more =
                if about.len() > 1 { format!(" (and {} more)", about.len() - 1) } else { String::new() };
            lines.push(format!("`{rule}`: {first}{more}"));
        } else {
            ticked = false;
            lines.extend(open.into_iter().take(4).map(|verdict| {
                format!("`{rule}` {} `{}`: {}", verdict.verdict.word(), verdict.recipe, verdict.message)
            }));
        }
    }
    (ticked, lines)
}
