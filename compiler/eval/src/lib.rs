//! Lazy evaluation of the manifest language, agreed with Nix.
//!
//! This crate owns values, scopes, builtins, limits and origins: where each value was written and
//! what it overrode. It knows nothing of recipes, and of files only what [`Files`] says.
//!
//! A [`Session`] loads files, evaluates what is asked for and answers for it. Values are handles
//! into the session; nothing is freed before the session ends, which is what makes evaluation
//! quick and what [`Limits::bytes`] bounds.

#![cfg_attr(test, allow(clippy::unwrap_used, reason = "tests fail loudly"))]

mod builtins;
mod call;
mod code;
mod coerce;
mod compare;
mod compile;
mod coverage;
mod evaluate;
mod failure;
mod faults;
mod files;
mod grisu;
mod known;
mod limits;
mod load;
mod machine;
mod number;
mod operators;
mod regex;
mod render;
mod select;
mod session;
mod shapes;
mod slot;
mod view;

pub use coverage::{Branch, BranchKind, Coverage};
pub use files::{FileError, FileKind, Files, MemoryFiles};
pub use limits::Limits;
pub use session::Session;
pub use slot::Value;
pub use view::{Attribute, Element, Error, Formal, Formals, Origin, View};
