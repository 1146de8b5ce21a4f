//! `recipec audit results`: many runs, summed up recipe by recipe.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use ::lock::Lock;
use diag::slugs::audit::NO_RESULTS;
use diag::{Diagnostic, Diagnostics, SourceMap};
use host::files::Root;
use serde_json::{Map, Value, json};

use super::run::{audit, cell, policy, shown};
use crate::arguments::{AuditResults, Options};
use crate::corpus::LOCK_LIMIT;
use crate::outcome::{Answer, Document, Failure, Outcome, Silence};
use crate::words::count;
use crate::workspace::{Workspace, unreadable};

const COMMAND: &str = "audit results";

/// The verdicts, in the order in which they are counted.
const VERDICTS: [&str; 3] = ["reproduced", "contradicted", "unproven"];

/// Sums up runs.
pub(crate) fn run(verb: &AuditResults, options: &Options) -> Outcome {
    match summed(verb, options) {
        Ok(summed) => {
            let mut outcome = Outcome::new(COMMAND, Silence);
            outcome.explicit = true;
            for row in &summed.rows {
                match row.verdict.as_str() {
                    "reproduced" => {}
                    "contradicted" => {
                        outcome.failures.insert(Failure::Outside);
                    }
                    _ => {
                        outcome.failures.insert(Failure::Unreachable);
                    }
                }
            }
            for row in &summed.rows {
                outcome.findings.extend(row.worst());
            }
            outcome.answer = Box::new(summed);
            outcome
        }
        Err(findings) => Outcome::new(COMMAND, Silence).with(findings, SourceMap::new()),
    }
}

/// One result of one run, as an audit wrote it.
#[derive(Clone)]
struct Row {
    /// The file or folder that it was read from.
    from: String,
    recipe: String,
    plan: String,
    points: Vec<String>,
    verdict: String,
    measured: Map<String, Value>,
    /// Slug, what it is about and what was found, of each check that does not hold.
    wrong: Vec<(String, String)>,
    /// The result as it was written.
    document: Value,
}

struct Summed {
    rows: Vec<Row>,
}

impl Row {
    fn read(from: &str, document: &Value) -> Option<Self> {
        let text = |name: &str| document.get(name).and_then(Value::as_str).map(str::to_owned);
        let checks = document.get("checks").and_then(Value::as_array);
        let wrong =
            checks.into_iter().flatten().filter(|check| check.get("verdict") != Some(&"reproduced".into()));
        let wrong = wrong.filter_map(|check| {
            let text = |name: &str| check.get(name).and_then(Value::as_str);
            Some((
                text("slug")?.to_owned(),
                format!("{}: {}", text("about").unwrap_or_default(), text("theirs")?),
            ))
        });
        let points = document.get("points").and_then(Value::as_array).into_iter().flatten();
        Some(Self {
            from: from.to_owned(),
            recipe: text("recipe")
                .or_else(|| Some(text("plan")?.split('/').next()?.to_owned()))
                .unwrap_or_default(),
            plan: text("plan").unwrap_or_else(|| text("path").unwrap_or_default()),
            points: points.filter_map(Value::as_str).map(str::to_owned).collect(),
            verdict: text("verdict").filter(|verdict| VERDICTS.contains(&verdict.as_str()))?,
            measured: document.get("measured").and_then(Value::as_object).cloned().unwrap_or_default(),
            wrong: wrong.collect(),
            document: document.clone(),
        })
    }

    /// Returns the finding of the first check that does not hold.
    fn worst(&self) -> Option<Diagnostic> {
        let (slug, what) = self.wrong.first()?;
        let slug = diag::page(slug)?.slug;
        let message = format!("{} is {}: {}", shown(&self.plan), self.verdict, shown(what));
        Some(match self.verdict.as_str() {
            "contradicted" => Diagnostic::error(slug, message),
            _ => Diagnostic::warning(slug, message),
        })
    }

    fn figure(&self, name: &str) -> String {
        self.measured
            .get(name)
            .and_then(Value::as_f64)
            .map_or_else(String::new, |value| format!("{value:.2}"))
    }
}

fn summed(verb: &AuditResults, options: &Options) -> Result<Summed, Diagnostics> {
    let one = |finding: Diagnostic| Diagnostics::from_iter([finding]);
    let mut rows = Vec::new();
    let mut locks: Option<(Vec<Lock>, audit::run::Policy)> = None;
    for file in &verb.files {
        let shown = file.display().to_string();
        if let Some(read) = written(file).map_err(one)? {
            rows.extend(read.iter().filter_map(|document| Row::read(&shown, document)));
            continue;
        }
        if locks.is_none() {
            let workspace = Workspace::open(options.root.as_deref(), &[]).map_err(one)?;
            let policy = policy(&verb.gates, Some(&workspace.root)).map_err(one)?;
            locks = Some((all_locks(&workspace.root).map_err(one)?, policy));
        }
        let Some((locks, policy)) = &locks else { continue };
        // A run is of the recipe whose lock it fits best.
        let mut best: BTreeMap<String, Row> = BTreeMap::new();
        for lock in locks {
            let (results, _) = audit(file, lock, policy).map_err(one)?;
            for result in results.iter().filter(|result| result.plan.is_some()) {
                let Some(row) = Row::read(&shown, &result.to_json()) else { continue };
                let better = best.get(&result.path).is_none_or(|before| row.wrong.len() < before.wrong.len());
                if better {
                    best.insert(result.path.clone(), row);
                }
            }
        }
        if best.is_empty() {
            let message = format!("no lock here has a plan for anything in `{shown}`");
            return Err(one(Diagnostic::error(NO_RESULTS, message)));
        }
        rows.extend(best.into_values());
    }
    rows.sort_by(|a, b| (&a.recipe, &a.plan, &a.from).cmp(&(&b.recipe, &b.plan, &b.from)));
    Ok(Summed { rows })
}

