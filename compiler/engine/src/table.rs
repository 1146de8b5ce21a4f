//! Flag tables: what each known version of an engine accepts.
//!
//! One text file per engine in `compiler/engine/tables`, made by `make.py` there from descriptions
//! that were read statically from the released packages. A line is tab-separated and says from
//! which to which version it holds (`0.5.14..0.5.18`, `..` for all):
//!
//! ```text
//! flag   RANGE  --name,--alias  field  value|switch|toggle|list|any|optional|append|positional  type  key=value…
//! field  RANGE  Class  name  value|list  type  key=value…      one member of a JSON-valued flag's class
//! env    RANGE  NAME  key=value…
//! ```
//!
//! Files are parsed on first use and their slices borrowed from the text for ever.

mod read;

use std::collections::BTreeMap;
use std::sync::OnceLock;

use read::{flag, fold, mask, member, variable};

use crate::{Engine, Version};

/// How many words a flag takes and how they are kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// One value; the last wins.
    Value,
    /// No value; its presence says yes.
    Switch,
    /// No value, with a twin that says no (`--no-x`); the last wins.
    Toggle,
    /// One value or more.
    List,
    /// Any number of values.
    Any,
    /// One value or none.
    Optional,
    /// One value each time; all are kept in order.
    Append,
    /// Not a flag: a positional word.
    Positional,
}

/// What a value must be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Type {
    /// No value.
    Bool,
    /// Any text, or one of the choices.
    Text,
    /// A whole number.
    Integer,
    /// A whole number, with suffixes such as `8k`.
    HumanInteger,
    /// A decimal number.
    Number,
    /// JSON.
    Json,
    /// JSON, or text where it is none.
    JsonOrText,
    /// A JSON list.
    JsonList,
    /// Text, lower case, `-` as `_`.
    Lower,
    /// Something that the engine reads in a way of its own.
    Opaque,
}

/// One flag as some versions of an engine have it.
#[derive(Clone, Debug)]
pub struct Flag {
    /// Spellings, as registered, first to last.
    pub names: Vec<&'static str>,
    /// Spellings that say no.
    pub negations: Vec<&'static str>,
    /// The engine's field that it sets.
    pub field: &'static str,
    /// How many words it takes.
    pub kind: Kind,
    /// What its value must be.
    pub value: Type,
    /// The legal values, checked by the parser; empty for any.
    pub choices: Vec<&'static str>,
    /// The legal values as far as they are known, checked after parsing; plug-ins may add some.
    pub known: Vec<&'static str>,
    /// The class of a JSON value, such as `SpeculativeConfig`.
    pub class: Option<&'static str>,
    /// The members of a JSON value, where the class is not described further.
    pub members: Vec<&'static str>,
    /// The default as JSON, if it is a plain value.
    pub default: Option<&'static str>,
    /// Whether an empty value and `None` are read as none.
    pub optional: bool,
    /// Whether the engine refuses to start without it.
    pub required: bool,
    /// Whether the engine may rewrite an unset value by model and hardware.
    pub resolved: bool,
    /// Whether it is on its way out.
    pub deprecated: bool,
    /// Whether it is accepted and does nothing.
    pub ignored: bool,
    /// What the engine says to write in its place: a flag, or `--flag=value`.
    pub instead: Option<&'static str>,
    versions: u32,
}

/// One member of a JSON-valued flag.
#[derive(Clone, Debug)]
pub struct Member {
    /// Its name.
    pub name: &'static str,
    /// Whether it is a list.
    pub list: bool,
    /// What it must be.
    pub value: Type,
    /// The legal values; empty for any.
    pub choices: Vec<&'static str>,
    /// The legal values as far as they are known.
    pub known: Vec<&'static str>,
    /// Its own class, if it is an object.
    pub class: Option<&'static str>,
    versions: u32,
}

/// What some versions take for the value of an environment variable.
#[derive(Clone, Debug)]
pub struct VariableValue {
    /// What it must be.
    pub value: Type,
    /// The legal values; empty for any.
    pub choices: Vec<&'static str>,
    versions: u32,
}

/// How an engine version reads its command line.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Parser {
    /// Whether a unique beginning of a long flag stands for it.
    pub abbreviations: bool,
    /// Whether `_` in a flag is `-`.
    pub underscores: bool,
    /// Whether `--x.y v` sets a member of the JSON value of `--x`.
    pub dotted: bool,
}

/// Everything known of one engine.
#[derive(Debug)]
pub struct Book {
    /// The engine.
    pub engine: Engine,
    /// Its known versions, oldest first.
    pub versions: Vec<&'static str>,
    parsers: Vec<(u32, Parser)>,
    flags: Vec<Flag>,
    members: BTreeMap<&'static str, Vec<Member>>,
    variables: BTreeMap<&'static str, u32>,
    readings: BTreeMap<&'static str, Vec<VariableValue>>,
    renamed: Vec<(u32, &'static str, &'static str)>,
    indexes: Vec<OnceLock<Index>>,
    words: OnceLock<BTreeMap<&'static str, Vec<&'static str>>>,
}

