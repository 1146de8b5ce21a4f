//! The grammar's input: a place in the token vector, as nom sees it.

use nom::error::{ErrorKind, ParseError};
use nom::{Err, IResult, Input, Needed};

use crate::kind::{Kind, KindSet, Token};

/// The tokens from one place on. The place is never at trivia: each step goes over what follows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tokens<'a> {
    /// What is left; the first is what the grammar sees next.
    rest: &'a [Token],
    /// Where the next token begins.
    pub(crate) start: u32,
    /// Where the token before ends, spaces and comments left out.
    pub(crate) before: u32,
}

/// What a rule of the grammar gives.
pub(crate) type Parsed<'a, T> = IResult<Tokens<'a>, T, Fault>;

/// A place where no rule could go on. As nom has it, [`Err::Error`] says that the rule did not
/// begin, so that another may; [`Err::Failure`] says that it began and broke.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Fault {
    /// How many tokens were left, which names the place in eight bytes less than the place itself.
    pub(crate) left: usize,
    /// What could have stood there.
    pub(crate) expected: KindSet,
}

impl<'a> Tokens<'a> {
    /// Returns the place before the first token that is no trivia.
    pub(crate) fn new(all: &'a [Token]) -> Self {
        Self { rest: all, start: 0, before: 0 }.over_trivia()
    }

    /// Returns the place where `left` tokens of `all` are left.
    pub(crate) fn at(all: &'a [Token], left: usize) -> Self {
        let index = all.len().saturating_sub(left);
        let (done, rest) = all.split_at(index);
        let start = done.last().map_or(0, |token| token.end);
        let before = done.iter().rev().find(|token| !token.kind.is_trivia()).map_or(0, |token| token.end);
        Self { rest, start, before }.over_trivia()
    }

    /// Returns the kind of the next token.
    #[inline]
    pub(crate) fn kind(self) -> Kind {
        self.rest.first().map_or(Kind::End, |token| token.kind)
    }

    /// Returns where the next token ends.
    #[inline]
    pub(crate) fn end(self) -> u32 {
        self.rest.first().map_or(self.start, |token| token.end)
    }

    /// Returns how many tokens are left.
    pub(crate) fn left(self) -> usize {
        self.rest.len()
    }

    /// Returns true if nothing stands between the token before and the next.
    pub(crate) fn is_adjacent(self) -> bool {
        self.before == self.start
    }

    /// Returns the place behind the next token. At the end of the text it is the same place.
    #[inline]
    pub(crate) fn next(self) -> Self {
        match self.rest {
            [first, rest @ ..] if !rest.is_empty() => {
                Self { rest, start: first.end, before: first.end }.over_trivia()
            }
            _ => self,
        }
    }

    #[inline]
    fn over_trivia(mut self) -> Self {
        while let [first, rest @ ..] = self.rest {
            if !first.kind.is_trivia() {
                break;
            }
            self.start = first.end;
            self.rest = rest;
        }
        self
    }

    /// Returns the fault of finding none of `expected` here.
    #[inline]
    pub(crate) fn fault(self, expected: KindSet) -> Fault {
        Fault { left: self.left(), expected }
    }
}

/// Reads one token of this kind and returns where it begins and ends.
#[inline]
pub(crate) fn token<'a>(kind: Kind) -> impl Fn(Tokens<'a>) -> Parsed<'a, (u32, u32)> {
    move |input| {
        if input.kind() == kind {
            Ok((input.next(), (input.start, input.end())))
        } else {
            Err(Err::Error(input.fault(KindSet::of(&[kind]))))
        }
    }
}

impl<'a> Input for Tokens<'a> {
    type Item = Token;
    type Iter = std::iter::Copied<std::slice::Iter<'a, Token>>;
    type IterIndices = std::iter::Enumerate<Self::Iter>;

    #[inline]
    fn input_len(&self) -> usize {
        self.rest.len()
    }

    fn take(&self, index: usize) -> Self {
        Self { rest: self.rest.get(..index).unwrap_or(self.rest), ..*self }
    }

    fn take_from(&self, index: usize) -> Self {
        let (done, rest) = self.rest.split_at(index.min(self.rest.len()));
        let start = done.last().map_or(self.start, |token| token.end);
        let seen = done.iter().rev().find(|token| !token.kind.is_trivia());
        Self { rest, start, before: seen.map_or(self.before, |token| token.end) }.over_trivia()
    }

    fn take_split(&self, index: usize) -> (Self, Self) {
        (self.take_from(index), self.take(index))
    }

    fn position<P>(&self, predicate: P) -> Option<usize>
    where
        P: Fn(Token) -> bool,
    {
        self.rest.iter().position(|&token| predicate(token))
    }

    fn iter_elements(&self) -> Self::Iter {
        self.rest.iter().copied()
    }

    fn iter_indices(&self) -> Self::IterIndices {
        self.iter_elements().enumerate()
    }

    fn slice_index(&self, count: usize) -> Result<usize, Needed> {
        if count <= self.rest.len() { Ok(count) } else { Err(Needed::new(count - self.rest.len())) }
    }
}

impl<'a> ParseError<Tokens<'a>> for Fault {
    fn from_error_kind(input: Tokens<'a>, _: ErrorKind) -> Self {
        input.fault(KindSet::default())
    }

    fn append(_: Tokens<'a>, _: ErrorKind, other: Self) -> Self {
        other
    }

    /// Keeps the fault that came further; at the same place, what either expected.
    fn or(self, other: Self) -> Self {
        match self.left.cmp(&other.left) {
            std::cmp::Ordering::Less => self,
            std::cmp::Ordering::Equal => Self { left: self.left, expected: self.expected.or(other.expected) },
            std::cmp::Ordering::Greater => other,
        }
    }
}
