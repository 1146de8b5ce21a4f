//! What an audit says of one file, and of a whole checkpoint.

/// File names that loaders take weights from.
const WEIGHTS: &[&str] = &[".safetensors", ".bin", ".pt", ".pth", ".gguf", ".ckpt"];

/// Says whether a loader may take a file of this name for a part of the model.
#[must_use]
pub fn is_weights(path: &str) -> bool {
    let path = path.to_ascii_lowercase();
    WEIGHTS.iter().any(|ending| path.ends_with(ending))
}

/// What one file is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum State {
    /// As locked, as far as was looked.
    Ok,
    /// Not there.
    Missing,
    /// Of another size.
    Size,
    /// Of the size, with other content.
    Hash,
    /// A pointer of large-file storage in place of the content.
    Pointer,
    /// A download that did not end.
    Partial,
    /// Weights that the lock does not have, which a loader may take.
    Extra,
    /// A link that leads nowhere.
    Dangling,
    /// Something that could not be read.
    Unreadable,
}

impl State {
    /// Returns the word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Missing => "missing",
            Self::Size => "size",
            Self::Hash => "hash",
            Self::Pointer => "pointer",
            Self::Partial => "partial",
            Self::Extra => "extra",
            Self::Dangling => "dangling",
            Self::Unreadable => "unreadable",
        }
    }
}

/// What was found of one file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Found {
    /// Path below the checkpoint's folder.
    pub path: String,
    /// What it is.
    pub state: State,
    /// What the lock says: a size, or a digest.
    pub want: Option<String>,
    /// What is there.
    pub got: Option<String>,
    /// What else is worth knowing, in a phrase.
    pub note: Option<String>,
    /// Its content was compared with the locked digest.
    pub read: bool,
}

/// What a whole checkpoint is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Whole {
    /// Every file is there and as locked.
    Complete,
    /// A download is still running.
    InProgress,
    /// Something is missing or has not arrived.
    Incomplete,
    /// Something is there that is not what the lock says.
    Different,
    /// Something could not be read, and the rest is right.
    Unreadable,
}

impl Whole {
    /// Returns the word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::InProgress => "in-progress",
            Self::Incomplete => "incomplete",
            Self::Different => "different",
            Self::Unreadable => "unreadable",
        }
    }
}
