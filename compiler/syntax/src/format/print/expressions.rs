//! Expressions: operators, functions, `if`, `let`, `with` and `assert`.

use super::super::cst::{Item as Element, LeafId, Node, NodeId, Parameter, Pattern};
use super::super::doc::{Group, Space};
use super::Printer;
use crate::kind::Kind;

impl Printer<'_> {
    pub(super) fn node(&mut self, node: NodeId) {
        stacker::maybe_grow(128 * 1024, 2 * 1024 * 1024, || self.node_inner(node));
    }

    fn node_inner(&mut self, id: NodeId) {
        // Nodes are small and shared by handle; a copy lets the printer change comments meanwhile.
        let Some(node) = self.node_ref(id).cloned() else { return };
        match node {
            Node::Token(leaf) => self.leaf(leaf),
            Node::Text(text) => self.text(&text),
            Node::List { .. } => self.group(Group::Regular, |printer| printer.term(id, false)),
            Node::Set { .. } => self.term(id, false),
            Node::Select { term, dots, default } => {
                self.node(term);
                match self.node_ref(term) {
                    Some(Node::Paren { .. }) => self.space(Space::SoftBreak),
                    Some(Node::Set { .. } | Node::List { .. }) => self.space(Space::Break),
                    Some(Node::Text(_)) if self.is_absorbable(term) => self.space(Space::Break),
                    // `1.a` would be a number and a name, `a/b.c` another path.
                    _ if self.eats_dots(term) => self.space(Space::Hard),
                    _ => {}
                }
                self.selectors(&dots);
                if let Some((or, default)) = default {
                    self.space(Space::Soft);
                    self.nest(|printer| {
                        printer.leaf(or);
                        printer.space(Space::Hard);
                        printer.node(default);
                    });
                }
            }
            Node::Paren { open, inner, close } => self.parentheses(open, inner, close),
            Node::With { .. } => self.with(id, false),
            Node::Assert { assert, condition, semicolon, body } => {
                self.group(Group::Regular, |printer| {
                    printer.assertion(assert, condition);
                    printer.leaf(semicolon);
                    printer.space(Space::HardLine);
                    printer.node(body);
                });
            }
            Node::Let { r#let, items, r#in, body } => self.let_in(r#let, &items, r#in, body),
            Node::If { r#if, .. } => {
                self.move_up(r#if);
                self.group(Group::Regular, |printer| printer.conditional(id, Space::Line));
            }
            Node::Lambda { .. } => self.lambda(id),
            Node::Apply { function, argument } => self.call(function, argument, false, None, false),
            Node::Operation { operator, .. } => {
                // A comparison belongs to the line that it stands in.
                if self.leaf_ref(operator).is_some_and(|leaf| is_comparison(leaf.kind)) {
                    self.operation(id, false);
                } else {
                    self.group(Group::Regular, |printer| printer.operation(id, false));
                }
            }
            Node::Has { set, question, path } => {
                self.group(Group::Regular, |printer| {
                    printer.move_up(question);
                    printer.node(set);
                    printer.space(Space::Line);
                    printer.nest(|printer| {
                        printer.leaf(question);
                        printer.space(Space::Hard);
                        printer.selectors(&path);
                    });
                });
            }
            Node::Prefix { operator, operand } => {
                self.leaf(operator);
                // `-a/b` would be a path.
                let first = self.first_leaf(operand);
                if self.leaf_ref(first).is_some_and(|leaf| leaf.kind == Kind::Path) {
                    self.space(Space::Hard);
                }
                self.node(operand);
            }
            Node::Binding { path, assign, value, semicolon } => self.binding(&path, assign, value, semicolon),
            Node::Inherit { inherit, source, names, semicolon } => {
                self.inherit(inherit, source, &names, semicolon);
            }
        }
    }

    /// Returns true for numbers and paths, which take a `.` right behind them for a part of them.
    fn eats_dots(&self, term: NodeId) -> bool {
        let last = match self.node_ref(term) {
            Some(Node::Token(leaf)) => *leaf,
            Some(Node::Text(text)) => text.open,
            _ => return false,
        };
        self.leaf_ref(last).is_some_and(|leaf| matches!(leaf.kind, Kind::Integer | Kind::Float | Kind::Path))
    }

    /// Prints a term without a group of its own; `wide` sets are never on one line.
    pub(super) fn term(&mut self, id: NodeId, wide: bool) {
        match self.node_ref(id).cloned() {
            Some(Node::Set { rec, open, items, close }) => self.set(rec, open, &items, close, wide),
            Some(Node::List { open, items, close }) => self.list(open, &items, close, Space::HardLine),
            _ => self.node(id),
        }
    }

    /// Prints an expression that begins on the line of what is before it.
    pub(super) fn absorbed(&mut self, id: NodeId, wide: bool) {
        match self.node_ref(id) {
            Some(Node::With { .. }) => self.with(id, wide),
            _ if self.is_absorbable(id) => self.term(id, wide),
            _ => self.node(id),
        }
    }

    fn with(&mut self, id: NodeId, absorbed: bool) {
        let Some(&Node::With { with, namespace, semicolon, body }) = self.node_ref(id) else { return };
        let head = |printer: &mut Self| {
            printer.leaf(with);
            printer.space(Space::Hard);
            printer.nest(|printer| printer.group(Group::Regular, |printer| printer.node(namespace)));
            printer.leaf(semicolon);
        };
        if absorbed && self.is_absorbable(body) {
            return self.group(Group::Regular, |printer| {
                printer.space(Space::Line);
                head(printer);
                printer.space(Space::Hard);
                printer.group(Group::Priority, |printer| printer.term(body, true));
            });
        }
        self.group(Group::Regular, head);
        self.space(Space::Line);
        self.node(body);
    }

    /// `assert condition`, laid out as if `assert` were called.
    fn assertion(&mut self, assert: LeafId, condition: NodeId) {
        self.cst.nodes.push(Node::Token(assert));
        let function = self.cst.nodes.len() - 1;
        let mut chain = Vec::new();
        let mut innermost = condition;
        while let Some(&Node::Apply { function, argument }) = self.node_ref(innermost) {
            chain.push(argument);
            innermost = function;
        }
        chain.push(innermost);
        let mut called = function;
        while chain.len() > 1 {
            let Some(argument) = chain.pop() else { break };
            self.cst.nodes.push(Node::Apply { function: called, argument });
            called = self.cst.nodes.len() - 1;
        }
        if let Some(last) = chain.pop() {
            self.call(called, last, false, None, false);
        }
    }

    fn let_in(&mut self, r#let: LeafId, items: &[Element], r#in: LeafId, body: NodeId) {
        self.group(Group::Regular, |printer| {
            printer.leaf(r#let);
            printer.space(Space::HardLine);
            printer.nest(|printer| printer.bindings(items));
        });
        self.space(Space::HardLine);
        // A comment behind `in` belongs to the body.
        self.move_into(r#in, body);
        self.group(Group::Regular, |printer| {
            printer.leaf(r#in);
            printer.space(Space::HardLine);
            printer.node(body);
        });
    }

    fn conditional(&mut self, id: NodeId, space: Space) {
        let Some(&Node::If { r#if, condition, then, yes, r#else, no }) = self.node_ref(id) else { return };
        self.group(Group::Regular, |printer| {
            printer.leaf(r#if);
            printer.space(Space::Line);
            printer.nest(|printer| printer.node(condition));
            printer.space(Space::Line);
            printer.leaf(then);
        });
        self.surround(space, |printer| {
            printer.nest(|printer| printer.group(Group::Regular, |printer| printer.node(yes)));
        });
        self.move_up(r#else);
        self.leaf(r#else);
        if let Some(Node::If { r#if, .. }) = self.node_ref(no) {
            let r#if = *r#if;
            if self.leaf_ref(r#if).is_none_or(|leaf| leaf.pre.is_empty()) {
                self.move_up(r#if);
            }
            self.space(Space::Hard);
            stacker::maybe_grow(64 * 1024, 2 * 1024 * 1024, || self.conditional(no, Space::HardLine));
            return;
        }
        self.space(Space::Line);
        self.nest(|printer| printer.group(Group::Regular, |printer| printer.node(no)));
    }

    fn lambda(&mut self, id: NodeId) {
        let Some(Node::Lambda { parameter, colon, body }) = self.node_ref(id).cloned() else { return };
        match parameter {
            Parameter::Name(_) => self.group(Group::Regular, |printer| {
                printer.space(Space::Break);
                printer.simple_lambda(&parameter, colon, body, 1);
            }),
            _ => {
                self.parameter(&parameter);
                self.leaf(colon);
                let short = matches!(&parameter, Parameter::Pattern(pattern) if self.is_short(pattern));
                if short && self.is_absorbable(body) {
                    self.space(Space::Hard);
                    self.group(Group::Priority, |printer| printer.term(body, false));
                } else {
                    self.space(Space::Line);
                    self.node(body);
                }
            }
        }
    }

    /// `a: b: body`; more than two parameters put the body on a line of its own.
    fn simple_lambda(&mut self, parameter: &Parameter, colon: LeafId, body: NodeId, count: usize) {
        self.parameter(parameter);
        self.leaf(colon);
        if let Some(Node::Lambda { parameter, colon, body }) = self.node_ref(body).cloned()
            && matches!(parameter, Parameter::Name(_))
        {
            self.space(Space::Hard);
            stacker::maybe_grow(64 * 1024, 2 * 1024 * 1024, || {
                self.simple_lambda(&parameter, colon, body, count + 1);
            });
            return;
        }
        if self.is_absorbable_expression(body) && !matches!(self.node_ref(body), Some(Node::Lambda { .. })) {
            if matches!(self.node_ref(body), Some(Node::With { .. })) {
                self.group(Group::Priority, |printer| printer.with(body, true));
            } else {
                self.space(Space::Hard);
                self.group(Group::Priority, |printer| printer.absorbed(body, false));
            }
            return;
        }
        self.space(if count <= 2 { Space::Line } else { Space::HardLine });
        self.node(body);
    }

    /// Returns true for a pattern that is on one line.
    pub(super) fn is_short(&self, pattern: &Pattern) -> bool {
        pattern.formals.is_empty() || self.pattern_is_line(pattern)
    }

    /// Prints operands and operators of one kind on one level. `absorbed` is for an operation that
    /// begins behind `=`.
    pub(super) fn operation(&mut self, id: NodeId, absorbed: bool) {
        let Some(&Node::Operation { left, operator, right }) = self.node_ref(id) else { return };
        let kind = self.leaf_ref(operator).map_or(Kind::End, |leaf| leaf.kind);
        if is_comparison(kind) {
            self.node(left);
            self.space(Space::Soft);
            self.leaf(operator);
            self.space(Space::Hard);
            self.node(right);
            return;
        }
        let mut operands = Vec::new();
        self.flatten(None, id, kind, &mut operands);
        for (index, (operator, operand)) in operands.into_iter().enumerate() {
            let Some(operator) = operator else {
                if absorbed && index == 0 {
                    self.term(operand, true);
                } else {
                    self.node(operand);
                }
                continue;
            };
            self.space(Space::Line);
            self.move_up(operator);
            self.leaf(operator);
            self.nest(|printer| printer.operand(operand));
        }
    }

    fn flatten(
        &self,
        before: Option<LeafId>,
        id: NodeId,
        kind: Kind,
        operands: &mut Vec<(Option<LeafId>, NodeId)>,
    ) {
        // A worklist, since chains are long.
        let mut work = vec![(before, id)];
        while let Some((before, id)) = work.pop() {
            match self.node_ref(id) {
                Some(&Node::Operation { left, operator, right })
                    if self.leaf_ref(operator).is_some_and(|leaf| leaf.kind == kind) =>
                {
                    work.push((Some(operator), right));
                    work.push((before, left));
                }
                _ => operands.push((before, id)),
            }
        }
    }

    fn operand(&mut self, operand: NodeId) {
        match self.node_ref(operand) {
            Some(Node::Operation { .. }) => self.group(Group::Regular, |printer| {
                printer.space(Space::Line);
                printer.node(operand);
            }),
            Some(&Node::Apply { function, argument }) => {
                self.group(Group::Regular, |printer| {
                    printer.call(function, argument, false, Some(Space::Line), false);
                });
            }
            _ => {
                self.space(Space::Hard);
                self.node(operand);
            }
        }
    }
}

fn is_comparison(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::Equal | Kind::NotEqual | Kind::Less | Kind::LessOrEqual | Kind::Greater | Kind::GreaterOrEqual
    )
}
