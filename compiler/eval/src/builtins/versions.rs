//! Versions and names with versions.

use std::cmp::Ordering;

use crate::call::Args;
use crate::failure::Outcome;
use crate::machine::Machine;
use crate::slot::Slot;

/// Returns the next component of a version and what is left: a run of digits or of other
/// characters, dots and dashes between them skipped. Empty at the end.
fn component(version: &[u8]) -> (&[u8], &[u8]) {
    let begin = version.iter().position(|byte| !matches!(byte, b'.' | b'-')).unwrap_or(version.len());
    let version = &version[begin..];
    let Some(first) = version.first() else { return (version, version) };
    let same = |byte: &u8| {
        if first.is_ascii_digit() {
            byte.is_ascii_digit()
        } else {
            !byte.is_ascii_digit() && !matches!(byte, b'.' | b'-')
        }
    };
    let end = version.iter().position(|byte| !same(byte)).unwrap_or(version.len());
    version.split_at(end)
}

fn number(component: &[u8]) -> Option<u32> {
    // Nix reads components as 32-bit integers; longer ones compare as text.
    std::str::from_utf8(component).ok()?.parse::<i32>().ok()?.try_into().ok()
}

fn component_less(a: &[u8], b: &[u8]) -> bool {
    match (number(a), number(b)) {
        (Some(a), Some(b)) => a < b,
        (_, Some(_)) if a.is_empty() => true,
        _ if a == b"pre" && b != b"pre" => true,
        _ if b == b"pre" => false,
        // A number is newer than a word: 2.3a comes before 2.3.1.
        (None, Some(_)) => true,
        (Some(_), None) => false,
        _ => a < b,
    }
}

fn compare(mut a: &[u8], mut b: &[u8]) -> Ordering {
    while !a.is_empty() || !b.is_empty() {
        let (left, right);
        (left, a) = component(a);
        (right, b) = component(b);
        if component_less(left, right) {
            return Ordering::Less;
        }
        if component_less(right, left) {
            return Ordering::Greater;
        }
    }
    Ordering::Equal
}

pub(super) fn compare_versions(machine: &mut Machine<'_>, args: &Args) -> Outcome<Slot> {
    let (a, a_len) = machine.string_argument(args, 0)?;
    let (b, b_len) = machine.string_argument(args, 1)?;
    let order = compare(machine.bytes(a, a_len), machine.bytes(b, b_len));
    Ok(Slot::Int { at: args.at, value: order as i64 })
}

pub(super) fn split_version(machine: &mut Machine<'_>, args: &Args) -> Outcome<Slot> {
    let (start, len) = machine.string_argument(args, 0)?;
    let whole = machine.bytes(start, len);
    let mut parts = Vec::new();
    let mut rest = whole;
    loop {
        let (part, after) = component(rest);
        if part.is_empty() {
            break;
        }
        let begin = whole.len() - after.len() - part.len();
        parts.push(Slot::String { at: args.at, start: start + begin as u32, len: part.len() as u32 });
        rest = after;
    }
    machine.make_list(&parts, args.at)
}

pub(super) fn parse_drv_name(machine: &mut Machine<'_>, args: &Args) -> Outcome<Slot> {
    let (start, len) = machine.string_argument(args, 0)?;
    let text = machine.bytes(start, len);
    // The version begins after the first dash that no letter follows.
    let cut = text
        .windows(2)
        .position(|pair| pair[0] == b'-' && !pair[1].is_ascii_alphabetic())
        .map(|index| index as u32);
    let name = Slot::String { at: args.at, start, len: cut.unwrap_or(len) };
    let version = match cut {
        Some(cut) => Slot::String { at: args.at, start: start + cut + 1, len: len - cut - 1 },
        None => Slot::String { at: args.at, start, len: 0 },
    };
    let known = machine.known;
    machine.make_set(vec![(known.name, name), (known.version, version)], args.at)
}

#[cfg(test)]
mod tests {
    use super::*;

    // The examples of the Nix manual.
    #[test]
    fn versions_compare_as_in_nix() {
        let less =
            [("1.0", "2.3"), ("2.1", "2.3"), ("2.3a", "2.3.1"), ("2.3pre1", "2.3"), ("2.3pre1", "2.3a")];
        for (a, b) in less {
            assert_eq!(compare(a.as_bytes(), b.as_bytes()), Ordering::Less, "{a} {b}");
            assert_eq!(compare(b.as_bytes(), a.as_bytes()), Ordering::Greater, "{b} {a}");
        }
        assert_eq!(compare(b"2.3", b"2-3"), Ordering::Equal);
    }
}
