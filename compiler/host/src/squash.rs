//! Squash files of enroot.

use std::io::{self, Read as _};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::stamp::open;

/// The most bytes of the note that are read; it is the first line of a short script.
const LIMIT: u64 = 64 << 10;

/// Says whether a file is a squash file, by its first bytes.
///
/// # Errors
/// As the system says.
pub fn is_squash(path: &Path) -> io::Result<bool> {
    let mut magic = Vec::new();
    open(path)?.take(4).read_to_end(&mut magic)?;
    Ok(magic == b"hsqs")
}

/// Returns the beginning of `etc/rc` in a squash file, where enroot notes what it imported; empty if
/// there is none. `unsquashfs` reads it, as the launch scripts have it do.
///
/// # Errors
/// As the system says, if there is no such program or it does not take the file.
pub fn note(path: &Path) -> io::Result<String> {
    // A name that begins with a dash is no option.
    let path = fs_err::canonicalize(path)?;
    let mut child = Command::new("unsquashfs")
        .arg("-cat")
        .arg(&path)
        .arg("etc/rc")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| io::Error::new(error.kind(), format!("`unsquashfs` reads squash files: {error}")))?;
    let mut text = Vec::new();
    if let Some(output) = child.stdout.take() {
        output.take(LIMIT).read_to_end(&mut text)?;
    }
    // More than that is not wanted; what still writes is ended.
    let _ = child.kill();
    child.wait()?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}
