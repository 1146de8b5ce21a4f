//! What the grammar builds with: the tree, the names, the findings and the limits.

use std::collections::BTreeMap;

use diag::{Diagnostics, FileId, Severity, Span};
use nom::Err;

use crate::kind::{Kind, KindSet, Token};
use crate::tokens::{Fault, Parsed, Tokens};
use crate::tree::{AttrPathId, Expr, ExprId, Name, Part, SetId, Slice, Text, Tree};
use crate::{Interner, Symbol, report};

/// How deep expressions may stand in each other, counted in expressions and in operators of a chain.
pub const MAX_DEPTH: u32 = 10_000;

/// How many errors of one file are reported before the rest is left unread, and how many warnings at
/// most.
pub const MAX_FINDINGS: usize = 50;

pub(crate) struct Builder<'a> {
    pub(crate) text: &'a str,
    pub(crate) all: &'a [Token],
    pub(crate) names: &'a mut Interner,
    pub(crate) tree: Tree,
    pub(crate) diagnostics: Diagnostics,
    /// Set where a string without an end took the rest of the file: then nothing else is missing.
    pub(crate) ate_the_rest: bool,
    /// Where something was reported to be missing, so that nothing else is at the same place.
    pub(crate) said_missing_at: u32,
    /// Set once the rest of the file is not to be read; then no further fault is reported.
    pub(crate) stopped: bool,
    pub(crate) depth: u32,
    /// How many `(`, `[` and `{` are open, so that a closer without an opener is told apart from a
    /// closer that belongs to something further out.
    pub(crate) open: [u32; 3],
    /// Lists and arguments under construction; each rule takes off what it put on.
    pub(crate) ids: Vec<ExprId>,
    /// Strings and paths under construction.
    pub(crate) parts: Vec<Part>,
    /// Attribute paths under construction.
    pub(crate) path: Vec<Name>,
    /// Sets under construction, with the names of their dotted paths.
    pub(crate) entries: Vec<crate::merge::Entry>,
    pub(crate) entry_names: Vec<Name>,
    pub(crate) sources: Vec<ExprId>,
    /// Where the sources of the innermost set begin.
    pub(crate) sources_from: usize,
    /// The sets that are being merged, with the index of the draft.
    pub(crate) drafted: BTreeMap<SetId, usize>,
    pub(crate) formals: Vec<crate::tree::Formal>,
    /// For each symbol, in which round it was seen last, and its index in that round.
    pub(crate) stamps: Vec<(u32, u32)>,
    pub(crate) round: u32,
    /// The last indented string whose text has several pieces for Nix, as `''a'''b''` has: as a name,
    /// `${''a'''b''}`, that is a computed one.
    pub(crate) pieced: Option<ExprId>,
    pub(crate) current_position: Symbol,
    pub(crate) or: Symbol,
}

/// How much is under construction at a place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark {
    ids: usize,
    parts: usize,
    path: usize,
    entries: usize,
    entry_names: usize,
    sources: usize,
    formals: usize,
    sources_from: usize,
    depth: u32,
    open: [u32; 3],
}

impl<'a> Builder<'a> {
    pub(crate) fn new(file: FileId, text: &'a str, all: &'a [Token], names: &'a mut Interner) -> Self {
        let current_position = names.intern("__curPos");
        let or = names.intern("or");
        let mut tree = Tree::new(file);
        tree.exprs.reserve(all.len() / 4);
        tree.spans.reserve(all.len() / 4);
        Self {
            text,
            all,
            names,
            tree,
            diagnostics: Diagnostics::new(),
            stopped: false,
            ate_the_rest: false,
            said_missing_at: u32::MAX,
            depth: 0,
            open: [0; 3],
            ids: Vec::new(),
            parts: Vec::new(),
            path: Vec::new(),
            entries: Vec::new(),
            entry_names: Vec::new(),
            sources: Vec::new(),
            sources_from: 0,
            drafted: BTreeMap::new(),
            formals: Vec::new(),
            stamps: Vec::new(),
            round: 0,
            pieced: None,
            current_position,
            or,
        }
    }

    /// Adds an expression.
    #[inline]
    pub(crate) fn push(&mut self, expr: Expr, start: u32, end: u32) -> ExprId {
        let id = ExprId(u32::try_from(self.tree.exprs.len()).unwrap_or(u32::MAX));
        self.tree.exprs.push(expr);
        self.tree.spans.push((start, end));
        id
    }

