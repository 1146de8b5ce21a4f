//! Hashing of files: a reading thread keeps the hasher fed, and several files are hashed at once.
//!
//! One core hashes sha256 at the speed of the processor's own instructions, so the gain is in never
//! waiting for a read, and in taking several files. Where a core is to spare, a thread reads and
//! another hashes if that is faster here; where all hash, each reads for itself, since a second thread would only move bytes from
//! cache to cache, and the system is told to fetch what comes next. Memory is not mapped: a network file
//! system that fails turns a mapped read into a signal that kills the process.

use std::fs::File;
use std::io::{self, Read as _};
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Instant;

use lock::Digest;
use rustix::fs::Advice;
use sha1::Sha1;
use sha2::{Digest as _, Sha256};

use crate::stamp::{Stamp, open};

/// Bytes of one read: a few of them stay in a core's own cache.
const PIECE: usize = 256 << 10;
/// Pieces on their way between a reader and its hasher.
const PIECES: usize = 8;
/// Bytes that are read in each way, to learn which is the faster.
const TRIAL: u64 = 32 << 20;
/// How far ahead of the reading the system is told to fetch.
const AHEAD: u64 = 16 << 20;
/// The most files at a time: more do not make storage faster.
const JOBS: usize = 128;

/// A file to hash.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Task {
    /// Where it is.
    pub path: PathBuf,
    /// Whether its git blob id is wanted as well.
    pub blob: bool,
}

/// What hashing one file gave.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Hashed {
    /// Of its content.
    pub sha256: Digest,
    /// Git blob id, where it was wanted.
    pub blob: Option<String>,
    /// What the file system said of it, before and after.
    pub stamp: Stamp,
}

