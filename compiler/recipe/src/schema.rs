//! A small typed reader over evaluated values that reports every problem at once.
//!
//! A record is opened with the names of its fields; names that it does not have are reported with
//! the nearest that it has. Reading a field either gives the value or reports why not and gives
//! `None`, so a caller reads all fields before it gives up.

use diag::{Diagnostic, Diagnostics, Span, nearest, slugs};

use crate::tree::{Field, Node, Tree};

/// A value with the place where it was written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct At<T> {
    /// The value.
    pub value: T,
    /// Where it was written.
    pub at: Option<Span>,
}

impl<T> At<T> {
    /// Returns a value that was written nowhere.
    #[must_use]
    pub fn made(value: T) -> Self {
        Self { value, at: None }
    }
}

/// A set whose fields are known.
#[derive(Clone, Copy, Debug)]
pub struct Record<'t> {
    /// The set.
    pub tree: &'t Tree,
    /// What it is, for messages: `a recipe`.
    pub what: &'static str,
}

impl<'t> Record<'t> {
    /// Opens a set, reporting fields that it must not have.
    pub fn open(tree: &'t Tree, what: &'static str, fields: &[&str], out: &mut Diagnostics) -> Option<Self> {
        let Node::Set(found) = &tree.node else {
            out.push(wrong_type(tree, what, "a set"));
            return None;
        };
        for field in found {
            if !fields.contains(&&*field.name) {
                out.push(unknown(field, what, fields));
            }
        }
        Some(Self { tree, what })
    }

    /// Returns a field that is there and not null.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&'t Field> {
        self.tree.get(name).filter(|field| !field.value.is_null())
    }

    /// Reads a field that may be absent or null.
    pub fn optional<T>(
        &self,
        name: &str,
        out: &mut Diagnostics,
        read: impl FnOnce(&'t Tree, &str, &mut Diagnostics) -> Option<T>,
    ) -> Option<T> {
        let field = self.field(name)?;
        read(&field.value, name, out)
    }

    /// Reads a field that must be there.
    pub fn required<T>(
        &self,
        name: &str,
        out: &mut Diagnostics,
        read: impl FnOnce(&'t Tree, &str, &mut Diagnostics) -> Option<T>,
    ) -> Option<T> {
        let Some(field) = self.field(name) else {
            let mut finding =
                Diagnostic::error(slugs::recipe::MISSING_FIELD, format!("{} has no `{name}`", self.what));
            finding.span = self.tree.at;
            out.push(finding);
            return None;
        };
        read(&field.value, name, out)
    }
}

fn unknown(field: &Field, what: &str, fields: &[&str]) -> Diagnostic {
    let mut finding =
        Diagnostic::error(slugs::recipe::UNKNOWN_FIELD, format!("unknown field `{}`", field.name));
    finding.span = field.name_at.or(field.value.at);
    finding.label = format!("not a field of {what}");
    match (nearest(&field.name, fields.iter().copied()), finding.span) {
        (Some(near), Some(span)) => finding.fix(span, near, format!("did you mean `{near}`?")),
        (Some(near), None) => finding.help(format!("did you mean `{near}`?")),
        (None, _) => finding.help(format!("the fields of {what} are: {}", fields.join(", "))),
    }
}

/// Makes the finding for a value of another type than wanted.
pub fn wrong_type(tree: &Tree, what: &str, wanted: &str) -> Diagnostic {
    let mut finding = Diagnostic::error(
        slugs::recipe::WRONG_TYPE,
        format!("{} is {}, not {wanted}", called(what), tree.described()),
    );
    finding.span = tree.at;
    finding
}

/// Returns how to call something in a message: the name of a field stands in backticks.
#[must_use]
pub fn called(what: &str) -> String {
    if what.contains([' ', '`']) { what.to_owned() } else { format!("`{what}`") }
}

/// Reads a string.
pub fn text(tree: &Tree, what: &str, out: &mut Diagnostics) -> Option<At<String>> {
    match &tree.node {
        Node::Text(text) if !text.is_empty() => Some(At { value: text.to_string(), at: tree.at }),
        Node::Text(_) => {
            let mut finding =
                Diagnostic::error(slugs::recipe::WRONG_TYPE, format!("{} is empty", called(what)));
            finding.span = tree.at;
            out.push(finding);
            None
        }
        _ => {
            out.push(wrong_type(tree, what, "a string"));
            None
        }
    }
}

/// Reads a whole number that is at least 1.
pub fn count(tree: &Tree, what: &str, out: &mut Diagnostics) -> Option<At<u32>> {
    match tree.node {
        Node::Int(number) => match u32::try_from(number) {
            Ok(value) if value > 0 => Some(At { value, at: tree.at }),
            _ => {
                let mut finding = Diagnostic::error(
                    slugs::recipe::OUT_OF_RANGE,
                    format!("{} is {number}, not a whole number from 1 to 4294967295", called(what)),
                );
                finding.span = tree.at;
                out.push(finding);
                None
            }
        },
        _ => {
            out.push(wrong_type(tree, what, "a whole number"));
            None
        }
    }
}

/// Reads a Boolean.
pub fn boolean(tree: &Tree, what: &str, out: &mut Diagnostics) -> Option<At<bool>> {
    if let Node::Bool(value) = tree.node {
        return Some(At { value, at: tree.at });
    }
    out.push(wrong_type(tree, what, "true or false"));
    None
}

/// Reads a list, each element by `read`; elements that cannot be read are reported and left out.
pub fn list<T>(
    tree: &Tree,
    what: &str,
    out: &mut Diagnostics,
    mut read: impl FnMut(&Tree, &str, &mut Diagnostics) -> Option<T>,
) -> Option<Vec<T>> {
    let Node::List(items) = &tree.node else {
        out.push(wrong_type(tree, what, "a list"));
        return None;
    };
    Some(items.iter().filter_map(|item| read(item, what, out)).collect())
}

/// Reads one of a few words.
pub fn choice<T: Copy>(
    tree: &Tree,
    what: &str,
    choices: &[(&str, T)],
    out: &mut Diagnostics,
) -> Option<At<T>> {
    let word = text(tree, what, out)?;
    if let Some((_, value)) = choices.iter().find(|(name, _)| *name == word.value) {
        return Some(At { value: *value, at: tree.at });
    }
    let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
    let mut finding = Diagnostic::error(
        slugs::recipe::UNKNOWN_CHOICE,
        format!("{} is `{}`, which is not one of {}", called(what), word.value, names.join(", ")),
    );
    finding.span = tree.at;
    if let Some(near) = nearest(&word.value, names.iter().copied()) {
        finding = finding.help(format!("did you mean `{near}`?"));
    }
    out.push(finding);
    None
}
