//! A small, deterministic YAML writer for engines' configuration files.
//!
//! Block style, names sorted, strings quoted unless they are plainly strings: what it writes, every
//! YAML 1.1 and 1.2 reader reads as the same value.

use diag::{Diagnostic, Diagnostics, slugs};

use crate::plan::{Piece, Word};
use crate::tree::{Node, Tree, float_text};
use crate::words::{Special, special, word};

/// Writes a value as a YAML document.
pub(crate) fn document(tree: &Tree, out: &mut Diagnostics) -> Option<Word> {
    let mut text = Word::new();
    block(tree, 0, &mut text, out).then_some(text)
}

/// Writes a value whose text begins on a line of its own, at `indent` spaces.
fn block(tree: &Tree, indent: usize, to: &mut Word, out: &mut Diagnostics) -> bool {
    match &tree.node {
        Node::Set(fields) if !fields.is_empty() && special(tree).is_none() => {
            for field in fields {
                to.push_text(&" ".repeat(indent));
                to.push_text(&scalar_text(&field.name));
                to.push_text(":");
                if !entry(&field.value, indent, to, out) {
                    return false;
                }
            }
            true
        }
        Node::List(items) if !items.is_empty() => {
            for item in items {
                to.push_text(&" ".repeat(indent));
                to.push_text("-");
                if !entry(item, indent, to, out) {
                    return false;
                }
            }
            true
        }
        _ => {
            to.push_text(&" ".repeat(indent));
            let written = scalar(tree, to, out);
            to.push_text("\n");
            written
        }
    }
}

/// Writes what follows `name:` or `-`.
fn entry(tree: &Tree, indent: usize, to: &mut Word, out: &mut Diagnostics) -> bool {
    let nested = match &tree.node {
        Node::Set(fields) => !fields.is_empty() && special(tree).is_none(),
        Node::List(items) => !items.is_empty(),
        _ => false,
    };
    if nested {
        to.push_text("\n");
        return block(tree, indent + 2, to, out);
    }
    to.push_text(" ");
    let written = scalar(tree, to, out);
    to.push_text("\n");
    written
}

fn scalar(tree: &Tree, to: &mut Word, out: &mut Diagnostics) -> bool {
    match &tree.node {
        Node::Null => to.push_text("null"),
        Node::Bool(value) => to.push_text(if *value { "true" } else { "false" }),
        Node::Int(number) => to.push_text(&number.to_string()),
        Node::Float(number) => to.push_text(&float_text(*number)),
        Node::Text(text) => to.push_text(&scalar_text(text)),
        Node::List(_) => to.push_text("[]"),
        Node::Set(_) if let Some(Special::Size(size)) = special(tree) => return scalar(size.amount, to, out),
        Node::Set(_) if special(tree).is_none() => to.push_text("{}"),
        Node::Set(_) => {
            let Some(inner) = word(tree, "a value in a file", out) else { return false };
            to.push_text("\"");
            for piece in inner.pieces() {
                match piece {
                    Piece::Text(text) => {
                        let quoted = quoted(text);
                        to.push_text(quoted.get(1..quoted.len() - 1).unwrap_or(""));
                    }
                    Piece::Hole(hole) => to.push_hole(hole.clone()),
                }
            }
            to.push_text("\"");
        }
        Node::Function(_) => {
            let mut finding =
                Diagnostic::error(slugs::recipe::WRONG_TYPE, "a function cannot stand in a file");
            finding.span = tree.at;
            out.push(finding);
            return false;
        }
    }
    true
}

/// Writes a string bare where no reader could take it for anything else.
pub(crate) fn scalar_text(text: &str) -> String {
    let first = text.bytes().next();
    let plain = first.is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_')
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'/'));
    // YAML 1.1 reads these as Booleans or null, YAML 1.2 some of them.
    let lower = text.to_ascii_lowercase();
    let reserved = matches!(
        lower.as_str(),
        "y" | "n" | "yes" | "no" | "on" | "off" | "true" | "false" | "null" | "nan" | "inf"
    );
    if plain && !reserved { text.to_owned() } else { quoted(text) }
}

/// Writes a double-quoted scalar; JSON's escapes are YAML's.
fn quoted(text: &str) -> String {
    serde_json::Value::String(text.to_owned()).to_string()
}
