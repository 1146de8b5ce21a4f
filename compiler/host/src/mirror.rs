//! A mirror folder on disk, and clones inside it.

use std::path::Path;

use upstream::mirror::Store;

use crate::files::{PathError, Root};

/// Files of a mirror, confined to its folder.
#[derive(Debug)]
pub(crate) struct Folder(Root);

impl Folder {
    pub(crate) fn open(folder: &Path) -> std::io::Result<Self> {
        Root::open(folder).map(Self)
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.folder()
    }
}

impl Store for Folder {
    fn read(&self, path: &str, limit: u64) -> Result<Option<Vec<u8>>, String> {
        match self.0.locate(path) {
            Ok(real) if real.is_dir() => return Ok(None),
            Ok(_) => {}
            Err(PathError::Missing) => return Ok(None),
            Err(error) => return Err(format!("`{path}`: {error}")),
        }
        self.0.bytes(path, limit).map(Some).map_err(|error| format!("`{path}`: {error}"))
    }

    fn list(&self, path: &str) -> Result<Option<Vec<String>>, String> {
        match self.0.names(path) {
            Ok(names) => Ok(Some(names.into_iter().map(|(name, _)| name).collect())),
            Err(PathError::Missing) => Ok(None),
            Err(error) => Err(format!("`{path}`: {error}")),
        }
    }
}
