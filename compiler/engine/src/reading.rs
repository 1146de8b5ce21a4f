//! Reads a command line as the engine's own parser would.
//!
//! The rules are argparse's (exact spelling, `--flag=value`, unique beginnings, negative numbers
//! are values, the arity decides how many words belong to a flag), vLLM's on top of them
//! (underscores, dotted members gathered into one JSON value that comes last, `-O3`, `--model` as
//! the positional), and Click's for `trtllm-serve` (exact names).

use serde_json::{Map, Value as Json};

use crate::Engine;
use crate::table::{Flag, Kind, Table};

/// A command line, word by word understood.
#[derive(Clone, Default, Debug)]
pub struct Reading {
    /// Flags in the order in which they take effect.
    pub given: Vec<Given>,
    /// Words that belong to no flag: where they stand, and what they are.
    pub positionals: Vec<(usize, String)>,
    /// What the engine's parser would stop at.
    pub mistakes: Vec<Mistake>,
}

/// One flag as given.
#[derive(Clone, Debug)]
pub struct Given {
    /// Where it stands among the words.
    pub at: usize,
    /// The spelling as written, without a value.
    pub written: String,
    /// The registered spelling that it stands for; as written where there is none.
    pub spelling: String,
    /// The flag; `None` if this version has none of that name.
    pub flag: Option<&'static Flag>,
    /// Whether the spelling says no.
    pub negated: bool,
    /// Whether it was written as a unique beginning.
    pub abbreviated: bool,
    /// Its values.
    pub values: Vec<String>,
    /// For a value gathered from dotted members: each member's path, its text and where it stands.
    pub dotted: Vec<Dotted>,
}

/// One member of a JSON value set by a dotted flag.
#[derive(Clone, Debug)]
pub struct Dotted {
    /// Where it stands among the words.
    pub at: usize,
    /// The spelling as written.
    pub written: String,
    /// The path inside the value.
    pub path: Vec<String>,
    /// The text as written; `None` where the command line ended before it.
    pub text: Option<String>,
}

/// What the engine's parser would stop at.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Mistake {
    /// A flag that the version does not have.
    Unknown {
        /// Where it stands.
        at: usize,
        /// As written.
        written: String,
    },
    /// A beginning that stands for several flags.
    Ambiguous {
        /// Where it stands.
        at: usize,
        /// As written.
        written: String,
        /// What it could be.
        candidates: Vec<String>,
    },
    /// A flag without the value that it needs.
    Missing {
        /// Where it stands.
        at: usize,
        /// As written.
        written: String,
    },
    /// A value for a flag that takes none (`--trust-remote-code=true`).
    Extra {
        /// Where it stands.
        at: usize,
        /// As written.
        written: String,
        /// The value.
        value: String,
    },
    /// A word that belongs to nothing.
    Stray {
        /// Where it stands.
        at: usize,
        /// The word.
        word: String,
    },
}

/// Words beyond this many are not read: no real command line comes near.
const MOST_WORDS: usize = 4096;
/// Dotted members nested deeper than this stay text.
const DEEPEST: usize = 16;

/// Reads the engine's own words (without program and wrappers).
#[must_use]
pub fn read(table: &Table, words: &[String]) -> Reading {
    let words: Vec<(usize, String)> = words.iter().take(MOST_WORDS).cloned().enumerate().collect();
    match table.engine() {
        Engine::Trtllm => Reader { table, reading: Reading::default() }.click(&words),
        Engine::Vllm => {
            let (words, dotted) = vllm(table, words);
            let mut reading = Reader { table, reading: Reading::default() }.argparse(&words);
            gather(table, &mut reading, dotted);
            reading
        }
        Engine::Sglang | Engine::Atom => {
            let words = if table.parser().underscores { dashes(words) } else { words };
            Reader { table, reading: Reading::default() }.argparse(&words)
        }
    }
}

/// Writes flags with dashes, as parsers do that take `_` for `-`.
fn dashes(words: Vec<(usize, String)>) -> Vec<(usize, String)> {
    words
        .into_iter()
        .map(|(at, word)| if word.starts_with("--") { (at, dashed(&word)) } else { (at, word) })
        .collect()
}

/// Puts dashes in a flag's name: up to the first dot or `=`.
fn dashed(word: &str) -> String {
    let end = word.find(['.', '=']).unwrap_or(word.len());
    let (name, rest) = word.split_at(end);
    format!("{}{rest}", name.replace('_', "-"))
}

