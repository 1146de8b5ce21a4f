//! Where lines break.
//!
//! A group goes on one line if it fits with what follows it up to the next place where a line may
//! end. Otherwise each of its priority groups is tried alone: it breaks, and what is around it stays
//! on one line. If none does, all of the group breaks. Indentation does not count for the width.

use super::doc::{Group, Item, Space, TextKind};

/// How wide a line may be, without its indentation.
const WIDTH: isize = 100;
/// How many priority groups of a group are tried.
const MOST: usize = 64;
/// How many spaces an indentation is.
const STEP: usize = 2;

/// Prints a document that is in its plain form.
pub(super) fn print(document: &[Item]) -> String {
    // Trying priority groups can take time that doubles with each level. Past this many steps they
    // are no longer tried, which no text written by a person comes near.
    let steps = document.len().saturating_mul(64).saturating_add(2_000_000);
    let mut printer = Printer { out: String::new(), column: 0, indent: 0, indents: vec![(0, 0)], steps };
    let items: Vec<&Item> = document.iter().collect();
    printer.group(Group::Regular, &items, &Rest { items: &[], flat: false, outer: None });
    printer.out
}

struct Printer {
    out: String,
    /// The width of the line so far, without its indentation; 0 at the start of a line.
    column: usize,
    /// How far the line is indented.
    indent: usize,
    /// Indentations that are open, each with the depth at which it began.
    indents: Vec<(usize, usize)>,
    steps: usize,
}

/// What is printed after the piece at hand.
#[derive(Clone, Copy)]
struct Rest<'a> {
    items: &'a [&'a Item],
    /// True for what will be on one line.
    flat: bool,
    outer: Option<&'a Rest<'a>>,
}

/// What a look at what follows says.
enum Look {
    On,
    Stop,
}

impl<'a> Rest<'a> {
    /// Shows what follows, groups opened, until the visitor has seen enough.
    fn visit(&self, visitor: &mut impl FnMut(&Item, bool) -> Look) {
        let mut rest = Some(self);
        while let Some(frame) = rest {
            for item in frame.items {
                if let Look::Stop = visit(item, frame.flat, visitor) {
                    return;
                }
            }
            rest = frame.outer;
        }
    }

    /// Returns how wide it is up to the first place where the line may end.
    fn width(&self) -> isize {
        let mut width = 0;
        self.visit(&mut |item, flat| {
            match item {
                Item::Text { kind: TextKind::Plain, text, .. } => width += wide(text),
                Item::Text { .. } => {}
                Item::Space(Space::Hard) => width += 1,
                Item::Space(space) if flat && !space.is_hard_line() => {
                    width += isize::from(matches!(space, Space::Line | Space::Soft));
                }
                Item::Space(_) => return Look::Stop,
                Item::Group(..) => {}
            }
            if width > WIDTH { Look::Stop } else { Look::On }
        });
        width
    }

    /// Returns depth and offset of the next text.
    fn place(&self) -> (usize, usize) {
        let mut place = (0, 0);
        self.visit(&mut |item, _| match item {
            Item::Text { depth, offset, .. } => {
                place = (*depth, *offset);
                Look::Stop
            }
            _ => Look::On,
        });
        place
    }
}

fn visit(item: &Item, flat: bool, visitor: &mut impl FnMut(&Item, bool) -> Look) -> Look {
    if let Look::Stop = visitor(item, flat) {
        return Look::Stop;
    }
    if let Item::Group(_, inner) = item {
        return stacker::maybe_grow(64 * 1024, 2 * 1024 * 1024, || {
            for item in inner {
                if let Look::Stop = visit(item, flat, visitor) {
                    return Look::Stop;
                }
            }
            Look::On
        });
    }
    Look::On
}

impl Printer {
    fn all(&mut self, items: &[&Item], rest: &Rest<'_>) {
        for (index, item) in items.iter().enumerate() {
            let following = items.get(index + 1..).unwrap_or_default();
            let rest = Rest { items: following, flat: false, outer: Some(rest) };
            match item {
                Item::Text { depth, offset, kind: TextKind::TrailingComment, text } => {
                    // Right above the next token it would be read as a comment of that.
                    let (next, next_offset) = rest.place();
                    let next = indent_of(&self.indents, next) + next_offset;
                    if self.column > 0 && self.indent + self.column == next {
                        self.out.push(' ');
                    }
                    self.text(*depth, *offset, text);
                }
                Item::Text { depth, offset, text, .. } => self.text(*depth, *offset, text),
                Item::Space(space) => self.space(*space, &rest),
                Item::Group(kind, inner) => {
                    let inner: Vec<&Item> = inner.iter().collect();
                    stacker::maybe_grow(64 * 1024, 2 * 1024 * 1024, || self.group(*kind, &inner, &rest));
                }
            }
        }
    }

