//! What an emitted script left behind: `STEM.evidence.json`.
//!
//! The format is written down beside what writes it, in `emit::evidence`. Fields that are not known
//! here are ignored, and missing ones are missing evidence.

use std::collections::BTreeMap;

use serde::Deserialize;

/// The most bytes of one evidence file.
pub const LIMIT: u64 = 16 << 20;

/// One run of one script.
#[derive(Clone, Default, Debug, Deserialize)]
#[serde(default)]
pub struct Evidence {
    /// Version of the format.
    pub version: u32,
    /// `recipec-evidence`.
    pub kind: String,
    /// Config key.
    pub recipe: String,
    /// Name of the target.
    pub target: String,
    /// `throughput` or `eval`.
    pub mode: String,
    /// Index of the job in the recipe's matrix.
    pub job: Option<u32>,
    /// Digest of the plan.
    pub plan: String,
    /// Seal of the lock that the script was made from.
    pub lock: String,
    /// Digest of the script that ran.
    pub script: String,
    /// The image.
    pub image: Image,
    /// Checkpoints that the gate looked at.
    pub checkpoints: Vec<Checkpoint>,
    /// Processes, in the order of their start.
    pub processes: Vec<Process>,
    /// Files that the run left.
    pub results: Vec<File>,
    /// The run's status.
    pub exit: Option<i64>,
    /// The named reason if it was stopped.
    pub stopped: Option<String>,
}

/// The image of a run.
#[derive(Clone, Default, Debug, Deserialize)]
#[serde(default)]
pub struct Image {
    /// As the manifest names it.
    pub wanted: String,
    /// As the lock pins it.
    pub pinned: Pinned,
    /// What the runtime said that it ran.
    pub seen: String,
}

/// A pinned image.
#[derive(Clone, Default, Debug, Deserialize)]
#[serde(default)]
pub struct Pinned {
    /// Digest of the index or manifest.
    pub digest: String,
    /// Digest of the platform's manifest.
    pub platform: String,
    /// Digest of the config.
    pub config: Option<String>,
}

/// A checkpoint that the gate looked at.
#[derive(Clone, Default, Debug, Deserialize)]
#[serde(default)]
pub struct Checkpoint {
    /// Repository id.
    pub repository: String,
    /// Commit.
    pub commit: String,
    /// Digest of the locked file list.
    pub list: String,
    /// `full`, or `stamp` where an earlier look still held.
    pub check: String,
    /// What was wrong.
    pub problems: Vec<String>,
}

/// A process of a run.
#[derive(Clone, Default, Debug, Deserialize)]
#[serde(default)]
pub struct Process {
    /// Its name.
    pub name: String,
    /// What it is for: `server`, `client`, `eval`, ….
    pub kind: String,
    /// Its words.
    pub argv: Vec<String>,
    /// Its variables, as declared.
    pub env: BTreeMap<String, String>,
    /// Variables that it got from the image and the scheduler.
    pub inherited: BTreeMap<String, String>,
    /// How it ended.
    pub exit: Option<i64>,
}

/// A file that a run left.
#[derive(Clone, Default, Debug, Deserialize)]
#[serde(default)]
pub struct File {
    /// Path beside the evidence.
    pub path: String,
    /// Digest of its content, in hexadecimal.
    pub sha256: String,
}

/// Reads an evidence file. `None` if the text is something else.
///
/// # Errors
/// If it says that it is evidence, and is of a version that is not known or not well formed.
#[must_use]
pub fn read(text: &str) -> Option<Result<Evidence, String>> {
    let value: serde_json::Value = serde_json::from_str(text).ok()?;
    if value.get("kind").and_then(serde_json::Value::as_str) != Some("recipec-evidence") {
        return None;
    }
    let read = serde_json::from_value(value).map_err(|error| error.to_string());
    Some(read.and_then(|evidence: Evidence| match evidence.version {
        1 => Ok(evidence),
        other => Err(format!("evidence of version {other} is not known to this recipec (1)")),
    }))
}
