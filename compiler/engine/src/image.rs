//! From an image to the engine version in it.
//!
//! Where the tag says the version, that is taken; else the manifest's word; else, for a nightly
//! build, the known release nearest to its date. Only the first two are certain.

use crate::table::{Table, book};
use crate::{Engine, Version};

/// The table that an image is judged by, and how certain the choice is.
#[derive(Clone, Debug)]
pub struct Chosen {
    /// The table.
    pub table: Table,
    /// The version as the tag or the manifest says it; that of the table where nobody says any.
    pub version: String,
    /// Whether the table is of that very version. Where it is not, what the table lacks may exist.
    pub exact: bool,
    /// What to know about the choice, as a phrase; `None` where the table is the version's own.
    pub note: Option<String>,
    /// What is stated of the version, where the tag says another.
    pub contradicted: Option<String>,
}

/// Where the version comes from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Tagged {
    /// The tag says it: `0.5.14`.
    Version(String),
    /// The tag says a day, as `YYYYMMDD`.
    Day(String),
    /// The tag says neither.
    Silent,
}

const RULES: &str = include_str!("../tables/images.table");

/// Returns the engine and what the tag says of its version; `None` for an unknown repository.
///
/// Enroot's `registry#repository` spelling, Docker's implied registry and a digest are understood.
#[must_use]
pub fn identify(image: &str) -> Option<(Engine, Tagged)> {
    let (repository, tag) = split(image);
    for rule in RULES.lines() {
        let mut cells = rule.split('\t');
        let (Some("image"), Some(engine), Some(wanted), form) =
            (cells.next(), cells.next(), cells.next(), cells.next())
        else {
            continue;
        };
        if wanted == repository {
            return Some((Engine::parse(engine)?, tagged(&tag, form.unwrap_or(""))));
        }
    }
    None
}

/// Chooses the table for an image. `stated` is the version that the manifest states; it is believed
/// where the tag is silent, and where both speak the tag is.
#[must_use]
pub fn choose(engine: Engine, image: &str, stated: Option<&str>) -> Chosen {
    let known = book(engine);
    let tag = identify(image).filter(|(of, _)| *of == engine).map_or(Tagged::Silent, |(_, tagged)| tagged);
    let (version, whence) = match (&tag, stated) {
        (Tagged::Version(version), _) => (version.clone(), "its tag"),
        (_, Some(stated)) => (Version::parse(stated).as_str().to_owned(), "the manifest"),
        (Tagged::Day(day), None) => {
            let table = by_day(engine, day);
            return Chosen {
                table,
                version: table.version().to_owned(),
                exact: false,
                note: Some(format!(
                    "`{image}` is a build of {day}: judged by {} {}, the known release nearest to that day",
                    engine.title(),
                    table.version()
                )),
                contradicted: None,
            };
        }
        (Tagged::Silent, None) => {
            let table = known.nearest("unknown");
            return Chosen {
                table,
                version: table.version().to_owned(),
                exact: false,
                note: Some(format!(
                    "nothing says which {} is in `{image}`: judged by {}, the newest known",
                    engine.title(),
                    table.version()
                )),
                contradicted: None,
            };
        }
    };
    let contradicted = stated
        .filter(|stated| Version::parse(stated) != Version::parse(&version))
        .filter(|stated| !Version::parse(stated).is_moving())
        .map(str::to_owned);
    if let Some(table) = known.exactly(&version) {
        return Chosen { table, version, exact: true, note: None, contradicted };
    }
    let table = known.nearest(&version);
    let note = format!(
        "`{image}` holds {} {version} ({whence} says so), of which there is no table: judged by {}, the nearest",
        engine.title(),
        table.version()
    );
    Chosen { table, version, exact: false, note: Some(note), contradicted }
}

/// Returns the tag of a reference; `latest` where it has none.
pub(crate) fn tag(image: &str) -> String {
    split(image).1
}

/// Splits a reference into repository (with registry, without Docker's own) and tag.
fn split(image: &str) -> (String, String) {
    let image = image.strip_prefix("docker://").unwrap_or(image);
    let image = image.split('@').next().unwrap_or(image).replacen('#', "/", 1);
    let slash = image.rfind('/').map_or(0, |at| at + 1);
    let (repository, tag) = match image.get(slash..).and_then(|name| name.find(':')) {
        Some(colon) => (
            image.get(..slash + colon).unwrap_or("").to_owned(),
            image.get(slash + colon + 1..).unwrap_or("").to_owned(),
        ),
        None => (image.clone(), "latest".to_owned()),
    };
    let docker = ["docker.io/", "registry-1.docker.io/", "index.docker.io/"];
    let bare = docker.iter().find_map(|prefix| repository.strip_prefix(prefix)).map(str::to_owned);
    (bare.unwrap_or(repository), tag)
}

