//! From pattern to automaton.

use super::{Kind, NONE, Regex, Set, State, StateId};

/// As many states as the C++ library allows.
const STATES: usize = 100_000;
/// Groups within one another; deeper ones would only exhaust the stack.
const DEPTH: u32 = 1000;

/// A part of the automaton with one way in and one way out.
#[derive(Clone, Copy)]
struct Sequence {
    start: StateId,
    end: StateId,
}

struct Parser<'p> {
    pattern: &'p [u8],
    at: usize,
    states: Vec<State>,
    groups: u32,
    depth: u32,
}

type Parsed<T> = Result<T, &'static str>;

pub(super) fn parse(pattern: &[u8]) -> Parsed<Regex> {
    let mut parser = Parser { pattern, at: 0, states: Vec::new(), groups: 0, depth: 0 };
    let start = parser.single(Kind::GroupBegin { group: 0 })?;
    let body = parser.disjunction()?;
    if parser.at < pattern.len() {
        return Err(match parser.peek() {
            Some(b')') => "a parenthesis closes nothing",
            _ => "there is nothing to repeat",
        });
    }
    let end = parser.single(Kind::GroupEnd { group: 0 })?;
    let accept = parser.single(Kind::Accept)?;
    let whole = parser.join(start, body);
    let whole = parser.join(whole, end);
    let whole = parser.join(whole, accept);
    Ok(Regex { start: whole.start, groups: parser.groups as usize, states: parser.states })
}

