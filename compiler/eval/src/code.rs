//! What a tree is compiled to: nodes whose variables are resolved to places in frames.

use diag::{FileId, Span};

use crate::coverage::BranchKind;
use crate::slot::{NOWHERE, NodeId, SlotId, Symbol};

/// One expression, children by index, at most sixteen bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Node {
    /// Nothing could be read here. Never evaluated: a text with errors does not get this far.
    Unread,
    /// A value known before the program runs.
    Const {
        slot: SlotId,
    },
    /// A variable of the innermost frame.
    Local {
        index: u32,
    },
    /// A variable of the frame `level` further out.
    Outer {
        level: u32,
        index: u32,
    },
    /// A variable that only a `with` can define: `count` frames of `withs`, innermost first.
    Dynamic {
        name: Symbol,
        start: u32,
        count: u32,
    },
    /// `set.name`; what and where is in `accesses`.
    Select {
        set: NodeId,
        access: u32,
    },
    /// `set.path or default`; what and where is in `paths`.
    SelectOr {
        set: NodeId,
        path: u32,
        branch: u32,
    },
    /// `set ? path`
    Has {
        set: NodeId,
        path: u32,
    },
    /// `function argument …`; the arguments are in `ids`.
    Apply {
        function: NodeId,
        start: u32,
        count: u32,
    },
    /// `[ … ]`; the site says where the elements are in `ids`.
    List {
        site: u32,
        count: u32,
    },
    /// `{ … }`
    Attrs {
        template: u32,
    },
    /// `rec { … }`
    Recursive {
        template: u32,
    },
    /// `let … in body`
    Let {
        template: u32,
        body: NodeId,
    },
    /// `with namespace; body`
    With {
        namespace: NodeId,
        body: NodeId,
    },
    /// `assert condition; body`
    Assert {
        condition: NodeId,
        body: NodeId,
    },
    /// `if … then … else …`
    If {
        branch: u32,
    },
    /// `condition && second`
    And {
        branch: u32,
    },
    /// `condition || second`
    Or {
        branch: u32,
    },
    /// `condition -> second`
    Implies {
        branch: u32,
    },
    /// `parameter: body`
    Lambda {
        lambda: u32,
    },
    Not {
        operand: NodeId,
    },
    Negate {
        operand: NodeId,
    },
    Update {
        left: NodeId,
        right: NodeId,
    },
    Concat {
        left: NodeId,
        right: NodeId,
    },
    Add {
        left: NodeId,
        right: NodeId,
    },
    Arithmetic {
        operator: Arithmetic,
        left: NodeId,
        right: NodeId,
    },
    Equal {
        left: NodeId,
        right: NodeId,
        negated: bool,
    },
    /// `left < right`, or with the operands in the other order, or the answer turned round.
    Less {
        left: NodeId,
        right: NodeId,
        swapped: bool,
        negated: bool,
    },
    /// `"…${…}…"`; the parts are in `ids`.
    Interpolate {
        start: u32,
        count: u32,
    },
    /// `./…${…}…`; the parts are in `ids`.
    Path {
        start: u32,
        count: u32,
    },
    /// A name that Nix has and this language leaves out, by its index in the table of those.
    LeftOut {
        index: u32,
    },
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Arithmetic {
    Subtract,
    Multiply,
    Divide,
}

impl Arithmetic {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Subtract => "-",
            Self::Multiply => "*",
            Self::Divide => "/",
        }
    }
}

/// One name of an attribute path, with the last lookup that was made here.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Access {
    pub(crate) name: AccessName,
    pub(crate) start: u32,
    pub(crate) end: u32,
    /// The layout that was looked into last, and what was found: the position plus one.
    pub(crate) layout: u32,
    pub(crate) found: u32,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum AccessName {
    Static(Symbol),
    Dynamic(NodeId),
}

/// How a set is made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Template {
    /// The shape of the attributes with known names; their values are in `ids`, in its order.
    pub(crate) shape: u32,
    pub(crate) start: u32,
    pub(crate) count: u32,
    /// Where the sources of `inherit (…)` are in `ids`.
    pub(crate) sources: u32,
    pub(crate) source_count: u32,
    /// Where the attributes with computed names are in `computed`.
    pub(crate) computed: u32,
    pub(crate) computed_count: u32,
    /// The position of `__overrides` plus one, in a recursive set.
    pub(crate) overrides: u32,
}

/// In a template that is not recursive, the mark of a value that sees the sources' frame.
pub(crate) const INNER: u32 = 1 << 31;

/// An attribute with a computed name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Computed {
    pub(crate) name: NodeId,
    pub(crate) value: NodeId,
    pub(crate) start: u32,
    pub(crate) end: u32,
}

