//! What changes when a file does.

use std::fs::{File, Metadata};
use std::io::{self, Read as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

/// What a file system says of a file, and says otherwise once the file is another. The time of the last
/// change of the inode is the system's own: nobody can set it back, as they can the time of the content.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stamp {
    /// Device of the file system.
    pub device: u64,
    /// Number of the inode.
    pub inode: u64,
    /// Bytes that it says it has.
    pub size: u64,
    /// When its content changed: seconds and nanoseconds.
    pub modified: (i64, i64),
    /// When its inode changed: seconds and nanoseconds.
    pub changed: (i64, i64),
}

impl Stamp {
    /// Reads it from what the system says.
    #[must_use]
    pub fn of(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }

    /// Asks for it by opening the file: a network file system answers an open from the server, and
    /// anything else perhaps from what it remembers.
    ///
    /// # Errors
    /// As the system says; also if it is no regular file.
    pub fn opened(path: &Path) -> io::Result<Self> {
        Ok(Self::of(&open(path)?.metadata()?))
    }
}

/// Opens a regular file for reading. A pipe in its place does not hold the process up.
///
/// # Errors
/// As the system says; also if it is no regular file.
pub fn open(path: &Path) -> io::Result<File> {
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or(0);
    let file = File::options().read(true).custom_flags(flags).open(path)?;
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::Error::new(io::ErrorKind::InvalidInput, "no regular file"))
    }
}

/// Reads a regular file of at most `limit` bytes.
///
/// # Errors
/// As the system says; also if it is longer.
pub fn whole(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("more than {limit} bytes")));
    }
    Ok(bytes)
}
