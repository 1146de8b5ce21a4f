//! Conversations with registries, model hubs and git forges: from a want to a pin.
//!
//! Every conversation speaks through a [`Transport`], which makes one exchange and nothing else. So
//! the rules here can be read and tested without a network, and a mirror folder is answered by the
//! same code as the world. This crate knows no sockets, files, clock or environment; waiting,
//! retrying and logging in are `host`'s. Whatever a server sends is taken for a claim until the
//! bytes prove it.

#![cfg_attr(test, allow(clippy::unwrap_used, reason = "tests fail loudly"))]

mod endpoints;
pub mod git;
pub mod hub;
pub mod mirror;
pub mod oci;
mod refusal;
#[cfg(test)]
mod scripted;
pub mod secret;
pub mod transport;

use lock::pin::Pin;
use recipe::want::Want;
use sha1::{Digest as _, Sha1};

pub use endpoints::{Endpoints, Tokens};
pub use refusal::{Class, Facts, Refusal, Resolved, printable};
pub use transport::{Fault, FaultKind, Transport, ask};

/// Resolves one want. The answer depends on the want and on what the servers say, never on other
/// wants or on the order in which they are asked.
///
/// # Errors
/// [`Refusal`]: what is wrong with this want, whose fault it is, and what to do.
pub fn resolve<T: Transport + ?Sized>(
    transport: &T,
    endpoints: &Endpoints,
    tokens: &Tokens,
    want: &Want,
) -> Result<Resolved, Refusal> {
    match want {
        Want::Image { reference, platforms } => {
            oci::resolve(transport, endpoints, tokens, reference, platforms)
        }
        Want::Checkpoint { repository, revision } => {
            hub::resolve(transport, endpoints, hub::Kind::Model, repository, revision)
        }
        Want::Dataset { repository, revision } => {
            hub::resolve(transport, endpoints, hub::Kind::Dataset, repository, revision)
        }
        Want::Source { repository, revision, path, .. } => {
            git::resolve(transport, endpoints, repository, revision, path)
        }
    }
}

/// Asks whether what a pin names is still served, whatever its tag or branch names today: an image
/// by its digest and the digests of its platforms, a repository by its commit.
///
/// # Errors
/// [`Refusal`]: it is gone, or nobody could be asked.
pub fn still_served<T: Transport + ?Sized>(
    transport: &T,
    endpoints: &Endpoints,
    tokens: &Tokens,
    want: &Want,
    pin: &Pin,
) -> Result<(), Refusal> {
    match (want, pin) {
        (Want::Image { reference, platforms }, Pin::Image(image)) => {
            oci::still_served(transport, endpoints, tokens, reference, image, platforms)
        }
        (Want::Checkpoint { repository, .. }, Pin::Checkpoint(snapshot)) => {
            hub::still_served(transport, endpoints, hub::Kind::Model, repository, snapshot)
        }
        (Want::Dataset { repository, .. }, Pin::Dataset(snapshot)) => {
            hub::still_served(transport, endpoints, hub::Kind::Dataset, repository, snapshot)
        }
        (Want::Source { repository, .. }, Pin::Source(source)) => {
            git::still_served(transport, endpoints, repository, source)
        }
        // A pin of another kind than its want is the lock's fault, and the lock says so.
        _ => Ok(()),
    }
}

/// Returns the git blob id of a content: the name that small files of a hub and all files of a
/// forge have.
#[must_use]
pub fn git_blob_id(bytes: &[u8]) -> String {
    let mut hasher = Sha1::new();
    hasher.update(format!("blob {}\0", bytes.len()));
    hasher.update(bytes);
    hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}
