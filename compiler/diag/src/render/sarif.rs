//! SARIF 2.1.0, which code-scanning services read.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::{Diagnostic, Explanation, Severity, Slug, SourceMap, Span};

/// What produced the findings.
#[derive(Clone, Copy, Debug)]
pub struct Tool<'a> {
    /// Name, such as `recipec`.
    pub name: &'a str,
    /// Version, such as `0.1.0`.
    pub version: &'a str,
    /// Where to read more.
    pub home: &'a str,
}

/// Returns a SARIF log of one run. Rules are the slugs that were reported, with their pages.
#[must_use]
pub fn sarif<'a>(
    findings: impl IntoIterator<Item = &'a Diagnostic>,
    sources: &SourceMap,
    tool: Tool<'_>,
) -> Value {
    let findings: Vec<&Diagnostic> = findings.into_iter().collect();
    let mut index: BTreeMap<Slug, usize> = findings.iter().map(|finding| (finding.slug, 0)).collect();
    for (place, (_, value)) in index.iter_mut().enumerate() {
        *value = place;
    }
    let rules: Vec<Value> = index.keys().map(|slug| rule(*slug)).collect();
    let results: Vec<Value> = findings
        .iter()
        .map(|finding| result(finding, index.get(&finding.slug).copied().unwrap_or(0), sources))
        .collect();
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": tool.name,
                "version": tool.version,
                "semanticVersion": tool.version,
                "informationUri": tool.home,
                "rules": rules,
            }},
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    })
}

fn rule(slug: Slug) -> Value {
    let mut rule = json!({ "id": slug.as_str() });
    if let (Some(explanation), Some(object)) = (Explanation::of(slug), rule.as_object_mut()) {
        object.insert("shortDescription".to_owned(), json!({ "text": explanation.title }));
        object.insert("help".to_owned(), json!({ "text": explanation.why, "markdown": explanation.body }));
        object.insert(
            "defaultConfiguration".to_owned(),
            json!({ "level": explanation.severity.unwrap_or(Severity::Error).word() }),
        );
    }
    rule
}

fn result(finding: &Diagnostic, rule: usize, sources: &SourceMap) -> Value {
    let mut text = finding.message.clone();
    for line in finding.notes.iter().chain(&finding.help) {
        text.push('\n');
        text.push_str(line);
    }
    let locations: Vec<Value> =
        finding.span.and_then(|span| location(span, None, sources)).into_iter().collect();
    let related: Vec<Value> = finding
        .labels
        .iter()
        .filter_map(|label| location(label.span, Some(&label.text), sources))
        .enumerate()
        .map(|(id, mut value)| {
            if let Some(object) = value.as_object_mut() {
                object.insert("id".to_owned(), Value::from(id));
            }
            value
        })
        .collect();
    let mut value = json!({
        "ruleId": finding.slug.as_str(),
        "ruleIndex": rule,
        "level": finding.severity.word(),
        "message": { "text": text },
        "locations": locations,
    });
    if let Some(object) = value.as_object_mut() {
        if !related.is_empty() {
            object.insert("relatedLocations".to_owned(), Value::Array(related));
        }
        let fixes = fixes(finding, sources);
        if !fixes.is_empty() {
            object.insert("fixes".to_owned(), Value::Array(fixes));
        }
    }
    value
}

fn location(span: Span, text: Option<&str>, sources: &SourceMap) -> Option<Value> {
    let file = sources.get(span.file)?;
    let mut value = json!({ "physicalLocation": {
        "artifactLocation": { "uri": uri(&file.path) },
        "region": region(span, sources)?,
    }});
    if let (Some(text), Some(object)) = (text, value.as_object_mut()) {
        object.insert("message".to_owned(), json!({ "text": text }));
    }
    Some(value)
}

fn region(span: Span, sources: &SourceMap) -> Option<Value> {
    let file = sources.get(span.file)?;
    let (start, end) = (file.position(span.start), file.position(span.end));
    Some(json!({
        "startLine": start.line,
        "startColumn": start.column,
        "endLine": end.line,
        "endColumn": end.column,
        "byteOffset": start.byte,
        "byteLength": end.byte.saturating_sub(start.byte),
    }))
}

/// Each fix of ours is an alternative, and so is each of SARIF's.
fn fixes(finding: &Diagnostic, sources: &SourceMap) -> Vec<Value> {
    let change = |fix: &crate::Fix| {
        let file = sources.get(fix.span.file)?;
        Some(json!({
            "description": { "text": finding.help.get(fix.help).map_or("", String::as_str) },
            "artifactChanges": [{
                "artifactLocation": { "uri": uri(&file.path) },
                "replacements": [{
                    "deletedRegion": region(fix.span, sources)?,
                    "insertedContent": { "text": fix.text },
                }],
            }],
        }))
    };
    finding.fixes.iter().filter_map(change).collect()
}

/// Writes a path as a relative URI reference.
fn uri(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z'
            | b'A'..=b'Z'
            | b'0'..=b'9'
            | b'-'
            | b'.'
            | b'_'
            | b'~'
            | b'/'
            | b'+'
            | b'@'
            | b'=' => {
                out.push(char::from(byte));
            }
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}