    /// Returns the characters between two offsets.
    #[inline]
    pub(crate) fn source(&self, start: u32, end: u32) -> &'a str {
        self.text.get(start as usize..end as usize).unwrap_or("")
    }

    pub(crate) fn span(&self, start: u32, end: u32) -> Span {
        Span::new(self.tree.file, start, end)
    }

    /// Returns the symbol of the name between two offsets.
    #[inline]
    pub(crate) fn symbol(&mut self, start: u32, end: u32) -> Symbol {
        let name = self.source(start, end);
        self.names.intern(name)
    }

    /// Moves what stands on the stack of expressions from `from` on into the tree.
    pub(crate) fn take_ids(&mut self, from: usize) -> Slice<ExprId> {
        let start = self.tree.ids.len();
        self.tree.ids.extend(self.ids.drain(from..));
        Slice::new(start, self.tree.ids.len())
    }

    /// Moves what stands on the stack of parts from `from` on into the tree.
    pub(crate) fn take_parts(&mut self, from: usize) -> Slice<Part> {
        let start = self.tree.parts.len();
        self.tree.parts.extend(self.parts.drain(from..));
        Slice::new(start, self.tree.parts.len())
    }

    /// Moves what stands on the stack of names from `from` on into the tree.
    pub(crate) fn take_path(&mut self, from: usize) -> AttrPathId {
        let start = self.tree.names.len();
        self.tree.names.extend(self.path.drain(from..));
        let id = AttrPathId(u32::try_from(self.tree.paths.len()).unwrap_or(u32::MAX));
        self.tree.paths.push(Slice::new(start, self.tree.names.len()));
        id
    }

    /// Puts a text on the stack of parts, joined with a text that is right before it.
    pub(crate) fn push_text(&mut self, from: usize, text: Text) {
        if text.is_empty() {
            return;
        }
        if self.parts.len() > from
            && let Some(Part::Text(last)) = self.parts.last_mut()
            && last.range().end == text.range().start
        {
            *last = Slice::new(last.range().start, text.range().end);
            return;
        }
        self.parts.push(Part::Text(text));
    }

    /// Reports a finding, and stops the parse where there are too many.
    pub(crate) fn report(&mut self, diagnostic: diag::Diagnostic) {
        if self.stopped {
            return;
        }
        // Warnings beyond the limit are left out; they never end the reading.
        let severity = diagnostic.severity;
        let same = self.diagnostics.iter().filter(|finding| finding.severity == severity).count();
        if same < MAX_FINDINGS {
            self.diagnostics.push(diagnostic);
        }
        if severity == Severity::Error && same + 1 >= MAX_FINDINGS {
            self.stopped = true;
        }
    }

    /// Runs a rule one level deeper, on a stack that has room for it.
    #[inline]
    pub(crate) fn deeper<T>(
        &mut self,
        input: Tokens<'a>,
        rule: impl FnOnce(&mut Self, Tokens<'a>) -> Parsed<'a, T>,
    ) -> Parsed<'a, T> {
        if self.stopped || self.depth >= MAX_DEPTH {
            return Err(self.too_deep(input));
        }
        let depth = self.depth;
        self.depth += 1;
        let parsed = stacker::maybe_grow(64 * 1024, 2 * 1024 * 1024, || rule(self, input));
        self.depth = depth;
        parsed
    }

    /// Reports that the nesting is too deep, once, and returns the fault that ends the parse.
    #[cold]
    pub(crate) fn too_deep(&mut self, input: Tokens<'a>) -> Err<Fault> {
        let span = self.span(input.start, input.end());
        self.report(report::too_deep(span));
        self.stopped = true;
        Err::Failure(input.fault(KindSet::default()))
    }

    /// Notes that a name is seen in this round. Returns what it was seen as, if it was.
    #[inline]
    pub(crate) fn stamp(&mut self, name: Symbol, index: u32) -> Option<u32> {
        let at = name.0 as usize;
        if at >= self.stamps.len() {
            self.stamps.resize(self.names.len().max(at + 1), (0, 0));
        }
        let stamp = self.stamps.get_mut(at)?;
        if stamp.0 == self.round {
            return Some(stamp.1);
        }
        *stamp = (self.round, index);
        None
    }

    /// Returns how much is under construction, to be put back where a rule breaks.
    pub(crate) fn mark(&self) -> Mark {
        Mark {
            ids: self.ids.len(),
            parts: self.parts.len(),
            path: self.path.len(),
            entries: self.entries.len(),
            entry_names: self.entry_names.len(),
            sources: self.sources.len(),
            formals: self.formals.len(),
            sources_from: self.sources_from,
            depth: self.depth,
            open: self.open,
        }
    }

    /// Drops what a broken rule left under construction.
    pub(crate) fn back_to(&mut self, mark: Mark) {
        self.ids.truncate(mark.ids);
        self.parts.truncate(mark.parts);
        self.path.truncate(mark.path);
        self.entries.truncate(mark.entries);
        self.entry_names.truncate(mark.entry_names);
        self.sources.truncate(mark.sources);
        self.formals.truncate(mark.formals);
        self.sources_from = mark.sources_from;
        self.depth = mark.depth;
        self.open = mark.open;
    }

    pub(crate) fn enter(&mut self, bracket: Bracket) {
        if let Some(open) = self.open.get_mut(bracket as usize) {
            *open += 1;
        }
    }

    pub(crate) fn leave(&mut self, bracket: Bracket) {
        if let Some(open) = self.open.get_mut(bracket as usize) {
            *open = open.saturating_sub(1);
        }
    }

    /// Returns true if a bracket of this kind is open around this place.
    pub(crate) fn is_open(&self, bracket: Bracket) -> bool {
        self.open.get(bracket as usize).is_some_and(|&open| open > 0)
    }

    /// Turns a fault into a finding and returns the place of the fault.
    pub(crate) fn recover(&mut self, fault: Fault) -> Tokens<'a> {
        let input = Tokens::at(self.all, fault.left);
        if !self.stopped {
            let unmatched = Bracket::of_closer(input.kind()).is_some_and(|bracket| !self.is_open(bracket));
            let finding = if unmatched {
                report::unmatched(self, input)
            } else {
                report::unexpected(self, input, fault.expected)
            };
            self.report(finding);
        }
        input
    }

    /// Goes on to the next token of `stop` that is not inside brackets or strings, or to a closer of
    /// something further out, or to the end.
    pub(crate) fn skip_to(&mut self, mut input: Tokens<'a>, stop: KindSet) -> Tokens<'a> {
        if self.stopped {
            return Tokens::at(self.all, 1);
        }
        let mut inside = 0_u32;
        loop {
            let kind = input.kind();
            match kind {
                Kind::End => return input,
                _ if inside == 0 && (stop.has(kind) || CLOSERS.has(kind)) => return input,
                _ if OPENERS.has(kind) => inside += 1,
                _ if CLOSERS.has(kind) => inside -= 1,
                _ => {}
            }
            input = input.next();
        }
    }
}

