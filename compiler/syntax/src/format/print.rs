//! Nodes to documents: where a line may break, and what is indented.
//!
//! The rules are those of RFC 166. What is "absorbed" begins on the line of what is before it: a set
//! behind `=`, the last argument of a call.

mod calls;
mod expressions;
mod items;
mod texts;

use super::cst::{Cst, Leaf, LeafId, Node, NodeId};
use super::doc::{Group, Item, Space, TextKind};
use super::trivia::Trivium;

/// Returns the document of a text.
pub(super) fn document(text: &str, cst: Cst) -> Vec<Item> {
    let mut printer = Printer { text, cst, depth: 0, out: Vec::new(), keep_quotes: None };
    printer.group(Group::Regular, |printer| {
        printer.node(printer.cst.root);
        let end = std::mem::take(&mut printer.cst.end);
        printer.trivia(&end);
    });
    printer.out
}

struct Printer<'a> {
    text: &'a str,
    cst: Cst,
    depth: usize,
    out: Vec<Item>,
    /// The string that keeps the quotes that it has.
    keep_quotes: Option<LeafId>,
}

impl Printer<'_> {
    fn space(&mut self, space: Space) {
        self.out.push(Item::Space(space));
    }

    fn push(&mut self, kind: TextKind, text: impl Into<String>) {
        self.out.push(Item::Text { depth: self.depth, offset: 0, kind, text: text.into() });
    }

    fn plain(&mut self, text: impl Into<String>) {
        self.push(TextKind::Plain, text);
    }

    /// Prints deeper.
    fn nest(&mut self, print: impl FnOnce(&mut Self)) {
        self.depth += 1;
        print(self);
        self.depth -= 1;
    }

    /// Returns what is printed, instead of printing it.
    fn apart(&mut self, print: impl FnOnce(&mut Self)) -> Vec<Item> {
        let out = std::mem::take(&mut self.out);
        print(self);
        std::mem::replace(&mut self.out, out)
    }

    fn group(&mut self, kind: Group, print: impl FnOnce(&mut Self)) {
        let inner = self.apart(print);
        self.out.push(Item::Group(kind, inner));
    }

    /// Prints with the same space before and behind.
    fn surround(&mut self, space: Space, print: impl FnOnce(&mut Self)) {
        self.space(space);
        print(self);
        self.space(space);
    }

    fn leaf_ref(&self, leaf: LeafId) -> Option<&Leaf> {
        self.cst.leaves.get(leaf)
    }

    fn leaf_mut(&mut self, leaf: LeafId) -> Option<&mut Leaf> {
        self.cst.leaves.get_mut(leaf)
    }

    fn is_alone(&self, leaf: LeafId) -> bool {
        self.leaf_ref(leaf).is_none_or(Leaf::is_alone)
    }

    fn line(&self, leaf: LeafId) -> usize {
        self.leaf_ref(leaf).map_or(0, |leaf| leaf.line)
    }

    fn source(&self, leaf: LeafId) -> String {
        self.leaf_ref(leaf)
            .and_then(|leaf| self.text.get(leaf.range.0 as usize..leaf.range.1 as usize))
            .unwrap_or("")
            .to_owned()
    }

    /// Prints a token with its comments.
    fn leaf(&mut self, leaf: LeafId) {
        self.before(leaf);
        let text = self.source(leaf);
        self.plain(text);
        self.behind(leaf);
    }

    /// Prints the comments before a token.
    fn before(&mut self, leaf: LeafId) {
        let pre = self.leaf_ref(leaf).map(|leaf| leaf.pre.clone()).unwrap_or_default();
        self.trivia(&pre);
    }

    /// Prints the comment behind a token.
    fn behind(&mut self, leaf: LeafId) {
        if let Some(comment) = self.leaf_ref(leaf).and_then(|leaf| leaf.trailing.clone()) {
            self.space(Space::Hard);
            self.push(TextKind::TrailingComment, format!("# {comment}"));
            self.space(Space::HardLine);
        }
    }

    /// Makes the comment behind a token one before it.
    fn move_up(&mut self, leaf: LeafId) {
        if let Some(leaf) = self.leaf_mut(leaf)
            && let Some(comment) = leaf.trailing.take()
        {
            leaf.pre.push(Trivium::Line(format!(" {comment}")));
        }
    }

    /// Moves the comment behind a token to before a node.
    fn move_into(&mut self, leaf: LeafId, node: NodeId) {
        let Some(comment) = self.leaf_mut(leaf).and_then(|leaf| leaf.trailing.take()) else { return };
        let first = self.first_leaf(node);
        if let Some(first) = self.leaf_mut(first) {
            first.pre.insert(0, Trivium::Line(format!(" {comment}")));
        }
    }

    fn trivia(&mut self, trivia: &[Trivium]) {
        if !matches!(trivia, [] | [Trivium::Language(_)]) {
            self.space(Space::HardLine);
        }
        for trivium in trivia {
            match trivium {
                Trivium::EmptyLine => self.space(Space::EmptyLine),
                Trivium::Line(text) => {
                    self.push(TextKind::Comment, format!("#{text}"));
                    self.space(Space::HardLine);
                }
                Trivium::Block { doc, lines } => {
                    self.push(TextKind::Comment, if *doc { "/**" } else { "/*" });
                    self.space(Space::HardLine);
                    self.nest(|printer| {
                        for line in lines {
                            if line.is_empty() {
                                printer.space(Space::EmptyLine);
                                continue;
                            }
                            let text = line.trim_start_matches(' ').to_owned();
                            let offset = line.len() - text.len();
                            let (depth, kind) = (printer.depth, TextKind::Comment);
                            printer.out.push(Item::Text { depth, offset, kind, text });
                            printer.space(Space::HardLine);
                        }
                    });
                    self.push(TextKind::Comment, "*/");
                    self.space(Space::HardLine);
                }
                Trivium::Language(language) => {
                    self.push(TextKind::Comment, format!("/* {language} */"));
                    self.space(Space::Hard);
                }
            }
        }
    }

    fn node_ref(&self, node: NodeId) -> Option<&Node> {
        self.cst.nodes.get(node)
    }

    /// Returns the first token of a node.
    fn first_leaf(&self, node: NodeId) -> LeafId {
        let mut node = node;
        loop {
            use super::cst::Parameter;
            node = match self.node_ref(node) {
                None => return LeafId::MAX,
                Some(Node::Token(leaf)) => return *leaf,
                Some(Node::Text(text)) => return text.open,
                Some(Node::List { open, .. } | Node::Paren { open, .. }) => return *open,
                Some(Node::Set { rec, open, .. }) => return rec.unwrap_or(*open),
                Some(Node::With { with, .. }) => return *with,
                Some(Node::Assert { assert, .. }) => return *assert,
                Some(Node::Let { r#let, .. }) => return *r#let,
                Some(Node::If { r#if, .. }) => return *r#if,
                Some(Node::Lambda { parameter, .. }) => {
                    return match parameter {
                        Parameter::Name(name) | Parameter::Before { name, .. } => *name,
                        Parameter::Pattern(pattern) | Parameter::Behind { pattern, .. } => pattern.open,
                    };
                }
                Some(Node::Prefix { operator, .. }) => return *operator,
                Some(Node::Inherit { inherit, .. }) => return *inherit,
                Some(Node::Binding { path, .. }) => {
                    return path.first().map_or(LeafId::MAX, |selector| self.selector_leaf(selector));
                }
                Some(Node::Select { term, .. }) => *term,
                Some(Node::Apply { function, .. }) => *function,
                Some(Node::Operation { left, .. }) => *left,
                Some(Node::Has { set, .. }) => *set,
            };
        }
    }

    fn selector_leaf(&self, selector: &super::cst::Selector) -> LeafId {
        use super::cst::Name;
        match (&selector.dot, &selector.name) {
            (Some(leaf), _) | (None, Name::Token(leaf) | Name::Computed { open: leaf, .. }) => *leaf,
            (None, Name::Text(node)) => match self.node_ref(*node) {
                Some(Node::Text(text)) => text.open,
                _ => LeafId::MAX,
            },
        }
    }
}