/// What vLLM's parser does before argparse sees the words.
fn vllm(table: &Table, words: Vec<(usize, String)>) -> (Vec<(usize, String)>, Vec<Dotted>) {
    // `--model X` moves to the front as the positional word.
    let mut words = words;
    if let Some(place) = words.iter().position(|(_, word)| word == "--model" || word.starts_with("--model="))
    {
        let (at, word) = words.remove(place);
        let model = match word.strip_prefix("--model=") {
            Some(model) => Some((at, model.to_owned())),
            None if place < words.len() => Some(words.remove(place)),
            None => None,
        };
        words.insert(0, model.unwrap_or((at, word)));
    }
    let words = dashes(words);
    let mut plain: Vec<(usize, String)> = Vec::with_capacity(words.len());
    let mut dotted = Vec::new();
    let mut rest = words.into_iter().peekable();
    while let Some((at, word)) = rest.next() {
        let name = word.split('=').next().unwrap_or("");
        if word.len() > 2 && word.starts_with("-O") && !word.starts_with("-O.") {
            let level = word.strip_prefix("-O=").unwrap_or(word.get(2..).unwrap_or(""));
            plain.push((at, "--optimization-level".to_owned()));
            plain.push((at, level.to_owned()));
        } else if word == "-O"
            && rest.peek().is_some_and(|(_, next)| ["0", "1", "2", "3"].contains(&next.as_str()))
        {
            plain.push((at, "--optimization-level".to_owned()));
        } else if word.starts_with('-') && name.contains('.') && !is_negative_number(&word) {
            let text = match word.split_once('=') {
                Some((_, text)) => Some(text.to_owned()),
                None => rest.next().map(|(_, text)| text),
            };
            let mut parts = name.split('.');
            let written = parts.next().unwrap_or("").to_owned();
            let path = parts.map(str::to_owned).collect();
            dotted.push(Dotted { at, written, path, text });
        } else {
            plain.push((at, word));
        }
    }
    let _ = table;
    (plain, dotted)
}

/// Adds the values gathered from dotted members; the parser puts them after everything else.
fn gather(table: &Table, reading: &mut Reading, dotted: Vec<Dotted>) {
    let mut order: Vec<String> = Vec::new();
    for member in &dotted {
        if !order.contains(&member.written) {
            order.push(member.written.clone());
        }
    }
    for written in order {
        let members: Vec<Dotted> =
            dotted.iter().filter(|member| member.written == written).cloned().collect();
        let mut value = Json::Object(Map::new());
        for member in &members {
            let Some(text) = &member.text else {
                reading.mistakes.push(Mistake::Missing {
                    at: member.at,
                    written: format!("{written}.{}", member.path.join(".")),
                });
                continue;
            };
            set(&mut value, &member.path, text);
        }
        let at = members.first().map_or(0, |member| member.at);
        // `-O.mode` is an old short form of `--compilation-config.mode`.
        let name = if written == "-O" { "--compilation-config".to_owned() } else { written.clone() };
        let mut reader = Reader { table, reading: std::mem::take(reading) };
        if let Some((spelling, flag, negated, abbreviated)) = reader.resolve(at, &name) {
            reader.reading.given.push(Given {
                at,
                written,
                spelling,
                flag: Some(flag),
                negated,
                abbreviated,
                values: vec![value.to_string()],
                dotted: members,
            });
        }
        *reading = reader.reading;
    }
}

/// Sets a dotted member: `+` at the end makes a list, JSON is read as JSON, anything else is text.
fn set(value: &mut Json, path: &[String], text: &str) {
    let mut place = value;
    for (depth, key) in path.iter().take(DEEPEST).enumerate() {
        let last = depth + 1 == path.len().min(DEEPEST);
        let append = last && key.ends_with('+');
        let key = if append { key.trim_end_matches('+') } else { key };
        if !place.is_object() {
            *place = Json::Object(Map::new());
        }
        let Some(map) = place.as_object_mut() else { return };
        let slot = map.entry(key.to_owned()).or_insert(Json::Null);
        if last {
            let read = || serde_json::from_str(text).unwrap_or_else(|_| Json::String(text.to_owned()));
            let new = if append {
                Json::Array(text.split(',').map(|item| Json::String(item.to_owned())).collect())
            } else {
                read()
            };
            match (slot.as_array_mut(), append) {
                (Some(list), true) => list.extend(new.as_array().cloned().unwrap_or_default()),
                _ => *slot = new,
            }
            return;
        }
        place = slot;
    }
}

struct Reader<'t> {
    table: &'t Table,
    reading: Reading,
}

