//! Claims against upstream: cookbooks read, claims judged, each verdict with its evidence.
//!
//! This crate owns cookbook readers, facets, the judge, policy, and the rendering of verdicts. It
//! knows no socket and no file: evidence and policy are given as text and data.

pub mod cookbook;
mod script;
