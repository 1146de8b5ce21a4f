//! Cookbooks: what upstream's pages say a model is served with.

pub mod command;
pub mod generator;
pub mod matrix;
