//! The machine: everything an evaluation works on, and how a slot becomes a value.

use std::collections::BTreeMap;
use std::sync::Arc;

use diag::{Diagnostic, SourceMap, Span, slugs::eval as slugs};
use syntax::{Interner, Symbol as Name};

use crate::code::Code;
use crate::failure::{Failure, Outcome};
use crate::known::Known;
use crate::shapes::{Shapes, Source};
use crate::slot::{NOWHERE, NodeId, Slot, SlotId, Symbol};
use crate::{Files, Limits};

/// Expressions may nest this many times as deep as calls.
const NESTING_PER_CALL: u32 = 16;
/// Stack that one step may need, and how much more is asked for when that is not left.
const STACK_LEFT: usize = 256 * 1024;
const STACK_MORE: usize = 4 * 1024 * 1024;

/// One session's state. Nothing in it is freed before the session ends.
pub(crate) struct Machine<'f> {
    pub(crate) files: &'f dyn Files,
    pub(crate) limits: Limits,
    pub(crate) sources: SourceMap,
    pub(crate) names: Interner,
    /// Where each name is in `text`, once a program has asked for names as strings.
    name_texts: Vec<(u32, u32)>,
    /// Names as callers get them, by symbol, once one has been asked for.
    shared_names: Vec<Option<Arc<str>>>,
    pub(crate) known: Known,
    pub(crate) code: Code,
    pub(crate) shapes: Shapes,
    pub(crate) heap: Vec<Slot>,
    pub(crate) text: Vec<u8>,
    /// Strings under construction; each user cuts it back to where it found it.
    pub(crate) scratch: Vec<u8>,
    /// The value of each loaded file by its path.
    pub(crate) modules: BTreeMap<String, SlotId>,
    pub(crate) loading: Vec<(String, SlotId)>,
    pub(crate) traces: Vec<String>,
    /// What is odd about the texts that were read, though they can be evaluated.
    pub(crate) warnings: diag::Diagnostics,
    /// Bytes of all messages.
    pub(crate) traced: u64,
    /// By symbol: the slot of a name that is defined everywhere, or 0.
    pub(crate) globals: Vec<SlotId>,
    /// By symbol: the index plus one of a name that Nix defines everywhere and this language not.
    pub(crate) left_out_globals: Vec<u32>,
    /// Where the attributes of `builtins` begin.
    pub(crate) builtins_start: SlotId,
    /// Regular expressions compiled already.
    pub(crate) patterns: BTreeMap<Vec<u8>, std::rc::Rc<crate::regex::Regex>>,
    pub(crate) steps: u64,
    pub(crate) calls: u32,
    nesting: u32,
    /// The heap may grow up to here; then the exact bound is looked at.
    room: usize,
    /// The text may grow up to here.
    text_room: usize,
}

impl<'f> Machine<'f> {
    pub(crate) fn new(files: &'f dyn Files, limits: Limits) -> Self {
        let mut names = Interner::new();
        let known = Known::new(&mut names);
        let mut machine = Self {
            files,
            limits,
            sources: SourceMap::new(),
            names,
            name_texts: Vec::new(),
            shared_names: Vec::new(),
            known,
            code: Code::new(),
            shapes: Shapes::new(),
            heap: vec![Slot::Frame { parent: 0 }],
            text: Vec::new(),
            scratch: Vec::new(),
            modules: BTreeMap::new(),
            loading: Vec::new(),
            traces: Vec::new(),
            warnings: diag::Diagnostics::new(),
            traced: 0,
            globals: Vec::new(),
            left_out_globals: Vec::new(),
            builtins_start: 0,
            patterns: BTreeMap::new(),
            steps: 0,
            calls: 0,
            nesting: 0,
            room: 0,
            text_room: 0,
        };
        crate::builtins::install(&mut machine);
        machine
    }

    // ---- Room ----

    /// Returns `count` fresh slots, all null.
    #[inline]
    pub(crate) fn alloc(&mut self, count: usize) -> Outcome<SlotId> {
        let start = self.heap.len();
        if start + count > self.room {
            self.make_room(count, 0)?;
        }
        self.heap.resize(start + count, Slot::Null { at: NOWHERE });
        Ok(start as SlotId)
    }

