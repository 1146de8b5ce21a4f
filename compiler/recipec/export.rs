//! `recipec export`: recipes as a pipeline of today reads them.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use diag::{Diagnostic, Diagnostics};
use lock::summary::Comparison;
use recipe::draft::Draft;
use recipe::search::Workload;
use recipe::{Corpus, Recipe, export, routes};
use serde_json::Value;

use crate::arguments::{Export, Form, Options};
use crate::checkout;
use crate::corpus::{self, Loaded};
use crate::diff;
use crate::layouts::{layouts, sentence};
use crate::outcome::{Answer, Document, Outcome, Silence};

/// Where the number of a pull request that is not open yet will stand; upstream's tools fill it in.
const PULL: &str = "https://github.com/SemiAnalysisAI/InferenceX/pull/XXX";

/// The most changes that an entry names; who wants all asks for the difference.
const NAMED: usize = 24;

/// A YAML document.
struct Exported(String);

/// Writes the entries of recipes in the master configuration, or the entry of the changelog.
pub(crate) fn run(verb: &Export, options: &Options) -> Outcome {
    let Form::Inferencex = verb.form;
    corpus::with("export", &verb.recipes, options, |mut loaded| {
        let corpus = std::mem::take(&mut loaded.corpus);
        let mut findings = Diagnostics::new();
        let recipes: Vec<&Recipe> = corpus
            .recipes
            .iter()
            .filter(|recipe| {
                let mut found = Diagnostics::new();
                export::refusals(recipe, &mut found);
                let fine = !found.has_errors();
                findings.extend(found);
                fine
            })
            .collect();
        if let Some(folder) = &verb.checkout {
            match checkout::open(folder) {
                Ok(checkout) => {
                    for recipe in &recipes {
                        let mut found = Diagnostics::new();
                        routes::report(&Draft::of(recipe), &checkout, &mut found);
                        let at = recipe.targets.first().and_then(|target| target.at);
                        findings.extend(found.into_iter().map(|finding| Diagnostic { span: at, ..finding }));
                    }
                }
                Err(finding) => findings.push(finding),
            }
        }
        loaded.findings.extend(findings);
        if recipes.is_empty() {
            return loaded.finish("export", Silence);
        }
        let text = if verb.changelog {
            match changelog(&mut loaded, &corpus, &recipes, &verb.since) {
                Ok(text) => text,
                Err(findings) => {
                    loaded.findings.extend(findings);
                    return loaded.finish("export", Silence);
                }
            }
        } else {
            recipes.iter().map(|recipe| export::entry(recipe)).collect::<Vec<_>>().join("\n")
        };
        loaded.finish("export", Exported(text))
    })
}

/// Writes the changelog's entry for these recipes: what is new of them since a revision, and what
/// changed.
fn changelog(
    loaded: &mut Loaded<'_, '_>,
    corpus: &Corpus,
    recipes: &[&Recipe],
    since: &str,
) -> Result<String, Diagnostics> {
    let comparison = diff::since(loaded, corpus, recipes, since)?;
    let mut lines = Vec::new();
    let of: BTreeSet<&str> = comparison.changes.iter().map(|change| change.recipe.as_str()).collect();
    let (mut concerned, mut new) = (Vec::new(), Vec::new());
    for recipe in recipes {
        let key = recipe.key.value.as_str();
        if comparison.added.iter().any(|added| added == key) {
            new.push(Recipe::clone(recipe));
            concerned.push(*recipe);
        } else if of.contains(key) {
            concerned.push(recipe);
        }
    }
    if !new.is_empty() {
        let corpus = Corpus { recipes: new, partial: true, ..corpus.clone() };
        let layouts = layouts(loaded, &corpus);
        lines.extend(corpus.recipes.iter().zip(&layouts).map(|(recipe, one)| sentence(recipe, one)));
    }
    lines.extend(changed(&comparison));
    // Who asks for an entry although nothing differs wants to run the recipes again.
    if concerned.is_empty() {
        concerned.extend_from_slice(recipes);
        lines.push("Run again, unchanged".to_owned());
    }
    let mut text = "- config-keys:\n".to_owned();
    for recipe in &concerned {
        let _ = writeln!(text, "    - {}", quoted(&recipe.key.value));
    }
    if let Some(kind) = only_kind(&concerned) {
        let _ = writeln!(text, "  scenario-type:\n    - {kind}");
    }
    text.push_str("  description:\n");
    for line in lines {
        let _ = writeln!(text, "    - {}", quoted(&line));
    }
    let _ = writeln!(text, "  pr-link: {PULL}");
    Ok(text)
}

/// Returns the changes in words: the summary, then field by field.
fn changed(comparison: &Comparison) -> Vec<String> {
    let only_changes =
        Comparison { added: Vec::new(), removed: Vec::new(), unchanged: 0, ..comparison.clone() };
    if only_changes.changes.is_empty() {
        return Vec::new();
    }
    let plain = |value: &Value| match value {
        Value::Null => "nothing".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let mut lines: Vec<String> = Vec::new();
    let total = only_changes.changes.len();
    for change in only_changes.changes.iter().take(NAMED) {
        let points = crate::words::count(change.points.len(), "point");
        lines.push(format!(
            "{}: {} from {} to {} at {points}",
            change.recipe,
            change.path,
            plain(&change.old),
            plain(&change.new)
        ));
    }
    if let Some(more) = total.checked_sub(NAMED).filter(|more| *more > 0) {
        lines.push(format!("and {}", crate::words::count(more, "more change")));
    }
    lines
}

/// Returns upstream's name of the kind of scenario, if the recipes have but one.
fn only_kind(recipes: &[&Recipe]) -> Option<&'static str> {
    let kinds: BTreeSet<&'static str> = recipes
        .iter()
        .flat_map(|recipe| &recipe.scenarios)
        .map(|scenario| match scenario.workload {
            Workload::FixedSequence { .. } => "fixed-seq-len",
            Workload::Agentic { .. } => "agentic-coding",
        })
        .collect();
    if kinds.len() == 1 { kinds.into_iter().next() } else { None }
}

/// Quotes a text for YAML as JSON does, which every YAML reader takes.
fn quoted(text: &str) -> String {
    Value::String(text.to_owned()).to_string()
}

impl Answer for Exported {
    fn human(&self) -> String {
        self.0.clone()
    }

    fn document(&self) -> Document {
        Document::Bare(self.0.clone())
    }

    fn markdown(&self) -> Option<String> {
        Some(format!("```yaml\n{}```\n", self.0))
    }
}