/// Spellings of one version, sorted.
#[derive(Debug, Default)]
struct Index {
    spellings: Vec<(&'static str, usize, bool)>,
    /// The same with `_` as `-`, for parsers that take either.
    folded: Vec<(String, usize)>,
    full: BTreeMap<&'static str, &'static str>,
}

/// What one version of an engine accepts.
#[derive(Clone, Copy, Debug)]
pub struct Table {
    book: &'static Book,
    at: usize,
}

/// Returns everything known of an engine.
pub fn book(engine: Engine) -> &'static Book {
    static BOOKS: [OnceLock<Book>; 4] = [const { OnceLock::new() }; 4];
    let (slot, text) = match engine {
        Engine::Sglang => (0, include_str!("../tables/sglang.table")),
        Engine::Vllm => (1, include_str!("../tables/vllm.table")),
        Engine::Trtllm => (2, include_str!("../tables/trtllm.table")),
        Engine::Atom => (3, include_str!("../tables/atom.table")),
    };
    BOOKS[slot].get_or_init(|| Book::read(engine, text))
}

impl Book {
    fn read(engine: Engine, text: &'static str) -> Self {
        let mut book = Self {
            engine,
            versions: Vec::new(),
            parsers: Vec::new(),
            flags: Vec::new(),
            members: BTreeMap::new(),
            variables: BTreeMap::new(),
            readings: BTreeMap::new(),
            renamed: Vec::new(),
            indexes: Vec::new(),
            words: OnceLock::new(),
        };
        for line in text.lines() {
            let mut cells = line.split('\t');
            let (kind, range) = (cells.next().unwrap_or(""), cells.next().unwrap_or(""));
            if kind == "versions" {
                book.versions = range.split(' ').take(32).collect();
                continue;
            }
            let versions = mask(range, &book.versions);
            match kind {
                "parser" => {
                    let words = cells.next().unwrap_or("");
                    let has = |word| words.split(' ').any(|given| given == word);
                    book.parsers.push((
                        versions,
                        Parser {
                            abbreviations: has("abbreviations"),
                            underscores: has("underscores"),
                            dotted: has("dotted"),
                        },
                    ));
                }
                "flag" => book.flags.push(flag(versions, cells)),
                "field" => {
                    let class = cells.next().unwrap_or("");
                    book.members.entry(class).or_default().push(member(versions, cells));
                }
                "env" => {
                    let name = cells.next().unwrap_or("");
                    *book.variables.entry(name).or_default() |= versions;
                    if let Some(value) = variable(versions, cells) {
                        book.readings.entry(name).or_default().push(value);
                    }
                }
                "renamed" => {
                    book.renamed.push((versions, cells.next().unwrap_or(""), cells.next().unwrap_or("")));
                }
                _ => {}
            }
        }
        book.indexes = book.versions.iter().map(|_| OnceLock::new()).collect();
        book
    }

    /// Returns the table of a known version.
    #[must_use]
    pub fn exactly(&'static self, version: &str) -> Option<Table> {
        let version = Version::parse(version);
        self.versions
            .iter()
            .position(|known| {
                Version::parse(known) == version && !version.is_moving() || *known == version.as_str()
            })
            .map(|at| Table { book: self, at })
    }

    /// Returns the table nearest to a version: the same one, else one of the same minor release,
    /// else the newest that is older, else the oldest.
    #[must_use]
    pub fn nearest(&'static self, version: &str) -> Table {
        if let Some(table) = self.exactly(version) {
            return table;
        }
        let wanted = Version::parse(version);
        let minor = |version: &Version| version.numbers().iter().take(2).copied().collect::<Vec<_>>();
        let known: Vec<Version> = self.versions.iter().map(|known| Version::parse(known)).collect();
        let older = known.iter().rposition(|known| *known <= wanted);
        // 0.25.0 is nearer to 0.25.1 than to 0.23.0. SGLang counts patches, so there it changes nothing.
        let at = match older {
            Some(at) if wanted.is_moving() || known.get(at).map(minor) == Some(minor(&wanted)) => at,
            other => known
                .iter()
                .position(|known| !wanted.is_moving() && minor(known) == minor(&wanted) && *known > wanted)
                .or(other)
                .unwrap_or(0),
        };
        Table { book: self, at }
    }

    /// Returns the tables, oldest version first.
    pub fn tables(&'static self) -> impl DoubleEndedIterator<Item = Table> {
        (0..self.versions.len()).map(move |at| Table { book: self, at })
    }

