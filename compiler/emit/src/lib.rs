//! Launch scripts: one self-contained bash file per plan, a pure function of plan, lock and target.
//!
//! This crate owns shell quoting, the spelling of image references for each runtime, and the text
//! of scripts. It knows no network and no file system, and it decides nothing: argv, environment
//! and order are the plan's; digests, commits and file lists are the lock's.
//!
//! A script has up to three parts in one file, which hands itself on as standard input: the part on
//! the machine that submits (allocation, cleanup), the part on the node outside any container (mount
//! sources, image import), and the part in the container (checkpoint gate, processes, evidence).
//! What every script does alike is bash in `runtime/`; what a plan decides is written by the
//! modules here. Under Kubernetes the script is the entry of a Job, and both are one YAML file.
//! `bash.rs` is the pattern to follow.

mod bash;
mod docker;
mod evidence;
mod gate;
mod holes;
mod image;
mod kubernetes;
mod parts;
pub mod quote;
mod refuse;
mod script;
mod site;
mod slurm;
mod steps;

pub use script::{Script, Source, path, script, script_at};
pub use site::{Import, Runtime, Site};
