//! Operators on numbers, strings, lists and sets.

use std::cmp::Ordering;

use crate::code::Arithmetic;
use crate::failure::Outcome;
use crate::machine::Machine;
use crate::shapes::{EMPTY, Source};
use crate::slot::{NodeId, Slot, SlotId, Symbol};

impl Machine<'_> {
    /// `-operand`; Nix reads it as `0 - operand`.
    pub(crate) fn negate(&mut self, operand: NodeId, node: NodeId, env: SlotId) -> Outcome<Slot> {
        match self.eval(operand, env)? {
            Slot::Int { value, .. } => match value.checked_neg() {
                Some(value) => Ok(Slot::Int { at: node, value }),
                None => Err(self.overflow("-", 0, value, node)),
            },
            Slot::Float { value, .. } => Ok(Slot::Float { at: node, value: 0.0 - value }),
            other => Err(self.wrong_type(other, "a number", "the operand of `-`", operand)),
        }
    }

    /// `left - right` and its like on evaluated operands.
    pub(crate) fn arithmetic(
        &mut self,
        operator: Arithmetic,
        left: Slot,
        right: Slot,
        node: NodeId,
    ) -> Outcome<Slot> {
        use Arithmetic::{Divide, Multiply, Subtract};
        let floats = |a: f64, b: f64| match operator {
            Subtract => a - b,
            Multiply => a * b,
            Divide => a / b,
        };
        let (a, b) = match (left, right) {
            (Slot::Int { value: a, .. }, Slot::Int { value: b, .. }) => {
                if operator == Divide && b == 0 {
                    return Err(self.division_by_zero(right, node));
                }
                let value = match operator {
                    Subtract => a.checked_sub(b),
                    Multiply => a.checked_mul(b),
                    Divide => a.checked_div(b),
                };
                return match value {
                    Some(value) => Ok(Slot::Int { at: node, value }),
                    None => Err(self.overflow(operator.as_str(), a, b, node)),
                };
            }
            (Slot::Int { value: a, .. }, Slot::Float { value: b, .. }) => (a as f64, b),
            (Slot::Float { value: a, .. }, Slot::Int { value: b, .. }) => (a, b as f64),
            (Slot::Float { value: a, .. }, Slot::Float { value: b, .. }) => (a, b),
            _ => return Err(self.wrong_operands(operator.as_str(), left, right, node)),
        };
        if operator == Divide && b == 0.0 {
            return Err(self.division_by_zero(right, node));
        }
        Ok(Slot::Float { at: node, value: floats(a, b) })
    }

    /// `left + right`: numbers, strings, and paths with what is put behind them.
    pub(crate) fn add(&mut self, left: NodeId, right: NodeId, node: NodeId, env: SlotId) -> Outcome<Slot> {
        let a = self.eval(left, env)?;
        let b = self.eval(right, env)?;
        match (a, b) {
            // Nix adds both to nought, which only a negative nought shows.
            (Slot::Float { value: a, .. }, Slot::Float { value: b, .. }) => {
                Ok(Slot::Float { at: node, value: 0.0 + a + b })
            }
            _ => self.add_values(a, b, node),
        }
    }

    pub(crate) fn add_values(&mut self, a: Slot, b: Slot, node: NodeId) -> Outcome<Slot> {
        match (a, b) {
            (Slot::Int { value: a, .. }, Slot::Int { value: b, .. }) => match a.checked_add(b) {
                Some(value) => Ok(Slot::Int { at: node, value }),
                None => Err(self.overflow("+", a, b, node)),
            },
            (Slot::Int { value: a, .. }, Slot::Float { value: b, .. }) => {
                Ok(Slot::Float { at: node, value: a as f64 + b })
            }
            (Slot::Float { value: a, .. }, Slot::Int { value: b, .. }) => {
                Ok(Slot::Float { at: node, value: a + b as f64 })
            }
            (Slot::Float { value: a, .. }, Slot::Float { value: b, .. }) => {
                Ok(Slot::Float { at: node, value: a + b })
            }
            (Slot::Int { .. } | Slot::Float { .. }, _) => Err(self.wrong_operands("+", a, b, node)),
            (Slot::Path { start, len, .. }, _) => {
                let base = self.scratch.len();
                self.scratch.extend_from_slice(&self.text[start as usize..(start + len) as usize]);
                match self.append_for_path(b, a, node) {
                    Ok(()) => self.finish_path(base, node),
                    Err(failure) => {
                        self.scratch.truncate(base);
                        Err(failure)
                    }
                }
            }
            (Slot::String { .. } | Slot::Attrs { .. }, Slot::String { .. } | Slot::Attrs { .. }) => {
                let base = self.scratch.len();
                let appended = self.append_string(a, node).and_then(|()| self.append_string(b, node));
                match appended {
                    Ok(()) => self.finish(base, node),
                    Err(failure) => {
                        self.scratch.truncate(base);
                        Err(failure)
                    }
                }
            }
            (Slot::String { .. }, Slot::Path { .. }) => Err(self.path_in_string(b, node)),
            _ => Err(self.wrong_operands("+", a, b, node)),
        }
    }

    /// `left ++ right`
    pub(crate) fn concat(&mut self, left: NodeId, right: NodeId, env: SlotId) -> Outcome<Slot> {
        let a = self.eval(left, env)?;
        if !matches!(a, Slot::List { .. }) {
            return Err(self.wrong_type(a, "a list", "an operand of `++`", left));
        }
        let b = self.eval(right, env)?;
        if !matches!(b, Slot::List { .. }) {
            return Err(self.wrong_type(b, "a list", "an operand of `++`", right));
        }
        self.concat_lists(a, b)
    }

    pub(crate) fn concat_lists(&mut self, a: Slot, b: Slot) -> Outcome<Slot> {
        let (
            Slot::List { site: left, start: from_left, len: left_len },
            Slot::List { site: right, start: from_right, len: right_len },
        ) = (a, b)
        else {
            return Ok(a);
        };
        if left_len == 0 {
            return Ok(b);
        }
        if right_len == 0 {
            return Ok(a);
        }
        let len = left_len + right_len;
        let start = self.alloc(len as usize)?;
        for index in 0..left_len {
            self.heap[(start + index) as usize] = self.share(from_left + index);
        }
        for index in 0..right_len {
            self.heap[(start + left_len + index) as usize] = self.share(from_right + index);
        }
        let site = self.code.sites.len() as u32;
        self.code.sites.push(crate::code::Site::Joined { left, len: left_len, right });
        Ok(Slot::List { site, start, len })
    }

    /// `left // right`
    pub(crate) fn update(&mut self, left: NodeId, right: NodeId, node: NodeId, env: SlotId) -> Outcome<Slot> {
        let a = self.eval(left, env)?;
        if !matches!(a, Slot::Attrs { .. }) {
            return Err(self.wrong_type(a, "a set", "an operand of `//`", left));
        }
        let b = self.eval(right, env)?;
        if !matches!(b, Slot::Attrs { .. }) {
            return Err(self.wrong_type(b, "a set", "an operand of `//`", right));
        }
        self.merge(a, b, node)
    }

    /// Returns the attributes of both sets; where both have one, that of `b`.
    pub(crate) fn merge(&mut self, a: Slot, b: Slot, node: NodeId) -> Outcome<Slot> {
        let (
            Slot::Attrs { shape: left, start: from_left, .. },
            Slot::Attrs { shape: right, start: from_right, .. },
        ) = (a, b)
        else {
            return Ok(a);
        };
        let (left_len, right_len) = (self.shapes.len(left), self.shapes.len(right));
        if right_len == 0 {
            return Ok(a);
        }
        if left_len == 0 && left == EMPTY {
            return Ok(b);
        }
        self.spend((left_len + right_len) as usize / 8)?;
        let shape = match self.shapes.merged(left, right) {
            Some(shape) => shape,
            None => self.merge_shapes(left, right),
        };
        let start = self.alloc(self.shapes.len(shape) as usize)?;
        let (left_names, right_names) = (self.shapes.names_of(left), self.shapes.names_of(right));
        let (mut l, mut r, mut to) = (0_usize, 0_usize, start as usize);
        let heap = &mut self.heap;
        let copy = |heap: &mut Vec<Slot>, from: usize, to: usize| {
            heap[to] = match heap[from] {
                Slot::Delayed { .. } | Slot::Call { .. } | Slot::Busy => Slot::Ref { slot: from as SlotId },
                held => held,
            };
        };
        while l < left_names.len() && r < right_names.len() {
            match left_names[l].cmp(&right_names[r]) {
                Ordering::Less => {
                    copy(heap, from_left as usize + l, to);
                    l += 1;
                }
                order => {
                    copy(heap, from_right as usize + r, to);
                    r += 1;
                    if order == Ordering::Equal {
                        l += 1;
                    }
                }
            }
            to += 1;
        }
        while l < left_names.len() {
            copy(heap, from_left as usize + l, to);
            l += 1;
            to += 1;
        }
        while r < right_names.len() {
            copy(heap, from_right as usize + r, to);
            r += 1;
            to += 1;
        }
        Ok(Slot::Attrs { at: node, shape, start })
    }

    fn merge_shapes(&mut self, left: u32, right: u32) -> u32 {
        let (a, b) = (self.shapes.names_of(left), self.shapes.names_of(right));
        let mut names: Vec<Symbol> = Vec::with_capacity(a.len() + b.len());
        let (mut l, mut r) = (0, 0);
        while l < a.len() && r < b.len() {
            match a[l].cmp(&b[r]) {
                Ordering::Less => {
                    names.push(a[l]);
                    l += 1;
                }
                order => {
                    names.push(b[r]);
                    r += 1;
                    if order == Ordering::Equal {
                        l += 1;
                    }
                }
            }
        }
        names.extend_from_slice(&a[l..]);
        names.extend_from_slice(&b[r..]);
        let layout = self.shapes.layout(&names);
        let shape = self.shapes.add(layout, Source::Merged { left, right });
        self.shapes.remember_merge(left, right, shape);
        shape
    }
}