/// A function. Its frame holds the whole argument first if that has a name, then the named
/// arguments sorted by symbol.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lambda {
    pub(crate) body: NodeId,
    /// The node of the function itself.
    pub(crate) node: NodeId,
    /// True if the frame keeps the whole argument.
    pub(crate) whole: bool,
    /// True if there is a pattern.
    pub(crate) pattern: bool,
    pub(crate) open: bool,
    /// Where the named arguments are in `formals`.
    pub(crate) formals: u32,
    pub(crate) formal_count: u32,
    /// The parameter's characters.
    pub(crate) start: u32,
    pub(crate) end: u32,
    /// The name that the function was bound to, plus one; 0 if it has none.
    pub(crate) name: u32,
    /// The name of the whole argument, plus one; 0 if it has none.
    pub(crate) whole_name: u32,
    /// The layout that this was called with last; where its positions are in `matches`.
    pub(crate) layout: u32,
    pub(crate) matches: u32,
}

/// One named argument of a pattern.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Formal {
    pub(crate) name: Symbol,
    /// The default's node plus one.
    pub(crate) default: u32,
    pub(crate) start: u32,
    pub(crate) end: u32,
    /// Its place in the order written.
    pub(crate) written: u32,
}

/// A conditional and how often each of its arms was taken.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Conditional {
    pub(crate) kind: BranchKind,
    pub(crate) condition: NodeId,
    pub(crate) first: NodeId,
    pub(crate) second: NodeId,
    pub(crate) taken: [u64; 2],
}

/// Where the elements of a list were written.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Site {
    /// In this list expression, whose elements are in `ids` from `start` on.
    Written { node: NodeId, start: u32 },
    /// By the builtin or operator at this node.
    Made { node: NodeId },
    /// The first `len` as site `left` says, the others as `right` does.
    Joined { left: u32, len: u32, right: u32 },
}

/// The code of every loaded file.
#[derive(Debug, Default)]
pub(crate) struct Code {
    pub(crate) nodes: Vec<Node>,
    /// First byte and one past the last byte of each node.
    pub(crate) spans: Vec<(u32, u32)>,
    /// The first node of each file, ascending.
    pub(crate) files: Vec<(NodeId, FileId)>,
    pub(crate) ids: Vec<NodeId>,
    pub(crate) withs: Vec<u32>,
    pub(crate) accesses: Vec<Access>,
    /// The first access of each file, ascending.
    pub(crate) access_files: Vec<(u32, FileId)>,
    /// Attribute paths: where their names are in `accesses`.
    pub(crate) paths: Vec<(u32, u32)>,
    pub(crate) templates: Vec<Template>,
    pub(crate) computed: Vec<Computed>,
    pub(crate) lambdas: Vec<Lambda>,
    pub(crate) formals: Vec<Formal>,
    pub(crate) conditionals: Vec<Conditional>,
    pub(crate) sites: Vec<Site>,
    /// Positions of pattern names in a layout, plus one; 0 where the layout lacks the name.
    pub(crate) matches: Vec<u32>,
}

impl Code {
    /// Returns code that has only the node that is nowhere.
    pub(crate) fn new() -> Self {
        let mut code = Self::default();
        code.nodes.push(Node::Unread);
        code.spans.push((0, 0));
        code.sites.push(Site::Made { node: NOWHERE });
        code
    }

    /// Returns the file that a node was compiled from; `None` for the node that is nowhere.
    pub(crate) fn file(&self, node: NodeId) -> Option<FileId> {
        let after = self.files.partition_point(|&(first, _)| first <= node);
        self.files.get(after.checked_sub(1)?).map(|&(_, file)| file)
    }

    /// Returns the characters of a node; `None` for the node that is nowhere.
    pub(crate) fn span(&self, node: NodeId) -> Option<Span> {
        let &(start, end) = self.spans.get(node as usize)?;
        Some(Span::new(self.file(node)?, start, end))
    }

    /// Returns the characters of element `index` of a list made at `site`.
    pub(crate) fn element_span(&self, mut site: u32, mut index: u32) -> Option<Span> {
        loop {
            match *self.sites.get(site as usize)? {
                Site::Written { start, .. } => {
                    return self.span(*self.ids.get((start + index) as usize)?);
                }
                Site::Made { node } => return self.span(node),
                Site::Joined { left, len, .. } if index < len => site = left,
                Site::Joined { len, right, .. } => {
                    index -= len;
                    site = right;
                }
            }
        }
    }

    /// Returns the node that made a list.
    pub(crate) fn site_node(&self, mut site: u32) -> NodeId {
        loop {
            match self.sites.get(site as usize) {
                Some(&(Site::Written { node, .. } | Site::Made { node })) => return node,
                Some(&Site::Joined { left, .. }) => site = left,
                None => return NOWHERE,
            }
        }
    }

    /// Bytes held, for the limit.
    pub(crate) fn held(&self) -> usize {
        self.nodes.len() * 24 + self.ids.len() * 4 + self.sites.len() * 16
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_and_a_slot_are_sixteen_bytes() {
        assert_eq!(size_of::<Node>(), 16);
        assert_eq!(size_of::<crate::slot::Slot>(), 16);
    }
}
