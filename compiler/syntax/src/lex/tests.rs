use super::{LexFaultKind, lex};
use crate::kind::Kind;
use Kind::*;

fn kinds(text: &str) -> Vec<Kind> {
    lex(text).tokens.iter().map(|token| token.kind).filter(|kind| !kind.is_trivia()).collect()
}

#[test]
fn tokens_cover_the_text() {
    for text in
        ["", "a", "{ a = \"b${c}\\\"\"; /* d */ } # e", "''\n a ''${ ${b} ''\\n''", "/* a", "\u{feff}a é"]
    {
        let lexed = lex(text);
        let ends: Vec<_> = lexed.tokens.iter().map(|token| token.end).collect();
        assert!(ends.is_sorted(), "{text:?} {ends:?}");
        assert_eq!(ends.last().copied(), u32::try_from(text.len()).ok(), "{text:?}");
        assert!(ends.iter().all(|&end| text.is_char_boundary(end as usize)), "{text:?}");
    }
}

#[test]
fn the_longest_match_wins() {
    assert_eq!(kinds("a/b"), [Path, End]);
    assert_eq!(kinds("a /b"), [Identifier, Path, End]);
    assert_eq!(kinds("a/ b"), [Identifier, Slash, Identifier, End]);
    assert_eq!(kinds("a//b"), [Identifier, Update, Identifier, End]);
    assert_eq!(kinds("1/2"), [Path, End]);
    assert_eq!(kinds("x:x"), [Uri, End]);
    assert_eq!(kinds("x: x"), [Identifier, Colon, Identifier, End]);
    assert_eq!(kinds("_x:x"), [Identifier, Colon, Identifier, End]);
    assert_eq!(kinds("x.y:x"), [Uri, End]);
    assert_eq!(kinds("a<b>c"), [Identifier, SearchPath, Identifier, End]);
    assert_eq!(kinds("a<b"), [Identifier, Less, Identifier, End]);
    assert_eq!(kinds("a->b"), [Identifier, Greater, Identifier, End]);
    assert_eq!(kinds("a ->b"), [Identifier, Implies, Identifier, End]);
    assert_eq!(kinds("if' inherit_"), [Identifier, Identifier, End]);
    assert_eq!(kinds("x+y/z"), [Path, End]);
    assert_eq!(kinds("~/a ~"), [HomePath, End]);
}

#[test]
fn numbers_are_split_as_nix_does() {
    assert_eq!(kinds("1.5.3"), [Float, Float, End]);
    assert_eq!(kinds("1e3"), [Integer, Identifier, End]);
    assert_eq!(kinds("1.e3"), [Float, End]);
    assert_eq!(kinds("1.e"), [Float, Identifier, End]);
    assert_eq!(kinds("00.5"), [Integer, Float, End]);
    assert_eq!(kinds("0.5"), [Float, End]);
    assert_eq!(kinds("0."), [Integer, Dot, End]);
    assert_eq!(kinds(".5e-3"), [Float, End]);
}

#[test]
fn paths_go_on_behind_interpolations() {
    let expected = [Path, InterpolationOpen, Identifier, BraceClose, PathText, PathText, End];
    assert_eq!(kinds("./a/${b}c/d//e"), expected);
    assert_eq!(kinds("a/${b}"), [Path, InterpolationOpen, Identifier, BraceClose, End]);
    let lexed = lex("[ ./a/ ]");
    assert_eq!(
        lexed.faults.first().map(|fault| (fault.kind, fault.start)),
        Some((LexFaultKind::TrailingSlash, 2))
    );
}

#[test]
fn dollars_and_quotes_inside_strings() {
    assert_eq!(kinds(r#""$${a}""#), [StringOpen, StringText, StringClose, End]);
    let expected = [StringOpen, StringText, InterpolationOpen, Identifier, BraceClose, StringClose, End];
    assert_eq!(kinds(r#""$$${a}""#), expected);
    assert_eq!(kinds("'''''''"), [IndentedOpen, IndentedText, IndentedClose, End]);
    assert_eq!(kinds(r"''a''\''b''"), [IndentedOpen, IndentedText, IndentedClose, End]);
}

#[test]
fn a_lone_carriage_return_ends_a_comment() {
    assert_eq!(kinds("1 # a\r + 2"), [Integer, Plus, Integer, End]);
    assert_eq!(
        lex("1 # a\r + 2").faults.first().map(|fault| fault.kind),
        Some(LexFaultKind::LoneCarriageReturn)
    );
    assert!(lex("1 # a\r\n + 2").faults.is_empty());
}

#[test]
fn names_with_many_dots_are_read_once() {
    let text = "a.".repeat(200_000);
    assert_eq!(kinds(&text).len(), 400_001);
}
