//! The evaluator's only view of files.

use std::collections::BTreeMap;

/// What a path names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FileKind {
    /// A text file.
    Regular,
    /// A folder.
    Directory,
    /// A symbolic link that stays unresolved.
    Symlink,
    /// Anything else.
    Unknown,
}

/// Why a file could not be read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FileError {
    /// There is nothing at this path.
    Missing,
    /// The path, or a link on the way, leads out of the root.
    Outside,
    /// The file is not UTF-8 text.
    NotText,
    /// The reason in the words of the system.
    Other(String),
}

/// Files below one root. Paths begin with `/`, which is the root, and have neither `.` nor `..`.
///
/// An implementation never leaves the root, not through a symbolic link either.
pub trait Files {
    /// Returns the text of a file; of a folder, that of its `default.nix`.
    ///
    /// # Errors
    /// If there is no such file, it is outside, or it is not text.
    fn read(&self, path: &str) -> Result<String, FileError>;

    /// Returns what is at a path; `None` if nothing is.
    ///
    /// # Errors
    /// If the path leads out of the root or cannot be examined.
    fn kind(&self, path: &str) -> Result<Option<FileKind>, FileError>;

    /// Returns the names in a folder with their kinds.
    ///
    /// # Errors
    /// If there is no such folder or it cannot be read.
    fn list(&self, path: &str) -> Result<Vec<(String, FileKind)>, FileError> {
        let _ = path;
        Err(FileError::Other("folders cannot be listed here".to_owned()))
    }
}

/// Files in memory: the twin of the real ones, for tests and for `eval -`.
#[derive(Clone, Default, Debug)]
pub struct MemoryFiles(pub BTreeMap<String, String>);

impl MemoryFiles {
    /// Returns files with these paths (with or without the first `/`) and texts.
    pub fn new<P: Into<String>, T: Into<String>>(files: impl IntoIterator<Item = (P, T)>) -> Self {
        let rooted = |path: String| if path.starts_with('/') { path } else { format!("/{path}") };
        Self(files.into_iter().map(|(path, text)| (rooted(path.into()), text.into())).collect())
    }

    fn below<'m>(&'m self, path: &str) -> impl Iterator<Item = &'m str> {
        let prefix = format!("{}/", path.trim_end_matches('/'));
        self.0.keys().filter_map(move |key| key.strip_prefix(prefix.as_str()))
    }
}

impl Files for MemoryFiles {
    fn read(&self, path: &str) -> Result<String, FileError> {
        if let Some(text) = self.0.get(path) {
            return Ok(text.clone());
        }
        self.0.get(&format!("{}/default.nix", path.trim_end_matches('/'))).cloned().ok_or(FileError::Missing)
    }

    fn kind(&self, path: &str) -> Result<Option<FileKind>, FileError> {
        if self.0.contains_key(path) {
            return Ok(Some(FileKind::Regular));
        }
        Ok(self.below(path).next().map(|_| FileKind::Directory))
    }

    fn list(&self, path: &str) -> Result<Vec<(String, FileKind)>, FileError> {
        let mut names: BTreeMap<String, FileKind> = BTreeMap::new();
        for rest in self.below(path) {
            match rest.split_once('/') {
                Some((folder, _)) => names.insert(folder.to_owned(), FileKind::Directory),
                None => names.insert(rest.to_owned(), FileKind::Regular),
            };
        }
        if names.is_empty() { Err(FileError::Missing) } else { Ok(names.into_iter().collect()) }
    }
}
