//! Which fields a recipe may have, by revision. An unknown one is refused by the orchestrator, and
//! nothing is submitted.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use diag::{Diagnostic, Diagnostics, nearest, slugs};

use crate::tree::{Node, Tree};

use super::Revision;

/// Path of each field with the revisions that know it, as bits in the order of [`Revision::all`].
fn known() -> &'static BTreeMap<&'static str, u32> {
    static KNOWN: OnceLock<BTreeMap<&'static str, u32>> = OnceLock::new();
    KNOWN.get_or_init(|| {
        include_str!("fields.txt")
            .lines()
            .filter(|line| !line.starts_with('#'))
            .map(|line| match line.split_once(' ') {
                Some((path, mask)) => (path, u32::from_str_radix(mask, 16).unwrap_or(0)),
                None => (line, u32::MAX),
            })
            .collect()
    })
}

/// Reports the fields of a recipe that a revision does not know.
pub(super) fn check(tree: &Tree, revision: &'static Revision, out: &mut Diagnostics) {
    let engine = super::text_at(tree, &["backend", "type"]).unwrap_or("sglang");
    let bit = Revision::all()
        .iter()
        .position(|known| known.commit == revision.commit)
        .map_or(u32::MAX, |index| 1 << index);
    section(tree, "", &Of { engine, bit, revision }, out);
}

struct Of<'a> {
    engine: &'a str,
    bit: u32,
    revision: &'static Revision,
}

fn section(tree: &Tree, at: &str, of: &Of<'_>, out: &mut Diagnostics) {
    let Node::Set(fields) = &tree.node else { return };
    for field in fields {
        let path = if at.is_empty() { field.name.to_string() } else { format!("{at}.{}", field.name) };
        let mask = known().get(path.as_str()).copied().unwrap_or(0);
        if mask & of.bit == 0 {
            let mut finding = unknown(&field.name, at, mask, of);
            finding.span = field.name_at.or(field.value.at);
            out.push(finding);
            continue;
        }
        let inner = if path == "backend" { format!("backend.{}", of.engine) } else { path };
        // A section without fields of its own is free: flags, variables.
        if names(&inner).next().is_some() {
            section(&field.value, &inner, of, out);
        }
    }
}

/// Returns the fields of a section, with their revisions.
fn names(section: &str) -> impl Iterator<Item = (&'static str, u32)> {
    let start = if section.is_empty() { String::new() } else { format!("{section}.") };
    known().iter().filter_map(move |(path, mask)| {
        let rest = path.strip_prefix(start.as_str())?;
        (!rest.contains('.')).then_some((rest, *mask))
    })
}

fn unknown(name: &str, section: &str, mask: u32, of: &Of<'_>) -> Diagnostic {
    let revision = of.revision.name();
    let finding = Diagnostic::error(
        slugs::recipe::UNKNOWN_FIELD,
        format!("`{name}` is unknown to srt-slurm {revision}"),
    )
    .why("the orchestrator refuses a recipe with a field that it does not know, and submits nothing");
    let others: Vec<&str> = Revision::all()
        .iter()
        .enumerate()
        .filter(|(index, _)| mask >> index & 1 == 1)
        .map(|(_, revision)| revision.name())
        .collect();
    if !others.is_empty() {
        return finding.help(format!("it is known to {}", others.join(", ")));
    }
    let known: Vec<&str> =
        names(section).filter(|(_, mask)| mask & of.bit != 0).map(|(name, _)| name).collect();
    match nearest(name, known.iter().copied()) {
        Some(near) => finding.help(format!("did you mean `{near}`?")),
        None => finding,
    }
}
