//! Equality and order.

use std::cmp::Ordering;

use crate::failure::Outcome;
use crate::machine::Machine;
use crate::slot::{NodeId, Slot, SlotId};

impl Machine<'_> {
    /// `a == b` on evaluated operands.
    ///
    /// As in Nix, functions are unequal, but what is inside lists and sets is equal to itself.
    pub(crate) fn equal(&mut self, a: Slot, b: Slot) -> Outcome<bool> {
        match (a, b) {
            (Slot::Int { value: a, .. }, Slot::Int { value: b, .. }) => Ok(a == b),
            (Slot::Int { value: a, .. }, Slot::Float { value: b, .. })
            | (Slot::Float { value: b, .. }, Slot::Int { value: a, .. }) => Ok(a as f64 == b),
            (Slot::Float { value: a, .. }, Slot::Float { value: b, .. }) => Ok(a == b),
            (Slot::Null { .. }, Slot::Null { .. }) => Ok(true),
            (Slot::Bool { value: a, .. }, Slot::Bool { value: b, .. }) => Ok(a == b),
            (Slot::String { start: a, len: a_len, .. }, Slot::String { start: b, len: b_len, .. })
            | (Slot::Path { start: a, len: a_len, .. }, Slot::Path { start: b, len: b_len, .. }) => {
                Ok(a_len == b_len && (a == b || self.bytes(a, a_len) == self.bytes(b, b_len)))
            }
            (Slot::List { start: a, len: a_len, .. }, Slot::List { start: b, len: b_len, .. }) => {
                if a_len != b_len {
                    return Ok(false);
                }
                self.deeper(|machine| {
                    for index in 0..a_len {
                        if !machine.equal_inside(a + index, b + index)? {
                            return Ok(false);
                        }
                    }
                    Ok(true)
                })
            }
            (Slot::Attrs { shape: a, start: from_a, .. }, Slot::Attrs { shape: b, start: from_b, .. }) => {
                self.deeper(|machine| machine.equal_sets((a, from_a), (b, from_b)))
            }
            _ => Ok(false),
        }
    }

    /// Compares two elements of lists or sets.
    pub(crate) fn equal_inside(&mut self, a: SlotId, b: SlotId) -> Outcome<bool> {
        self.step()?;
        let left = self.force_at(a)?;
        let right = self.force_at(b)?;
        if a == b {
            return Ok(true);
        }
        match (left, right) {
            (Slot::Lambda { lambda: a, env: a_env }, Slot::Lambda { lambda: b, env: b_env }) => {
                Ok(a == b && a_env == b_env)
            }
            (Slot::Attrs { shape: a, start: from_a, .. }, Slot::Attrs { shape: b, start: from_b, .. })
                if a == b && from_a == from_b =>
            {
                Ok(true)
            }
            (Slot::List { start: a, len: a_len, .. }, Slot::List { start: b, len: b_len, .. })
                if a == b && a_len == b_len =>
            {
                Ok(true)
            }
            _ => self.equal(left, right),
        }
    }

    fn equal_sets(&mut self, (a, from_a): (u32, SlotId), (b, from_b): (u32, SlotId)) -> Outcome<bool> {
        if self.is_derivation(a, from_a)? && self.is_derivation(b, from_b)? {
            let out = self.known.out_path;
            if let (Some(left), Some(right)) =
                (self.attribute(a, from_a, out), self.attribute(b, from_b, out))
            {
                return self.equal_inside(left, right);
            }
        }
        // As in Nix, by symbol and not by name: names count in the order in which they were first
        // seen, and the first difference ends the comparison.
        let count = self.shapes.len(a);
        if count != self.shapes.len(b) {
            return Ok(false);
        }
        for index in 0..count {
            let at = index as usize;
            if self.shapes.names_of(a)[at] != self.shapes.names_of(b)[at]
                || !self.equal_inside(from_a + index, from_b + index)?
            {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Returns true for a set that Nix would take for a derivation.
    fn is_derivation(&mut self, shape: u32, start: SlotId) -> Outcome<bool> {
        let Some(slot) = self.attribute(shape, start, self.known.kind) else { return Ok(false) };
        let kind = self.force_at(slot)?;
        Ok(matches!(kind, Slot::String { .. }) && self.bytes_of(kind) == b"derivation")
    }

    /// `a < b` on evaluated operands.
    pub(crate) fn less(&mut self, a: Slot, b: Slot, node: NodeId) -> Outcome<bool> {
        match (a, b) {
            (Slot::Int { value: a, .. }, Slot::Int { value: b, .. }) => Ok(a < b),
            (Slot::Int { value: a, .. }, Slot::Float { value: b, .. }) => Ok((a as f64) < b),
            (Slot::Float { value: a, .. }, Slot::Int { value: b, .. }) => Ok(a < b as f64),
            (Slot::Float { value: a, .. }, Slot::Float { value: b, .. }) => Ok(a < b),
            (Slot::String { .. }, Slot::String { .. }) | (Slot::Path { .. }, Slot::Path { .. }) => {
                Ok(self.bytes_of(a).cmp(self.bytes_of(b)) == Ordering::Less)
            }
            (Slot::List { start: a, len: a_len, .. }, Slot::List { start: b, len: b_len, .. }) => self
                .nested(|machine| {
                    for index in 0.. {
                        if index == b_len {
                            return Ok(false);
                        }
                        if index == a_len {
                            return Ok(true);
                        }
                        if !machine.equal_inside(a + index, b + index)? {
                            let (a, b) = (machine.force_at(a + index)?, machine.force_at(b + index)?);
                            return machine.less(a, b, node);
                        }
                    }
                    Ok(false)
                }),
            _ => Err(self.incomparable(a, b, node)),
        }
    }
}
