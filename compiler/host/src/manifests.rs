//! The evaluator's view of files: those below a [`Root`].

use eval::{FileError, FileKind, Files};

use crate::files::{Kind, PathError, Root, TEXT_LIMIT};

impl Files for Root {
    fn read(&self, path: &str) -> Result<String, FileError> {
        let real = self.locate(path).map_err(error)?;
        let folder = fs_err::metadata(&real).is_ok_and(|found| found.is_dir());
        let path =
            if folder { format!("{}/default.nix", path.trim_end_matches('/')) } else { path.to_owned() };
        let bytes = self.bytes(&path, TEXT_LIMIT).map_err(error)?;
        String::from_utf8(bytes).map_err(|_| FileError::NotText)
    }

    fn kind(&self, path: &str) -> Result<Option<FileKind>, FileError> {
        match self.locate(path) {
            Ok(real) => {
                let found = fs_err::metadata(&real).map_err(|error| FileError::Other(error.to_string()))?;
                Ok(Some(if found.is_dir() {
                    FileKind::Directory
                } else if found.is_file() {
                    FileKind::Regular
                } else {
                    FileKind::Unknown
                }))
            }
            Err(PathError::Missing) => Ok(None),
            Err(other) => Err(error(other)),
        }
    }

    fn list(&self, path: &str) -> Result<Vec<(String, FileKind)>, FileError> {
        let kind = |kind| match kind {
            Kind::Regular => FileKind::Regular,
            Kind::Directory => FileKind::Directory,
            Kind::Symlink => FileKind::Symlink,
            Kind::Other => FileKind::Unknown,
        };
        let names = self.names(path).map_err(error)?;
        Ok(names.into_iter().map(|(name, found)| (name, kind(found))).collect())
    }
}

fn error(error: PathError) -> FileError {
    match error {
        PathError::Missing => FileError::Missing,
        PathError::Outside => FileError::Outside,
        PathError::Io(error) => FileError::Other(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn the_evaluator_cannot_leave_the_root() {
        let folder = tempfile::tempdir().unwrap();
        let inside = folder.path().join("root");
        fs_err::create_dir_all(inside.join("lib")).unwrap();
        fs_err::write(folder.path().join("secret"), "outside").unwrap();
        fs_err::write(inside.join("lib/default.nix"), "1").unwrap();
        fs_err::write(inside.join("latin"), b"\xfc").unwrap();
        std::os::unix::fs::symlink("../secret", inside.join("out")).unwrap();
        let root = Root::open(&inside).unwrap();
        assert_eq!(root.read("/lib"), Ok("1".to_owned()));
        assert_eq!(root.read("/out"), Err(FileError::Outside));
        assert_eq!(root.read("/../secret"), Err(FileError::Outside));
        assert_eq!(root.read("/latin"), Err(FileError::NotText));
        assert_eq!(root.kind("/out"), Err(FileError::Outside));
        assert_eq!(root.kind("/absent"), Ok(None));
        assert_eq!(root.list("/lib"), Ok(vec![("default.nix".to_owned(), FileKind::Regular)]));
    }
}
