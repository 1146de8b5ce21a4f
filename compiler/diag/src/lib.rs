//! Spans, diagnostics, slugs and their explain pages, and the renderers for people and machines.
//!
//! This crate knows nothing of manifests, recipes or engines: it is where every other crate says
//! what is wrong, in one shape, so that a terminal, a code-scanning service and a pull request see
//! the same findings.

mod diagnostic;
mod page;
pub mod render;
mod slug;
pub mod slugs;
mod source;
mod suggest;

pub use diagnostic::{Diagnostic, Diagnostics, Fix, Label, Severity};
pub use page::{Example, ExampleKind, Explanation, PageError};
pub use slug::{Page, Slug, page, pages};
pub use source::{FileId, Position, SourceFile, SourceMap, Span};
pub use suggest::{nearest, nearest_all};
