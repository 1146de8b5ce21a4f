//! Pins: wants, once content-addressed.

use std::collections::BTreeMap;

use recipe::want::Want;
use serde::{Deserialize, Serialize};

use crate::Digest;

/// What the lock says of one want.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "lowercase")]
pub enum Entry {
    /// Resolved.
    Pinned {
        /// What was wanted.
        want: Want,
        /// What it resolved to.
        pin: Pin,
    },
    /// Nobody has resolved it; it is never invented, and `build` refuses it.
    Unpinned {
        /// What was wanted.
        want: Want,
        /// Why it has no pin.
        reason: String,
    },
}

/// A want, once content-addressed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Pin {
    /// An image.
    Image(Image),
    /// A checkpoint.
    Checkpoint(Snapshot),
    /// A data set.
    Dataset(Snapshot),
    /// A file of a git repository.
    Source(Source),
}

/// An image by content.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Image {
    /// Digest of what the reference names: an index, or a single manifest.
    pub digest: Digest,
    /// Media type of that.
    pub media_type: String,
    /// Its size in bytes.
    pub size: u64,
    /// Manifest of each platform (`linux/amd64`), attestations left out.
    pub platforms: BTreeMap<String, Platform>,
}

/// The manifest of one platform.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Platform {
    /// Digest of the manifest.
    pub digest: Digest,
    /// Digest of the image config that it names: equal configs are equal content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<Digest>,
    /// Media type of the manifest.
    pub media_type: String,
    /// Size of the manifest in bytes.
    pub size: u64,
}

/// A repository of a hub at a commit.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Snapshot {
    /// The commit, 40 hexadecimal characters.
    pub commit: String,
    /// The repository's present name where it was renamed since the manifest was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub renamed: Option<String>,
    /// Digest of the canonical file list, which is stored once at `lockfiles/files/`.
    pub files: Digest,
    /// Number of files in the list.
    pub count: u64,
    /// Bytes of all files together.
    pub bytes: u64,
}

/// One file of a [`Snapshot`].
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct File {
    /// Path in the repository, with `/`.
    pub path: String,
    /// Size in bytes.
    pub size: u64,
    /// sha256 of the content, known for files in large-file storage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<Digest>,
    /// Git blob id, known for small files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blob: Option<String>,
}

/// A file of a git repository at a commit.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Source {
    /// The commit, 40 hexadecimal characters.
    pub commit: String,
    /// sha256 of the content; absent where the want names a repository and no file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<Digest>,
    /// Evidence that the change is merged upstream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merge: Option<Merge>,
}

/// Evidence that a pull request was merged.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Merge {
    /// Number of the pull request.
    pub pull: u64,
    /// The merge commit.
    pub commit: String,
    /// When, as the forge states it (RFC 3339).
    pub time: String,
}
