//! Function calls, parentheses, and what stands behind `=`.

use super::super::cst::{Item as Element, LeafId, Node, NodeId, Parameter, TextKind};
use super::super::doc::{self, Group, Item, Space};
use super::Printer;
use crate::kind::Kind;

/// How many arguments make a call that is surely broken.
const MANY: usize = 100;

impl Printer<'_> {
    /// Prints a call. `indent` is for calls right behind `(` or `${`; `before` is a space that belongs
    /// to it; `end` puts a possible line end behind the last argument.
    pub(super) fn call(
        &mut self,
        function: NodeId,
        argument: NodeId,
        indent: bool,
        before: Option<Space>,
        end: bool,
    ) {
        // A comment before the function would break the call; so it is printed before.
        let first = self.first_leaf(function);
        self.move_up(first);
        let comments = self.leaf_mut(first).map(|leaf| std::mem::take(&mut leaf.pre)).unwrap_or_default();
        if !comments.is_empty() {
            // What goes before the call goes before its comments.
            self.out.extend(before.map(Item::Space));
            self.nest_if(indent, |printer| {
                if indent {
                    printer.space(Space::Break);
                }
                printer.trivia(&comments);
            });
        }
        let has_comments = !comments.is_empty();
        let before = before.filter(|_| !has_comments);
        let indent_function = indent && !has_comments;
        if let Some(&Node::Apply { function: inner, argument: first }) = self.node_ref(function)
            && self.is_plain_list(first)
            && self.is_plain_list(argument)
        {
            self.call_of_lists(inner, first, argument, indent_function, before, end);
            return;
        }
        let rendered = self.apart(|printer| {
            printer.out.extend(before.map(Item::Space));
            printer.group(Group::Transparent, |printer| printer.called(function, indent_function));
        });
        let simple = self.is_simple_call(function, argument);
        let flat = if simple { doc::on_one_line(&doc::plain(rendered.clone()), None) } else { None };
        self.group(Group::Regular, |printer| {
            if let Some(flat) = flat {
                printer.out.extend(flat);
                printer.space(Space::Hard);
                printer.last_argument(argument);
            } else {
                printer.out.extend(rendered);
                printer.last_arguments(argument);
                if end {
                    printer.space(Space::Break);
                }
            }
        });
        if end && has_comments {
            self.space(Space::HardLine);
        }
    }

    /// A call whose last arguments are two lists: both stay short, or both are opened.
    fn call_of_lists(
        &mut self,
        function: NodeId,
        first: NodeId,
        second: NodeId,
        indent: bool,
        before: Option<Space>,
        end: bool,
    ) {
        self.group(Group::Regular, |printer| {
            printer.out.extend(before.map(Item::Space));
            printer.group(Group::Transparent, |printer| printer.called(function, indent));
            printer.two_lists(first, second);
            if end {
                printer.space(Space::Break);
            }
        });
    }

    /// Prints two lists whose elements may share a line.
    fn two_lists(&mut self, first: NodeId, second: NodeId) {
        for list in [first, second] {
            self.space(Space::Line);
            let Some(Node::List { open, items, close }) = self.node_ref(list).cloned() else { continue };
            self.nest(|printer| {
                printer.group(Group::Regular, |printer| printer.list(open, &items, close, Space::Line));
            });
        }
    }

    fn is_plain_list(&self, node: NodeId) -> bool {
        matches!(self.node_ref(node), Some(Node::List { .. }))
    }

    fn nest_if(&mut self, nested: bool, print: impl FnOnce(&mut Self)) {
        if nested { self.nest(print) } else { print(self) }
    }

    /// Prints a function with all arguments but the last.
    fn called(&mut self, function: NodeId, indent: bool) {
        let mut arguments = Vec::new();
        let mut innermost = function;
        while let Some(&Node::Apply { function, argument }) = self.node_ref(innermost) {
            arguments.push(argument);
            innermost = function;
        }
        if arguments.len() <= MANY {
            return self.called_nested(function, indent);
        }
        // Groups as deep as that take time; a call as long as that is broken anyway.
        self.called_nested(innermost, indent);
        for argument in arguments.into_iter().rev() {
            self.space(Space::Line);
            self.nest(|printer| printer.inner_argument(argument));
        }
    }

    fn called_nested(&mut self, function: NodeId, indent: bool) {
        stacker::maybe_grow(64 * 1024, 2 * 1024 * 1024, || match self.node_ref(function) {
            Some(&Node::Apply { function, argument }) => {
                if let Some(&Node::Apply { function: inner, argument: first }) = self.node_ref(function)
                    && self.is_plain_list(first)
                    && self.is_plain_list(argument)
                {
                    self.group(Group::Transparent, |printer| printer.called_nested(inner, indent));
                    self.group(Group::Regular, |printer| printer.two_lists(first, argument));
                    return;
                }
                self.group(Group::Transparent, |printer| printer.called_nested(function, indent));
                self.space(Space::Line);
                self.nest(|printer| printer.inner_argument(argument));
            }
            _ if indent => self.nest(|printer| {
                printer.group(Group::Regular, |printer| {
                    printer.space(Space::Break);
                    printer.node(function);
                });
            }),
            _ => self.node(function),
        });
    }

    fn inner_argument(&mut self, argument: NodeId) {
        self.group(Group::Priority, |printer| match printer.node_ref(argument).cloned() {
            Some(Node::List { open, items, close }) => printer.list(open, &items, close, Space::Line),
            _ => printer.node(argument),
        });
    }

    fn last_arguments(&mut self, argument: NodeId) {
        self.space(Space::Line);
        self.last_argument(argument);
    }

    /// Prints the last argument, which may begin on the line of the call and go on below.
    fn last_argument(&mut self, argument: NodeId) {
        if self.is_absorbable(argument) {
            return self.nest(|printer| {
                printer.group(Group::Priority, |printer| printer.term(argument, false));
            });
        }
        if let Some(&Node::Paren { open, inner, close }) = self.node_ref(argument) {
            if self.absorbed_in_parentheses(open, inner, close) {
                return;
            }
            return self.parentheses_behind(open, inner, close);
        }
        self.nest(|printer| printer.group(Group::Regular, |printer| printer.node(argument)));
    }

    /// `(x: { … })` and `(f { … })` as a last argument: the set is always opened.
    fn absorbed_in_parentheses(&mut self, open: LeafId, inner: NodeId, close: LeafId) -> bool {
        if !self.is_alone(open) || !self.leaf_ref(close).is_none_or(|leaf| leaf.pre.is_empty()) {
            return false;
        }
        match self.node_ref(inner) {
            Some(&Node::Lambda { parameter: Parameter::Name(name), colon, body })
                if self.is_absorbable(body) && self.is_alone(name) && self.is_alone(colon) =>
            {
                self.nest(|printer| {
                    printer.group(Group::Priority, |printer| {
                        printer.leaf(open);
                        printer.leaf(name);
                        printer.leaf(colon);
                        printer.space(Space::Hard);
                        printer.term(body, true);
                        printer.leaf(close);
                    });
                });
                true
            }
            Some(&Node::Apply { function, argument }) if self.is_absorbable(argument) => {
                let Some(&Node::Token(name)) = self.node_ref(function) else { return false };
                if !self.is_alone(name)
                    || self.leaf_ref(name).is_none_or(|leaf| leaf.kind != Kind::Identifier)
                {
                    return false;
                }
                self.nest(|printer| {
                    printer.group(Group::Priority, |printer| {
                        printer.leaf(open);
                        printer.leaf(name);
                        printer.space(Space::Hard);
                        printer.term(argument, true);
                        printer.leaf(close);
                    });
                });
                true
            }
            _ => false,
        }
    }

    /// Parentheses that begin on the line of what is before them.
    pub(super) fn parentheses_behind(&mut self, open: LeafId, inner: NodeId, close: LeafId) {
        self.move_into(open, inner);
        let end = self.leaf_mut(close).map(|leaf| std::mem::take(&mut leaf.pre)).unwrap_or_default();
        self.nest(|printer| {
            printer.group(Group::Priority, |printer| {
                printer.leaf(open);
                printer.surround(Space::Break, |printer| {
                    printer.nest(|printer| {
                        printer.group(Group::Regular, |printer| printer.node(inner));
                        printer.trivia(&end);
                    });
                });
                printer.leaf(close);
            });
        });
    }

    /// Parentheses elsewhere.
    pub(super) fn parentheses(&mut self, open: LeafId, inner: NodeId, close: LeafId) {
        self.move_up(open);
        self.group(Group::Regular, |printer| {
            printer.leaf(open);
            if printer.is_absorbable_expression(inner) {
                printer.nest(|printer| {
                    printer.group(Group::Regular, |printer| printer.absorbed(inner, false));
                });
            } else if let Some(&Node::Apply { function, argument }) = printer.node_ref(inner) {
                printer.nest(|printer| printer.call(function, argument, true, None, true));
            } else {
                let left = match printer.node_ref(inner) {
                    Some(&Node::Select { term, .. }) if !printer.is_absorbable(term) => None,
                    _ => Some(Space::Break),
                };
                printer.out.extend(left.map(Item::Space));
                printer.nest(|printer| printer.group(Group::Regular, |printer| printer.node(inner)));
                printer.space(Space::Break);
            }
            printer.leaf(close);
        });
    }

    /// Prints what is behind `=` and `?`, with the space before it.
    pub(super) fn right_hand_side(&mut self, value: NodeId) {
        stacker::maybe_grow(64 * 1024, 2 * 1024 * 1024, || self.right_hand_side_inner(value));
    }

    fn right_hand_side_inner(&mut self, value: NodeId) {
        if self.is_single_inherit(value) {
            return self.nest(|printer| {
                printer.space(Space::Hard);
                printer.group(Group::Regular, |printer| printer.term(value, false));
            });
        }
        if self.is_absorbable_expression(value) {
            return self.nest(|printer| {
                printer.space(Space::Hard);
                printer.group(Group::Regular, |printer| printer.absorbed(value, true));
            });
        }
        match self.node_ref(value) {
            Some(&Node::Paren { open, inner, close }) => self.nest(|printer| {
                printer.space(Space::Hard);
                printer.parentheses_behind(open, inner, close);
            }),
            Some(Node::Text(_)) => self.nest(|printer| {
                printer.space(Space::Hard);
                printer.group(Group::Regular, |printer| printer.node(value));
            }),
            Some(Node::Token(leaf)) if self.leaf_ref(*leaf).is_some_and(|leaf| leaf.kind == Kind::Path) => {
                self.nest(|printer| {
                    printer.space(Space::Hard);
                    printer.group(Group::Regular, |printer| printer.node(value));
                });
            }
            Some(&Node::Apply { function, argument }) => {
                self.nest(|printer| printer.call(function, argument, false, Some(Space::Line), false));
            }
            Some(Node::With { .. }) => self.broken_behind(value),
            Some(&Node::Operation { left, operator, right }) if self.is_joining(operator) => {
                self.joined(value, left, operator, right);
            }
            _ if self.is_term(value) => self.broken_behind(value),
            _ => self.nest(|printer| {
                printer.space(Space::Line);
                printer.group(Group::Regular, |printer| printer.node(value));
            }),
        }
    }

    fn broken_behind(&mut self, value: NodeId) {
        self.nest(|printer| {
            printer.group(Group::Regular, |printer| {
                printer.space(Space::Line);
                printer.node(value);
            });
        });
    }

    /// `{ … } // b`, `a // { … }` and the same with `++` behind `=`.
    fn joined(&mut self, value: NodeId, left: NodeId, operator: LeafId, right: NodeId) {
        let alone = self.is_alone(operator);
        if alone && self.is_absorbable(left) {
            self.space(Space::Hard);
            return self.group(Group::Regular, |printer| printer.operation(value, true));
        }
        if alone && self.is_absorbable(right) {
            return self.nest(|printer| {
                printer.group(Group::Regular, |printer| {
                    printer.space(Space::Line);
                    printer.node(left);
                    printer.space(Space::Line);
                    printer.group(Group::Transparent, |printer| {
                        printer.leaf(operator);
                        printer.space(Space::Hard);
                        printer.group(Group::Priority, |printer| printer.term(right, true));
                    });
                });
            });
        }
        self.nest(|printer| {
            printer.space(Space::Line);
            printer.group(Group::Regular, |printer| printer.node(value));
        });
    }

    fn is_joining(&self, operator: LeafId) -> bool {
        self.leaf_ref(operator).is_some_and(|leaf| matches!(leaf.kind, Kind::Update | Kind::Concat))
    }

    /// Returns true for `{ inherit (a) b; }`, which stays short.
    fn is_single_inherit(&self, value: NodeId) -> bool {
        let Some(Node::Set { items, .. }) = self.node_ref(value) else { return false };
        match items.as_slice() {
            [Element::Node(only)] => matches!(self.node_ref(*only), Some(Node::Inherit { .. })),
            _ => false,
        }
    }

    fn is_term(&self, node: NodeId) -> bool {
        matches!(
            self.node_ref(node),
            Some(
                Node::Token(_)
                    | Node::Text(_)
                    | Node::List { .. }
                    | Node::Set { .. }
                    | Node::Select { .. }
                    | Node::Paren { .. }
            )
        )
    }

    /// Returns true for a term that may begin on the line of what is before it.
    pub(super) fn is_absorbable(&self, node: NodeId) -> bool {
        match self.node_ref(node) {
            Some(Node::Text(text)) => text.kind == TextKind::Indented && text.lines.len() > 1,
            Some(Node::Set { open, items, close, .. } | Node::List { open, items, close }) => {
                !items.is_empty()
                    || self.line(*open) != self.line(*close)
                    || self.leaf_ref(*open).is_some_and(|leaf| leaf.trailing.is_some())
            }
            Some(&Node::Paren { open, inner, .. }) => {
                self.is_alone(open) && self.is_term(inner) && self.is_absorbable(inner)
            }
            _ => false,
        }
    }

    /// The same for expressions: `with` and functions of simple parameters before such a term.
    pub(super) fn is_absorbable_expression(&self, node: NodeId) -> bool {
        let mut node = node;
        loop {
            match self.node_ref(node) {
                Some(Node::With { body, .. }) => return self.is_absorbable(*body),
                Some(Node::Lambda { parameter: Parameter::Name(_), body, .. }) => {
                    if matches!(
                        self.node_ref(*body),
                        Some(Node::Lambda { parameter: Parameter::Name(_), .. })
                    ) {
                        node = *body;
                        continue;
                    }
                    return self.is_absorbable(*body);
                }
                Some(Node::Lambda { parameter: Parameter::Pattern(pattern), body, .. }) => {
                    return self.is_absorbable(*body) && self.is_short(pattern);
                }
                _ => return self.is_absorbable(node),
            }
        }
    }

    /// Returns true for names, selections and short calls: what is never broken inside a string.
    pub(super) fn is_simple(&self, node: NodeId) -> bool {
        match self.node_ref(node) {
            Some(Node::Token(leaf)) => {
                self.is_alone(*leaf)
                    && self
                        .leaf_ref(*leaf)
                        .is_some_and(|leaf| matches!(leaf.kind, Kind::Identifier | Kind::Path))
            }
            Some(Node::Text(text)) => self.is_alone(text.open) && self.is_alone(text.close),
            Some(Node::Select { term, dots, default }) => {
                default.is_none()
                    && self.is_simple(*term)
                    && dots.iter().all(|selector| match selector.name {
                        super::super::cst::Name::Token(leaf) => {
                            self.is_alone(leaf) && selector.dot.is_none_or(|dot| self.is_alone(dot))
                        }
                        _ => false,
                    })
            }
            Some(&Node::Paren { open, inner, close }) => {
                self.is_alone(open) && self.is_alone(close) && self.is_simple(inner)
            }
            Some(&Node::Apply { function, argument }) => self.is_simple_call(function, argument),
            _ => false,
        }
    }

    fn is_simple_call(&self, function: NodeId, argument: NodeId) -> bool {
        let two = match self.node_ref(function) {
            Some(Node::Apply { function, .. }) => {
                matches!(self.node_ref(*function), Some(Node::Apply { .. }))
            }
            _ => false,
        };
        stacker::maybe_grow(64 * 1024, 2 * 1024 * 1024, || {
            !two && self.is_simple(function) && self.is_simple(argument)
        })
    }
}
