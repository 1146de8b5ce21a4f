//! The lock: what a recipe's wants resolved to, what is known of them, and its behaviour.
//!
//! This crate owns digests, pins, the wire format with its migration law, canonical JSON, the
//! semantic difference and merging. It knows no network: resolving is `upstream`'s.

mod digest;
pub mod pin;

pub use digest::{Digest, DigestError};