    fn index(&self, at: usize) -> &Index {
        static EMPTY: Index = Index { spellings: Vec::new(), folded: Vec::new(), full: BTreeMap::new() };
        let Some(slot) = self.indexes.get(at) else { return &EMPTY };
        slot.get_or_init(|| {
            let mut index = Index::default();
            for (number, flag) in self.flags.iter().enumerate() {
                if flag.versions & 1 << at == 0 {
                    continue;
                }
                index.spellings.extend(flag.names.iter().map(|name| (*name, number, false)));
                index.spellings.extend(flag.negations.iter().map(|name| (*name, number, true)));
                let longest = flag
                    .names
                    .iter()
                    .fold("", |best, name| if name.len() > best.len() { name } else { best });
                // A field may be set by several flags: the one that stays names it.
                if !flag.deprecated || !index.full.contains_key(flag.field) {
                    index.full.insert(flag.field, longest);
                }
            }
            index.spellings.sort_unstable();
            let either =
                self.parsers.iter().any(|(versions, parser)| versions & 1 << at != 0 && parser.underscores);
            if either {
                let names = index.spellings.iter().enumerate();
                index.folded = names.map(|(place, (name, ..))| (fold(name), place)).collect();
                index.folded.sort_unstable();
            }
            index
        })
    }
}

impl Table {
    /// Returns the engine.
    #[must_use]
    pub fn engine(&self) -> Engine {
        self.book.engine
    }

    /// Returns the version that the table was made from.
    #[must_use]
    pub fn version(&self) -> &'static str {
        self.book.versions.get(self.at).copied().unwrap_or("")
    }

    /// Returns whether this version is among those from `from` to `to`; empty for no bound.
    #[must_use]
    pub fn is_within(&self, from: &str, to: &str) -> bool {
        // Bounds are mostly versions of the table, whose places tell their order.
        let bound = |text: &str| self.book.versions.iter().position(|known| *known == text);
        let mine = || Version::parse(self.version());
        let after = from.is_empty()
            || bound(from).map_or_else(|| mine() >= Version::parse(from), |place| self.at >= place);
        let before =
            to.is_empty() || bound(to).map_or_else(|| mine() <= Version::parse(to), |place| self.at <= place);
        after && before
    }

    /// Returns how this version reads its command line.
    #[must_use]
    pub fn parser(&self) -> Parser {
        self.book
            .parsers
            .iter()
            .find(|(versions, _)| versions & 1 << self.at != 0)
            .map_or_else(Parser::default, |(_, parser)| *parser)
    }

    /// Returns the flag of an exact spelling, and whether that spelling says no.
    #[must_use]
    pub fn flag(&self, spelling: &str) -> Option<(&'static Flag, bool)> {
        let spellings = &self.book.index(self.at).spellings;
        let at = spellings.binary_search_by(|(name, ..)| (*name).cmp(spelling)).ok()?;
        let (_, number, negated) = spellings.get(at)?;
        Some((self.book.flags.get(*number)?, *negated))
    }

    /// Returns the registered spelling that a written one stands for: itself, or one that differs
    /// in `_` and `-` alone where the parser takes either.
    #[must_use]
    pub fn registered(&self, written: &str) -> Option<&'static str> {
        let index = self.book.index(self.at);
        if let Ok(at) = index.spellings.binary_search_by(|(name, ..)| (*name).cmp(written)) {
            return index.spellings.get(at).map(|(name, ..)| *name);
        }
        let folded = fold(written);
        let at = index.folded.binary_search_by(|(name, _)| name.as_str().cmp(&folded)).ok()?;
        let (_, place) = index.folded.get(at)?;
        index.spellings.get(*place).map(|(name, ..)| *name)
    }

    /// Returns every spelling that begins with `prefix`, sorted; where the parser takes either, `_`
    /// and `-` are one.
    #[must_use]
    pub fn beginning_with(&self, prefix: &str) -> Vec<&'static str> {
        let index = self.book.index(self.at);
        if !index.folded.is_empty() {
            let prefix = fold(prefix);
            let from = index.folded.partition_point(|(name, _)| name.as_str() < prefix.as_str());
            let names = index.folded.iter().skip(from).take_while(|(name, _)| name.starts_with(&prefix));
            return names.filter_map(|(_, place)| Some(index.spellings.get(*place)?.0)).collect();
        }
        let spellings = &self.book.index(self.at).spellings;
        let from = spellings.partition_point(|(name, ..)| *name < prefix);
        spellings
            .iter()
            .skip(from)
            .map(|(name, ..)| *name)
            .take_while(|name| name.starts_with(prefix))
            .collect()
    }

    /// Returns every spelling of every flag, sorted.
    pub fn spellings(&self) -> impl Iterator<Item = &'static str> {
        self.book.index(self.at).spellings.iter().map(|(name, ..)| *name)
    }

    /// Returns every flag.
    pub fn flags(&self) -> impl Iterator<Item = &'static Flag> {
        let at = self.at;
        self.book.flags.iter().filter(move |flag| flag.versions & 1 << at != 0)
    }

    /// Returns the full spelling of a field: the longest of the flag that is to stay.
    #[must_use]
    pub fn full(&self, field: &str) -> Option<&'static str> {
        self.book.index(self.at).full.get(field).copied()
    }

    /// Returns the members of a class of a JSON-valued flag; `None` where it is not described.
    #[must_use]
    pub fn members(&self, class: &str) -> Option<Vec<&'static Member>> {
        let members: Vec<_> = self
            .book
            .members
            .get(class)?
            .iter()
            .filter(|member| member.versions & 1 << self.at != 0)
            .collect();
        (!members.is_empty()).then_some(members)
    }

    /// Returns whether this version reads an environment variable of that name.
    #[must_use]
    pub fn reads_variable(&self, name: &str) -> bool {
        self.book.variables.get(name).is_some_and(|versions| versions & 1 << self.at != 0)
    }

    /// Returns what this version takes for a variable's value, where that is known.
    #[must_use]
    pub fn variable_value(&self, name: &str) -> Option<&'static VariableValue> {
        self.book.readings.get(name)?.iter().find(|value| value.versions & 1 << self.at != 0)
    }

    /// Returns the versions that read a variable.
    #[must_use]
    pub fn versions_with_variable(&self, name: &str) -> Vec<&'static str> {
        let versions = self.book.variables.get(name).copied().unwrap_or(0);
        self.book
            .versions
            .iter()
            .enumerate()
            .filter(|(at, _)| versions & 1 << at != 0)
            .map(|(_, v)| *v)
            .collect()
    }

    /// Returns every variable that this version reads.
    pub fn variables(&self) -> impl Iterator<Item = &'static str> {
        let at = self.at;
        self.book
            .variables
            .iter()
            .filter(move |(_, versions)| *versions & 1 << at != 0)
            .map(|(name, _)| *name)
    }

    /// Returns the variables of this version that have a word between their underscores.
    pub fn variables_with_word(&self, word: &str) -> impl Iterator<Item = &'static str> {
        let book = self.book;
        let words = book.words.get_or_init(|| {
            let mut words: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
            for name in book.variables.keys() {
                name.split('_').for_each(|word| words.entry(word).or_default().push(name));
            }
            words
        });
        let table = *self;
        words.get(word).into_iter().flatten().copied().filter(move |name| table.reads_variable(name))
    }

    /// Returns the new name of a renamed variable; `old` may still be read.
    #[must_use]
    pub fn renamed_variable(&self, old: &str) -> Option<&'static str> {
        self.book.renamed.iter().find(|(_, name, _)| *name == old).map(|(_, _, new)| *new)
    }

    /// Returns the other versions that have a flag of that spelling.
    #[must_use]
    pub fn versions_with(&self, spelling: &str) -> Vec<&'static str> {
        self.book
            .tables()
            .filter(|table| table.flag(spelling).is_some())
            .map(|table| table.version())
            .collect()
    }

    /// Returns the same engine's tables, oldest first.
    pub fn siblings(&self) -> impl DoubleEndedIterator<Item = Self> {
        self.book.tables()
    }
}

