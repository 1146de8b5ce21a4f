//! Shell quoting: any text arrives in a process's argv unchanged, in any locale.

use recipe::plan::{Piece, Word};

use crate::holes::Holes;

/// Returns `text` as one bash word of printable ASCII.
///
/// Three forms: bare where nothing is special, `'…'` for printable text, and `$'…'` for everything
/// else: quotes, backslashes, dollars and backticks (a reader or a linter may take those in `'…'` for
/// an expansion), control characters, and all beyond ASCII, byte by byte, so that no locale of the
/// machine that runs the script matters. NUL cannot be in an argv; callers refuse it before.
#[must_use]
pub fn quote(text: &str) -> String {
    if !text.is_empty() && text.bytes().all(is_bare) {
        return text.to_owned();
    }
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~') && !matches!(byte, b'\'' | b'\\' | b'$' | b'`')) {
        return format!("'{text}'");
    }
    let mut quoted = String::with_capacity(text.len() + 3);
    quoted.push_str("$'");
    for byte in text.bytes() {
        match byte {
            b'\'' => quoted.push_str("\\'"),
            b'\\' => quoted.push_str("\\\\"),
            b'\n' => quoted.push_str("\\n"),
            b'\t' => quoted.push_str("\\t"),
            b' '..=b'~' => quoted.push(char::from(byte)),
            // Always two digits, so that a digit that follows is not taken for a third.
            _ => quoted.push_str(&format!("\\x{byte:02x}")),
        }
    }
    quoted.push('\'');
    quoted
}

/// Returns a word of a plan as one bash word: texts quoted, holes as quoted variables.
pub(crate) fn word(word: &Word, holes: &Holes) -> String {
    let pieces = word.pieces();
    if pieces.is_empty() {
        return "''".to_owned();
    }
    pieces
        .iter()
        .map(|piece| match piece {
            Piece::Text(text) => quote(text),
            Piece::Hole(hole) => format!("\"${{{}}}\"", holes.variable(hole)),
        })
        .collect()
}

/// Returns `NAME=value` as one bash word.
pub(crate) fn pair(name: &str, value: &Word, holes: &Holes) -> String {
    let mut pair = Word::from(format!("{name}="));
    pair.push_word(value);
    word(&pair, holes)
}

/// Letters, digits and the marks that bash and shellcheck read as nothing else anywhere in a word.
/// `=` and `,` are left out: in an array literal they look like an index or a separator.
fn is_bare(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'/' | b':' | b'@' | b'+')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_text_takes_the_plainest_form_that_is_safe() {
        for (text, quoted) in [
            ("--port", "--port"),
            ("", "''"),
            ("--model-path=a b", "'--model-path=a b'"),
            ("{\"method\": \"mtp\"}", "'{\"method\": \"mtp\"}'"),
            ("it's", "$'it\\'s'"),
            ("$HOME `id` \\", "$'$HOME `id` \\\\'"),
            ("a\nb\r", "$'a\\nb\\x0d'"),
            ("ü7", "$'\\xc3\\xbc7'"),
            ("~", "'~'"),
        ] {
            assert_eq!(quote(text), quoted);
        }
    }
}
