//! Flags: is there one of that name, is it still there, is it written once and in full.

use diag::slugs::engine as slugs;

use crate::finding::{About, Finding};
use crate::reading::{Given, Mistake};
use crate::view::View;
use crate::{Engine, Version, meaning};

pub(crate) fn check(view: &View<'_>, findings: &mut Vec<Finding>) {
    for mistake in &view.reading.mistakes {
        findings.extend(of_mistake(view, mistake));
    }
    for given in &view.reading.given {
        if given.abbreviated {
            findings.push(abbreviated(view, given));
        } else if view.table.engine() == Engine::Vllm && underscored(&word_of(view, given)) {
            findings.push(
                Finding::note(
                    slugs::UNDERSCORE_FLAG,
                    view.name_of(given),
                    format!("`{}` is `{}` in this engine's own words", word_of(view, given), given.spelling),
                )
                .why("vLLM takes `_` for `-`; other engines do not"),
            );
        }
        let Some(flag) = given.flag else { continue };
        let alias = meaning::alias(view.table.engine(), &given.spelling)
            .filter(|alias| Version::parse(&view.launch.chosen.version) >= alias.since);
        if flag.deprecated || alias.is_some() {
            findings.push(deprecated(view, given, alias.map(|alias| alias.help)));
        }
        // The nearest table may be newer than the version.
        let full = view.table.full(flag.field).unwrap_or(&given.spelling);
        if let Some(from) = meaning::newer(view.table.engine(), full)
            && Version::parse(&view.launch.chosen.version) < from.since
        {
            findings.push(too_new(view, view.name_of(given), &given.written, &from));
        }
    }
    repeated(view, findings);
}

fn of_mistake(view: &View<'_>, mistake: &Mistake) -> Option<Finding> {
    let name = |at: &usize| About::Name(view.owner(*at));
    Some(match mistake {
        Mistake::Unknown { at, written } => return unknown(view, *at, written),
        // A version near to the table may have that very flag.
        Mistake::Ambiguous { written, .. }
            if !view.launch.chosen.exact && !view.table.versions_with(written).is_empty() =>
        {
            return None;
        }
        Mistake::Ambiguous { at, written, candidates } => Finding::error(
            slugs::AMBIGUOUS_FLAG,
            name(at),
            format!("`{written}` could be {}", either(candidates)),
        )
        .why(format!("{} stops at a beginning that several flags share", view.table.engine().title())),
        Mistake::Missing { at, written } => {
            Finding::error(slugs::MISSING_VALUE, name(at), format!("`{written}` needs a value"))
        }
        Mistake::Extra { at, written, value } => Finding::error(
            slugs::UNEXPECTED_VALUE,
            About::Value(view.owner(*at), Vec::new()),
            format!("`{written}` takes no value, and `{value}` is given"),
        )
        .why("its presence says yes; leave it out to say no"),
        // What follows a dotted member that swallowed a flag was that flag's value.
        Mistake::Stray { .. } if swallows(view) => return None,
        Mistake::Stray { at, word } if switch_before(view, *at).is_some() => {
            let switch = switch_before(view, *at).unwrap_or_default();
            Finding::error(
                slugs::UNEXPECTED_VALUE,
                About::Value(view.owner(*at), Vec::new()),
                format!("`{switch}` takes no value, and `{word}` is given"),
            )
            .why("its presence says yes; leave it out to say no")
            .help("write `true`")
            .replace("true")
        }
        Mistake::Stray { at, word } => {
            let mut finding =
                Finding::error(slugs::STRAY_WORD, name(at), format!("`{word}` belongs to no flag"));
            if word.trim().is_empty() || word == "\\" {
                finding = finding
                    .why("a continuation of the line with something behind its backslash leaves such a word");
            }
            finding
        }
    })
}

fn too_new(view: &View<'_>, about: About, written: &str, from: &meaning::Meaning) -> Finding {
    let here = format!("{} {}", view.table.engine().title(), view.launch.chosen.version);
    let message = format!("{here} has no `{written}` yet: it came with {}", from.since);
    Finding::error(slugs::FLAG_TOO_NEW, about, message).help(from.help)
}

/// Whether a dotted member took a flag for its value.
fn swallows(view: &View<'_>) -> bool {
    let mut members = view.reading.given.iter().flat_map(|given| &given.dotted);
    members.any(|member| member.text.as_ref().is_some_and(|text| text.starts_with("--")))
}

/// The switch that a stray word was given to, where one argument holds both.
fn switch_before(view: &View<'_>, at: usize) -> Option<String> {
    let owner = view.owner(at);
    let first = view.launch.arguments.get(owner)?.words.first()?;
    let given = view.reading.given.iter().find(|given| view.owner(given.at) == owner)?;
    let switch =
        given.flag.is_some_and(|flag| matches!(flag.kind, crate::Kind::Switch | crate::Kind::Toggle));
    (switch && given.at != at).then(|| first.clone())
}