const OPENERS: KindSet = KindSet::of(&[
    Kind::ParenOpen,
    Kind::BracketOpen,
    Kind::BraceOpen,
    Kind::InterpolationOpen,
    Kind::StringOpen,
    Kind::IndentedOpen,
]);

/// What ends something that was opened.
pub(crate) const CLOSERS: KindSet = KindSet::of(&[
    Kind::ParenClose,
    Kind::BracketClose,
    Kind::BraceClose,
    Kind::StringClose,
    Kind::IndentedClose,
]);

/// What is opened and closed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Bracket {
    Paren = 0,
    Square = 1,
    Brace = 2,
}

impl Bracket {
    pub(crate) fn closer(self) -> Kind {
        match self {
            Self::Paren => Kind::ParenClose,
            Self::Square => Kind::BracketClose,
            Self::Brace => Kind::BraceClose,
        }
    }

    pub(crate) fn of_closer(kind: Kind) -> Option<Self> {
        match kind {
            Kind::ParenClose => Some(Self::Paren),
            Kind::BracketClose => Some(Self::Square),
            Kind::BraceClose => Some(Self::Brace),
            _ => None,
        }
    }

    /// Returns what people call it, for messages.
    pub(crate) fn describe(self) -> &'static str {
        match self {
            Self::Paren => "`(`",
            Self::Square => "`[`",
            Self::Brace => "`{`",
        }
    }
}
