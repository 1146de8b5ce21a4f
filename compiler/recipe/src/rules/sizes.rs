//! A size of memory says its unit and whose it is, and the option that it is given to takes that.

use diag::{Diagnostic, Span, slugs};
use engine::Engine;
use engine::sizes::{Takes, takes};

use crate::process::Process;
use crate::tree::{Node, Tree};
use crate::words::{Size, Special, special};

/// Looks at every size that a server is given.
pub(crate) fn look(engine: Engine, server: &Process) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for given in &server.options {
        let place = format!("--{}", given.name);
        match &given.inside {
            Some(tree) => walk(engine, &place, tree, given.name_at, &mut found),
            None => {
                if let Some(takes) = takes(engine, &place) {
                    found.push(unsaid(&place, takes, given.at));
                }
            }
        }
    }
    for (_, tree) in &server.configs {
        walk(engine, "", tree, None, &mut found);
    }
    found
}

fn walk(engine: Engine, place: &str, tree: &Tree, name_at: Option<Span>, found: &mut Vec<Diagnostic>) {
    match (special(tree), &tree.node) {
        (Some(Special::Size(size)), _) => {
            if let Some(takes) = takes(engine, place) {
                found.extend(judged(place, size, takes, tree.at.or(size.amount.at).or(name_at)));
            }
        }
        (Some(Special::Json(inner)), _) => walk(engine, place, inner, name_at, found),
        (None, Node::Set(fields)) => {
            for field in fields {
                let inner =
                    if place.is_empty() { field.name.to_string() } else { format!("{place}.{}", field.name) };
                walk(engine, &inner, &field.value, field.name_at, found);
            }
        }
        (None, Node::Int(_) | Node::Float(_)) => {
            if let Some(takes) = takes(engine, place) {
                found.push(unsaid(place, takes, tree.at.or(name_at)));
            }
        }
        _ => {}
    }
}

fn unsaid(place: &str, takes: Takes, at: Option<Span>) -> Diagnostic {
    let (unit, of) = (takes.unit.name(), takes.of);
    let mut finding = Diagnostic::warning(
        slugs::recipe::SIZE_WITHOUT_UNIT,
        format!("a number for `{place}` does not say what it counts"),
    )
    .why(format!("the engine takes {unit}, of {of}"))
    .why(format!("evidence: {}", takes.evidence))
    .help(format!("say it: `_size = {{ amount = …; unit = \"{unit}\"; of = \"{}\"; }}`", of.name()));
    finding.span = at;
    finding
}

fn judged(place: &str, size: Size<'_>, takes: Takes, at: Option<Span>) -> Option<Diagnostic> {
    if (size.unit, size.of) == (takes.unit, takes.of) {
        return None;
    }
    let said = format!("{} of {}", size.unit.name(), size.of);
    let mut finding = Diagnostic::error(
        slugs::recipe::SIZE_OF_ANOTHER_KIND,
        format!("`{place}` takes {} of {}, not {said}", takes.unit.name(), takes.of),
    )
    .why(format!("evidence: {}", takes.evidence));
    if size.of != takes.of {
        finding = finding.why("what one rank has and what all have together differ by the number of ranks");
    }
    if size.unit != takes.unit
        && size.of == takes.of
        && let Node::Int(amount) = size.amount.node
    {
        let same = amount.saturating_mul(size.unit.bytes()) / takes.unit.bytes();
        finding = finding.help(format!("{amount} {} are {same} {}", size.unit.name(), takes.unit.name()));
    }
    finding.span = at;
    Some(finding)
}
