//! `fromTOML`.

use diag::slugs::eval as slugs;
use toml::Value as Toml;

use crate::call::Args;
use crate::failure::{Failure, Outcome};
use crate::machine::Machine;
use crate::slot::Slot;

pub(super) fn from_toml(machine: &mut Machine<'_>, args: &Args) -> Outcome<Slot> {
    let (start, len) = machine.string_argument(args, 0)?;
    let Ok(text) = std::str::from_utf8(machine.bytes(start, len)) else {
        return Err(machine.not_unicode("a TOML text"));
    };
    match text.parse::<toml::Table>() {
        Ok(table) => build(machine, &Toml::Table(table), args),
        Err(error) => {
            let message = format!("the text is not TOML: {}", error.message());
            Err(machine.unreadable_text(args, slugs::INVALID_TOML, message))
        }
    }
}

fn build(machine: &mut Machine<'_>, value: &Toml, args: &Args) -> Outcome<Slot> {
    let at = args.at;
    Ok(match value {
        Toml::String(text) if text.contains('\0') => return Err(null_character(machine, args)),
        Toml::String(text) => machine.string(text.as_bytes(), at)?,
        Toml::Integer(value) => Slot::Int { at, value: *value },
        Toml::Float(value) => Slot::Float { at, value: *value },
        Toml::Boolean(value) => Slot::Bool { at, value: *value },
        Toml::Datetime(_) => {
            let message = "the text has a date, and this language has no dates".to_owned();
            return Err(machine.unreadable_text(args, slugs::INVALID_TOML, message));
        }
        Toml::Array(elements) => {
            let mut slots = Vec::with_capacity(elements.len());
            for element in elements {
                slots.push(machine.nested(|machine| build(machine, element, args))?);
            }
            machine.make_list(&slots, at)?
        }
        Toml::Table(table) => {
            let mut pairs = Vec::with_capacity(table.len());
            for (name, value) in table {
                if name.contains('\0') {
                    return Err(null_character(machine, args));
                }
                let value = machine.nested(|machine| build(machine, value, args))?;
                pairs.push((machine.intern(name), value));
            }
            machine.make_set(pairs, at)?
        }
    })
}

fn null_character(machine: &Machine<'_>, args: &Args) -> Box<Failure> {
    let message = "the text has a null character, which no string of this language has".to_owned();
    machine.unreadable_text(args, slugs::INVALID_TOML, message)
}
