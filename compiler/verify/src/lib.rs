//! Claims against upstream: cookbooks read, claims judged, each verdict with its evidence.
//!
//! This crate owns cookbook readers, facets, the judge, policy, and the rendering of verdicts. It
//! knows no socket and no file: evidence and policy are given as text and data.

pub mod claim;
pub mod claims;
pub mod cookbook;
pub mod evidence;
pub mod facet;
mod judge;
pub mod policy;
pub mod report;
mod rules;
mod script;
mod verdict;
pub mod vllm;

pub use judge::{Collected, Neighbour, Neighbours, Standing, Summary, judge, summary};
pub use policy::Policy;
pub use verdict::{Day, Evidence, Outcome, Verdict};
