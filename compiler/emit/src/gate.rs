//! What the checkpoint gate of a script compares with: the locked files, and where they should be.

use std::collections::BTreeMap;

use diag::slugs::lock::LOCK_UNPINNED;
use diag::slugs::recipe::NO_PLACE_FOR_CHECKPOINT;
use diag::slugs::upstream::UNSAFE_PATH;
use diag::{Diagnostic, Diagnostics};
use lock::pin::{Entry, File, Pin, Snapshot};
use lock::{Digest, Lock};
use recipe::plan::{Plan, Word};
use recipe::want::Want;

use crate::bash::Bash;
use crate::holes::Holes;
use crate::quote::{self, quote};
use crate::site::Site;

/// A checkpoint that a plan serves.
#[derive(Debug)]
pub(crate) struct Checkpoint<'a> {
    pub(crate) repository: &'a str,
    pub(crate) snapshot: &'a Snapshot,
    pub(crate) place: Place,
    files: Vec<&'a File>,
}

/// Where a checkpoint should be, in the container.
#[derive(Debug)]
pub(crate) enum Place {
    /// A folder of its own.
    Directory(Word),
    /// A hub cache.
    Cache(Word),
}

impl Checkpoint<'_> {
    pub(crate) fn in_cache(&self) -> bool {
        matches!(self.place, Place::Cache(_))
    }
}

/// Finds the checkpoints of a plan in the lock. Reports every one that has no pin, no file list or
/// no place.
pub(crate) fn checkpoints<'a>(
    plan: &Plan,
    lock: &'a Lock,
    lists: &'a BTreeMap<Digest, Vec<File>>,
    site: &Site,
    found: &mut Diagnostics,
) -> Vec<Checkpoint<'a>> {
    let mut checkpoints = Vec::new();
    for name in plan.wants.iter().filter(|name| name.starts_with("checkpoint:")) {
        let (repository, snapshot) = match lock.pins.get(name) {
            Some(Entry::Pinned {
                want: Want::Checkpoint { repository, .. },
                pin: Pin::Checkpoint(snapshot),
            }) => (repository.as_str(), snapshot),
            Some(Entry::Unpinned { reason, .. }) => {
                found.push(unpinned(name, reason));
                continue;
            }
            _ => {
                found.push(unpinned(name, "the lock does not name it"));
                continue;
            }
        };
        let Some(list) = lists.get(&snapshot.files) else {
            let path = lock::files::path(&snapshot.files);
            found.push(unpinned(name, &format!("its file list `{path}` is not there")));
            continue;
        };
        let Some(place) = place(plan, repository, site) else {
            found.push(
                Diagnostic::error(NO_PLACE_FOR_CHECKPOINT, format!("target `{}` has no place for `{repository}`", plan.target))
                    .why("it is neither staged there nor in a hub cache or folder that the target names")
                    .help("add it to `checkpoints.staged` of the target, or give the target a `cache` or `directory`"),
            );
            continue;
        };
        let mut files: Vec<&File> = list.iter().collect();
        // Big files first, so that those who hash them end at about the same time.
        files.sort_by(|a, b| b.size.cmp(&a.size).then_with(|| a.path.cmp(&b.path)));
        for file in &files {
            check_path(repository, file, found);
        }
        checkpoints.push(Checkpoint { repository, snapshot, place, files });
    }
    checkpoints
}

pub(crate) fn unpinned(name: &str, reason: &str) -> Diagnostic {
    Diagnostic::error(LOCK_UNPINNED, format!("`{name}` has no pin"))
        .why(reason)
        .help("run `recipec lock`, then build again")
}

fn check_path(repository: &str, file: &File, found: &mut Diagnostics) {
    let path = file.path.as_str();
    let odd = path.is_empty()
        || path.bytes().any(|byte| byte < b' ' || byte == 0x7f)
        || path.split('/').any(|part| matches!(part, "" | "." | ".."));
    if odd {
        found.push(
            Diagnostic::error(UNSAFE_PATH, format!("{path:?} of `{repository}` is no path that a script may follow"))
                .why("a file list comes from a hub, so a path that leaves the folder or holds a control character is refused"),
        );
    }
    if file.sha256.is_none() && file.blob.is_none() {
        found.push(unpinned(
            &format!("{repository}/{path}"),
            "the lock has neither its sha256 nor its blob id",
        ));
    }
}

/// Returns where a checkpoint should be: where the plan's own download puts it, else where it is
/// staged, else the target's folder or cache.
fn place(plan: &Plan, repository: &str, site: &Site) -> Option<Place> {
    if let Some(argv) = download_of(plan, repository) {
        if let Some(directory) = option(argv, "--local-dir") {
            return Some(Place::Directory(directory));
        }
    } else if let Some(path) = site.staged.get(repository) {
        return Some(Place::Directory(path.as_str().into()));
    }
    if let Some(cache) = &site.cache {
        return Some(Place::Cache(cache.as_str().into()));
    }
    if let Some(directory) = &site.directory {
        let name = repository.rsplit('/').next().unwrap_or(repository);
        return Some(Place::Directory(format!("{}/{name}", directory.trim_end_matches('/')).into()));
    }
    let serves = plan.groups.iter().filter(|group| matches!(group.role, recipe::plan::Role::Serve(_)));
    let mut ranks = serves.flat_map(|group| &group.replicas).flat_map(|replica| &replica.ranks);
    ranks.find_map(|rank| rank.env.get("HF_HUB_CACHE")).map(|cache| Place::Cache(cache.clone()))
}

/// Returns the argv of the plan's download of a repository.
fn download_of<'p>(plan: &'p Plan, repository: &str) -> Option<&'p [Word]> {
    let downloads = plan.groups.iter().filter(|group| group.kind == "download");
    downloads
        .flat_map(|group| &group.replicas)
        .flat_map(|replica| &replica.ranks)
        .map(|rank| rank.argv.as_slice())
        .find(|argv| argv.iter().any(|word| word.as_text() == Some(repository)))
}

/// Returns the value of `NAME VALUE` or `NAME=VALUE` in an argv.
fn option(argv: &[Word], name: &str) -> Option<Word> {
    let mut words = argv.iter();
    while let Some(word) = words.next() {
        if word.as_text() == Some(name) {
            return words.next().cloned();
        }
        if let Some(value) =
            word.as_text().and_then(|text| text.strip_prefix(name)).and_then(|text| text.strip_prefix('='))
        {
            return Some(value.into());
        }
    }
    None
}

/// Writes `checkpoint_N`, which says what the gate compares.
pub(crate) fn write(bash: &mut Bash, index: usize, checkpoint: &Checkpoint<'_>, holes: &Holes) {
    bash.function(&format!("checkpoint_{index}"), |bash| {
        bash.assign("repository", checkpoint.repository);
        bash.assign("commit", &checkpoint.snapshot.commit);
        bash.assign("list", &checkpoint.snapshot.files.to_string());
        let (layout, place) = match &checkpoint.place {
            Place::Directory(word) => ("directory", word),
            Place::Cache(word) => ("cache", word),
        };
        bash.assign("layout", layout);
        bash.line(&format!("place={}", quote::word(place, holes)));
        bash.line("place=${place%/}");
        let files: Vec<String> = checkpoint
            .files
            .iter()
            .map(|file| {
                let (kind, hex) = match (&file.sha256, &file.blob) {
                    (Some(digest), _) => ("sha256", digest.hex()),
                    (None, blob) => ("blob", blob.as_deref().unwrap_or_default()),
                };
                quote(&format!("{} {kind} {hex} {}", file.size, file.path))
            })
            .collect();
        bash.array("files", &files);
    });
}
