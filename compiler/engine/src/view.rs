//! A launch as rules look at it: settings by flag, with the place where each was given.

use std::cell::RefCell;
use std::collections::BTreeMap;

use serde_json::Value as Json;

use crate::finding::{About, Skipped};
use crate::launch::Launch;
use crate::reading::{Given, Reading, read};
use crate::table::{Kind, Table};
use crate::value::Value;

/// A launch, read.
#[derive(Debug)]
pub(crate) struct View<'l> {
    /// The launch itself.
    pub(crate) launch: &'l Launch,
    /// The table it is judged by.
    pub(crate) table: Table,
    /// Its arguments as the engine's parser reads them.
    pub(crate) reading: Reading,
    /// For each word, the argument that it belongs to.
    owners: Vec<usize>,
    /// For each field of the engine, the last that set it.
    settings: BTreeMap<&'static str, usize>,
    pub(crate) skipped: RefCell<Vec<Skipped>>,
}

/// A setting that was given: its value and where.
#[derive(Clone, Debug)]
pub(crate) struct Set<'v> {
    /// The flag as given.
    pub(crate) given: &'v Given,
    /// The value's text.
    pub(crate) text: String,
    /// The name.
    pub(crate) name: About,
    /// The value; the name for a flag without one.
    pub(crate) value: About,
}

impl<'l> View<'l> {
    /// Reads a launch.
    #[must_use]
    pub(crate) fn new(launch: &'l Launch) -> Self {
        let table = launch.chosen.table;
        let mut words = Vec::new();
        let mut owners = Vec::new();
        for (owner, argument) in launch.arguments.iter().enumerate() {
            words.extend(argument.words.iter().cloned());
            owners.extend(argument.words.iter().map(|_| owner));
        }
        let reading = read(&table, &words);
        let mut settings = BTreeMap::new();
        for (at, given) in reading.given.iter().enumerate() {
            if let Some(flag) = given.flag
                && !flag.ignored
            {
                settings.insert(flag.field, at);
            }
        }
        Self { launch, table, reading, owners, settings, skipped: RefCell::default() }
    }

    /// Returns the argument that a word belongs to.
    #[must_use]
    pub(crate) fn owner(&self, word: usize) -> usize {
        self.owners.get(word).or(self.owners.last()).copied().unwrap_or(0)
    }

    /// Returns where the name of a given flag is.
    #[must_use]
    pub(crate) fn name_of(&self, given: &Given) -> About {
        About::Name(self.owner(given.at))
    }

    /// Returns where the value of a given flag is, and a path inside it.
    #[must_use]
    pub(crate) fn value_of(&self, given: &Given, path: &[String]) -> About {
        if let Some(dotted) = given.dotted.iter().find(|member| path.starts_with(&member.path)) {
            let inside = path.get(dotted.path.len()..).unwrap_or_default().to_vec();
            return About::Value(self.owner(dotted.at), inside);
        }
        let owner = self.owner(given.at);
        // A command line of single words has the value one word further.
        let alone = self.launch.arguments.get(owner).is_some_and(|argument| argument.words.len() == 1);
        let inline = self
            .launch
            .arguments
            .get(owner)
            .and_then(|argument| argument.words.first())
            .is_some_and(|word| word.contains('='));
        let place =
            if alone && !inline && !given.values.is_empty() { self.owner(given.at + 1) } else { owner };
        About::Value(place, path.to_vec())
    }

    /// Returns a setting by any of its flags' spellings in any version: `--tp-size`.
    #[must_use]
    pub(crate) fn set(&self, spelling: &str) -> Option<Set<'_>> {
        let (flag, _) = self.table.flag(spelling)?;
        let given = self.reading.given.get(*self.settings.get(flag.field)?)?;
        let text =
            match given.flag.map(|flag| (flag.kind, flag.instead.and_then(|text| text.split_once('=')))) {
                Some((Kind::Switch, Some((_, constant)))) => constant.to_owned(),
                Some((Kind::Toggle, _)) => (!given.negated).to_string(),
                Some((Kind::Switch, _)) => "true".to_owned(),
                _ => given.values.join(" "),
            };
        let value = if given.values.is_empty() { self.name_of(given) } else { self.value_of(given, &[]) };
        Some(Set { given, text, name: self.name_of(given), value })
    }

    /// Returns a setting if it has that text.
    #[must_use]
    pub(crate) fn is(&self, spelling: &str, text: &str) -> Option<Set<'_>> {
        self.set(spelling).filter(|set| set.text == text)
    }

    /// Returns a setting if its text is one of these.
    #[must_use]
    pub(crate) fn one_of(&self, spelling: &str, texts: &[&str]) -> Option<Set<'_>> {
        self.set(spelling).filter(|set| texts.contains(&set.text.as_str()))
    }

    /// Returns a switch or toggle that is on.
    #[must_use]
    pub(crate) fn on(&self, spelling: &str) -> Option<Set<'_>> {
        self.is(spelling, "true")
    }

    /// Returns a whole number that was given.
    #[must_use]
    pub(crate) fn given_number(&self, spelling: &str) -> Option<(i64, Set<'_>)> {
        let set = self.set(spelling)?;
        let kind = set.given.flag.map_or(crate::Type::Integer, |flag| flag.value);
        match Value::read(&set.text, kind) {
            Value::Number(number) => Some((number.as_i64()?, set)),
            _ => Some((crate::value::integer(&set.text)?.try_into().ok()?, set)),
        }
    }

    /// Returns a whole number: as given, else the default of the version, else `otherwise`.
    #[must_use]
    pub(crate) fn number(&self, spelling: &str, otherwise: i64) -> i64 {
        self.given_number(spelling).map(|(number, _)| number).unwrap_or_else(|| {
            let default = self.table.flag(spelling).and_then(|(flag, _)| flag.default);
            default.and_then(|text| text.parse().ok()).unwrap_or(otherwise)
        })
    }

    /// Returns a JSON value that was given, with its setting.
    #[must_use]
    pub(crate) fn json(&self, spelling: &str) -> Option<(Json, Set<'_>)> {
        let set = self.set(spelling)?;
        let json = serde_json::from_str(&set.text).ok()?;
        Some((json, set))
    }

    /// Returns a variable's value.
    #[must_use]
    pub(crate) fn variable(&self, name: &str) -> Option<&str> {
        self.launch.environment.get(name).map(String::as_str)
    }

    /// Returns a variable's value if it switches something on.
    #[must_use]
    pub(crate) fn variable_on(&self, name: &str) -> bool {
        self.variable(name)
            .is_some_and(|value| matches!(value.to_lowercase().as_str(), "1" | "true" | "yes" | "on"))
    }

    /// Returns a fact, or records that the rule is skipped for want of it.
    pub(crate) fn need<T>(&self, slug: diag::Slug, fact: Option<T>, needs: &str) -> Option<T> {
        if fact.is_none() {
            let skipped = Skipped { slug: slug.as_str().to_owned(), needs: needs.to_owned() };
            let mut all = self.skipped.borrow_mut();
            if !all.contains(&skipped) {
                all.push(skipped);
            }
        }
        fact
    }

    /// Returns the architecture of the target, or records that the rule is skipped.
    pub(crate) fn architecture(&self, slug: diag::Slug) -> Option<&'l str> {
        let known = self.launch.hardware.as_ref().map(|hardware| hardware.architecture.as_str());
        self.need(slug, known.filter(|name| !name.is_empty()), "the target's architecture")
    }
}
