//! The draft of a recipe: what a contributor knows before a manifest is written, and its text.
//!
//! A draft that has a sibling takes from it all that it does not say itself, by import and not by
//! copy: what two recipes share stays written once.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::matrix;
use crate::recipe::Recipe;
use crate::search::{Entry, Scenario, Workload};

/// What is known of a recipe that is not written yet.
#[derive(Clone, Debug, Default)]
pub struct Draft {
    /// The config key.
    pub key: String,
    /// The engine.
    pub engine: Option<String>,
    /// The image.
    pub image: Option<String>,
    /// The checkpoint's repository.
    pub repository: Option<String>,
    /// Upstream's name of the family.
    pub prefix: Option<String>,
    /// Upstream's name of the precision.
    pub precision: Option<String>,
    /// Targets by name or label; the sibling's without any.
    pub targets: Vec<String>,
    /// What upstream calls its speculation, if it drafts.
    pub speculation: Option<String>,
    /// What is measured; as the sibling without any.
    pub scenarios: Vec<Scenario>,
}

/// A field with its value as an expression, or fields of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Change {
    /// An expression of the language.
    Value(String),
    /// Fields that change below this one.
    Fields(BTreeMap<String, Change>),
}

impl Draft {
    /// Returns what a recipe would be drafted by.
    #[must_use]
    pub fn of(recipe: &Recipe) -> Self {
        let text = |text: &str| Some(text.to_owned());
        Self {
            key: recipe.key.value.clone(),
            engine: text(&recipe.engine.value),
            image: text(&recipe.image.value),
            repository: text(&recipe.model.repository.value),
            prefix: text(&recipe.model.prefix.value),
            precision: text(&recipe.model.precision.value),
            targets: recipe.targets.iter().map(|target| target.value.clone()).collect(),
            speculation: text(matrix::speculation(recipe)).filter(|label| label != "none"),
            scenarios: recipe.scenarios.clone(),
        }
    }
}

/// Returns the recipe that a draft shares most with: the same engine always, then the kind of
/// workload, the family, the precision, whether it drafts, and where it runs.
#[must_use]
pub fn nearest<'r>(draft: &Draft, recipes: &'r [Recipe]) -> Option<&'r Recipe> {
    let agentic = |scenarios: &[Scenario]| {
        scenarios.first().map(|one| matches!(one.workload, Workload::Agentic { .. }))
    };
    let score = |recipe: &Recipe| {
        let same = |ours: &Option<String>, theirs: &str| ours.as_deref() == Some(theirs);
        let drafts = matrix::speculation(recipe) != "none";
        [
            (same(&draft.repository, &recipe.model.repository.value), 16),
            (agentic(&draft.scenarios) == agentic(&recipe.scenarios), 8),
            (same(&draft.prefix, &recipe.model.prefix.value), 8),
            (drafts == draft.speculation.is_some(), 4),
            (same(&draft.precision, &recipe.model.precision.value), 2),
            (draft.targets.first().is_some_and(|target| target == recipe.runner()), 2),
            (same(&draft.image, &recipe.image.value), 1),
        ]
        .iter()
        .map(|(holds, weight)| if *holds { *weight } else { 0 })
        .sum::<u32>()
    };
    let of_engine = recipes.iter().filter(|recipe| {
        recipe.key.value != draft.key && draft.engine.as_deref() == Some(recipe.engine.value.as_str())
    });
    // The first of the best, so that the answer does not depend on what is not asked.
    of_engine.rev().max_by_key(|recipe| score(recipe))
}

