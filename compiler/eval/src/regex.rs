//! POSIX extended regular expressions, as Nix has them.
//!
//! Nix hands its patterns to the C++ standard library of GNU, whose answers differ from those of
//! other engines in which alternative wins (the longest), in which captures stay, and in what is
//! refused. So this follows the same construction: a pattern becomes the same automaton, searched
//! in the same order. Bytes are matched, not characters.

mod parse;
mod run;

/// A group's first byte and one past its last.
pub(crate) type Group = Option<(u32, u32)>;

/// A compiled pattern.
#[derive(Debug)]
pub(crate) struct Regex {
    states: Vec<State>,
    start: StateId,
    /// Number of groups, the whole match not counted.
    groups: usize,
}

type StateId = u32;

/// Not yet linked, or the end of a sequence.
const NONE: StateId = u32::MAX;

#[derive(Clone, Debug)]
struct State {
    kind: Kind,
    next: StateId,
}

/// A set of bytes, a bit each.
type Set = [u64; 4];

fn holds(set: &Set, byte: u8) -> bool {
    set[usize::from(byte >> 6)] >> (byte & 63) & 1 == 1
}

#[derive(Clone, Debug)]
enum Kind {
    /// Nothing; goes on.
    Dummy,
    /// Tries `first`, then the next state, and keeps the longer match.
    Either {
        first: StateId,
    },
    /// Tries the body again, and goes on only if that leads nowhere.
    Repeat {
        body: StateId,
    },
    /// One byte of a set.
    Byte {
        set: Box<Set>,
    },
    LineBegin,
    LineEnd,
    GroupBegin {
        group: u32,
    },
    GroupEnd {
        group: u32,
    },
    Accept,
}

impl Regex {
    /// Compiles a pattern.
    pub(crate) fn new(pattern: &[u8]) -> Result<Self, &'static str> {
        parse::parse(pattern)
    }

    /// Returns how large the automaton is.
    pub(crate) fn size(&self) -> usize {
        self.states.len()
    }

    /// Matches a whole text. `budget` counts steps down; at zero the answer means nothing.
    pub(crate) fn match_whole(&self, text: &[u8], budget: &mut u64) -> Option<Vec<Group>> {
        run::Search::new(self, text).run(0, run::Mode::Whole, true, budget)
    }

    /// Finds the next match at or after `from`, as an iteration over all matches does: `after` says
    /// that the last match was the empty one at `from`.
    pub(crate) fn find(
        &self,
        text: &[u8],
        from: usize,
        first: bool,
        after: bool,
        budget: &mut u64,
    ) -> Option<Vec<Group>> {
        let mut search = run::Search::new(self, text);
        let mut at = from;
        if after {
            if at == text.len() {
                return None;
            }
            let found = search.run(at, run::Mode::NotEmpty, first, budget);
            if found.is_some() {
                return found;
            }
            at += 1;
        }
        let mut begin = first && !after;
        loop {
            let found = search.run(at, run::Mode::Prefix, begin, budget);
            if found.is_some() || at >= text.len() || *budget == 0 {
                return found;
            }
            begin = false;
            at += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matched(pattern: &str, text: &str) -> Option<Vec<Option<String>>> {
        let groups = Regex::new(pattern.as_bytes()).unwrap().match_whole(text.as_bytes(), &mut 100_000)?;
        let slice = |group: &Group| group.map(|(from, to)| text[from as usize..to as usize].to_owned());
        Some(groups.iter().skip(1).map(slice).collect())
    }

    // Answers of Nix 2.34.8.
    #[test]
    fn groups_are_those_of_nix() {
        let some = |groups: &[&str]| Some(groups.iter().map(|group| Some((*group).to_owned())).collect());
        assert_eq!(matched("(.*)(b|bc)(c|d)?", "abcd"), some(&["a", "bc", "d"]));
        assert_eq!(matched("(a|ab)(bc|c)?.*", "abcd"), some(&["a", "bc"]));
        assert_eq!(matched("(a?)*b", "aab"), some(&[""]));
        assert_eq!(matched("(a|b)*c", "abc"), some(&["b"]));
        assert_eq!(matched("a", "b"), None);
    }

    #[test]
    fn what_gnu_refuses_is_refused() {
        for pattern in ["*a", "(", ")", "a{", "a{2", "a{3,2}", "[a", "[z-a]", "\\w", "[[:no:]]", "\\", "a|*"]
        {
            assert!(Regex::new(pattern.as_bytes()).is_err(), "{pattern}");
        }
        for pattern in ["", "()", "a||b", "a**", "]", "}", "[]a]", "[^]a]", "[a-]", "\\.", "a{2,}", "[--0]"] {
            assert!(Regex::new(pattern.as_bytes()).is_ok(), "{pattern}");
        }
    }
}
