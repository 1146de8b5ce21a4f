//! `recipec flags`: what the command line of an engine version takes.

use std::fmt::Write as _;

use diag::slugs::cli::{NO_SUCH_ENGINE, NO_SUCH_FLAG};
use diag::{Diagnostic, nearest};
use engine::{Book, Engine, Flag, Kind, Member, Table, Type, VariableValue, book};
use serde_json::{Value, json};

use crate::arguments::Flags;
use crate::outcome::{Answer, Document, Outcome};

struct Listed {
    table: Table,
    shown: Vec<Shown>,
    /// Whether something was asked for by name: it is shown in full.
    full: bool,
}

/// One thing that is shown.
enum Shown {
    /// A flag, with the versions that have the spelling asked for.
    Flag { flag: &'static Flag, versions: Vec<&'static str>, beginning: Option<String> },
    /// A member of a JSON value.
    Member { path: String, member: &'static Member },
    /// An environment variable.
    Variable {
        name: String,
        value: Option<&'static VariableValue>,
        versions: Vec<&'static str>,
        now: Option<&'static str>,
    },
}

/// Lists the flags of an engine version, or shows what is named.
pub(crate) fn run(verb: &Flags) -> Outcome {
    let Some(engine) = Engine::parse(&verb.engine.to_lowercase()) else {
        let names = Engine::ALL.map(Engine::name);
        let finding = Diagnostic::error(NO_SUCH_ENGINE, format!("no engine is called `{}`", verb.engine));
        return Outcome::refusal("flags", finding.help(format!("there are {}", names.join(", "))));
    };
    let book = book(engine);
    let first = verb.flags.first().filter(|word| verb.version.is_none() && is_version(book, word));
    let asked = verb.version.as_ref().or(first);
    let names = verb.flags.get(usize::from(first.is_some())..).unwrap_or_default();
    let table = match asked {
        None => book.tables().next_back(),
        Some(version) => book.exactly(version.trim_start_matches('v')),
    };
    let Some(table) = table else {
        let version = asked.map(String::as_str).unwrap_or_default();
        let message = format!("there is no table of {} {version}", engine.title());
        let nearest = book.nearest(version.trim_start_matches('v')).version();
        let finding = Diagnostic::error(NO_SUCH_ENGINE, message)
            .help(format!("there are {}", book.versions.join(", ")))
            .help(format!("recipes of that version are judged by {nearest}"));
        return Outcome::refusal("flags", finding);
    };
    let mut shown = Vec::new();
    let mut findings = diag::Diagnostics::new();
    for name in names {
        match find(&table, name) {
            Some(found) => shown.push(found),
            None => findings.push(unknown(&table, name)),
        }
    }
    if names.is_empty() {
        let all = table.flags();
        shown.extend(all.map(|flag| Shown::Flag { flag, versions: Vec::new(), beginning: None }));
    }
    let answer = Listed { table, shown, full: !names.is_empty() };
    Outcome::new("flags", answer).with(findings, diag::SourceMap::new())
}

/// Whether a word is a version and no flag: a number, or a name that has a table.
fn is_version(book: &Book, word: &str) -> bool {
    let number = word.trim_start_matches('v');
    let moving = ["nightly", "latest", "main", "dev"].contains(&word);
    number.starts_with(|c: char| c.is_ascii_digit()) || moving || book.versions.contains(&word)
}

/// Finds what a name stands for: a flag as the engine's parser takes it, else as people write it;
/// a member of a JSON value; a variable.
fn find(table: &Table, name: &str) -> Option<Shown> {
    let bare = name.trim_start_matches('-');
    if bare.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_') {
        let versions = table.versions_with_variable(bare);
        if !versions.is_empty() {
            let value = table.variable_value(bare);
            let now = table.renamed_variable(bare);
            return Some(Shown::Variable { name: bare.to_owned(), value, versions, now });
        }
    }
    let dashed = bare.replace('_', "-");
    let spellings = [
        name.to_owned(),
        format!("--{bare}"),
        format!("-{bare}"),
        format!("--{dashed}"),
        format!("--{}", bare.replace('-', "_")),
    ];
    for spelling in &spellings {
        if let Some((flag, _)) = table.registered(spelling).and_then(|spelling| table.flag(spelling)) {
            let versions = table.versions_with(table.registered(spelling)?);
            return Some(Shown::Flag { flag, versions, beginning: None });
        }
    }
    if let Some((option, path)) = dashed.split_once('.') {
        return member(table, option, path);
    }
    let beginning = format!("--{dashed}");
    let all = if table.parser().abbreviations { table.beginning_with(&beginning) } else { Vec::new() };
    let mut flags: Vec<&'static Flag> = all.iter().filter_map(|name| Some(table.flag(name)?.0)).collect();
    flags.dedup_by_key(|flag| flag.field);
    let [flag] = flags.as_slice() else { return None };
    let versions = table.versions_with(all.first()?);
    Some(Shown::Flag { flag, versions, beginning: Some(beginning) })
}