    /// Returns a fresh slot that holds `held`.
    #[inline]
    pub(crate) fn alloc_one(&mut self, held: Slot) -> Outcome<SlotId> {
        let start = self.heap.len();
        if start + 1 > self.room {
            self.make_room(1, 0)?;
        }
        self.heap.push(held);
        Ok(start as SlotId)
    }

    /// Checks that `slots` more slots and `bytes` more bytes of text fit the limit.
    #[cold]
    pub(crate) fn make_room(&mut self, slots: usize, bytes: usize) -> Outcome<()> {
        let held = (self.heap.len() + slots) as u64 * 16
            + (self.text.len() + bytes) as u64
            + (self.shapes.held() + self.code.held()) as u64;
        let most = u64::from(u32::MAX - 1);
        if held > self.limits.bytes
            || (self.heap.len() + slots) as u64 >= most
            || (self.text.len() + bytes) as u64 >= most
        {
            return Err(Failure::new(
                Diagnostic::error(
                    slugs::TOO_MUCH_MEMORY,
                    format!("evaluation needs more than {} bytes", self.limits.bytes),
                )
                .why("values, names and text together may take no more than this limit")
                .help("look for a list or a string that grows without end, or raise the limit"),
            ));
        }
        // Growth in steps keeps the exact sum off the fast path.
        self.room = self.heap.len() + slots + 4096;
        self.text_room = self.text.len() + bytes + 65_536;
        Ok(())
    }

    /// Returns a string value with these bytes.
    pub(crate) fn string(&mut self, bytes: &[u8], at: NodeId) -> Outcome<Slot> {
        let start = self.text.len();
        if start + bytes.len() > self.text_room {
            self.make_room(0, bytes.len())?;
        }
        self.text.extend_from_slice(bytes);
        Ok(Slot::String { at, start: start as u32, len: bytes.len() as u32 })
    }

    /// Returns what was built in `scratch` since `base` as a string value, and cuts it off.
    pub(crate) fn finish(&mut self, base: usize, at: NodeId) -> Outcome<Slot> {
        let start = self.text.len();
        let len = self.scratch.len() - base;
        if start + len > self.text_room {
            let room = self.make_room(0, len);
            if room.is_err() {
                self.scratch.truncate(base);
            }
            room?;
        }
        self.text.extend_from_slice(&self.scratch[base..]);
        self.scratch.truncate(base);
        Ok(Slot::String { at, start: start as u32, len: len as u32 })
    }

    /// Returns the bytes of a string or path.
    #[inline]
    pub(crate) fn bytes(&self, start: u32, len: u32) -> &[u8] {
        &self.text[start as usize..start as usize + len as usize]
    }

    /// Returns the bytes of a string or path value, and of nothing else.
    pub(crate) fn bytes_of(&self, slot: Slot) -> &[u8] {
        match slot {
            Slot::String { start, len, .. } | Slot::Path { start, len, .. } => self.bytes(start, len),
            _ => &[],
        }
    }

    // ---- Names ----

    /// Returns the symbol of a name.
    pub(crate) fn intern(&mut self, name: &str) -> Symbol {
        self.names.intern(name).0
    }

    /// Returns a name's text.
    pub(crate) fn name(&self, symbol: Symbol) -> &str {
        self.names.resolve(Name(symbol))
    }

    /// Returns a name as text that callers keep.
    pub(crate) fn shared_name(&mut self, symbol: Symbol) -> Arc<str> {
        let index = symbol as usize;
        if self.shared_names.len() <= index {
            self.shared_names.resize(self.names.len().max(index + 1), None);
        }
        let text = self.names.resolve(Name(symbol));
        Arc::clone(self.shared_names[index].get_or_insert_with(|| text.into()))
    }

    /// Returns the symbol of a string value's bytes.
    pub(crate) fn intern_bytes(&mut self, start: u32, len: u32) -> Outcome<Symbol> {
        let bytes = &self.text[start as usize..start as usize + len as usize];
        match std::str::from_utf8(bytes) {
            Ok(name) => Ok(self.names.intern(name).0),
            Err(_) => Err(self.not_unicode("an attribute name")),
        }
    }

    /// Returns the symbol of a string value's bytes, if any text or value has used that name.
    pub(crate) fn find_bytes(&self, start: u32, len: u32) -> Option<Symbol> {
        let name = std::str::from_utf8(self.bytes(start, len)).ok()?;
        self.names.find(name).map(|name| name.0)
    }

