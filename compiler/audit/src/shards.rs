//! The index of a sharded checkpoint beside what its shards hold.
//!
//! A loader believes the index: a tensor that is not in the shard that the index names stays as it was
//! made, and one that is in two shards is taken from either. Bytes that are as locked can be wrong so.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

/// Name of the index that loaders read first.
pub const INDEX: &str = "model.safetensors.index.json";

/// The most bytes of an index or of the beginning of a shard that are read.
pub const HEADER_LIMIT: u64 = 32 << 20;

/// The most names that one complaint lists.
const SHOWN: usize = 3;

/// What is wrong with an index.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    /// In a phrase.
    pub what: String,
    /// Weights stay unset or are not what the index says, as against merely in doubt.
    pub fatal: bool,
}

/// Returns the names of the tensors of a shard, from the JSON text at its beginning.
///
/// # Errors
/// In a phrase, if the text is none.
pub fn tensors(header: &str) -> Result<BTreeSet<String>, String> {
    let all: BTreeMap<String, IgnoredAny> = serde_json::from_str(header)
        .map_err(|error| format!("its beginning is no list of tensors: {error}"))?;
    Ok(all.into_keys().filter(|name| name != "__metadata__").collect())
}

/// Sets an index beside the shards: each by its name, with its tensors or why they are not known.
/// `there` says which names the checkpoint has.
#[must_use]
pub fn faults(
    index: &str,
    shards: &BTreeMap<String, Result<BTreeSet<String>, String>>,
    there: &dyn Fn(&str) -> bool,
) -> Vec<Fault> {
    #[derive(Deserialize)]
    struct Index {
        weight_map: BTreeMap<String, Value>,
    }
    let index: Index = match serde_json::from_str(index) {
        Ok(index) => index,
        Err(error) => {
            return vec![Fault { what: format!("`{INDEX}` is no index: {error}"), fatal: true }];
        }
    };
    let mut map: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let mut found = Vec::new();
    for (tensor, file) in &index.weight_map {
        match file.as_str() {
            Some(file) => {
                map.entry(file).or_default().insert(tensor);
            }
            None => found.push(Fault { what: format!("{} has no file name", quoted(tensor)), fatal: true }),
        }
    }
    found.truncate(SHOWN);
    for (file, named) in &map {
        match shards.get(*file) {
            None if !there(file) => found.push(Fault {
                what: format!("it names {}, which the checkpoint does not have", quoted(file)),
                fatal: true,
            }),
            // It is there and could not be looked into, which is said elsewhere.
            None => {}
            Some(Err(why)) => found.push(Fault { what: format!("{}: {why}", quoted(file)), fatal: true }),
            Some(Ok(held)) => {
                let absent: Vec<&str> = named.iter().copied().filter(|name| !held.contains(*name)).collect();
                if !absent.is_empty() {
                    let what = format!("{} is not in {}, where it says so", list(&absent), quoted(file));
                    found.push(Fault { what, fatal: true });
                }
            }
        }
    }
    for (file, held) in shards.iter().filter_map(|(file, held)| Some((file, held.as_ref().ok()?))) {
        let named = map.get(file.as_str());
        let more: Vec<&str> = held
            .iter()
            .map(String::as_str)
            .filter(|name| named.is_none_or(|named| !named.contains(name)))
            .collect();
        if !more.is_empty() && index.weight_map.values().any(|value| value.as_str() == Some(file)) {
            let what = format!("{} is in {} too, where it says nothing of it", list(&more), quoted(file));
            found.push(Fault { what, fatal: false });
        }
    }
    found
}

fn quoted(name: &str) -> String {
    format!("`{}`", name.escape_debug())
}

fn list(names: &[&str]) -> String {
    let shown: Vec<String> = names.iter().take(SHOWN).map(|name| quoted(name)).collect();
    match names.len().saturating_sub(SHOWN) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shards(all: &[(&str, &[&str])]) -> BTreeMap<String, Result<BTreeSet<String>, String>> {
        all.iter()
            .map(|(file, names)| {
                ((*file).to_owned(), Ok(names.iter().map(|name| (*name).to_owned()).collect()))
            })
            .collect()
    }

    fn said(index: &str, all: &[(&str, &[&str])]) -> Vec<(String, bool)> {
        let shards = shards(all);
        let found = faults(index, &shards, &|name| shards.contains_key(name));
        found.into_iter().map(|fault| (fault.what, fault.fatal)).collect()
    }

    #[test]
    fn an_index_that_agrees_with_its_shards_is_clean() {
        let index = r#"{"metadata":{},"weight_map":{"a":"1","b":"2"}}"#;
        assert_eq!(said(index, &[("1", &["a"]), ("2", &["b"])]), []);
        // A file that the index does not speak of is another model's.
        assert_eq!(said(index, &[("1", &["a"]), ("2", &["b"]), ("3", &["a"])]), []);
    }

    #[test]
    fn tensors_in_the_wrong_shard_and_in_two_are_named() {
        let index = r#"{"weight_map":{"a":"1","b":"2","c":"../x"}}"#;
        let found = said(index, &[("1", &["a", "b"]), ("2", &[])]);
        assert_eq!(
            found,
            [
                ("it names `../x`, which the checkpoint does not have".to_owned(), true),
                ("`b` is not in `2`, where it says so".to_owned(), true),
                ("`b` is in `1` too, where it says nothing of it".to_owned(), false),
            ]
        );
    }

    #[test]
    fn texts_that_are_no_index_and_no_header_are_said_to_be_none() {
        for text in ["", "[]", "{\"weight_map\": 3}", "{\"weight_map\": {\"a\": 1}}"] {
            assert!(said(text, &[("1", &["a"])]).iter().all(|(_, fatal)| *fatal), "{text}");
        }
        assert!(tensors("{").is_err());
        assert_eq!(tensors(r#"{"__metadata__":{},"a":{}}"#), Ok(BTreeSet::from(["a".to_owned()])));
    }
}
