//! Reading all of a lock but its table of behaviour, which is most of it and which only a difference
//! needs. The seal is checked over the whole text all the same.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use serde::de::{DeserializeOwned, DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::Number;

use super::NEWEST;
use super::v1::{self, WirePlan};
use crate::canonical::{write_number, write_string};
use crate::{Digest, Lock};

/// Reads a lock of the newest version whose seal holds, without its behaviour. `None` is no verdict:
/// whatever is unusual about a text is for [`super::read`] to say.
pub(crate) fn read(text: &str) -> Option<Lock> {
    if text.len() > crate::strict::LIMIT {
        return None;
    }
    let mut fields = Fields { text: String::with_capacity(text.len()), ranges: BTreeMap::new() };
    let mut deserializer = serde_json::Deserializer::from_str(text);
    Top(&mut fields).deserialize(&mut deserializer).ok()?;
    deserializer.end().ok()?;
    // What the seal is over: the canonical form of all the other fields.
    let mut sealed = String::with_capacity(fields.text.len());
    sealed.push('{');
    for (name, range) in fields.ranges.iter().filter(|(name, _)| *name != "seal") {
        if sealed.len() > 1 {
            sealed.push(',');
        }
        write_string(name, &mut sealed);
        sealed.push(':');
        sealed.push_str(fields.text.get(range.clone())?);
    }
    sealed.push('}');
    let seal: String = fields.read("seal")?;
    let names: Vec<&str> = fields.ranges.keys().map(String::as_str).collect();
    let whole = names == ["jobs", "known", "launch", "pins", "plans", "recipe", "seal", "version"]
        && fields.read::<u64>("version") == Some(NEWEST)
        && seal == Digest::of(sealed.as_bytes()).to_string();
    if !whole {
        return None;
    }
    let mut lock = Lock {
        recipe: fields.read("recipe")?,
        pins: fields.read("pins")?,
        known: fields.read("known")?,
        jobs: fields.read("jobs")?,
        ..Lock::default()
    };
    v1::check_names(&lock.pins).ok()?;
    let plans: BTreeMap<String, WirePlan> = fields.read("plans")?;
    for (name, plan) in plans {
        lock.plans.insert(name.parse().ok()?, plan.into());
    }
    Some(lock)
}

/// The fields of a document, each in its canonical form.
struct Fields {
    text: String,
    ranges: BTreeMap<String, Range<usize>>,
}

impl Fields {
    fn read<T: DeserializeOwned>(&self, name: &str) -> Option<T> {
        serde_json::from_str(self.text.get(self.ranges.get(name)?.clone())?).ok()
    }
}

struct Top<'a>(&'a mut Fields);

impl<'de> DeserializeSeed<'de> for Top<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Top<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a lock")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        while let Some(name) = entries.next_key::<String>()? {
            let start = self.0.text.len();
            entries.next_value_seed(Canonical(&mut self.0.text))?;
            if self.0.ranges.insert(name, start..self.0.text.len()).is_some() {
                return Err(A::Error::custom("a key stands twice"));
            }
        }
        Ok(())
    }
}

/// Writes the canonical form of what is read, without a tree.
struct Canonical<'a>(&'a mut String);

impl<'de> DeserializeSeed<'de> for Canonical<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Canonical<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        self.0.push_str("null");
        Ok(())
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<(), E> {
        self.0.push_str(if value { "true" } else { "false" });
        Ok(())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<(), E> {
        write_number(&value.into(), self.0);
        Ok(())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<(), E> {
        write_number(&value.into(), self.0);
        Ok(())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<(), E> {
        write_number(&Number::from_f64(value).ok_or_else(|| E::custom("not finite"))?, self.0);
        Ok(())
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<(), E> {
        write_string(value, self.0);
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        self.0.push('[');
        let start = self.0.len();
        loop {
            let before = self.0.len();
            if before > start {
                self.0.push(',');
            }
            if items.next_element_seed(Canonical(self.0))?.is_none() {
                self.0.truncate(before);
                break;
            }
        }
        self.0.push(']');
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        let start = self.0.len();
        // Where each entry stands, and its key in it. Nearly all files have their keys in order, so they
        // are written as they come, and put in order at the end if they were not.
        let mut places: Vec<(Range<usize>, Range<usize>)> = Vec::new();
        let mut sorted = true;
        self.0.push('{');
        loop {
            let before = self.0.len();
            if !places.is_empty() {
                self.0.push(',');
            }
            let begin = self.0.len();
            if entries.next_key_seed(Canonical(self.0))?.is_none() {
                self.0.truncate(before);
                break;
            }
            let key = begin..self.0.len();
            if let Some((last, _)) = places.last() {
                let inside = |range: &Range<usize>| self.0.get(range.clone()).and_then(plain);
                sorted &= matches!((inside(last), inside(&key)), (Some(last), Some(key)) if last < key);
            }
            self.0.push(':');
            entries.next_value_seed(Canonical(self.0))?;
            places.push((key, begin..self.0.len()));
        }
        self.0.push('}');
        if !sorted {
            let mut keyed: Vec<(String, &str)> = Vec::new();
            for (key, entry) in &places {
                let text = |range: &Range<usize>| self.0.get(range.clone()).unwrap_or_default();
                keyed.push((serde_json::from_str(text(key)).map_err(A::Error::custom)?, text(entry)));
            }
            keyed.sort_by(|a, b| a.0.encode_utf16().cmp(b.0.encode_utf16()));
            if keyed.windows(2).any(|pair| matches!(pair, [a, b] if a.0 == b.0)) {
                return Err(A::Error::custom("a key stands twice"));
            }
            let entries: Vec<&str> = keyed.iter().map(|(_, entry)| *entry).collect();
            let ordered = format!("{{{}}}", entries.join(","));
            self.0.truncate(start);
            self.0.push_str(&ordered);
        }
        Ok(())
    }
}

/// Returns what is between the quotes of a written key, if its bytes have the order of the key: it is
/// ASCII, and nothing in it is escaped.
fn plain(written: &str) -> Option<&str> {
    let inside = written.get(1..written.len().checked_sub(1)?)?;
    (inside.is_ascii() && !inside.contains('\\')).then_some(inside)
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn what_is_read_is_canonical_whatever_the_order_of_keys() {
        for text in [
            r#"{"b": [1, {}, [], {"z": -1, "a": "\u00e9\n"}], "a": null}"#,
            "{\"\u{fb33}\": 1, \"\u{1f600}\": 2.50, \"\u{e9}\": true}",
            r#"{"a": 1, "a b": 2, "a!": 3, "a\"": 4, "a\\": 5, "A": 6, "": 7}"#,
            "[]",
            "[[1e3]]",
        ] {
            let mut out = String::new();
            let mut deserializer = serde_json::Deserializer::from_str(text);
            assert!(Canonical(&mut out).deserialize(&mut deserializer).is_ok(), "{text}");
            let value: Value = serde_json::from_str(text).unwrap_or_default();
            assert_eq!(out, crate::canonical(&value));
        }
        for text in [r#"{"a": 1, "a": 1}"#, r#"{"b": 1, "a": 1, "b": 2}"#] {
            let mut out = String::new();
            let mut deserializer = serde_json::Deserializer::from_str(text);
            assert!(Canonical(&mut out).deserialize(&mut deserializer).is_err(), "{text}");
        }
    }
}
