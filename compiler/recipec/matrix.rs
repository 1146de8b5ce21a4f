//! `recipec matrix`: the jobs of recipes, as the generator of InferenceX writes them.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use crate::arguments::{Format, Matrix, Options};
use crate::corpus;
use crate::layouts;
use crate::outcome::{Answer, Document, Outcome};
use crate::words::count;

/// Jobs by config key.
struct Jobs {
    rows: Map<String, Value>,
    /// What the description of a pull request says of them, where that is asked for.
    description: Option<String>,
}

/// Lists the jobs of the recipes that are asked for.
pub(crate) fn run(verb: &Matrix, options: &Options) -> Outcome {
    corpus::with("matrix", &verb.recipes, options, |mut loaded| {
        let mut jobs = Map::new();
        for recipe in &loaded.corpus.recipes {
            let rows = recipe::matrix(recipe, &loaded.corpus.targets);
            let rows = rows.into_iter().map(|job| Value::Object(job.row)).collect();
            jobs.insert(recipe.key.value.clone(), Value::Array(rows));
        }
        // Only a description needs plans, and plans take their time.
        let asked = options.format == Format::Markdown
            || options.output.iter().any(|one| one.format == Format::Markdown);
        let description = asked.then(|| {
            let corpus = std::mem::take(&mut loaded.corpus);
            layouts::description(&mut loaded, &corpus)
        });
        loaded.finish("matrix", Jobs { rows: jobs, description })
    })
}

impl Answer for Jobs {
    fn human(&self) -> String {
        let mut text = String::new();
        for (key, rows) in &self.rows {
            let rows = rows.as_array().map(Vec::as_slice).unwrap_or_default();
            let _ = writeln!(text, "{key}  ({})", count(rows.len(), "job"));
            for (index, row) in rows.iter().enumerate() {
                let _ = writeln!(text, "  #{index:<3} {}", line(row));
            }
        }
        text
    }

    fn document(&self) -> Document {
        let text = serde_json::to_string_pretty(&self.rows).unwrap_or_default();
        Document::Bare(text + "\n")
    }

    fn markdown(&self) -> Option<String> {
        self.description.clone()
    }
}

/// Returns what tells a job from its siblings, on one line.
fn line(row: &Value) -> String {
    let shown = ["isl", "osl", "tp", "pp", "ep", "dp-attn", "conc", "kv-offloading", "runner", "run-eval"];
    let words = shown.iter().filter_map(|name| {
        let value = row.get(*name)?;
        let plain = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        (plain != "false" && !plain.is_empty()).then(|| format!("{name}={plain}"))
    });
    words.collect::<Vec<_>>().join(" ")
}
