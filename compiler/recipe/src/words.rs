//! From trees to words: `word [ … ]`, holes, scalars, and JSON with holes in its strings.

use diag::{Diagnostic, Diagnostics, slugs};

use engine::sizes::{Of, Unit};

use crate::plan::{Hole, Piece, Word};
use crate::schema;
use crate::tree::{Node, Tree, float_text};

/// The holes that manifests can name, as they name them.
pub(crate) const HOLES: &[(&str, Hole)] = &[
    ("runner", Hole::Runner),
    ("home", Hole::Home),
    ("workspace", Hole::Workspace),
    ("job", Hole::Job),
    ("logs", Hole::LogDir),
];

/// Reads a scalar, a hole or a joined word. `None`, with a finding, for anything else.
pub(crate) fn word(tree: &Tree, what: &str, out: &mut Diagnostics) -> Option<Word> {
    match &tree.node {
        Node::Text(text) => Some(Word::from(&**text)),
        Node::Int(number) => Some(Word::from(number.to_string())),
        Node::Float(number) => Some(Word::from(float_text(*number))),
        Node::Set(_) => match special(tree) {
            Some(Special::Word(pieces)) => {
                let mut all = Word::new();
                for piece in pieces {
                    all.push_word(&word(piece, "part of a word", out)?);
                }
                Some(all)
            }
            Some(Special::Run(name)) => match hole(name, tree) {
                Some(hole) => Some(Word::hole(hole)),
                None => wrong(tree, what, out),
            },
            Some(Special::Size(size)) => word(size.amount, what, out),
            _ => wrong(tree, what, out),
        },
        _ => wrong(tree, what, out),
    }
}

fn wrong(tree: &Tree, what: &str, out: &mut Diagnostics) -> Option<Word> {
    let mut finding = Diagnostic::error(
        slugs::recipe::NOT_A_WORD,
        format!("{} is {}, not a word", schema::called(what), tree.described()),
    )
    .why("a word is a string, a number, a hole such as `run.runner`, or `word [ … ]`");
    if matches!(tree.node, Node::Bool(_)) {
        finding = finding.help("write the text that the program reads: `\"true\"`, or 1");
    }
    finding.span = tree.at;
    out.push(finding);
    None
}

/// Returns the hole that manifests call `name`.
fn hole(name: &str, tree: &Tree) -> Option<Hole> {
    if name == "port" {
        let number = |field: &str| match tree.get(field)?.value.node {
            Node::Int(number) => u16::try_from(number).ok().filter(|&number| number > 0),
            _ => None,
        };
        return Some(Hole::JobPort { base: number("base")?, modulus: number("modulus")? });
    }
    HOLES.iter().find(|(known, _)| *known == name).map(|(_, hole)| hole.clone())
}

/// A set that stands for more than plain data.
pub(crate) enum Special<'a> {
    Word(&'a [Tree]),
    Repeat(&'a [Tree]),
    Json(&'a Tree),
    Run(&'a str),
    Size(Size<'a>),
}

/// A size of memory that says its unit and whose it is.
#[derive(Clone, Copy)]
pub(crate) struct Size<'a> {
    pub(crate) amount: &'a Tree,
    pub(crate) unit: Unit,
    pub(crate) of: Of,
}

/// Reads what stands behind `_size`. `None` if it is no size.
fn size(tree: &Tree) -> Option<Size<'_>> {
    let text = |name: &str| tree.get(name)?.value.as_text();
    let amount = &tree.get("amount")?.value;
    matches!(amount.node, Node::Int(_) | Node::Float(_)).then_some(())?;
    Some(Size { amount, unit: Unit::parse(text("unit")?)?, of: Of::parse(text("of")?)? })
}

/// Returns what a set with a reserved name stands for.
pub(crate) fn special(tree: &Tree) -> Option<Special<'_>> {
    let Node::Set(fields) = &tree.node else { return None };
    if let Some(name) = tree.get("_run").and_then(|field| field.value.as_text()) {
        return Some(Special::Run(name));
    }
    let [field] = fields.as_slice() else { return None };
    match (&*field.name, &field.value.node) {
        ("_word", Node::List(items)) => Some(Special::Word(items)),
        ("_repeat", Node::List(items)) => Some(Special::Repeat(items)),
        ("_json", _) => Some(Special::Json(&field.value)),
        ("_size", _) => size(&field.value).map(Special::Size),
        _ => None,
    }
}

/// Writes a value as compact JSON, names sorted, holes left in strings.
pub(crate) fn json_word(tree: &Tree, out: &mut Diagnostics) -> Option<Word> {
    let mut word = Word::new();
    write_json(tree, &mut word, out).then_some(word)
}

fn write_json(tree: &Tree, to: &mut Word, out: &mut Diagnostics) -> bool {
    match &tree.node {
        Node::Null => to.push_text("null"),
        Node::Bool(value) => to.push_text(if *value { "true" } else { "false" }),
        Node::Int(number) => to.push_text(&number.to_string()),
        Node::Float(number) => to.push_text(&float_text(*number)),
        Node::Text(text) => to.push_text(&json_text(text)),
        Node::List(items) => {
            to.push_text("[");
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    to.push_text(",");
                }
                if !write_json(item, to, out) {
                    return false;
                }
            }
            to.push_text("]");
        }
        Node::Set(_) if let Some(Special::Size(size)) = special(tree) => {
            return write_json(size.amount, to, out);
        }
        Node::Set(_) if special(tree).is_some() => {
            let Some(inner) = word(tree, "a value in JSON", out) else { return false };
            to.push_text("\"");
            for piece in inner.pieces() {
                match piece {
                    Piece::Text(text) => {
                        let quoted = json_text(text);
                        to.push_text(quoted.get(1..quoted.len() - 1).unwrap_or(""));
                    }
                    Piece::Hole(hole) => to.push_hole(hole.clone()),
                }
            }
            to.push_text("\"");
        }
        Node::Set(fields) => {
            to.push_text("{");
            for (index, field) in fields.iter().enumerate() {
                if index > 0 {
                    to.push_text(",");
                }
                to.push_text(&json_text(&field.name));
                to.push_text(":");
                if !write_json(&field.value, to, out) {
                    return false;
                }
            }
            to.push_text("}");
        }
        Node::Function(_) => {
            wrong(tree, "a value in JSON", out);
            return false;
        }
    }
    true
}

fn json_text(text: &str) -> String {
    serde_json::Value::String(text.to_owned()).to_string()
}