/// Returns what a draft changes of its sibling, or all that it says where it has none.
#[must_use]
pub fn changes(draft: &Draft, sibling: Option<&Recipe>) -> BTreeMap<String, Change> {
    let mut all = BTreeMap::new();
    let mut put = |name: &str, ours: &Option<String>, theirs: Option<&str>| {
        if let Some(ours) = ours.as_deref().filter(|ours| Some(*ours) != theirs) {
            all.insert(name.to_owned(), Change::Value(string(ours)));
        }
    };
    put("engine", &draft.engine, sibling.map(|one| one.engine.value.as_str()));
    put("image", &draft.image, sibling.map(|one| one.image.value.as_str()));
    let mut model = BTreeMap::new();
    let theirs = sibling.map(|one| &one.model);
    let other = draft.repository.is_some()
        && draft.repository.as_deref() != theirs.map(|one| one.repository.value.as_str());
    for (name, ours, theirs) in [
        ("repository", &draft.repository, theirs.map(|one| one.repository.value.as_str())),
        ("prefix", &draft.prefix, theirs.map(|one| one.prefix.value.as_str())),
        ("precision", &draft.precision, theirs.map(|one| one.precision.value.as_str())),
    ] {
        if let Some(ours) = ours.as_deref().filter(|ours| other || Some(*ours) != theirs) {
            model.insert(name.to_owned(), Change::Value(string(ours)));
        }
    }
    if other {
        // Nothing that is known of one checkpoint holds of another.
        let fields = model.iter().map(|(name, value)| format!("{name} = {};", value.text("")));
        let text = format!("{{ {} }}", fields.collect::<Vec<_>>().join(" "));
        all.insert("model".to_owned(), Change::Value(text));
    } else if !model.is_empty() {
        all.insert("model".to_owned(), Change::Fields(model));
    }
    let targets: Vec<&str> = sibling
        .map(|one| one.targets.iter().map(|target| target.value.as_str()).collect())
        .unwrap_or_default();
    if !draft.targets.is_empty() && draft.targets != targets {
        let list: Vec<String> = draft.targets.iter().map(|target| string(target)).collect();
        all.insert("targets".to_owned(), Change::Value(format!("[ {} ]", list.join(" "))));
    }
    let text = scenarios(&draft.scenarios);
    if !draft.scenarios.is_empty() && sibling.is_none_or(|one| scenarios(&one.scenarios) != text) {
        all.insert("scenarios".to_owned(), Change::Value(text));
    }
    let theirs = sibling.map_or("none", matrix::speculation);
    match draft.speculation.as_deref() {
        // A draft that measures nothing new says nothing of drafting either.
        None if theirs != "none" && !draft.scenarios.is_empty() => {
            all.insert("speculative".to_owned(), Change::Value("null".to_owned()));
        }
        Some(label) if label != theirs => {
            let label = if label == "mtp" { String::new() } else { format!(" label = {};", string(label)) };
            all.insert("speculative".to_owned(), Change::Value(format!("{{{label} }}")));
        }
        _ => {}
    }
    all
}

/// Writes a manifest of one recipe. `sibling` is the recipe that it starts from and how its file is
/// imported; `about` stands at the top.
#[must_use]
pub fn text(
    key: &str,
    about: &[String],
    sibling: Option<(&str, &str)>,
    changes: &BTreeMap<String, Change>,
) -> String {
    let mut text = String::new();
    for line in about {
        let _ = writeln!(text, "# {}", line.replace(['\n', '\r'], " "));
    }
    let body = Change::Fields(changes.clone());
    match sibling {
        Some((sibling, path)) => {
            let _ = writeln!(text, "let\n  sibling = (import {path}).{};\nin", string(sibling));
            let _ = writeln!(text, "{{\n  {} = {};\n}}", string(key), body.text("sibling"));
        }
        None => {
            let _ = writeln!(text, "{{\n  {} = {};\n}}", string(key), body.text(""));
        }
    }
    text
}

impl Change {
    /// Returns the change as an expression over what it changes; over nothing if that is empty.
    fn text(&self, over: &str) -> String {
        match self {
            Self::Value(text) => text.clone(),
            Self::Fields(fields) if fields.is_empty() && !over.is_empty() => over.to_owned(),
            Self::Fields(fields) => {
                let mut text = if over.is_empty() { "{\n".to_owned() } else { format!("{over} // {{\n") };
                for (name, change) in fields {
                    let name = self::name(name);
                    let below = if over.is_empty() { String::new() } else { format!("{over}.{name}") };
                    let _ = writeln!(text, "{name} = {};", change.text(&below));
                }
                text.push('}');
                text
            }
        }
    }
}

