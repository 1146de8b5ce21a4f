//! One process as a recipe gives it: program, options, environment, files.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use diag::{Diagnostic, Diagnostics, Span, slugs};

use crate::command::{self, Given, Spelling};
use crate::plan::{File, Role, Word};
use crate::schema::{self, Record};
use crate::tree::{Node, Tree};
use crate::words::{json_word, word};
use crate::yaml;

/// A process before it has a seat.
#[derive(Clone, Default, Debug)]
pub struct Process {
    /// Its argument list.
    pub argv: Vec<Word>,
    /// How many words come before its own options: wrappers, program, positional arguments.
    pub head: usize,
    /// Its options in the documented order.
    pub options: Vec<Given>,
    /// Its environment.
    pub env: BTreeMap<String, Word>,
    /// Where each variable's value was written.
    pub env_at: BTreeMap<Arc<str>, Span>,
    /// Variables that must not be set.
    pub unset: BTreeSet<String>,
    /// Where each variable's name was written.
    pub env_name_at: BTreeMap<Arc<str>, Span>,
    /// Files written before it starts.
    pub files: Vec<File>,
    /// The files that are written from values: path and value.
    pub configs: Vec<(Arc<str>, Tree)>,
    /// The path that answers once it is ready, if it serves.
    pub ready: Option<String>,
    /// Processes that must have ended before it starts, such as installations.
    pub tools: Vec<Process>,
    /// The port that it listens on, where that is not the one that clients use.
    pub port: Option<Word>,
    /// Processes that run beside it.
    pub beside: Vec<Beside>,
    /// What an evaluator is called.
    pub framework: Option<String>,
    /// Where it was written.
    pub at: Option<Span>,
}

/// A process that runs beside a server.
#[derive(Clone, Debug)]
pub struct Beside {
    /// What it does: a router, a KV store, or anything else that runs beside.
    pub role: Role,
    /// The port that it listens on.
    pub port: Word,
    /// What runs.
    pub process: Process,
}

impl Process {
    /// Returns the option of this name.
    #[must_use]
    pub fn option(&self, name: &str) -> Option<&Given> {
        self.options.iter().find(|given| &*given.name == name)
    }
}

/// What every process may say.
const FIELDS: &[&str] = &["wrappers", "program", "args", "env", "files", "ready", "tools", "framework"];

/// What a server may say too.
const OF_SERVERS: &[&str] = &["port", "beside"];

/// What is said of a process beside a server.
const OF_BESIDE: &[&str] = &["role", "port"];

/// Reads what `client` or `eval` returned, or another process that does not serve.
pub(crate) fn process(tree: &Tree, what: &'static str, out: &mut Diagnostics) -> Option<Process> {
    read(&Record::open(tree, what, FIELDS, out)?, tree, out)
}

/// Reads what `serve` returned.
pub(crate) fn server(tree: &Tree, out: &mut Diagnostics) -> Option<Process> {
    let record = Record::open(tree, "the server", &[FIELDS, OF_SERVERS].concat(), out)?;
    let mut server = read(&record, tree, out)?;
    let before = out.iter().count();
    server.port = record.optional("port", out, word);
    let beside = record.optional("beside", out, |tree, name, out| schema::list(tree, name, out, beside));
    server.beside = beside.unwrap_or_default();
    (out.iter().count() == before).then_some(server)
}

fn beside(tree: &Tree, _: &str, out: &mut Diagnostics) -> Option<Beside> {
    let record = Record::open(tree, "a process beside the server", &[FIELDS, OF_BESIDE].concat(), out)?;
    let role = record.required("role", out, |tree, name, out| {
        schema::choice(
            tree,
            name,
            &[("router", Role::Router), ("kv-store", Role::KvStore), ("sidecar", Role::Sidecar)],
            out,
        )
    });
    let port = record.required("port", out, word);
    let process = read(&record, tree, out);
    Some(Beside { role: role?.value, port: port?, process: process? })
}

