use diag::FileId;

use super::{format, format_unchecked};
use crate::kind::Kind;
use crate::{Interner, compare, generate};

/// Returns what holds of every text that parses: its layout means the same, keeps the comments, and
/// is its own layout.
fn check(text: &str) -> Result<bool, String> {
    let mut names = Interner::new();
    let before = crate::parse(FileId(0), text, &mut names);
    if before.diagnostics.has_errors() {
        return Ok(false);
    }
    let formatted = format_unchecked(text);
    let after = crate::parse(FileId(0), &formatted, &mut names);
    if !compare::same(&before, &after) {
        return Err(format!("the meaning changed\n{text}\n>>>\n{formatted}"));
    }
    let again = format_unchecked(&formatted);
    if again != formatted {
        return Err(format!("not its own layout\n{text}\n>>>\n{formatted}\n>>>\n{again}"));
    }
    if comments(text) != comments(&formatted) {
        return Err(format!("comments changed\n{text}\n>>>\n{formatted}"));
    }
    Ok(true)
}

/// Counts the words in comments.
fn comments(text: &str) -> usize {
    let mut start = 0;
    let mut count = 0;
    for token in crate::lex(text).tokens {
        if matches!(token.kind, Kind::LineComment | Kind::BlockComment) {
            let comment = text.get(start..token.end as usize).unwrap_or("");
            count += comment.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).count();
        }
        start = token.end as usize;
    }
    count
}

#[test]
fn generated_programs_keep_their_meaning_and_comments() {
    let mut checked = 0;
    for seed in 0..1500 {
        let size = usize::try_from(seed % 12).unwrap_or(0) + 2;
        match check(&generate::program(seed, size)) {
            Ok(parsed) => checked += u32::from(parsed),
            Err(fault) => panic!("seed {seed}, size {size}: {fault}"),
        }
    }
    assert!(checked > 800, "only {checked} programs were good for anything");
}

#[test]
fn a_layout_ends_with_one_line_feed() {
    assert_eq!(format("{a=1;}").ok().as_deref(), Some("{ a = 1; }\n"));
    assert_eq!(format("\n\n1\n\n\n").ok().as_deref(), Some("1\n"));
}

#[test]
fn a_text_with_errors_is_not_laid_out() {
    assert!(format("{ a = ; }").is_err());
}

#[test]
fn tokens_that_would_grow_together_stay_apart() {
    for text in ["1 .a", "a/b .c", "- ./a", "- a/b", "[ 1 .5 ]", "a: b", "{ } .a", "!(!a)", "a - -b"] {
        assert_eq!(check(text), Ok(true), "{text}");
    }
}

/// The manifest that benchmarks use is as the judge has it, and so are forms of many kinds.
#[test]
fn the_judge_lays_out_the_same() {
    let manifest = generate::manifest(20_000);
    assert_eq!(nixfmt_rs::format(&manifest).ok(), Some(format_unchecked(&manifest)));
    // Programs from the grammar have comments where nobody writes them, so not all agree.
    let (mut same, mut other) = (0, 0);
    for seed in 0..400 {
        let text = generate::program(seed, 4);
        let Ok(judged) = nixfmt_rs::format(&text) else { continue };
        let Ok(ours) = format(&text) else { continue };
        if judged == ours { same += 1 } else { other += 1 }
    }
    assert!(same > other * 3, "{same} programs agree, {other} do not");
}
