//! A command and an environment that were recorded, beside those that the lock has.

use std::collections::{BTreeMap, BTreeSet};

use engine::acceptance::VARIABLES;
use engine::{Canonical, Engine, Table, Value, book, canonical, canonical_plain};
use serde_json::{Map, Value as Json};

use crate::declared::{Declared, stands_for};

/// One setting that is not as the lock says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Difference {
    /// The flag, the variable, or `program`.
    pub what: String,
    /// As the lock says; `None` where it is not given.
    pub ours: Option<String>,
    /// As recorded; `None` where it is not given.
    pub theirs: Option<String>,
}

/// How much of a command a record holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Holds {
    /// Every word as it was given.
    Words,
    /// The words as the kernel has them: interpreters stand before a script's name.
    Kernel,
}

/// Compares the words of a process.
#[must_use]
pub fn words(declared: &Declared, version: &str, given: &[String], holds: Holds) -> Vec<Difference> {
    let given = shortened(&declared.argv, given);
    let engine = declared.engine();
    let read = |argv: &[String]| match engine {
        Some(engine) => canonical(engine, version, argv),
        None => canonical_plain(argv),
    };
    let (ours, theirs) = (read(&declared.argv), read(&given));
    let mut found = Vec::new();
    if holds == Holds::Words && !declared.headless {
        found.extend(programs(&ours, &theirs));
    }
    found.extend(flags(&ours.flags, &theirs.flags));
    found
}

/// Writes long words as a lock does, so that both are compared by digest.
fn shortened(ours: &[String], theirs: &[String]) -> Vec<String> {
    let known: BTreeSet<&str> = ours.iter().map(String::as_str).collect();
    let short = |word: &str| Some(lock::launch::shown(word)).filter(|text| known.contains(text.as_str()));
    theirs
        .iter()
        .map(|word| {
            let split = word.split_once('=').filter(|(name, _)| name.starts_with('-'));
            match split.and_then(|(name, value)| Some(format!("{name}={}", short(value)?))) {
                Some(word) => word,
                None => short(word).unwrap_or_else(|| word.clone()),
            }
        })
        .collect()
}

fn programs(ours: &Canonical, theirs: &Canonical) -> Option<Difference> {
    let all = |line: &Canonical| {
        let mut words = line.program.clone();
        words.extend(line.positionals.iter().cloned());
        // A program may be called by its path.
        if let Some(first) = words.first_mut() {
            *first = first.rsplit('/').next().unwrap_or(first).to_owned();
        }
        words.join(" ")
    };
    let (one, other) = (all(ours), all(theirs));
    (!stands_for(&one, &other)).then(|| Difference {
        what: "program".to_owned(),
        ours: Some(one),
        theirs: Some(other),
    })
}

fn flags(ours: &BTreeMap<String, Value>, theirs: &BTreeMap<String, Value>) -> Vec<Difference> {
    let names: BTreeSet<&String> = ours.keys().chain(theirs.keys()).collect();
    names
        .into_iter()
        .filter_map(|name| {
            let (one, other) = (ours.get(name), theirs.get(name));
            let same = one == other
                || matches!((one, other), (Some(one), Some(other)) if stands_for(&one.to_text(), &other.to_text()));
            (!same).then(|| Difference { what: name.clone(), ours: one.map(text), theirs: other.map(text) })
        })
        .collect()
}

fn text(value: &Value) -> String {
    match value {
        Value::Bool(true) | Value::Nothing => "given".to_owned(),
        other => other.to_text(),
    }
}

/// What an engine says of itself when it starts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Told {
    /// Every field, also those that it filled in by itself.
    All,
    /// The fields that are not as by default.
    Given,
}

/// Compares what an engine logged of its fields.
#[must_use]
pub fn fields(declared: &Declared, version: &str, given: &Map<String, Json>, told: Told) -> Vec<Difference> {
    let Some(engine) = declared.engine() else { return Vec::new() };
    let table = book(engine).nearest(version);
    let ours = canonical(engine, version, &declared.argv);
    let mut found = Vec::new();
    let mut looked: BTreeSet<String> = BTreeSet::new();
    for (name, value) in &ours.flags {
        let Some((flag, negated)) = table.flag(name) else { continue };
        let field = flag.field;
        looked.insert(field.to_owned());
        let value = if negated { Value::Bool(false) } else { value.clone() };
        let logged = given.get(field);
        let same = match logged {
            Some(logged) => alike(&value, logged) || resolved(engine, field, &value, logged, given),
            // vLLM leaves out what is as by default.
            None if told == Told::Given => flag.default == Some(value.to_text().as_str()),
            None => true,
        };
        if !same {
            found.push(Difference {
                what: name.clone(),
                ours: Some(text(&value)),
                theirs: logged.filter(|logged| !logged.is_null()).map(json_text),
            });
        }
    }
    if told == Told::Given {
        // Names of the positional argument, and what the front end adds.
        looked.extend(["model", "model_tag", "subparser", "dispatch_function"].map(str::to_owned));
        for (field, value) in given.iter().filter(|(field, _)| !looked.contains(*field)) {
            let name = table.full(field).map_or_else(|| field.clone(), str::to_owned);
            found.push(Difference { what: name, ours: None, theirs: Some(json_text(value)) });
        }
    }
    found
}

