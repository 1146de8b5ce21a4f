//! The layout of RFC 166, as the official `nixfmt` has it.
//!
//! The text becomes tokens with their comments ([`cst`]), those a document of texts, spaces and groups
//! ([`print`]), and that lines ([`layout`]). What the text means is never changed: the result is read
//! again and compared.

mod cst;
mod doc;
mod layout;
mod print;
mod strings;
mod trivia;

use diag::{Diagnostics, FileId};

use crate::{Interner, compare};

/// Lays out a text.
///
/// # Errors
/// Returns the findings of a text that does not parse; their file is `FileId(0)`.
pub fn format(text: &str) -> Result<String, Diagnostics> {
    let mut names = Interner::new();
    let before = crate::parse(FileId(0), text, &mut names);
    if before.diagnostics.has_errors() {
        return Err(before.diagnostics);
    }
    let formatted = format_unchecked(text);
    let after = crate::parse(FileId(0), &formatted, &mut names);
    if compare::same(&before, &after) {
        return Ok(formatted);
    }
    // A rule of the layout met a text that it was not made for. An unformatted manifest is no harm, a
    // changed one would be.
    Ok(text.to_owned())
}

/// Lays out a text that parses, without asking whether it still means the same.
#[doc(hidden)]
#[must_use]
pub fn format_unchecked(text: &str) -> String {
    let cst = cst::read(text);
    let document = doc::plain(print::document(text, cst));
    let formatted = layout::print(&document);
    let mut formatted = formatted.trim().to_owned();
    formatted.push('\n');
    formatted
}

/// Returns the document of a text that parses, in the form of `nixfmt --ir`, for judging it.
#[doc(hidden)]
#[must_use]
pub fn format_ir(text: &str) -> String {
    let document = doc::plain(print::document(text, cst::read(text)));
    let mut out = String::new();
    doc::dump(&document, 0, &mut out);
    out
}

#[cfg(test)]
mod tests;
