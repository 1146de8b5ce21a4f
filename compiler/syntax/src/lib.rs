//! Text to tree and back: the pure expression language of manifests, agreed with Nix.
//!
//! This crate owns the lossless tokens, the grammar with its recovery, the tree and the formatter.
//! It knows nothing of values, files or recipes. Parsing is total: every text gives a tree, and
//! what is wrong with the text stands in the diagnostics.

mod builder;
pub mod compare;
mod cook;
mod format;
#[doc(hidden)]
pub mod generate;
mod grammar;
mod interner;
pub mod kind;
pub mod lex;
mod merge;
mod report;
mod tokens;
pub mod tree;

pub use builder::{MAX_DEPTH, MAX_FINDINGS};
pub use format::{format, format_ir, format_unchecked};
pub use interner::{Interner, Symbol};
pub use lex::lex;
pub use tree::{ExprId, Tree};

use diag::{Diagnostics, FileId};

/// What came of reading a text.
#[derive(Clone, Debug)]
pub struct Parse {
    /// The tree, with [`tree::Expr::Error`] where nothing could be read.
    pub tree: Tree,
    /// The whole text's expression.
    pub root: ExprId,
    /// What is wrong, in the order of the text. Where any of it is an error, the tree is only good
    /// for looking at.
    pub diagnostics: Diagnostics,
}

/// Reads a text. Total: every text gives a tree, and no text makes it panic.
///
/// What is wrong is reported as far as [`MAX_FINDINGS`]; nesting beyond [`MAX_DEPTH`] ends the
/// reading with a finding. Whether variables are defined is not asked here.
#[must_use]
pub fn parse(file: FileId, text: &str, names: &mut Interner) -> Parse {
    let lexed = lex::lex(text);
    let mut builder = builder::Builder::new(file, text, &lexed.tokens, names);
    if u32::try_from(text.len()).is_err() {
        let finding = report::too_long(&builder);
        builder.report(finding);
    }
    for &fault in &lexed.faults {
        let finding = report::lexical(&builder, fault);
        builder.report(finding);
    }
    builder.stopped = false;
    let root = grammar::file(&mut builder, tokens::Tokens::new(&lexed.tokens));
    let mut diagnostics = builder.diagnostics;
    diagnostics.sort();
    Parse { tree: builder.tree, root, diagnostics }
}

#[cfg(test)]
mod tests;
