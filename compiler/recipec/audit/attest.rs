//! `--attest`: what an audit found, signed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ::lock::Lock;
use ::lock::pin::{Entry, Pin};
use audit::attestation::{Key, LIMIT, LockName, Predicate, Statement, Subject, Verdict, sign};
use diag::Diagnostic;
use diag::slugs::cli::OPTION_NOT_READ;
use diag::slugs::host::{CANNOT_READ, CANNOT_WRITE};
use host::stamp::whole;
use host::{Environment, write_atomic};
use recipe::want::Want;
use serde_json::{Value, json};

use crate::arguments::Attest;

/// What an attestation needs, found out before the work that is attested.
pub(super) struct Signer {
    path: PathBuf,
    key: Key,
    time: String,
}

impl Signer {
    /// Returns what signs, where an attestation is asked for.
    pub(super) fn of(options: &Attest) -> Result<Option<Self>, Diagnostic> {
        let (Some(path), Some(key)) = (&options.attest, &options.key) else { return Ok(None) };
        let time = match &options.at {
            Some(time) if is_time(time) => time.clone(),
            Some(time) => {
                return Err(Diagnostic::error(
                    OPTION_NOT_READ,
                    format!("`{}` is no time", time.escape_debug()),
                )
                .help("write it in UTC, such as `2026-12-07T12:00:00Z`"));
            }
            None => host::clock::now(&Environment::of_process()),
        };
        let key = Key::read(&read_key(key)?).map_err(|why| unusable(key, why))?;
        Ok(Some(Self { path: path.clone(), key, time }))
    }

    /// Writes the attestation. `plans` are digests of the plans that the subjects are of.
    pub(super) fn write(
        self,
        command: &str,
        lock: &Lock,
        subjects: Vec<Subject>,
        plans: BTreeMap<String, String>,
        verdicts: Vec<Verdict>,
    ) -> Result<(), Diagnostic> {
        let (checkpoints, images) = pins(lock);
        let predicate = Predicate {
            recipec: env!("CARGO_PKG_VERSION").to_owned(),
            command: command.to_owned(),
            time: self.time,
            lock: LockName { recipe: lock.recipe.clone(), seal: lock.seal() },
            plans,
            checkpoints,
            images,
            verdicts,
        };
        let envelope = sign(&Statement { subjects, predicate }, &self.key);
        write_atomic(&self.path, envelope.as_bytes()).map(|_| ()).map_err(|error| {
            let message = format!("cannot write `{}`", self.path.display());
            Diagnostic::error(CANNOT_WRITE, message).why(error.to_string())
        })
    }
}

/// Reads the text of a key.
pub(super) fn read_key(path: &Path) -> Result<String, Diagnostic> {
    let bytes = whole(path, LIMIT).map_err(|error| unusable(path, error.to_string()))?;
    String::from_utf8(bytes).map_err(|_| unusable(path, "it is no text".to_owned()))
}

/// Returns the finding of a key that cannot be used.
pub(super) fn unusable(path: &Path, why: String) -> Diagnostic {
    Diagnostic::error(CANNOT_READ, format!("cannot use `{}` as a key", path.display())).why(why)
}

/// Returns the checkpoints and the images that a lock pins.
fn pins(lock: &Lock) -> (BTreeMap<String, Value>, BTreeMap<String, ::lock::Digest>) {
    let (mut checkpoints, mut images) = (BTreeMap::new(), BTreeMap::new());
    for entry in lock.pins.values() {
        match entry {
            Entry::Pinned { want: Want::Checkpoint { repository, .. }, pin: Pin::Checkpoint(snapshot) } => {
                let pinned = json!({ "commit": snapshot.commit, "files": snapshot.files });
                checkpoints.insert(repository.clone(), pinned);
            }
            Entry::Pinned { want: Want::Image { reference, .. }, pin: Pin::Image(image) } => {
                images.insert(reference.clone(), image.digest.clone());
            }
            _ => {}
        }
    }
    (checkpoints, images)
}

/// Says whether a text is a time in UTC to the second, by its shape.
fn is_time(text: &str) -> bool {
    let shape: String = text.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    shape == "0000-00-00T00:00:00Z"
}
