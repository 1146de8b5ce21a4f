//! Writing so that a kill at any moment leaves the old file or the new one, whole.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;

use tempfile::NamedTempFile;

/// What a write did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Written {
    /// The file has the new content.
    New,
    /// It had this content already and was not touched.
    Unchanged,
}

/// Writes a file whole: a temporary file beside it, fsync, rename, fsync of the folder. Folders on
/// the way are made. Content that is there already is not written again, and the permissions of a
/// file that is replaced are kept.
///
/// # Errors
/// As the system says, with the path. Whatever it is, a file that was there is untouched.
pub fn write_atomic(path: &Path, bytes: &[u8]) -> io::Result<Written> {
    if fs_err::metadata(path).is_ok_and(|found| found.len() == bytes.len() as u64)
        && fs_err::read(path).is_ok_and(|found| found == bytes)
    {
        return Ok(Written::Unchanged);
    }
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let explain = |error: io::Error| {
        io::Error::new(error.kind(), format!("cannot write `{}`: {error}", path.display()))
    };
    fs_err::create_dir_all(folder).map_err(explain)?;
    // A link is written through, so that a lock kept elsewhere stays there.
    let target = fs_err::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let folder = target.parent().unwrap_or(folder).to_owned();
    let mut file = NamedTempFile::with_prefix_in(".recipec-", &folder).map_err(explain)?;
    file.write_all(bytes).map_err(explain)?;
    file.as_file().set_permissions(permissions(&target)).map_err(explain)?;
    file.as_file().sync_all().map_err(explain)?;
    file.persist(&target).map_err(|error| explain(error.error))?;
    // The rename itself must survive a power cut. Some file systems cannot sync a folder; the
    // content is whole there too.
    if let Ok(folder) = File::open(&folder) {
        let _ = folder.sync_all();
    }
    Ok(Written::New)
}

/// Returns the permissions for a new file at `path`: those of the old one, else those of any new
/// file, since temporary files are private.
#[cfg(unix)]
fn permissions(path: &Path) -> std::fs::Permissions {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = fs_err::metadata(path).map_or(0o644, |found| found.permissions().mode() & 0o777);
    std::fs::Permissions::from_mode(mode)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_content_is_not_written_twice() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/b/c.json");
        assert_eq!(write_atomic(&path, b"one").unwrap(), Written::New);
        let before = fs_err::metadata(&path).unwrap().modified().unwrap();
        assert_eq!(write_atomic(&path, b"one").unwrap(), Written::Unchanged);
        assert_eq!(fs_err::metadata(&path).unwrap().modified().unwrap(), before);
        assert_eq!(write_atomic(&path, b"two").unwrap(), Written::New);
        assert_eq!(fs_err::read(&path).unwrap(), b"two");
        let names: Vec<_> = fs_err::read_dir(path.parent().unwrap()).unwrap().collect();
        assert_eq!(names.len(), 1, "no temporary file is left");
    }

    #[test]
    fn a_write_that_fails_names_the_path_and_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file/under-a-file");
        fs_err::write(folder.path().join("file"), "old").unwrap();
        let error = write_atomic(&path, b"new").unwrap_err();
        assert!(error.to_string().contains("under-a-file"), "{error}");
        assert_eq!(fs_err::read(folder.path().join("file")).unwrap(), b"old");
    }

    #[cfg(unix)]
    #[test]
    fn permissions_of_a_replaced_file_are_kept() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("script");
        write_atomic(&path, b"one").unwrap();
        assert_eq!(fs_err::metadata(&path).unwrap().permissions().mode() & 0o777, 0o644);
        fs_err::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        write_atomic(&path, b"two").unwrap();
        assert_eq!(fs_err::metadata(&path).unwrap().permissions().mode() & 0o777, 0o755);
    }
}