fn read(record: &Record<'_>, tree: &Tree, out: &mut Diagnostics) -> Option<Process> {
    let before = out.iter().count();
    let mut process = Process { at: tree.at, ..Process::default() };
    let wrappers = record.optional("wrappers", out, |tree, name, out| schema::list(tree, name, out, wrapper));
    process.argv.extend(wrappers.into_iter().flatten().flat_map(|wrapper: Process| wrapper.argv));
    let program = record.required("program", out, |tree, name, out| schema::list(tree, name, out, word));
    process.argv.extend(program.into_iter().flatten());
    process.head = process.argv.len();
    if let Some(field) = record.field("args") {
        process.options = command::options(&field.value, Spelling::Apart, &mut process.argv, out);
    }
    if let Some(field) = record.field("env") {
        environment(&field.value, &mut process, out);
    }
    if let Some(field) = record.field("files") {
        files(&field.value, &mut process, out);
    }
    process.ready = record.optional("ready", out, schema::text).map(|path| path.value);
    process.framework = record.optional("framework", out, schema::text).map(|name| name.value);
    process.tools = record
        .optional("tools", out, |tree, name, out| {
            schema::list(tree, name, out, |tree, _, out| self::process(tree, "a tool", out))
        })
        .unwrap_or_default();
    (out.iter().count() == before).then_some(process)
}

fn wrapper(tree: &Tree, _: &str, out: &mut Diagnostics) -> Option<Process> {
    process(tree, "a wrapper", out)
}

fn environment(tree: &Tree, process: &mut Process, out: &mut Diagnostics) {
    let Node::Set(fields) = &tree.node else {
        out.push(schema::wrong_type(tree, "`env`", "a set of variables"));
        return;
    };
    for field in fields {
        if !is_variable(&field.name) {
            let mut finding = Diagnostic::error(
                slugs::recipe::NOT_A_VARIABLE,
                format!("`{}` cannot be the name of a variable", field.name),
            )
            .why("names are letters, digits and underscores, and begin with no digit");
            finding.span = field.name_at;
            out.push(finding);
            continue;
        }
        process.env_name_at.extend(field.name_at.map(|at| (field.name.clone(), at)));
        if field.value.is_null() {
            process.unset.insert(field.name.to_string());
            continue;
        }
        if let Some(value) = word(&field.value, &field.name, out) {
            process.env.insert(field.name.to_string(), value);
            process.env_at.extend(field.value.at.map(|at| (field.name.clone(), at)));
        }
    }
}

/// Returns true for names that every shell and `execve` take.
#[must_use]
pub(crate) fn is_variable(name: &str) -> bool {
    name.bytes().next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_')
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Reads a set of variables that are not a process's: those of a target.
pub(crate) fn variables(tree: &Tree, out: &mut Diagnostics) -> BTreeMap<String, Word> {
    let mut process = Process::default();
    environment(tree, &mut process, out);
    process.env
}

fn files(tree: &Tree, process: &mut Process, out: &mut Diagnostics) {
    let Node::Set(fields) = &tree.node else {
        out.push(schema::wrong_type(tree, "`files`", "a set of files by path"));
        return;
    };
    for field in fields {
        let Some(record) = Record::open(&field.value, "a file", &["yaml", "json", "text"], out) else {
            continue;
        };
        let text = match (record.field("yaml"), record.field("json"), record.field("text")) {
            (Some(value), None, None) => {
                process.configs.push((field.name.clone(), value.value.clone()));
                yaml::document(&value.value, out)
            }
            (None, Some(value), None) => json_word(&value.value, out),
            (None, None, Some(value)) => word(&value.value, "the text of a file", out),
            _ => {
                let mut finding = Diagnostic::error(
                    slugs::recipe::MISSING_FIELD,
                    format!("the file `{}` has not exactly one of `yaml`, `json` and `text`", field.name),
                );
                finding.span = field.name_at;
                out.push(finding);
                None
            }
        };
        // A relative path is written from the workspace, which `./` says to every reader.
        let path = if field.name.starts_with('/') || field.name.starts_with("./") {
            field.name.to_string()
        } else {
            format!("./{}", field.name)
        };
        process.files.extend(text.map(|text| File { path: Word::from(path), text }));
    }
}
