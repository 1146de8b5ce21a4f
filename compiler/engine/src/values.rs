//! Values: are they of the flag's type, among its choices, and, where they are JSON, whole.

use diag::slugs::engine as slugs;
use serde_json::Value as Json;

use crate::finding::{About, Finding};
use crate::reading::Given;
use crate::table::{Flag, Member, Type};
use crate::value::Value;
use crate::view::View;
use crate::{Engine, Version, meaning};

/// JSON deeper than this is not looked into.
const DEEPEST: usize = 12;

pub(crate) fn check(view: &View<'_>, findings: &mut Vec<Finding>) {
    for given in &view.reading.given {
        for word in &given.values {
            if unexpanded(word) {
                findings.push(
                    Finding::error(
                        slugs::UNEXPANDED_PLACEHOLDER,
                        view.value_of(given, &[]),
                        format!("`{word}` is a placeholder that nobody filled in"),
                    )
                    .why("the engine would take it for the value itself"),
                );
            }
        }
        let Some(flag) = given.flag else { continue };
        for member in &given.dotted {
            dotted(view, member, findings);
        }
        for word in given.values.iter().filter(|word| !unexpanded(word)) {
            one(view, given, flag, word, findings);
        }
    }
}

fn one(view: &View<'_>, given: &Given, flag: &Flag, word: &str, findings: &mut Vec<Finding>) {
    let here = |path: &[String]| view.value_of(given, path);
    let wants = match flag.value {
        Type::Integer | Type::HumanInteger => "a whole number",
        Type::Number => "a number",
        Type::Json => "JSON",
        Type::JsonList => "a JSON list",
        _ => "",
    };
    let read = Value::read(word, flag.value);
    let automatic = word == "auto" && flag.value == Type::HumanInteger;
    let infinite =
        flag.value == Type::Number && ["inf", "nan", "-inf"].contains(&word.to_lowercase().as_str());
    if !wants.is_empty() && matches!(read, Value::Text(_)) && !automatic && !infinite && !is_none(word, flag)
    {
        if flag.value == Type::Json || flag.value == Type::JsonList {
            findings.push(broken_json(word, &given.spelling, here(&[])));
        } else {
            findings.push(Finding::error(
                slugs::WRONG_VALUE_TYPE,
                here(&[]),
                format!("`{}` takes {wants}, not `{word}`", given.spelling),
            ));
        }
        return;
    }
    match read {
        Value::Json(json) if matches!(flag.value, Type::Json | Type::JsonOrText | Type::JsonList) => {
            if flag.value == Type::JsonList && !json.is_array() {
                findings.push(Finding::error(
                    slugs::WRONG_VALUE_TYPE,
                    here(&[]),
                    format!("`{}` takes a JSON list", given.spelling),
                ));
            }
            let whole = flag.class.is_some() || !flag.members.is_empty();
            if whole && !json.is_object() && !json.is_null() {
                findings.push(Finding::error(
                    slugs::WRONG_VALUE_TYPE,
                    here(&[]),
                    format!("`{}` takes a JSON object, not `{json}`", given.spelling),
                ));
                return;
            }
            let mut looker = Looker { view, given, findings, typed: flag.class };
            looker.look(&json, flag.class, &flag.members, &mut Vec::new());
        }
        read => {
            let text = read.to_text();
            choice(view, flag, &given.spelling, &text, here(&[]), findings);
        }
    }
}

fn is_none(word: &str, flag: &Flag) -> bool {
    flag.optional && (word == "None" || word.is_empty())
}

fn choice(
    view: &View<'_>,
    flag: &Flag,
    spelling: &str,
    text: &str,
    about: About,
    findings: &mut Vec<Finding>,
) {
    let engine = view.table.engine();
    let full = view.table.full(flag.field).unwrap_or(spelling);
    if let Some((new, since)) = meaning::value(engine, full, text)
        && Version::parse(&view.launch.chosen.version) >= since
    {
        findings.push(
            Finding::error(
                slugs::UNKNOWN_VALUE,
                about,
                format!("`{text}` of `{spelling}` is called `{new}` since {} {since}", engine.title()),
            )
            .help(format!("write `{new}`"))
            .replace(new),
        );
        return;
    }
    let legal = if flag.choices.is_empty() { &flag.known } else { &flag.choices };
    if legal.is_empty() {
        return;
    }
    let fold = |word: &str| if flag.choices.is_empty() { word.to_lowercase() } else { word.to_owned() };
    // The optimization levels O0 to O3 are written as numbers too.
    let level = format!("O{text}");
    if legal.iter().any(|one| fold(one) == fold(text) || *one == level) {
        return;
    }
    findings.extend(not_among(view, spelling, text, legal, about, |other| {
        other.flag(spelling).is_some_and(|(flag, _)| {
            flag.choices.iter().chain(&flag.known).any(|one| fold(one) == fold(text))
        })
    }));
}