#[cfg(test)]
mod tests {
    use super::book;
    use crate::Engine;

    #[test]
    fn every_version_has_its_own_flags() {
        let sglang = book(Engine::Sglang);
        let old = sglang.exactly("0.5.8.post1").expect("in the table");
        let new = sglang.exactly("v0.5.23").expect("in the table");
        assert!(old.flag("--cuda-graph-max-bs").is_some() && new.flag("--cuda-graph-max-bs").is_none());
        assert_eq!(new.full("tp_size"), Some("--tensor-parallel-size"));
        assert_eq!(
            sglang.exactly("0.5.14").and_then(|table| table.full("cuda_graph_max_bs_decode")),
            Some("--cuda-graph-max-bs-decode")
        );
    }

    #[test]
    fn a_version_between_tables_takes_the_nearest() {
        assert_eq!(book(Engine::Vllm).nearest("0.25.0").version(), "0.25.1");
        assert_eq!(book(Engine::Vllm).nearest("0.30.0").version(), "0.27.1");
        assert_eq!(book(Engine::Vllm).nearest("nightly").version(), "0.33.0");
        assert_eq!(book(Engine::Sglang).nearest("0.5.20").version(), "0.5.18");
        assert_eq!(book(Engine::Sglang).nearest("0.5.8").version(), "0.5.8.post1");
        assert_eq!(book(Engine::Trtllm).nearest("1.3.0rc18").version(), "main@029e223d");
    }
}
