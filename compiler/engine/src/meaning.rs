//! What became of names that versions no longer know: by meaning, never by spelling.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use crate::{Engine, Version};

const MEANINGS: &str = include_str!("../tables/meanings.table");

/// A name that came or went with a version.
#[derive(Clone, Debug)]
pub(crate) struct Meaning {
    /// The version that brought it or took it away; `0.0.0` for a name that never was.
    pub since: Version,
    /// What to do.
    pub help: &'static str,
}

/// Returns what became of a flag or variable that is gone: the version that took it away, `0.0.0`
/// for one that never was, and what to do.
#[must_use]
pub fn became(engine: Engine, name: &str) -> Option<(Version, &'static str)> {
    flag(engine, name).or_else(|| variable(engine, name)).map(|gone| (gone.since, gone.help))
}

/// Returns what became of a flag that is gone.
pub(crate) fn flag(engine: Engine, name: &str) -> Option<Meaning> {
    find("flag", engine, name)
}

/// Returns since when there is a flag.
pub(crate) fn newer(engine: Engine, name: &str) -> Option<Meaning> {
    find("newer", engine, name)
}

/// Returns the spelling that stays of an alias that is on its way out, and since when it is.
pub(crate) fn alias(engine: Engine, name: &str) -> Option<Meaning> {
    find("alias", engine, name)
}

/// Returns what became of a variable that is gone.
pub(crate) fn variable(engine: Engine, name: &str) -> Option<Meaning> {
    find("variable", engine, name)
}

/// Returns the new name of a flag's value, and since when it is so called.
pub(crate) fn value(engine: Engine, flag: &str, old: &str) -> Option<(&'static str, Version)> {
    rows("value", engine, flag).find_map(|rest| {
        let mut cells = rest.split('\t');
        (cells.next() == Some(old)).then_some(())?;
        Some((cells.next()?, Version::parse(cells.next()?)))
    })
}

/// Returns the members of the engine's configuration file that are gone: path, since when, and the
/// path in its place, empty where it is implied.
pub(crate) fn config(engine: Engine) -> impl Iterator<Item = (&'static str, Version, &'static str)> {
    let prefix = format!("config\t{engine}\t");
    MEANINGS.lines().filter_map(move |line| {
        let mut cells = line.strip_prefix(&prefix)?.split('\t');
        Some((cells.next()?, Version::parse(cells.next()?), cells.next().unwrap_or("")))
    })
}

fn find(kind: &str, engine: Engine, name: &str) -> Option<Meaning> {
    rows(kind, engine, name).find_map(|rest| {
        let mut cells = rest.split('\t');
        Some(Meaning { since: Version::parse(cells.next()?), help: cells.next()? })
    })
}

/// A row of the table but for its name.
struct Row {
    kind: &'static str,
    engine: &'static str,
    rest: &'static str,
}

/// Returns what stands after the name in its rows. Every launch asks for every name in it, so the
/// table is read once.
fn rows<'k>(kind: &'k str, engine: Engine, name: &str) -> impl Iterator<Item = &'static str> + use<'k> {
    static ROWS: OnceLock<BTreeMap<&'static str, Vec<Row>>> = OnceLock::new();
    let all = ROWS.get_or_init(|| {
        let mut all: BTreeMap<&'static str, Vec<Row>> = BTreeMap::new();
        for line in MEANINGS.lines() {
            let mut cells = line.splitn(4, '\t');
            if let (Some(kind), Some(engine), Some(name), Some(rest)) =
                (cells.next(), cells.next(), cells.next(), cells.next())
            {
                all.entry(name).or_default().push(Row { kind, engine, rest });
            }
        }
        all
    });
    let rows: &'static [Row] = all.get(name).map_or(&[], Vec::as_slice);
    rows.iter().filter(move |row| row.kind == kind && row.engine == engine.name()).map(|row| row.rest)
}