    /// Returns a name as a string value; its bytes are kept once.
    pub(crate) fn name_string(&mut self, symbol: Symbol, at: NodeId) -> Outcome<Slot> {
        let index = symbol as usize;
        if self.name_texts.len() <= index {
            self.name_texts.resize(self.names.len().max(index + 1), (u32::MAX, 0));
        }
        let (mut start, mut len) = self.name_texts[index];
        if start == u32::MAX {
            let name = self.names.resolve(Name(symbol));
            len = name.len() as u32;
            start = self.text.len() as u32;
            self.text.extend_from_slice(name.as_bytes());
            if self.text.len() > self.text_room {
                self.make_room(0, 0)?;
            }
            self.name_texts[index] = (start, len);
        }
        Ok(Slot::String { at, start, len })
    }

    /// Returns the positions of a shape's attributes in the order of their names' bytes.
    pub(crate) fn ordered(&mut self, shape: u32) -> impl Iterator<Item = u32> + use<> {
        let layout = self.shapes.get(shape).layout;
        let names = &self.names;
        let (first, len) =
            self.shapes.order(layout, |a, b| names.resolve(Name(a)).cmp(names.resolve(Name(b))));
        first..first + len
    }

    /// Returns the slot of a name that is defined everywhere.
    pub(crate) fn global(&self, name: Symbol) -> Option<SlotId> {
        self.globals.get(name as usize).copied().filter(|&slot| slot != 0)
    }

    /// Returns the index of a name that Nix defines everywhere and this language leaves out.
    pub(crate) fn left_out_global(&self, name: Symbol) -> Option<u32> {
        self.left_out_globals.get(name as usize)?.checked_sub(1)
    }

    /// Returns true for the set `builtins` itself.
    pub(crate) fn is_builtins(&self, start: SlotId) -> bool {
        start == self.builtins_start
    }

    // ---- Sets and lists ----

    /// Returns a set of these attributes; later ones win over earlier ones of the same name.
    pub(crate) fn make_set(&mut self, mut pairs: Vec<(Symbol, Slot)>, at: NodeId) -> Outcome<Slot> {
        pairs.reverse();
        pairs.sort_by_key(|&(name, _)| name);
        pairs.dedup_by_key(|&mut (name, _)| name);
        self.make_sorted_set(&pairs, Source::Made { at }, at)
    }

    /// Returns a set of attributes that are sorted by symbol and distinct.
    pub(crate) fn make_sorted_set(
        &mut self,
        pairs: &[(Symbol, Slot)],
        source: Source,
        at: NodeId,
    ) -> Outcome<Slot> {
        let names: Vec<Symbol> = pairs.iter().map(|&(name, _)| name).collect();
        let start = self.alloc(pairs.len())?;
        for (index, &(_, value)) in pairs.iter().enumerate() {
            self.heap[start as usize + index] = value;
        }
        let layout = self.shapes.layout(&names);
        let shape = self.shapes.add(layout, source);
        Ok(Slot::Attrs { at, shape, start })
    }

    /// Returns a list of these elements.
    pub(crate) fn make_list(&mut self, elements: &[Slot], at: NodeId) -> Outcome<Slot> {
        let start = self.alloc(elements.len())?;
        self.heap[start as usize..start as usize + elements.len()].copy_from_slice(elements);
        let site = self.made_site(at);
        Ok(Slot::List { site, start, len: elements.len() as u32 })
    }

    /// Returns the site of a list that the builtin at `node` makes.
    pub(crate) fn made_site(&mut self, node: NodeId) -> u32 {
        // A builtin called in a loop makes many lists at one node.
        if let Some(crate::code::Site::Made { node: last }) = self.code.sites.last()
            && *last == node
        {
            return self.code.sites.len() as u32 - 1;
        }
        self.code.sites.push(crate::code::Site::Made { node });
        self.code.sites.len() as u32 - 1
    }

    /// Returns the slot of an attribute.
    #[inline]
    pub(crate) fn attribute(&self, shape: u32, start: SlotId, name: Symbol) -> Option<SlotId> {
        let layout = self.shapes.get(shape).layout;
        self.shapes.find(layout, name).map(|index| start + index)
    }

    // ---- From slot to value ----

