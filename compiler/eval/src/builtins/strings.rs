//! Strings.

use crate::call::Args;
use crate::coerce::Coercion;
use crate::failure::Outcome;
use crate::machine::Machine;
use crate::slot::Slot;

pub(super) fn to_string(machine: &mut Machine<'_>, args: &Args) -> Outcome<Slot> {
    coerced(machine, args, 0, Coercion::All)
}

/// Returns an argument as a string.
fn coerced(machine: &mut Machine<'_>, args: &Args, index: usize, coercion: Coercion) -> Outcome<Slot> {
    if let Slot::String { .. } = args.list[index] {
        return Ok(args.list[index]);
    }
    let base = machine.scratch.len();
    match machine.append(args.list[index], coercion, machine.argument(args, index)) {
        Ok(()) => machine.finish(base, args.at),
        Err(failure) => {
            machine.scratch.truncate(base);
            Err(failure)
        }
    }
}

pub(super) fn substring(machine: &mut Machine<'_>, args: &Args) -> Outcome<Slot> {
    let from = machine.int_argument(args, 0)?;
    let count = machine.int_argument(args, 1)?;
    let Ok(from) = u64::try_from(from) else {
        return Err(machine.bad_argument(args, 0, format!("a string has no byte {from}")));
    };
    let text = coerced(machine, args, 2, Coercion::Strings)?;
    let Slot::String { start, len, .. } = text else { return Ok(text) };
    let from = u32::try_from(from).map_or(len, |from| from.min(len));
    // A negative count means all that is left.
    let count = u32::try_from(count).unwrap_or(u32::MAX).min(len - from);
    Ok(Slot::String { at: args.at, start: start + from, len: count })
}

pub(super) fn string_length(machine: &mut Machine<'_>, args: &Args) -> Outcome<Slot> {
    let text = coerced(machine, args, 0, Coercion::Strings)?;
    let Slot::String { len, .. } = text else { return Ok(text) };
    Ok(Slot::Int { at: args.at, value: i64::from(len) })
}

pub(super) fn concat_strings_sep(machine: &mut Machine<'_>, args: &Args) -> Outcome<Slot> {
    let (separator, separator_len) = machine.string_argument(args, 0)?;
    let (from, len) = machine.list_argument(args, 1)?;
    let base = machine.scratch.len();
    for slot in from..from + len {
        if slot > from {
            let range = separator as usize..(separator + separator_len) as usize;
            machine.scratch.extend_from_slice(&machine.text[range]);
        }
        let appended = machine
            .force_at(slot)
            .and_then(|element| machine.append(element, Coercion::Strings, machine.argument(args, 1)));
        if let Err(failure) = appended {
            machine.scratch.truncate(base);
            return Err(failure);
        }
    }
    machine.finish(base, args.at)
}

pub(super) fn replace_strings(machine: &mut Machine<'_>, args: &Args) -> Outcome<Slot> {
    let (from, from_len) = machine.list_argument(args, 0)?;
    let (to, to_len) = machine.list_argument(args, 1)?;
    if from_len != to_len {
        let message = format!("{from_len} strings cannot be replaced by {to_len}");
        return Err(machine.bad_argument(args, 1, message));
    }
    let mut sought: Vec<(u32, u32)> = Vec::with_capacity(from_len as usize);
    for slot in from..from + from_len {
        match machine.force_at(slot)? {
            Slot::String { start, len, .. } => sought.push((start, len)),
            other => {
                let what = "a string to replace";
                return Err(machine.wrong_type(other, "a string", what, machine.argument(args, 0)));
            }
        }
    }
    let (start, len) = machine.string_argument(args, 2)?;
    let base = machine.scratch.len();
    let mut position = 0;
    while position <= len {
        machine.spend(1 + sought.len() / 8)?;
        if let Err(failure) = machine.bounded() {
            machine.scratch.truncate(base);
            return Err(failure);
        }
        let rest = machine.bytes(start + position, len - position);
        let found = sought.iter().position(|&(start, len)| rest.starts_with(machine.bytes(start, len)));
        let mut next = position;
        if let Some(index) = found {
            // What replaces is evaluated only if it is needed, as in Nix.
            match machine.force_at(to + index as u32) {
                Ok(Slot::String { start, len, .. }) => {
                    let range = start as usize..(start + len) as usize;
                    machine.scratch.extend_from_slice(&machine.text[range]);
                }
                Ok(other) => {
                    machine.scratch.truncate(base);
                    let what = "a replacement";
                    return Err(machine.wrong_type(other, "a string", what, machine.argument(args, 1)));
                }
                Err(failure) => {
                    machine.scratch.truncate(base);
                    return Err(failure);
                }
            }
            next += sought[index].1;
        }
        if next == position {
            // Nothing was found, or the empty string was: the byte stays.
            if position < len {
                let byte = machine.text[(start + position) as usize];
                machine.scratch.push(byte);
            }
            next += 1;
        }
        position = next;
    }
    machine.finish(base, args.at)
}

