//! What recipes name from outside, before anything is resolved.

use serde::{Deserialize, Serialize};

/// Something named from outside that a lock pins.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Want {
    /// A container image, as the manifest writes it (`lmsysorg/sglang:v0.5.14-cu130`,
    /// `nvcr.io#nvidia/tensorrt-llm/release:1.3.0rc18`), for the platforms that targets need.
    Image {
        /// The reference as written.
        reference: String,
        /// Platforms needed, such as `linux/amd64`, sorted.
        platforms: Vec<String>,
    },
    /// A checkpoint or a draft checkpoint on a model hub.
    Checkpoint {
        /// Repository id, `owner/name`.
        repository: String,
        /// Branch, tag or commit.
        revision: String,
    },
    /// A data set on a model hub, such as the traces of an agentic client.
    Dataset {
        /// Repository id, `owner/name`.
        repository: String,
        /// Branch, tag or commit.
        revision: String,
    },
    /// A file or folder of a git repository at a revision: a cookbook page, a golden curve.
    Source {
        /// What it is for: `cookbook`, `curve`, `harness`.
        purpose: String,
        /// Repository, `owner/name` on the forge.
        repository: String,
        /// Branch, tag or commit.
        revision: String,
        /// Path inside the repository; empty for the repository itself.
        path: String,
    },
}

impl Want {
    /// Returns the name that people and `--update` use: kind, colon, what is named.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Self::Image { reference, .. } => format!("image:{reference}"),
            Self::Checkpoint { repository, revision } => format!("checkpoint:{repository}@{revision}"),
            Self::Dataset { repository, revision } => format!("dataset:{repository}@{revision}"),
            Self::Source { repository, revision, path, .. } => {
                format!("source:{repository}@{revision}:{path}")
            }
        }
    }
}
