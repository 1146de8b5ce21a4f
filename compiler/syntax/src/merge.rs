//! Sets from their bindings, merged as Nix merges them.
//!
//! `a.b = 1; a.c = 2;` is one set `a`, and so is `a = { b = 1; }; a.c = 2;`. A name bound twice to
//! anything else is an error. Almost every set has neither, so the common case copies its bindings
//! straight into the tree, and only the others are drafted first.

use std::collections::BTreeMap;

use crate::Symbol;
use crate::builder::Builder;
use crate::report;
use crate::tree::{Binding, DynamicBinding, Expr, ExprId, Name, NameKind, Set, SetId, Slice, Spanned, Value};

/// One binding as it is written.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Entry {
    /// `name = value;`
    One { name: Name, value: ExprId },
    /// `a.b.c = value;`; the names are the builder's `entry_names[from..to]`.
    Path { from: usize, to: usize, value: ExprId },
    /// `inherit name;`
    Inherit { name: Spanned },
    /// `inherit (source) name;`
    InheritFrom { name: Spanned, source: u32 },
}

/// Where the entries of a set under construction begin.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scope {
    recursive: bool,
    entries: usize,
    names: usize,
    sources: usize,
    /// Where the sources of the set around begin, to be put back.
    outer_sources: usize,
}

impl Scope {
    pub(crate) fn begin(builder: &mut Builder<'_>, recursive: bool) -> Self {
        let outer_sources = std::mem::replace(&mut builder.sources_from, builder.sources.len());
        Self {
            recursive,
            entries: builder.entries.len(),
            names: builder.entry_names.len(),
            sources: builder.sources.len(),
            outer_sources,
        }
    }
}

/// Adds `path = value;`, the path being the builder's stack of names from `from` on.
#[inline]
pub(crate) fn push_binding(builder: &mut Builder<'_>, from: usize, value: ExprId) {
    if builder.path.len() == from + 1
        && let Some(name) = builder.path.pop()
    {
        builder.entries.push(Entry::One { name, value });
        return;
    }
    let start = builder.entry_names.len();
    builder.entry_names.extend(builder.path.drain(from..));
    let to = builder.entry_names.len();
    builder.entries.push(Entry::Path { from: start, to, value });
}

/// Adds the source of an `inherit (source) …` and returns its index in the set.
pub(crate) fn push_source(builder: &mut Builder<'_>, source: ExprId) -> u32 {
    let index = builder.sources.len() - builder.sources_from;
    builder.sources.push(source);
    u32::try_from(index).unwrap_or(u32::MAX)
}

/// Puts a set into the tree.
pub(crate) fn finish(builder: &mut Builder<'_>, scope: Scope) -> SetId {
    let set = match plain(builder, &scope) {
        Some(set) => set,
        None => Drafts::of(builder, &scope).emit(builder),
    };
    builder.entries.truncate(scope.entries);
    builder.entry_names.truncate(scope.names);
    builder.sources.truncate(scope.sources);
    builder.sources_from = scope.outer_sources;
    let id = SetId(u32::try_from(builder.tree.sets.len()).unwrap_or(u32::MAX));
    builder.tree.sets.push(set);
    id
}

/// Reports the computed names of a `let`.
pub(crate) fn refuse_dynamic(builder: &mut Builder<'_>, set: SetId) {
    let dynamic = builder.tree.set(set).dynamic;
    for at in dynamic.range() {
        if let Some(&binding) = builder.tree.dynamic.get(at) {
            let finding = report::dynamic_let(builder, binding);
            builder.report(finding);
        }
    }
}

/// Copies the bindings of a set without dotted paths and without repeated names.
fn plain(builder: &mut Builder<'_>, scope: &Scope) -> Option<Set> {
    builder.round += 1;
    let (bindings, dynamic) = (builder.tree.bindings.len(), builder.tree.dynamic.len());
    for at in scope.entries..builder.entries.len() {
        let binding = match *builder.entries.get(at)? {
            Entry::One { name: Name { kind: NameKind::Static(name), start, end }, value } => {
                Binding { name, start, end, value: Value::Expr(value) }
            }
            Entry::One { name: Name { kind: NameKind::Dynamic(name), start, end }, value } => {
                builder.tree.dynamic.push(DynamicBinding { name, start, end, value });
                continue;
            }
            Entry::Inherit { name } => inherited(name, Value::Inherit),
            Entry::InheritFrom { name, source } => inherited(name, Value::InheritFrom(source)),
            Entry::Path { .. } => {
                builder.tree.bindings.truncate(bindings);
                builder.tree.dynamic.truncate(dynamic);
                return None;
            }
        };
        if builder.stamp(binding.name, 0).is_some() {
            builder.tree.bindings.truncate(bindings);
            builder.tree.dynamic.truncate(dynamic);
            return None;
        }
        builder.tree.bindings.push(binding);
    }
    let ids = builder.tree.ids.len();
    builder.tree.ids.extend(builder.sources.iter().skip(scope.sources));
    Some(Set {
        recursive: scope.recursive,
        bindings: Slice::new(bindings, builder.tree.bindings.len()),
        dynamic: Slice::new(dynamic, builder.tree.dynamic.len()),
        sources: Slice::new(ids, builder.tree.ids.len()),
    })
}

