//! `recipec flags`: what the command line of an engine version takes.

use std::fmt::Write as _;

use diag::slugs::cli::{NO_SUCH_ENGINE, NO_SUCH_FLAG};
use diag::{Diagnostic, nearest};
use engine::{Engine, Flag, Kind, Table, Type, book};
use serde_json::{Value, json};

use crate::arguments::Flags;
use crate::outcome::{Answer, Document, Outcome};

struct Listed {
    table: Table,
    /// The flags asked for, each with the versions that have it.
    flags: Vec<(&'static Flag, Vec<&'static str>)>,
    /// Whether one flag was asked for: it is shown in full.
    full: bool,
}

/// Lists the flags of an engine version, or shows those that are named.
pub(crate) fn run(verb: &Flags) -> Outcome {
    let Some(engine) = Engine::parse(&verb.engine) else {
        let names = Engine::ALL.map(Engine::name);
        let finding = Diagnostic::error(NO_SUCH_ENGINE, format!("no engine is called `{}`", verb.engine));
        return Outcome::refusal("flags", finding.help(format!("there are {}", names.join(", "))));
    };
    let book = book(engine);
    let table = match &verb.version {
        None => book.tables().next_back(),
        Some(version) => book.exactly(version),
    };
    let Some(table) = table else {
        let version = verb.version.as_deref().unwrap_or_default();
        let message = format!("there is no table of {} {version}", engine.title());
        let finding = Diagnostic::error(NO_SUCH_ENGINE, message);
        return Outcome::refusal("flags", finding.help(format!("there are {}", book.versions.join(", "))));
    };
    let mut flags = Vec::new();
    let mut findings = diag::Diagnostics::new();
    for name in &verb.flags {
        let spelling = if name.starts_with('-') { name.clone() } else { format!("--{name}") };
        let found = table.registered(&spelling).and_then(|spelling| table.flag(spelling));
        match found {
            Some((flag, _)) => flags.push((flag, table.versions_with(&spelling))),
            None => findings.push(unknown(&table, &spelling)),
        }
    }
    if verb.flags.is_empty() {
        flags.extend(table.flags().map(|flag| (flag, Vec::new())));
    }
    let answer = Listed { table, flags, full: !verb.flags.is_empty() };
    Outcome::new("flags", answer).with(findings, diag::SourceMap::new())
}

fn unknown(table: &Table, spelling: &str) -> Diagnostic {
    let title = table.engine().title();
    let finding = Diagnostic::error(NO_SUCH_FLAG, format!("{title} {} has no `{spelling}`", table.version()));
    let elsewhere = table.versions_with(spelling);
    if !elsewhere.is_empty() {
        return finding.why(format!("it is in {}", elsewhere.join(", ")));
    }
    match nearest(spelling, table.spellings()) {
        Some(near) => finding.help(format!("there is `{near}`")),
        None => finding,
    }
}

fn takes(flag: &Flag) -> &'static str {
    match (flag.kind, flag.value) {
        (Kind::Switch | Kind::Toggle, _) | (_, Type::Bool) => "nothing",
        (_, Type::Text | Type::Lower) => "text",
        (_, Type::Integer) => "a whole number",
        (_, Type::HumanInteger) => "a whole number, such as 8k",
        (_, Type::Number) => "a number",
        (_, Type::Json) => "JSON",
        (_, Type::JsonOrText) => "JSON or text",
        (_, Type::JsonList) => "a JSON list",
        (_, Type::Opaque) => "a value of its own form",
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

impl Answer for Listed {
    fn human(&self) -> String {
        let mut text = String::new();
        for (flag, versions) in &self.flags {
            let names = flag.names.join(", ");
            if !self.full {
                let end = if flag.deprecated { "  (on its way out)" } else { "" };
                let _ = writeln!(text, "{names}  {}{}{end}", takes(flag), many(flag.kind));
                continue;
            }
            let title = self.table.engine().title();
            let _ = writeln!(text, "{names}  ({title} {})", self.table.version());
            let mut line = |name: &str, value: String| {
                if !value.is_empty() {
                    let _ = writeln!(text, "  {name:9} {value}");
                }
            };
            line("takes", format!("{}{}", takes(flag), many(flag.kind)));
            line("no", flag.negations.join(", "));
            line("choices", flag.choices.join(", "));
            line("known", flag.known.join(", "));
            line("default", flag.default.unwrap_or_default().to_owned());
            line("field", flag.field.to_owned());
            line("versions", versions.join(", "));
            let state = match (flag.deprecated, flag.ignored) {
                (_, true) => "accepted, and does nothing",
                (true, false) => "on its way out",
                _ => "",
            };
            line("state", state.to_owned());
            line("instead", flag.instead.unwrap_or_default().to_owned());
        }
        text
    }

    fn document(&self) -> Document {
        let flags: Vec<Value> = self
            .flags
            .iter()
            .map(|(flag, versions)| {
                json!({
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
                })
            })
            .collect();
        let fields = json!({
            "engine": self.table.engine().name(),
            "engineVersion": self.table.version(),
            "flags": flags,
        });
        Document::Fields(fields.as_object().cloned().unwrap_or_default())
    }
}
