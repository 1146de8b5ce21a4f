//! What is to be printed, before it is known where lines break.

/// A piece of output.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Item {
    /// Characters.
    Text {
        /// How many indentations stand around it. Only differences between lines matter: several
        /// that begin on one line are one step.
        depth: usize,
        /// Further spaces where it begins a line.
        offset: usize,
        kind: TextKind,
        text: String,
    },
    /// What may become a space or a new line.
    Space(Space),
    /// What is printed on one line if it fits.
    Group(Group, Vec<Item>),
}

/// What a text is, which decides whether its width counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum TextKind {
    Plain,
    /// A comment on lines of its own.
    Comment,
    /// A comment behind something.
    TrailingComment,
    /// Something that is printed only where lines break, such as a last comma.
    IfBroken,
}

/// A space. The order says which of two neighbours wins.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Space {
    /// Nothing, or a new line where what follows does not fit.
    SoftBreak,
    /// Nothing, or a new line where the group is broken.
    Break,
    /// A space.
    Hard,
    /// A space, or a new line where what follows does not fit.
    Soft,
    /// A space, or a new line where the group is broken.
    Line,
    /// A new line.
    HardLine,
    /// An empty line.
    EmptyLine,
    /// So many new lines.
    Lines(usize),
}

/// How a group breaks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Group {
    /// All of its spaces become new lines, after its priority groups were tried one by one.
    Regular,
    /// Breaks before the group around it does.
    Priority,
    /// Its priority groups count as those of the group around it.
    Transparent,
}

impl Space {
    /// Returns the space that two in a row are.
    pub(super) fn merge(self, other: Self) -> Self {
        let (small, large) = if self <= other { (self, other) } else { (other, self) };
        match (small, large) {
            (Self::Break, Self::Soft | Self::Hard) => Self::Line,
            (Self::SoftBreak, Self::Hard) => Self::Soft,
            (Self::Lines(a), Self::Lines(b)) => Self::Lines(a + b),
            (Self::EmptyLine, Self::Lines(count)) => Self::Lines(count + 2),
            (Self::Hard, Self::Lines(count)) => Self::Lines(count),
            (_, Self::Lines(count)) => Self::Lines(count + 1),
            (_, large) => large,
        }
    }

    /// Returns true for what always ends the line.
    pub(super) fn is_hard_line(self) -> bool {
        self >= Self::HardLine
    }
}

/// Brings a document into its plain form: spaces merged, and spaces and comments at the ends of groups
/// moved out of them, so that they do not decide whether a group fits.
pub(super) fn plain(items: Vec<Item>) -> Vec<Item> {
    stacker::maybe_grow(64 * 1024, 2 * 1024 * 1024, || {
        let mut done: Vec<Item> = Vec::with_capacity(items.len());
        for item in items {
            match item {
                Item::Group(kind, mut inner) => {
                    // A space before a group meets the one that the group begins with.
                    if let Some(Item::Space(Space::Hard)) = done.last() {
                        done.pop();
                        inner.insert(0, Item::Space(Space::Hard));
                    }
                    let mut inner = plain(inner);
                    let behind = inner.iter().rev().take_while(|item| is_hard_space(item)).count();
                    let behind = inner.split_off(inner.len() - behind);
                    let before =
                        inner.iter().take_while(|item| is_hard_space(item) || is_comment(item)).count();
                    let body = inner.split_off(before);
                    for item in inner {
                        push(&mut done, item);
                    }
                    match <[Item; 1]>::try_from(body) {
                        // A group that is all of another of its kind is one with it.
                        Ok([Item::Group(same, body)]) if same == kind => done.push(Item::Group(kind, body)),
                        Ok([only]) => done.push(Item::Group(kind, vec![only])),
                        Err(body) if body.is_empty() => {}
                        Err(body) => done.push(Item::Group(kind, body)),
                    }
                    for item in behind {
                        push(&mut done, item);
                    }
                }
                other => push(&mut done, other),
            }
        }
        done
    })
}

