//! The canonical form of a command line: two are equal when the engine's own parser reads the same.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::plain;
use crate::reading::{Given, read};
use crate::table::{Flag, Kind, Table, book};
use crate::value::Value;
use crate::{Engine, Type};

/// What the process that reads a command line gets from it.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize)]
pub struct Canonical {
    /// The program with its wrappers, word for word: `mpirun -n 1 trtllm-serve`.
    pub program: Vec<String>,
    /// Words that belong to no flag, in order.
    pub positionals: Vec<String>,
    /// Each flag in its full spelling, with its value after type. Of repeated flags the last value,
    /// or all in order where the parser keeps them.
    pub flags: BTreeMap<String, Value>,
}

/// Returns the canonical form of an engine's command line, program included.
///
/// The version chooses the table ([`crate::Book::nearest`]). A command line that does not start the
/// engine is read as [`canonical_plain`] reads it.
#[must_use]
pub fn canonical(engine: Engine, version: &str, argv: &[String]) -> Canonical {
    let Some(begin) = engine.program_words(argv) else { return canonical_plain(argv) };
    let (program, words) = argv.split_at(begin.min(argv.len()));
    let table = book(engine).nearest(version);
    let mut all = Canonical { program: program.to_vec(), ..Canonical::default() };
    let reading = read(&table, words);
    for given in &reading.given {
        add(&table, &mut all.flags, given);
    }
    all.positionals = reading.positionals.into_iter().map(|(_, word)| word).collect();
    all
}

/// Returns the canonical form of the command line of some other program: a benchmark client, a
/// scheduler, a container runtime.
///
/// The flags of `docker`, `srun` and `salloc` are known well enough to tell where the entry begins;
/// of any other program every word after a flag up to the next is taken as its value. Repeated
/// flags are kept in order.
#[must_use]
pub fn canonical_plain(argv: &[String]) -> Canonical {
    plain::read(argv)
}

fn add(table: &Table, flags: &mut BTreeMap<String, Value>, given: &Given) {
    let Some(flag) = given.flag else {
        // Unknown here; kept so that two lines with the same unknown flag are still equal.
        plain::add(
            flags,
            given.written.clone(),
            given.values.iter().map(|word| Value::guess(word)).collect(),
        );
        return;
    };
    if flag.ignored {
        flags.insert(given.spelling.clone(), Value::Nothing);
        return;
    }
    let name = table.full(flag.field).unwrap_or(&given.spelling).to_owned();
    // What a stored constant means stands in the replacement: `--cuda-graph-backend-prefill=disabled`.
    if let (Kind::Switch, Some((_, constant))) =
        (flag.kind, flag.instead.and_then(|text| text.split_once('=')))
        && table.full(flag.field).is_some_and(|full| full != given.spelling)
        && table.flag(&name).is_some_and(|(kept, _)| kept.kind != Kind::Switch)
    {
        flags.insert(name, Value::Text(constant.to_owned()));
        return;
    }
    let value = match flag.kind {
        Kind::Switch => Value::Bool(true),
        Kind::Toggle => Value::Bool(!given.negated),
        Kind::Value | Kind::Positional => one(flag, given.values.first()),
        Kind::Optional => given.values.first().map_or(Value::Nothing, |word| Value::read(word, flag.value)),
        Kind::List | Kind::Any => {
            Value::List(given.values.iter().map(|word| Value::read(word, item_type(flag))).collect())
        }
        Kind::Append => {
            let new = one(flag, given.values.first());
            match flags.remove(&name) {
                Some(Value::List(mut list)) => {
                    list.push(new);
                    Value::List(list)
                }
                _ => Value::List(vec![new]),
            }
        }
    };
    flags.insert(name, value);
}

fn one(flag: &Flag, word: Option<&String>) -> Value {
    word.map_or(Value::Nothing, |word| Value::read(word, flag.value))
}

fn item_type(flag: &Flag) -> Type {
    flag.value
}

/// Returns the full spelling of a flag: `tp` and `--tp-size` are `--tensor-parallel-size`.
///
/// `name` may be written as in a manifest, without dashes; aliases, unique beginnings and, where
/// the engine takes them, underscores are understood. A spelling that says no stays one that says
/// no (`--no-enable-prefix-caching`). A dotted member keeps its path. `None` for a flag that the
/// version does not have.
#[must_use]
pub fn full_name(engine: Engine, version: &str, name: &str) -> Option<String> {
    let table = book(engine).nearest(version);
    let bare = name.trim_start_matches('-');
    let (head, path) = match bare.split_once('.') {
        Some((head, path)) if table.parser().dotted => (head, Some(path)),
        _ => (bare, None),
    };
    let given = if name.starts_with('-') {
        name.get(..name.len() - path.map_or(0, |path| path.len() + 1)).unwrap_or(name).to_owned()
    } else {
        format!("--{head}")
    };
    let probe = if table.parser().underscores { given.replace('_', "-") } else { given };
    let reading = read(&table, &[probe.clone(), "x".to_owned()]);
    let found = reading.given.first()?;
    let flag = found.flag?;
    let full = if found.negated {
        found.spelling.as_str()
    } else if flag.deprecated {
        // Another flag may set the same field to something else: keep what was written.
        flag.names.first().copied().unwrap_or(&found.spelling)
    } else {
        table.full(flag.field).unwrap_or(&found.spelling)
    };
    Some(path.map_or_else(|| full.to_owned(), |path| format!("{full}.{path}")))
}

