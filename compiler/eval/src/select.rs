//! Attributes: selecting, asking for them, and names that a `with` defines.

use crate::code::AccessName;
use crate::failure::Outcome;
use crate::machine::Machine;
use crate::shapes::{Source, Written};
use crate::slot::{NOWHERE, NodeId, Slot, SlotId, Symbol};
use crate::view::Origin;

/// The most overridden places that an origin tells.
const SHADOWED: usize = 8;

impl Machine<'_> {
    /// Looks an access's name up in a set, by the cache where the layout is the last one's.
    #[inline]
    fn lookup(&mut self, access: u32, shape: u32, start: SlotId, name: Symbol) -> Option<SlotId> {
        let layout = self.shapes.get(shape).layout;
        let cached = &self.code.accesses[access as usize];
        // A computed name differs from one evaluation to the next, so only known ones are kept.
        let known = matches!(cached.name, AccessName::Static(_));
        if known && cached.layout == layout {
            return cached.found.checked_sub(1).map(|index| start + index);
        }
        let found = self.shapes.find(layout, name);
        if known {
            let cached = &mut self.code.accesses[access as usize];
            cached.layout = layout;
            cached.found = found.map_or(0, |index| index + 1);
        }
        found.map(|index| start + index)
    }

    /// Returns the name of an access, evaluating it where it is computed.
    #[inline]
    fn access_name(&mut self, access: u32, env: SlotId) -> Outcome<Symbol> {
        match self.code.accesses[access as usize].name {
            AccessName::Static(name) => Ok(name),
            AccessName::Dynamic(node) => match self.eval(node, env)? {
                Slot::String { start, len, .. } => self.intern_bytes(start, len),
                other => Err(self.wrong_type(other, "a string", "an attribute name", node)),
            },
        }
    }

    /// `set.name`
    pub(crate) fn select(
        &mut self,
        set_node: NodeId,
        access: u32,
        node: NodeId,
        env: SlotId,
    ) -> Outcome<Slot> {
        let set = self.eval(set_node, env)?;
        let name = self.access_name(access, env)?;
        let Slot::Attrs { shape, start, .. } = set else {
            return Err(self.not_a_set(set, name, access, set_node));
        };
        match self.lookup(access, shape, start, name) {
            Some(slot) => {
                let held = self.heap[slot as usize];
                if held.is_value() {
                    return Ok(held);
                }
                match self.force_at(slot) {
                    Ok(value) => Ok(value),
                    Err(failure) => Err(self.placed(failure, node)),
                }
            }
            None => Err(self.missing_attribute(set, shape, name, access)),
        }
    }

    /// `set.path or default`
    pub(crate) fn select_or(
        &mut self,
        set_node: NodeId,
        path: u32,
        branch: u32,
        env: SlotId,
    ) -> Outcome<Slot> {
        let (first, count) = self.code.paths[path as usize];
        let mut slot = None;
        let mut set = self.eval(set_node, env)?;
        for access in first..first + count {
            let name = self.access_name(access, env)?;
            if let Some(slot) = slot {
                set = self.force_at(slot)?;
            }
            slot = match set {
                Slot::Attrs { shape, start, .. } => self.lookup(access, shape, start, name),
                _ => None,
            };
            if slot.is_none() {
                break;
            }
        }
        let conditional = &mut self.code.conditionals[branch as usize];
        match slot {
            Some(slot) => {
                conditional.taken[0] += 1;
                self.force_at(slot)
            }
            None => {
                conditional.taken[1] += 1;
                let default = conditional.second;
                self.eval(default, env)
            }
        }
    }

    /// `set ? path`
    pub(crate) fn has(&mut self, set_node: NodeId, path: u32, env: SlotId) -> Outcome<bool> {
        let (first, count) = self.code.paths[path as usize];
        let mut set = self.eval(set_node, env)?;
        for access in first..first + count {
            let name = self.access_name(access, env)?;
            let Slot::Attrs { shape, start, .. } = set else { return Ok(false) };
            let Some(slot) = self.lookup(access, shape, start, name) else { return Ok(false) };
            if access + 1 < first + count {
                set = self.force_at(slot)?;
            }
        }
        Ok(true)
    }

    /// A variable that no binding around it defines: the innermost `with` that has it does.
    pub(crate) fn eval_dynamic(
        &mut self,
        name: Symbol,
        first: u32,
        count: u32,
        node: NodeId,
        env: SlotId,
    ) -> Outcome<Slot> {
        for index in first..first + count {
            let frame = self.outer(env, self.code.withs[index as usize]);
            let namespace = match self.force_at(frame + 1) {
                Ok(namespace) => namespace,
                Err(failure) => return Err(self.placed(failure, node)),
            };
            let Slot::Attrs { shape, start, .. } = namespace else {
                return Err(self.wrong_type(namespace, "a set", "the namespace of `with`", node));
            };
            if let Some(slot) = self.attribute(shape, start, name) {
                return match self.force_at(slot) {
                    Ok(value) => Ok(value),
                    Err(failure) => Err(self.placed(failure, node)),
                };
            }
        }
        Err(self.undefined_in_with(name, node))
    }

    /// Returns where an attribute was written, as a shape tells it.
    pub(crate) fn written(&self, mut shape: u32, name: Symbol) -> Written {
        loop {
            let held = self.shapes.get(shape);
            match held.source {
                Source::Written { first } => {
                    return match self.shapes.find(held.layout, name) {
                        Some(index) => self.shapes.written[(first + index) as usize],
                        None => Written { start: 0, end: 0, value: NOWHERE },
                    };
                }
                Source::Merged { left, right } => {
                    let in_right = self.shapes.find(self.shapes.get(right).layout, name).is_some();
                    shape = if in_right { right } else { left };
                }
                Source::Kept { from } => shape = from,
                Source::Made { at } => {
                    let (start, end) = self.code.spans[at as usize];
                    return Written { start, end, value: at };
                }
            }
        }
    }

    /// Returns where an attribute was written and what it overrode, for people.
    pub(crate) fn origin_of(&self, shape: u32, name: Symbol) -> Origin {
        let mut origin = Origin::default();
        let mut todo = vec![shape];
        let mut found = 0;
        while let Some(shape) = todo.pop() {
            let held = self.shapes.get(shape);
            if self.shapes.find(held.layout, name).is_none() {
                continue;
            }
            match held.source {
                Source::Merged { left, right } => {
                    todo.push(left);
                    todo.push(right);
                }
                Source::Kept { from } => todo.push(from),
                Source::Written { .. } | Source::Made { .. } => {
                    let written = self.written(shape, name);
                    let value = self.code.span(written.value);
                    let place = value.map(|span| diag::Span::new(span.file, written.start, written.end));
                    if found == 0 {
                        origin.name = place;
                        origin.value = value;
                    } else if let Some(place) = place {
                        origin.shadowed.push(place);
                    }
                    found += 1;
                    if found > SHADOWED {
                        break;
                    }
                }
            }
        }
        origin
    }
}
