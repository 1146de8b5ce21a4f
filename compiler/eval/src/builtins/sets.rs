//! Sets.

use crate::call::Args;
use crate::failure::{Failure, Outcome};
use crate::machine::Machine;
use crate::shapes::{Source, Written};
use crate::slot::{Slot, Symbol};

pub(super) fn attr_names(machine: &mut Machine<'_>, args: &Args) -> Outcome<Slot> {
    let (shape, _) = machine.set_argument(args, 0)?;
    let layout = machine.shapes.get(shape).layout;
    let mut names = Vec::with_capacity(machine.shapes.len(shape) as usize);
    for index in machine.ordered(shape) {
        let position = machine.shapes.ordered(index);
        let name = machine.shapes.names(layout)[position as usize];
        names.push(machine.name_string(name, args.at)?);
    }
    machine.make_list(&names, args.at)
}

pub(super) fn attr_values(machine: &mut Machine<'_>, args: &Args) -> Outcome<Slot> {
    let (shape, start) = machine.set_argument(args, 0)?;
    let order = machine.ordered(shape);
    let values: Vec<Slot> = order.map(|index| machine.share(start + machine.shapes.ordered(index))).collect();
    machine.make_list(&values, args.at)
}

pub(super) fn get_attr(machine: &mut Machine<'_>, args: &Args) -> Outcome<Slot> {
    let (name, len) = machine.string_argument(args, 0)?;
    let (shape, start) = machine.set_argument(args, 1)?;
    let name = machine.intern_bytes(name, len)?;
    match machine.attribute(shape, start, name) {
        Some(slot) => machine.force_at(slot),
        None => {
            let span = machine.code.span(machine.argument(args, 0));
            Err(Failure::new(machine.missing(args.list[1], shape, name, span)))
        }
    }
}

pub(super) fn has_attr(machine: &mut Machine<'_>, args: &Args) -> Outcome<Slot> {
    let (name, len) = machine.string_argument(args, 0)?;
    let (shape, start) = machine.set_argument(args, 1)?;
    // A name that no text has used is in no set, Unicode or not.
    let name = machine.find_bytes(name, len);
    let value = name.is_some_and(|name| machine.attribute(shape, start, name).is_some());
    Ok(Slot::Bool { at: args.at, value })
}

pub(super) fn get_attr_pos(machine: &mut Machine<'_>, args: &Args) -> Outcome<Slot> {
    let (name, len) = machine.string_argument(args, 0)?;
    let (shape, start) = machine.set_argument(args, 1)?;
    let name = machine.intern_bytes(name, len)?;
    if machine.attribute(shape, start, name).is_none() {
        return Ok(Slot::Null { at: args.at });
    }
    // What a builtin made was written nowhere.
    let span = match machine.made_by_builtin(shape, name) {
        true => None,
        false => machine.place(machine.written(shape, name)),
    };
    machine.position_set(span, args.at)
}

