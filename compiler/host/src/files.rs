//! Files below one root, which neither `..` nor a symbolic link can leave.

use std::io::{self, Read as _};
use std::path::{Component, Path, PathBuf};

/// The most bytes of one text that is read; manifests and locks are far smaller.
pub const TEXT_LIMIT: u64 = 64 << 20;

/// The most names of one folder that are listed.
const NAME_LIMIT: usize = 100_000;

/// What a name in a folder is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Kind {
    /// A file with bytes.
    Regular,
    /// A folder.
    Directory,
    /// A symbolic link, unresolved.
    Symlink,
    /// A device, a socket or a pipe.
    Other,
}

/// A folder and what lies below it.
///
/// Every path is resolved with its links before it is opened, and refused where the result lies
/// elsewhere. Who can change the folder while recipec runs can change what is read, not more: the
/// guard is against what a pull request may hold.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Root {
    folder: PathBuf,
}

/// What a path below a [`Root`] could not be used for.
#[derive(Debug)]
pub enum PathError {
    /// There is nothing.
    Missing,
    /// It leads out of the root.
    Outside,
    /// The system refused.
    Io(io::Error),
}

impl std::fmt::Display for PathError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Missing => f.write_str("there is no such file"),
            Self::Outside => f.write_str("it leads out of the folder"),
            Self::Io(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for PathError {}

impl From<io::Error> for PathError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Self::Missing,
            _ => Self::Io(error),
        }
    }
}

impl Root {
    /// Opens a folder.
    ///
    /// # Errors
    /// As the system says: it must exist and be a folder.
    pub fn open(folder: &Path) -> io::Result<Self> {
        let folder = fs_err::canonicalize(folder)?;
        if !fs_err::metadata(&folder)?.is_dir() {
            let message = format!("`{}` is no folder", folder.display());
            return Err(io::Error::new(io::ErrorKind::NotADirectory, message));
        }
        Ok(Self { folder })
    }

    /// Returns the folder, absolute and without links.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the real place of a path below the root; a `/` at its beginning means the root.
    ///
    /// # Errors
    /// [`PathError::Missing`], [`PathError::Outside`], or what the system says.
    pub fn locate(&self, path: &str) -> Result<PathBuf, PathError> {
        let relative = Path::new(path.trim_start_matches('/'));
        let plain =
            relative.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
        if !plain || path.contains('\0') {
            return Err(PathError::Outside);
        }
        let real = fs_err::canonicalize(self.folder.join(relative))?;
        if real.starts_with(&self.folder) { Ok(real) } else { Err(PathError::Outside) }
    }

    /// Reads a file of at most `limit` bytes.
    ///
    /// # Errors
    /// [`PathError`]; a longer file, a folder and a device are refused as what the system says.
    pub fn bytes(&self, path: &str, limit: u64) -> Result<Vec<u8>, PathError> {
        let real = self.locate(path)?;
        let file = fs_err::File::open(&real)?;
        let found = file.metadata()?;
        if !found.is_file() {
            return Err(PathError::Io(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!("`{path}` is no regular file"),
            )));
        }
        let mut bytes = Vec::with_capacity(usize::try_from(found.len().min(limit)).unwrap_or(0));
        file.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > limit {
            return Err(PathError::Io(io::Error::new(
                io::ErrorKind::FileTooLarge,
                format!("`{path}` is longer than {limit} bytes"),
            )));
        }
        Ok(bytes)
    }

    /// Returns the names in a folder, sorted, with what each is; links are not followed.
    ///
    /// # Errors
    /// [`PathError`].
    pub fn names(&self, path: &str) -> Result<Vec<(String, Kind)>, PathError> {
        let real = self.locate(path)?;
        let mut names = Vec::new();
        for entry in fs_err::read_dir(&real)?.take(NAME_LIMIT) {
            let entry = entry?;
            let Ok(name) = entry.file_name().into_string() else { continue };
            names.push((name, kind_of(entry.file_type()?)));
        }
        names.sort_unstable();
        Ok(names)
    }

    /// Returns the paths of all regular files below a folder that end so, sorted, relative to the
    /// root and with `/`. Links are not followed; a folder that is not there has none.
    ///
    /// # Errors
    /// [`PathError`].
    pub fn walk(&self, folder: &str, ending: &str) -> Result<Vec<String>, PathError> {
        let start = match self.locate(folder) {
            Ok(start) => start,
            Err(PathError::Missing) => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut found = Vec::new();
        for entry in walkdir::WalkDir::new(&start).follow_links(false).max_depth(32).sort_by_file_name() {
            let entry = entry.map_err(io::Error::from)?;
            if !entry.file_type().is_file() {
                continue;
            }
            let Ok(relative) = entry.path().strip_prefix(&self.folder) else { continue };
            let Some(text) = relative.to_str() else { continue };
            if text.ends_with(ending) {
                found.push(text.replace(std::path::MAIN_SEPARATOR, "/"));
            }
        }
        found.sort_unstable();
        Ok(found)
    }
}

pub(crate) fn kind_of(kind: std::fs::FileType) -> Kind {
    if kind.is_file() {
        Kind::Regular
    } else if kind.is_dir() {
        Kind::Directory
    } else if kind.is_symlink() {
        Kind::Symlink
    } else {
        Kind::Other
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn neither_dots_nor_links_lead_out() {
        let folder = tempfile::tempdir().unwrap();
        let inside = folder.path().join("root");
        fs_err::create_dir_all(inside.join("lib")).unwrap();
        fs_err::write(folder.path().join("secret"), "outside").unwrap();
        fs_err::write(inside.join("lib/default.nix"), "1").unwrap();
        std::os::unix::fs::symlink("../secret", inside.join("out")).unwrap();
        std::os::unix::fs::symlink("..", inside.join("up")).unwrap();
        std::os::unix::fs::symlink("lib/default.nix", inside.join("in")).unwrap();
        std::os::unix::fs::symlink("nowhere", inside.join("dangling")).unwrap();
        let root = Root::open(&inside).unwrap();
        assert_eq!(root.bytes("/in", 9).unwrap(), b"1");
        for path in ["/out", "/up/secret", "../secret", "lib/../../secret", "nul\0"] {
            assert!(matches!(root.bytes(path, 9), Err(PathError::Outside)), "{path}");
        }
        assert!(matches!(root.bytes("dangling", 9), Err(PathError::Missing)));
        assert!(matches!(root.bytes("in/below-a-file", 9), Err(PathError::Missing)));
        assert_eq!(root.walk("", ".nix").unwrap(), ["lib/default.nix"]);
        assert!(root.walk("absent", "").unwrap().is_empty());
    }

    #[test]
    fn a_file_longer_than_expected_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        fs_err::write(folder.path().join("long"), "0123456789").unwrap();
        let root = Root::open(folder.path()).unwrap();
        assert!(root.bytes("long", 9).is_err());
        assert_eq!(root.bytes("long", 10).unwrap().len(), 10);
        assert!(root.bytes("", 10).is_err(), "a folder is no file");
    }
}
