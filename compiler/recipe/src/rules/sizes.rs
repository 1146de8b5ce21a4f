//! A size of memory says its unit and whose it is, and the option that it is given to takes that.

use diag::{Diagnostic, Span, slugs};
use engine::Engine;
use engine::sizes::{Takes, takes};

use crate::process::Process;
use crate::tree::{Node, Tree};
use crate::words::{Size, Special, special};

/// A size, or a number where a size is taken.
pub(crate) struct Seen<'t> {
    /// The option, with the member of it: `--kv-transfer-config.a.b`.
    pub(crate) place: String,
    /// What the engine takes there.
    pub(crate) takes: Takes,
    /// The size; `None` for a plain number.
    pub(crate) size: Option<Size<'t>>,
    /// Where it was written.
    pub(crate) at: Option<Span>,
}

/// Looks at every size that a server is given.
pub(crate) fn look(engine: Engine, server: &Process) -> Vec<Diagnostic> {
    let judge = |seen: Seen<'_>| match seen.size {
        Some(size) => judged(&seen.place, size, seen.takes, seen.at),
        None => Some(unsaid(&seen.place, seen.takes, seen.at)),
    };
    all(engine, server).into_iter().filter_map(judge).collect()
}

/// Returns every size that a server is given.
pub(crate) fn all(engine: Engine, server: &Process) -> Vec<Seen<'_>> {
    let mut seen = Vec::new();
    for given in &server.options {
        let place = format!("--{}", given.name);
        match &given.inside {
            Some(tree) => walk(engine, &place, tree, given.name_at, &mut seen),
            None => {
                if let Some(takes) = takes(engine, &place) {
                    seen.push(Seen { place, takes, size: None, at: given.at });
                }
            }
        }
    }
    for (_, tree) in &server.configs {
        walk(engine, "", tree, None, &mut seen);
    }
    seen
}

fn walk<'t>(engine: Engine, place: &str, tree: &'t Tree, name_at: Option<Span>, seen: &mut Vec<Seen<'t>>) {
    match (special(tree), &tree.node) {
        (Some(Special::Size(size)), _) => {
            if let Some(takes) = takes(engine, place) {
                let at = tree.at.or(size.amount.at).or(name_at);
                seen.push(Seen { place: place.to_owned(), takes, size: Some(size), at });
            }
        }
        (Some(Special::Json(inner)), _) => walk(engine, place, inner, name_at, seen),
        (None, Node::Set(fields)) => {
            for field in fields {
                let inner =
                    if place.is_empty() { field.name.to_string() } else { format!("{place}.{}", field.name) };
                walk(engine, &inner, &field.value, field.name_at, seen);
            }
        }
        (None, Node::Int(_) | Node::Float(_)) => {
            if let Some(takes) = takes(engine, place) {
                seen.push(Seen { place: place.to_owned(), takes, size: None, at: tree.at.or(name_at) });
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
