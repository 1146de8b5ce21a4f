//! Names as numbers, shared by all files of a session.

use std::fmt;

/// A name. Two names of one [`Interner`] are equal exactly when their symbols are.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Symbol(pub u32);

/// Gives every name a number, in the order in which the names were first seen.
#[derive(Clone, Default)]
pub struct Interner {
    /// All names, one after the other.
    text: String,
    /// Where each name ends.
    ends: Vec<u32>,
    /// An open-addressing table of symbols plus one; zero is free. Its length is a power of two.
    slots: Vec<u32>,
}

impl Interner {
    /// Returns an interner that knows no name.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the symbol of a name, a new one if the name is new.
    #[inline]
    pub fn intern(&mut self, name: &str) -> Symbol {
        if (self.ends.len() + 1) * 2 > self.slots.len() {
            self.grow();
        }
        let mask = self.slots.len() - 1;
        let mut at = hash(name.as_bytes()) as usize & mask;
        loop {
            let Some(slot) = self.slots.get_mut(at) else { return Symbol(u32::MAX) };
            match *slot {
                0 => {
                    let symbol = count(self.ends.len());
                    *slot = symbol.saturating_add(1);
                    self.text.push_str(name);
                    self.ends.push(count(self.text.len()));
                    return Symbol(symbol);
                }
                known => {
                    let symbol = Symbol(known - 1);
                    if self.resolve(symbol) == name {
                        return symbol;
                    }
                    at = (at + 1) & mask;
                }
            }
        }
    }

    /// Returns the symbol of a name that is known already.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<Symbol> {
        let mask = self.slots.len().checked_sub(1)?;
        let mut at = hash(name.as_bytes()) as usize & mask;
        loop {
            let symbol = Symbol(self.slots.get(at)?.checked_sub(1)?);
            if self.resolve(symbol) == name {
                return Some(symbol);
            }
            at = (at + 1) & mask;
        }
    }

    /// Returns the name of a symbol; the empty text for a symbol of another interner.
    #[must_use]
    #[inline]
    pub fn resolve(&self, symbol: Symbol) -> &str {
        let index = symbol.0 as usize;
        let start = index.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or(0);
        let end = self.ends.get(index).copied().unwrap_or(start);
        self.text.get(start as usize..end as usize).unwrap_or("")
    }

    /// Returns how many names are known; symbols count from 0.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns true if no name is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    fn grow(&mut self) {
        let size = (self.slots.len() * 2).max(256);
        let mask = size - 1;
        let mut slots = vec![0_u32; size];
        for symbol in 0..count(self.ends.len()) {
            let mut at = hash(self.resolve(Symbol(symbol)).as_bytes()) as usize & mask;
            while slots.get(at).is_some_and(|&slot| slot != 0) {
                at = (at + 1) & mask;
            }
            if let Some(slot) = slots.get_mut(at) {
                *slot = symbol + 1;
            }
        }
        self.slots = slots;
    }
}

impl fmt::Debug for Interner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Interner({} names)", self.len())
    }
}

/// A multiply-and-rotate hash, eight bytes at a time. Names are short, and a hostile manifest that
/// makes names collide pays with its own limit on steps: the table is bounded by the text.
#[inline]
fn hash(bytes: &[u8]) -> u64 {
    const SEED: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut state = bytes.len() as u64;
    let mut chunks = bytes.chunks_exact(8);
    for chunk in &mut chunks {
        let word = <[u8; 8]>::try_from(chunk).map_or(0, u64::from_le_bytes);
        state = (state.rotate_left(5) ^ word).wrapping_mul(SEED);
    }
    let mut last = 0_u64;
    for &byte in chunks.remainder() {
        last = last << 8 | u64::from(byte);
    }
    state = (state.rotate_left(5) ^ last).wrapping_mul(SEED);
    state ^ state >> 29
}

fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::Interner;

    #[test]
    fn a_name_keeps_its_symbol_through_growth() {
        let mut names = Interner::new();
        let symbols: Vec<_> = (0..5000).map(|n| names.intern(&format!("name-{n}"))).collect();
        for (n, &symbol) in symbols.iter().enumerate() {
            let name = format!("name-{n}");
            assert_eq!(names.intern(&name), symbol);
            assert_eq!(names.find(&name), Some(symbol));
            assert_eq!(names.resolve(symbol), name);
        }
        assert_eq!(names.find("other"), None);
        assert_eq!(names.len(), 5000);
    }
}
