//! From values to plans: the schema of recipes and targets, lowering, rules, points and plans.
//!
//! This crate knows what a recipe means. It knows no network, no file system and no lock, and it
//! knows no config key, checkpoint or script by name.
//!
//! [`load`] reads manifests, [`matrix()`] gives the jobs, [`plan()`] and [`plans`] build plans, and
//! [`check()`] does all of it for a whole corpus and applies every rule.

mod bridge;
mod build;
mod check;
mod command;
mod container;
pub mod context;
pub mod draft;
pub mod export;
pub mod facts;
pub mod import;
mod inject;
pub mod json;
mod kubernetes;
mod launch;
mod load;
mod lower;
pub mod matrix;
pub mod plan;
pub mod point;
mod process;
pub mod recipe;
pub mod routes;
mod rules;
pub mod schema;
pub mod search;
pub mod srt_slurm;
pub mod target;
#[cfg(test)]
mod tests;
pub mod tree;
pub mod want;
mod words;
mod yaml;

pub use build::Built;
pub use check::{Checked, Corpus, Key, check, check_each};
pub use command::Given;
pub use inject::claim;
pub use launch::launch;
pub use load::{load, plan, plans};
pub use matrix::{Job, matrix};
pub use process::Process;
pub use recipe::Recipe;
pub use target::Target;
