//! Which names mean what at one place of a text.

use diag::{Diagnostic, nearest_all, slugs::eval as slugs};

use super::{Compiled, Compiler};
use crate::code::Node;
use crate::slot::{Slot, Symbol};

/// A name that a frame around the current place binds.
struct Bound {
    name: Symbol,
    depth: u32,
    index: u32,
    /// The binding that this one hides, plus one.
    hidden: u32,
}

/// The frames around the current place of a text.
pub(super) struct Scopes {
    /// By symbol: the innermost binding, plus one.
    latest: Vec<u32>,
    bindings: Vec<Bound>,
    /// How many bindings there were when each frame was entered.
    marks: Vec<usize>,
    depth: u32,
    /// The depths of the frames of `with`.
    withs: Vec<u32>,
}

impl Scopes {
    pub(super) fn new() -> Self {
        Self { latest: Vec::new(), bindings: Vec::new(), marks: Vec::new(), depth: 0, withs: Vec::new() }
    }

    /// Enters a frame with these names at these places.
    pub(super) fn enter(&mut self, names: impl Iterator<Item = (Symbol, u32)>) {
        self.depth += 1;
        self.marks.push(self.bindings.len());
        for (name, index) in names {
            let at = name as usize;
            if self.latest.len() <= at {
                self.latest.resize(at + 1, 0);
            }
            self.bindings.push(Bound { name, depth: self.depth, index, hidden: self.latest[at] });
            self.latest[at] = self.bindings.len() as u32;
        }
    }

    pub(super) fn leave(&mut self) {
        self.depth -= 1;
        let mark = self.marks.pop().unwrap_or(0);
        for bound in self.bindings.drain(mark..).rev() {
            self.latest[bound.name as usize] = bound.hidden;
        }
    }

    pub(super) fn enter_with(&mut self) {
        self.depth += 1;
        self.withs.push(self.depth);
    }

    pub(super) fn leave_with(&mut self) {
        self.depth -= 1;
        self.withs.pop();
    }

    /// Returns how many frames out a name is bound, and its place there.
    fn find(&self, name: Symbol) -> Option<(u32, u32)> {
        let latest = self.latest.get(name as usize)?.checked_sub(1)?;
        let bound = self.bindings.get(latest as usize)?;
        Some((self.depth - bound.depth, bound.index))
    }
}

impl Compiler<'_, '_, '_> {
    /// Compiles a variable that is written at `start..end`.
    pub(super) fn variable(&mut self, name: Symbol, start: u32, end: u32) -> Compiled {
        let plain = |node| Compiled { node, constant: None };
        if let Some((level, index)) = self.scopes.find(name) {
            let node = if level == 0 { Node::Local { index } } else { Node::Outer { level, index } };
            return plain(self.push_at(node, start, end));
        }
        let node = self.push_at(Node::Unread, start, end);
        if let Some(slot) = self.machine.global(name) {
            // A literal in all but name: it remembers where it was written.
            let value = match self.machine.heap[slot as usize] {
                Slot::Bool { value, .. } => Slot::Bool { at: node, value },
                Slot::Null { .. } => Slot::Null { at: node },
                _ => {
                    self.machine.code.nodes[node as usize] = Node::Const { slot };
                    return plain(node);
                }
            };
            return Compiled { node, constant: Some(value) };
        }
        if let Some(index) = self.machine.left_out_global(name) {
            self.machine.code.nodes[node as usize] = Node::LeftOut { index };
            return plain(node);
        }
        if self.scopes.withs.is_empty() {
            self.undefined(name, start, end);
            return plain(node);
        }
        let withs = &mut self.machine.code.withs;
        let first = withs.len() as u32;
        withs.extend(self.scopes.withs.iter().rev().map(|depth| self.scopes.depth - depth));
        let count = self.scopes.withs.len() as u32;
        self.machine.code.nodes[node as usize] = Node::Dynamic { name, start: first, count };
        plain(node)
    }

    fn undefined(&mut self, name: Symbol, start: u32, end: u32) {
        let text = self.machine.name(name).to_owned();
        let machine = &*self.machine;
        let mut names: Vec<&str> = crate::builtins::global_names().collect();
        names.extend(self.scopes.bindings.iter().map(|bound| machine.name(bound.name)));
        let near = nearest_all(&text, names);
        let near = near.first().map(|near| (*near).to_owned());
        let span = self.tree.range(start, end);
        let mut diagnostic =
            Diagnostic::error(slugs::UNDEFINED_VARIABLE, format!("`{text}` is not defined")).at(span);
        if let Some(near) = near {
            diagnostic = diagnostic.fix(span, near.as_str(), format!("perhaps `{near}` was meant"));
        }
        self.report(diagnostic);
    }
}