    fn space(&mut self, space: Space, rest: &Rest<'_>) {
        match space {
            // The line has just ended.
            Space::SoftBreak | Space::Soft | Space::Break | Space::Line | Space::HardLine
                if self.column == 0 => {}
            Space::EmptyLine if self.column == 0 => {
                if !self.out.ends_with("\n\n") {
                    self.lines(1);
                }
            }
            Space::Hard => self.raw(" "),
            Space::SoftBreak if self.first_line_fits(0, rest) => {}
            Space::Soft if self.first_line_fits(1, rest) => self.raw(" "),
            Space::SoftBreak | Space::Soft | Space::Break | Space::Line | Space::HardLine => self.lines(1),
            Space::EmptyLine => self.lines(2),
            Space::Lines(count) => self.lines(count),
        }
    }

    /// Returns true if what follows fits on the line up to where it may end.
    fn first_line_fits(&self, space: isize, rest: &Rest<'_>) -> bool {
        signed(self.column) + space + rest.width() <= WIDTH
    }

    fn group(&mut self, kind: Group, items: &[&Item], rest: &Rest<'_>) {
        self.steps = self.steps.saturating_sub(1);
        if self.one_line(items, rest) {
            return;
        }
        // The priority groups of a transparent group were tried with the group around it.
        if kind != Group::Transparent && self.steps > 0 {
            for (before, priority, behind) in priorities(items).into_iter() {
                let (length, column, indent) = (self.out.len(), self.column, self.indent);
                let indents = self.indents.clone();
                let behind_rest = Rest { items: &behind, flat: false, outer: Some(rest) };
                let priority_rest = Rest { items: &priority, flat: false, outer: Some(&behind_rest) };
                if self.one_line(&before, &priority_rest) {
                    let flat = Rest { items: &behind, flat: true, outer: Some(rest) };
                    self.all(&priority, &flat);
                    if self.one_line(&behind, rest) {
                        return;
                    }
                }
                self.out.truncate(length);
                (self.column, self.indent, self.indents) = (column, indent, indents);
            }
        }
        self.all(items, rest);
    }

    /// Prints items on one line, if they fit with what follows.
    fn one_line(&mut self, items: &[&Item], rest: &Rest<'_>) -> bool {
        if items.is_empty() {
            return true;
        }
        let mut line = Line {
            text: String::new(),
            left: WIDTH - rest.width(),
            at: 0,
            comment: None,
            pending: None,
            skip_space: false,
        };
        if self.column > 0 {
            line.left -= signed(self.column);
            line.at = self.indent + self.column;
            if !line.all(items) {
                return false;
            }
            line.move_comment(&self.indents, rest);
            self.raw(&line.text);
            return true;
        }
        // A line just ended, so a space at the beginning is done with.
        let (depth, offset) = first_text(items);
        line.at = indent_of(&self.indents, depth) + offset;
        line.skip_space = true;
        if !line.all(items) {
            return false;
        }
        if line.comment.is_some() {
            let mut indents = self.indents.clone();
            open(&mut indents, depth);
            line.move_comment(&indents, rest);
        }
        self.text(depth, offset, &line.text);
        true
    }

    fn text(&mut self, depth: usize, offset: usize, text: &str) {
        if self.column == 0 {
            if text.is_empty() {
                return;
            }
            self.indent = open(&mut self.indents, depth);
            let indent = self.indent;
            self.out.extend(std::iter::repeat_n(' ', indent + offset));
            self.column += offset;
        } else if let Some((_, at)) = self.indents.last_mut() {
            *at = depth.max(*at);
        }
        self.raw(text);
    }

    fn raw(&mut self, text: &str) {
        self.out.push_str(text);
        match text.rfind('\n') {
            Some(at) => {
                self.column = text.get(at + 1..).unwrap_or("").chars().count();
                self.indent = 0;
            }
            None => self.column += text.chars().count(),
        }
    }

    fn lines(&mut self, count: usize) {
        self.out.extend(std::iter::repeat_n('\n', count));
        self.column = 0;
    }
}

/// A line that is tried.
struct Line {
    text: String,
    /// How much room is left; negative where it did not fit.
    left: isize,
    /// The column so far, with its indentation.
    at: usize,
    /// Where a trailing comment begins, in the text and on the line.
    comment: Option<(usize, usize)>,
    pending: Option<Space>,
    skip_space: bool,
}

impl Line {
    fn all(&mut self, items: &[&Item]) -> bool {
        items.iter().all(|item| self.one(item)) && self.flush() && self.left >= 0
    }

