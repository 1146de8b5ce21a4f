//! Tokens inside strings.

use super::{Lexer, Mode};
use crate::kind::Kind;

impl Lexer<'_> {
    /// Reads raw characters, or the sign that ends them.
    pub(super) fn string(&mut self) {
        let mut end = self.at;
        let next = loop {
            let Some(&byte) = self.bytes.get(end) else { break Kind::End };
            match byte {
                b'"' => break Kind::StringClose,
                b'\\' => end += 2,
                b'$' => match self.byte(end + 1) {
                    b'{' => break Kind::InterpolationOpen,
                    b'"' | b'\\' => end += 1,
                    // `$$` is a pair, so `$${` is no interpolation.
                    _ => end += 2,
                },
                _ => end += 1,
            }
        };
        self.text(Kind::StringText, end, next);
    }

    /// Reads `''` with the rest of its line, if that is blank.
    pub(super) fn indented_open(&mut self) {
        let quotes = self.at + 2;
        let mut end = quotes;
        while self.byte(end) == b' ' {
            end += 1;
        }
        let end = if self.byte(end) == b'\n' { end + 1 } else { quotes };
        self.push(Kind::IndentedOpen, end);
        self.modes.push(Mode::Indented);
    }

    /// Reads raw characters, or the sign that ends them.
    pub(super) fn indented(&mut self) {
        let mut end = self.at;
        let next = loop {
            let Some(&byte) = self.bytes.get(end) else { break Kind::End };
            match byte {
                b'\'' if self.byte(end + 1) == b'\'' => match self.byte(end + 2) {
                    b'$' | b'\'' => end += 3,
                    b'\\' if end + 3 < self.bytes.len() => end += 4,
                    _ => break Kind::IndentedClose,
                },
                b'$' => match self.byte(end + 1) {
                    b'{' => break Kind::InterpolationOpen,
                    b'\'' => end += 1,
                    _ => end += 2,
                },
                _ => end += 1,
            }
        };
        self.text(Kind::IndentedText, end, next);
    }

    fn text(&mut self, kind: Kind, end: usize, next: Kind) {
        let end = end.min(self.bytes.len());
        if end > self.at {
            self.push(kind, end);
        }
        match next {
            Kind::StringClose => {
                self.modes.pop();
                self.push(next, end + 1);
            }
            Kind::IndentedClose => {
                self.modes.pop();
                self.push(next, end + 2);
            }
            Kind::InterpolationOpen => {
                self.modes.push(Mode::Code);
                self.push(next, end + 2);
            }
            _ => {}
        }
    }
}