/// Returns whether a logged value is what was given.
fn alike(value: &Value, logged: &Json) -> bool {
    let same_text = |text: &str| stands_for(text, &json_text(logged));
    match (value, logged) {
        (Value::Bool(yes), Json::Bool(logged)) => yes == logged,
        (Value::Number(number), Json::Number(logged)) => number.as_f64() == logged.as_f64(),
        (Value::Number(number), Json::String(text)) => number.to_string() == *text,
        (Value::Json(json), Json::Object(logged)) => {
            // The engine adds members by itself; those that were given must stand.
            json.as_object().is_some_and(|ours| {
                ours.iter().all(|(name, value)| {
                    logged.get(name).is_some_and(|other| {
                        value == other || value.as_f64().is_some() && value.as_f64() == other.as_f64()
                    })
                })
            })
        }
        (Value::Json(json), Json::String(text)) => {
            serde_json::from_str::<Json>(text).is_ok_and(|logged| logged == *json)
        }
        (Value::List(items), Json::Array(logged)) => {
            items.len() == logged.len() && items.iter().zip(logged).all(|(item, logged)| alike(item, logged))
        }
        (Value::List(items), logged) if items.len() == 1 => {
            items.first().is_some_and(|item| alike(item, logged))
        }
        (value, Json::Array(logged)) if logged.len() == 1 => {
            logged.first().is_some_and(|logged| alike(value, logged))
        }
        (Value::Nothing, Json::Bool(true)) => true,
        (value, _) => same_text(&value.to_text()),
    }
}

/// Returns whether an engine makes such a value of what was given before it prints it.
fn resolved(engine: Engine, field: &str, value: &Value, logged: &Json, all: &Map<String, Json>) -> bool {
    if engine != Engine::Sglang {
        return false;
    }
    match field {
        // `NEXTN` is another name of `EAGLE` since its first release.
        "speculative_algorithm" => value.to_text() == "NEXTN" && logged == "EAGLE",
        // With data-parallel attention each rank takes its share.
        "chunked_prefill_size" => {
            let ranks = all.get("dp_size").and_then(Json::as_i64).unwrap_or(1).max(1);
            let shared = all.get("enable_dp_attention").and_then(Json::as_bool).unwrap_or(false);
            let whole = value.to_text().parse::<i64>().ok();
            shared && whole.is_some_and(|whole| logged.as_i64() == Some(whole / ranks))
        }
        _ => false,
    }
}

fn json_text(value: &Json) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Where an environment was seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Environment {
    /// What the script gave the process beside what the image defines.
    Given,
    /// Everything that the process had, also what the image defines.
    Whole,
}

/// Compares variables. The second part has those that may be the image's or a mistake.
#[must_use]
pub fn variables(
    declared: &Declared,
    table: Option<Table>,
    given: &BTreeMap<String, String>,
    seen: Environment,
) -> (Vec<Difference>, Vec<Difference>) {
    let (mut wrong, mut open) = (Vec::new(), Vec::new());
    for (name, value) in &declared.env {
        let theirs = given.get(name);
        if !theirs.is_some_and(|theirs| stands_for(value, theirs)) {
            wrong.push(difference(name, Some(value), theirs));
        }
    }
    for (name, theirs) in given.iter().filter(|(name, _)| !declared.env.contains_key(*name)) {
        let one = || difference(name, None, Some(theirs));
        if declared.unset.contains(name) || VARIABLES.contains(&name.as_str()) || seen == Environment::Given {
            wrong.push(one());
        } else if table.is_some_and(|table| {
            table.reads_variable(name)
                || table.engine().variable_prefixes().iter().any(|prefix| name.starts_with(prefix))
        }) {
            open.push(one());
        }
    }
    (wrong, open)
}

