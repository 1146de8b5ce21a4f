//! Order of evaluation, and ways to fail.

use std::collections::BTreeSet;

use diag::{Diagnostic, slugs::eval as slugs};

use crate::call::Args;
use crate::coerce::Coercion;
use crate::failure::{Failure, Outcome};
use crate::machine::Machine;
use crate::slot::Slot;

pub(super) fn identity(_: &mut Machine<'_>, args: &Args) -> Outcome<Slot> {
    Ok(args.list[0])
}

pub(super) fn seq(machine: &mut Machine<'_>, args: &Args) -> Outcome<Slot> {
    machine.force(args.list[1])
}

pub(super) fn deep_seq(machine: &mut Machine<'_>, args: &Args) -> Outcome<Slot> {
    machine.force_deep(args.list[0])?;
    machine.force(args.list[1])
}

impl Machine<'_> {
    /// Returns the text of a message argument.
    fn message(&mut self, args: &Args) -> Outcome<String> {
        let base = self.scratch.len();
        let appended = self.append(args.list[0], Coercion::Paths, self.argument(args, 0));
        let text = self.scratch.split_off(base);
        appended?;
        Ok(String::from_utf8_lossy(&text).into_owned())
    }
}

pub(super) fn throw(machine: &mut Machine<'_>, args: &Args) -> Outcome<Slot> {
    let message = machine.message(args)?;
    let mut diagnostic = Diagnostic::error(slugs::THROWN, message);
    diagnostic.span = machine.code.span(args.at);
    Err(Failure::catchable(diagnostic))
}

pub(super) fn abort(machine: &mut Machine<'_>, args: &Args) -> Outcome<Slot> {
    let message = machine.message(args)?;
    let mut diagnostic = Diagnostic::error(slugs::ABORTED, message);
    diagnostic.span = machine.code.span(args.at);
    Err(Failure::new(diagnostic))
}

pub(super) fn try_eval(machine: &mut Machine<'_>, args: &Args) -> Outcome<Slot> {
    let (calls, scratch, loading) = (machine.calls, machine.scratch.len(), machine.loading.len());
    let (success, value) = match machine.force(args.list[0]) {
        Ok(value) => (true, value),
        Err(failure) if failure.catchable => {
            // What was under way is given up.
            machine.calls = calls;
            machine.scratch.truncate(scratch);
            machine.loading.truncate(loading);
            (false, Slot::Bool { at: args.at, value: false })
        }
        Err(failure) => return Err(failure),
    };
    let known = machine.known;
    let success = Slot::Bool { at: args.at, value: success };
    machine.make_set(vec![(known.success, success), (known.value, value)], args.at)
}

pub(super) fn add_error_context(machine: &mut Machine<'_>, args: &Args) -> Outcome<Slot> {
    match machine.force(args.list[1]) {
        Ok(value) => Ok(value),
        Err(mut failure) => {
            let context = machine.force(args.list[0])?;
            let message = machine.message(&Args { list: [context; 3], ..*args })?;
            failure.diagnostic.notes.push(message);
            Err(failure)
        }
    }
}

/// The most messages that are kept.
const TRACES: usize = 10_000;

pub(super) fn trace(machine: &mut Machine<'_>, args: &Args) -> Outcome<Slot> {
    let mut text = Vec::new();
    match args.list[0] {
        value @ Slot::String { .. } => text.extend_from_slice(machine.bytes_of(value)),
        value => machine.write_nix(value, &mut text, &mut BTreeSet::new())?,
    }
    keep_message(machine, String::from_utf8_lossy(&text).into_owned())?;
    machine.force(args.list[1])
}

pub(super) fn trace_verbose(machine: &mut Machine<'_>, args: &Args) -> Outcome<Slot> {
    machine.force(args.list[1])
}

pub(super) fn warn(machine: &mut Machine<'_>, args: &Args) -> Outcome<Slot> {
    let (start, len) = machine.string_argument(args, 0)?;
    let text = String::from_utf8_lossy(machine.bytes(start, len)).into_owned();
    keep_message(machine, format!("warning: {text}"))?;
    machine.force(args.list[1])
}

fn keep_message(machine: &mut Machine<'_>, message: String) -> Outcome<()> {
    machine.traced += message.len() as u64;
    if machine.traced > machine.limits.output {
        return Err(machine.too_much_output());
    }
    if machine.traces.len() < TRACES {
        machine.traces.push(message);
    }
    Ok(())
}