/// Adds an item, joined with the last one where both are spaces or both are texts of one kind.
fn push(done: &mut Vec<Item>, item: Item) {
    match (done.last_mut(), item) {
        (Some(Item::Space(last)), Item::Space(next)) => *last = last.merge(next),
        (Some(Item::Text { kind, text, .. }), Item::Text { kind: next, text: more, .. })
            if *kind == next && next == TextKind::Plain =>
        {
            text.push_str(&more);
        }
        (_, item) => done.push(item),
    }
}

fn is_hard_space(item: &Item) -> bool {
    matches!(item, Item::Space(space) if space.is_hard_line() || *space == Space::Hard)
}

fn is_comment(item: &Item) -> bool {
    matches!(item, Item::Text { kind: TextKind::Comment | TextKind::TrailingComment, .. })
}

/// Returns the document on one line, if that is possible and it is at most `limit` wide.
pub(super) fn on_one_line(items: &[Item], limit: Option<usize>) -> Option<Vec<Item>> {
    let mut width = 0;
    let mut flat = Vec::new();
    flatten(items, &mut flat, &mut width, limit.unwrap_or(usize::MAX)).then_some(flat)
}

fn flatten(items: &[Item], flat: &mut Vec<Item>, width: &mut usize, limit: usize) -> bool {
    stacker::maybe_grow(64 * 1024, 2 * 1024 * 1024, || {
        for item in items {
            match item {
                Item::Text { kind: TextKind::IfBroken, .. } => {}
                Item::Text { kind: TextKind::Plain, text, .. } => {
                    *width += text.chars().count();
                    flat.push(item.clone());
                }
                // A comment needs the end of a line.
                Item::Text { .. } => return false,
                Item::Space(Space::SoftBreak | Space::Break) => {}
                Item::Space(space) if space.is_hard_line() => return false,
                Item::Space(_) => {
                    *width += 1;
                    flat.push(Item::Space(Space::Hard));
                }
                Item::Group(_, inner) => {
                    if !flatten(inner, flat, width, limit) {
                        return false;
                    }
                }
            }
            if *width > limit {
                return false;
            }
        }
        true
    })
}

/// Writes a document as `nixfmt --ir` does.
pub(super) fn dump(items: &[Item], indent: usize, out: &mut String) {
    let pad = " ".repeat(indent);
    for (index, item) in items.iter().enumerate() {
        out.push_str(if index == 0 { "[ " } else { ", " });
        match item {
            Item::Text { depth, offset, kind, text } => {
                let kind = match kind {
                    TextKind::Plain => "RegularT",
                    TextKind::Comment => "Comment",
                    TextKind::TrailingComment => "TrailingComment",
                    TextKind::IfBroken => "Trailing",
                };
                out.push_str(&format!("Text {depth} {offset} {kind} \"{text}\"\n{pad}"));
            }
            Item::Space(space) => {
                let name = match space {
                    Space::SoftBreak => "Softbreak".to_owned(),
                    Space::Break => "Break".to_owned(),
                    Space::Hard => "Hardspace".to_owned(),
                    Space::Soft => "Softspace".to_owned(),
                    Space::Line => "Space".to_owned(),
                    Space::HardLine => "Hardline".to_owned(),
                    Space::EmptyLine => "Emptyline".to_owned(),
                    Space::Lines(count) => {
                        format!("\n{pad}    ( Newlines {count} )").trim_start_matches(' ').to_owned()
                    }
                };
                out.push_str(&format!("Spacing {name}\n{pad}"));
            }
            Item::Group(kind, inner) => {
                let kind = match kind {
                    Group::Regular => "RegularG",
                    Group::Priority => "Priority",
                    Group::Transparent => "Transparent",
                };
                out.push_str(&format!("Group {kind}\n{pad}    "));
                dump(inner, indent + 4, out);
                out.push_str(&format!("\n{pad}"));
            }
        }
    }
    if matches!(items, [Item::Text { .. }]) {
        out.truncate(out.trim_end().len());
        out.push(' ');
    }
    out.push(']');
}