impl Parser<'_> {
    fn peek(&self) -> Option<u8> {
        self.pattern.get(self.at).copied()
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn single(&mut self, kind: Kind) -> Parsed<Sequence> {
        if self.states.len() >= STATES {
            return Err("it is too large");
        }
        self.states.push(State { kind, next: NONE });
        let state = self.states.len() as StateId - 1;
        Ok(Sequence { start: state, end: state })
    }

    fn link(&mut self, from: StateId, to: StateId) {
        self.states[from as usize].next = to;
    }

    fn join(&mut self, left: Sequence, right: Sequence) -> Sequence {
        self.link(left.end, right.start);
        Sequence { start: left.start, end: right.end }
    }

    fn disjunction(&mut self) -> Parsed<Sequence> {
        let mut left = self.alternative()?;
        while self.take(b'|') {
            let right = self.alternative()?;
            let end = self.single(Kind::Dummy)?;
            self.link(left.end, end.start);
            self.link(right.end, end.start);
            let fork = self.single(Kind::Either { first: left.start })?;
            self.link(fork.start, right.start);
            left = Sequence { start: fork.start, end: end.end };
        }
        Ok(left)
    }

    fn alternative(&mut self) -> Parsed<Sequence> {
        let mut all = self.single(Kind::Dummy)?;
        while let Some(term) = self.term()? {
            all = self.join(all, term);
        }
        Ok(all)
    }

    fn term(&mut self) -> Parsed<Option<Sequence>> {
        if self.take(b'^') {
            return self.single(Kind::LineBegin).map(Some);
        }
        if self.take(b'$') {
            return self.single(Kind::LineEnd).map(Some);
        }
        let Some(mut atom) = self.atom()? else { return Ok(None) };
        loop {
            atom = match self.peek() {
                Some(b'*') => {
                    let repeat = self.single(Kind::Repeat { body: atom.start })?;
                    self.link(atom.end, repeat.start);
                    repeat
                }
                Some(b'+') => {
                    let repeat = self.single(Kind::Repeat { body: atom.start })?;
                    self.link(atom.end, repeat.start);
                    Sequence { start: atom.start, end: repeat.end }
                }
                Some(b'?') => {
                    let end = self.single(Kind::Dummy)?;
                    let repeat = self.single(Kind::Repeat { body: atom.start })?;
                    self.link(atom.end, end.start);
                    self.link(repeat.start, end.start);
                    Sequence { start: repeat.start, end: end.end }
                }
                Some(b'{') => {
                    self.at += 1;
                    atom = self.interval(atom)?;
                    continue;
                }
                _ => return Ok(Some(atom)),
            };
            self.at += 1;
        }
    }

    /// `{n}`, `{n,}` or `{n,m}`; the brace is behind.
    fn interval(&mut self, atom: Sequence) -> Parsed<Sequence> {
        let Some(least) = self.count()? else { return Err("a brace needs a number") };
        let most = if self.take(b',') { self.count()? } else { Some(least) };
        if !self.take(b'}') {
            return Err("a brace has no end");
        }
        let mut all = self.single(Kind::Dummy)?;
        for _ in 0..least {
            let copy = self.copy(atom)?;
            all = self.join(all, copy);
        }
        let Some(most) = most else {
            let copy = self.copy(atom)?;
            let repeat = self.single(Kind::Repeat { body: copy.start })?;
            self.link(copy.end, repeat.start);
            return Ok(self.join(all, repeat));
        };
        if most < least {
            return Err("a brace counts backwards");
        }
        let end = self.single(Kind::Dummy)?;
        for _ in least..most {
            let copy = self.copy(atom)?;
            let repeat = self.single(Kind::Repeat { body: copy.start })?;
            self.link(all.end, repeat.start);
            self.link(repeat.start, end.start);
            all = Sequence { start: all.start, end: copy.end };
        }
        Ok(self.join(all, end))
    }

    fn count(&mut self) -> Parsed<Option<usize>> {
        let begin = self.at;
        let mut count = 0_usize;
        while let Some(digit @ b'0'..=b'9') = self.peek() {
            count = count * 10 + usize::from(digit - b'0');
            if count > STATES {
                return Err("it is too large");
            }
            self.at += 1;
        }
        Ok((self.at > begin).then_some(count))
    }

    /// Copies a part of the automaton.
    fn copy(&mut self, part: Sequence) -> Parsed<Sequence> {
        let mut copies: std::collections::BTreeMap<StateId, StateId> = std::collections::BTreeMap::new();
        let mut todo = vec![part.start];
        while let Some(state) = todo.pop() {
            if copies.contains_key(&state) {
                continue;
            }
            let State { kind, next } = self.states[state as usize].clone();
            if let Kind::Either { first: other } | Kind::Repeat { body: other } = kind {
                todo.push(other);
            }
            copies.insert(state, self.single(kind)?.start);
            if state != part.end && next != NONE {
                todo.push(next);
            }
        }
        let to = |state: StateId| copies.get(&state).copied().unwrap_or(NONE);
        for (&original, &copy) in &copies {
            let next = if original == part.end { NONE } else { to(self.states[original as usize].next) };
            let copied = &mut self.states[copy as usize];
            copied.next = next;
            if let Kind::Either { first: other } | Kind::Repeat { body: other } = &mut copied.kind {
                *other = to(*other);
            }
        }
        Ok(Sequence { start: to(part.start), end: to(part.end) })
    }

    fn atom(&mut self) -> Parsed<Option<Sequence>> {
        let Some(byte) = self.peek() else { return Ok(None) };
        let set = match byte {
            b'*' | b'+' | b'?' | b'{' | b'|' | b')' => return Ok(None),
            b'(' => return self.group().map(Some),
            b'[' => {
                self.at += 1;
                return self.bracket().map(Some);
            }
            b'.' => {
                let mut set = [u64::MAX; 4];
                set[0] -= 1;
                set
            }
            b'\\' => {
                self.at += 1;
                let Some(escaped) = self.peek() else { return Err("it ends in a backslash") };
                if !b".[\\()*+?{|^$".contains(&escaped) {
                    return Err("only special characters may follow a backslash");
                }
                only(escaped)
            }
            byte => only(byte),
        };
        self.at += 1;
        self.single(Kind::Byte { set: Box::new(set) }).map(Some)
    }

    fn group(&mut self) -> Parsed<Sequence> {
        self.at += 1;
        self.depth += 1;
        if self.depth > DEPTH {
            return Err("its groups are too deep");
        }
        self.groups += 1;
        let group = self.groups;
        let begin = self.single(Kind::GroupBegin { group })?;
        let body = self.disjunction()?;
        if !self.take(b')') {
            return Err(if self.at < self.pattern.len() {
                "there is nothing to repeat"
            } else {
                "a parenthesis is not closed"
            });
        }
        self.depth -= 1;
        let end = self.single(Kind::GroupEnd { group })?;
        let all = self.join(begin, body);
        Ok(self.join(all, end))
    }

    /// `[…]`; the first bracket is behind.
    fn bracket(&mut self) -> Parsed<Sequence> {
        let negated = self.take(b'^');
        let mut set: Set = [0; 4];
        let mut last = Last::Nothing;
        let mut start = true;
        loop {
            match self.item(start)? {
                Item::End => break,
                Item::Byte(byte) => {
                    last.add(&mut set);
                    last = Last::Byte(byte);
                }
                Item::Class(class) => {
                    last.add(&mut set);
                    for (held, other) in set.iter_mut().zip(class.iter()) {
                        *held |= other;
                    }
                    last = Last::Class;
                }
                Item::Dash if start => last = Last::Byte(b'-'),
                Item::Dash => match (last, self.item(false)?) {
                    // At the end the dash stands for itself.
                    (last, Item::End) => {
                        last.add(&mut set);
                        add(b'-', &mut set);
                        return self.finish_bracket(set, negated);
                    }
                    (Last::Byte(from), Item::Byte(to)) => {
                        range(from, to, &mut set)?;
                        last = Last::Nothing;
                    }
                    (Last::Byte(from), Item::Dash) => {
                        range(from, b'-', &mut set)?;
                        last = Last::Nothing;
                    }
                    (Last::Class, _) => return Err("a range cannot begin with a class"),
                    (Last::Nothing, _) => return Err("a dash stands where none can"),
                    (Last::Byte(_), Item::Class(_)) => return Err("a range cannot end with a class"),
                },
            }
            start = false;
        }
        last.add(&mut set);
        self.finish_bracket(set, negated)
    }

    fn finish_bracket(&mut self, mut set: Set, negated: bool) -> Parsed<Sequence> {
        if negated {
            for held in &mut set {
                *held = !*held;
            }
        }
        self.single(Kind::Byte { set: Box::new(set) })
    }

    fn item(&mut self, start: bool) -> Parsed<Item> {
        let Some(byte) = self.peek() else { return Err("a bracket is not closed") };
        self.at += 1;
        match byte {
            b'-' => Ok(Item::Dash),
            b']' if !start => Ok(Item::End),
            b'[' => match self.peek() {
                Some(kind @ (b'.' | b':' | b'=')) => {
                    self.at += 1;
                    self.named(kind)
                }
                Some(_) => Ok(Item::Byte(b'[')),
                None => Err("a bracket is not closed"),
            },
            byte => Ok(Item::Byte(byte)),
        }
    }

    /// `[:alpha:]`, `[.a.]` or `[=a=]`; the first two characters are behind.
    fn named(&mut self, kind: u8) -> Parsed<Item> {
        let rest = &self.pattern[self.at..];
        let Some(end) = rest.windows(2).position(|pair| pair == [kind, b']']) else {
            return Err("a class in a bracket is not closed");
        };
        let name = &rest[..end];
        self.at += end + 2;
        if kind == b':' {
            let name = name.to_ascii_lowercase();
            let Some(class) = class(&name) else { return Err("there is no such class of characters") };
            let mut set: Set = [0; 4];
            for byte in 0..=127_u8 {
                if class(byte) {
                    add(byte, &mut set);
                }
            }
            return Ok(Item::Class(Box::new(set)));
        }
        let &[byte] = name else { return Err("there is no such character") };
        if kind == b'.' {
            return Ok(Item::Byte(byte));
        }
        let mut set = only(byte.to_ascii_lowercase());
        add(byte.to_ascii_uppercase(), &mut set);
        Ok(Item::Class(Box::new(set)))
    }
}

