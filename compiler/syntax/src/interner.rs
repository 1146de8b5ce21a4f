//! Names as numbers, shared by all files of a session.

use std::collections::BTreeMap;
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
    /// Names whose slots are all taken.
    crowded: BTreeMap<Box<str>, Symbol>,
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
        match self.probe(name) {
            Probe::Known(symbol) => symbol,
            Probe::Free(at) => {
                let symbol = self.add(name);
                if let Some(slot) = self.slots.get_mut(at) {
                    *slot = symbol.0.saturating_add(1);
                }
                symbol
            }
            Probe::Crowded => {
                let symbol = self.add(name);
                self.crowded.insert(name.into(), symbol);
                symbol
            }
        }
    }

    /// Returns the symbol of a name that is known already.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<Symbol> {
        match self.probe(name) {
            Probe::Known(symbol) => Some(symbol),
            Probe::Free(_) | Probe::Crowded => None,
        }
    }

    #[inline]
    fn probe(&self, name: &str) -> Probe {
        let mask = self.slots.len().wrapping_sub(1);
        let mut at = hash(name.as_bytes()) as usize & mask;
        for _ in 0..FAR {
            match self.slots.get(at).copied().unwrap_or(0).checked_sub(1) {
                None => return Probe::Free(at),
                Some(symbol) if self.resolve(Symbol(symbol)) == name => return Probe::Known(Symbol(symbol)),
                Some(_) => at = (at + 1) & mask,
            }
        }
        self.crowded.get(name).map_or(Probe::Crowded, |&symbol| Probe::Known(symbol))
    }

    fn add(&mut self, name: &str) -> Symbol {
        let symbol = Symbol(count(self.ends.len()));
        self.text.push_str(name);
        self.ends.push(count(self.text.len()));
        symbol
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
        self.slots = vec![0; (self.slots.len() * 2).max(256)];
        self.crowded.clear();
        for symbol in (0..count(self.ends.len())).map(Symbol) {
            match self.probe(self.resolve(symbol)) {
                Probe::Free(at) => {
                    if let Some(slot) = self.slots.get_mut(at) {
                        *slot = symbol.0.saturating_add(1);
                    }
                }
                Probe::Known(_) | Probe::Crowded => {
                    let name = self.resolve(symbol).into();
                    self.crowded.insert(name, symbol);
                }
            }
        }
    }
}

/// How many slots are looked at for a name. Names that were made to collide go to a tree beyond that,
/// so that a hostile manifest cannot make every name cost as much as all others together.
const FAR: usize = 64;

/// Where a name is, or could be put.
enum Probe {
    Known(Symbol),
    Free(usize),
    Crowded,
}

impl fmt::Debug for Interner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Interner({} names)", self.len())
    }
}

/// A multiply-and-rotate hash, eight bytes at a time: names are short.
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

    #[test]
    fn names_that_collide_are_still_told_apart() {
        let mut names = Interner::new();
        let mut by_slot: std::collections::BTreeMap<u64, Vec<String>> = std::collections::BTreeMap::new();
        for n in 0..400_000_u32 {
            let name = format!("{n:x}");
            by_slot.entry(super::hash(name.as_bytes()) & 0xFF).or_default().push(name);
        }
        let crowd: Vec<String> =
            by_slot.into_values().next().unwrap_or_default().into_iter().take(300).collect();
        let symbols: Vec<_> = crowd.iter().map(|name| names.intern(name)).collect();
        for (name, symbol) in crowd.iter().zip(symbols) {
            assert_eq!(names.intern(name), symbol);
            assert_eq!(names.find(name), Some(symbol));
            assert_eq!(names.resolve(symbol), name);
        }
        assert_eq!(names.len(), crowd.len());
    }
}
