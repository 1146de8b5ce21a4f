//! One test binary, one module a topic. Tests touch the world, so the purity law does not hold here.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "tests touch files and processes")]
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::print_stderr, reason = "tests fail loudly")]
#![allow(unreachable_pub, missing_docs, reason = "nobody uses a test binary as a library")]
#![allow(clippy::tests_outside_test_module, reason = "the whole binary is tests")]

mod audit;
mod ci;
mod cli;
mod diff;
mod disk;
mod docker;
mod emit;
mod engine;
mod eval;
mod evidence;
mod explain;
mod faults;
mod house;
mod hub;
mod inferencex;
mod latency;
mod lock;
mod matrix;
mod merges;
mod nix;
mod oracle;
mod pitfalls;
mod readme;
mod registry;
mod report;
mod runs;
mod siblings;
mod slurm;
mod sources;
mod srt_slurm;
mod stories;
mod support;
mod syntax;
mod verify;
mod vllm_recipes;
