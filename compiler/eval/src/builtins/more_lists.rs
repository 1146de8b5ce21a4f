//! Lists: asking, sorting, grouping.

use diag::Diagnostic;

use super::lists::callable;
use crate::call::Args;
use crate::failure::{Failure, Outcome};
use crate::machine::Machine;
use crate::slot::{Slot, SlotId, Symbol};

pub(super) fn any(machine: &mut Machine<'_>, args: &Args) -> Outcome<Slot> {
    quantified(machine, args, true)
}

pub(super) fn all(machine: &mut Machine<'_>, args: &Args) -> Outcome<Slot> {
    quantified(machine, args, false)
}

/// Answers `sought` as soon as the function does.
fn quantified(machine: &mut Machine<'_>, args: &Args, sought: bool) -> Outcome<Slot> {
    let function = callable(machine, args)?;
    let (from, len) = machine.list_argument(args, 1)?;
    for slot in from..from + len {
        if machine.ask(function, machine.share(slot), args)? == sought {
            return Ok(Slot::Bool { at: args.at, value: sought });
        }
    }
    Ok(Slot::Bool { at: args.at, value: !sought })
}

pub(super) fn partition(machine: &mut Machine<'_>, args: &Args) -> Outcome<Slot> {
    let function = callable(machine, args)?;
    let (from, len) = machine.list_argument(args, 1)?;
    let (mut right, mut wrong) = (Vec::new(), Vec::new());
    for slot in from..from + len {
        // Elements are evaluated whether the function looks at them or not, as in Nix.
        let element = machine.force_at(slot)?;
        if machine.ask(function, element, args)? { right.push(element) } else { wrong.push(element) }
    }
    let right = machine.make_list(&right, args.at)?;
    let wrong = machine.make_list(&wrong, args.at)?;
    let known = machine.known;
    machine.make_set(vec![(known.right, right), (known.wrong, wrong)], args.at)
}

pub(super) fn group_by(machine: &mut Machine<'_>, args: &Args) -> Outcome<Slot> {
    let function = callable(machine, args)?;
    let (from, len) = machine.list_argument(args, 1)?;
    let mut groups: Vec<(Symbol, SlotId)> = Vec::with_capacity(len as usize);
    for slot in from..from + len {
        machine.step()?;
        match machine.call(function, machine.share(slot), args.at)? {
            Slot::String { start, len, .. } => groups.push((machine.intern_bytes(start, len)?, slot)),
            other => {
                let what = "what the function of `groupBy` returns";
                return Err(machine.wrong_type(other, "a string", what, machine.argument(args, 0)));
            }
        }
    }
    groups.sort_by_key(|&(name, _)| name);
    let mut pairs = Vec::new();
    for group in groups.chunk_by(|a, b| a.0 == b.0) {
        let elements: Vec<Slot> = group.iter().map(|&(_, slot)| machine.share(slot)).collect();
        pairs.push((group[0].0, machine.make_list(&elements, args.at)?));
    }
    machine.make_set(pairs, args.at)
}

pub(super) fn sort(machine: &mut Machine<'_>, args: &Args) -> Outcome<Slot> {
    let (from, len) = machine.list_argument(args, 1)?;
    if len == 0 {
        return Ok(args.list[1]);
    }
    let function = callable(machine, args)?;
    // Slots are sorted, so that elements are compared by reference and evaluated at most once.
    let mut order: Vec<SlotId> = (from..from + len).collect();
    let mut spare = order.clone();
    merge_sort(&mut order, &mut spare, &mut |a, b| {
        machine.step()?;
        let (a, b) = (machine.share(a), machine.share(b));
        match machine.call_two(function, a, b, args.at)? {
            Slot::Bool { value, .. } => Ok(value),
            other => {
                let what = "what the function of `sort` returns";
                Err(machine.wrong_type(other, "a Boolean", what, machine.argument(args, 0)))
            }
        }
    })?;
    let sorted: Vec<Slot> = order.iter().map(|&slot| machine.share(slot)).collect();
    machine.make_list(&sorted, args.at)
}

/// A stable merge sort that bears a function which is no order: the standard library's may panic.
fn merge_sort(
    items: &mut [SlotId],
    spare: &mut [SlotId],
    less: &mut impl FnMut(SlotId, SlotId) -> Outcome<bool>,
) -> Outcome<()> {
    if items.len() < 2 {
        return Ok(());
    }
    let middle = items.len() / 2;
    let (left, right) = items.split_at_mut(middle);
    merge_sort(left, &mut spare[..middle], less)?;
    merge_sort(right, &mut spare[middle..], less)?;
    spare.copy_from_slice(items);
    let (left, right) = spare.split_at(middle);
    let (mut l, mut r) = (0, 0);
    for item in items.iter_mut() {
        let take_right = if l == left.len() {
            true
        } else if r == right.len() {
            false
        } else {
            less(right[r], left[l])?
        };
        if take_right {
            *item = right[r];
            r += 1;
        } else {
            *item = left[l];
            l += 1;
        }
    }
    Ok(())
}