/// Patterns are kept up to this many states of their automata.
const PATTERN_STATES: usize = 500_000;

pub(super) fn matches(machine: &mut Machine<'_>, args: &Args) -> Outcome<Slot> {
    let regex = machine.pattern(args)?;
    let (start, len) = machine.string_argument(args, 1)?;
    let text = machine.bytes(start, len);
    let mut budget = machine.limits.steps.saturating_sub(machine.steps);
    let found = regex.match_whole(text, &mut budget);
    machine.regex_spent(budget)?;
    let Some(groups) = found else { return Ok(Slot::Null { at: args.at }) };
    let groups = machine.groups(start, &groups[1..], args);
    machine.make_list(&groups, args.at)
}

pub(super) fn split(machine: &mut Machine<'_>, args: &Args) -> Outcome<Slot> {
    let regex = machine.pattern(args)?;
    let (start, len) = machine.string_argument(args, 1)?;
    let mut parts = Vec::new();
    let (mut last, mut first, mut empty) = (0, true, false);
    loop {
        let text = machine.bytes(start, len);
        let mut budget = machine.limits.steps.saturating_sub(machine.steps);
        let found = regex.find(text, last as usize, first, empty, &mut budget);
        machine.regex_spent(budget)?;
        machine.step()?;
        let Some(groups) = found else { break };
        let Some(Some((begin, end))) = groups.first().copied() else { break };
        parts.push(Slot::String { at: args.at, start: start + last, len: begin - last });
        let groups = machine.groups(start, &groups[1..], args);
        parts.push(machine.make_list(&groups, args.at)?);
        (last, first, empty) = (end, false, begin == end);
    }
    parts.push(Slot::String { at: args.at, start: start + last, len: len - last });
    machine.make_list(&parts, args.at)
}

impl Machine<'_> {
    /// Returns the compiled pattern of the first argument.
    fn pattern(&mut self, args: &Args) -> Outcome<std::rc::Rc<crate::regex::Regex>> {
        let (start, len) = self.string_argument(args, 0)?;
        let pattern = self.bytes(start, len);
        if let Some(regex) = self.patterns.get(pattern) {
            return Ok(std::rc::Rc::clone(regex));
        }
        match crate::regex::Regex::new(pattern) {
            Ok(regex) => {
                let regex = std::rc::Rc::new(regex);
                let pattern = pattern.to_vec();
                self.spend(regex.size())?;
                // Programs use few patterns; one that makes them up pays by compiling them again.
                if self.patterns.values().map(|kept| kept.size()).sum::<usize>() > PATTERN_STATES {
                    self.patterns.clear();
                }
                self.patterns.insert(pattern, std::rc::Rc::clone(&regex));
                Ok(regex)
            }
            Err(reason) => {
                let shown = String::from_utf8_lossy(pattern).into_owned();
                let message = format!("`{shown}` is not a regular expression: {reason}");
                Err(self.unreadable_text(args, diag::slugs::eval::INVALID_REGEX, message))
            }
        }
    }

    fn regex_spent(&mut self, left: u64) -> Outcome<()> {
        self.steps = self.limits.steps - left.min(self.limits.steps);
        if left == 0 { Err(self.too_many_steps()) } else { Ok(()) }
    }

    fn groups(&self, start: u32, groups: &[Option<(u32, u32)>], args: &Args) -> Vec<Slot> {
        let at = args.at;
        let group = |group: &Option<(u32, u32)>| match *group {
            Some((from, to)) => Slot::String { at, start: start + from, len: to - from },
            None => Slot::Null { at },
        };
        groups.iter().map(group).collect()
    }
}

// ---- String contexts: there are none ----

pub(super) fn has_context(machine: &mut Machine<'_>, args: &Args) -> Outcome<Slot> {
    machine.string_argument(args, 0)?;
    Ok(Slot::Bool { at: args.at, value: false })
}

pub(super) fn get_context(machine: &mut Machine<'_>, args: &Args) -> Outcome<Slot> {
    machine.string_argument(args, 0)?;
    machine.make_set(Vec::new(), args.at)
}

pub(super) fn discard_context(machine: &mut Machine<'_>, args: &Args) -> Outcome<Slot> {
    coerced(machine, args, 0, Coercion::Strings)
}

pub(super) fn append_context(machine: &mut Machine<'_>, args: &Args) -> Outcome<Slot> {
    machine.string_argument(args, 0)?;
    let (shape, _) = machine.set_argument(args, 1)?;
    if machine.shapes.len(shape) > 0 {
        let message = "a string has no context here: recipec builds nothing and has no store".to_owned();
        return Err(machine.bad_argument(args, 1, message));
    }
    Ok(args.list[0])
}
