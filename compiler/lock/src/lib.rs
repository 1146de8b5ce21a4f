//! The lock: what a recipe's wants resolved to, what is known of them, and its behaviour.
//!
//! This crate owns digests, pins, the wire format with its migration law, canonical JSON, the
//! semantic difference and merging. It knows no network: resolving is `upstream`'s.

mod canonical;
mod diff;
mod digest;
mod document;
pub mod facts;
pub mod files;
mod fingerprint;
mod join;
pub mod launch;
mod merge;
pub mod pin;
mod pretty;
mod refresh;
mod select;
mod strict;
pub mod summary;
#[cfg(test)]
mod tests;
mod wire;
pub mod words;

pub use canonical::canonical;
pub use diff::{Cause, Change, check, current, diff};
pub use digest::{Digest, DigestError};
pub use document::{Lock, PlanKey, build, path, point_ids};
pub use fingerprint::{Fingerprint, fingerprint, role};
pub use join::{Joined, join};
pub use merge::{Conflict, Merged, Sides, merge, repair, sides};
pub use pretty::pretty;
pub use refresh::{Outcome, Refreshed, Resolution, State, WantState, refresh, unresolved};
pub use strict::parse as parse_json;
