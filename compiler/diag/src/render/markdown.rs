//! A list for a comment or a job summary.

use std::fmt::Write as _;

use super::harmless;
use crate::{Diagnostic, SourceMap};

/// Returns a Markdown list, one item a finding, with notes and helps as sub-items.
#[must_use]
pub fn markdown<'a>(findings: impl IntoIterator<Item = &'a Diagnostic>, sources: &SourceMap) -> String {
    let mut out = String::new();
    for finding in findings {
        let _ =
            write!(out, "- **{}** `{}`: {}", finding.severity.word(), finding.slug, inline(&finding.message));
        if let Some((file, span)) = finding.span.and_then(|span| Some((sources.get(span.file)?, span))) {
            let start = file.position(span.start);
            let _ = write!(out, " (`{}:{}:{}`)", harmless(&file.path), start.line, start.column);
        }
        out.push('\n');
        for (word, lines) in [("note", &finding.notes), ("help", &finding.help)] {
            for line in lines {
                let _ = writeln!(out, "  - {word}: {}", inline(line));
            }
        }
    }
    out
}

/// Keeps a text on one line, and what stands outside backticks from becoming markup.
fn inline(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut code = false;
    for c in harmless(text).chars() {
        match c {
            '`' => code = !code,
            '\n' => {
                out.push(' ');
                continue;
            }
            '<' | '>' | '*' | '_' | '[' | ']' | '|' | '\\' | '@' | '#' if !code => out.push('\\'),
            _ => {}
        }
        out.push(c);
    }
    out
}
