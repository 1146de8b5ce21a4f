//! A folder of results, read piece by piece: what may be large is never held whole.

use std::io::{self, BufRead as _, BufReader, Read as _};
use std::path::Path;

use audit::gather::{Gathered, Kind, LINE, WHOLE, kind};
use fs_err::os::unix::fs::OpenOptionsExt as _;
use lock::Digest;

/// The most names that are looked at.
const NAMES: usize = 200_000;

/// How deep folders are looked into.
const DEPTH: usize = 12;

/// The most bytes of one log or of one file of records that are read.
const LINES: u64 = 16 << 30;

/// `O_NONBLOCK` of Linux, on every architecture that it runs inference on.
const NONBLOCK: i32 = 0o4000;

/// Reads everything in a folder that says something of a run; a single file is read alone. Links are
/// not followed, so nothing outside of the folder is read.
///
/// # Errors
/// If the folder itself cannot be read; what fails below it is part of what was gathered.
pub fn gather(folder: &Path) -> io::Result<Gathered> {
    let mut all = Gathered::default();
    if !fs_err::metadata(folder)?.is_dir() {
        let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        take(&mut all, folder, &name, Kind::Document);
        return Ok(all);
    }
    fs_err::read_dir(folder)?;
    let walk = walkdir::WalkDir::new(folder).sort_by_file_name().max_depth(DEPTH);
    for (count, found) in walk.into_iter().enumerate() {
        if count >= NAMES {
            all.unread.push((String::new(), format!("more than {NAMES} names")));
            break;
        }
        let entry = match found {
            Ok(entry) => entry,
            Err(error) => {
                let path = error.path().map_or_else(String::new, |path| below(path, folder));
                all.unread.push((path, error.to_string()));
                continue;
            }
        };
        if !entry.file_type().is_file() {
            continue;
        }
        let name = below(entry.path(), folder);
        if let Some(kind) = kind(&name) {
            take(&mut all, entry.path(), &name, kind);
        }
    }
    Ok(all)
}

fn below(path: &Path, folder: &Path) -> String {
    path.strip_prefix(folder).unwrap_or(path).to_string_lossy().into_owned()
}

fn take(all: &mut Gathered, path: &Path, name: &str, kind: Kind) {
    let read = match kind {
        Kind::Document => whole(path).map(|bytes| {
            let digest = Digest::of(&bytes).hex().to_owned();
            all.document(name, &String::from_utf8_lossy(&bytes), digest);
        }),
        Kind::Dump => whole(path).map(|bytes| all.dump(name, &bytes)),
        Kind::Records => lines(path, |line| all.record(name, line)),
        Kind::Log => lines(path, |line| all.line(name, line)),
    };
    if let Err(error) = read {
        all.unread.push((name.to_owned(), error.to_string()));
    }
}

/// Opens a file without waiting for it: what was a file a moment ago may be a pipe now.
fn open(path: &Path) -> io::Result<fs_err::File> {
    let file = fs_err::OpenOptions::new().read(true).custom_flags(NONBLOCK).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("no regular file"));
    }
    Ok(file)
}

fn whole(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.take(WHOLE + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > WHOLE {
        return Err(io::Error::other(format!("more than {WHOLE} bytes")));
    }
    Ok(bytes)
}

/// Reads a file line by line. A line that is too long is left out.
fn lines(path: &Path, mut take: impl FnMut(&str)) -> io::Result<()> {
    let mut reader = BufReader::with_capacity(1 << 20, open(path)?.take(LINES));
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = reader.by_ref().take(LINE as u64 + 1).read_until(b'\n', &mut line)?;
        if read == 0 {
            return Ok(());
        }
        if line.len() > LINE {
            // The rest of it is passed over.
            while line.last() != Some(&b'\n') {
                line.clear();
                if reader.by_ref().take(1 << 20).read_until(b'\n', &mut line)? == 0 {
                    return Ok(());
                }
            }
            continue;
        }
        take(&String::from_utf8_lossy(&line));
    }
}
