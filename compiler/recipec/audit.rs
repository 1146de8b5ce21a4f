//! `recipec audit`: what was served and measured, beside the lock.

mod attest;
mod attestation;
mod checkpoint;
mod documents;
mod image;
mod nodes;
mod results;
mod run;
mod told;

use std::collections::BTreeMap;
use std::path::Path;

use ::lock::pin::{Entry, File, Pin, Snapshot};
use ::lock::{Digest, Lock};
use diag::slugs::host::CANNOT_READ;
use diag::{Diagnostic, Diagnostics};
use host::files::Root;
use recipe::want::Want;

use crate::arguments::{Audit, Audited, Options};
use crate::corpus::LOCK_LIMIT;
use crate::outcome::Outcome;

/// Audits what was asked for.
pub(crate) fn run(verb: &Audit, options: &Options) -> Outcome {
    match &verb.what {
        Audited::Checkpoint(verb) => checkpoint::run(verb),
        Audited::Nodes(verb) => nodes::run(verb),
        Audited::Image(verb) => image::run(verb),
        Audited::Run(verb) => run::run(verb),
        Audited::Results(verb) => results::run(verb, options),
        Audited::Attestation(verb) => attestation::run(verb),
    }
}

/// A checkpoint that a lock pins.
struct Pinned {
    repository: String,
    snapshot: Snapshot,
    files: Vec<File>,
}

/// Reads a lock by its path, with the folder that holds `lockfiles`.
fn read_lock(path: &Path) -> Result<(Lock, Root), Diagnostics> {
    let shown = path.display().to_string();
    let unreadable = |why: String| {
        let finding = Diagnostic::error(CANNOT_READ, format!("cannot read `{shown}`")).why(why);
        Diagnostics::from_iter([finding])
    };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let here = Root::open(folder).map_err(|error| unreadable(error.to_string()))?;
    let bytes = here.bytes(&name, LOCK_LIMIT).map_err(|error| unreadable(error.to_string()))?;
    let lock = Lock::read(&shown, &String::from_utf8_lossy(&bytes))?;
    let root = folder
        .ancestors()
        .find(|folder| folder.file_name().is_some_and(|name| name == "lockfiles"))
        .and_then(Path::parent)
        .map(|root| if root.as_os_str().is_empty() { Path::new(".") } else { root });
    let root = match root {
        Some(root) => Root::open(root).map_err(|error| unreadable(error.to_string()))?,
        None => here,
    };
    Ok((lock, root))
}

/// Returns the checkpoints that a lock pins, each with its file list.
fn checkpoints(lock: &Lock, root: &Root) -> Result<Vec<Pinned>, Diagnostics> {
    let mut lists: BTreeMap<Digest, Vec<File>> = BTreeMap::new();
    let mut all = Vec::new();
    for (repository, snapshot) in snapshots(lock) {
        let files = match lists.get(&snapshot.files) {
            Some(files) => files.clone(),
            None => {
                let files = list(root, &snapshot.files)?;
                lists.insert(snapshot.files.clone(), files.clone());
                files
            }
        };
        all.push(Pinned { repository: repository.clone(), snapshot: snapshot.clone(), files });
    }
    Ok(all)
}

fn snapshots(lock: &Lock) -> impl Iterator<Item = (&String, &Snapshot)> {
    lock.pins.values().filter_map(|entry| match entry {
        Entry::Pinned { want: Want::Checkpoint { repository, .. }, pin: Pin::Checkpoint(snapshot) } => {
            Some((repository, snapshot))
        }
        _ => None,
    })
}

fn list(root: &Root, digest: &Digest) -> Result<Vec<File>, Diagnostics> {
    let path = ::lock::files::path(digest);
    let bytes = root
        .bytes(&path, LOCK_LIMIT)
        .map_err(|error| Diagnostics::from_iter([crate::workspace::unreadable(&path, &error)]))?;
    ::lock::files::read(digest, &String::from_utf8_lossy(&bytes))
}

/// Returns every checkpoint that a lock of the root pins. Locks that cannot be read are left out: they are
/// asked what a folder is that is not what it should be, and the verdict stands without them.
fn every_checkpoint(root: &Root) -> Vec<Pinned> {
    let mut all: BTreeMap<(String, String), Pinned> = BTreeMap::new();
    for path in root.walk("lockfiles", ".lock.json").unwrap_or_default() {
        let Ok(bytes) = root.bytes(&path, LOCK_LIMIT) else { continue };
        let Ok(lock) = Lock::read(&path, &String::from_utf8_lossy(&bytes)) else { continue };
        for (repository, snapshot) in snapshots(&lock) {
            let name = (repository.clone(), snapshot.commit.clone());
            if let (false, Ok(files)) = (all.contains_key(&name), list(root, &snapshot.files)) {
                all.insert(
                    name,
                    Pinned { repository: repository.clone(), snapshot: snapshot.clone(), files },
                );
            }
        }
    }
    all.into_values().collect()
}