fn tagged(tag: &str, form: &str) -> Tagged {
    let version = match form.strip_prefix('*') {
        Some(word) => tag.rfind(word).and_then(|at| tag.get(at + word.len()..)),
        None if form == "?" => None,
        None => tag.strip_prefix(form),
    };
    let version = version.map(|rest| rest.split(['-', '_', '+']).next().unwrap_or("").trim_end_matches('.'));
    match version {
        Some(version) if version.contains('.') && version.starts_with(|c: char| c.is_ascii_digit()) => {
            Tagged::Version(version.to_owned())
        }
        _ => day(tag).map_or(Tagged::Silent, Tagged::Day),
    }
}

/// Finds a day such as 20260528 in a tag; longer runs of digits may begin with one.
fn day(tag: &str) -> Option<String> {
    // `dev-nightly-0820` says no year: the one that a known release was nearest in.
    if let Some(short) =
        tag.rsplit("nightly-").next().filter(|rest| tag.contains("nightly-") && rest.len() == 4)
    {
        let short = short.parse::<u32>().ok().filter(|short| (101..=1231).contains(short))?;
        return Some(format!("2026{short:04}"));
    }
    tag.split(|c: char| !c.is_ascii_digit())
        .filter(|digits| matches!(digits.len(), 8 | 10 | 12 | 14))
        .filter_map(|digits| digits.get(..8))
        .find(|day| {
            let part =
                |from, to| day.get(from..to).and_then(|text: &str| text.parse::<u32>().ok()).unwrap_or(0);
            day.starts_with("20") && (1..=12).contains(&part(4, 6)) && (1..=31).contains(&part(6, 8))
        })
        .map(str::to_owned)
}

fn by_day(engine: Engine, day: &str) -> Table {
    let number = |day: &str| -> i64 {
        let part = |from, to| day.get(from..to).and_then(|text: &str| text.parse::<i64>().ok()).unwrap_or(0);
        // Months count as 31 days: near enough to tell which release is nearer.
        part(0, 4) * 372 + part(4, 6) * 31 + part(6, 8)
    };
    let wanted = number(day);
    let nearest = RULES
        .lines()
        .filter_map(|rule| {
            let mut cells = rule.split('\t');
            let released = cells.next() == Some("released") && cells.next() == Some(engine.name());
            let (version, released_on) = (cells.next()?, cells.next()?);
            released.then(|| ((number(released_on) - wanted).abs(), version))
        })
        .min();
    match nearest.and_then(|(_, version)| book(engine).exactly(version)) {
        Some(table) => table,
        None => book(engine).nearest("unknown"),
    }
}

#[cfg(test)]
mod tests {
    use super::{Tagged, choose, identify};
    use crate::Engine;

    #[test]
    fn the_tag_says_the_version() {
        let version = |image| match identify(image) {
            Some((_, Tagged::Version(version))) => version,
            other => format!("{other:?}"),
        };
        assert_eq!(version("lmsysorg/sglang:v0.5.14-cu130"), "0.5.14");
        assert_eq!(version("lmsysorg/sglang-rocm:v0.5.16-rocm720-mi30x-20260730"), "0.5.16");
        assert_eq!(version("lmsysorg/sglang:v0.5.14-cu130@sha256:5027e95b"), "0.5.14");
        assert_eq!(version("docker.io/vllm/vllm-openai:v0.27.1"), "0.27.1");
        assert_eq!(version("nvcr.io#nvidia/tensorrt-llm/release:1.3.0rc18"), "1.3.0rc18");
        assert_eq!(
            version("rocm/atom:rocm7.2.4_ubuntu24.04_py3.12_pytorch_release_2.10.0_atom0.1.3"),
            "0.1.3"
        );
        assert_eq!(identify("registry:5000/somebody/engine:v1"), None);
    }

    #[test]
    fn a_nightly_takes_the_release_nearest_to_its_day_and_says_so() {
        let chosen = choose(Engine::Sglang, "lmsysorg/sglang:nightly-dev-cu13-20260610-f332e526", None);
        assert_eq!((chosen.table.version(), chosen.exact), ("0.5.14", false));
        assert!(chosen.note.is_some_and(|note| note.contains("20260610")));
    }

    #[test]
    fn a_silent_tag_is_judged_by_what_the_manifest_states() {
        let chosen = choose(Engine::Vllm, "vllm/vllm-openai:kimi-k3", Some("0.27.1"));
        assert_eq!((chosen.table.version(), chosen.exact), ("0.27.1", true));
    }
}
