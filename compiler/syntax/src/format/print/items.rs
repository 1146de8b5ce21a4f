//! Lists, sets, bindings and patterns.

use super::super::cst::{Formal, Item as Element, LeafId, Name, Node, NodeId, Parameter, Pattern, Selector};
use super::super::doc::{Group, Space, TextKind};
use super::super::trivia::Trivium;
use super::Printer;
use crate::kind::Kind;

impl Printer<'_> {
    /// Prints elements, each on a line of its own.
    fn items(&mut self, items: &[Element], between: Space) {
        for (index, item) in items.iter().enumerate() {
            if index > 0 {
                self.space(between);
            }
            match item {
                Element::Comments(trivia) => self.trivia(trivia),
                Element::Node(node)
                    if matches!(self.node_ref(*node), Some(Node::Binding { .. } | Node::Inherit { .. })) =>
                {
                    self.node(*node);
                }
                Element::Node(node) => self.group(Group::Regular, |printer| printer.node(*node)),
            }
        }
    }

    pub(super) fn bindings(&mut self, items: &[Element]) {
        self.items(items, Space::HardLine);
    }

    /// `[ … ]`; `between` is a space where elements may share a line.
    pub(super) fn list(&mut self, open: LeafId, items: &[Element], close: LeafId, between: Space) {
        self.before(open);
        self.plain("[");
        if items.is_empty() && self.leaf_ref(open).is_none_or(|leaf| leaf.trailing.is_none()) {
            let space = if self.line(open) == self.line(close) { Space::Hard } else { Space::HardLine };
            self.space(space);
        } else {
            let space = self.inner_space(open, items, close, false);
            self.surround(space, |printer| {
                printer.nest(|printer| {
                    printer.opening_comment(open);
                    printer.items(items, between);
                });
            });
        }
        self.leaf(close);
    }

    /// `{ … }` or `rec { … }`; `wide` sets are never on one line.
    pub(super) fn set(
        &mut self,
        rec: Option<LeafId>,
        open: LeafId,
        items: &[Element],
        close: LeafId,
        wide: bool,
    ) {
        if let Some(rec) = rec {
            self.leaf(rec);
            self.space(Space::Hard);
        }
        self.before(open);
        self.plain("{");
        if items.is_empty() && self.leaf_ref(open).is_none_or(|leaf| leaf.trailing.is_none()) {
            let space = if self.line(open) == self.line(close) { Space::Hard } else { Space::HardLine };
            self.space(space);
        } else {
            let space = self.inner_space(open, items, close, wide);
            self.surround(space, |printer| {
                printer.nest(|printer| {
                    printer.opening_comment(open);
                    printer.bindings(items);
                });
            });
        }
        self.leaf(close);
    }

    /// Prints the comment behind an opening bracket as the first thing inside.
    fn opening_comment(&mut self, open: LeafId) {
        if let Some(comment) = self.leaf_ref(open).and_then(|leaf| leaf.trailing.clone()) {
            self.trivia(&[Trivium::Line(format!(" {comment}"))]);
        }
    }

    /// What was written over several lines stays so.
    fn inner_space(&self, open: LeafId, items: &[Element], close: LeafId, wide: bool) -> Space {
        let first = items.iter().find_map(|item| match item {
            Element::Node(node) => Some(self.first_leaf(*node)),
            Element::Comments(_) => None,
        });
        let first_line = self.line(first.unwrap_or(close));
        let has_items = items.iter().any(|item| matches!(item, Element::Node(_)));
        if (wide && has_items) || first_line != self.line(open) { Space::HardLine } else { Space::Line }
    }

    /// `name = value;`
    pub(super) fn binding(&mut self, path: &[Selector], assign: LeafId, value: NodeId, semicolon: LeafId) {
        let simple = path.iter().all(|selector| matches!(selector.name, Name::Token(_)));
        self.group(Group::Regular, |printer| {
            printer.selectors(path);
            printer.nest(|printer| {
                printer.space(Space::Hard);
                printer.leaf(assign);
                if simple {
                    printer.right_hand_side(value);
                } else {
                    // The name may be long and break: then the value shall not.
                    printer.space(Space::Break);
                    printer.group(Group::Priority, |printer| printer.right_hand_side(value));
                }
            });
            printer.leaf(semicolon);
        });
    }

    pub(super) fn selectors(&mut self, path: &[Selector]) {
        for selector in path {
            self.selector(selector);
        }
    }

    fn selector(&mut self, selector: &Selector) {
        if let Some(dot) = selector.dot {
            self.leaf(dot);
        }
        match &selector.name {
            Name::Token(leaf) => self.leaf(*leaf),
            Name::Text(node) => self.node(*node),
            Name::Computed { open, inner, close } => self.computed_name(*open, *inner, *close),
        }
    }

    /// `inherit a b;` or `inherit (source) a b;`
    pub(super) fn inherit(
        &mut self,
        inherit: LeafId,
        source: Option<NodeId>,
        names: &[Selector],
        semicolon: LeafId,
    ) {
        let one_line = self.line(inherit) == self.line(semicolon) && names.len() < 4;
        let (between, end) =
            if one_line { (Space::Line, Space::Break) } else { (Space::HardLine, Space::HardLine) };
        self.group(Group::Regular, |printer| {
            printer.leaf(inherit);
            printer.nest(|printer| {
                if let Some(source) = source {
                    printer.group(Group::Regular, |printer| {
                        printer.space(Space::Line);
                        printer.node(source);
                    });
                }
                if names.is_empty() {
                    printer.space(Space::Line);
                }
                for name in names {
                    printer.space(between);
                    printer.selector(name);
                }
                if !names.is_empty() {
                    printer.space(end);
                }
                printer.leaf(semicolon);
            });
        });
    }

    pub(super) fn parameter(&mut self, parameter: &Parameter) {
        match parameter {
            Parameter::Name(name) => self.leaf(*name),
            Parameter::Pattern(pattern) => self.pattern(pattern),
            Parameter::Before { name, at, pattern } => {
                self.leaf(*name);
                self.leaf(*at);
                self.pattern(pattern);
            }
            Parameter::Behind { pattern, at, name } => {
                self.pattern(pattern);
                self.leaf(*at);
                self.leaf(*name);
            }
        }
    }

    fn pattern(&mut self, pattern: &Pattern) {
        let (open, close) = (pattern.open, pattern.close);
        if pattern.formals.is_empty() && self.is_alone(open) {
            return self.group(Group::Regular, |printer| {
                printer.leaf(open);
                let space =
                    if printer.line(open) == printer.line(close) { Space::Hard } else { Space::HardLine };
                printer.space(space);
                printer.leaf(close);
            });
        }
        let space = self.pattern_space(pattern);
        self.move_up(open);
        self.comments_across_commas(pattern);
        self.group(Group::Regular, |printer| {
            printer.leaf(open);
            printer.surround(space, |printer| {
                printer.nest(|printer| {
                    for (index, formal) in pattern.formals.iter().enumerate() {
                        if index > 0 {
                            printer.space(space);
                        }
                        let last = index + 1 == pattern.formals.len();
                        let comment =
                            if last { printer.comment_before_close(formal, pattern.close) } else { None };
                        printer.formal(formal, last);
                        if let Some(comment) = comment {
                            printer.space(Space::Hard);
                            printer.push(TextKind::TrailingComment, format!("# {comment}"));
                            printer.space(Space::HardLine);
                        }
                    }
                });
            });
            printer.leaf(close);
        });
    }

    /// Only short patterns without defaults are on one line.
    fn pattern_space(&self, pattern: &Pattern) -> Space {
        if self.line(pattern.close) != self.line(pattern.open) {
            return Space::HardLine;
        }
        let is_ellipsis =
            |formal: &Formal| self.leaf_ref(formal.name).is_some_and(|leaf| leaf.kind == Kind::Ellipsis);
        let named = pattern.formals.iter().filter(|formal| !is_ellipsis(formal)).count();
        let plain = pattern.formals.iter().all(|formal| formal.default.is_none());
        if plain && named <= 2 { Space::Line } else { Space::HardLine }
    }

    pub(super) fn pattern_is_line(&self, pattern: &Pattern) -> bool {
        // Comments break it.
        let quiet = (pattern.open..=pattern.close).all(|leaf| {
            self.leaf_ref(leaf).is_none_or(|token| {
                (leaf == pattern.open || token.pre.is_empty())
                    && (leaf == pattern.close || token.trailing.is_none())
            })
        });
        quiet && self.pattern_space(pattern) == Space::Line
    }

    /// Comments around a comma belong to the argument before it (on its line) or to the next one.
    fn comments_across_commas(&mut self, pattern: &Pattern) {
        for (index, formal) in pattern.formals.iter().enumerate() {
            let Some(comma) = formal.comma else { continue };
            let next = pattern.formals.get(index + 1).map_or(pattern.close, |formal| formal.name);
            // `a # comment` newline `, b`: the comma goes up to the argument.
            let pre = self.leaf_mut(comma).map(|leaf| std::mem::take(&mut leaf.pre)).unwrap_or_default();
            if let Some(next) = self.leaf_mut(next) {
                next.pre.splice(0..0, pre);
            }
            let last = self.last_leaf(formal);
            if let Some(trailing) = self.leaf_mut(last).and_then(|leaf| leaf.trailing.take()) {
                let own = self.leaf_mut(comma).and_then(|leaf| leaf.trailing.replace(trailing));
                if let (Some(own), Some(next)) = (own, self.leaf_mut(next)) {
                    next.pre.insert(0, Trivium::Line(format!(" {own}")));
                }
            }
        }
    }

    /// Takes the comment behind the last argument, which goes behind the comma that it may get.
    fn comment_before_close(&mut self, formal: &Formal, close: LeafId) -> Option<String> {
        if formal.comma.is_some() {
            return None;
        }
        self.leaf_mut(close.checked_sub(1)?).and_then(|leaf| leaf.trailing.take())
    }

    /// Returns the last token of an argument before its comma.
    fn last_leaf(&self, formal: &Formal) -> LeafId {
        // Tokens are numbered in their order, and the comma is right behind.
        formal.comma.map_or(formal.name, |comma| comma.saturating_sub(1))
    }

    fn formal(&mut self, formal: &Formal, last: bool) {
        match formal.default {
            None => self.leaf(formal.name),
            Some((question, default)) => self.group(Group::Regular, |printer| {
                printer.leaf(formal.name);
                printer.space(Space::Hard);
                printer.nest(|printer| {
                    printer.leaf(question);
                    printer.right_hand_side(default);
                });
                if let (Some(comma), false) = (formal.comma, last) {
                    printer.leaf(comma);
                }
            }),
        }
        let is_ellipsis = self.leaf_ref(formal.name).is_some_and(|leaf| leaf.kind == Kind::Ellipsis);
        if is_ellipsis {
            return;
        }
        if last {
            self.push(TextKind::IfBroken, ",");
            if let Some(comma) = formal.comma {
                self.before(comma);
                self.behind(comma);
            }
        } else if let (Some(comma), None) = (formal.comma, formal.default) {
            self.leaf(comma);
        }
    }
}
