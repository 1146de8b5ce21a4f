//! Hashing of files in the page cache, beside what bounds it: reading them, and sha256 of a buffer that
//! never leaves the cache. All in one process, in turns, so that a busy machine slows all alike.
//!
//! `cargo bench -p recipec-host --bench hash [-- MEBIBYTES ROUNDS]`. Each ratio is of two neighbours of one
//! round; shown are the median and the best. Processor seconds are of the whole process: unlike the
//! clock's, they are nearly the same on a machine where others work.
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    missing_docs,
    reason = "a benchmark prints and fails loudly"
)]

use std::io::{Read as _, Write as _};
use std::path::PathBuf;
use std::time::Instant;

use recipec_host::hash::{Task, files};
use sha2::{Digest as _, Sha256};

const MIB: usize = 1 << 20;

fn processor() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = text.rsplit(')').next().unwrap().split_whitespace().collect();
    // Ticks of a hundredth of a second, in user and in system mode.
    fields[11..13].iter().map(|ticks| ticks.parse::<f64>().unwrap()).sum::<f64>() / 100.0
}

/// Gigabytes a second by the clock, and by the processor's time.
fn rate(gigabytes: f64, work: impl FnOnce()) -> (f64, f64) {
    let (clock, before) = (Instant::now(), processor());
    work();
    let (clock, processor) = (clock.elapsed().as_secs_f64(), processor() - before);
    (gigabytes / clock, gigabytes / processor.max(0.01))
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn hash(paths: &[&PathBuf], jobs: usize) {
    let tasks: Vec<Task> = paths.iter().map(|path| Task { path: (*path).clone(), blob: false }).collect();
    for outcome in files(&tasks, jobs, &|_| (), &|_, _| ()) {
        outcome.unwrap();
    }
}

fn main() {
    let numbers: Vec<usize> = std::env::args().filter_map(|word| word.parse().ok()).collect();
    let (mebibytes, rounds) = (*numbers.first().unwrap_or(&1024), *numbers.get(1).unwrap_or(&7));
    let folder = tempfile::tempdir().unwrap();
    let paths: Vec<PathBuf> = (0..2_u8)
        .map(|number| {
            let path = folder.path().join(number.to_string());
            let mut file = std::fs::File::create(&path).unwrap();
            let mut bytes = vec![0_u8; 16 * MIB];
            for (at, byte) in bytes.iter_mut().enumerate() {
                *byte = (at.wrapping_mul(2_654_435_761) >> 13) as u8 ^ number;
            }
            for _ in 0..mebibytes / 16 {
                file.write_all(&bytes).unwrap();
            }
            path
        })
        .collect();
    let gigabytes = (mebibytes / 16 * 16 * MIB) as f64 / 1e9;
    let mut rows: Vec<[(f64, f64); 5]> = Vec::new();
    for _ in 0..rounds {
        let buffer = vec![7_u8; MIB];
        let hot = rate(gigabytes, || {
            let mut hasher = Sha256::new();
            for _ in 0..mebibytes / 16 * 16 {
                hasher.update(&buffer);
            }
            std::hint::black_box(hasher.finalize());
        });
        let one = rate(gigabytes, || hash(&[&paths[0]], 1));
        let two = rate(2.0 * gigabytes, || hash(&[&paths[0], &paths[1]], 2));
        let both = rate(2.0 * gigabytes, || {
            let work = || {
                let mut hasher = Sha256::new();
                for _ in 0..mebibytes / 16 * 16 {
                    hasher.update(&buffer);
                }
                std::hint::black_box(hasher.finalize());
            };
            std::thread::scope(|scope| {
                scope.spawn(work);
                work();
            });
        });
        let raw = rate(gigabytes, || {
            let mut file = std::fs::File::open(&paths[0]).unwrap();
            let mut bytes = vec![0; 256 << 10];
            while file.read(&mut bytes).unwrap() > 0 {}
        });
        rows.push([hot, one, two, both, raw]);
    }
    for (at, name) in
        ["sha256 of a hot buffer", "one file", "two files, two at a time", "two hot buffers", "reading alone"]
            .iter()
            .enumerate()
    {
        let clock = rows.iter().map(|row| row[at].0).collect();
        let processor = rows.iter().map(|row| row[at].1).collect();
        println!("{name:26} {:6.2} GB/s, {:6.2} GB a processor second", median(clock), median(processor));
    }
    type Of = fn(&[(f64, f64); 5]) -> f64;
    let ratios: [(&str, Of); 5] = [
        ("one file / hot buffer", |row| row[1].0 / row[0].0),
        ("two files / twice one hot buffer", |row| row[2].0 / (2.0 * row[0].0)),
        ("two files / two hot buffers", |row| row[2].0 / row[3].0),
        ("one file / reading alone", |row| row[1].0 / row[4].0),
        ("two files / hot, by processor time", |row| row[2].1 / row[0].1),
    ];
    for (name, ratio) in ratios {
        let all: Vec<f64> = rows.iter().map(ratio).collect();
        let best = all.iter().copied().fold(0.0, f64::max);
        println!("{name:36} median {:.2}, best {best:.2}, {rounds} rounds", median(all));
    }
}
