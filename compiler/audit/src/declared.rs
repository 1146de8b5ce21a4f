//! What a lock says that a process is given: its words and its variables, holes in angle brackets.

use std::collections::{BTreeMap, BTreeSet};

use engine::{Decimal, Engine};
use lock::launch::{Process, Setting};
use lock::{Lock, PlanKey};
use serde_json::Value;

/// One process of a plan, as the lock has it.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Declared {
    /// Its name in the lock.
    pub name: String,
    /// Its words: the program, then each flag with its values.
    pub argv: Vec<String>,
    /// Its variables.
    pub env: BTreeMap<String, String>,
    /// Variables that it must not have.
    pub unset: BTreeSet<String>,
    /// Where the program's words are not in the lock, for they are long.
    pub headless: bool,
}

/// Returns the processes of a plan, in the order of their names.
#[must_use]
pub fn processes(lock: &Lock, key: &PlanKey) -> Vec<Declared> {
    lock.launch.processes.iter().filter_map(|(name, process)| one(name, process, key)).collect()
}

/// Returns a process of a plan by its name.
#[must_use]
pub fn process(lock: &Lock, key: &PlanKey, name: &str) -> Option<Declared> {
    one(name, lock.launch.processes.get(name)?, key)
}

fn one(name: &str, process: &Process, key: &PlanKey) -> Option<Declared> {
    if !process.plans.contains(key) {
        return None;
    }
    let mut declared = Declared { name: name.to_owned(), ..Declared::default() };
    let given = |setting: &str| process.settings.get(setting).and_then(|values| values.get(key));
    if let Some(Setting::Text(head)) = given("argv") {
        declared.headless = is_short(head);
        declared.argv.extend(head.split_whitespace().map(str::to_owned));
    }
    for (setting, values) in &process.settings {
        let Some(value) = values.get(key) else { continue };
        if let Some(variable) = setting.strip_prefix("env.") {
            if let Setting::Text(text) = value {
                declared.env.insert(variable.to_owned(), text.clone());
            }
        } else if let Some(variable) = setting.strip_prefix("unset.") {
            declared.unset.insert(variable.to_owned());
        } else if setting.starts_with('-') {
            declared.argv.push(setting.clone());
            match value {
                Setting::Bare => {}
                Setting::Text(text) => declared.argv.push(text.clone()),
                Setting::Several(texts) => declared.argv.extend(texts.iter().cloned()),
            }
        }
    }
    Some(declared)
}

/// Returns the processes of a plan that start an engine.
#[must_use]
pub fn servers(lock: &Lock, key: &PlanKey) -> Vec<Declared> {
    processes(lock, key).into_iter().filter(|process| process.engine().is_some()).collect()
}

impl Declared {
    /// Returns the engine that it starts.
    #[must_use]
    pub fn engine(&self) -> Option<Engine> {
        Engine::of_command(&self.argv)
    }

    /// Returns the word after a flag.
    #[must_use]
    pub fn flag(&self, name: &str) -> Option<&str> {
        let at = self.argv.iter().position(|word| word == name)?;
        self.argv.get(at + 1).map(String::as_str)
    }

    /// Returns a flag's whole number.
    #[must_use]
    pub fn number(&self, name: &str) -> Option<u64> {
        self.flag(name)?.parse().ok()
    }

    /// Returns how many draft tokens in a row its engine is told to propose.
    #[must_use]
    pub fn draft_tokens(&self) -> Option<u32> {
        let given =
            ["--speculative-num-steps", "--num-speculative-tokens"].iter().find_map(|flag| self.flag(flag));
        if let Some(text) = given {
            return text.parse().ok();
        }
        let config: Value = serde_json::from_str(self.flag("--speculative-config")?).ok()?;
        u32::try_from(config.get("num_speculative_tokens")?.as_u64()?).ok()
    }

    /// Returns the acceptance length that its engine is told, in tokens a step.
    #[must_use]
    pub fn told(&self) -> Option<Decimal> {
        if let Some(length) = self.env.get("SGLANG_SIMULATE_ACC_LEN") {
            return Decimal::parse(length);
        }
        if let Some(accepted) = self.env.get("TLLM_SPEC_DECODE_FORCE_NUM_ACCEPTED_TOKENS") {
            return Decimal::parse(accepted).map(|accepted| accepted.plus(Decimal::ONE));
        }
        if let Some(length) = self.flag("--spec-decode-acceptance-length") {
            return Decimal::parse(length);
        }
        let config: Value = serde_json::from_str(self.flag("--speculative-config")?).ok()?;
        Decimal::parse(&config.get("synthetic_acceptance_length")?.to_string())
    }
}

/// Returns whether a text of a lock stands for a longer one.
fn is_short(text: &str) -> bool {
    text.split_once(" bytes, sha256:").is_some_and(|(count, _)| count.bytes().all(|b| b.is_ascii_digit()))
}

/// Returns whether a text may be what a lock's text stands for: holes in angle brackets take
/// anything, and a text that is there by its digest is compared by it.
#[must_use]
pub fn stands_for(declared: &str, given: &str) -> bool {
    if declared == given || is_short(declared) && lock::launch::shown(given) == declared {
        return true;
    }
    let parts = literal(declared);
    let [first, middle @ .., last] = parts.as_slice() else { return false };
    let Some(mut rest) = given.strip_prefix(first) else { return false };
    for part in middle {
        let Some(at) = rest.find(part) else { return false };
        rest = rest.get(at + part.len()..).unwrap_or_default();
    }
    rest.ends_with(last)
}

/// Returns the parts of a text between its holes; one part where it has none.
fn literal(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = text;
    let mut from = 0;
    while let Some(open) = rest.get(from..).and_then(|text| text.find('<')).map(|at| at + from) {
        let hole = rest.get(open + 1..).and_then(|inside| inside.split_once('>'));
        match hole {
            Some((inside, after)) if is_hole(inside) => {
                parts.push(rest.get(..open).unwrap_or_default());
                rest = after;
                from = 0;
            }
            _ => from = open + 1,
        }
    }
    parts.push(rest);
    parts
}

fn is_hole(text: &str) -> bool {
    matches!(text, "runner" | "home" | "workspace" | "job" | "logdir")
        || ["host ", "address ", "unique "].iter().any(|word| text.starts_with(word))
        || text.contains(" + job % ")
        || text.contains(" of each of ")
}

#[cfg(test)]
mod tests {
    use super::stands_for;

    #[test]
    fn a_hole_takes_anything_and_the_rest_is_as_written() {
        assert!(stands_for("/tmp/run-<job>/x", "/tmp/run-12/x"));
        assert!(stands_for("<40000 + job % 10000>", "41234"));
        assert!(stands_for("agg_<runner>.json", "agg_b200_00.json"));
        assert!(!stands_for("/tmp/run-<job>/x", "/tmp/run-12/y"));
        assert!(!stands_for("a<b>c", "a12c"));
        assert!(!stands_for("8", "80"));
        assert!(stands_for("<job>", ""));
    }

    #[test]
    fn a_long_text_is_compared_by_its_digest() {
        let long = "x".repeat(900);
        assert!(stands_for(&lock::launch::shown(&long), &long));
        assert!(!stands_for(&lock::launch::shown(&long), &long.replace("xx", "xy")));
    }
}
