//! Command lines of programs that are no engine.

use std::collections::BTreeMap;

use crate::Canonical;
use crate::value::Value;

/// Long and short flags of container runtimes and schedulers that take no value; every other flag
/// of them takes one. What follows their first positional word is a command of its own.
const SWITCHES: &[(&str, &[&str])] = &[
    (
        "docker run",
        &[
            "-d",
            "--detach",
            "-i",
            "--interactive",
            "-t",
            "--tty",
            "-it",
            "-ti",
            "--rm",
            "--init",
            "--privileged",
            "--read-only",
            "-P",
            "--publish-all",
            "--oom-kill-disable",
            "--no-healthcheck",
            "-q",
            "--quiet",
        ],
    ),
    (
        "srun",
        &[
            "--container-mount-home",
            "--no-container-mount-home",
            "--container-remap-root",
            "--no-container-remap-root",
            "--container-writable",
            "--container-readonly",
            "--container-entrypoint",
            "--no-container-entrypoint",
            "--exclusive",
            "--overlap",
            "--pty",
            "-l",
            "--label",
            "-u",
            "--unbuffered",
            "-v",
            "--verbose",
            "-Q",
            "--quiet",
            "-O",
            "--overcommit",
            "-s",
            "--oversubscribe",
            "--exact",
            "-W0",
        ],
    ),
    (
        "salloc",
        &["--exclusive", "--no-shell", "--overcommit", "-v", "--verbose", "-Q", "--quiet", "-H", "--hold"],
    ),
];

/// Short flags and the long ones that they stand for.
const ALIASES: &[(&str, &[(&str, &str)])] = &[
    (
        "docker run",
        &[
            ("-e", "--env"),
            ("-v", "--volume"),
            ("-w", "--workdir"),
            ("-d", "--detach"),
            ("-i", "--interactive"),
            ("-t", "--tty"),
            ("-p", "--publish"),
            ("-u", "--user"),
            ("-m", "--memory"),
            ("--net", "--network"),
            ("-h", "--hostname"),
            ("-P", "--publish-all"),
            ("-q", "--quiet"),
            ("-l", "--label"),
        ],
    ),
    ("srun", SLURM),
    ("salloc", SLURM),
];

const SLURM: &[(&str, &str)] = &[
    ("-N", "--nodes"),
    ("-n", "--ntasks"),
    ("-p", "--partition"),
    ("-A", "--account"),
    ("-J", "--job-name"),
    ("-t", "--time"),
    ("-c", "--cpus-per-task"),
    ("-w", "--nodelist"),
    ("-x", "--exclude"),
    ("-D", "--chdir"),
    ("-G", "--gpus"),
    ("-o", "--output"),
    ("-e", "--error"),
    ("-l", "--label"),
    ("-u", "--unbuffered"),
];

pub(crate) fn read(argv: &[String]) -> Canonical {
    let first = argv.first().map_or("", String::as_str);
    let runtime = match (first.rsplit('/').next().unwrap_or(first), argv.get(1).map(String::as_str)) {
        ("docker" | "podman", Some("run")) => Some("docker run"),
        ("srun", _) => Some("srun"),
        ("salloc", _) => Some("salloc"),
        _ => None,
    };
    match runtime {
        Some(runtime) => wrapper(runtime, argv),
        None => other(argv),
    }
}

/// Flags with known arity up to the first positional word; the rest is a command, kept as it is.
fn wrapper(runtime: &str, argv: &[String]) -> Canonical {
    let begin = if runtime == "docker run" { 2 } else { 1 };
    let (program, words) = argv.split_at(begin.min(argv.len()));
    let mut all = Canonical { program: program.to_vec(), ..Canonical::default() };
    let switches = of(SWITCHES, runtime);
    let aliases = of(ALIASES, runtime);
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        if !word.starts_with('-') {
            all.positionals.push(word.clone());
            all.positionals.extend(rest.by_ref().cloned());
            break;
        }
        let (name, inline) = match word.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (word.as_str(), None),
        };
        let full = aliases.iter().find(|(short, _)| *short == name).map_or(name, |(_, long)| *long);
        let values = match inline {
            Some(value) => vec![Value::Text(value)],
            None if switches.contains(&name) => Vec::new(),
            None => rest.next().map(|value| Value::Text(value.clone())).into_iter().collect(),
        };
        add(&mut all.flags, full.to_owned(), values);
    }
    all
}

/// Flags whose arity nobody knows: the words up to the next flag are its values.
fn other(argv: &[String]) -> Canonical {
    let begin = argv.iter().position(|word| word.starts_with("--") && word.len() > 2).unwrap_or(argv.len());
    let (program, words) = argv.split_at(begin);
    let mut all = Canonical { program: program.to_vec(), ..Canonical::default() };
    let mut current: Option<(String, Vec<Value>)> = None;
    for word in words {
        if word.starts_with("--") && word.len() > 2 {
            if let Some((name, values)) = current.take() {
                add(&mut all.flags, name, values);
            }
            current = Some(match word.split_once('=') {
                Some((name, value)) => (name.to_owned(), vec![Value::guess(value)]),
                None => (word.clone(), Vec::new()),
            });
        } else if let Some((_, values)) = &mut current {
            values.push(Value::guess(word));
        }
    }
    if let Some((name, values)) = current {
        add(&mut all.flags, name, values);
    }
    all
}

/// Adds a flag; a repeated one keeps all its values, in order, as a list of what each time gave.
pub(crate) fn add(flags: &mut BTreeMap<String, Value>, name: String, mut values: Vec<Value>) {
    let new = if values.len() > 1 { Value::List(values) } else { values.pop().unwrap_or(Value::Nothing) };
    match flags.remove(&name) {
        None => flags.insert(name, new),
        Some(Value::List(mut list)) => {
            list.push(new);
            flags.insert(name, Value::List(list))
        }
        Some(old) => flags.insert(name, Value::List(vec![old, new])),
    };
}

fn of<T: Copy>(table: &[(&str, &'static [T])], name: &str) -> &'static [T] {
    table.iter().find(|(key, _)| *key == name).map_or(&[], |(_, value)| value)
}
