//! What recipec knows of inference engines: flags per version, aliases, constraints, acceptance
//! injection; and [`known::Known`], the facts about pinned things that planning and judging need.
//!
//! This crate does not know manifests, plans or locks: it answers questions about argument lists,
//! hardware and checkpoints given as plain data.

mod canonical;
mod engine;
mod image;
pub mod known;
mod plain;
pub mod reading;
mod table;
mod value;
mod version;

pub use canonical::{Canonical, canonical, canonical_plain, full_name};
pub use engine::Engine;
pub use image::{Chosen, Tagged, choose, identify};
pub use table::{Book, Flag, Kind, Member, Parser, Table, Type, book};
pub use value::{Value, human_integer, integer, number};
pub use version::Version;
