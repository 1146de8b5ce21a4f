//! Evaluated values as plain trees, each part with the place where it was written.
//!
//! The reader of manifests ([`crate::schema`]) and everything after it work on these trees; only
//! [`crate::bridge`] knows how they come out of evaluation.

use std::sync::Arc;

use diag::Span;

/// A fully evaluated value with its place.
#[derive(Clone, Debug)]
pub struct Tree {
    /// Where the value was written, if in a text.
    pub at: Option<Span>,
    /// The value.
    pub node: Node,
}

/// What a [`Tree`] holds.
#[derive(Clone, Debug)]
pub enum Node {
    /// `null`.
    Null,
    /// A Boolean.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A float.
    Float(f64),
    /// A string.
    Text(Arc<str>),
    /// A list.
    List(Vec<Tree>),
    /// A set, sorted by name.
    Set(Vec<Field>),
    /// A function, to be called by the session that gave it.
    Function(eval::Value),
}

/// One attribute of a set.
#[derive(Clone, Debug)]
pub struct Field {
    /// Its name.
    pub name: Arc<str>,
    /// Where the name was written.
    pub name_at: Option<Span>,
    /// Where a value that it took the place of (`a // b`) was written.
    pub overrides: Option<Span>,
    /// Its value.
    pub value: Tree,
}

impl Tree {
    /// Returns a tree that was written nowhere.
    #[must_use]
    pub fn made(node: Node) -> Self {
        Self { at: None, node }
    }

    /// Returns a set that was written nowhere.
    #[must_use]
    pub fn set<'a>(fields: impl IntoIterator<Item = (&'a str, Self)>) -> Self {
        let mut fields: Vec<Field> = fields
            .into_iter()
            .map(|(name, value)| Field { name: name.into(), name_at: None, overrides: None, value })
            .collect();
        fields.sort_by(|a, b| a.name.cmp(&b.name));
        Self::made(Node::Set(fields))
    }

    /// Returns the attribute `name` of a set.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Field> {
        let Node::Set(fields) = &self.node else { return None };
        fields.iter().find(|field| &*field.name == name)
    }

    /// Returns the text of a string.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        if let Node::Text(text) = &self.node { Some(text) } else { None }
    }

    /// Returns true for `null`.
    #[must_use]
    pub fn is_null(&self) -> bool {
        matches!(self.node, Node::Null)
    }

    /// Returns the name of the value's type, with its article.
    #[must_use]
    pub fn described(&self) -> &'static str {
        match self.node {
            Node::Null => "null",
            Node::Bool(_) => "a Boolean",
            Node::Int(_) => "an integer",
            Node::Float(_) => "a float",
            Node::Text(_) => "a string",
            Node::List(_) => "a list",
            Node::Set(_) => "a set",
            Node::Function(_) => "a function",
        }
    }
}

impl From<&str> for Tree {
    fn from(text: &str) -> Self {
        Self::made(Node::Text(text.into()))
    }
}

impl From<i64> for Tree {
    fn from(number: i64) -> Self {
        Self::made(Node::Int(number))
    }
}

impl From<u32> for Tree {
    fn from(number: u32) -> Self {
        Self::made(Node::Int(i64::from(number)))
    }
}

impl From<bool> for Tree {
    fn from(value: bool) -> Self {
        Self::made(Node::Bool(value))
    }
}

impl<T: Into<Tree>> From<Option<T>> for Tree {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::made(Node::Null), Into::into)
    }
}

/// Writes a float as the shortest decimal that reads back equal, always with a point or exponent.
#[must_use]
pub fn float_text(value: f64) -> String {
    let text = value.to_string();
    if text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-') { text + ".0" } else { text }
}
