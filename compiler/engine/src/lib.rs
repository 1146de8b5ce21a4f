//! What recipec knows of inference engines: flags per version, aliases, constraints, acceptance
//! injection; and [`Known`], the facts about pinned things that planning and judging need.
//!
//! This crate does not know manifests, plans or locks: it answers questions about argument lists,
//! hardware and checkpoints given as plain data.

pub mod known;
