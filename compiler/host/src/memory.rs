//! What earlier audits read, so that a file that has not changed since is not read again.
//!
//! One line a file: a checksum of the line and a JSON object. Lines are only added, each as soon as its
//! file is read, so a run that is killed loses only the files that it was reading; a torn line has another
//! checksum and is no line. Whatever is wrong with the file costs reading alone.
//!
//! An entry is used if the file of the same path still has the same device, inode, size and times to the
//! nanosecond, asked for by opening it. It is made only if these stood still for [`SETTLED`] before
//! the reading began and until it ended: file systems count time in ticks, and a write within the
//! tick of the one before would leave no trace. No clock is compared, so it does not matter whether the
//! one of a file server is right.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use lock::Digest;
use serde::{Deserialize, Serialize};

use crate::hash::Hashed;
use crate::stamp::Stamp;
use crate::write_atomic;

/// How long the times of a file stand still before it is read: longer than the coarsest tick, which is
/// two seconds.
pub const SETTLED: Duration = Duration::from_millis(2_100);

/// The most bytes that are read of what is remembered.
const LIMIT: u64 = 64 << 20;

/// Files that were read before.
#[derive(Debug)]
pub struct Memory {
    known: BTreeMap<(String, u64), Line>,
    file: Mutex<File>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    path: String,
    stamp: Stamp,
    sha256: Digest,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    blob: Option<String>,
}

impl Line {
    fn text(&self) -> String {
        let object = serde_json::to_string(self).unwrap_or_default();
        format!("{} {object}\n", checksum(&object))
    }

    fn read(text: &str) -> Option<Self> {
        let (sum, object) = text.split_once(' ')?;
        (sum == checksum(object)).then(|| serde_json::from_str(object).ok()).flatten()
    }
}

fn checksum(object: &str) -> String {
    blake3::hash(object.as_bytes()).to_hex().chars().take(16).collect()
}

impl Memory {
    /// Opens what is remembered; a file that is not there is made.
    ///
    /// # Errors
    /// As the system says; also if somebody else could have written it, since what stands in it is believed.
    pub fn open(path: &Path) -> io::Result<Self> {
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            fs_err::create_dir_all(folder)?;
        }
        let mut options = File::options();
        let mut file = options.read(true).append(true).create(true).mode(0o600).open(path)?;
        let found = file.metadata()?;
        let refuse = |why: &str| Err(io::Error::new(io::ErrorKind::PermissionDenied, why.to_owned()));
        if !found.is_file() {
            return refuse("no regular file");
        }
        if found.uid() != rustix::process::geteuid().as_raw() {
            return refuse("it belongs to another user, who could write into it what is to be believed");
        }
        if found.mode() & 0o022 != 0 {
            return refuse("others may write to it (`chmod go-w` it, or name another file)");
        }
        let mut bytes = Vec::new();
        (&mut file).take(LIMIT).read_to_end(&mut bytes)?;
        let text = String::from_utf8_lossy(&bytes);
        let mut known = BTreeMap::new();
        let mut lines = 0_usize;
        for line in text.lines() {
            lines += 1;
            known.extend(Line::read(line).map(|line| ((line.path.clone(), line.stamp.device), line)));
        }
        if found.len() > LIMIT || lines > 2 * known.len() + 1000 {
            let text: String = known.values().map(Line::text).collect();
            write_atomic(path, text.as_bytes())?;
            file = File::options().read(true).append(true).open(path)?;
        } else if !text.is_empty() && !text.ends_with('\n') {
            // A line that was torn by a kill does not take the next one with it.
            file.write_all(b"\n")?;
        }
        file.seek(SeekFrom::End(0))?;
        Ok(Self { known, file: Mutex::new(file) })
    }

    /// Returns what a file held when it was read, if it is that file still.
    #[must_use]
    pub fn recall(&self, path: &Path, blob: bool) -> Option<Hashed> {
        let stamp = Stamp::opened(path).ok()?;
        let line = self.known.get(&(name(path)?, stamp.device))?;
        let same = line.stamp == stamp && (!blob || line.blob.is_some());
        same.then(|| Hashed { sha256: line.sha256.clone(), blob: line.blob.clone(), stamp })
    }

    /// Notes what a file holds. A note that cannot be written is one file more to read next time.
    pub fn note(&self, path: &Path, hashed: &Hashed) {
        let Some(path) = name(path) else { return };
        let (sha256, blob) = (hashed.sha256.clone(), hashed.blob.clone());
        let text = Line { path, stamp: hashed.stamp, sha256, blob }.text();
        if let Ok(mut file) = self.file.lock() {
            let _ = file.write_all(text.as_bytes());
        }
    }
}