    fn one(&mut self, item: &Item) -> bool {
        match item {
            Item::Space(space) => {
                self.pending = Some(self.pending.map_or(*space, |pending| pending.merge(*space)));
                true
            }
            Item::Group(_, inner) => {
                stacker::maybe_grow(64 * 1024, 2 * 1024 * 1024, || inner.iter().all(|item| self.one(item)))
            }
            Item::Text { kind, text, .. } => {
                if !self.flush() {
                    return false;
                }
                match kind {
                    TextKind::IfBroken => return true,
                    TextKind::TrailingComment => self.comment = Some((self.text.len(), self.at)),
                    TextKind::Comment => {}
                    TextKind::Plain => {
                        self.take(wide(text));
                        if let Some(at) = text.rfind('\n') {
                            self.at = text.get(at + 1..).unwrap_or("").chars().count();
                        }
                    }
                }
                self.text.push_str(text);
                self.left >= 0
            }
        }
    }

    fn flush(&mut self) -> bool {
        let skip = std::mem::take(&mut self.skip_space);
        match self.pending.take() {
            None | Some(Space::SoftBreak | Space::Break) => true,
            Some(_) if skip && self.text.is_empty() => true,
            Some(space) if space.is_hard_line() => false,
            Some(_) => {
                self.text.push(' ');
                self.take(1);
                self.left >= 0
            }
        }
    }

    /// Puts a space before a trailing comment that would stand right above the next token: it would be
    /// read as a comment of that.
    fn move_comment(&mut self, indents: &[(usize, usize)], rest: &Rest<'_>) {
        if let Some((place, column)) = self.comment {
            let (depth, offset) = rest.place();
            if column == indent_of(indents, depth) + offset {
                self.text.insert(place, ' ');
            }
        }
    }

    fn take(&mut self, width: isize) {
        self.left -= width;
        self.at = self.at.saturating_add_signed(width);
    }
}

/// Returns how far a line is indented that begins at a depth.
///
/// Only what is deeper than the text before it is indented: what closes a bracket stands under the
/// line that opened it, however deep that was within its line.
fn indent_of(indents: &[(usize, usize)], depth: usize) -> usize {
    let open = indents.iter().rfind(|&&(_, at)| at <= depth).or(indents.first());
    open.map_or(0, |&(indent, at)| if depth > at { indent + STEP } else { indent })
}

/// Begins a line at a depth, and returns how far it is indented.
fn open(indents: &mut Vec<(usize, usize)>, depth: usize) -> usize {
    let indent = indent_of(indents, depth);
    while indents.len() > 1 && indents.last().is_some_and(|&(_, at)| at > depth) {
        indents.pop();
    }
    match indents.last_mut() {
        Some((_, at)) if depth > *at => indents.push((indent, depth)),
        // Only the outermost can be deeper than the line: what was before it on its line was.
        Some((_, at)) => *at = depth,
        None => indents.push((indent, depth)),
    }
    indent
}

/// Returns depth and offset of the first text.
fn first_text(items: &[&Item]) -> (usize, usize) {
    Rest { items, flat: false, outer: None }.place()
}

type Split<'a> = (Vec<&'a Item>, Vec<&'a Item>, Vec<&'a Item>);

/// Returns the last priority groups, last first, each with what is before and behind it; those of
/// transparent groups too.
fn priorities<'a>(items: &[&'a Item]) -> Vec<Split<'a>> {
    let mut segments: Vec<(bool, Vec<&'a Item>)> = Vec::new();
    segment(items.iter().copied(), &mut segments);
    let flat = |segments: Option<&[(bool, Vec<&'a Item>)]>| {
        segments.unwrap_or_default().iter().flat_map(|(_, items)| items.iter().copied()).collect()
    };
    // Only one with less than a line before it can succeed, and a line has no more than this.
    let last = segments.iter().enumerate().rev().filter(|(_, (is_priority, _))| *is_priority).take(MOST);
    last.map(|(index, (_, inner))| {
        (flat(segments.get(..index)), inner.clone(), flat(segments.get(index + 1..)))
    })
    .collect()
}

fn segment<'a>(items: impl Iterator<Item = &'a Item>, segments: &mut Vec<(bool, Vec<&'a Item>)>) {
    for item in items {
        match item {
            Item::Group(Group::Priority, inner) => segments.push((true, inner.iter().collect())),
            Item::Group(Group::Transparent, inner) => {
                stacker::maybe_grow(64 * 1024, 2 * 1024 * 1024, || segment(inner.iter(), segments));
            }
            _ => match segments.last_mut() {
                Some((false, last)) => last.push(item),
                _ => segments.push((false, vec![item])),
            },
        }
    }
}

fn wide(text: &str) -> isize {
    signed(text.chars().count())
}

fn signed(n: usize) -> isize {
    isize::try_from(n).unwrap_or(isize::MAX)
}
