//! Behaviour, compactly: what each process of each plan is given, setting by setting.
//!
//! Digests decide whether two plans are equal; this table says in which setting they differ.

use std::collections::{BTreeMap, BTreeSet};

use recipe::plan::{Group, Mount, Plan, Ready, Word};

use crate::Digest;
use crate::document::PlanKey;
use crate::fingerprint::group_names;
use crate::words::to_text;

/// What every plan of a recipe gives to its processes.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Launch {
    /// Processes by name: the groups' names, `allocate`, `container` and `files`.
    pub processes: BTreeMap<String, Process>,
}

/// What one process is given.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Process {
    /// Plans that have this process.
    pub plans: BTreeSet<PlanKey>,
    /// Settings by name (`--tensor-parallel-size`, `env.NCCL_DEBUG`, `argv`, `mount./models`),
    /// then the value by plan.
    pub settings: BTreeMap<String, BTreeMap<PlanKey, Setting>>,
}

/// The value of a setting.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Setting {
    /// A flag without a value.
    Bare,
    /// One value, holes in angle brackets.
    Text(String),
    /// A flag with several values, or given several times.
    Several(Vec<String>),
}

impl Setting {
    /// Returns the value as JSON: true, a string, or a list.
    #[must_use]
    pub fn to_json(&self) -> serde_json::Value {
        match self {
            Self::Bare => true.into(),
            Self::Text(text) => text.as_str().into(),
            Self::Several(texts) => texts.iter().map(String::as_str).collect(),
        }
    }

    /// Reads what [`Setting::to_json`] gives.
    pub(crate) fn from_json(value: &serde_json::Value) -> Option<Self> {
        match value {
            serde_json::Value::Bool(true) => Some(Self::Bare),
            serde_json::Value::String(text) => Some(Self::Text(text.clone())),
            serde_json::Value::Array(items) => {
                let texts: Option<Vec<String>> =
                    items.iter().map(|item| item.as_str().map(str::to_owned)).collect();
                Some(Self::Several(texts?))
            }
            _ => None,
        }
    }

    fn hint(&self) -> &str {
        match self {
            Self::Text(text) => text,
            Self::Bare | Self::Several(_) => "",
        }
    }

    pub(crate) fn selector_hint(&self) -> &str {
        self.hint()
    }
}

/// A setting per name, of one process of one plan.
type Settings = BTreeMap<String, Setting>;

impl Launch {
    /// Adds what a plan gives to its processes.
    pub(crate) fn add(&mut self, key: &PlanKey, plan: &Plan) {
        for (process, settings) in processes(plan) {
            let process = self.processes.entry(process).or_default();
            process.plans.insert(key.clone());
            for (name, setting) in settings {
                process.settings.entry(name).or_default().insert(key.clone(), setting);
            }
        }
    }

    /// Returns the value of a setting in a plan.
    #[must_use]
    pub fn get(&self, process: &str, setting: &str, plan: &PlanKey) -> Option<&Setting> {
        self.processes.get(process)?.settings.get(setting)?.get(plan)
    }
}

fn processes(plan: &Plan) -> Vec<(String, Settings)> {
    let mut all = Vec::new();
    if let Some(words) = &plan.allocate {
        all.push(("allocate".to_owned(), arguments(words)));
    }
    let mut container = arguments(&plan.container);
    container.insert("image".to_owned(), Setting::Text(plan.image.clone()));
    container.extend(variables(&plan.passed));
    container.extend(mounts(&plan.mounts));
    all.push(("container".to_owned(), container));
    if !plan.files.is_empty() {
        let files = plan.files.iter().map(|file| (to_text(&file.path), short(&file.text)));
        all.push(("files".to_owned(), files.collect()));
    }
    for (name, group) in group_names(plan).into_iter().zip(&plan.groups) {
        all.extend(group_processes(&name, group));
    }
    all
}

/// One process a rank; a group of one rank goes by its own name.
fn group_processes(name: &str, group: &Group) -> Vec<(String, Settings)> {
    let several = group.replicas.iter().map(|replica| replica.ranks.len()).sum::<usize>() != 1;
    let mut all = Vec::new();
    for (replica_index, replica) in group.replicas.iter().enumerate() {
        for (rank_index, rank) in replica.ranks.iter().enumerate() {
            let mut settings = arguments(&rank.argv);
            settings.extend(variables(&rank.env));
            settings.extend(rank.unset.iter().map(|name| (format!("unset.{name}"), Setting::Bare)));
            settings.extend(rank.ports.iter().map(|(port, word)| (format!("port.{port}"), short(word))));
            settings.extend(group.mounts.iter().flat_map(|list| mounts(list)));
            settings
                .extend(group.image.iter().map(|image| ("image".to_owned(), Setting::Text(image.clone()))));
            settings.extend(ready(&group.ready));
            settings
                .extend(group.within.map(|limit| ("within".to_owned(), Setting::Text(limit.to_string()))));
            let process =
                if several { format!("{name}[{replica_index}.{rank_index}]") } else { name.to_owned() };
            all.push((process, settings));
        }
    }
    all
}