fn inherited(name: Spanned, value: Value) -> Binding {
    Binding { name: name.name, start: name.start, end: name.end, value }
}

/// Sets that are still growing. A nested one has a larger index than the one around it.
#[derive(Default)]
struct Drafts {
    list: Vec<Draft>,
}

#[derive(Default)]
struct Draft {
    recursive: bool,
    bindings: Vec<Binding>,
    index: BTreeMap<Symbol, usize>,
    dynamic: Vec<DynamicBinding>,
    sources: Vec<ExprId>,
    /// The expression and the set of the tree that this replaces; none for the outermost.
    replaces: Option<SetId>,
}

impl Drafts {
    fn of(builder: &mut Builder<'_>, scope: &Scope) -> Self {
        let mut drafts = Self::default();
        drafts.list.push(Draft {
            recursive: scope.recursive,
            sources: builder.sources.iter().skip(scope.sources).copied().collect(),
            ..Draft::default()
        });
        for at in scope.entries..builder.entries.len() {
            let Some(&entry) = builder.entries.get(at) else { break };
            match entry {
                Entry::One { name, value } => drafts.bind(builder, 0, name, value, &[]),
                Entry::Path { from, to, value } => {
                    let names = builder.entry_names.get(from..to).unwrap_or_default().to_vec();
                    drafts.bind_path(builder, &names, value);
                }
                Entry::Inherit { name } => {
                    drafts.add(builder, 0, inherited(name, Value::Inherit), &[]);
                }
                Entry::InheritFrom { name, source } => {
                    drafts.add(builder, 0, inherited(name, Value::InheritFrom(source)), &[]);
                }
            }
        }
        drafts
    }

    /// `a.b.c = value;`
    fn bind_path(&mut self, builder: &mut Builder<'_>, names: &[Name], value: ExprId) {
        let Some((last, outer)) = names.split_last() else { return };
        let mut draft = 0;
        for (depth, &name) in outer.iter().enumerate() {
            match self.descend(builder, draft, name, value, names.get(depth + 1)) {
                Some(next) => draft = next,
                None => {
                    let first = self.find(draft, name);
                    let finding =
                        report::duplicate_attribute(builder, outer.get(..=depth).unwrap_or(outer), first);
                    builder.report(finding);
                    return;
                }
            }
        }
        self.bind(builder, draft, *last, value, outer);
    }

    /// Returns the draft of the set that `name` is bound to, a new one if it is bound to nothing.
    fn descend(
        &mut self,
        builder: &mut Builder<'_>,
        draft: usize,
        name: Name,
        value: ExprId,
        inner: Option<&Name>,
    ) -> Option<usize> {
        let known = match name.kind {
            NameKind::Static(symbol) => self.bound(draft, symbol),
            // Each computed name is a binding of its own, as in Nix.
            NameKind::Dynamic(_) => None,
        };
        if let Some(binding) = known {
            let Value::Expr(id) = binding.value else { return None };
            return self.open(builder, id);
        }
        let set = SetId(u32::try_from(builder.tree.sets.len()).unwrap_or(u32::MAX));
        builder.tree.sets.push(Set::EMPTY);
        let end = builder.tree.span(value).end;
        let id = builder.push(Expr::Attrs(set), inner.map_or(name.start, |inner| inner.start), end);
        self.list.push(Draft { replaces: Some(set), ..Draft::default() });
        builder.drafted.insert(set, self.list.len() - 1);
        let next = self.list.len() - 1;
        self.bind(builder, draft, name, id, &[]);
        Some(next)
    }

    /// Returns the draft of an expression that is a set.
    fn open(&mut self, builder: &mut Builder<'_>, id: ExprId) -> Option<usize> {
        let Expr::Attrs(set) = builder.tree.expr(id) else { return None };
        if let Some(&draft) = builder.drafted.get(&set) {
            return Some(draft);
        }
        let content = builder.tree.set(set);
        let bindings = builder.tree.slice(content.bindings).to_vec();
        self.list.push(Draft {
            recursive: content.recursive,
            index: bindings.iter().enumerate().map(|(at, binding)| (binding.name, at)).collect(),
            bindings,
            dynamic: builder.tree.slice(content.dynamic).to_vec(),
            sources: builder.tree.slice(content.sources).to_vec(),
            replaces: Some(set),
        });
        builder.drafted.insert(set, self.list.len() - 1);
        Some(self.list.len() - 1)
    }