fn member(table: &Table, option: &str, path: &str) -> Option<Shown> {
    let Some(Shown::Flag { flag, .. }) = find(table, option) else { return None };
    let mut class = flag.class?;
    let mut names = path.split('.').peekable();
    while let Some(name) = names.next() {
        let name = name.replace('-', "_");
        let found = table.members(class)?.into_iter().find(|member| member.name == name)?;
        if names.peek().is_none() {
            let full = flag.names.first().copied().unwrap_or_default();
            return Some(Shown::Member { path: format!("{full}.{}", path.replace('-', "_")), member: found });
        }
        class = found.class?;
    }
    None
}

fn unknown(table: &Table, name: &str) -> Diagnostic {
    let title = table.engine().title();
    let bare = name.trim_start_matches('-');
    let variable = bare.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
    let spelling = if name.starts_with('-') || variable { name.to_owned() } else { format!("--{bare}") };
    let message = if variable {
        format!("no known {title} reads `{spelling}`")
    } else {
        format!("{title} {} has no `{spelling}`", table.version())
    };
    let finding = Diagnostic::error(NO_SUCH_FLAG, message);
    if let Some((since, help)) = engine::became(table.engine(), &spelling) {
        let gone = since.as_str() != "0.0.0";
        let finding = if gone { finding.why(format!("it is gone since {since}")) } else { finding };
        return finding.help(help);
    }
    let elsewhere = table.versions_with(&spelling);
    if !elsewhere.is_empty() {
        return finding.why(format!("it is in {}", elsewhere.join(", ")));
    }
    let all = table.beginning_with(&spelling);
    if all.len() > 1 && spelling.len() > 3 {
        return finding.help(format!("there are {}", all.join(", ")));
    }
    let near =
        if variable { nearest(&spelling, table.variables()) } else { nearest(&spelling, table.spellings()) };
    match near {
        Some(near) => finding.help(format!("there is `{near}`")),
        None => finding,
    }
}

fn kind(value: Type) -> &'static str {
    match value {
        Type::Bool => "yes or no",
        Type::Text | Type::Lower => "text",
        Type::Integer => "a whole number",
        Type::HumanInteger => "a whole number, such as 8k",
        Type::Number => "a number",
        Type::Json => "JSON",
        Type::JsonOrText => "JSON or text",
        Type::JsonList => "a JSON list",
        Type::Opaque => "a value of its own form",
    }
}

fn takes(flag: &Flag) -> &'static str {
    match (flag.kind, flag.value) {
        (Kind::Switch | Kind::Toggle, _) | (_, Type::Bool) => "nothing",
        (_, value) => kind(value),
    }
}

fn many(kind: Kind) -> &'static str {
    match kind {
        Kind::Value | Kind::Switch | Kind::Toggle | Kind::Positional => "",
        Kind::List => ", one or more",
        Kind::Any => ", any number",
        Kind::Optional => ", or nothing",
        Kind::Append => ", each time it is given",
    }
}