/// Why a file has no digest. None of these says anything of its content.
#[derive(thiserror::Error, Debug)]
pub enum Unread {
    /// As the system says.
    #[error("{0}")]
    System(#[from] io::Error),
    /// A network file system lost it, and lost it again when it was opened anew.
    #[error("stale file handle, also when it was opened anew: the network file system has lost it")]
    Stale,
    /// It ended before its size, which is as it was.
    #[error("short read: it ended after {got} of {size} bytes")]
    Short {
        /// Bytes read.
        got: u64,
        /// Bytes that it says it has.
        size: u64,
    },
    /// It lost bytes.
    #[error("it became shorter while it was read: {now} of {size} bytes are left")]
    Shrank {
        /// Bytes that it has now.
        now: u64,
        /// Bytes that it had.
        size: u64,
    },
    /// It got more bytes.
    #[error("it grew while it was read: it had {size} bytes")]
    Grew {
        /// Bytes that it had.
        size: u64,
    },
    /// It was written, or another file took its place.
    #[error("it changed while it was read")]
    Changed,
}

/// Hashes files, `jobs` at a time (0: one on each core) and the largest first; the result has the order
/// given. `progress` is told of every piece read, `done` of every file hashed, as soon as it is.
pub fn files(
    tasks: &[Task],
    jobs: usize,
    progress: &(dyn Fn(u64) + Sync),
    done: &(dyn Fn(&Task, &Hashed) + Sync),
) -> Vec<Result<Hashed, Unread>> {
    let size = |task: &Task| fs_err::metadata(&task.path).map_or(0, |found| found.len());
    let mut order: Vec<(usize, u64)> = tasks.iter().map(size).enumerate().collect();
    order.sort_by_key(|&(at, size)| (std::cmp::Reverse(size), at));
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let jobs = if jobs == 0 { cores } else { jobs }.min(JOBS).min(tasks.len()).max(1);
    let next = AtomicUsize::new(0);
    let results: Vec<Mutex<Option<Result<Hashed, Unread>>>> =
        tasks.iter().map(|_| Mutex::new(None)).collect();
    // `spare`: a core is free for another thread that reads.
    let work = &|spare: bool| {
        while let Some(&(at, _)) = order.get(next.fetch_add(1, Ordering::Relaxed)) {
            let (Some(task), Some(place)) = (tasks.get(at), results.get(at)) else { continue };
            let outcome = file(task, spare, progress);
            if let Ok(hashed) = &outcome {
                done(task, hashed);
            }
            if let Ok(mut place) = place.lock() {
                *place = Some(outcome);
            }
        }
    };
    std::thread::scope(|scope| {
        for number in 1..jobs {
            scope.spawn(move || work(number + jobs < cores));
        }
        work(jobs < cores);
    });
    let outcome = |place: Mutex<Option<_>>| place.into_inner().ok().flatten();
    results.into_iter().map(|place| outcome(place).unwrap_or(Err(Unread::Changed))).collect()
}

/// Hashes one file. A read that fails because a network file system lost the file is tried once
/// more from the beginning.
fn file(task: &Task, spare: bool, progress: &(dyn Fn(u64) + Sync)) -> Result<Hashed, Unread> {
    let stale = |found: &Unread| matches!(found, Unread::System(error) if error.kind() == io::ErrorKind::StaleNetworkFileHandle);
    match hash(task, spare, progress) {
        Err(found) if stale(&found) => match hash(task, spare, &|_| ()) {
            Err(found) if stale(&found) => Err(Unread::Stale),
            outcome => outcome,
        },
        outcome => outcome,
    }
}

fn hash(task: &Task, spare: bool, progress: &(dyn Fn(u64) + Sync)) -> Result<Hashed, Unread> {
    let file = open(&task.path)?;
    let stamp = Stamp::of(&file.metadata()?);
    let mut sums = Sums::new(task.blob, stamp.size);
    let mut got = 0_u64;
    let mut take = |bytes: &[u8]| {
        sums.update(bytes);
        got += bytes.len() as u64;
        progress(bytes.len() as u64);
    };
    // A byte more than it says is too many already: a file that is written as fast as it is read would
    // never end.
    let limit = stamp.size.saturating_add(1);
    if spare && limit > 4 * PIECE as u64 {
        by_the_faster(&file, limit, &mut take)?;
    } else {
        in_turn(&file, 0, limit, &mut take)?;
    }
    let after = Stamp::of(&file.metadata()?);
    if after.size < stamp.size {
        return Err(Unread::Shrank { now: after.size, size: stamp.size });
    }
    if got > stamp.size || after.size > stamp.size {
        return Err(Unread::Grew { size: stamp.size });
    }
    if after != stamp || Stamp::of(&fs_err::metadata(&task.path)?) != stamp {
        return Err(Unread::Changed);
    }
    if got < stamp.size {
        return Err(Unread::Short { got, size: stamp.size });
    }
    let (sha256, blob) = sums.finish();
    Ok(Hashed { sha256, blob, stamp })
}

/// Gives `take` what a file holds, at most `limit` bytes, with a thread that reads or without, whichever the
/// machine does faster: what one core has read is dear to another where they share no cache.
fn by_the_faster(file: &File, limit: u64, take: &mut dyn FnMut(&[u8])) -> io::Result<()> {
    if limit < 8 * TRIAL {
        return beside(file, limit, take);
    }
    let begun = Instant::now();
    in_turn(file, 0, TRIAL, take)?;
    let alone = begun.elapsed();
    let begun = Instant::now();
    beside(file, TRIAL, take)?;
    if begun.elapsed() < alone {
        beside(file, limit - 2 * TRIAL, take)
    } else {
        in_turn(file, 2 * TRIAL, limit - 2 * TRIAL, take)
    }
}

/// Gives `take` the next bytes of a file that has been read to `from`, at most `limit` of them.
fn in_turn(file: &File, from: u64, limit: u64, take: &mut dyn FnMut(&[u8])) -> io::Result<()> {
    let size = usize::try_from(limit).map_or(PIECE, |limit| limit.min(PIECE));
    let mut buffer = vec![0; size];
    let mut reader = file.take(limit);
    let (mut at, mut fetched) = (from, from);
    loop {
        // Advice that is refused costs waiting alone.
        if limit > AHEAD && at + AHEAD / 2 >= fetched {
            let _ = rustix::fs::fadvise(file, fetched, NonZeroU64::new(AHEAD), Advice::WillNeed);
            fetched += AHEAD;
        }
        match reader.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(length) => {
                take(buffer.get(..length).unwrap_or(&buffer));
                at += length as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// The same, while another thread reads.
fn beside(file: &File, limit: u64, take: &mut dyn FnMut(&[u8])) -> io::Result<()> {
    let mut file = file.take(limit);
    let (full, filled) = sync_channel::<io::Result<(Vec<u8>, usize)>>(PIECES);
    let (empty, spare) = sync_channel::<Vec<u8>>(PIECES);
    for _ in 0..PIECES {
        let _ = empty.send(vec![0; PIECE]);
    }
    std::thread::scope(|scope| {
        scope.spawn(move || read(&mut file, &spare, &full));
        for piece in filled {
            let (buffer, length) = piece?;
            take(buffer.get(..length).unwrap_or(&buffer));
            let _ = empty.send(buffer);
        }
        Ok(())
    })
}

/// Reads until the end, into buffers that come back from the hasher.
fn read(
    file: &mut io::Take<&File>,
    spare: &Receiver<Vec<u8>>,
    full: &SyncSender<io::Result<(Vec<u8>, usize)>>,
) {
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

/// The digests that are being made.
struct Sums {
    sha256: Sha256,
    blob: Option<Sha1>,
}

impl Sums {
    fn new(blob: bool, size: u64) -> Self {
        let blob = blob.then(|| Sha1::new().chain_update(format!("blob {size}\0")));
        Self { sha256: Sha256::new(), blob }
    }

    fn update(&mut self, bytes: &[u8]) {
        self.sha256.update(bytes);
        if let Some(blob) = &mut self.blob {
            blob.update(bytes);
        }
    }

    fn finish(self) -> (Digest, Option<String>) {
        let hex = |blob: Sha1| blob.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        (Digest::from_bytes(&self.sha256.finalize()), self.blob.map(hex))
    }
}

/// Returns the beginning of a file as text; bytes that are none are replaced.
///
/// # Errors
/// As the system says; also if it is no regular file.
pub fn head(path: &Path, limit: u64) -> io::Result<String> {
    let mut bytes = Vec::new();
    open(path)?.take(limit).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(path: PathBuf) -> Task {
        Task { path, blob: true }
    }

    #[test]
    fn long_and_short_files_have_the_digests_of_their_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let mut tasks = Vec::new();
        let mut want = Vec::new();
        for (name, size) in [("empty", 0), ("short", 10), ("piece", PIECE), ("long", 80 * PIECE + 3)] {
            let bytes: Vec<u8> = (0..size).map(|at| (at % 251) as u8).collect();
            let path = folder.path().join(name);
            fs_err::write(&path, &bytes).unwrap();
            tasks.push(task(path));
            want.push((Digest::of(&bytes), Some(upstream::git_blob_id(&bytes))));
        }
        tasks.push(task(folder.path().join("absent")));
        for jobs in [0, 1, 3, 1000] {
            let seen = std::sync::atomic::AtomicU64::new(0);
            let done = AtomicUsize::new(0);
            let hashed = files(
                &tasks,
                jobs,
                &|bytes| {
                    seen.fetch_add(bytes, Ordering::Relaxed);
                },
                &|_, _| {
                    done.fetch_add(1, Ordering::Relaxed);
                },
            );
            let got: Vec<_> =
                hashed.iter().flatten().map(|one| (one.sha256.clone(), one.blob.clone())).collect();
            assert_eq!(got, want, "{jobs} jobs");
            assert!(hashed[4].is_err());
            assert_eq!((seen.into_inner(), done.into_inner()), ((81 * PIECE + 13) as u64, 4));
        }
    }

    #[test]
    fn a_file_that_is_read_in_both_ways_has_the_digest_of_its_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let bytes: Vec<u8> = (0..8 * TRIAL + 5).map(|at| (at % 251) as u8).collect();
        fs_err::write(&path, &bytes).unwrap();
        let task = Task { path, blob: false };
        assert_eq!(file(&task, true, &|_| ()).unwrap().sha256, Digest::of(&bytes));
    }

    #[test]
    fn a_pipe_in_place_of_a_file_is_refused_and_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&path).status().unwrap();
        assert!(made.success());
        let found = file(&task(path), true, &|_| ()).unwrap_err();
        assert_eq!(found.to_string(), "no regular file");
    }

    #[test]
    fn a_file_that_changes_while_it_is_read_has_no_digest() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        for spare in [true, false] {
            let change = |what: &(dyn Fn() + Sync)| {
                fs_err::write(&path, vec![1_u8; 6 * PIECE]).unwrap();
                // Older kernels count time in ticks of some milliseconds.
                std::thread::sleep(std::time::Duration::from_millis(20));
                let first = std::sync::Once::new();
                file(&task(path.clone()), spare, &|_| first.call_once(what)).unwrap_err()
            };
            let handle = || File::options().write(true).open(&path).unwrap();
            let found = change(&|| handle().set_len(3 * PIECE as u64).unwrap());
            assert!(matches!(found, Unread::Shrank { .. }), "{found}");
            let found = change(&|| handle().set_len(1 << 40).unwrap());
            assert!(matches!(found, Unread::Grew { .. }), "{found}");
            let found = change(&|| std::io::Write::write_all(&mut handle(), b"x").unwrap());
            assert!(matches!(found, Unread::Changed), "{found}");
            let other = folder.path().join("other");
            let found = change(&|| {
                fs_err::copy(&path, &other).unwrap();
                fs_err::rename(&other, &path).unwrap();
            });
            assert!(matches!(found, Unread::Changed), "{found}");
        }
    }
}
