//! Text to tokens, without losing a byte.
//!
//! The rules are those of Nix's own lexer, which takes the longest match: `a/b` is a path, `a:b` is
//! a URL, `a-b` is a name and `1.5.2` is two numbers. A token keeps its kind and where it ends, so
//! that the vector is eight bytes a token and the text is the rest.

mod code;
mod strings;

use crate::kind::{Kind, Token};

/// All tokens of a text, spaces and comments included.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lexed {
    /// The tokens. Their ends only grow, and the last is [`Kind::End`] at the end of the text.
    pub tokens: Vec<Token>,
    /// What was wrong, in the order of the text.
    pub faults: Vec<LexFault>,
}

/// Something that begins no token, or a token that does not end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LexFault {
    /// What is wrong.
    pub kind: LexFaultKind,
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

/// What the lexer can find wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LexFaultKind {
    /// A character that begins no token.
    UnknownCharacter,
    /// A `/*` without its `*/`.
    UnclosedComment,
    /// A path that ends with `/`.
    TrailingSlash,
    /// A carriage return inside a line comment with no line feed behind it: it ends the comment.
    LoneCarriageReturn,
}

/// Splits a text into tokens. Total: every text has some. Texts of 4 GiB and more are cut there.
#[must_use]
pub fn lex(text: &str) -> Lexed {
    let mut limit = text.len().min(u32::MAX as usize);
    while !text.is_char_boundary(limit) {
        limit -= 1;
    }
    let bytes = text.as_bytes().get(..limit).unwrap_or_default();
    let mut lexer = Lexer {
        bytes,
        at: 0,
        // Manifests have about one token in four bytes.
        tokens: Vec::with_capacity(limit / 4 + 8),
        faults: Vec::new(),
        modes: Vec::new(),
        no_path_before: 0,
        no_uri_before: 0,
    };
    while lexer.at < bytes.len() {
        match lexer.modes.last() {
            None | Some(Mode::Code) => lexer.code(),
            Some(Mode::String) => lexer.string(),
            Some(Mode::Indented) => lexer.indented(),
            Some(&Mode::Path { slash, start }) => lexer.path_rest(slash, start),
        }
    }
    if let Some(&Mode::Path { slash: true, start }) = lexer.modes.last() {
        lexer.fault(LexFaultKind::TrailingSlash, start, bytes.len());
    }
    lexer.push(Kind::End, bytes.len());
    Lexed { tokens: lexer.tokens, faults: lexer.faults }
}

/// What the next bytes are read as.
#[derive(Clone, Copy)]
enum Mode {
    /// Code inside braces or `${ }`.
    Code,
    /// Inside `"`.
    String,
    /// Inside `''`.
    Indented,
    /// Behind a path, which may go on. `slash`: its last character is `/`; `start`: where that piece begins.
    Path { slash: bool, start: usize },
}

struct Lexer<'a> {
    bytes: &'a [u8],
    at: usize,
    tokens: Vec<Token>,
    faults: Vec<LexFault>,
    modes: Vec<Mode>,
    /// No path begins before this offset: the run of path characters was looked at already.
    /// Without it, `a.a.a.a…` would be read once for every name in it.
    no_path_before: usize,
    /// The same for URLs.
    no_uri_before: usize,
}

impl Lexer<'_> {
    /// Returns the byte at an offset, or 0 past the end.
    #[inline]
    fn byte(&self, at: usize) -> u8 {
        self.bytes.get(at).copied().unwrap_or(0)
    }

    /// Ends a token.
    #[inline]
    fn push(&mut self, kind: Kind, end: usize) {
        let end = end.min(self.bytes.len());
        self.tokens.push(Token { end: count(end), kind });
        self.at = end;
    }

    fn fault(&mut self, kind: LexFaultKind, start: usize, end: usize) {
        self.faults.push(LexFault { kind, start: count(start), end: count(end) });
    }

    /// Returns the first offset from `from` on whose byte is not of this class.
    #[inline]
    fn run(&self, from: usize, class: u8) -> usize {
        let mut at = from;
        while self.bytes.get(at).is_some_and(|&byte| is(byte, class)) {
            at += 1;
        }
        at
    }
}

fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

/// Characters of names after the first.
const NAME: u8 = 1;
/// Characters of paths between slashes.
const PATH: u8 = 2;
/// Characters of URLs behind the colon.
const URI: u8 = 4;
/// Characters of a URL's scheme after the first.
const SCHEME: u8 = 8;
/// Spaces.
const SPACE: u8 = 16;
/// Digits.
const DIGIT: u8 = 32;

/// The classes of every byte.
const CLASSES: [u8; 256] = {
    let mut classes = [0; 256];
    let mut byte = 0_usize;
    while byte < 128 {
        let this = byte as u8;
        if this.is_ascii_alphanumeric() {
            classes[byte] |= NAME | PATH | URI | SCHEME;
        }
        if this.is_ascii_digit() {
            classes[byte] |= DIGIT;
        }
        classes[byte] |= match this {
            b'_' => NAME | PATH | URI,
            b'-' => NAME | PATH | URI | SCHEME,
            b'+' | b'.' => PATH | URI | SCHEME,
            b'\'' => NAME | URI,
            b'%' | b'/' | b'?' | b':' | b'@' | b'&' | b'=' | b'$' | b',' | b'!' | b'~' | b'*' => URI,
            b' ' | b'\t' | b'\r' | b'\n' => SPACE,
            _ => 0,
        };
        byte += 1;
    }
    classes
};

#[inline]
fn is(byte: u8, class: u8) -> bool {
    // A `u8` always fits the table of 256.
    CLASSES[byte as usize] & class != 0
}

#[cfg(test)]
mod tests;
