//! Workflow commands that GitHub shows as annotations of a pull request.

use std::fmt::Write as _;

use crate::{Diagnostic, Severity, SourceMap};

/// Returns one workflow command a finding. Notes and helps follow the message in its text.
///
/// Columns are given only where the finding stays on one line; GitHub ignores them elsewhere.
#[must_use]
pub fn github<'a>(findings: impl IntoIterator<Item = &'a Diagnostic>, sources: &SourceMap) -> String {
    let mut out = String::new();
    for finding in findings {
        let command = match finding.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "notice",
        };
        let _ = write!(out, "::{command} ");
        if let Some((file, span)) = finding.span.and_then(|span| Some((sources.get(span.file)?, span))) {
            let (start, end) = (file.position(span.start), file.position(span.end));
            let _ = write!(out, "file={},line={},endLine={}", property(&file.path), start.line, end.line);
            if start.line == end.line {
                let _ = write!(out, ",col={},endColumn={}", start.column, end.column);
            }
            out.push(',');
        }
        let mut text = finding.message.clone();
        for (word, lines) in [("note", &finding.notes), ("help", &finding.help)] {
            for line in lines {
                let _ = write!(text, "\n{word}: {line}");
            }
        }
        let _ = writeln!(out, "title={}::{}", property(finding.slug.as_str()), data(&text));
    }
    out
}

/// Escapes the text of a command: a line feed would end it.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// Escapes the value of a property: a comma or a colon would end it.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
