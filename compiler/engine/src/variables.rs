//! Environment variables: does this version read them.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use diag::slugs::engine as slugs;

use crate::finding::{About, Finding};
use crate::view::View;
use crate::{Engine, Type, Version, acceptance, meaning};

pub(crate) fn check(view: &View<'_>, findings: &mut Vec<Finding>) {
    for (name, text) in &view.launch.environment {
        findings.extend(one(view, name));
        findings.extend(value(view, name, text));
    }
}

fn one(view: &View<'_>, name: &str) -> Option<Finding> {
    let table = &view.table;
    let engine = table.engine();
    let about = || About::Variable(name.to_owned());
    let ours = engine.variable_prefixes().iter().any(|prefix| name.starts_with(prefix));
    // SGLang copies every `SGL_X` to `SGLANG_X` before it reads any.
    if engine == Engine::Sglang
        && let Some(rest) = name.strip_prefix("SGL_")
    {
        let new = format!("SGLANG_{rest}");
        let renamed = table.renamed_variable(name).map_or(new, str::to_owned);
        if table.reads_variable(&renamed) {
            return Some(
                Finding::warning(
                    slugs::RENAMED_VARIABLE,
                    about(),
                    format!("`{name}` is called `{renamed}` now"),
                )
                .help(format!("write `{renamed}`"))
                .replace(renamed),
            );
        }
    }
    if let Some(new) = table.renamed_variable(name).filter(|new| table.reads_variable(new)) {
        return Some(
            Finding::warning(slugs::RENAMED_VARIABLE, about(), format!("`{name}` is called `{new}` now"))
                .why(if table.reads_variable(name) {
                    "the old name is still read"
                } else {
                    "the old name is no longer read"
                })
                .help(format!("write `{new}`"))
                .replace(new),
        );
    }
    if let Some(gone) = meaning::variable(engine, name)
        && Version::parse(&view.launch.chosen.version) >= gone.since
    {
        let said = if gone.since.as_str() == "0.0.0" {
            format!("{} reads no `{name}`", engine.title())
        } else {
            format!("`{name}` does nothing in {} since {}", engine.title(), gone.since)
        };
        return Some(unread(about(), said).help(gone.help));
    }
    if table.reads_variable(name) || table.variables().next().is_none() {
        return None;
    }
    if !ours {
        return another_owner(view, name);
    }
    let versions = table.versions_with_variable(name);
    if !view.launch.chosen.exact && !versions.is_empty() {
        return None;
    }
    let here = format!("{} {}", engine.title(), view.launch.chosen.version);
    let mine = Version::parse(table.version());
    let mut finding = if acceptance::VARIABLES.contains(&name) {
        let first = versions
            .iter()
            .find(|version| Version::parse(version) > mine)
            .copied()
            .unwrap_or("a later version");
        return Some(
            Finding::error(
                slugs::ACCEPTANCE_UNREAD,
                about(),
                format!("{here} does not read `{name}`: it came with {first}"),
            )
            .why("the run would accept drafts in another way than the recipe says, without a message")
            .help(format!("take an image with {} {first} or newer", engine.title())),
        );
    } else {
        match versions.iter().rfind(|version| Version::parse(version) < mine) {
            Some(last) => {
                unread(about(), format!("{here} no longer reads `{name}`: {last} is the last that does"))
            }
            None => match versions.first() {
                Some(first) => unread(
                    about(),
                    format!("{here} does not read `{name}` yet: {first} is the first that does"),
                ),
                None => unread(about(), format!("no known {} reads `{name}`", engine.title())),
            },
        }
    };
    if versions.is_empty()
        && let Some(near) = nearest(view, name)
    {
        finding = finding.help(format!("did you mean `{near}`?")).replace(near);
    }
    Some(finding)
}

