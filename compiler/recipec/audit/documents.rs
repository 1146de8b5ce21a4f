//! What the small files of a staged checkpoint say: beside the lock, and beside its shards.

use std::collections::BTreeMap;
use std::path::Path;

use ::lock::pin::File;
use audit::checkpoint::{Report, Wanted};
use audit::found::State;
use audit::shards::{self, HEADER_LIMIT, INDEX};
use diag::Diagnostic;
use diag::slugs::audit::INDEX_WRONG;
use engine::known::Checkpoint;
use host::contents::{plain_blob, tensor_header};
use host::hash::head;
use host::{Cache, Environment};
use serde_json::Value;
use upstream::hub::Documents;

/// The files that say what a checkpoint is.
const DOCUMENTS: &[&str] = &[
    "config.json",
    "hf_quant_config.json",
    "generation_config.json",
    "tokenizer_config.json",
    "chat_template.jinja",
    "chat_template.json",
];

/// The most bytes of one of them that are read.
const LIMIT: u64 = 16 << 20;

/// The most members of a document that are said to differ.
const SHOWN: usize = 8;

/// Says of each document that is not as locked what it says otherwise, as far as that is known: by the
/// locked text, where the hub's client or an earlier run of recipec left it, else by the locked facts.
pub(super) fn differences(
    report: &mut Report,
    wanted: &Wanted<'_>,
    folder: &Path,
    blobs: Option<&Path>,
    known: Option<&Checkpoint>,
) {
    let cache = Environment::of_process().cache().map(|folder| Cache::new(&folder));
    let wrong: Vec<&File> = wanted
        .files
        .iter()
        .filter(|file| DOCUMENTS.contains(&file.path.as_str()))
        .filter(|file| {
            let found = report.files.iter().find(|found| found.path == file.path);
            found.is_some_and(|found| matches!(found.state, State::Hash | State::Size))
        })
        .collect();
    for file in wrong {
        let path = folder.join(&file.path);
        if let Some(blob) = plain_blob(&path) {
            report.without_returns(file, &blob);
        }
        let Some(ours) = head(&path, LIMIT).ok().and_then(|text| serde_json::from_str::<Value>(&text).ok())
        else {
            continue;
        };
        for note in
            locked_text(file, blobs, cache.as_ref()).map(|theirs| members(&ours, &theirs)).unwrap_or_default()
        {
            report.add_note(&file.path, &note);
        }
    }
    let config = report.files.iter().any(|found| found.path == "config.json" && found.state != State::Ok);
    if let (true, Some(known)) = (config, known) {
        for note in facts(&documents(folder).facts(0), known) {
            report.add_note("config.json", &note);
        }
    }
}

fn documents(folder: &Path) -> Documents {
    let mut texts = BTreeMap::new();
    for name in DOCUMENTS {
        texts.extend(head(&folder.join(name), LIMIT).ok().map(|text| ((*name).to_owned(), text)));
    }
    Documents { texts }
}

/// Returns the locked text of a document if it lies about; whoever has it, it is hashed.
fn locked_text(file: &File, blobs: Option<&Path>, cache: Option<&Cache>) -> Option<Value> {
    let blob = file.blob.as_deref()?;
    let kept = cache.and_then(|cache| cache.content(&format!("blob {blob}"))).map(|kept| kept.body);
    let beside = || Some(head(&blobs?.join(blob), LIMIT).ok()?.into_bytes());
    let text = kept.or_else(beside).filter(|text| upstream::git_blob_id(text) == blob)?;
    serde_json::from_slice(&text).ok()
}