/// Returns the one name of a file: absolute and without links.
fn name(path: &Path) -> Option<String> {
    fs_err::canonicalize(path).ok().and_then(|path: PathBuf| path.into_os_string().into_string().ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::{Task, files};

    fn hashed(path: &Path) -> Hashed {
        let task = Task { path: path.to_owned(), blob: true };
        files(&[task], 1, &|_| (), &|_, _| ()).pop().unwrap().unwrap()
    }

    #[test]
    fn a_file_is_recalled_until_it_changes_in_whatever_way() {
        let folder = tempfile::tempdir().unwrap();
        let (store, path) = (folder.path().join("deep/memory"), folder.path().join("file"));
        let fresh = |text: &str| {
            let _ = fs_err::remove_file(&path);
            fs_err::write(&path, text).unwrap();
            std::thread::sleep(Duration::from_millis(20));
            let one = hashed(&path);
            Memory::open(&store).unwrap().note(&path, &one);
            assert_eq!(Memory::open(&store).unwrap().recall(&path, true), Some(one));
        };
        let bash = |script: &str| {
            let ran =
                std::process::Command::new("bash").args(["-c", script]).current_dir(folder.path()).status();
            assert!(ran.unwrap().success());
        };
        for change in [
            "printf b >file",
            // The time of the content set back to what it was, as rsync and tar do.
            "touch -r file old && printf b >file && touch -r old file",
            // Another file of the same size and time in its place.
            "cp -p file old && printf b >old && touch -r file old && mv old file",
            "cp -p file old && mv file first && ln -s old file",
            "chmod 600 file",
        ] {
            fresh("a");
            bash(change);
            assert_eq!(Memory::open(&store).unwrap().recall(&path, true), None, "{change}");
        }
    }

    #[test]
    fn torn_and_foreign_lines_are_no_lines() {
        let folder = tempfile::tempdir().unwrap();
        let (store, path) = (folder.path().join("memory"), folder.path().join("file"));
        fs_err::write(&path, "a").unwrap();
        let one = hashed(&path);
        Memory::open(&store).unwrap().note(&path, &one);
        let line = fs_err::read_to_string(&store).unwrap();
        let other = line.replace(one.sha256.hex(), Digest::of(b"lie").hex());
        for text in [other.clone(), line[..line.len() - 4].to_owned(), format!("{other}\u{0}\n\n{{}}")] {
            fs_err::write(&store, &text).unwrap();
            let memory = Memory::open(&store).unwrap();
            assert_eq!(memory.recall(&path, false), None, "{text}");
            // What is noted behind a torn line counts.
            memory.note(&path, &one);
            assert_eq!(Memory::open(&store).unwrap().recall(&path, true), Some(one.clone()));
        }
        // Lines that say the same are thinned out.
        fs_err::write(&store, line.repeat(5000)).unwrap();
        assert!(Memory::open(&store).unwrap().recall(&path, true).is_some());
        assert_eq!(fs_err::read_to_string(&store).unwrap(), line);
    }

    #[test]
    fn what_others_may_write_is_not_believed() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("memory");
        drop(Memory::open(&store).unwrap());
        assert_eq!(fs_err::metadata(&store).unwrap().permissions().mode() & 0o777, 0o600);
        fs_err::set_permissions(&store, std::fs::Permissions::from_mode(0o622)).unwrap();
        assert!(Memory::open(&store).unwrap_err().to_string().contains("others may write"));
    }
}
