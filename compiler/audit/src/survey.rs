//! What lies in a folder, as whoever looked says it.

/// What a folder of a checkpoint holds.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Survey {
    /// The locked names that are there and weights beside them, in the order of paths.
    pub entries: Vec<Entry>,
    /// How many weights lie beside the locked ones; of very many not all are among the entries.
    pub strays: u64,
    /// How many other files lie there, which no loader takes for weights.
    pub beside: u64,
    /// Downloads that did not end: files that the hub's client renames once they are whole.
    pub partial: Vec<Partial>,
    /// Commits that the hub's client noted beside the files of a plain folder, by path.
    pub noted: Vec<(String, String)>,
    /// Why something could not be listed; what lies there is not known.
    pub unread: Vec<(String, String)>,
    /// The commit that a hub cache has, and that was looked at, in place of the wanted one.
    pub other: Option<String>,
    /// The commit that `main` is in a hub cache.
    pub main: Option<String>,
}

/// Something in a folder.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    /// Path below the folder, with `/`. Bytes that are no UTF-8 are replaced, and then name no
    /// locked file.
    pub path: String,
    /// What it is.
    pub what: What,
}

/// What a name stands for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum What {
    /// A file, or a link that leads to one.
    File {
        /// Bytes that it says it has.
        size: u64,
        /// Bytes that it takes on the disk; fewer where there are holes.
        held: u64,
        /// Where it really lies, if a link leads out of the cache.
        outside: Option<String>,
    },
    /// A link that leads nowhere.
    Dangling {
        /// Where it points.
        to: String,
    },
    /// A pipe, a socket, a device, or a link to a folder: nothing that a loader reads weights from.
    Other,
    /// It could not be looked at.
    Unreadable(String),
}

/// A download that did not end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Partial {
    /// Path below the folder that was looked at.
    pub path: String,
    /// Bytes that have arrived.
    pub size: u64,
    /// Whether it has changed within the last minute.
    pub recent: bool,
}
