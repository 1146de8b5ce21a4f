//! `recipec matrix`: the jobs of recipes, as the generator of InferenceX writes them.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use crate::arguments::{Matrix, Options};
use crate::corpus;
use crate::outcome::{Answer, Document, Outcome};

/// Jobs by config key.
struct Jobs(Map<String, Value>);

/// Lists the jobs of the recipes that are asked for.
pub(crate) fn run(verb: &Matrix, options: &Options) -> Outcome {
    corpus::with("matrix", &verb.recipes, options, |loaded| {
        let mut jobs = Map::new();
        for recipe in &loaded.corpus.recipes {
            let rows = recipe::matrix(recipe, &loaded.corpus.targets);
            let rows = rows.into_iter().map(|job| Value::Object(job.row)).collect();
            jobs.insert(recipe.key.value.clone(), Value::Array(rows));
        }
        loaded.finish("matrix", Jobs(jobs))
    })
}

impl Answer for Jobs {
    fn human(&self) -> String {
        let mut text = String::new();
        for (key, rows) in &self.0 {
            let rows = rows.as_array().map(Vec::as_slice).unwrap_or_default();
            let _ = writeln!(text, "{key}  ({})", crate::words::count(rows.len(), "job"));
            for (index, row) in rows.iter().enumerate() {
                let _ = writeln!(text, "  #{index:<3} {}", line(row));
            }
        }
        text
    }

    fn document(&self) -> Document {
        let text = serde_json::to_string_pretty(&self.0).unwrap_or_default();
        Document::Bare(text + "\n")
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