/// A flag that this version does not have: never had, has no more, or has not yet.
fn unknown(view: &View<'_>, at: usize, written: &str) -> Option<Finding> {
    let table = &view.table;
    let engine = table.engine();
    let version = Version::parse(&view.launch.chosen.version);
    let about = About::Name(view.owner(at));
    let spelled = if table.parser().underscores { written.replace('_', "-") } else { written.to_owned() };
    let here = format!("{} {}", engine.title(), view.launch.chosen.version);
    if let Some(gone) = meaning::flag(engine, &spelled)
        && version >= gone.since
    {
        let since = gone.since.to_string();
        let first = since == "0.0.0";
        let slug = if first { slugs::UNKNOWN_FLAG } else { slugs::REMOVED_FLAG };
        let said = if first {
            format!("{} has no flag `{written}`", engine.title())
        } else {
            format!("`{written}` is gone from {} since {since}", engine.title())
        };
        return Some(Finding::error(slug, about, said).help(gone.help));
    }
    if let Some(from) = meaning::newer(engine, &spelled)
        && version < from.since
    {
        return Some(too_new(view, about, written, &from));
    }
    let versions = table.versions_with(&spelled);
    let key = |text: &str| Version::parse(text);
    let mine = key(table.version());
    let last_before = versions.iter().rfind(|other| key(other) < mine);
    let first_after = versions.iter().find(|other| key(other) > mine);
    match (last_before, first_after) {
        (None, None) => {}
        // Between two tables nobody knows: it may be there.
        _ if !view.launch.chosen.exact => return None,
        (Some(last), _) => {
            let mut finding = Finding::error(
                slugs::REMOVED_FLAG,
                about,
                format!("{here} has no `{written}` any more: {last} is the last that has it"),
            );
            // What the last version that had it says to write in its place.
            let instead = table
                .siblings()
                .find(|other| other.version() == *last)
                .and_then(|other| other.flag(&spelled))
                .and_then(|(flag, _)| flag.instead);
            if let Some(instead) = instead {
                finding = finding.help(format!("write `{instead}`, as {} {last} says", engine.title()));
                if !instead.contains(['=', ' ', '{']) {
                    finding = finding.replace(bare(instead));
                }
            }
            return Some(finding);
        }
        (None, Some(first)) => {
            return Some(
                Finding::error(
                    slugs::FLAG_TOO_NEW,
                    about,
                    format!("{here} has no `{written}` yet: {first} is the first known to have it"),
                )
                .help("take an image with a newer engine, or leave the flag out"),
            );
        }
    }
    let near = suggestion(view, &spelled);
    let message = format!("{here} has no flag `{written}`");
    let mut finding = if view.launch.chosen.exact || near.is_some() {
        Finding::error(slugs::UNKNOWN_FLAG, about, message)
    } else {
        Finding::warning(
            slugs::UNKNOWN_FLAG,
            about,
            format!("no known {} has a flag `{written}`", engine.title()),
        )
    };
    if !table.parser().underscores
        && written.contains('_')
        && table.flag(&written.replace('_', "-")).is_some()
    {
        let dashes = written.replace('_', "-");
        finding = finding.why(format!("{} does not take `_` for `-`", engine.title()));
        return Some(finding.help(format!("write `{dashes}`")).replace(bare(&dashes)));
    }
    if let Some(near) = near {
        finding = finding.help(format!("did you mean `{near}`?")).replace(bare(near));
    }
    if let Some(note) = &view.launch.chosen.note {
        finding = finding.why(note.clone());
    }
    Some(finding)
}

/// The nearest flag by spelling that does not say the opposite.
fn suggestion<'v>(view: &View<'v>, written: &str) -> Option<&'v str> {
    let name = written.trim_start_matches('-');
    let same =
        |candidate: &&'static str| polarity(candidate) == polarity(written) && candidate.starts_with("--");
    let candidates: Vec<&'static str> = view.table.spellings().filter(same).collect();
    let by_letters = diag::nearest(name, candidates.iter().copied());
    // `--max-context-length` is `--context-length` with a word too many.
    by_letters.or_else(|| {
        let parts: Vec<&str> = name.split(['-', '_']).collect();
        candidates
            .iter()
            .copied()
            .filter(|candidate| {
                let theirs: Vec<&str> = candidate.trim_start_matches('-').split('-').collect();
                theirs.len() > 1
                    && theirs.len() + 1 == parts.len()
                    && parts.windows(theirs.len()).any(|window| window == theirs.as_slice())
            })
            .max_by_key(|candidate| candidate.len())
    })
}