/// Says which members of a document differ.
fn members(ours: &Value, theirs: &Value) -> Vec<String> {
    let (ours, theirs) = (leaves(ours), leaves(theirs));
    let mut notes = Vec::new();
    let names: std::collections::BTreeSet<&String> = ours.keys().chain(theirs.keys()).collect();
    for name in names {
        match (ours.get(name), theirs.get(name)) {
            (Some(ours), Some(theirs)) if ours != theirs => {
                notes.push(format!("`{name}` is {ours}, {theirs} in the locked one"));
            }
            (Some(ours), None) => notes.push(format!("`{name}` is {ours}, absent from the locked one")),
            (None, Some(theirs)) => notes.push(format!("`{name}` is absent, {theirs} in the locked one")),
            _ => {}
        }
    }
    shorten(notes)
}

fn shorten(mut notes: Vec<String>) -> Vec<String> {
    let more = notes.len().saturating_sub(SHOWN);
    notes.truncate(SHOWN);
    if more > 0 {
        notes.push(format!("{more} more members differ"));
    }
    notes
}

/// Returns the members of a document by their paths, each as short JSON.
fn leaves(value: &Value) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    let mut open = vec![(String::new(), value)];
    while let Some((path, value)) = open.pop() {
        match value {
            Value::Object(members) if !members.is_empty() => {
                let below =
                    |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
                open.extend(members.iter().map(|(name, value)| (below(name), value)));
            }
            _ => {
                let text: String = value.to_string().chars().take(80).collect();
                all.insert(path, text);
            }
        }
    }
    all
}

/// Says which facts differ that both state.
fn facts(ours: &Checkpoint, theirs: &Checkpoint) -> Vec<String> {
    let object = |facts: &Checkpoint| serde_json::to_value(facts).unwrap_or_default();
    let (ours, theirs) = (object(ours), object(theirs));
    let mut notes = Vec::new();
    for (name, theirs) in theirs.as_object().into_iter().flatten().filter(|(name, _)| *name != "weightBytes")
    {
        let (Some(ours), Some(theirs)) = (ours.pointer(&format!("/{name}/value")), theirs.get("value"))
        else {
            continue;
        };
        if ours != theirs && !ours.is_array() {
            notes.push(format!("it states {name} {ours}, the lock {theirs}"));
        }
    }
    shorten(notes)
}

/// Returns what the files of a checkpoint say against one another although each is as locked.
pub(super) fn conflicts(report: &Report, wanted: &Wanted<'_>, folder: &Path) -> Vec<Diagnostic> {
    let mut found = documents(folder).conflicts(wanted.repository);
    let there = |name: &str| {
        report.files.iter().any(|one| one.path == name && matches!(one.state, State::Ok | State::Extra))
    };
    let index = folder.join(INDEX);
    let shards: Vec<&str> = wanted
        .files
        .iter()
        .map(|file| file.path.as_str())
        .filter(|path| path.ends_with(".safetensors") && !path.contains('/') && there(path))
        .collect();
    if !there(INDEX) {
        return found;
    }
    let Ok(text) = head(&index, HEADER_LIMIT) else { return found };
    let shards = shards
        .into_iter()
        .map(|path| {
            let header = tensor_header(&folder.join(path), HEADER_LIMIT);
            (path.to_owned(), header.and_then(|header| shards::tensors(&header)))
        })
        .collect();
    // A locked file that is missing or wrong is found as that.
    let locked = |name: &str| wanted.files.iter().any(|file| file.path == name);
    let faults = shards::faults(&text, &shards, &locked);
    for fatal in [true, false] {
        let faults: Vec<&shards::Fault> = faults.iter().filter(|fault| fault.fatal == fatal).collect();
        if faults.is_empty() {
            continue;
        }
        let message = format!("the index of `{}` is not about its shards", folder.display());
        let mut finding = if fatal {
            Diagnostic::error(INDEX_WRONG, message)
        } else {
            Diagnostic::warning(INDEX_WRONG, message)
        };
        for fault in faults.iter().take(SHOWN) {
            finding = finding.why(fault.what.clone());
        }
        found.push(finding.help(
            "the files are as locked: ask the owner of the checkpoint, and lock a revision whose index is right",
        ));
    }
    found
}
