//! What recipec knows of inference engines: flags per version, aliases, constraints, acceptance
//! injection; and [`known::Known`], the facts about pinned things that planning and judging need.
//!
//! This crate does not know manifests, plans or locks: it answers questions about argument lists,
//! hardware and checkpoints given as plain data.
//!
//! - [`canonical()`]: what an engine's own parser reads from a command line, so that two compare.
//! - [`check()`]: everything wrong with a [`Launch`], as [`Finding`]s that say what they are about.
//! - [`together()`]: what the prefill and the decode process of one deployment must say alike.
//! - [`acceptance`]: synthetic acceptance, judged by golden [`curves`] and told to each engine.
//! - [`choose`] and [`book()`]: which flag table speaks for an image.

pub mod acceptance;
mod canonical;
mod check;
mod config;
pub mod curves;
mod decimal;
mod engine;
mod finding;
mod flags;
mod image;
mod injected;
pub mod known;
mod launch;
mod meaning;
mod models;
mod plain;
pub mod reading;
mod rules;
pub mod sizes;
mod table;
mod together;
mod value;
mod values;
mod variables;
mod version;
mod view;

pub use canonical::{Canonical, canonical, canonical_plain, full_name};
pub use check::check;
pub use decimal::Decimal;
pub use engine::Engine;
pub use finding::{About, Finding, Report, Skipped};
pub use image::{Chosen, Tagged, choose, identify};
pub use launch::{Argument, Hardware, Launch, Mode, Model, Parallel, Role, Scenario, Speculative, Workload};
pub use meaning::became;
pub use rules::{RuleFacts, is_rule, rule, rule_names};
pub use table::{Book, Flag, Kind, Member, Parser, Table, Type, VariableValue, book};
pub use together::together;
pub use value::{Value, human_integer, integer, number};
pub use version::Version;
