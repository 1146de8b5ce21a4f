//! The content of a checkpoint's files.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use audit::checkpoint::Content;

use crate::hash::{self, Hashed, Task, Unread, head};
use crate::memory::{Memory, SETTLED};
use crate::stamp::{Stamp, open};

/// The most bytes of a file whose line ends are looked at.
const TEXT: u64 = 16 << 20;

/// Says what is in files, several at a time: `jobs`, or 0 for one on each core. What `memory` has is not
/// read again; what is read is noted there. `progress` is told of every byte.
///
/// A file that changes while it is read has no content that could be said.
pub fn contents(
    tasks: &[Task],
    jobs: usize,
    memory: Option<&Memory>,
    progress: &(dyn Fn(u64) + Sync),
) -> Vec<Result<Content, String>> {
    let known: Vec<Option<Hashed>> = tasks.iter().map(|task| memory?.recall(&task.path, task.blob)).collect();
    let unread: Vec<Task> =
        tasks.iter().zip(&known).filter(|(_, known)| known.is_none()).map(|(task, _)| task.clone()).collect();
    for hashed in known.iter().flatten() {
        progress(hashed.stamp.size);
    }
    let before: Vec<(PathBuf, Stamp)> = match memory {
        Some(_) => unread
            .iter()
            .filter_map(|task| Some((task.path.clone(), Stamp::opened(&task.path).ok()?)))
            .collect(),
        None => Vec::new(),
    };
    if !before.is_empty() {
        std::thread::sleep(SETTLED);
    }
    let settled = |task: &Task, hashed: &Hashed| {
        before.iter().any(|(path, stamp)| *path == task.path && *stamp == hashed.stamp)
    };
    let note = |task: &Task, hashed: &Hashed| {
        if let Some(memory) = memory.filter(|_| settled(task, hashed)) {
            memory.note(&task.path, hashed);
        }
    };
    let mut read = hash::files(&unread, jobs, progress, &note).into_iter();
    let content = |known: Option<Hashed>| {
        let remembered = known.is_some();
        let hashed = match known {
            Some(hashed) => hashed,
            None => read.next().unwrap_or(Err(Unread::Changed)).map_err(|error| error.to_string())?,
        };
        Ok(Content {
            sha256: hashed.sha256.hex().to_owned(),
            blob: hashed.blob,
            bytes: hashed.stamp.size,
            remembered,
        })
    };
    known.into_iter().map(content).collect()
}

/// Returns the git blob id that a text would have with line feeds in place of carriage return and line
/// feed; `None` if it has none of these, or is long.
#[must_use]
pub fn plain_blob(path: &Path) -> Option<String> {
    let text = head(path, TEXT + 1).ok()?;
    let plain = (text.len() as u64 <= TEXT && text.contains("\r\n")).then(|| text.replace("\r\n", "\n"))?;
    Some(upstream::git_blob_id(plain.as_bytes()))
}

/// Returns the text at the beginning of a file of tensors, which names them.
///
/// # Errors
/// In a phrase: as the system says, or that there is no such text.
pub fn tensor_header(path: &Path, limit: u64) -> Result<String, String> {
    let mut file = open(path).map_err(|error| error.to_string())?;
    let mut length = [0_u8; 8];
    file.read_exact(&mut length).map_err(|_| "it is too short to be a file of tensors".to_owned())?;
    let length = u64::from_le_bytes(length);
    if length > limit {
        return Err(format!("its beginning says that {length} bytes name its tensors; {limit} are read"));
    }
    let mut bytes = Vec::new();
    file.take(length).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if (bytes.len() as u64) < length {
        return Err("it ends before its list of tensors does".to_owned());
    }
    String::from_utf8(bytes).map_err(|_| "its list of tensors is no text".to_owned())
}