/// A value that the engine cannot read: vLLM stops at it, SGLang takes its default instead.
fn value(view: &View<'_>, name: &str, text: &str) -> Option<Finding> {
    let known = view.table.variable_value(name)?;
    let about = About::VariableValue(name.to_owned());
    let engine = view.table.engine();
    if !known.choices.is_empty() {
        // Some are compared in lower case and some as they are; only a third spelling is refused.
        if known.choices.iter().any(|choice| choice.eq_ignore_ascii_case(text)) {
            return None;
        }
        let mut finding = Finding::error(
            slugs::UNKNOWN_VALUE,
            about,
            format!("`{name}` does not take `{text}` in {} {}", engine.title(), view.table.version()),
        )
        .help(format!("it takes {}", known.choices.join(", ")));
        if !view.launch.chosen.exact {
            finding.severity = diag::Severity::Warning;
        }
        return Some(finding);
    }
    let trimmed = text.trim();
    let (reads, wants) = match known.value {
        Type::Bool => {
            let words = ["true", "1", "yes", "y", "false", "0", "no", "n"];
            (words.contains(&text.to_lowercase().as_str()), "`true` or `false`, or 1 or 0")
        }
        Type::Integer => (crate::integer(text).is_some(), "a whole number"),
        Type::Number => (trimmed.parse::<f64>().is_ok(), "a number"),
        _ => return None,
    };
    if reads {
        return None;
    }
    let said = format!("`{name}` is {wants}, and `{text}` is given");
    Some(if engine == Engine::Sglang {
        Finding::warning(slugs::WRONG_VALUE_TYPE, about, said)
            .why("SGLang warns once and goes on with its default")
    } else {
        Finding::error(slugs::WRONG_VALUE_TYPE, about, said).why("the engine stops when it reads it")
    })
}

fn unread(about: About, message: String) -> Finding {
    Finding::warning(slugs::UNREAD_VARIABLE, about, message)
        .why("a variable that nothing reads raises no error")
}

/// A variable in another library's spelling whose words the engine has in a name of its own.
fn another_owner(view: &View<'_>, name: &str) -> Option<Finding> {
    let near = containing(view, name)?;
    Some(
        unread(
            About::Variable(name.to_owned()),
            format!("{} does not read `{name}`; it reads `{near}`", view.table.engine().title()),
        )
        .help(format!("write `{near}` if the engine's own switch is meant")),
    )
}

/// The variable of this version that a name was most likely meant to be. A table has hundreds, and every point of a
/// recipe has the same misspelt one, so that what was found is remembered.
fn nearest(view: &View<'_>, name: &str) -> Option<&'static str> {
    type Found = BTreeMap<(Engine, &'static str, String), Option<&'static str>>;
    static FOUND: Mutex<Found> = Mutex::new(BTreeMap::new());
    let key = (view.table.engine(), view.table.version(), name.to_owned());
    let mut found = FOUND.lock().unwrap_or_else(PoisonError::into_inner);
    *found
        .entry(key)
        .or_insert_with(|| containing(view, name).or_else(|| diag::nearest(name, view.table.variables())))
}

/// The variable of this version that has all words of a name, in order, and more.
fn containing(view: &View<'_>, name: &str) -> Option<&'static str> {
    let words: Vec<&str> = name.split('_').collect();
    // Two words are a coincidence; switches of kernels that the engine wraps have three and more.
    if words.len() < 3 {
        return None;
    }
    // The longest word is the rarest; where it is a kernel's own name, one other word may be missing.
    let key = words.iter().copied().max_by_key(|word| word.len())?;
    let named = key.len() >= 5 && key.bytes().any(|byte| byte.is_ascii_digit());
    let prefixes = view.table.engine().variable_prefixes();
    view.table
        .variables_with_word(key)
        .filter(|known| *known != name && prefixes.iter().any(|prefix| known.starts_with(prefix)))
        .find(|known| {
            let theirs: Vec<&str> = known.split('_').collect();
            let missing = words.iter().filter(|word| !theirs.contains(word)).count();
            missing == 0 || named && missing == 1
        })
}
