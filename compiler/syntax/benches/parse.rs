//! Parsing of one megabyte, beside the `rnix` crate and beside what no parser can beat.
//!
//! `cargo bench -p recipec-syntax` prints medians of the same run and their ratios. The text is
//! generated and always the same. The limit is one look at every byte: a parser that does not look
//! at each byte does not know where strings end.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a benchmark reads the clock")]
#![allow(clippy::print_stdout, reason = "a benchmark prints what it measured")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use diag::FileId;
use recipec_syntax::{self as syntax, Interner, generate};

const BYTES: usize = 1_000_000;
const ROUNDS: usize = 31;

fn main() {
    let text = generate::manifest(BYTES);
    let mut names = Interner::new();
    let parse = syntax::parse(FileId(0), &text, &mut names);
    assert!(parse.diagnostics.is_empty(), "the generated text parses");
    assert!(rnix::Root::parse(&text).errors().is_empty(), "and rnix thinks so too");
    let tokens = syntax::lex(&text).tokens.len();
    println!("{} bytes, {tokens} tokens, {} expressions, rnix 0.15", text.len(), parse.tree.len());

    let mut times: [Vec<Duration>; 5] = Default::default();
    for _ in 0..ROUNDS {
        // One round of each, so that a busy machine is busy for all.
        let work: [&dyn Fn(); 5] = [
            &|| _ = black_box(scan(black_box(&text))),
            &|| drop(black_box(syntax::lex(black_box(&text)))),
            &|| drop(black_box(syntax::parse(FileId(0), black_box(&text), &mut Interner::new()))),
            &|| drop(black_box(rnix::Root::parse(black_box(&text)))),
            &|| drop(black_box(syntax::format_unchecked(black_box(&text)))),
        ];
        for (times, work) in times.iter_mut().zip(work) {
            let start = Instant::now();
            work();
            times.push(start.elapsed());
        }
    }
    let medians = times.map(|mut times| {
        times.sort_unstable();
        times.get(ROUNDS / 2).copied().unwrap_or_default().as_secs_f64()
    });
    let [limit, lex, parse, rnix, format] = medians;
    for (name, time) in ["byte scan", "lex", "parse", "rnix", "format"].iter().zip(medians) {
        let speed = text.len() as f64 / time / 1e6;
        println!("{name:>10} {:8.2} ms {speed:8.0} MB/s", time * 1e3);
    }
    println!("parse is {:.2} times as fast as rnix", rnix / parse);
    println!(
        "lexing is {:.0} % of it; the scan of its bytes {:.1} %",
        lex / parse * 100.0,
        limit / parse * 100.0
    );
    println!("format takes {:.1} times as long as parse", format / parse);
}

/// Looks at every byte once, each step depending on the one before, as a lexer's state does.
fn scan(text: &str) -> u32 {
    text.bytes().fold(0_u32, |state, byte| state.rotate_left(1) ^ u32::from(byte))
}
