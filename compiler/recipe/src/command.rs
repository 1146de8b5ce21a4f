//! From named values to argument lists: how a set of options becomes the words of a process.
//!
//! A flag's order and spelling are not behaviour. Every flag is written once: options sorted by
//! name after the program's own words, `-n` for names of one letter, `--name` for others, the value
//! as a word of its own unless it begins with a dash.

use std::ops::Range;
use std::sync::Arc;

use diag::{Diagnostic, Diagnostics, Span, slugs};

use crate::plan::Word;
use crate::tree::{Field, Node, Tree};
use crate::words::{Special, json_word, special, word};

/// How an option and its value stand together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Spelling {
    /// `--name value`.
    Apart,
    /// `--name=value`, as schedulers and container runtimes document theirs.
    Joined,
}

/// One option of a command with the place where its value was written.
#[derive(Clone, Debug)]
pub struct Given {
    /// Its name without dashes.
    pub name: Arc<str>,
    /// Where the value was written.
    pub at: Option<Span>,
    /// Where the name was written.
    pub name_at: Option<Span>,
    /// Where a value that it took the place of was written.
    pub overrides: Option<Span>,
    /// Where its words are in the argument list, the option itself first.
    pub words: Range<usize>,
    /// The value as written, where it is a set or a list.
    pub inside: Option<Tree>,
}

/// Adds the options that a set gives to an argument list, in the documented order. Where a parser
/// cares about order, a list of sets gives it.
pub(crate) fn options(
    args: &Tree,
    spelling: Spelling,
    argv: &mut Vec<Word>,
    out: &mut Diagnostics,
) -> Vec<Given> {
    if let Node::List(parts) = &args.node {
        return parts.iter().flat_map(|part| options(part, spelling, argv, out)).collect();
    }
    let Node::Set(fields) = &args.node else {
        let mut finding = Diagnostic::error(
            slugs::recipe::WRONG_TYPE,
            format!("`args` is {}, not a set of options or a list of such sets", args.described()),
        );
        finding.span = args.at;
        out.push(finding);
        return Vec::new();
    };
    fields.iter().filter_map(|field| option(field, spelling, argv, out)).collect()
}

fn option(field: &Field, spelling: Spelling, words: &mut Vec<Word>, out: &mut Diagnostics) -> Option<Given> {
    let start = words.len();
    if field.name.is_empty() || field.name.starts_with('-') {
        let mut finding = Diagnostic::error(
            slugs::recipe::DASHED_OPTION,
            format!("the option `{}` is written with its dashes", field.name),
        )
        .why("options are named values; recipec writes the dashes")
        .help(format!("name it `{}`", field.name.trim_start_matches('-')));
        finding.span = field.name_at;
        out.push(finding);
        return None;
    }
    let flag = if field.name.chars().count() == 1 {
        format!("-{}", field.name)
    } else {
        format!("--{}", field.name)
    };
    match &field.value.node {
        Node::Null | Node::Bool(false) => return None,
        Node::Bool(true) => words.push(Word::from(flag)),
        Node::List(items) => {
            words.push(Word::from(flag));
            for item in items {
                words.push(value(item, &field.name, out)?);
            }
        }
        _ => match special(&field.value) {
            Some(Special::Repeat(items)) => {
                for item in items {
                    pair(&flag, value(item, &field.name, out)?, spelling, words);
                }
            }
            _ => pair(&flag, value(&field.value, &field.name, out)?, spelling, words),
        },
    }
    Some(Given {
        name: field.name.clone(),
        at: field.value.at,
        name_at: field.name_at,
        overrides: field.overrides,
        words: start..words.len(),
        inside: matches!(field.value.node, Node::Set(_) | Node::List(_)).then(|| field.value.clone()),
    })
}

/// Reads one value of an option: a word, or a set as JSON.
fn value(tree: &Tree, name: &str, out: &mut Diagnostics) -> Option<Word> {
    match (&tree.node, special(tree)) {
        (Node::Set(_), Some(Special::Json(inner))) => json_word(inner, out),
        (Node::Set(_), None) => json_word(tree, out),
        _ => word(tree, name, out),
    }
}

fn pair(flag: &str, value: Word, spelling: Spelling, words: &mut Vec<Word>) {
    // A parser would take a value that begins with a dash for an option.
    let dashed =
        matches!(value.pieces().first(), Some(crate::plan::Piece::Text(text)) if text.starts_with('-'));
    let short = !flag.starts_with("--");
    if (spelling == Spelling::Joined || dashed) && !short {
        let mut joined = Word::from(format!("{flag}="));
        joined.push_word(&value);
        words.push(joined);
    } else {
        words.push(Word::from(flag));
        words.push(value);
    }
}