impl Machine<'_> {
    fn made_by_builtin(&self, mut shape: u32, name: Symbol) -> bool {
        loop {
            match self.shapes.get(shape).source {
                Source::Written { .. } => return false,
                Source::Made { .. } => return true,
                Source::Kept { from } => shape = from,
                Source::Merged { left, right } => {
                    let in_right = self.shapes.find(self.shapes.get(right).layout, name).is_some();
                    shape = if in_right { right } else { left };
                }
            }
        }
    }

    /// Returns the names in a list of strings.
    fn names_in(&mut self, args: &Args, index: usize) -> Outcome<Vec<Symbol>> {
        let (from, len) = self.list_argument(args, index)?;
        let mut names = Vec::with_capacity(len as usize);
        for slot in from..from + len {
            match self.force_at(slot)? {
                Slot::String { start, len, .. } => names.extend(self.find_bytes(start, len)),
                other => {
                    let what = format!("a name in the list of `{}`", args.name);
                    return Err(self.wrong_type(other, "a string", &what, self.argument(args, index)));
                }
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    /// Returns the attributes of a set that `keep` asks for.
    fn kept(&mut self, set: Slot, mut keep: impl FnMut(&Self, Symbol) -> bool) -> Outcome<Slot> {
        let Slot::Attrs { at, shape, start } = set else { return Ok(set) };
        self.spend(self.shapes.len(shape) as usize / 4)?;
        let names = self.shapes.names_of(shape).iter().copied().zip(start..);
        let pairs: Vec<(Symbol, Slot)> = names
            .filter(|&(name, _)| keep(self, name))
            .map(|(name, slot)| (name, self.share(slot)))
            .collect();
        if pairs.len() == self.shapes.len(shape) as usize {
            return Ok(set);
        }
        self.make_sorted_set(&pairs, Source::Kept { from: shape }, at)
    }
}

pub(super) fn remove_attrs(machine: &mut Machine<'_>, args: &Args) -> Outcome<Slot> {
    machine.set_argument(args, 0)?;
    let names = machine.names_in(args, 1)?;
    machine.kept(args.list[0], |_, name| names.binary_search(&name).is_err())
}

pub(super) fn intersect_attrs(machine: &mut Machine<'_>, args: &Args) -> Outcome<Slot> {
    let (shape, _) = machine.set_argument(args, 0)?;
    machine.set_argument(args, 1)?;
    let layout = machine.shapes.get(shape).layout;
    machine.kept(args.list[1], |machine, name| machine.shapes.find(layout, name).is_some())
}

pub(super) fn list_to_attrs(machine: &mut Machine<'_>, args: &Args) -> Outcome<Slot> {
    let (from, len) = machine.list_argument(args, 0)?;
    let known = machine.known;
    let mut pairs: Vec<(Symbol, Slot)> = Vec::with_capacity(len as usize);
    for slot in from..from + len {
        machine.step()?;
        let element = machine.force_at(slot)?;
        let Slot::Attrs { shape, start, .. } = element else {
            let what = "an element of the argument of `listToAttrs`";
            return Err(machine.wrong_type(element, "a set", what, machine.argument(args, 0)));
        };
        let place = machine.code.span(machine.argument(args, 0));
        let Some(name) = machine.attribute(shape, start, known.name) else {
            return Err(Failure::new(machine.missing(element, shape, known.name, place)));
        };
        let name = match machine.force_at(name)? {
            Slot::String { start, len, .. } => machine.intern_bytes(start, len)?,
            other => return Err(machine.wrong_type(other, "a string", "`name`", machine.argument(args, 0))),
        };
        match machine.attribute(shape, start, known.value) {
            Some(value) => pairs.push((name, machine.share(value))),
            // Of several with one name the first counts, and the others need no value.
            None if pairs.iter().any(|&(other, _)| other == name) => {}
            None => return Err(Failure::new(machine.missing(element, shape, known.value, place))),
        }
    }
    pairs.reverse();
    machine.make_set(pairs, args.at)
}

pub(super) fn map_attrs(machine: &mut Machine<'_>, args: &Args) -> Outcome<Slot> {
    let (shape, from) = machine.set_argument(args, 1)?;
    let function = machine.keep(args.list[0])?;
    let len = machine.shapes.len(shape);
    let start = machine.alloc(len as usize)?;
    for index in 0..len {
        let name = machine.shapes.names_of(shape)[index as usize];
        let value = machine.share(from + index);
        let call = machine.delayed_call_two(function, name, value, args)?;
        machine.heap[(start + index) as usize] = call;
    }
    // The same names, written where they were.
    Ok(Slot::Attrs { at: args.at, shape, start })
}

pub(super) fn cat_attrs(machine: &mut Machine<'_>, args: &Args) -> Outcome<Slot> {
    let (name, len) = machine.string_argument(args, 0)?;
    let (from, count) = machine.list_argument(args, 1)?;
    let mut values = Vec::new();
    for slot in from..from + count {
        machine.step()?;
        let element = machine.force_at(slot)?;
        let Slot::Attrs { shape, start, .. } = element else {
            let what = "an element of the second argument of `catAttrs`";
            return Err(machine.wrong_type(element, "a set", what, machine.argument(args, 1)));
        };
        // Looked up anew each time: evaluating the element may be what first used the name.
        let name = machine.find_bytes(name, len);
        if let Some(slot) = name.and_then(|name| machine.attribute(shape, start, name)) {
            values.push(machine.share(slot));
        }
    }
    machine.make_list(&values, args.at)
}

pub(super) fn function_args(machine: &mut Machine<'_>, args: &Args) -> Outcome<Slot> {
    let lambda = match args.list[0] {
        Slot::Lambda { lambda, .. } => machine.code.lambdas[lambda as usize],
        Slot::Builtin { .. } => return machine.make_set(Vec::new(), args.at),
        _ => return Err(machine.wrong_argument(args, 0, "a function")),
    };
    let formals = machine.code.formals[lambda.formals as usize..][..lambda.formal_count as usize].to_vec();
    // The attributes count as written where the function names its arguments.
    let first = machine.shapes.written.len() as u32;
    machine.shapes.written.extend(formals.iter().map(|formal| Written {
        start: formal.start,
        end: formal.end,
        value: formal.default.checked_sub(1).unwrap_or(lambda.node),
    }));
    let pairs: Vec<(Symbol, Slot)> = formals
        .iter()
        .map(|formal| (formal.name, Slot::Bool { at: args.at, value: formal.default != 0 }))
        .collect();
    machine.make_sorted_set(&pairs, Source::Written { first }, args.at)
}
