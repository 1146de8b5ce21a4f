//! The text as the formatter sees it: every token with its comments, nested by the grammar.
//!
//! Only texts that parse come here, so reading needs no recovery: what should be there is there, and
//! a place that is nothing at all gives an empty token.

mod read;

pub(super) use read::read;

use super::trivia::Trivium;
use crate::kind::Kind;

/// A token with what stands around it.
#[derive(Clone, Debug)]
pub(super) struct Leaf {
    /// What it is.
    pub(super) kind: Kind,
    /// First byte and one past the last.
    pub(super) range: (u32, u32),
    /// Its line, counted from 0: sets and lists that were written over several lines stay so.
    pub(super) line: usize,
    /// What stands before it.
    pub(super) pre: Vec<Trivium>,
    /// The comment behind it on its line.
    pub(super) trailing: Option<String>,
}

impl Leaf {
    /// Returns true if it has no comments.
    pub(super) fn is_alone(&self) -> bool {
        self.pre.is_empty() && self.trailing.is_none()
    }
}

/// Names one node.
pub(super) type NodeId = usize;
/// Names one leaf.
pub(super) type LeafId = usize;

/// All nodes and leaves of a text.
#[derive(Clone, Debug)]
pub(super) struct Cst {
    pub(super) nodes: Vec<Node>,
    pub(super) leaves: Vec<Leaf>,
    pub(super) root: NodeId,
    /// Comments behind the last token.
    pub(super) end: Vec<Trivium>,
}

/// A piece of the text.
#[derive(Clone, Debug)]
pub(super) enum Node {
    /// A name, a number, a path without interpolation, a URL.
    Token(LeafId),
    /// `"…"`, `''…''` or a path with interpolations.
    Text(Text),
    List {
        open: LeafId,
        items: Items,
        close: LeafId,
    },
    Set {
        rec: Option<LeafId>,
        open: LeafId,
        items: Items,
        close: LeafId,
    },
    Select {
        term: NodeId,
        dots: Vec<Selector>,
        default: Option<(LeafId, NodeId)>,
    },
    Paren {
        open: LeafId,
        inner: NodeId,
        close: LeafId,
    },
    With {
        with: LeafId,
        namespace: NodeId,
        semicolon: LeafId,
        body: NodeId,
    },
    Assert {
        assert: LeafId,
        condition: NodeId,
        semicolon: LeafId,
        body: NodeId,
    },
    Let {
        r#let: LeafId,
        items: Items,
        r#in: LeafId,
        body: NodeId,
    },
    If {
        r#if: LeafId,
        condition: NodeId,
        then: LeafId,
        yes: NodeId,
        r#else: LeafId,
        no: NodeId,
    },
    Lambda {
        parameter: Parameter,
        colon: LeafId,
        body: NodeId,
    },
    Apply {
        function: NodeId,
        argument: NodeId,
    },
    Operation {
        left: NodeId,
        operator: LeafId,
        right: NodeId,
    },
    Has {
        set: NodeId,
        question: LeafId,
        path: Vec<Selector>,
    },
    /// `!` or `-`
    Prefix {
        operator: LeafId,
        operand: NodeId,
    },
    /// `name = value;`
    Binding {
        path: Vec<Selector>,
        assign: LeafId,
        value: NodeId,
        semicolon: LeafId,
    },
    Inherit {
        inherit: LeafId,
        source: Option<NodeId>,
        names: Vec<Selector>,
        semicolon: LeafId,
    },
}

/// A text with interpolations, by lines.
#[derive(Clone, Debug)]
pub(super) struct Text {
    /// The opening token, which has the comments before.
    pub(super) open: LeafId,
    /// The token with the comment behind.
    pub(super) close: LeafId,
    pub(super) kind: TextKind,
    pub(super) lines: Vec<Vec<Part>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum TextKind {
    Quoted,
    Indented,
    /// Printed as it is.
    Fixed,
    Path,
}

/// A piece of one line of a text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Part {
    /// Raw characters.
    Text(String),
    /// `${…}`, with the comments before its `}`, and that `}`.
    Node(NodeId, Vec<Trivium>, LeafId),
}

/// One element of an attribute path.
#[derive(Clone, Debug)]
pub(super) struct Selector {
    /// The `.` before it.
    pub(super) dot: Option<LeafId>,
    pub(super) name: Name,
}

#[derive(Clone, Debug)]
pub(super) enum Name {
    Token(LeafId),
    Text(NodeId),
    /// `${…}` with the comments before its `}`.
    Computed {
        open: LeafId,
        inner: NodeId,
        close: LeafId,
    },
}

/// Elements or bindings with the comments between them.
pub(super) type Items = Vec<Item>;

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Item {
    Node(NodeId),
    Comments(Vec<Trivium>),
}

/// What a function takes.
#[derive(Clone, Debug)]
pub(super) enum Parameter {
    Name(LeafId),
    Pattern(Pattern),
    /// `name @ { … }`
    Before {
        name: LeafId,
        at: LeafId,
        pattern: Pattern,
    },
    /// `{ … } @ name`
    Behind {
        pattern: Pattern,
        at: LeafId,
        name: LeafId,
    },
}

#[derive(Clone, Debug)]
pub(super) struct Pattern {
    pub(super) open: LeafId,
    pub(super) formals: Vec<Formal>,
    pub(super) close: LeafId,
}

#[derive(Clone, Debug)]
pub(super) struct Formal {
    /// The name, or `...`.
    pub(super) name: LeafId,
    pub(super) default: Option<(LeafId, NodeId)>,
    pub(super) comma: Option<LeafId>,
}
