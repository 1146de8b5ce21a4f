//! Words of a plan, as JSON for digests and machines and as text for people.

use recipe::plan::{Hole, Piece, Word};
use serde_json::{Value, json};

/// Returns a word as machines read it: a string, or a list of strings and holes.
#[must_use]
pub fn to_json(word: &Word) -> Value {
    if let Some(text) = word.as_text() {
        return Value::String(text.to_owned());
    }
    word.pieces()
        .iter()
        .map(|piece| match piece {
            Piece::Text(text) => Value::String(text.clone()),
            Piece::Hole(hole) => hole_json(hole),
        })
        .collect()
}

fn hole_json(hole: &Hole) -> Value {
    match hole {
        Hole::Runner => json!({ "run": "runner" }),
        Hole::Home => json!({ "run": "home" }),
        Hole::Workspace => json!({ "run": "workspace" }),
        Hole::Orchestrator => json!({ "run": "orchestrator" }),
        Hole::Host { node: (pool, node) } => json!({ "run": "host", "node": [pool, node] }),
        Hole::Address { node: (pool, node) } => json!({ "run": "address", "node": [pool, node] }),
        Hole::Job => json!({ "run": "job" }),
        Hole::JobPort { base, modulus } => json!({ "run": "port", "base": base, "mod": modulus }),
        Hole::LogDir => json!({ "run": "logdir" }),
        Hole::Unique(name) => json!({ "run": "unique", "name": name }),
        Hole::Each { of, shape, separator } => {
            json!({ "run": "each", "of": of, "shape": shape, "separator": separator })
        }
    }
}

/// Returns a word as people read it, holes in angle brackets: `/tmp/run-<job>`.
#[must_use]
pub fn to_text(word: &Word) -> String {
    word.pieces()
        .iter()
        .map(|piece| match piece {
            Piece::Text(text) => text.clone(),
            Piece::Hole(hole) => hole_text(hole),
        })
        .collect()
}

fn hole_text(hole: &Hole) -> String {
    match hole {
        Hole::Runner => "<runner>".to_owned(),
        Hole::Home => "<home>".to_owned(),
        Hole::Workspace => "<workspace>".to_owned(),
        Hole::Orchestrator => "<orchestrator>".to_owned(),
        Hole::Host { node: (pool, node) } => format!("<host {pool}.{node}>"),
        Hole::Address { node: (pool, node) } => format!("<address {pool}.{node}>"),
        Hole::Job => "<job>".to_owned(),
        Hole::JobPort { base, modulus } => format!("<{base} + job % {modulus}>"),
        Hole::LogDir => "<logdir>".to_owned(),
        Hole::Unique(name) => format!("<unique {name}>"),
        Hole::Each { of, shape, separator } => {
            let ranks: Vec<String> = of.iter().map(|(g, r, n)| format!("{g}.{r}.{n}")).collect();
            format!("<{shape} of each of {}>", ranks.join(separator))
        }
    }
}