/// A value that is none of the legal ones: an error where the table is the version's own.
fn not_among(
    view: &View<'_>,
    what: &str,
    text: &str,
    legal: &[&'static str],
    about: About,
    elsewhere: impl Fn(&crate::Table) -> bool,
) -> Option<Finding> {
    let table = &view.table;
    let others: Vec<&str> = table.siblings().filter(&elsewhere).map(|other| other.version()).collect();
    if !view.launch.chosen.exact && !others.is_empty() {
        return None;
    }
    let title = table.engine().title();
    let message = format!("`{text}` is no value of `{what}` in {title} {}", table.version());
    let mut finding = if view.launch.chosen.exact {
        Finding::error(slugs::UNKNOWN_VALUE, about, message)
    } else {
        Finding::warning(
            slugs::UNKNOWN_VALUE,
            about,
            format!("`{text}` is no value of `{what}` in any known {title}"),
        )
    };
    if let (Some(first), Some(last)) = (others.first(), others.last()) {
        finding = finding.why(if first == last {
            format!("{title} {first} has it")
        } else {
            format!("{title} {first} to {last} have it")
        });
    }
    let longer = legal.iter().find(|one| one.starts_with(text) || text.starts_with(**one)).copied();
    if let Some(near) = diag::nearest(text, legal.iter().copied()).or(longer) {
        finding = finding.help(format!("did you mean `{near}`?")).replace(near);
    } else if legal.len() <= 12 {
        finding = finding.help(format!(
            "one of {}",
            legal.iter().map(|one| format!("`{one}`")).collect::<Vec<_>>().join(", ")
        ));
    }
    if let Some(note) = &view.launch.chosen.note {
        finding = finding.why(note.clone());
    }
    Some(finding)
}

fn broken_json(word: &str, spelling: &str, about: About) -> Finding {
    let mut finding = match serde_json::from_str::<Json>(word) {
        Err(error) => {
            Finding::error(slugs::BROKEN_JSON, about, format!("the value of `{spelling}` is no JSON"))
                .why(format!("at column {}: {}", error.column(), plain(&error.to_string())))
        }
        Ok(_) => Finding::error(slugs::BROKEN_JSON, about, format!("the value of `{spelling}` is no JSON")),
    };
    let inner = word.trim_matches(['\'', '"']);
    if inner != word && serde_json::from_str::<Json>(inner).is_ok() {
        finding = finding
            .help("take the quotes away: they were the shell's, and here they are part of the value")
            .replace(inner);
    } else if let Some(json) = pairs(word) {
        finding = finding.help(format!("write `{json}`")).replace(json);
    }
    finding
}

/// serde_json's message without its place, which is said apart.
fn plain(message: &str) -> &str {
    message.split(" at line ").next().unwrap_or(message)
}

/// The JSON of an old spelling such as `image=4,audio=1`.
fn pairs(word: &str) -> Option<String> {
    let mut map = serde_json::Map::new();
    for pair in word.split(',') {
        let (key, value) = pair.split_once('=')?;
        map.insert(
            key.trim().to_owned(),
            serde_json::from_str(value.trim()).unwrap_or_else(|_| value.into()),
        );
    }
    Some(Json::Object(map).to_string().replace("\":", "\": ").replace(",\"", ", \""))
}

/// A dotted member: it always takes a value, and a flag behind it is none.
fn dotted(view: &View<'_>, member: &crate::reading::Dotted, findings: &mut Vec<Finding>) {
    let name = format!("{}.{}", member.written, member.path.join("."));
    if let Some(text) = &member.text
        && text.starts_with("--")
    {
        findings.push(
            Finding::error(
                slugs::MISSING_VALUE,
                About::Name(view.owner(member.at)),
                format!("`{name}` needs a value, and swallows `{text}`"),
            )
            .help(format!("write `{name}=true` or `{name}=false`")),
        );
    }
}

struct Looker<'a, 'v, 'l> {
    view: &'a View<'l>,
    given: &'a Given,
    findings: &'v mut Vec<Finding>,
    typed: Option<&'static str>,
}

