//! For people: source lines with underlines, as rustc and cargo show them.

use std::ops::Range;

use annotate_snippets::{AnnotationKind, Element, Group, Level, Origin, Patch, Renderer, Snippet};

use super::harmless;
use crate::{Diagnostic, FileId, Fix, Severity, SourceFile, SourceMap, Span};

/// Lines between two labels up to which they share one snippet.
const NEAR: u32 = 40;
/// Bytes of source that one snippet may show; more is pointed at without being shown.
const SHOWN: usize = 32 * 1024;
/// Lines that one underline may cover; a longer one is shown by its first line.
const TALL: u32 = 200;

/// How findings look on a terminal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Look {
    /// Whether to colour.
    pub color: bool,
    /// Columns of the terminal.
    pub width: usize,
}

impl Default for Look {
    fn default() -> Self {
        Self { color: false, width: 140 }
    }
}

/// Returns the findings as text for people, with an empty line between two.
#[must_use]
pub fn human<'a>(
    findings: impl IntoIterator<Item = &'a Diagnostic>,
    sources: &SourceMap,
    look: Look,
) -> String {
    let renderer = if look.color { Renderer::styled() } else { Renderer::plain() }.term_width(look.width);
    let mut out = String::new();
    for finding in findings {
        if !out.is_empty() {
            out.push('\n');
        }
        out.push_str(&renderer.render(&report(finding, sources)));
        out.push('\n');
    }
    out
}

fn report<'a>(finding: &'a Diagnostic, sources: &'a SourceMap) -> Vec<Group<'a>> {
    let level = match finding.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Note => Level::NOTE,
    };
    let title = level.primary_title(harmless(&finding.message)).id(finding.slug.as_str());
    let mut first = Group::with_title(title).elements(places(finding, sources));
    for note in &finding.notes {
        first = first.element(Level::NOTE.message(harmless(note)));
    }
    // A help whose repair can be shown is a group of its own; the others stay with the finding.
    let mut groups = Vec::new();
    for (index, help) in finding.help.iter().enumerate() {
        let patches: Vec<Element<'_>> = finding
            .fixes
            .iter()
            .filter(|fix| fix.help == index)
            .filter_map(|fix| patch(fix, sources).map(Element::from))
            .collect();
        if patches.is_empty() {
            first = first.element(Level::HELP.message(harmless(help)));
        } else {
            groups.push(Group::with_title(Level::HELP.secondary_title(harmless(help))).elements(patches));
        }
    }
    groups.insert(0, first);
    groups
}

/// One underline, in lines and bytes of its file.
#[derive(Clone)]
struct Mark<'a> {
    lines: Range<u32>,
    bytes: Range<usize>,
    text: &'a str,
    primary: bool,
}

impl<'a> Mark<'a> {
    fn new(file: &SourceFile, span: Span, text: &'a str, primary: bool) -> Self {
        let (start, mut end) = (file.position(span.start), file.position(span.end));
        if end.line - start.line > TALL {
            let stop = file.line_end(start.line);
            end = file.position(u32::try_from(stop).unwrap_or(u32::MAX));
        }
        Self { lines: start.line..end.line, bytes: start.byte as usize..end.byte as usize, text, primary }
    }
}

/// Returns a snippet for each group of near labels, that of the primary span first.
fn places<'a>(finding: &'a Diagnostic, sources: &'a SourceMap) -> Vec<Element<'a>> {
    let mut files: Vec<(FileId, Vec<Mark<'a>>)> = Vec::new();
    let primary = finding.span.map(|span| (span, finding.label.as_str(), true));
    let labels = finding.labels.iter().map(|label| (label.span, label.text.as_str(), false));
    for (span, text, is_primary) in primary.into_iter().chain(labels) {
        let Some(file) = sources.get(span.file) else { continue };
        let mark = Mark::new(file, span, text, is_primary);
        match files.iter_mut().find(|(id, _)| *id == span.file) {
            Some((_, marks)) => marks.push(mark),
            None => files.push((span.file, vec![mark])),
        }
    }
    let mut elements = Vec::new();
    for (id, mut marks) in files {
        let Some(file) = sources.get(id) else { continue };
        marks.sort_by_key(|mark| (mark.lines.start, mark.bytes.start));
        let mut clusters: Vec<Vec<Mark<'a>>> = Vec::new();
        for mark in marks {
            match clusters.last_mut() {
                Some(cluster)
                    if cluster
                        .iter()
                        .any(|other| mark.lines.start <= other.lines.end.saturating_add(NEAR)) =>
                {
                    cluster.push(mark);
                }
                _ => clusters.push(vec![mark]),
            }
        }
        clusters.sort_by_key(|cluster| !cluster.iter().any(|mark| mark.primary));
        elements.extend(clusters.into_iter().map(|cluster| snippet(file, &cluster)));
    }
    elements
}

fn snippet<'a>(file: &'a SourceFile, marks: &[Mark<'a>]) -> Element<'a> {
    let first = marks.iter().map(|mark| mark.lines.start).min().unwrap_or(1);
    let last = marks.iter().map(|mark| mark.lines.end).max().unwrap_or(first);
    let (base, source) = window(file, first, last);
    if source.len() > SHOWN {
        // The first mark is the primary one or, in another file, the first label.
        let mark = marks.iter().find(|mark| mark.primary).or(marks.first());
        let column = mark.map_or(1, |mark| {
            file.position(u32::try_from(mark.bytes.start).unwrap_or(u32::MAX)).column as usize
        });
        return Origin::path(harmless(&file.path)).line(first as usize).char_column(column).into();
    }
    let mut snippet = Snippet::source(source).path(harmless(&file.path)).line_start(first as usize);
    for mark in marks {
        let kind = if mark.primary { AnnotationKind::Primary } else { AnnotationKind::Context };
        let span = mark.bytes.start.saturating_sub(base)..mark.bytes.end.saturating_sub(base);
        let annotation = kind.span(span);
        snippet = snippet.annotation(if mark.text.is_empty() {
            annotation
        } else {
            annotation.label(harmless(mark.text))
        });
    }
    snippet.into()
}

fn patch<'a>(fix: &'a Fix, sources: &'a SourceMap) -> Option<Snippet<'a, Patch<'a>>> {
    let file = sources.get(fix.span.file)?;
    // A repair is shown only where it can be applied: in full and between characters.
    file.text.get(fix.span.start as usize..fix.span.end as usize)?;
    let (start, end) = (file.position(fix.span.start), file.position(fix.span.end));
    let (base, source) = window(file, start.line, end.line);
    if source.len() > SHOWN || fix.text.len() > SHOWN {
        return None;
    }
    let span = (start.byte as usize).saturating_sub(base)..(end.byte as usize).saturating_sub(base);
    Some(
        Snippet::source(source)
            .path(harmless(&file.path))
            .line_start(start.line as usize)
            .patch(Patch::new(span, harmless(&fix.text))),
    )
}

/// Returns the text of whole lines, and the byte at which it begins.
fn window(file: &SourceFile, first: u32, last: u32) -> (usize, &str) {
    let start = file.line_start(first);
    let end = file.line_end(last);
    (start, file.text.get(start..end).unwrap_or(""))
}
