//! Any text, split into tokens: they cover it, and no byte is lost.
#![no_main]

use libfuzzer_sys::fuzz_target;
use syntax::kind::Kind;

fuzz_target!(|text: &str| {
    let lexed = syntax::lex(text);
    let ends: Vec<usize> = lexed.tokens.iter().map(|token| token.end as usize).collect();
    assert!(ends.is_sorted(), "tokens follow each other");
    assert!(ends.iter().all(|&end| text.is_char_boundary(end)), "tokens end between characters");
    assert_eq!(ends.last().copied(), Some(text.len()), "the last token ends with the text");
    let last = lexed.tokens.last().map(|token| token.kind);
    assert_eq!(last, Some(Kind::End));
    assert_eq!(lexed.tokens.iter().filter(|token| token.kind == Kind::End).count(), 1);
    for fault in lexed.faults {
        assert!(text.get(fault.start as usize..fault.end as usize).is_some(), "faults are inside");
    }
});
