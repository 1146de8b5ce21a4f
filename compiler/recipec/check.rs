//! `recipec check`: every plan of every recipe, and every rule.

use std::fmt::Write as _;

use engine::Skipped;
use serde_json::json;

use crate::arguments::{Check, Options};
use crate::corpus;
use crate::outcome::{Answer, Document, Outcome};

struct Checked {
    recipes: usize,
    points: usize,
    plans: usize,
    skipped: Vec<Skipped>,
    findings: usize,
}

/// Checks the recipes that are asked for.
pub(crate) fn run(verb: &Check, options: &Options) -> Outcome {
    corpus::with("check", &verb.recipes, options, |mut loaded| {
        let (known, locks) = loaded.known();
        let mut plans = 0;
        let checked = recipe::check_each(&mut loaded.session, &loaded.corpus, &known, |_| plans += 1);
        loaded.findings.extend(locks);
        loaded.findings.extend(checked.diagnostics);
        let answer = Checked {
            recipes: loaded.corpus.recipes.len(),
            points: checked.points,
            plans,
            skipped: checked.skipped,
            findings: loaded.findings.iter().count(),
        };
        loaded.finish("check", answer)
    })
}

impl Answer for Checked {
    fn human(&self) -> String {
        let findings = match self.findings {
            0 => "nothing found".to_owned(),
            count => crate::words::count(count, "finding"),
        };
        let mut text = format!(
            "{}, {}, {}: {findings}\n",
            crate::words::count(self.recipes, "recipe"),
            crate::words::count(self.points, "point"),
            crate::words::count(self.plans, "plan"),
        );
        for skipped in &self.skipped {
            let _ = writeln!(text, "skipped: {} needs {}", skipped.slug, skipped.needs);
        }
        text
    }

    fn document(&self) -> Document {
        let fields = json!({
            "recipes": self.recipes,
            "points": self.points,
            "plans": self.plans,
            "skipped": self.skipped,
        });
        Document::Fields(fields.as_object().cloned().unwrap_or_default())
    }
}