fn difference(name: &str, ours: Option<&String>, theirs: Option<&String>) -> Difference {
    let shown = |value: &String| if is_secret(name) { "(not shown)".to_owned() } else { value.clone() };
    Difference { what: name.to_owned(), ours: ours.map(shown), theirs: theirs.map(shown) }
}

/// Returns whether the name of a variable or flag says that its value is nobody's business.
#[must_use]
pub fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase().replace('-', "_");
    let ends =
        ["TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIALS", "API_KEY", "ACCESS_KEY", "PRIVATE_KEY"];
    ends.iter().any(|end| name.ends_with(end))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Environment, Holds, Told, fields, variables, words};
    use crate::declared::Declared;

    fn split(line: &str) -> Vec<String> {
        line.split_whitespace().map(|word| word.replace('~', " ")).collect()
    }

    fn declared(line: &str) -> Declared {
        Declared { argv: split(line), ..Declared::default() }
    }

    const VLLM: &str =
        "vllm serve m --tensor-parallel-size 4 --port <8000~+~job~%~100> --no-enable-prefix-caching";

    #[test]
    fn another_spelling_is_the_same_and_another_value_is_named() {
        let ours = declared(VLLM);
        let same = split("/usr/bin/vllm serve m --port=8042 -tp 4 --no-enable-prefix-caching");
        assert_eq!(words(&ours, "0.25.1", &same, Holds::Words), []);
        let other = split("vllm serve m --port=8042 -tp 8 --no-enable-prefix-caching --enforce-eager");
        let found = words(&ours, "0.25.1", &other, Holds::Words);
        let shown: Vec<_> =
            found.iter().map(|one| (one.what.as_str(), one.ours.as_deref(), one.theirs.as_deref())).collect();
        assert_eq!(
            shown,
            [("--enforce-eager", None, Some("given")), ("--tensor-parallel-size", Some("4"), Some("8"))]
        );
        let kernel = split(
            "/usr/bin/python3 /usr/local/bin/vllm serve m --port 8042 -tp 4 --no-enable-prefix-caching",
        );
        assert_eq!(words(&ours, "0.25.1", &kernel, Holds::Kernel), []);
    }

    #[test]
    fn what_an_engine_logs_of_itself_is_compared_by_field() {
        let ours = declared(VLLM);
        let logged = json!({"model_tag": "m", "tensor_parallel_size": 4, "port": 8042, "enable_prefix_caching": false});
        assert_eq!(fields(&ours, "0.25.1", logged.as_object().expect("a map"), Told::Given), []);
        let logged =
            json!({"model_tag": "m", "port": 8042, "enable_prefix_caching": false, "enforce_eager": true});
        let found = fields(&ours, "0.25.1", logged.as_object().expect("a map"), Told::Given);
        let names: Vec<&str> = found.iter().map(|one| one.what.as_str()).collect();
        assert_eq!(names, ["--tensor-parallel-size", "--enforce-eager"]);
        let ours =
            declared("python3 -m sglang.launch_server --model-path m --speculative-algorithm NEXTN --tp 8");
        let logged = json!({"model_path": "m", "speculative_algorithm": "EAGLE", "tp_size": 4, "host": "x"});
        let found = fields(&ours, "0.5.16", logged.as_object().expect("a map"), Told::All);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(
            (found[0].what.as_str(), found[0].theirs.as_deref()),
            ("--tensor-parallel-size", Some("4"))
        );
    }

    #[test]
    fn a_variable_that_forces_acceptance_is_never_the_images() {
        let ours = Declared {
            env: [("A".to_owned(), "1".to_owned())].into(),
            unset: ["B".to_owned()].into(),
            ..Declared::default()
        };
        let given =
            [("A", "2"), ("B", "x"), ("SGLANG_SIMULATE_ACC_LEN", "3"), ("HOME", "/root"), ("HF_TOKEN", "s")];
        let given = given.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let (wrong, open) = variables(&ours, None, &given, Environment::Whole);
        let names: Vec<&str> = wrong.iter().map(|one| one.what.as_str()).collect();
        assert_eq!(names, ["A", "B", "SGLANG_SIMULATE_ACC_LEN"]);
        assert_eq!(open, []);
        let (wrong, _) = variables(&ours, None, &given, Environment::Given);
        assert_eq!(
            wrong.iter().find(|one| one.what == "HF_TOKEN").and_then(|one| one.theirs.as_deref()),
            Some("(not shown)")
        );
    }
}