    /// Returns what a second slot may hold in place of slot `id`, without repeating work.
    #[inline]
    pub(crate) fn share(&self, id: SlotId) -> Slot {
        match self.heap[id as usize] {
            Slot::Delayed { .. } | Slot::Call { .. } | Slot::Busy => Slot::Ref { slot: id },
            held => held,
        }
    }

    /// Evaluates what a slot holds, and keeps the value there.
    #[inline]
    pub(crate) fn force_at(&mut self, id: SlotId) -> Outcome<Slot> {
        let held = self.heap[id as usize];
        if held.is_value() { Ok(held) } else { self.force_held(id, held) }
    }

    /// Evaluates a slot that is not in the heap.
    #[inline]
    pub(crate) fn force(&mut self, held: Slot) -> Outcome<Slot> {
        match held {
            Slot::Ref { slot } => self.force_at(slot),
            Slot::Delayed { code, env } => self.eval(code, env),
            held => Ok(held),
        }
    }

    fn force_held(&mut self, id: SlotId, held: Slot) -> Outcome<Slot> {
        let code = match held {
            Slot::Delayed { code, .. } => code,
            Slot::Call { at, .. } => at,
            Slot::Busy => return Err(self.infinite_recursion(id)),
            _ => NOWHERE,
        };
        self.heap[id as usize] = Slot::Busy;
        let outcome = match held {
            Slot::Delayed { code, env } => self.eval(code, env),
            Slot::Ref { slot } => self.force_at(slot),
            Slot::Call { at, function, argument } => self.nested(|machine| {
                let function = machine.force_at(function)?;
                machine.call(function, machine.share(argument), at)
            }),
            held => Ok(held),
        };
        match outcome {
            Ok(value) => {
                self.heap[id as usize] = value;
                Ok(value)
            }
            Err(failure) => {
                self.heap[id as usize] = held;
                Err(self.passed(failure, id, code))
            }
        }
    }

    /// Runs one nested evaluation, with stack to spare and within the limits.
    #[inline]
    pub(crate) fn nested<T>(&mut self, work: impl FnOnce(&mut Self) -> Outcome<T>) -> Outcome<T> {
        self.step()?;
        self.nesting += 1;
        if self.nesting > self.limits.depth.saturating_mul(NESTING_PER_CALL) {
            self.nesting -= 1;
            return Err(self.too_deep());
        }
        let outcome = stacker::maybe_grow(STACK_LEFT, STACK_MORE, || work(self));
        self.nesting -= 1;
        outcome
    }

    /// As [`Machine::nested`], for what Nix counts as a call: going down into a value.
    pub(crate) fn deeper<T>(&mut self, work: impl FnOnce(&mut Self) -> Outcome<T>) -> Outcome<T> {
        self.calls += 1;
        let outcome = if self.calls > self.limits.depth { Err(self.too_deep()) } else { self.nested(work) };
        self.calls -= 1;
        outcome
    }

    /// Counts one step.
    #[inline]
    pub(crate) fn step(&mut self) -> Outcome<()> {
        self.steps += 1;
        if self.steps > self.limits.steps { Err(self.too_many_steps()) } else { Ok(()) }
    }

    /// Counts many steps, for a builtin that does much work in one call.
    pub(crate) fn spend(&mut self, steps: usize) -> Outcome<()> {
        self.steps = self.steps.saturating_add(steps as u64);
        if self.steps > self.limits.steps { Err(self.too_many_steps()) } else { Ok(()) }
    }

    /// Returns the characters of the expression that made a value.
    pub(crate) fn origin(&self, slot: Slot) -> Option<Span> {
        let node = match slot {
            Slot::Null { at }
            | Slot::Bool { at, .. }
            | Slot::Int { at, .. }
            | Slot::Float { at, .. }
            | Slot::String { at, .. }
            | Slot::Path { at, .. }
            | Slot::Attrs { at, .. }
            | Slot::Builtin { at, .. } => at,
            Slot::List { site, .. } => self.code.site_node(site),
            Slot::Lambda { lambda, .. } => self.code.lambdas[lambda as usize].node,
            _ => NOWHERE,
        };
        self.code.span(node)
    }
}

impl std::fmt::Debug for Machine<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Machine({} slots, {} nodes, {} steps)", self.heap.len(), self.code.nodes.len(), self.steps)
    }
}
