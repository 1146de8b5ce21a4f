//! The command line of recipec: one module a verb.
#![allow(unused_crate_dependencies)]

fn main() {}
