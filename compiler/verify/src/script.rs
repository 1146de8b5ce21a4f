//! A small interpreter for the scripts of cookbook pages.
//!
//! Some pages have their commands not as data but as the result of a function: a generator
//! component builds them from what a reader selects. This reads and runs the part of JavaScript
//! that those functions are written in. It has no way to the outside: no clock, no chance, no
//! network, and steps, depth, memory and output are bounded. What it does not know it refuses by
//! name, so that a page is unreadable rather than read wrongly.

mod builtin;
mod class;
mod operator;
mod parse;
mod run;
mod token;
pub(crate) mod tree;
mod value;

pub(crate) use builtin::to_json;
pub(crate) use parse::parse;
pub(crate) use run::{Limits, Machine};
pub(crate) use tree::Statement;
pub(crate) use value::{Object, Value};

/// Why a script could not be read or run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ScriptError {
    /// The line, counted from 1; 0 if it is in no line.
    pub line: usize,
    /// What is wrong, as a phrase.
    pub why: String,
}

impl std::fmt::Display for ScriptError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.line == 0 { f.write_str(&self.why) } else { write!(f, "line {}: {}", self.line, self.why) }
    }
}

impl std::error::Error for ScriptError {}

#[cfg(test)]
mod tests;
