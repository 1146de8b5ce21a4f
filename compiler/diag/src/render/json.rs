//! Findings as JSON values. The shape is a contract with outside readers: fields may be added,
//! none may change.

use serde_json::{Value, json};

use crate::{Diagnostic, SourceMap, Span};

/// Returns the findings as a JSON list.
#[must_use]
pub fn json<'a>(findings: impl IntoIterator<Item = &'a Diagnostic>, sources: &SourceMap) -> Value {
    Value::Array(findings.into_iter().map(|finding| json_one(finding, sources)).collect())
}

/// Returns one finding as a JSON object.
#[must_use]
pub fn json_one(finding: &Diagnostic, sources: &SourceMap) -> Value {
    let span = |span| json_span(span, sources);
    let labels: Vec<Value> =
        finding.labels.iter().map(|label| json!({ "span": span(label.span), "text": label.text })).collect();
    let fixes: Vec<Value> =
        finding.fixes.iter().map(|fix| json!({ "span": span(fix.span), "text": fix.text })).collect();
    let mut value = json!({
        "slug": finding.slug.as_str(),
        "severity": finding.severity.word(),
        "message": finding.message,
        "span": finding.span.map_or(Value::Null, span),
        "labels": labels,
        "notes": finding.notes,
        "help": finding.help,
        "fixes": fixes,
    });
    if !finding.label.is_empty()
        && let Some(object) = value.as_object_mut()
    {
        object.insert("label".to_owned(), Value::from(finding.label.as_str()));
    }
    value
}

/// Returns a span as a JSON object: bytes counted from 0, lines and columns from 1 in Unicode
/// scalar values, the end exclusive. Null where the map has no such file.
#[must_use]
pub fn json_span(span: Span, sources: &SourceMap) -> Value {
    let Some(file) = sources.get(span.file) else {
        return Value::Null;
    };
    json!({ "file": &*file.path, "start": file.position(span.start), "end": file.position(span.end) })
}
