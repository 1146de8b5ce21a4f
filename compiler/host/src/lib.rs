//! The one door to the world: files, network, environment, processes and progress.
//!
//! Nothing here knows the rules of the domain. The crate implements the traits through which the
//! pure crates look out: `eval::Files`, `upstream::Transport`, `upstream::mirror::Store`. What
//! `recipec lock` calls is [`resolve`]; what every writer calls is [`write_atomic`].

#![cfg_attr(test, allow(clippy::unwrap_used, reason = "tests fail loudly"))]

mod cache;
pub mod checkpoint;
pub mod clock;
mod clone;
pub mod contents;
mod credentials;
mod environment;
pub mod files;
pub mod hash;
pub mod history;
mod http;
mod manifests;
pub mod memory;
mod mirror;
mod progress;
mod resolve;
pub mod results;
pub mod squash;
pub mod stamp;
mod write;

pub use cache::Cache;
pub use credentials::Credentials;
pub use environment::{Environment, machine};
pub use http::{Client, Limits};
pub use progress::{Progress, Show};
pub use resolve::{Options, Resolution, resolve, served};
pub use upstream::secret::Secret;
pub use upstream::{Class, Facts, Refusal, Resolved};
pub use write::{Written, write_atomic};
