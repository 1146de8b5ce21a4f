//! `recipec explain`: the page of a slug, or what is known of a rule.

use std::fmt::Write as _;

use diag::slugs::cli::UNKNOWN_SLUG;
use diag::{Diagnostic, Explanation, Page, nearest, page, pages};
use engine::{Engine, RuleFacts};
use serde_json::{Value, json};

use crate::arguments::Explain;
use crate::outcome::{Answer, Document, Outcome};

/// Shows one page, or the list of all.
pub(crate) fn run(verb: &Explain) -> Outcome {
    let Some(name) = &verb.slug else {
        return Outcome::new("explain", List);
    };
    if let Some(rule) = engine::rule(name) {
        return Outcome::new("explain", OneRule(rule));
    }
    match page(name).and_then(|page| Some((page, page.explanation().ok()?))) {
        Some((page, explanation)) => Outcome::new("explain", Shown { page, explanation }),
        None => {
            let mut finding = Diagnostic::error(UNKNOWN_SLUG, format!("no finding is called `{name}`"));
            let names = pages().map(|page| page.slug.as_str()).chain(engine::rule_names());
            if let Some(near) = nearest(name, names) {
                finding = finding.help(format!("there is `{near}`"));
            }
            finding = finding.help("`recipec explain` without a name lists them all");
            Outcome::refusal("explain", finding)
        }
    }
}

struct Shown {
    page: &'static Page,
    explanation: Explanation,
}

impl Answer for Shown {
    fn human(&self) -> String {
        let Explanation { title, since, body, evidence, .. } = &self.explanation;
        let severity = self.explanation.severity.map_or("error", diag::Severity::word);
        let mut text =
            format!("{}: {title} ({severity}, since {since})\n\n{}\n", self.page.slug, indented(body));
        if !evidence.is_empty() {
            text.push_str("\nSeen at:\n");
        }
        for link in evidence {
            let _ = writeln!(text, "- {link}");
        }
        text
    }

    fn document(&self) -> Document {
        let slug = self.page.slug.as_str();
        let Explanation { title, since, why, evidence, covers, .. } = &self.explanation;
        let examples: Vec<Value> = self
            .explanation
            .examples
            .iter()
            .map(|example| {
                let expect = if example.bad { slug } else { "ok" };
                json!({ "text": example.text, "expect": expect, "kind": example.kind.fence() })
            })
            .collect();
        let fields = json!({
            "slug": slug,
            "stage": self.page.stage,
            "title": title,
            "severity": self.explanation.severity.map_or("error", diag::Severity::word),
            "since": since,
            "why": why,
            "evidence": evidence,
            "examples": examples,
            "covers": covers,
        });
        Document::Fields(fields.as_object().cloned().unwrap_or_default())
    }

    fn markdown(&self) -> Option<String> {
        Some(format!("# {}\n\n{}\n", self.page.slug, self.explanation.body))
    }
}

/// Writes the examples of a page as people read them on a terminal: indented, with what comes of
/// each before it.
fn indented(body: &str) -> String {
    let mut text = String::new();
    let mut inside = false;
    for line in body.lines() {
        match line.strip_prefix("```") {
            Some(_) if inside => inside = false,
            Some(info) => {
                inside = true;
                let heading = match info.rsplit(' ').next() {
                    Some("bad") => "Reported:\n\n",
                    Some("good") => "Not reported:\n\n",
                    _ => "",
                };
                text.push_str(heading);
            }
            None if inside && !line.is_empty() => {
                let _ = writeln!(text, "    {line}");
            }
            None => {
                let _ = writeln!(text, "{line}");
            }
        }
    }
    text.trim_end().to_owned()
}

/// A rule of an engine, as what it says names it.
struct OneRule(RuleFacts);

impl Answer for OneRule {
    fn human(&self) -> String {
        let RuleFacts { name, engine, from, to, evidence } = self.0;
        let whose = engine.map_or("every engine", Engine::title);
        let versions = match (from, to) {
            ("", "") => "every version".to_owned(),
            ("", to) => format!("up to {to}"),
            (from, "") => format!("from {from}"),
            (from, to) if from == to => format!("{from} only"),
            (from, to) => format!("{from} to {to}"),
        };
        format!(
            "{name}: a rule of {whose}, {versions}\n\nRead in: {evidence}\n\n\
             The word in brackets of what it says has a page of its own. Where the image can do what the rule\n\
             refuses, the recipe says so:\n\n    waivers.{name} = \"why\";\n"
        )
    }

    fn document(&self) -> Document {
        let RuleFacts { name, engine, from, to, evidence } = self.0;
        let fields = json!({
            "rule": name,
            "engine": engine.map(Engine::name),
            "from": from,
            "to": to,
            "evidence": evidence,
        });
        Document::Fields(fields.as_object().cloned().unwrap_or_default())
    }
}

/// Every slug with its title, by stage.
struct List;

impl Answer for List {
    fn human(&self) -> String {
        let mut text = String::new();
        let mut stage = "";
        for page in pages() {
            if page.stage != stage {
                stage = page.stage;
                let space = if text.is_empty() { "" } else { "\n" };
                let _ = writeln!(text, "{space}{stage}");
            }
            let title = page.explanation().map_or_else(|_| String::new(), |explanation| explanation.title);
            let _ = writeln!(text, "  {:32} {title}", page.slug.as_str());
        }
        text
    }

    fn document(&self) -> Document {
        let slugs: Vec<Value> = pages()
            .filter_map(|page| Some((page, page.explanation().ok()?)))
            .map(|(page, explanation)| {
                json!({
                    "slug": page.slug.as_str(),
                    "stage": page.stage,
                    "title": explanation.title,
                    "covers": explanation.covers,
                })
            })
            .collect();
        Document::Fields([("slugs".to_owned(), Value::Array(slugs))].into_iter().collect())
    }
}
