//! What became of names that versions no longer know: by meaning, never by spelling.

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

/// Returns what became of a flag that is gone.
pub(crate) fn flag(engine: Engine, name: &str) -> Option<Meaning> {
    find("flag", engine, name)
}

/// Returns since when there is a flag.
pub(crate) fn newer(engine: Engine, name: &str) -> Option<Meaning> {
    find("newer", engine, name)
}

/// Returns what became of a variable that is gone.
pub(crate) fn variable(engine: Engine, name: &str) -> Option<Meaning> {
    find("variable", engine, name)
}

/// Returns the new name of a flag's value, and since when it is so called.
pub(crate) fn value(engine: Engine, flag: &str, old: &str) -> Option<(&'static str, Version)> {
    lines("value", engine).find_map(|rest| {
        let mut cells = rest.split('\t');
        (cells.next() == Some(flag) && cells.next() == Some(old)).then_some(())?;
        Some((cells.next()?, Version::parse(cells.next()?)))
    })
}

fn find(kind: &str, engine: Engine, name: &str) -> Option<Meaning> {
    lines(kind, engine).find_map(|rest| {
        let mut cells = rest.split('\t');
        (cells.next() == Some(name)).then_some(())?;
        Some(Meaning { since: Version::parse(cells.next()?), help: cells.next()? })
    })
}

fn lines(kind: &str, engine: Engine) -> impl Iterator<Item = &'static str> {
    let prefix = format!("{kind}\t{engine}\t");
    MEANINGS.lines().filter_map(move |line| line.strip_prefix(&prefix))
}
