//! One line a finding, as compilers and `grep` write places.

use std::fmt::Write as _;

use super::harmless;
use crate::{Diagnostic, SourceMap};

/// Returns `file:line:column: severity[slug] message`, one line a finding.
#[must_use]
pub fn brief<'a>(findings: impl IntoIterator<Item = &'a Diagnostic>, sources: &SourceMap) -> String {
    let mut out = String::new();
    for finding in findings {
        if let Some((file, span)) = finding.span.and_then(|span| Some((sources.get(span.file)?, span))) {
            let start = file.position(span.start);
            let _ = write!(out, "{}:{}:{}: ", harmless(&file.path), start.line, start.column);
        }
        let message = harmless(&finding.message).replace('\n', " ");
        let _ = writeln!(out, "{}[{}] {message}", finding.severity.word(), finding.slug);
    }
    out
}
