//! Cookbooks: what upstream's pages say a model is served with.

pub mod generator;
