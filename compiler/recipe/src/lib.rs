//! From values to plans: the schema of recipes and targets, lowering, rules, points and plans.
//!
//! This crate knows what a recipe means. It knows no network, no file system and no lock, and it
//! knows no config key, checkpoint or script by name.

pub mod json;
pub mod matrix;
pub mod plan;
pub mod point;
pub mod recipe;
pub mod schema;
pub mod search;
pub mod target;
pub mod tree;
pub mod want;

pub use matrix::{Job, matrix};
pub use recipe::Recipe;
pub use target::Target;
