//! Strings and interpolations.

use super::super::cst::{LeafId, Node, NodeId, Part, Text, TextKind};
use super::super::doc::{self, Group, Item, Space};
use super::super::strings;
use super::super::trivia::Trivium;
use super::Printer;

/// The width up to which an interpolation is never broken.
const SHORT: usize = 30;

impl Printer<'_> {
    /// Prints a string or a path with interpolations.
    pub(super) fn text(&mut self, text: &Text) {
        self.before(text.open);
        match text.kind {
            TextKind::Path | TextKind::Fixed => {
                for part in text.lines.iter().flatten() {
                    self.part(part, 0, false);
                }
            }
            TextKind::Quoted => self.quoted(&text.lines),
            TextKind::Indented => match strings::as_quoted(&text.lines) {
                Some(lines)
                    if self.keep_quotes != Some(text.open) && !self.is_a_string_in_a_string(&lines) =>
                {
                    self.quoted(&lines);
                }
                _ => self.indented(&text.lines),
            },
        }
        self.behind(text.close);
    }

    /// Returns true for `''${"a"}''`, which is the inner string itself, while `"${"a"}"` is not.
    fn is_a_string_in_a_string(&self, lines: &[Vec<Part>]) -> bool {
        let [line] = lines else { return false };
        let [Part::Node(node, ..)] = line.as_slice() else { return false };
        let mut node = *node;
        while let Some(Node::Paren { inner, .. }) = self.node_ref(node) {
            node = *inner;
        }
        matches!(self.node_ref(node), Some(Node::Text(_)))
    }

    fn quoted(&mut self, lines: &[Vec<Part>]) {
        self.group(Group::Regular, |printer| {
            printer.plain("\"");
            let alone = matches!(lines, [line] if matches!(line.as_slice(), [Part::Node(..)]));
            for (index, line) in lines.iter().enumerate() {
                if index > 0 {
                    printer.plain("\n");
                }
                for part in line {
                    printer.part(part, 0, alone);
                }
            }
            printer.plain("\"");
        });
    }

    fn indented(&mut self, lines: &[Vec<Part>]) {
        self.group(Group::Regular, |printer| {
            printer.plain("''");
            if lines.len() > 1 {
                printer.space(Space::Break);
            }
            printer.nest(|printer| {
                for (index, line) in lines.iter().enumerate() {
                    if index > 0 {
                        printer.space(Space::Lines(1));
                    }
                    let offset = match line.first() {
                        Some(Part::Text(text)) => text.chars().take_while(|c| c.is_whitespace()).count(),
                        _ => 0,
                    };
                    for (index, part) in line.iter().enumerate() {
                        printer.part(part, if index > 0 { offset } else { 0 }, false);
                    }
                }
            });
            printer.plain("''");
        });
    }

    fn part(&mut self, part: &Part, offset: usize, alone: bool) {
        let from = self.out.len();
        match part {
            Part::Text(text) => self.plain(text.clone()),
            Part::Node(node, end, close) => self.interpolation(*node, end, *close, alone),
        }
        shift(self.out.get_mut(from..).unwrap_or_default(), offset);
    }

    /// `${…}`; one that is all of its string is broken where it does not fit, others hardly ever.
    fn interpolation(&mut self, node: NodeId, end: &[Trivium], close: LeafId, alone: bool) {
        let quiet = end.iter().all(|trivium| *trivium == Trivium::EmptyLine);
        if quiet && self.is_absorbable(node) {
            return self.group(Group::Regular, |printer| {
                printer.plain("${");
                printer.group(Group::Regular, |printer| printer.nest(|printer| printer.term(node, false)));
                printer.plain("}");
            });
        }
        // With a comment it is broken anyway; and printing moves comments, so it is done once.
        if !alone && quiet && (self.first_leaf(node)..close).all(|leaf| self.is_alone(leaf)) {
            let simple = self.is_simple(node);
            let content = self.apart(|printer| printer.node(node));
            let limit = if simple { None } else { Some(SHORT) };
            if let Some(line) = doc::on_one_line(&doc::plain(content), limit) {
                if simple {
                    self.plain("${");
                    self.out.extend(line);
                    self.plain("}");
                } else {
                    self.group(Group::Regular, |printer| {
                        printer.plain("${");
                        printer.out.extend(line);
                        printer.plain("}");
                    });
                }
                return;
            }
        }
        self.group(Group::Regular, |printer| {
            printer.plain("${");
            printer.inside(node, end);
            printer.plain("}");
        });
    }

    /// Prints what is between `${` and `}`.
    fn inside(&mut self, node: NodeId, end: &[Trivium]) {
        if end.is_empty()
            && let Some(&Node::Apply { function, argument }) = self.node_ref(node)
        {
            return self.nest(|printer| printer.call(function, argument, true, None, true));
        }
        self.surround(Space::Break, |printer| {
            printer.nest(|printer| {
                printer.group(Group::Regular, |printer| {
                    printer.node(node);
                    printer.trivia(end);
                });
            });
        });
    }

    /// `${…}` as a name.
    pub(super) fn computed_name(&mut self, open: LeafId, inner: NodeId, close: LeafId) {
        self.before(open);
        // `${''…''}` is a computed name where `${"…"}` is none.
        self.keep_quotes = match self.node_ref(inner) {
            Some(Node::Text(text)) => Some(text.open),
            _ => None,
        };
        let end = self.leaf_mut(close).map(|leaf| std::mem::take(&mut leaf.pre)).unwrap_or_default();
        self.interpolation(inner, &end, close, false);
        self.behind(close);
    }
}

/// Indents what is inside an interpolation like the line of the string that it stands in.
fn shift(items: &mut [Item], by: usize) {
    if by == 0 {
        return;
    }
    for item in items {
        match item {
            Item::Text { offset, .. } => *offset += by,
            Item::Group(_, inner) => {
                stacker::maybe_grow(64 * 1024, 2 * 1024 * 1024, || shift(inner, by));
            }
            Item::Space(_) => {}
        }
    }
}