/// Whether a name says yes, no, or neither: a suggestion must not turn one into the other.
fn polarity(name: &str) -> i8 {
    let name = name.trim_start_matches('-').replace('_', "-");
    let no = ["no-", "disable-", "skip-", "without-"];
    if no.iter().any(|prefix| name.starts_with(prefix)) { -1 } else { i8::from(name.starts_with("enable-")) }
}

fn abbreviated(view: &View<'_>, given: &Given) -> Finding {
    let full = given.flag.and_then(|flag| view.table.full(flag.field)).unwrap_or(&given.spelling);
    Finding::warning(
        slugs::ABBREVIATED_FLAG,
        view.name_of(given),
        format!(
            "`{}` is no flag of {} {}: it works as the beginning of `{}`",
            given.written,
            view.table.engine().title(),
            view.table.version(),
            given.spelling
        ),
    )
    .why("another version may have a second flag that begins so, and then refuses it")
    .help(format!("write `{}`", bare(full)))
    .replace(bare(full))
}

fn deprecated(view: &View<'_>, given: &Given, alias: Option<&'static str>) -> Finding {
    let table = &view.table;
    let gone = table.siblings().find(|other| {
        Version::parse(other.version()) > Version::parse(table.version())
            && other.flag(&given.spelling).is_none()
    });
    let mut finding = Finding::warning(
        slugs::DEPRECATED_FLAG,
        view.name_of(given),
        match gone {
            Some(gone) => format!(
                "`{}` is on its way out, and {} {} no longer has it",
                given.spelling,
                table.engine().title(),
                gone.version()
            ),
            None => format!("`{}` is on its way out of {}", given.spelling, table.engine().title()),
        },
    );
    let instead = alias.or(given.flag.and_then(|flag| flag.instead));
    if let Some(instead) = instead {
        finding = finding.help(format!("write `{instead}`"));
        if !instead.contains(['=', ' ', '{', '<']) {
            finding = finding.replace(bare(instead));
        }
    }
    if given.flag.is_some_and(|flag| flag.ignored) {
        finding = finding.why("it is accepted and does nothing");
    }
    if given.spelling.ends_with("revision") {
        finding = finding.why("it carries the checkpoint's pin, which must not get lost with it");
    }
    finding
}

/// One field set twice: by a repeated flag, an alias, a twin that says no, or a flag that stores a
/// constant in it.
fn repeated(view: &View<'_>, findings: &mut Vec<Finding>) {
    for (at, later) in view.reading.given.iter().enumerate() {
        let Some(flag) = later.flag.filter(|flag| flag.kind != crate::Kind::Append) else { continue };
        let Some(earlier) = view
            .reading
            .given
            .iter()
            .take(at)
            .rfind(|given| given.flag.is_some_and(|other| other.field == flag.field))
        else {
            continue;
        };
        let read = |given: &Given| {
            let kind = given.flag.map_or(crate::Type::Text, |flag| flag.value);
            given.values.iter().map(|word| crate::Value::read(word, kind)).collect::<Vec<_>>()
        };
        let stores = |given: &Given| {
            given
                .flag
                .and_then(|flag| flag.instead)
                .and_then(|text| text.split_once('='))
                .map(|(_, value)| value)
        };
        let same = read(earlier) == read(later)
            && earlier.negated == later.negated
            && stores(earlier) == stores(later);
        let (first, second) = (word_of(view, earlier), word_of(view, later));
        let finding = if same {
            Finding::warning(
                slugs::DUPLICATE_FLAG,
                view.name_of(later),
                format!("`{second}` says again what `{first}` says"),
            )
        } else {
            Finding::error(
                slugs::DUPLICATE_FLAG,
                view.name_of(later),
                format!("`{second}` and `{first}` set one field to different values"),
            )
            .why("the last one wins, and nobody sees that the other is lost")
        };
        findings.push(finding.also(view.name_of(earlier), "first given here"));
    }
}

/// A flag as it was written, with the path of a dotted member.
fn word_of(view: &View<'_>, given: &Given) -> String {
    let written = view.launch.arguments.get(view.owner(given.at)).and_then(|argument| argument.words.first());
    written.map_or_else(|| given.written.clone(), |word| word.split('=').next().unwrap_or(word).to_owned())
}

fn underscored(written: &str) -> bool {
    written.starts_with("--") && written.contains('_')
}

pub(crate) fn bare(flag: &str) -> String {
    flag.trim_start_matches('-').to_owned()
}

fn either(names: &[String]) -> String {
    let names: Vec<String> = names.iter().take(6).map(|name| format!("`{name}`")).collect();
    names.join(" or ")
}
