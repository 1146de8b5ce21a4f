//! Tokens to nodes.

use super::super::strings;
use super::super::trivia::{self, Trivium};
use super::{
    Cst, Formal, Item, Items, Leaf, LeafId, Name, Node, NodeId, Parameter, Part, Pattern, Selector, Text,
    TextKind,
};
use crate::kind::{Kind, Token};

/// Reads a text that parses.
pub(in crate::format) fn read(text: &str) -> Cst {
    let tokens = crate::lex(text).tokens;
    let leaves = leaves(text, &tokens);
    let mut reader = Reader { text, cst: Cst { nodes: Vec::new(), leaves, root: 0, end: Vec::new() }, at: 0 };
    // A file does not begin with empty lines.
    if let Some(leaf) = reader.cst.leaves.first_mut() {
        let empty = leaf.pre.iter().take_while(|trivium| **trivium == Trivium::EmptyLine).count();
        leaf.pre.drain(..empty);
    }
    reader.cst.root = reader.expression();
    // The end of the text is a leaf as well.
    reader.cst.end = reader.take_pre();
    reader.cst
}

/// Makes leaves of all tokens but trivia.
fn leaves(text: &str, tokens: &[Token]) -> Vec<Leaf> {
    let mut leaves: Vec<Leaf> = Vec::with_capacity(tokens.len() / 2);
    let (mut start, mut line, mut column) = (0_u32, 0, 0);
    // Where the trivia before the next token begin.
    let (mut gap, mut gap_column) = (0_u32, 0);
    for token in tokens {
        let raw = text.get(start as usize..token.end as usize).unwrap_or("");
        let begin = (line, column);
        line += raw.bytes().filter(|&byte| byte == b'\n').count();
        column = match raw.rfind('\n') {
            Some(at) => raw.get(at + 1..).unwrap_or("").chars().count(),
            None => column + raw.chars().count(),
        };
        if !token.kind.is_trivia() {
            let between = text.get(gap as usize..start as usize).unwrap_or("");
            let is_string = matches!(token.kind, Kind::StringOpen | Kind::IndentedOpen);
            let keeps = leaves.last().is_some_and(|leaf| leaf.kind != Kind::InterpolationOpen);
            let pre = if keeps {
                let (trailing, pre) = trivia::split(between, gap_column, begin.1, is_string);
                if let Some(last) = leaves.last_mut() {
                    last.trailing = trailing;
                }
                pre
            } else {
                trivia::leading_only(between, gap_column, is_string)
            };
            let range = (start, token.end);
            leaves.push(Leaf { kind: token.kind, range, line: begin.0, pre, trailing: None });
            (gap, gap_column) = (token.end, column);
        }
        start = token.end;
    }
    leaves
}

struct Reader<'a> {
    text: &'a str,
    cst: Cst,
    at: usize,
}

