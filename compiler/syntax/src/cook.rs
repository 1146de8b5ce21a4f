//! Raw characters of strings to what they mean.

use crate::builder::Builder;
use crate::tree::{ExprId, Part, Slice, Text};

/// Appends the meaning of the characters between `"` and `"`: escapes, and line ends as line feeds.
pub(crate) fn quoted(texts: &mut String, raw: &str) -> Text {
    let start = texts.len();
    let mut rest = raw;
    while let Some(at) = rest.bytes().position(|byte| byte == b'\\' || byte == b'\r') {
        let (plain, special) = rest.split_at(at);
        texts.push_str(plain);
        let mut chars = special.chars();
        if chars.next() == Some('\r') {
            texts.push('\n');
            rest = chars.as_str();
            rest = rest.strip_prefix('\n').unwrap_or(rest);
        } else {
            texts.extend(chars.next().map(unescape));
            rest = chars.as_str();
        }
    }
    texts.push_str(rest);
    Slice::new(start, texts.len())
}

fn unescape(escaped: char) -> char {
    match escaped {
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        other => other,
    }
}

/// A piece of an indented string, cut as Nix's lexer cuts it: stripping looks at the pieces.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Piece<'a> {
    /// Characters as they are, whose lines have indentation.
    Plain(&'a str),
    /// The two characters of `'''`, the one of `''$` or `''\x`, or a lone `$` or `'`: they are no
    /// indentation even where they are spaces.
    Escaped(&'a str),
    /// `${…}`
    Expr(ExprId),
}

/// Cuts the characters between `''` and `''` (or `${`) into pieces.
pub(crate) fn pieces<'a>(pieces: &mut Vec<Piece<'a>>, raw: &'a str) {
    let bytes = raw.as_bytes();
    let byte = |at: usize| bytes.get(at).copied().unwrap_or(0);
    let mut plain = 0;
    let mut at = 0;
    while at < bytes.len() {
        // The length of what is no plain text, and what it means.
        let (length, meaning) = match (byte(at), byte(at + 1), byte(at + 2)) {
            (b'\'', b'\'', b'$') => (3, "$"),
            (b'\'', b'\'', b'\'') => (3, "''"),
            (b'\'', b'\'', b'\\') => {
                let escaped = raw.get(at + 3..).and_then(|rest| rest.chars().next());
                let length = escaped.map_or(0, char::len_utf8);
                let meaning = match escaped {
                    Some('n') => "\n",
                    Some('r') => "\r",
                    Some('t') => "\t",
                    _ => raw.get(at + 3..at + 3 + length).unwrap_or(""),
                };
                (3 + length, meaning)
            }
            (b'$', b'\'', _) => (1, "$"),
            (b'$', _, _) if at + 1 == bytes.len() => (1, "$"),
            (b'\'', b'$', _) => (1, "'"),
            (b'\'', _, _) if at + 1 == bytes.len() => (1, "'"),
            // Pairs: `$$` begins no interpolation, and what is behind a quote is plain.
            (b'$' | b'\'', _, _) => {
                at += 2;
                continue;
            }
            _ => {
                at += 1;
                continue;
            }
        };
        push_plain(pieces, raw, plain, at);
        pieces.push(Piece::Escaped(meaning));
        at += length;
        plain = at;
    }
    push_plain(pieces, raw, plain, bytes.len());
}

fn push_plain<'a>(pieces: &mut Vec<Piece<'a>>, raw: &'a str, start: usize, end: usize) {
    match raw.get(start..end) {
        None | Some("") => {}
        Some(text) => pieces.push(Piece::Plain(text)),
    }
}

/// Takes the common indentation off and puts what is left on the builder's stack of parts. Returns
/// how many of the pieces left anything.
pub(crate) fn strip(builder: &mut Builder<'_>, from: usize, pieces: &[Piece<'_>]) -> usize {
    let mut left = 0;
    let indentation = indentation(pieces);
    let mut at_start = true;
    let mut dropped = 0;
    for (index, piece) in pieces.iter().enumerate() {
        let text = match piece {
            Piece::Expr(id) => {
                at_start = false;
                dropped = 0;
                builder.parts.push(Part::Expr(*id));
                left += 1;
                continue;
            }
            Piece::Plain(text) | Piece::Escaped(text) => text,
        };
        let texts = &mut builder.tree.texts;
        let start = texts.len();
        for line in text.split_inclusive('\n') {
            let mut rest = line;
            if at_start {
                let spaces = line.bytes().take_while(|&byte| byte == b' ').count();
                let drop = spaces.min(indentation.saturating_sub(dropped));
                dropped += spaces;
                rest = line.get(drop..).unwrap_or("");
                if spaces < line.len() {
                    // A character that is no space, or the end of the line.
                    at_start = false;
                    dropped = 0;
                }
            }
            texts.push_str(rest);
            if line.ends_with('\n') {
                at_start = true;
                dropped = 0;
            }
        }
        if index + 1 == pieces.len() {
            // A last line of spaces alone is the indentation of the closing quotes.
            let written = texts.get(start..).unwrap_or("");
            if let Some(last) = written.rfind('\n')
                && written.bytes().skip(last + 1).all(|byte| byte == b' ')
            {
                texts.truncate(start + last + 1);
            }
        }
        let text = Slice::new(start, texts.len());
        left += usize::from(!text.is_empty());
        builder.push_text(from, text);
    }
    left
}

/// Returns the smallest number of spaces in front of a line that is not blank.
fn indentation(pieces: &[Piece<'_>]) -> usize {
    let mut at_start = true;
    let mut smallest = usize::MAX;
    let mut current = 0;
    for piece in pieces {
        let Piece::Plain(text) = piece else {
            if at_start {
                at_start = false;
                smallest = smallest.min(current);
            }
            continue;
        };
        for line in text.split_inclusive('\n') {
            if at_start {
                let spaces = line.bytes().take_while(|&byte| byte == b' ').count();
                current += spaces;
                if spaces < line.len() && line.as_bytes().get(spaces) != Some(&b'\n') {
                    at_start = false;
                    smallest = smallest.min(current);
                }
            }
            if line.ends_with('\n') {
                at_start = true;
                current = 0;
            }
        }
    }
    smallest
}