/// Returns the results of a document that `recipec audit run` wrote; `None` if the file is another.
fn written(file: &Path) -> Result<Option<Vec<Value>>, Diagnostic> {
    // What is a folder is no document.
    let Ok(bytes) = crate::workspace::read(file, LOCK_LIMIT) else { return Ok(None) };
    let Ok(value) = serde_json::from_slice::<Value>(&bytes) else { return Ok(None) };
    let command = value.get("command").and_then(Value::as_str);
    let ours = matches!(command, Some("audit run" | COMMAND));
    Ok(value.get("results").and_then(Value::as_array).filter(|_| ours).cloned())
}

fn all_locks(root: &Root) -> Result<Vec<Lock>, Diagnostic> {
    let paths = root.walk("lockfiles", ".lock.json").map_err(|error| unreadable("lockfiles", &error))?;
    let mut locks = Vec::new();
    for path in paths {
        let bytes = root.bytes(&path, LOCK_LIMIT).map_err(|error| unreadable(&path, &error))?;
        // A lock that was edited proves nothing.
        locks.extend(Lock::read(&path, &String::from_utf8_lossy(&bytes)).ok());
    }
    Ok(locks)
}

impl Summed {
    fn recipes(&self) -> BTreeMap<&str, Vec<&Row>> {
        let mut recipes: BTreeMap<&str, Vec<&Row>> = BTreeMap::new();
        for row in &self.rows {
            recipes.entry(&row.recipe).or_default().push(row);
        }
        recipes
    }
}

fn counted(rows: &[&Row]) -> String {
    let of = |verdict: &str| rows.iter().filter(|row| row.verdict == verdict).count();
    let parts: Vec<String> = VERDICTS
        .into_iter()
        .filter(|verdict| of(verdict) > 0)
        .map(|verdict| format!("{} {verdict}", of(verdict)))
        .collect();
    format!("{}: {}", count(rows.len(), "result"), parts.join(", "))
}

const HEAD: [&str; 7] =
    ["verdict", "point", "tokens/s/GPU", "TTFT ms", "TPOT ms", "score", "what is not as locked"];

impl Row {
    fn cells(&self) -> [String; 7] {
        let points = if self.points.is_empty() { self.plan.clone() } else { self.points.join(", ") };
        let rate = self.figure("tokens_per_second_per_gpu");
        let wrong: Vec<&str> = self.wrong.iter().take(1).map(|(_, what)| what.as_str()).collect();
        let more = if self.wrong.len() > 1 { format!(" (+{})", self.wrong.len() - 1) } else { String::new() };
        [
            self.verdict.clone(),
            points,
            rate,
            self.figure("ttft_ms"),
            self.figure("tpot_ms"),
            self.figure("score"),
            format!("{}{more}", wrong.join("")),
        ]
    }
}

impl Answer for Summed {
    fn human(&self) -> String {
        let mut text = String::new();
        for (recipe, rows) in self.recipes() {
            let _ = writeln!(text, "{}  {}", shown(recipe), counted(&rows));
            let mut table: Vec<[String; 7]> = vec![HEAD.map(str::to_owned)];
            table.extend(rows.iter().map(|row| row.cells().map(|cell| shown(&cell))));
            let width = |column: usize| {
                table
                    .iter()
                    .filter_map(|row| row.get(column))
                    .map(|cell| cell.chars().count())
                    .max()
                    .unwrap_or(0)
            };
            let widths: Vec<usize> = (0..HEAD.len()).map(width).collect();
            for row in &table {
                let cells: Vec<String> =
                    row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
                let _ = writeln!(text, "  {}", cells.join("  ").trim_end());
            }
        }
        text
    }

    fn document(&self) -> Document {
        let recipes: Vec<Value> = self
            .recipes()
            .into_iter()
            .map(|(recipe, rows)| {
                let of = |verdict: &str| rows.iter().filter(|row| row.verdict == verdict).count();
                json!({
                    "recipe": recipe,
                    "reproduced": of("reproduced"),
                    "contradicted": of("contradicted"),
                    "unproven": of("unproven"),
                })
            })
            .collect();
        let results: Vec<Value> = self.rows.iter().map(|row| row.document.clone()).collect();
        Document::Fields(Map::from_iter([
            ("recipes".to_owned(), Value::Array(recipes)),
            ("results".to_owned(), Value::Array(results)),
        ]))
    }

    fn markdown(&self) -> Option<String> {
        let mut text = String::new();
        for (recipe, rows) in self.recipes() {
            let _ = writeln!(text, "### {}\n\n{}\n", cell(recipe), counted(&rows));
            let _ = writeln!(text, "| {} |\n|---|---|--:|--:|--:|--:|---|", HEAD.join(" | "));
            for row in rows {
                let _ = writeln!(text, "| {} |", row.cells().map(|text| cell(&text)).join(" | "));
            }
            text.push('\n');
        }
        Some(text)
    }
}