impl Looker<'_, '_, '_> {
    fn look(
        &mut self,
        json: &Json,
        class: Option<&'static str>,
        names: &[&'static str],
        path: &mut Vec<String>,
    ) {
        if path.len() > DEEPEST {
            return;
        }
        match json {
            Json::Object(map) => {
                let members = class.and_then(|class| self.view.table.members(class));
                for (key, value) in map {
                    path.push(key.clone());
                    self.member(key, value, members.as_deref(), names, path);
                    path.pop();
                }
            }
            Json::Array(list) => {
                for (at, value) in list.iter().enumerate() {
                    path.push(at.to_string());
                    self.look(value, None, &[], path);
                    path.pop();
                }
            }
            Json::String(text) => self.quoted(text, None, path),
            _ => {}
        }
    }

    fn member(
        &mut self,
        key: &str,
        value: &Json,
        members: Option<&[&'static Member]>,
        names: &[&'static str],
        path: &mut Vec<String>,
    ) {
        let Some(members) = members else {
            if path.len() == 1 && !names.is_empty() && !names.contains(&key) {
                self.unknown(key, names, path);
            }
            self.look(value, None, &[], path);
            return;
        };
        if value.as_str().is_some_and(|text| text.starts_with("--"))
            && self.given.dotted.iter().any(|dotted| dotted.path == *path)
        {
            // Said already: the member swallowed a flag.
            return;
        }
        let Some(member) = members.iter().find(|member| member.name == key) else {
            let names: Vec<&'static str> = members.iter().map(|member| member.name).collect();
            self.unknown(key, &names, path);
            return;
        };
        match value {
            Json::Object(_) if member.class.is_none() && !holds_objects(member) => {
                self.fits(value, member, path);
            }
            Json::Object(_) | Json::Array(_) => self.look(value, member.class, &[], path),
            Json::String(text) if member.value == Type::Bool => self.quoted(text, Some(member), path),
            _ => self.fits(value, member, path),
        }
    }

    fn fits(&mut self, value: &Json, member: &Member, path: &[String]) {
        let about = self.view.value_of(self.given, path);
        let name = path.join(".");
        let wrong = match member.value {
            Type::Integer => {
                let whole = |number: &serde_json::Number| {
                    number.is_i64()
                        || number.is_u64()
                        || number.as_f64().is_some_and(|value| value.fract() == 0.0)
                };
                let fits = match value {
                    Json::Number(number) => whole(number),
                    Json::String(text) => crate::value::integer(text).is_some(),
                    Json::Null => true,
                    _ => false,
                };
                (!fits).then_some("a whole number")
            }
            Type::Number => {
                let fits = match value {
                    Json::Number(_) | Json::Null => true,
                    Json::String(text) => crate::value::number(text).is_some(),
                    _ => false,
                };
                (!fits).then_some("a number")
            }
            Type::Bool => {
                (!matches!(value, Json::Bool(_) | Json::Null | Json::Number(_))).then_some("true or false")
            }
            _ => None,
        };
        if let Some(wants) = wrong {
            self.findings.push(Finding::error(
                slugs::WRONG_VALUE_TYPE,
                about,
                format!("`{name}` of `{}` takes {wants}, not `{value}`", self.given.spelling),
            ));
            return;
        }
        let (Some(text), legal) =
            (value.as_str(), if member.choices.is_empty() { &member.known } else { &member.choices })
        else {
            return;
        };
        let engine = self.view.table.engine();
        let fold = |word: &str| {
            if engine == Engine::Vllm { word.to_lowercase().replace('-', "_") } else { word.to_owned() }
        };
        if !legal.is_empty() && !legal.iter().any(|one| fold(one) == fold(text)) {
            let (key, class) = (member.name, self.typed);
            let elsewhere = |other: &crate::Table| {
                class.and_then(|class| other.members(class)).is_some_and(|members| {
                    members.iter().any(|one| {
                        one.name == key
                            && one.choices.iter().chain(&one.known).any(|one| fold(one) == fold(text))
                    })
                })
            };
            self.findings.extend(not_among(self.view, &name, text, legal, about, elsewhere));
        }
    }

    fn unknown(&mut self, key: &str, names: &[&'static str], path: &[String]) {
        let table = &self.view.table;
        let elsewhere: Vec<&str> = table
            .siblings()
            .filter(|other| {
                self.given
                    .flag
                    .and_then(|flag| flag.names.first())
                    .and_then(|name| other.flag(name))
                    .is_some_and(|(flag, _)| {
                        let described = flag.class.and_then(|class| other.members(class));
                        path.len() == 1
                            && (flag.members.contains(&key)
                                || described.is_some_and(|all| all.iter().any(|member| member.name == key)))
                    })
            })
            .map(|other| other.version())
            .collect();
        if !self.view.launch.chosen.exact && !elsewhere.is_empty() {
            return;
        }
        let about = self.view.value_of(self.given, path);
        let message = format!(
            "`{}` has no member `{}` in {} {}",
            self.given.spelling,
            path.join("."),
            table.engine().title(),
            table.version()
        );
        let mut finding = if self.view.launch.chosen.exact {
            Finding::error(slugs::UNKNOWN_MEMBER, about, message)
        } else {
            Finding::warning(slugs::UNKNOWN_MEMBER, about, message)
        };
        if let Some(last) = elsewhere.last() {
            finding = finding.why(format!("{} {last} has it", table.engine().title()));
        }
        if let Some(near) = diag::nearest(key, names.iter().copied()) {
            finding = finding.help(format!("did you mean `{near}`?")).replace(near);
        }
        self.findings.push(finding);
    }

    /// `"false"` is not false: any text is true where the engine does not read it as a boolean.
    fn quoted(&mut self, text: &str, member: Option<&Member>, path: &[String]) {
        // A dotted member that is no JSON is text, and a boolean field reads `True` from text.
        let dotted = self.given.dotted.iter().any(|dotted| path.starts_with(&dotted.path));
        if dotted && member.is_some() && ["true", "false"].contains(&text.to_lowercase().as_str()) {
            return;
        }
        let yes = match text.to_lowercase().as_str() {
            "true" => true,
            "false" => false,
            _ => {
                if let Some(member) = member {
                    self.fits(&Json::from(text), member, path);
                }
                return;
            }
        };
        let about = self.view.value_of(self.given, path);
        let message = format!("`{}` is the text \"{text}\", not the boolean {yes}", path.join("."));
        let finding = if yes || member.is_some() {
            Finding::warning(slugs::QUOTED_BOOLEAN, about, message).why(if member.is_some() {
                "this version reads the text as the boolean; others need not"
            } else {
                "any text counts as true, so it works by luck"
            })
        } else {
            Finding::error(slugs::QUOTED_BOOLEAN, about, message)
                .why("any text that is not empty counts as true, so this switches it on")
        };
        self.findings.push(finding.help(format!("write `{yes}` without quotes")).replace(yes.to_string()));
    }
}

/// Whether a member may be an object although no class describes it.
fn holds_objects(member: &Member) -> bool {
    matches!(member.value, Type::Json | Type::JsonOrText | Type::JsonList | Type::Opaque) || member.list
}

/// Whether a word is a placeholder of a template or a variable of a shell: `{NAME}`, `$NAME`, `<name>`.
fn unexpanded(word: &str) -> bool {
    let capital = |text: &str| {
        !text.is_empty()
            && text.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
    };
    let inside = |open: &str, close: &str| word.strip_prefix(open).and_then(|rest| rest.strip_suffix(close));
    // `<node-rank>`, also before a port; `<think>` is a word of models.
    let angled = word.strip_prefix('<').and_then(|rest| rest.split_once('>')).is_some_and(|(name, _)| {
        name.contains(['-', '_', '|'])
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_|".contains(&byte))
    });
    angled
        || inside("{", "}").is_some_and(capital)
        || inside("${", "}").is_some_and(capital)
        || word.strip_prefix('$').is_some_and(capital)
}
