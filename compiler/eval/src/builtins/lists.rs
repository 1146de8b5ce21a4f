//! Lists: taking apart and putting together.

use crate::call::Args;
use crate::failure::Outcome;
use crate::machine::Machine;
use crate::slot::{Slot, SlotId};

/// Evaluates the first argument, which must be a function.
pub(super) fn callable(machine: &mut Machine<'_>, args: &Args) -> Outcome<Slot> {
    let function = machine.force(args.list[0])?;
    let functor = match function {
        Slot::Lambda { .. } | Slot::Builtin { .. } => return Ok(function),
        Slot::Attrs { shape, start, .. } => machine.attribute(shape, start, machine.known.functor),
        _ => None,
    };
    if functor.is_some() {
        return Ok(function);
    }
    let what = format!("the first argument of `{}`", args.name);
    Err(machine.wrong_type(function, "a function", &what, machine.argument(args, 0)))
}

pub(super) fn map(machine: &mut Machine<'_>, args: &Args) -> Outcome<Slot> {
    let (from, len) = machine.list_argument(args, 1)?;
    if len == 0 {
        return Ok(args.list[1]);
    }
    let function = callable(machine, args)?;
    let function = machine.keep(function)?;
    let start = machine.alloc(len as usize)?;
    for index in 0..len {
        machine.heap[(start + index) as usize] = Slot::Call { at: args.at, function, argument: from + index };
    }
    let site = machine.made_site(args.at);
    Ok(Slot::List { site, start, len })
}

pub(super) fn filter(machine: &mut Machine<'_>, args: &Args) -> Outcome<Slot> {
    let (from, len) = machine.list_argument(args, 1)?;
    if len == 0 {
        return Ok(args.list[1]);
    }
    let function = callable(machine, args)?;
    let mut kept = Vec::new();
    for slot in from..from + len {
        if machine.ask(function, machine.share(slot), args)? {
            kept.push(machine.share(slot));
        }
    }
    if kept.len() == len as usize { Ok(args.list[1]) } else { machine.make_list(&kept, args.at) }
}

pub(super) fn foldl(machine: &mut Machine<'_>, args: &Args) -> Outcome<Slot> {
    let function = callable(machine, args)?;
    let (from, len) = machine.list_argument(args, 2)?;
    if len == 0 {
        return machine.force(args.list[1]);
    }
    let mut accumulated = args.list[1];
    for slot in from..from + len {
        machine.step()?;
        accumulated = machine.call_two(function, accumulated, machine.share(slot), args.at)?;
    }
    Ok(accumulated)
}

pub(super) fn elem(machine: &mut Machine<'_>, args: &Args) -> Outcome<Slot> {
    let (from, len) = machine.list_argument(args, 1)?;
    let sought = machine.keep(args.list[0])?;
    for slot in from..from + len {
        if machine.equal_inside(sought, slot)? {
            return Ok(Slot::Bool { at: args.at, value: true });
        }
    }
    Ok(Slot::Bool { at: args.at, value: false })
}

pub(super) fn elem_at(machine: &mut Machine<'_>, args: &Args) -> Outcome<Slot> {
    let (start, len) = machine.list_argument(args, 0)?;
    let index = machine.int_argument(args, 1)?;
    match u32::try_from(index) {
        Ok(at) if at < len => machine.force_at(start + at),
        _ => Err(machine.bad_argument(args, 1, format!("there is no element {index} in a list of {len}"))),
    }
}

pub(super) fn head(machine: &mut Machine<'_>, args: &Args) -> Outcome<Slot> {
    match machine.list_argument(args, 0)? {
        (_, 0) => Err(machine.bad_argument(args, 0, "the empty list has no first element".to_owned())),
        (start, _) => machine.force_at(start),
    }
}

pub(super) fn tail(machine: &mut Machine<'_>, args: &Args) -> Outcome<Slot> {
    match args.list[0] {
        Slot::List { len: 0, .. } => Err(machine.bad_argument(
            args,
            0,
            "the empty list has nothing after its first element".to_owned(),
        )),
        // The same slots, one later.
        Slot::List { start, len, .. } => {
            let site = machine.made_site(args.at);
            Ok(Slot::List { site, start: start + 1, len: len - 1 })
        }
        _ => Err(machine.wrong_argument(args, 0, "a list")),
    }
}

pub(super) fn length(machine: &mut Machine<'_>, args: &Args) -> Outcome<Slot> {
    let (_, len) = machine.list_argument(args, 0)?;
    Ok(Slot::Int { at: args.at, value: i64::from(len) })
}

pub(super) fn gen_list(machine: &mut Machine<'_>, args: &Args) -> Outcome<Slot> {
    let count = machine.int_argument(args, 1)?;
    let Ok(len) = u32::try_from(count) else {
        return Err(machine.bad_argument(args, 1, format!("a list cannot have {count} elements")));
    };
    machine.spend(len as usize / 8)?;
    let function = callable(machine, args)?;
    let function = machine.keep(function)?;
    let numbers = machine.alloc(len as usize)?;
    let start = machine.alloc(len as usize)?;
    for index in 0..len {
        machine.heap[(numbers + index) as usize] = Slot::Int { at: args.at, value: i64::from(index) };
        machine.heap[(start + index) as usize] =
            Slot::Call { at: args.at, function, argument: numbers + index };
    }
    let site = machine.made_site(args.at);
    Ok(Slot::List { site, start, len })
}

pub(super) fn concat_lists(machine: &mut Machine<'_>, args: &Args) -> Outcome<Slot> {
    let (from, len) = machine.list_argument(args, 0)?;
    let mut parts = Vec::with_capacity(len as usize);
    for slot in from..from + len {
        match machine.force_at(slot)? {
            Slot::List { start, len, .. } => parts.push((start, len)),
            other => {
                let what = "an element of the argument of `concatLists`";
                return Err(machine.wrong_type(other, "a list", what, machine.argument(args, 0)));
            }
        }
    }
    join(machine, &parts, args)
}

pub(super) fn concat_map(machine: &mut Machine<'_>, args: &Args) -> Outcome<Slot> {
    let function = callable(machine, args)?;
    let (from, len) = machine.list_argument(args, 1)?;
    let mut parts = Vec::with_capacity(len as usize);
    for slot in from..from + len {
        machine.step()?;
        match machine.call(function, machine.share(slot), args.at)? {
            Slot::List { start, len, .. } => parts.push((start, len)),
            other => {
                let what = "what the function of `concatMap` returns";
                return Err(machine.wrong_type(other, "a list", what, machine.argument(args, 0)));
            }
        }
    }
    join(machine, &parts, args)
}

fn join(machine: &mut Machine<'_>, parts: &[(SlotId, u32)], args: &Args) -> Outcome<Slot> {
    let len = parts.iter().map(|&(_, len)| len as usize).sum::<usize>();
    let start = machine.alloc(len)?;
    let mut to = start;
    for &(from, len) in parts {
        for slot in from..from + len {
            machine.heap[to as usize] = machine.share(slot);
            to += 1;
        }
    }
    let site = machine.made_site(args.at);
    Ok(Slot::List { site, start, len: len as u32 })
}