    fn bound(&self, draft: usize, name: Symbol) -> Option<Binding> {
        let draft = self.list.get(draft)?;
        draft.bindings.get(*draft.index.get(&name)?).copied()
    }

    fn find(&self, draft: usize, name: Name) -> Option<Binding> {
        match name.kind {
            NameKind::Static(symbol) => self.bound(draft, symbol),
            NameKind::Dynamic(_) => None,
        }
    }

    fn bind(&mut self, builder: &mut Builder<'_>, draft: usize, name: Name, value: ExprId, outer: &[Name]) {
        match name.kind {
            NameKind::Static(symbol) => {
                let binding =
                    Binding { name: symbol, start: name.start, end: name.end, value: Value::Expr(value) };
                self.add(builder, draft, binding, outer);
            }
            NameKind::Dynamic(computed) => {
                if let Some(draft) = self.list.get_mut(draft) {
                    let (start, end) = (name.start, name.end);
                    draft.dynamic.push(DynamicBinding { name: computed, start, end, value });
                }
            }
        }
    }

    /// Adds a binding; where the name is bound already, joins two sets or reports the second.
    fn add(&mut self, builder: &mut Builder<'_>, draft: usize, binding: Binding, outer: &[Name]) {
        let Some(first) = self.bound(draft, binding.name) else {
            if let Some(draft) = self.list.get_mut(draft) {
                draft.index.insert(binding.name, draft.bindings.len());
                draft.bindings.push(binding);
            }
            return;
        };
        let name = Name { kind: NameKind::Static(binding.name), start: binding.start, end: binding.end };
        let path: Vec<Name> = outer.iter().copied().chain([name]).collect();
        let joined = match (first.value, binding.value) {
            (Value::Expr(first), Value::Expr(second))
                if matches!(builder.tree.expr(second), Expr::Attrs(_)) =>
            {
                self.open(builder, first).zip(Some(second))
            }
            _ => None,
        };
        let Some((into, second)) = joined else {
            let finding = report::duplicate_attribute(builder, &path, Some(first));
            builder.report(finding);
            return;
        };
        stacker::maybe_grow(64 * 1024, 2 * 1024 * 1024, || self.join(builder, into, second, &path));
    }

    /// Moves all bindings of the set `second` into a draft. As in Nix, a `rec` of `second` is lost.
    fn join(&mut self, builder: &mut Builder<'_>, into: usize, second: ExprId, path: &[Name]) {
        let Expr::Attrs(set) = builder.tree.expr(second) else { return };
        let content = builder.tree.set(set);
        let (bindings, dynamic) =
            (builder.tree.slice(content.bindings).to_vec(), builder.tree.slice(content.dynamic).to_vec());
        let moved = self.list.get(into).map_or(0, |draft| draft.sources.len());
        let moved = u32::try_from(moved).unwrap_or(u32::MAX);
        for mut binding in bindings {
            if let Value::InheritFrom(source) = binding.value {
                binding.value = Value::InheritFrom(source.saturating_add(moved));
            }
            self.add(builder, into, binding, path);
        }
        if let Some(draft) = self.list.get_mut(into) {
            draft.dynamic.extend(dynamic);
            draft.sources.extend(builder.tree.slice(content.sources));
        }
    }

    /// Writes all drafts into the tree and returns the outermost.
    fn emit(self, builder: &mut Builder<'_>) -> Set {
        let mut outermost = Set::EMPTY;
        for draft in self.list {
            let tree = &mut builder.tree;
            let (bindings, dynamic, ids) = (tree.bindings.len(), tree.dynamic.len(), tree.ids.len());
            tree.bindings.extend(draft.bindings);
            tree.dynamic.extend(draft.dynamic);
            tree.ids.extend(draft.sources);
            let set = Set {
                recursive: draft.recursive,
                bindings: Slice::new(bindings, tree.bindings.len()),
                dynamic: Slice::new(dynamic, tree.dynamic.len()),
                sources: Slice::new(ids, tree.ids.len()),
            };
            match draft.replaces.and_then(|id| tree.sets.get_mut(id.0 as usize)) {
                Some(slot) => *slot = set,
                None => outermost = set,
            }
        }
        builder.drafted.clear();
        outermost
    }
}