/// What a flag's name leads to: the registered spelling, the flag, whether it says no, whether it
/// was abbreviated.
type Found = (String, &'static Flag, bool, bool);

impl Reader<'_> {
    /// Finds the flag of a written name; records the mistake where there is none or more than one.
    fn resolve(&mut self, at: usize, name: &str) -> Option<Found> {
        // ATOM registers some names with `_` and takes either; vLLM's words have dashes by now.
        if let Some(registered) = self.table.registered(name) {
            let (flag, negated) = self.table.flag(registered)?;
            return Some((registered.to_owned(), flag, negated, false));
        }
        let candidates = if self.table.parser().abbreviations && name.len() > 1 {
            self.table.beginning_with(name)
        } else {
            Vec::new()
        };
        match candidates.as_slice() {
            [only] => {
                let (flag, negated) = self.table.flag(only)?;
                Some(((*only).to_owned(), flag, negated, true))
            }
            [] => {
                self.reading.mistakes.push(Mistake::Unknown { at, written: name.to_owned() });
                None
            }
            several => {
                self.reading.mistakes.push(Mistake::Ambiguous {
                    at,
                    written: name.to_owned(),
                    candidates: several.iter().map(|name| (*name).to_owned()).collect(),
                });
                None
            }
        }
    }

    fn argparse(mut self, words: &[(usize, String)]) -> Reading {
        let mut next = 0;
        let mut only_words = false;
        while let Some((at, word)) = words.get(next) {
            next += 1;
            if only_words || !self.is_flag(word) {
                self.reading.positionals.push((*at, word.clone()));
                continue;
            }
            if word == "--" {
                only_words = true;
                // Before nothing it is a word of its own, and belongs to nothing.
                if next == words.len() {
                    self.reading.mistakes.push(Mistake::Stray { at: *at, word: word.clone() });
                }
                continue;
            }
            // A spelling may hold `=` only if it is registered so; none is.
            let (name, inline) = match word.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (word.as_str(), None),
            };
            let found = self.resolve(*at, name);
            let follow =
                words.iter().skip(next).take_while(|(_, word)| word != "--" && !self.is_flag(word)).count();
            let Some((spelling, flag, negated, abbreviated)) = found else {
                // The words after an unknown flag most likely belong to it.
                let take = if inline.is_some() { 0 } else { follow.min(1) };
                let mut values: Vec<String> = inline.into_iter().collect();
                values.extend(words.iter().skip(next).take(take).map(|(_, word)| word.clone()));
                next += take;
                self.reading.given.push(Given {
                    at: *at,
                    written: name.to_owned(),
                    spelling: name.to_owned(),
                    flag: None,
                    negated: false,
                    abbreviated: false,
                    values,
                    dotted: Vec::new(),
                });
                continue;
            };
            let takes_none = matches!(flag.kind, Kind::Switch | Kind::Toggle);
            let mut values = Vec::new();
            match inline {
                Some(value) if takes_none => {
                    self.reading.mistakes.push(Mistake::Extra { at: *at, written: name.to_owned(), value });
                }
                Some(value) => values.push(value),
                None => {
                    let take = match flag.kind {
                        Kind::Switch | Kind::Toggle => 0,
                        Kind::Value | Kind::Append | Kind::Optional | Kind::Positional => follow.min(1),
                        Kind::List | Kind::Any => follow,
                    };
                    values.extend(words.iter().skip(next).take(take).map(|(_, word)| word.clone()));
                    next += take;
                    let needs = matches!(flag.kind, Kind::Value | Kind::Append | Kind::List);
                    if needs && values.is_empty() {
                        self.reading.mistakes.push(Mistake::Missing { at: *at, written: name.to_owned() });
                    }
                }
            }
            self.reading.given.push(Given {
                at: *at,
                written: name.to_owned(),
                spelling,
                flag: Some(flag),
                negated,
                abbreviated,
                values,
                dotted: Vec::new(),
            });
        }
        self.strays();
        self.reading
    }

    /// Returns whether argparse takes a word for a flag.
    fn is_flag(&self, word: &str) -> bool {
        if !word.starts_with('-') || word == "-" {
            return false;
        }
        let name = word.split('=').next().unwrap_or(word);
        if self.table.registered(name).is_some() {
            return true;
        }
        !is_negative_number(word)
            && (!word.contains(' ')
                || word.split_once('=').is_some_and(|(name, _)| {
                    !name.contains(' ') && !self.table.beginning_with(name).is_empty()
                }))
    }

    fn click(mut self, words: &[(usize, String)]) -> Reading {
        let mut rest = words.iter();
        while let Some((at, word)) = rest.next() {
            if !word.starts_with('-') || word.len() == 1 {
                self.reading.positionals.push((*at, word.clone()));
                continue;
            }
            if word == "--" {
                self.reading.positionals.extend(rest.by_ref().cloned());
                break;
            }
            let (name, inline) = match word.split_once('=') {
                Some((name, value)) if word.starts_with("--") => (name, Some(value.to_owned())),
                _ => (word.as_str(), None),
            };
            let found = self.resolve(*at, name);
            let takes_none = found.as_ref().is_some_and(|(_, flag, ..)| flag.kind == Kind::Switch);
            let mut values: Vec<String> = Vec::new();
            match inline {
                Some(value) if takes_none => {
                    self.reading.mistakes.push(Mistake::Extra { at: *at, written: name.to_owned(), value });
                }
                Some(value) => values.push(value),
                None if takes_none => {}
                // Click takes the next word whatever it looks like.
                None if found.is_some() => match rest.next() {
                    Some((_, value)) => values.push(value.clone()),
                    None => {
                        self.reading.mistakes.push(Mistake::Missing { at: *at, written: name.to_owned() });
                    }
                },
                None => {
                    if rest.as_slice().first().is_some_and(|(_, next)| !next.starts_with('-')) {
                        values.extend(rest.next().map(|(_, value)| value.clone()));
                    }
                }
            }
            let (spelling, flag, negated, abbreviated) = match found {
                Some((spelling, flag, negated, abbreviated)) => (spelling, Some(flag), negated, abbreviated),
                None => (name.to_owned(), None, false, false),
            };
            self.reading.given.push(Given {
                at: *at,
                written: name.to_owned(),
                spelling,
                flag,
                negated,
                abbreviated,
                values,
                dotted: Vec::new(),
            });
        }
        self.strays();
        self.reading
    }

    /// Records the words beyond the positionals that the engine takes.
    fn strays(&mut self) {
        let takes = match self.table.engine() {
            Engine::Vllm | Engine::Trtllm => 1,
            Engine::Sglang | Engine::Atom => 0,
        };
        let strays: Vec<_> = self.reading.positionals.iter().skip(takes).cloned().collect();
        self.reading.mistakes.extend(strays.into_iter().map(|(at, word)| Mistake::Stray { at, word }));
    }
}

