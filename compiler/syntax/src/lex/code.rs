//! Tokens of code: everything but the insides of strings.

use super::{DIGIT, LexFaultKind, Lexer, Mode, NAME, PATH, SCHEME, SPACE, URI, is};
use crate::kind::Kind;

impl Lexer<'_> {
    /// Reads one token of code; there is at least one byte.
    #[inline]
    pub(super) fn code(&mut self) {
        let start = self.at;
        let first = self.byte(start);
        match first {
            b' ' | b'\n' | b'\t' | b'\r' => {
                let end = self.run(start + 1, SPACE);
                self.push(Kind::Whitespace, end);
            }
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => self.word(),
            b'0'..=b'9' => self.number(),
            b'"' => {
                self.push(Kind::StringOpen, start + 1);
                self.modes.push(Mode::String);
            }
            b'{' => {
                self.push(Kind::BraceOpen, start + 1);
                self.modes.push(Mode::Code);
            }
            b'}' => {
                self.modes.pop();
                self.push(Kind::BraceClose, start + 1);
            }
            b';' => self.push(Kind::Semicolon, start + 1),
            b'(' => self.push(Kind::ParenOpen, start + 1),
            b')' => self.push(Kind::ParenClose, start + 1),
            b'[' => self.push(Kind::BracketOpen, start + 1),
            b']' => self.push(Kind::BracketClose, start + 1),
            b':' => self.push(Kind::Colon, start + 1),
            b',' => self.push(Kind::Comma, start + 1),
            b'@' => self.push(Kind::At, start + 1),
            b'?' => self.push(Kind::Question, start + 1),
            b'*' => self.push(Kind::Star, start + 1),
            b'#' => self.line_comment(),
            _ => self.symbol(first),
        }
    }

    /// Reads a token that begins with a sign which several tokens share.
    fn symbol(&mut self, first: u8) {
        let start = self.at;
        let second = self.byte(start + 1);
        match (first, second) {
            (b'=', b'=') => self.push(Kind::Equal, start + 2),
            (b'=', _) => self.push(Kind::Assign, start + 1),
            (b'!', b'=') => self.push(Kind::NotEqual, start + 2),
            (b'!', _) => self.push(Kind::Not, start + 1),
            (b'&', b'&') => self.push(Kind::AndAnd, start + 2),
            (b'|', b'|') => self.push(Kind::OrOr, start + 2),
            (b'|', b'>') => self.push(Kind::PipeInto, start + 2),
            (b'>', b'=') => self.push(Kind::GreaterOrEqual, start + 2),
            (b'>', _) => self.push(Kind::Greater, start + 1),
            (b'<', _) => self.less(second),
            (b'$', b'{') => {
                self.push(Kind::InterpolationOpen, start + 2);
                self.modes.push(Mode::Code);
            }
            (b'\'', b'\'') => self.indented_open(),
            (b'/', b'*') => self.block_comment(),
            (b'~', b'/') if self.home_path() => {}
            (b'/' | b'.' | b'+' | b'-', _) if self.path() => {}
            (b'/', b'/') => self.push(Kind::Update, start + 2),
            (b'/', _) => self.push(Kind::Slash, start + 1),
            (b'.', b'0'..=b'9') => self.fraction(start + 1),
            (b'.', b'.') if self.byte(start + 2) == b'.' => self.push(Kind::Ellipsis, start + 3),
            (b'.', _) => self.push(Kind::Dot, start + 1),
            (b'+', b'+') => self.push(Kind::Concat, start + 2),
            (b'+', _) => self.push(Kind::Plus, start + 1),
            (b'-', b'>') => self.push(Kind::Implies, start + 2),
            (b'-', _) => self.push(Kind::Minus, start + 1),
            _ => self.unknown(),
        }
    }

    /// Reads a name, a reserved word, or the path or URL that begins like one.
    #[inline]
    fn word(&mut self) {
        let start = self.at;
        let end = self.run(start + 1, NAME);
        if matches!(self.byte(end), b'.' | b'+' | b'/' | b':') && (self.path() || self.uri()) {
            return;
        }
        let kind = self.bytes.get(start..end).map_or(Kind::Identifier, keyword);
        self.push(kind, end);
    }

    fn number(&mut self) {
        let start = self.at;
        let end = self.run(start, DIGIT);
        if is(self.byte(end), PATH) | (self.byte(end) == b'/') && self.path() {
            return;
        }
        if self.byte(end) == b'.' {
            let leading_zero = self.byte(start) == b'0';
            let fraction = is(self.byte(end + 1), DIGIT);
            // As in Nix, `0.` and `00.5` are not numbers with a fraction, and `1.` is.
            if !leading_zero || (end == start + 1 && fraction) {
                return self.fraction(end + 1);
            }
        }
        self.push(Kind::Integer, end);
    }

    /// Reads digits and an exponent; `from` is behind the point.
    fn fraction(&mut self, from: usize) {
        let mut end = self.run(from, DIGIT);
        if matches!(self.byte(end), b'e' | b'E') {
            let sign = usize::from(matches!(self.byte(end + 1), b'+' | b'-'));
            let digits = end + 1 + sign;
            if is(self.byte(digits), DIGIT) {
                end = self.run(digits, DIGIT);
            }
        }
        self.push(Kind::Float, end);
    }

    /// Reads a path, if one begins here. A path has a slash with a path character or `${` behind it.
    fn path(&mut self) -> bool {
        let start = self.at;
        if start < self.no_path_before {
            return false;
        }
        let slash = self.run(start, PATH);
        if let Some(end) = self.segments(slash) {
            self.push_path(Kind::Path, start, end);
            return true;
        }
        if self.byte(slash) == b'/' && self.byte(slash + 1) == b'$' && self.byte(slash + 2) == b'{' {
            self.push_path(Kind::Path, start, slash + 1);
            return true;
        }
        self.no_path_before = slash;
        false
    }

    /// Returns where `/a/b/` ends that begins at a slash, if one does.
    fn segments(&self, slash: usize) -> Option<usize> {
        let mut end = slash;
        while self.byte(end) == b'/' && is(self.byte(end + 1), PATH) {
            end = self.run(end + 1, PATH);
        }
        if end == slash {
            return None;
        }
        Some(if self.byte(end) == b'/' { end + 1 } else { end })
    }

    fn home_path(&mut self) -> bool {
        let start = self.at;
        if let Some(end) = self.segments(start + 1) {
            self.push_path(Kind::HomePath, start, end);
            return true;
        }
        if self.byte(start + 2) == b'$' && self.byte(start + 3) == b'{' {
            self.push_path(Kind::HomePath, start, start + 2);
            return true;
        }
        false
    }

    fn push_path(&mut self, kind: Kind, start: usize, end: usize) {
        let slash = self.byte(end - 1) == b'/';
        self.push(kind, end);
        self.modes.push(Mode::Path { slash, start });
    }

    /// Reads what may follow a path without a space: `${…}` or more of the path.
    pub(super) fn path_rest(&mut self, slash: bool, path: usize) {
        let start = self.at;
        self.modes.pop();
        if self.byte(start) == b'$' && self.byte(start + 1) == b'{' {
            self.modes.push(Mode::Path { slash: false, start });
            self.push(Kind::InterpolationOpen, start + 2);
            self.modes.push(Mode::Code);
            return;
        }
        let run = self.run(start, PATH);
        let end = match self.segments(run) {
            Some(end) => end,
            None if self.byte(run) == b'/' => run + 1,
            None => run,
        };
        if end > start {
            self.push_path(Kind::PathText, start, end);
        } else if slash {
            self.fault(LexFaultKind::TrailingSlash, path, start);
        }
    }

    fn uri(&mut self) -> bool {
        let start = self.at;
        if start < self.no_uri_before || self.byte(start) == b'_' {
            return false;
        }
        let colon = self.run(start + 1, SCHEME);
        if self.byte(colon) == b':' && is(self.byte(colon + 1), URI) {
            let end = self.run(colon + 1, URI);
            self.push(Kind::Uri, end);
            return true;
        }
        self.no_uri_before = colon;
        false
    }

    fn less(&mut self, second: u8) {
        let start = self.at;
        let mut end = self.run(start + 1, PATH);
        if end > start + 1 {
            while self.byte(end) == b'/' && is(self.byte(end + 1), PATH) {
                end = self.run(end + 1, PATH);
            }
            if self.byte(end) == b'>' {
                return self.push(Kind::SearchPath, end + 1);
            }
        }
        match second {
            b'=' => self.push(Kind::LessOrEqual, start + 2),
            b'|' => self.push(Kind::PipeFrom, start + 2),
            _ => self.push(Kind::Less, start + 1),
        }
    }

    fn line_comment(&mut self) {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let length = rest.iter().position(|&byte| byte == b'\n' || byte == b'\r').unwrap_or(rest.len());
        let end = self.at + length;
        if self.byte(end) == b'\r' && self.byte(end + 1) != b'\n' {
            self.fault(LexFaultKind::LoneCarriageReturn, end, end + 1);
        }
        self.push(Kind::LineComment, end);
    }

    fn block_comment(&mut self) {
        let start = self.at;
        let rest = self.bytes.get(start + 2..).unwrap_or_default();
        match rest.windows(2).position(|pair| pair == b"*/") {
            Some(length) => self.push(Kind::BlockComment, start + length + 4),
            None => {
                self.fault(LexFaultKind::UnclosedComment, start, start + 2);
                self.push(Kind::BlockComment, self.bytes.len());
            }
        }
    }

    /// Skips one character that begins no token, all its bytes.
    fn unknown(&mut self) {
        let start = self.at;
        let mut end = start + 1;
        while self.byte(end) & 0xC0 == 0x80 {
            end += 1;
        }
        self.fault(LexFaultKind::UnknownCharacter, start, end);
        self.push(Kind::Unknown, end);
    }
}

#[inline]
fn keyword(word: &[u8]) -> Kind {
    if word.len() > 7 {
        return Kind::Identifier;
    }
    match word {
        b"if" => Kind::If,
        b"in" => Kind::In,
        b"or" => Kind::Or,
        b"let" => Kind::Let,
        b"rec" => Kind::Rec,
        b"then" => Kind::Then,
        b"else" => Kind::Else,
        b"with" => Kind::With,
        b"assert" => Kind::Assert,
        b"inherit" => Kind::Inherit,
        _ => Kind::Identifier,
    }
}
