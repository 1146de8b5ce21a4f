//! What lies in a folder of results, taken in piece by piece.
//!
//! [`kind`] says by a file's name how it is to be read; [`Gathered`] takes what was read. Nothing is
//! ever held whole that may be large: records of requests and logs are taken line by line.

use std::collections::BTreeMap;

use engine::Engine;
use serde_json::{Map, Value};

use crate::coverage::Records;
use crate::evidence::{self, Evidence};
use crate::log::Log;
use crate::results::{self, Measured};
use crate::{python, shell};

/// The most bytes of a file that is read whole.
pub const WHOLE: u64 = 64 << 20;

/// The most bytes of one line; what is longer is left out.
pub const LINE: usize = 16 << 20;

/// How a file is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Whole, as a document.
    Document,
    /// Whole, as a command or an environment.
    Dump,
    /// Line by line: what was measured of each request.
    Records,
    /// Line by line: what a process said.
    Log,
}

/// Returns how a file of that name is read; `None` where it says nothing about a run.
#[must_use]
pub fn kind(path: &str) -> Option<Kind> {
    let name = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
    let ends = |ends: &[&str]| ends.iter().any(|end| name.ends_with(end));
    if name == "profile_export.jsonl" {
        Some(Kind::Records)
    } else if name.ends_with(".json") && !name.starts_with("samples") && name != "inputs.json" {
        Some(Kind::Document)
    } else if ends(&["command.txt", "command.sh", "cmdline", "environ", "environ.txt", "env.txt"]) {
        Some(Kind::Dump)
    } else if ends(&[".log", ".out", ".err", ".prom"]) || name.starts_with("metrics") && ends(&[".txt"]) {
        Some(Kind::Log)
    } else {
        None
    }
}

/// A command that was recorded.
#[derive(Clone, Debug)]
pub struct Command {
    /// The file that has it.
    pub path: String,
    /// Its words.
    pub argv: Vec<String>,
    /// Whether the words are the kernel's.
    pub kernel: bool,
}

/// An environment that was recorded.
#[derive(Clone, Debug)]
pub struct Variables {
    /// The file that has it.
    pub path: String,
    /// The variables.
    pub given: BTreeMap<String, String>,
}

/// A checkpoint that `recipec audit checkpoint` looked at.
#[derive(Clone, Debug)]
pub struct Looked {
    /// The file that says so.
    pub path: String,
    /// What it was found to be.
    pub state: String,
    /// Repository and commit of what it really is.
    pub is: Option<(String, String)>,
    /// Whether the content of every file was looked at, and not names and sizes alone.
    pub whole: bool,
}

/// What lies in a folder.
#[derive(Clone, Default, Debug)]
pub struct Gathered {
    /// Evidence of emitted scripts, by path.
    pub evidence: BTreeMap<String, Evidence>,
    /// Results, by path.
    pub results: BTreeMap<String, Measured>,
    /// Digests of the files that were read whole, by path.
    pub digests: BTreeMap<String, String>,
    /// Commands.
    pub commands: Vec<Command>,
    /// Environments.
    pub variables: Vec<Variables>,
    /// Logs and dumps of counters that say something, by path.
    pub logs: BTreeMap<String, Log>,
    /// Counters of the server as the client exported them, by path.
    pub counters: BTreeMap<String, Map<String, Value>>,
    /// Requests one by one, by path.
    pub records: BTreeMap<String, Records>,
    /// What an evaluation notes beside its scores, by path.
    pub notes: BTreeMap<String, Map<String, Value>>,
    /// Checkpoints that were audited.
    pub looked: Vec<Looked>,
    /// What could not be read, with why.
    pub unread: Vec<(String, String)>,
}

impl Gathered {
    /// Takes a document with the digest of its bytes.
    pub fn document(&mut self, path: &str, text: &str, sha256: String) {
        match evidence::read(text) {
            Some(Ok(evidence)) => {
                self.evidence.insert(path.to_owned(), evidence);
                return;
            }
            Some(Err(why)) => {
                self.unread.push((path.to_owned(), why));
                return;
            }
            None => {}
        }
        let value: Value = match serde_json::from_str(text) {
            Ok(value) => value,
            // Python writes NaN, which is no JSON; nobody publishes it either.
            Err(error) => {
                self.unread.push((path.to_owned(), error.to_string()));
                return;
            }
        };
        let Value::Object(map) = value else { return };
        let name = path.rsplit('/').next().unwrap_or(path);
        let text = |name: &str| map.get(name).and_then(Value::as_str);
        if text("command") == Some("audit checkpoint") {
            let is = map.get("is").and_then(|is| {
                Some((is.get("repo")?.as_str()?.to_owned(), is.get("commit")?.as_str()?.to_owned()))
            });
            let state = text("state").unwrap_or_default().to_owned();
            let files = map.get("files").and_then(Value::as_array);
            let read = |file: &Value| file.get("read").and_then(Value::as_bool).unwrap_or(false);
            let whole = files.is_some_and(|files| !files.is_empty() && files.iter().all(read));
            self.looked.push(Looked { path: path.to_owned(), state, is, whole });
        } else if name == "server_metrics_export.json" {
            if let Some(Value::Object(metrics)) = map.get("metrics") {
                self.counters.insert(path.to_owned(), metrics.clone());
            }
        } else if name == "meta_env.json" {
            self.notes.insert(path.to_owned(), map);
        } else if let Some(measured) = results::read(name, &map) {
            self.digests.insert(path.to_owned(), sha256);
            self.results.insert(path.to_owned(), measured);
        }
    }

