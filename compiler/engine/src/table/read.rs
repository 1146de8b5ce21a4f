//! The lines of a table, cell by cell.

use super::{Flag, Kind, Member, Type, VariableValue};

/// A flag's name with dashes only.
pub(super) fn fold(name: &str) -> String {
    name.replace('_', "-")
}

pub(super) fn mask(range: &str, versions: &[&str]) -> u32 {
    let place = |name: &str| versions.iter().position(|known| *known == name);
    let mut all = 0;
    for run in range.split(',') {
        let (from, to) = run.split_once("..").unwrap_or((run, run));
        let from = if from.is_empty() { Some(0) } else { place(from) };
        let to = if to.is_empty() { versions.len().checked_sub(1) } else { place(to) };
        if let (Some(from), Some(to)) = (from, to) {
            (from..=to).for_each(|at| all |= 1_u32.checked_shl(u32::try_from(at).unwrap_or(32)).unwrap_or(0));
        }
    }
    all
}

pub(super) fn flag(versions: u32, mut cells: std::str::Split<'static, char>) -> Flag {
    let names = cells.next().unwrap_or("").split(',').collect();
    let field = cells.next().unwrap_or("");
    let kind = match cells.next().unwrap_or("") {
        "switch" => Kind::Switch,
        "toggle" => Kind::Toggle,
        "list" => Kind::List,
        "any" => Kind::Any,
        "optional" => Kind::Optional,
        "append" => Kind::Append,
        "positional" => Kind::Positional,
        _ => Kind::Value,
    };
    let mut flag = Flag {
        names,
        negations: Vec::new(),
        field,
        kind,
        value: value_type(cells.next().unwrap_or("")),
        choices: Vec::new(),
        known: Vec::new(),
        class: None,
        members: Vec::new(),
        default: None,
        optional: false,
        required: false,
        resolved: false,
        deprecated: false,
        ignored: false,
        instead: None,
        versions,
    };
    for cell in cells {
        match cell.split_once('=').unwrap_or((cell, "")) {
            ("no", text) => flag.negations = text.split('|').collect(),
            ("choices", text) => flag.choices = text.split('|').collect(),
            ("known", text) => flag.known = text.split('|').collect(),
            ("class", text) => flag.class = Some(text),
            ("fields", text) => flag.members = text.split('|').collect(),
            ("default", text) => flag.default = Some(text),
            ("use", text) => flag.instead = Some(text),
            ("optional", _) => flag.optional = true,
            ("required", _) => flag.required = true,
            ("resolved", _) => flag.resolved = true,
            ("deprecated", _) => flag.deprecated = true,
            ("ignored", _) => flag.ignored = true,
            _ => {}
        }
    }
    flag
}

pub(super) fn member(versions: u32, mut cells: std::str::Split<'static, char>) -> Member {
    let name = cells.next().unwrap_or("");
    let list = cells.next() == Some("list");
    let value = value_type(cells.next().unwrap_or(""));
    let mut member =
        Member { name, list, value, choices: Vec::new(), known: Vec::new(), class: None, versions };
    for cell in cells {
        match cell.split_once('=').unwrap_or((cell, "")) {
            ("choices", text) => member.choices = text.split('|').collect(),
            ("known", text) => member.known = text.split('|').collect(),
            ("class", text) => member.class = Some(text),
            _ => {}
        }
    }
    member
}

pub(super) fn variable(versions: u32, cells: std::str::Split<'static, char>) -> Option<VariableValue> {
    let mut read = VariableValue { value: Type::Text, choices: Vec::new(), versions };
    for cell in cells {
        match cell.split_once('=').unwrap_or((cell, "")) {
            ("type", text) => read.value = value_type(text),
            ("choices", text) => read.choices = text.split('|').collect(),
            _ => {}
        }
    }
    (read.value != Type::Text || !read.choices.is_empty()).then_some(read)
}

fn value_type(name: &str) -> Type {
    match name {
        "bool" => Type::Bool,
        "text" => Type::Text,
        "integer" => Type::Integer,
        "human-integer" => Type::HumanInteger,
        "number" => Type::Number,
        "json" => Type::Json,
        "json-or-text" => Type::JsonOrText,
        "json-list" => Type::JsonList,
        "lower" => Type::Lower,
        _ => Type::Opaque,
    }
}