impl Listed {
    fn one(&self, shown: &Shown, text: &mut String) {
        let title = format!("({} {})", self.table.engine().title(), self.table.version());
        let mut lines: Vec<(&str, String)> = Vec::new();
        match shown {
            Shown::Flag { flag, versions, beginning } => {
                let _ = writeln!(text, "{}  {title}", flag.names.join(", "));
                if let Some(beginning) = beginning {
                    lines.push(("written", format!("`{beginning}` is a beginning that no other flag has")));
                }
                lines.push(("takes", format!("{}{}", takes(flag), many(flag.kind))));
                lines.push(("no", flag.negations.join(", ")));
                lines.push(("choices", flag.choices.join(", ")));
                lines.push(("known", flag.known.join(", ")));
                let members = flag.class.and_then(|class| self.table.members(class));
                let members = members.map(|all| all.iter().map(|member| member.name).collect());
                lines.push(("members", members.unwrap_or_else(|| flag.members.clone()).join(", ")));
                lines.push(("default", flag.default.unwrap_or_default().to_owned()));
                lines.push(("field", flag.field.to_owned()));
                lines.push(("versions", versions.join(", ")));
                let state = match (flag.deprecated, flag.ignored) {
                    (_, true) => "accepted, and does nothing",
                    (true, false) => "on its way out",
                    _ => "",
                };
                lines.push(("state", state.to_owned()));
                lines.push(("instead", flag.instead.unwrap_or_default().to_owned()));
            }
            Shown::Member { path, member } => {
                let _ = writeln!(text, "{path}  {title}");
                let many = if member.list { ", one or more" } else { "" };
                lines.push((
                    "takes",
                    format!("{}{many}", member.class.map_or(kind(member.value), |_| "JSON")),
                ));
                lines.push(("choices", member.choices.join(", ")));
                lines.push(("known", member.known.join(", ")));
                let members = member.class.and_then(|class| self.table.members(class)).unwrap_or_default();
                let names: Vec<&str> = members.iter().map(|member| member.name).collect();
                lines.push(("members", names.join(", ")));
            }
            Shown::Variable { name, value, versions, now } => {
                let _ = writeln!(text, "{name}  {title}");
                if let Some(value) = value {
                    lines.push(("takes", kind(value.value).to_owned()));
                    lines.push(("choices", value.choices.join(", ")));
                }
                lines.push(("versions", versions.join(", ")));
                if !self.table.reads_variable(name) {
                    lines.push(("state", "not read by this version".to_owned()));
                }
                lines.push(("instead", now.unwrap_or_default().to_owned()));
            }
        }
        for (name, value) in lines.into_iter().filter(|(_, value)| !value.is_empty()) {
            let _ = writeln!(text, "  {name:9} {value}");
        }
    }
}

impl Answer for Listed {
    fn human(&self) -> String {
        let mut text = String::new();
        for shown in &self.shown {
            match shown {
                Shown::Flag { flag, .. } if !self.full => {
                    let end = if flag.deprecated { "  (on its way out)" } else { "" };
                    let names = flag.names.join(", ");
                    let _ = writeln!(text, "{names}  {}{}{end}", takes(flag), many(flag.kind));
                }
                _ => self.one(shown, &mut text),
            }
        }
        text
    }

    fn document(&self) -> Document {
        let mut flags = Vec::new();
        let mut members = Vec::new();
        let mut variables = Vec::new();
        for shown in &self.shown {
            match shown {
                Shown::Flag { flag, versions, .. } => flags.push(json!({
                    "names": flag.names,
                    "negations": flag.negations,
                    "field": flag.field,
                    "takes": takes(flag),
                    "choices": flag.choices,
                    "known": flag.known,
                    "default": flag.default.and_then(|text| serde_json::from_str::<Value>(text).ok()),
                    "required": flag.required,
                    "deprecated": flag.deprecated,
                    "ignored": flag.ignored,
                    "instead": flag.instead,
                    "versions": versions,
                })),
                Shown::Member { path, member } => members.push(json!({
                    "path": path,
                    "takes": kind(member.value),
                    "choices": member.choices,
                    "known": member.known,
                })),
                Shown::Variable { name, value, versions, now } => variables.push(json!({
                    "name": name,
                    "takes": value.map(|value| kind(value.value)),
                    "choices": value.map(|value| &value.choices),
                    "instead": now,
                    "versions": versions,
                })),
            }
        }
        let fields = json!({
            "engine": self.table.engine().name(),
            "engineVersion": self.table.version(),
            "flags": flags,
            "members": members,
            "variables": variables,
        });
        Document::Fields(fields.as_object().cloned().unwrap_or_default())
    }
}