fn ready(ready: &Ready) -> Option<(String, Setting)> {
    let text = match ready {
        Ready::Started | Ready::Ended => return None,
        Ready::Tcp { port } => format!("tcp {}", to_text(port)),
        Ready::Ports { ports } => {
            format!("tcp {}", ports.iter().map(to_text).collect::<Vec<_>>().join(" "))
        }
        Ready::Registered { port, prefill, decode, .. } => {
            format!("registered {prefill}+{decode} at {}", to_text(port))
        }
        Ready::Http { port, path } => format!("http {} {path}", to_text(port)),
    };
    Some(("ready".to_owned(), Setting::Text(text)))
}

fn variables(env: &BTreeMap<String, Word>) -> Settings {
    env.iter().map(|(name, word)| (format!("env.{name}"), short(word))).collect()
}

fn mounts(mounts: &[Mount]) -> Settings {
    let mut settings = Settings::new();
    for mount in mounts {
        let suffix = if mount.readonly { " (read only)" } else { "" };
        let text = format!("{}{suffix}", to_text(&mount.from));
        settings.insert(format!("mount.{}", to_text(&mount.to)), Setting::Text(text));
    }
    settings
}

/// Longest value that stands in a lock as it is; longer ones stand by digest.
const LONGEST: usize = 400;

fn short(word: &Word) -> Setting {
    Setting::Text(short_text(to_text(word)))
}

/// Returns a value as a lock has it: as it is, or by its length and digest where it is long.
#[must_use]
pub fn shown(text: &str) -> String {
    short_text(text.to_owned())
}

fn short_text(text: String) -> String {
    if text.len() <= LONGEST && !text.contains('\n') {
        return text;
    }
    format!("{} bytes, {}", text.len(), Digest::of(text.as_bytes()))
}

/// Splits a command line into its head (`argv`: the program and what stands before the first
/// flag) and its flags. This is for showing: a value that begins with a dash is taken for a flag,
/// and digests, which hold every word in order, decide.
fn arguments(argv: &[Word]) -> Settings {
    let texts: Vec<String> = argv.iter().map(to_text).collect();
    // `python3 -m module` and `bash -c text` are the program, not its flags.
    let minimum = if texts.get(1).is_some_and(|text| text == "-m" || text == "-c") { 3 } else { 0 };
    let head = texts.iter().enumerate().position(|(index, text)| index >= minimum && is_flag(text));
    let (head, rest) = texts.split_at(head.unwrap_or(texts.len()));
    let mut settings = Settings::new();
    settings.insert("argv".to_owned(), Setting::Text(short_text(head.join(" "))));
    let mut flags: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut current: Option<&str> = None;
    for text in rest {
        if is_flag(text) {
            let (name, value) = match text.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (text.as_str(), None),
            };
            flags.entry(name.to_owned()).or_default().extend(value.map(|value| short_text(value.to_owned())));
            current = Some(name);
        } else if let Some(name) = current {
            flags.entry(name.to_owned()).or_default().push(short_text(text.clone()));
        }
    }
    for (name, mut values) in flags {
        let setting = match values.len() {
            0 => Setting::Bare,
            1 => Setting::Text(values.remove(0)),
            _ => Setting::Several(values),
        };
        settings.insert(name, setting);
    }
    settings
}

fn is_flag(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next() == Some('-')
        && chars.next().is_some_and(|second| second == '-' || second.is_ascii_alphabetic())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_is_split_into_program_and_flags() {
        let words: Vec<Word> = [
            "python3",
            "-m",
            "sglang.launch_server",
            "--tp=4",
            "--trust-remote-code",
            "--bias",
            "-0.5",
            "--x",
            "a",
            "b",
        ]
        .into_iter()
        .map(Word::from)
        .collect();
        let settings = arguments(&words);
        let get =
            |name: &str| settings.get(name).map(|setting| setting.to_json().to_string()).unwrap_or_default();
        assert_eq!(get("argv"), "\"python3 -m sglang.launch_server\"");
        assert_eq!(get("--tp"), "\"4\"");
        assert_eq!(get("--trust-remote-code"), "true");
        assert_eq!(get("--bias"), "\"-0.5\"");
        assert_eq!(get("--x"), "[\"a\",\"b\"]");
    }
}
