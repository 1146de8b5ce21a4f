//! Sets and `let`: names sorted once, so that a frame and a set can be the same slots.

use syntax::ExprId;
use syntax::tree::{Set, Value};

use super::{Compiled, Compiler};
use crate::code::{AccessName, Computed, INNER, Node, Template};
use crate::shapes::{Source, Written};
use crate::slot::{NodeId, Slot, Symbol};

/// One attribute on its way into a template.
struct Entry {
    name: Symbol,
    start: u32,
    end: u32,
    value: Value,
    compiled: Compiled,
    inner: bool,
}

const UNREAD: Compiled = Compiled { node: 0, constant: None };

impl Compiler<'_, '_, '_> {
    fn entries(&self, set: Set) -> Vec<Entry> {
        let bindings = self.tree.slice(set.bindings).iter();
        let mut entries: Vec<Entry> = bindings
            .map(|binding| Entry {
                name: binding.name.0,
                start: binding.start,
                end: binding.end,
                value: binding.value,
                compiled: UNREAD,
                inner: false,
            })
            .collect();
        entries.sort_by_key(|entry| entry.name);
        entries
    }

    /// `{ … }` or `rec { … }`
    pub(super) fn attrs(&mut self, id: ExprId, set: Set) -> Compiled {
        if set.recursive {
            let (template, _) = self.recursive(set, None);
            return Compiled { node: self.push(Node::Recursive { template }, id), constant: None };
        }
        let tree = self.tree;
        let mut entries = self.entries(set);
        for entry in &mut entries {
            match entry.value {
                Value::Expr(value) => entry.compiled = self.expr(value, Some(entry.name)),
                Value::Inherit => entry.compiled = self.variable(entry.name, entry.start, entry.end),
                Value::InheritFrom(index) => {
                    // The sources are in a frame of their own, which only these attributes see.
                    entry.inner = true;
                    entry.compiled = self.inherited(entry, 1 + index);
                }
            }
        }
        let sources: Vec<NodeId> = tree.slice(set.sources).iter().map(|&id| self.node(id)).collect();
        let computed = self.computed(set);
        let node = self.push(Node::Unread, id);
        let shape = self.shape(&entries);
        if sources.is_empty() && set.dynamic.is_empty() {
            let all: Vec<Compiled> = entries.iter().map(|entry| entry.compiled).collect();
            if let Some(start) = self.place_constants(&all) {
                return Compiled { node, constant: Some(Slot::Attrs { at: node, shape, start }) };
            }
        }
        let template = self.template(&entries, shape, &sources, computed, 0);
        self.machine.code.nodes[node as usize] = Node::Attrs { template };
        Compiled { node, constant: None }
    }

    /// `let … in body`
    pub(super) fn let_in(&mut self, id: ExprId, set: Set, body: ExprId) -> NodeId {
        let (template, body) = self.recursive(set, Some(body));
        self.push(Node::Let { template, body }, id)
    }

    /// Compiles bindings that see each other, and the body that sees them, if there is one.
    fn recursive(&mut self, set: Set, body: Option<ExprId>) -> (u32, NodeId) {
        let tree = self.tree;
        let mut entries = self.entries(set);
        for entry in &mut entries {
            if entry.value == Value::Inherit {
                // The variable of this name outside.
                entry.inner = true;
                entry.compiled = self.variable(entry.name, entry.start, entry.end);
            }
        }
        let count = entries.len() as u32;
        self.scopes.enter(entries.iter().map(|entry| entry.name).zip(1..));
        for entry in &mut entries {
            match entry.value {
                Value::Expr(value) => entry.compiled = self.expr(value, Some(entry.name)),
                Value::Inherit => {}
                Value::InheritFrom(index) => entry.compiled = self.inherited(entry, 1 + count + index),
            }
        }
        let sources: Vec<NodeId> = tree.slice(set.sources).iter().map(|&id| self.node(id)).collect();
        let computed = self.computed(set);
        let rec = body.is_none();
        let body = body.map_or(0, |body| self.node(body));
        self.scopes.leave();
        let overrides = self.machine.known.overrides;
        let overrides = match entries.iter().position(|entry| entry.name == overrides) {
            Some(position) if rec => position as u32 + 1,
            _ => 0,
        };
        let shape = self.shape(&entries);
        (self.template(&entries, shape, &sources, computed, overrides), body)
    }

    /// Compiles `inherit (source) name`, where the source is in the frame at `index`.
    fn inherited(&mut self, entry: &Entry, index: u32) -> Compiled {
        let set = self.push_at(Node::Local { index }, entry.start, entry.end);
        let access = self.static_access(AccessName::Static(entry.name), entry.start, entry.end);
        let node = self.push_at(Node::Select { set, access }, entry.start, entry.end);
        Compiled { node, constant: None }
    }

    fn computed(&mut self, set: Set) -> (u32, u32) {
        let tree = self.tree;
        let mut all = Vec::new();
        for binding in tree.slice(set.dynamic) {
            let name = self.node(binding.name);
            let value = self.node(binding.value);
            all.push(Computed { name, value, start: binding.start, end: binding.end });
        }
        let first = self.machine.code.computed.len() as u32;
        let count = all.len() as u32;
        self.machine.code.computed.extend(all);
        (first, count)
    }

    fn shape(&mut self, entries: &[Entry]) -> u32 {
        let shapes = &mut self.machine.shapes;
        if entries.is_empty() {
            return crate::shapes::EMPTY;
        }
        let names: Vec<Symbol> = entries.iter().map(|entry| entry.name).collect();
        let layout = shapes.layout(&names);
        let first = shapes.written.len() as u32;
        shapes.written.extend(entries.iter().map(|entry| Written {
            start: entry.start,
            end: entry.end,
            value: entry.compiled.node,
        }));
        shapes.add(layout, Source::Written { first })
    }

    fn template(
        &mut self,
        entries: &[Entry],
        shape: u32,
        sources: &[NodeId],
        (computed, computed_count): (u32, u32),
        overrides: u32,
    ) -> u32 {
        let mut ids = Vec::with_capacity(entries.len());
        for entry in entries {
            ids.push(self.settle(entry.compiled) | if entry.inner { INNER } else { 0 });
        }
        let (start, count) = self.ids(&ids);
        let (sources, source_count) = self.ids(sources);
        let templates = &mut self.machine.code.templates;
        templates.push(Template {
            shape,
            start,
            count,
            sources,
            source_count,
            computed,
            computed_count,
            overrides,
        });
        templates.len() as u32 - 1
    }
}