pub(super) fn generic_closure(machine: &mut Machine<'_>, args: &Args) -> Outcome<Slot> {
    let (shape, from) = machine.set_argument(args, 0)?;
    let known = machine.known;
    let need = |machine: &mut Machine<'_>, name| match machine.attribute(shape, from, name) {
        Some(slot) => machine.force_at(slot),
        None => {
            let span = machine.code.span(machine.argument(args, 0));
            Err(Failure::new(machine.missing(args.list[0], shape, name, span)))
        }
    };
    let start_set = need(machine, known.start_set)?;
    let Slot::List { start, len, .. } = start_set else {
        return Err(machine.wrong_type(start_set, "a list", "`startSet`", machine.argument(args, 0)));
    };
    let mut work: std::collections::VecDeque<SlotId> = (start..start + len).collect();
    if work.is_empty() {
        return Ok(start_set);
    }
    let operator = need(machine, known.operator)?;
    let mut keys: Vec<SlotId> = Vec::new();
    let mut found: Vec<Slot> = Vec::new();
    while let Some(slot) = work.pop_front() {
        machine.step()?;
        let element = machine.force_at(slot)?;
        let Slot::Attrs { shape, start, .. } = element else {
            let what = "an element of a closure";
            return Err(machine.wrong_type(element, "a set", what, machine.argument(args, 0)));
        };
        let Some(key) = machine.attribute(shape, start, known.key) else {
            let span = machine.code.span(machine.argument(args, 0));
            return Err(Failure::new(machine.missing(element, shape, known.key, span)));
        };
        machine.force_at(key)?;
        let Err(position) = search(machine, &keys, key, args)? else { continue };
        machine.spend((keys.len() - position) / 64)?;
        keys.insert(position, key);
        found.push(element);
        let next = machine.call(operator, element, args.at)?;
        let Slot::List { start, len, .. } = next else {
            let what = "what `operator` returns";
            return Err(machine.wrong_type(next, "a list", what, machine.argument(args, 0)));
        };
        // Elements are evaluated here as in Nix, so that a fault names the call that made them.
        for slot in start..start + len {
            machine.force_at(slot)?;
            work.push_back(slot);
        }
    }
    machine.make_list(&found, args.at)
}

/// Finds a key among sorted ones: where it is, or where it belongs.
fn search(
    machine: &mut Machine<'_>,
    keys: &[SlotId],
    key: SlotId,
    args: &Args,
) -> Outcome<Result<usize, usize>> {
    let (mut low, mut high) = (0, keys.len());
    if keys.is_empty() {
        // The first key is compared with itself, so that a key without an order is refused.
        let value = machine.force_at(key)?;
        machine.less(value, value, args.at)?;
    }
    while low < high {
        machine.step()?;
        let middle = low.midpoint(high);
        let (a, b) = (machine.force_at(keys[middle])?, machine.force_at(key)?);
        if machine.less(a, b, args.at)? {
            low = middle + 1;
        } else if machine.less(b, a, args.at)? {
            high = middle;
        } else {
            return Ok(Ok(middle));
        }
    }
    Ok(Err(low))
}

pub(super) fn zip_attrs_with(machine: &mut Machine<'_>, args: &Args) -> Outcome<Slot> {
    let function = callable(machine, args)?;
    let function = machine.keep(function)?;
    let (from, len) = machine.list_argument(args, 1)?;
    let mut all: Vec<(Symbol, SlotId)> = Vec::new();
    for slot in from..from + len {
        let set = machine.force_at(slot)?;
        let Slot::Attrs { shape, start, .. } = set else {
            let what = "an element of the second argument of `zipAttrsWith`";
            return Err(machine.wrong_type(set, "a set", what, machine.argument(args, 1)));
        };
        machine.spend(machine.shapes.len(shape) as usize / 4)?;
        machine.make_room(all.len(), 0)?;
        all.extend(machine.shapes.names_of(shape).iter().copied().zip(start..));
    }
    all.sort_by_key(|&(name, _)| name);
    let mut pairs = Vec::new();
    for group in all.chunk_by(|a, b| a.0 == b.0) {
        let name = group[0].0;
        let values: Vec<Slot> = group.iter().map(|&(_, slot)| machine.share(slot)).collect();
        let values = machine.make_list(&values, args.at)?;
        let value = machine.delayed_call_two(function, name, values, args)?;
        pairs.push((name, value));
    }
    machine.make_set(pairs, args.at)
}

impl Machine<'_> {
    /// Returns the delayed call of a function with an attribute's name and something else.
    pub(super) fn delayed_call_two(
        &mut self,
        function: SlotId,
        name: Symbol,
        second: Slot,
        args: &Args,
    ) -> Outcome<Slot> {
        let name = self.name_string(name, args.at)?;
        let slots = self.alloc(3)?;
        self.heap[slots as usize] = name;
        self.heap[slots as usize + 1] = Slot::Call { at: args.at, function, argument: slots };
        self.heap[slots as usize + 2] = second;
        Ok(Slot::Call { at: args.at, function: slots + 1, argument: slots + 2 })
    }

    /// Says that a string is not what a builtin can read.
    pub(super) fn unreadable_text(&self, args: &Args, slug: diag::Slug, message: String) -> Box<Failure> {
        let mut diagnostic = Diagnostic::error(slug, message);
        diagnostic.span = self.code.span(self.argument(args, 0));
        Failure::new(diagnostic)
    }
}
