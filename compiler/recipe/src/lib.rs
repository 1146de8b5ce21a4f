//! From values to plans: the schema of recipes and targets, lowering, rules, points and plans.
//!
//! This crate knows what a recipe means. It knows no network, no file system and no lock, and it
//! knows no config key, checkpoint or script by name.

pub mod plan;
pub mod want;