/// One item of a bracket.
enum Item {
    End,
    Dash,
    Byte(u8),
    Class(Box<Set>),
}

/// What came before in a bracket: a byte may still turn out to begin a range.
#[derive(Clone, Copy)]
enum Last {
    Nothing,
    Byte(u8),
    Class,
}

impl Last {
    fn add(self, set: &mut Set) {
        if let Self::Byte(byte) = self {
            add(byte, set);
        }
    }
}

fn add(byte: u8, set: &mut Set) {
    set[usize::from(byte >> 6)] |= 1 << (byte & 63);
}

fn only(byte: u8) -> Set {
    let mut set: Set = [0; 4];
    add(byte, &mut set);
    set
}

/// Adds a range. Characters of C++ are signed here, so bytes from 128 on come before the others.
fn range(from: u8, to: u8, set: &mut Set) -> Parsed<()> {
    let (from, to) = (from as i8, to as i8);
    if from > to {
        return Err("a range goes backwards");
    }
    for byte in from..=to {
        add(byte as u8, set);
    }
    Ok(())
}

fn class(name: &[u8]) -> Option<fn(u8) -> bool> {
    Some(match name {
        b"alnum" => |byte| byte.is_ascii_alphanumeric(),
        b"alpha" => |byte| byte.is_ascii_alphabetic(),
        b"blank" => |byte| matches!(byte, b' ' | b'\t'),
        b"cntrl" => |byte| byte.is_ascii_control(),
        b"d" | b"digit" => |byte| byte.is_ascii_digit(),
        b"graph" => |byte| byte.is_ascii_graphic(),
        b"lower" => |byte| byte.is_ascii_lowercase(),
        b"print" => |byte| byte.is_ascii_graphic() || byte == b' ',
        b"punct" => |byte| byte.is_ascii_punctuation(),
        b"s" | b"space" => |byte| matches!(byte, b' ' | 9..=13),
        b"upper" => |byte| byte.is_ascii_uppercase(),
        b"w" => |byte| byte.is_ascii_alphanumeric() || byte == b'_',
        b"xdigit" => |byte| byte.is_ascii_hexdigit(),
        _ => return None,
    })
}