#[cfg(test)]
mod tests {
    use super::{canonical, canonical_plain, full_name};
    use crate::{Engine, Value};

    fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(str::to_owned).collect()
    }

    fn equal(engine: Engine, version: &str, one: &str, other: &str) -> bool {
        canonical(engine, version, &words(one)) == canonical(engine, version, &words(other))
    }

    #[test]
    fn order_aliases_abbreviations_and_number_spellings_change_nothing() {
        assert!(equal(
            Engine::Sglang,
            "0.5.16",
            "python3 -m sglang.launch_server --model m --tp 4 --mem-fraction-static 0.80 --cuda-graph-max-bs=64",
            "python3 -m sglang.launch_server --cuda-graph-max-bs-decode 64 --mem-fraction-static=0.8 \
             --tensor-parallel-size 4 --model-path m",
        ));
        assert!(equal(
            Engine::Vllm,
            "0.27.1",
            "vllm serve m -tp 4 --speculative_config.method mtp --speculative-config.num_speculative_tokens 3 \
             --max-num-batched-tokens 8k",
            r#"vllm serve --model m --max-num-batched-tokens 8000 --tensor-parallel-size=4 --speculative-config {"num_speculative_tokens":3,"method":"mtp"}"#,
        ));
        assert!(equal(
            Engine::Trtllm,
            "1.3.0rc18",
            "mpirun -n 1 trtllm-serve m --tp_size 8 --ep_size=1",
            "mpirun -n 1 trtllm-serve m --moe_expert_parallel_size 1 --tensor_parallel_size 8",
        ));
    }

    #[test]
    fn a_change_that_the_parser_sees_is_seen() {
        let base = "vllm serve m --enable-prefix-caching --block-size 64";
        let differs = |other| !equal(Engine::Vllm, "0.27.1", base, other);
        assert!(differs("vllm serve m --no-enable-prefix-caching --block-size 64"));
        assert!(differs("vllm serve m --block-size 64"));
        assert!(differs("vllm serve n --enable-prefix-caching --block-size 64"));
        assert!(!equal(
            Engine::Sglang,
            "0.5.16",
            "sglang serve --model-path m",
            "python3 -m sglang.launch_server --model-path m"
        ));
    }

    #[test]
    fn of_a_repeated_flag_the_last_wins_unless_the_parser_keeps_all() {
        assert!(equal(Engine::Sglang, "0.5.16", "sglang serve --tp 2 --tp-size 4", "sglang serve --tp 4"));
        assert!(!equal(
            Engine::Vllm,
            "0.27.1",
            "vllm serve m --middleware a --middleware b",
            "vllm serve m --middleware b --middleware a",
        ));
    }

    #[test]
    fn a_constant_that_a_flag_stores_is_the_value_of_its_field() {
        assert!(equal(
            Engine::Sglang,
            "0.5.16",
            "sglang serve --disable-piecewise-cuda-graph",
            "sglang serve --cuda-graph-backend-prefill disabled",
        ));
    }

    #[test]
    fn the_command_after_a_container_is_kept_word_for_word() {
        let one = canonical_plain(&words("srun --container-mount-home -N 1 --jobid=42 bash run.sh --x 1"));
        let other =
            canonical_plain(&words("srun --jobid 42 --nodes=1 --container-mount-home bash run.sh --x 1"));
        assert_eq!(one, other);
        assert_eq!(one.positionals, words("bash run.sh --x 1"));
        let docker = canonical_plain(&words("docker run --rm -e A=1 -e B=2 image cmd"));
        assert_eq!(docker.positionals, words("image cmd"));
        assert!(matches!(docker.flags.get("--env"), Some(Value::List(list)) if list.len() == 2));
    }

    #[test]
    fn the_full_spelling_is_the_longest_that_stays() {
        let full = |engine, name| full_name(engine, "nightly", name).unwrap_or_default();
        assert_eq!(full(Engine::Sglang, "tp"), "--tensor-parallel-size");
        assert_eq!(full(Engine::Vllm, "no-enable-prefix-caching"), "--no-enable-prefix-caching");
        assert_eq!(
            full(Engine::Vllm, "compilation_config.pass_config.x"),
            "--compilation-config.pass_config.x"
        );
        assert_eq!(full(Engine::Trtllm, "tp_size"), "--tensor_parallel_size");
        assert_eq!(full(Engine::Sglang, "no-such-flag"), "");
    }
}