/// Returns whether a word is a number below zero, which argparse takes for a value.
fn is_negative_number(word: &str) -> bool {
    let Some(digits) = word.strip_prefix('-') else { return false };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let all = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    !digits.is_empty() && all(whole) && all(fraction) && (!digits.contains('.') || !fraction.is_empty())
}

#[cfg(test)]
mod tests {
    use super::{Mistake, read};
    use crate::{Engine, table::book};

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn a_unique_beginning_stands_for_its_flag() {
        let table = book(Engine::Sglang).nearest("0.5.16");
        let reading = read(&table, &words("--model-path m --tp 4 --trust-remote-code"));
        assert!(reading.mistakes.is_empty(), "{:?}", reading.mistakes);
        assert!(reading.given[1].abbreviated);
        assert_eq!(reading.given[1].spelling, "--tp-size");
    }

    #[test]
    fn a_beginning_of_several_flags_is_ambiguous() {
        let table = book(Engine::Sglang).nearest("0.5.16");
        let reading = read(&table, &words("--speculative-num 3"));
        assert!(matches!(&reading.mistakes[..], [Mistake::Ambiguous { .. }]), "{:?}", reading.mistakes);
    }

    #[test]
    fn vllm_gathers_dotted_members_and_takes_underscores() {
        let table = book(Engine::Vllm).nearest("0.27.1");
        let reading = read(
            &table,
            &words(
                "m --speculative_config.method mtp --speculative-config.num_speculative_tokens 5 -O3 -cc.mode none --max_num_seqs=32",
            ),
        );
        assert!(reading.mistakes.is_empty(), "{:?}", reading.mistakes);
        let value = reading
            .given
            .iter()
            .find(|given| given.spelling == "--speculative-config")
            .map(|given| given.values[0].clone());
        assert_eq!(value.as_deref(), Some(r#"{"method":"mtp","num_speculative_tokens":5}"#));
        assert!(reading.given.iter().any(|given| given.spelling == "-cc"));
    }

    #[test]
    fn negative_numbers_are_values() {
        let table = book(Engine::Sglang).nearest("0.5.16");
        assert!(read(&table, &words("--model-path m --chunked-prefill-size -1")).mistakes.is_empty());
    }
}
