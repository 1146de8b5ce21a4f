//! Hashing of files: a reading thread keeps the hasher fed, and several files are hashed at once.
//!
//! One core hashes sha256 at the speed of the processor's own instructions, so the gain is in never
//! waiting for a read, and in taking several files. Memory is not mapped: a network file system that
//! fails turns a mapped read into a signal that kills the process.

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use lock::Digest;
use rayon::prelude::*;
use sha2::{Digest as _, Sha256};

/// Bytes of one read.
const PIECE: usize = 1 << 20;
/// Pieces on their way between the reader and the hasher.
const PIECES: usize = 4;

/// What hashing one file gave.
#[derive(Debug)]
pub struct Hashed {
    /// The file.
    pub path: PathBuf,
    /// sha256 and number of bytes read; or why it could not be read, which says nothing about its
    /// content.
    pub outcome: io::Result<(Digest, u64)>,
}

/// Hashes files, several at a time and the largest first; the result has the order given.
/// `progress` is told of every piece read.
pub fn files(paths: &[PathBuf], progress: &(dyn Fn(u64) + Sync)) -> Vec<Hashed> {
    let size = |path: &PathBuf| fs_err::metadata(path).map_or(0, |found| found.len());
    let mut order: Vec<(usize, &PathBuf, u64)> =
        paths.iter().enumerate().map(|(at, path)| (at, path, size(path))).collect();
    order.sort_by_key(|&(at, _, size)| (std::cmp::Reverse(size), at));
    let mut hashed: Vec<(usize, Hashed)> = order
        .par_iter()
        .with_max_len(1)
        .map(|&(at, path, _)| (at, Hashed { path: path.clone(), outcome: file(path, progress) }))
        .collect();
    hashed.sort_by_key(|&(at, _)| at);
    hashed.into_iter().map(|(_, hashed)| hashed).collect()
}

/// Hashes one file. A read that fails because a network file system lost the file is tried once
/// more from the beginning.
///
/// # Errors
/// As the system says.
pub fn file(path: &Path, progress: &(dyn Fn(u64) + Sync)) -> io::Result<(Digest, u64)> {
    match hash(path, progress) {
        Err(error) if error.kind() == io::ErrorKind::StaleNetworkFileHandle => hash(path, &|_| ()),
        outcome => outcome,
    }
}

fn hash(path: &Path, progress: &(dyn Fn(u64) + Sync)) -> io::Result<(Digest, u64)> {
    let mut file = fs_err::File::open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("`{}` is no regular file", path.display()),
        ));
    }
    // A small file is not worth a thread.
    if file.metadata()?.len() <= PIECE as u64 {
        let mut bytes = Vec::new();
        file.take(2 * PIECE as u64).read_to_end(&mut bytes)?;
        progress(bytes.len() as u64);
        return Ok((Digest::of(&bytes), bytes.len() as u64));
    }
    let (full, filled) = sync_channel::<io::Result<(Vec<u8>, usize)>>(PIECES);
    let (empty, spare) = sync_channel::<Vec<u8>>(PIECES);
    for _ in 0..PIECES {
        let _ = empty.send(vec![0; PIECE]);
    }
    std::thread::scope(|scope| {
        scope.spawn(move || read(&mut file, &spare, &full));
        let mut hasher = Sha256::new();
        let mut total = 0_u64;
        for piece in filled {
            let (buffer, length) = piece?;
            hasher.update(buffer.get(..length).unwrap_or(&buffer));
            total += length as u64;
            progress(length as u64);
            let _ = empty.send(buffer);
        }
        Ok((Digest::from_bytes(&hasher.finalize()), total))
    })
}

/// Reads until the end, into buffers that come back from the hasher.
fn read(file: &mut fs_err::File, spare: &Receiver<Vec<u8>>, full: &SyncSender<io::Result<(Vec<u8>, usize)>>) {
    while let Ok(mut buffer) = spare.recv() {
        let piece = match file.read(&mut buffer) {
            Ok(0) => return,
            Ok(length) => Ok((buffer, length)),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok((buffer, 0)),
            Err(error) => Err(error),
        };
        let last = piece.is_err();
        if full.send(piece).is_err() || last {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_and_short_files_have_the_digest_of_their_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let mut paths = Vec::new();
        for (name, size) in [("empty", 0), ("short", 10), ("piece", PIECE), ("long", 7 * PIECE + 3)] {
            let bytes: Vec<u8> = (0..size).map(|at| (at % 251) as u8).collect();
            let path = folder.path().join(name);
            fs_err::write(&path, &bytes).unwrap();
            assert_eq!(file(&path, &|_| ()).unwrap(), (Digest::of(&bytes), size as u64), "{name}");
            paths.push(path);
        }
        paths.push(folder.path().join("absent"));
        let seen = std::sync::atomic::AtomicU64::new(0);
        let hashed = files(&paths, &|bytes| {
            seen.fetch_add(bytes, std::sync::atomic::Ordering::Relaxed);
        });
        let order: Vec<&PathBuf> = hashed.iter().map(|hashed| &hashed.path).collect();
        assert_eq!(order, paths.iter().collect::<Vec<_>>());
        assert!(hashed[4].outcome.is_err());
        assert_eq!(seen.into_inner(), (8 * PIECE + 13) as u64);
    }
}