/// Returns a name as an attribute's.
fn name(text: &str) -> String {
    let mut bytes = text.bytes();
    let plain = bytes.next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
    let keywords = ["assert", "else", "if", "in", "inherit", "let", "or", "rec", "then", "with"];
    if plain && !keywords.contains(&text) { text.to_owned() } else { string(text) }
}

/// Returns a text as a literal of the language.
#[must_use]
pub fn string(text: &str) -> String {
    let mut literal = "\"".to_owned();
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '"' | '\\' => literal.extend(['\\', character]),
            '$' if characters.peek() == Some(&'{') => literal.push_str("\\$"),
            '\n' => literal.push_str("\\n"),
            '\r' => literal.push_str("\\r"),
            '\t' => literal.push_str("\\t"),
            _ => literal.push(character),
        }
    }
    literal.push('"');
    literal
}

/// Returns scenarios as an expression.
fn scenarios(all: &[Scenario]) -> String {
    let mut text = "{\n".to_owned();
    let is_fixed = |one: &&Scenario| matches!(one.workload, Workload::FixedSequence { .. });
    let (fixed, agentic): (Vec<_>, Vec<_>) = all.iter().partition(is_fixed);
    for (name, list) in [("fixedSequence", fixed), ("agentic", agentic)] {
        if list.is_empty() {
            continue;
        }
        let _ = writeln!(text, "{name} = [");
        for scenario in list {
            text.push_str("{\n");
            match &scenario.workload {
                Workload::FixedSequence { isl, osl } => {
                    let _ = writeln!(text, "isl = {isl}; osl = {osl};");
                }
                Workload::Agentic { duration, dram_utilization } => {
                    if *duration != matrix::DURATION {
                        let _ = writeln!(text, "duration = {duration};");
                    }
                    if let Some(share) = dram_utilization {
                        let _ = writeln!(text, "dramUtilization = {};", share.value);
                    }
                }
            }
            text.push_str("search = [\n");
            for part in &scenario.search {
                let _ = writeln!(text, "{}", self::part(part));
            }
            text.push_str("];\n}\n");
        }
        text.push_str("];\n");
    }
    text.push('}');
    text
}

fn part(part: &Entry) -> String {
    let parallel = part.parallel;
    let mut text = format!("{{ tp = {};", parallel.tp);
    let widths = [("pp", parallel.pp), ("ep", parallel.ep), ("dcp", parallel.dcp), ("pcp", parallel.pcp)];
    for (name, width) in widths.iter().filter(|(_, width)| *width != 1) {
        let _ = write!(text, " {name} = {width};");
    }
    if parallel.dp_attn {
        text.push_str(" dpAttn = true;");
    }
    if let Some(kv) = &part.kv_offload {
        let (medium, backend) = (string(&kv.medium), string(&kv.backend.value));
        let version = kv.version.as_ref().map(|version| format!(" version = {};", string(version)));
        let version = version.unwrap_or_default();
        let _ = write!(text, " kvOffload = {{ medium = {medium}; backend = {backend};{version} }};");
    }
    if let Some(router) = &part.router {
        let (name, version) = (string(&router.name.value), string(&router.version.value));
        let _ = write!(text, " router = {{ name = {name}; version = {version}; }};");
    }
    match (part.listed, part.conc.first(), part.conc.last()) {
        (false, Some(from), Some(to)) => {
            let _ = write!(text, " conc = {{ from = {}; to = {}; }}; }}", from.value, to.value);
        }
        _ => {
            let all: Vec<String> = part.conc.iter().map(|conc| conc.value.to_string()).collect();
            let _ = write!(text, " conc = [ {} ]; }}", all.join(" "));
        }
    }
    text
}