    /// Takes a recorded command or environment.
    pub fn dump(&mut self, path: &str, bytes: &[u8]) {
        let name = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
        let text = String::from_utf8_lossy(bytes);
        if name.contains("environ") || name.ends_with("env.txt") {
            let pairs: Vec<&str> =
                if text.contains('\0') { text.split('\0').collect() } else { text.lines().collect() };
            let given: BTreeMap<String, String> = pairs
                .into_iter()
                .filter_map(|pair| pair.split_once('='))
                .filter(|(name, _)| !name.is_empty() && !name.contains(char::is_whitespace))
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .collect();
            self.variables.push(Variables { path: path.to_owned(), given });
        } else if text.contains('\0') {
            let argv: Vec<String> = text.trim_end_matches('\0').split('\0').map(str::to_owned).collect();
            self.commands.push(Command { path: path.to_owned(), argv, kernel: true });
        } else {
            match shell::commands(&text) {
                Ok(all) => self.commands.extend(all.into_iter().map(|argv| {
                    // Variables that stand before a command are not its words.
                    let assigned = argv.iter().take_while(|word| is_assignment(word)).count();
                    Command {
                        path: path.to_owned(),
                        argv: argv.get(assigned..).unwrap_or_default().to_vec(),
                        kernel: false,
                    }
                })),
                Err(why) => self.unread.push((path.to_owned(), why)),
            }
        }
    }

    /// Takes one line of the records of requests.
    pub fn record(&mut self, path: &str, line: &str) {
        self.records.entry(path.to_owned()).or_default().line(line);
    }

    /// Takes one line of a log.
    pub fn line(&mut self, path: &str, line: &str) {
        if !self.logs.contains_key(path) && !Log::speaks(line) {
            return;
        }
        self.logs.entry(path.to_owned()).or_default().line(line);
    }

    /// Returns whether there is anything to judge.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.evidence.is_empty() && self.results.is_empty()
    }
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty()
            && !name.starts_with(|c: char| c.is_ascii_digit())
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    })
}

impl Command {
    /// Returns the engine that it starts.
    #[must_use]
    pub fn engine(&self) -> Option<Engine> {
        Engine::of_command(&self.argv)
    }
}

/// Reads what an engine logs of its arguments: `server_args=ServerArgs(…)`, `non-default args: {…}`,
/// `Namespace(…)`. The second part tells whether only what is not as by default is there.
#[must_use]
pub fn logged_arguments(line: &str) -> Option<(Map<String, Value>, bool)> {
    for (mark, only) in [("non-default args: ", true), ("ServerArgs(", false), ("Namespace(", false)] {
        let Some(at) = line.find(mark) else { continue };
        let from = if only { at + mark.len() } else { at };
        if let Some(Value::Object(fields)) = python::value(line.get(from..)?) {
            return Some((fields, only));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{Gathered, Kind, kind, logged_arguments};

    #[test]
    fn a_name_says_how_a_file_is_read() {
        assert_eq!(kind("results/sglang_command.txt"), Some(Kind::Dump));
        assert_eq!(kind("proc/12/cmdline"), Some(Kind::Dump));
        assert_eq!(kind("proc/12/environ"), Some(Kind::Dump));
        assert_eq!(kind("server.log"), Some(Kind::Log));
        assert_eq!(kind("aiperf_artifacts/profile_export.jsonl"), Some(Kind::Records));
        assert_eq!(kind("samples_gsm8k.jsonl"), None);
        assert_eq!(kind("plot.png"), None);
    }

    #[test]
    fn a_kernels_words_and_a_shells_words_are_told_apart() {
        let mut all = Gathered::default();
        all.dump("a/cmdline", b"/usr/bin/python3\0/usr/local/bin/vllm\0serve\0m n\0");
        all.dump("b/vllm_command.txt", b"A=1 vllm serve m\\ n \n");
        all.dump("a/environ", b"A=1\0B=two\nlines\0");
        assert!(all.commands[0].kernel && !all.commands[1].kernel);
        assert_eq!(all.commands[0].argv.last(), all.commands[1].argv.last());
        assert_eq!(all.commands[1].argv[0], "vllm");
        assert_eq!(all.variables[0].given["B"], "two\nlines");
    }

    #[test]
    fn engines_say_what_they_were_given() {
        let line =
            "(APIServer pid=7) INFO 08-01 [utils.py:253] non-default args: {'model_tag': 'm', 'port': 8888}";
        assert!(logged_arguments(line).is_some_and(|(fields, only)| only && fields["port"] == 8888));
        let line = "[2026-08-01] server_args=ServerArgs(model_path='m', tp_size=8)";
        assert!(logged_arguments(line).is_some_and(|(fields, only)| !only && fields["tp_size"] == 8));
        assert_eq!(logged_arguments("nothing"), None);
    }
}