impl Reader<'_> {
    fn kind(&self) -> Kind {
        self.kind_at(0)
    }

    fn kind_at(&self, ahead: usize) -> Kind {
        self.cst.leaves.get(self.at + ahead).map_or(Kind::End, |leaf| leaf.kind)
    }

    /// Takes the next leaf. The last one, which is the end, is taken again and again.
    fn leaf(&mut self) -> LeafId {
        let leaf = self.at.min(self.cst.leaves.len().saturating_sub(1));
        self.at = (self.at + 1).min(self.cst.leaves.len());
        leaf
    }

    fn take_pre(&mut self) -> Vec<Trivium> {
        self.cst.leaves.get_mut(self.at).map(|leaf| std::mem::take(&mut leaf.pre)).unwrap_or_default()
    }

    fn push(&mut self, node: Node) -> NodeId {
        self.cst.nodes.push(node);
        self.cst.nodes.len() - 1
    }

    fn source(&self, leaf: LeafId) -> &str {
        self.cst
            .leaves
            .get(leaf)
            .and_then(|leaf| self.text.get(leaf.range.0 as usize..leaf.range.1 as usize))
            .unwrap_or("")
    }

    fn expression(&mut self) -> NodeId {
        stacker::maybe_grow(64 * 1024, 2 * 1024 * 1024, || match self.kind() {
            Kind::Identifier if self.kind_at(1) == Kind::Colon => {
                let parameter = Parameter::Name(self.leaf());
                self.lambda(parameter)
            }
            Kind::Identifier if self.kind_at(1) == Kind::At => {
                let (name, at) = (self.leaf(), self.leaf());
                let pattern = self.pattern();
                self.lambda(Parameter::Before { name, at, pattern })
            }
            Kind::BraceOpen if self.is_pattern() => {
                let pattern = self.pattern();
                if self.kind() == Kind::At {
                    let (at, name) = (self.leaf(), self.leaf());
                    self.lambda(Parameter::Behind { pattern, at, name })
                } else {
                    self.lambda(Parameter::Pattern(pattern))
                }
            }
            Kind::With => {
                let with = self.leaf();
                let namespace = self.expression();
                let semicolon = self.leaf();
                let body = self.expression();
                self.push(Node::With { with, namespace, semicolon, body })
            }
            Kind::Assert => {
                let assert = self.leaf();
                let condition = self.expression();
                let semicolon = self.leaf();
                let body = self.expression();
                self.push(Node::Assert { assert, condition, semicolon, body })
            }
            Kind::Let => {
                let r#let = self.leaf();
                let items = self.items(Kind::In);
                let r#in = self.leaf();
                let body = self.expression();
                self.push(Node::Let { r#let, items, r#in, body })
            }
            Kind::If => {
                let r#if = self.leaf();
                let condition = self.expression();
                let then = self.leaf();
                let yes = self.expression();
                let r#else = self.leaf();
                let no = self.expression();
                self.push(Node::If { r#if, condition, then, yes, r#else, no })
            }
            _ => self.operation(0),
        })
    }

    fn lambda(&mut self, parameter: Parameter) -> NodeId {
        let colon = self.leaf();
        let body = self.expression();
        self.push(Node::Lambda { parameter, colon, body })
    }

    fn is_pattern(&self) -> bool {
        match self.kind_at(1) {
            Kind::Ellipsis => true,
            Kind::BraceClose => matches!(self.kind_at(2), Kind::Colon | Kind::At),
            Kind::Identifier => match self.kind_at(2) {
                Kind::Comma | Kind::Question => true,
                Kind::BraceClose => matches!(self.kind_at(3), Kind::Colon | Kind::At),
                _ => false,
            },
            _ => false,
        }
    }

    fn pattern(&mut self) -> Pattern {
        let open = self.leaf();
        let mut formals = Vec::new();
        while matches!(self.kind(), Kind::Identifier | Kind::Ellipsis) {
            let name = self.leaf();
            let default = if self.kind() == Kind::Question {
                let question = self.leaf();
                Some((question, self.expression()))
            } else {
                None
            };
            let comma = (self.kind() == Kind::Comma).then(|| self.leaf());
            formals.push(Formal { name, default, comma });
        }
        Pattern { open, formals, close: self.leaf() }
    }

    fn operation(&mut self, least: u8) -> NodeId {
        stacker::maybe_grow(64 * 1024, 2 * 1024 * 1024, || {
            let mut left = match self.kind() {
                Kind::Not => self.prefix(crate::grammar::NOT + 1),
                Kind::Minus => self.prefix(crate::grammar::NEGATE + 1),
                _ => self.application(),
            };
            loop {
                let kind = self.kind();
                if kind == Kind::Question && least <= crate::grammar::HAS {
                    let question = self.leaf();
                    let path = self.path();
                    left = self.push(Node::Has { set: left, question, path });
                } else if let Some((tightness, right)) = crate::grammar::tightness(kind)
                    && tightness >= least
                {
                    let operator = self.leaf();
                    let right = self.operation(tightness + u8::from(!right));
                    left = self.push(Node::Operation { left, operator, right });
                } else {
                    return left;
                }
            }
        })
    }

    fn prefix(&mut self, least: u8) -> NodeId {
        let operator = self.leaf();
        let operand = self.operation(least);
        self.push(Node::Prefix { operator, operand })
    }

    fn application(&mut self) -> NodeId {
        let mut function = self.select();
        while crate::grammar::SIMPLE.has(self.kind()) {
            let argument = self.select();
            function = self.push(Node::Apply { function, argument });
        }
        function
    }

    fn select(&mut self) -> NodeId {
        stacker::maybe_grow(64 * 1024, 2 * 1024 * 1024, || {
            let term = self.term();
            if self.kind() == Kind::Dot {
                let mut dots = Vec::new();
                while self.kind() == Kind::Dot {
                    let dot = Some(self.leaf());
                    dots.push(Selector { dot, name: self.name() });
                }
                let default = if self.kind() == Kind::Or {
                    let or = self.leaf();
                    Some((or, self.select()))
                } else {
                    None
                };
                return self.push(Node::Select { term, dots, default });
            }
            if self.kind() == Kind::Or {
                let or = self.leaf();
                let argument = self.push(Node::Token(or));
                return self.push(Node::Apply { function: term, argument });
            }
            term
        })
    }

    fn path(&mut self) -> Vec<Selector> {
        let mut path = vec![Selector { dot: None, name: self.name() }];
        while self.kind() == Kind::Dot {
            let dot = Some(self.leaf());
            path.push(Selector { dot, name: self.name() });
        }
        path
    }

    fn name(&mut self) -> Name {
        match self.kind() {
            Kind::StringOpen => Name::Text(self.string()),
            Kind::InterpolationOpen => {
                let open = self.leaf();
                let inner = self.expression();
                Name::Computed { open, inner, close: self.leaf() }
            }
            _ => Name::Token(self.leaf()),
        }
    }

    fn term(&mut self) -> NodeId {
        match self.kind() {
            Kind::StringOpen => self.string(),
            Kind::IndentedOpen => self.indented(),
            Kind::Path | Kind::HomePath => self.path_text(),
            Kind::ParenOpen => {
                let open = self.leaf();
                let inner = self.expression();
                let close = self.leaf();
                self.push(Node::Paren { open, inner, close })
            }
            Kind::BracketOpen => {
                let open = self.leaf();
                let mut items = Items::new();
                loop {
                    self.comments(&mut items);
                    if !crate::grammar::SIMPLE.has(self.kind()) {
                        break;
                    }
                    let element = self.select();
                    items.push(Item::Node(element));
                }
                let close = self.leaf();
                self.push(Node::List { open, items, close })
            }
            Kind::BraceOpen | Kind::Rec => {
                let rec = (self.kind() == Kind::Rec).then(|| self.leaf());
                let open = self.leaf();
                let items = self.items(Kind::BraceClose);
                let close = self.leaf();
                self.push(Node::Set { rec, open, items, close })
            }
            _ => {
                let leaf = self.leaf();
                self.push(Node::Token(leaf))
            }
        }
    }

    /// Takes the comments before the next leaf as an item of their own.
    fn comments(&mut self, items: &mut Items) {
        // A language note stays with its string.
        let language = match self.cst.leaves.get(self.at).and_then(|leaf| leaf.pre.last()) {
            Some(Trivium::Language(_)) => self.cst.leaves.get_mut(self.at).and_then(|leaf| leaf.pre.pop()),
            _ => None,
        };
        let pre = self.take_pre();
        if !pre.is_empty() {
            items.push(Item::Comments(pre));
        }
        if let Some(leaf) = self.cst.leaves.get_mut(self.at) {
            leaf.pre.extend(language);
        }
    }

    fn items(&mut self, end: Kind) -> Items {
        let mut items = Items::new();
        loop {
            self.comments(&mut items);
            let item = match self.kind() {
                kind if kind == end || kind == Kind::End => return items,
                Kind::Inherit => self.inherit(),
                _ => self.binding(),
            };
            items.push(Item::Node(item));
        }
    }

    fn binding(&mut self) -> NodeId {
        let path = self.path();
        let assign = self.leaf();
        let value = self.expression();
        let semicolon = self.leaf();
        self.push(Node::Binding { path, assign, value, semicolon })
    }

    fn inherit(&mut self) -> NodeId {
        let inherit = self.leaf();
        let source = (self.kind() == Kind::ParenOpen).then(|| self.term());
        let mut names = Vec::new();
        while !matches!(self.kind(), Kind::Semicolon | Kind::End) {
            names.push(Selector { dot: None, name: self.name() });
        }
        let semicolon = self.leaf();
        self.push(Node::Inherit { inherit, source, names, semicolon })
    }

    /// Reads what stands between the quotes: raw characters and interpolations.
    fn parts(&mut self) -> Vec<Part> {
        let mut parts = Vec::new();
        loop {
            match self.kind() {
                Kind::StringText | Kind::IndentedText | Kind::PathText => {
                    let leaf = self.leaf();
                    let text = self.source(leaf).to_owned();
                    parts.push(Part::Text(text));
                }
                Kind::InterpolationOpen => {
                    self.leaf();
                    let inner = self.expression();
                    let end = self.take_pre();
                    let close = self.leaf();
                    parts.push(Part::Node(inner, end, close));
                }
                _ => return parts,
            }
        }
    }

    fn string(&mut self) -> NodeId {
        let open = self.leaf();
        let parts = self.parts();
        let close = self.leaf();
        let lines = strings::lines(parts);
        self.push(Node::Text(Text { open, close, kind: TextKind::Quoted, lines }))
    }

    fn indented(&mut self) -> NodeId {
        let open = self.leaf();
        let mut parts = self.parts();
        // The token `''` has the rest of its line with it.
        if let Some(rest) = self.source(open).get(2..).filter(|rest| !rest.is_empty()) {
            parts.insert(0, Part::Text(rest.to_owned()));
        }
        let close = self.leaf();
        let start = self.cst.leaves.get(open).map_or(0, |leaf| leaf.range.0);
        let end = self.cst.leaves.get(close).map_or(start, |leaf| leaf.range.1);
        let raw = self.text.get(start as usize..end as usize).unwrap_or("");
        if strings::is_fixed(raw) {
            let lines = vec![vec![Part::Text(raw.to_owned())]];
            return self.push(Node::Text(Text { open, close, kind: TextKind::Fixed, lines }));
        }
        let lines = strings::indented_lines(parts);
        self.push(Node::Text(Text { open, close, kind: TextKind::Indented, lines }))
    }

    fn path_text(&mut self) -> NodeId {
        let open = self.leaf();
        let mut close = open;
        let mut parts = vec![Part::Text(self.source(open).to_owned())];
        // Only what touches the path belongs to it.
        while matches!(self.kind(), Kind::PathText | Kind::InterpolationOpen) && self.touches() {
            if self.kind() == Kind::PathText {
                close = self.leaf();
                parts.push(Part::Text(self.source(close).to_owned()));
            } else {
                self.leaf();
                let inner = self.expression();
                let end = self.take_pre();
                close = self.leaf();
                parts.push(Part::Node(inner, end, close));
            }
        }
        if close == open {
            return self.push(Node::Token(open));
        }
        self.push(Node::Text(Text { open, close, kind: TextKind::Path, lines: vec![parts] }))
    }

    /// Returns true if nothing stands between the last leaf and the next.
    fn touches(&self) -> bool {
        let end = self.at.checked_sub(1).and_then(|last| self.cst.leaves.get(last)).map(|leaf| leaf.range.1);
        let start = self.cst.leaves.get(self.at).map(|leaf| leaf.range.0);
        end == start
    }
}
