//! Which model architectures each released engine knows, read from the releases' own source.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use crate::{Engine, Version};

const MODELS: &str = include_str!("../tables/models.table");

struct Models {
    versions: BTreeMap<&'static str, Vec<&'static str>>,
    ranges: BTreeMap<(&'static str, &'static str), &'static str>,
}

/// What is known of an architecture in an engine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Lifetime {
    /// The newest release that still lacks it; `None` if the oldest known has it.
    pub last_without: Option<&'static str>,
    /// The oldest release that has it.
    pub first_with: &'static str,
}

fn models() -> &'static Models {
    static ALL: OnceLock<Models> = OnceLock::new();
    ALL.get_or_init(|| {
        let mut all = Models { versions: BTreeMap::new(), ranges: BTreeMap::new() };
        for line in MODELS.lines() {
            let mut cells = line.split('\t');
            match (cells.next(), cells.next(), cells.next(), cells.next()) {
                (Some("versions"), Some(engine), Some(versions), _) => {
                    all.versions.insert(engine, versions.split(' ').collect());
                }
                (Some("model"), Some(engine), Some(range), Some(name)) => {
                    all.ranges.insert((engine, name), range);
                }
                _ => {}
            }
        }
        all
    })
}

/// Returns since when an engine has an architecture; `None` where no known release has it, which
/// says nothing: it may be served in another way.
pub(crate) fn lifetime(engine: Engine, architecture: &str) -> Option<Lifetime> {
    let all = models();
    let versions = all.versions.get(engine.name())?;
    let range = all.ranges.get(&(engine.name(), architecture))?;
    let first = range.split(',').next()?.split("..").next()?;
    let place = if first.is_empty() { 0 } else { versions.iter().position(|version| *version == first)? };
    let last_without = place.checked_sub(1).and_then(|before| versions.get(before)).copied();
    Some(Lifetime { last_without, first_with: versions.get(place)? })
}

impl Lifetime {
    /// Returns whether a version has it: `None` between the two releases that are known.
    pub(crate) fn has(&self, version: &Version) -> Option<bool> {
        if *version >= Version::parse(self.first_with) {
            return Some(true);
        }
        match self.last_without {
            Some(last) if *version > Version::parse(last) => None,
            Some(_) => Some(false),
            None => None,
        }
    }
}
