//! YAML of other projects, as trees that know where each value was written.

use std::fmt;

use diag::slugs::host::CANNOT_READ;
use diag::{Diagnostic, FileId, SourceMap, Span};
use recipe::tree::{Field, Node, Tree};
use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_saphyr::{DuplicateKeyPolicy, Spanned};

/// Reads a document. As in PyYAML, which those projects read with, the last of two keys counts, and
/// `y` and `n` are text.
pub(crate) fn read(name: &str, text: &str, sources: &mut SourceMap) -> Result<Tree, Diagnostic> {
    let file = sources.add(name, text);
    let options = serde_saphyr::options! {
        duplicate_keys: DuplicateKeyPolicy::LastWins,
        strict_booleans: true,
    };
    serde_saphyr::from_str_with_options::<Spanned<Raw>>(text, options)
        .map(|raw| raw.value.tree(file, span(file, &raw.defined)))
        .map_err(|error| {
            let mut finding =
                Diagnostic::error(CANNOT_READ, format!("cannot read `{name}`")).why(error.to_string());
            finding.span = error.location().map(|location| span(file, &location));
            finding
        })
}

fn span(file: FileId, location: &serde_saphyr::Location) -> Span {
    let bytes = location.span();
    let start = bytes.byte_offset().unwrap_or(0);
    let length = bytes.byte_len().unwrap_or(0).max(1);
    let number = |byte: u64| u32::try_from(byte).unwrap_or(u32::MAX);
    Span::new(file, number(start), number(start.saturating_add(length)))
}

/// A value as it is read.
enum Raw {
    Leaf(Node),
    List(Vec<Spanned<Raw>>),
    Map(Vec<(Spanned<Raw>, Spanned<Raw>)>),
}

impl Raw {
    fn tree(self, file: FileId, at: Span) -> Tree {
        let node = match self {
            Self::Leaf(node) => node,
            Self::List(items) => Node::List(
                items.into_iter().map(|item| item.value.tree(file, span(file, &item.defined))).collect(),
            ),
            Self::Map(entries) => {
                let mut fields: Vec<Field> = entries
                    .into_iter()
                    .map(|(name, value)| Field {
                        name_at: Some(span(file, &name.defined)),
                        name: name.value.name().into(),
                        overrides: None,
                        value: value.value.tree(file, span(file, &value.defined)),
                    })
                    .collect();
                // The last of two fields of one name counts.
                fields.reverse();
                fields.sort_by(|a, b| a.name.cmp(&b.name));
                fields.dedup_by(|a, b| a.name == b.name);
                Node::Set(fields)
            }
        };
        Tree { at: Some(at), node }
    }

    /// Returns a key as text, which YAML lets be a number or a Boolean.
    fn name(self) -> String {
        match self {
            Self::Leaf(Node::Text(text)) => text.to_string(),
            Self::Leaf(Node::Int(number)) => number.to_string(),
            Self::Leaf(Node::Bool(value)) => value.to_string(),
            Self::Leaf(Node::Float(value)) => value.to_string(),
            _ => String::new(),
        }
    }
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Values)
    }
}

struct Values;

impl<'de> Visitor<'de> for Values {
    type Value = Raw;

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("a value")
    }

    fn visit_unit<E: Error>(self) -> Result<Raw, E> {
        Ok(Raw::Leaf(Node::Null))
    }

    fn visit_none<E: Error>(self) -> Result<Raw, E> {
        Ok(Raw::Leaf(Node::Null))
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Raw, D::Error> {
        Raw::deserialize(deserializer)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Raw, E> {
        Ok(Raw::Leaf(Node::Bool(value)))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Raw, E> {
        Ok(Raw::Leaf(Node::Int(value)))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Raw, E> {
        let number = i64::try_from(value).map_err(|_| E::custom("a whole number beyond 64 bits"))?;
        Ok(Raw::Leaf(Node::Int(number)))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Raw, E> {
        Ok(Raw::Leaf(Node::Float(value)))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Raw, E> {
        Ok(Raw::Leaf(Node::Text(text.into())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Raw, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Raw::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Raw, A::Error> {
        let mut map = Vec::new();
        while let Some(entry) = entries.next_entry()? {
            map.push(entry);
        }
        Ok(Raw::Map(map))
    }
}
