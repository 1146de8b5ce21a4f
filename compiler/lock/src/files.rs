//! File lists of checkpoints: long, shared by recipes, and so stored once beside the locks.

use std::collections::BTreeMap;

use diag::slugs::lock::LOCK_UNREADABLE;
use diag::{Diagnostic, Diagnostics};
use serde::Serialize;

use crate::pin::File;
use crate::{Digest, pretty, strict};

/// Returns the text of a file list: one file a line, sorted by path. Its sha256 is its name and
/// the `files` digest of a [`crate::pin::Snapshot`], so `sha256sum` can check it.
#[must_use]
pub fn write(files: &[File]) -> String {
    let mut sorted: Vec<&File> = files.iter().collect();
    sorted.sort();
    sorted.dedup();
    let values = sorted.into_iter().map(|file| serde_json::to_value(file).unwrap_or_default()).collect();
    pretty(&serde_json::Value::Array(values))
}

/// Returns the digest of a file list.
#[must_use]
pub fn digest(files: &[File]) -> Digest {
    Digest::of(write(files).as_bytes())
}

/// Returns where the list of this digest is stored, relative to the root.
#[must_use]
pub fn path(digest: &Digest) -> String {
    format!("lockfiles/files/sha256-{}.json", digest.hex())
}

/// Reads a file list that should have this digest.
///
/// # Errors
/// If the text has another digest or is no file list.
pub fn read(want: &Digest, text: &str) -> Result<Vec<File>, Diagnostics> {
    let fail = |why: String| {
        let message = format!("cannot read `{}`: {why}", path(want));
        let found = Diagnostic::error(LOCK_UNREADABLE, message)
            .help("take the file from version control again, or run `recipec lock`");
        Diagnostics::from_iter([found])
    };
    let got = Digest::of(text.as_bytes());
    if got != *want {
        return Err(fail(format!("its content has the digest `{got}`")));
    }
    let value = strict::parse(text).map_err(fail)?;
    let files: Vec<File> = serde_json::from_value(value).map_err(|error| fail(error.to_string()))?;
    match files.iter().find(|file| !is_below(&file.path)) {
        Some(file) => Err(fail(format!("`{}` leads out of the checkpoint", file.path.escape_debug()))),
        None => Ok(files),
    }
}

/// Says whether a path stays below the folder that it is put under, on any system.
fn is_below(path: &str) -> bool {
    let inside = path.split('/').all(|part| !matches!(part, "" | "." | ".."));
    inside && !path.contains(['\\', '\0']) && path.as_bytes().get(1) != Some(&b':')
}

/// What differs between two lists.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize)]
pub struct Difference {
    /// Files that only the newer list has.
    pub added: Vec<File>,
    /// Files that only the older list has.
    pub removed: Vec<File>,
    /// Files of one path with other content: before, and now.
    pub changed: Vec<[File; 2]>,
    /// Number of files that are the same.
    pub unchanged: usize,
}

/// Compares two lists by path.
#[must_use]
pub fn compare(old: &[File], new: &[File]) -> Difference {
    let by_path = |files: &[File]| -> BTreeMap<String, File> {
        files.iter().map(|file| (file.path.clone(), file.clone())).collect()
    };
    let (mut before, mut difference) = (by_path(old), Difference::default());
    for (path, now) in by_path(new) {
        match before.remove(&path) {
            None => difference.added.push(now),
            Some(was) if was == now => difference.unchanged += 1,
            Some(was) => difference.changed.push([was, now]),
        }
    }
    difference.removed = before.into_values().collect();
    difference
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, size: u64) -> File {
        File { path: path.to_owned(), size, sha256: None, blob: None }
    }

    #[test]
    fn the_order_of_answers_changes_no_byte() {
        let one = write(&[file("b", 2), file("a", 1)]);
        assert_eq!(one, write(&[file("a", 1), file("b", 2), file("a", 1)]));
        assert_eq!(one, "[\n  { \"path\": \"a\", \"size\": 1 },\n  { \"path\": \"b\", \"size\": 2 }\n]\n");
    }

    #[test]
    fn a_list_is_read_only_under_its_own_digest() {
        let files = vec![file("a", 1)];
        assert_eq!(read(&digest(&files), &write(&files)), Ok(files.clone()));
        assert!(read(&Digest::of(b"other"), &write(&files)).is_err());
    }

    #[test]
    fn a_list_that_leads_out_of_its_folder_is_refused() {
        for path in ["../x", "/etc/x", "a/../../x", "C:\\x", "C:x", "a//b", "", ".", "a\0"] {
            let files = vec![file(path, 1)];
            assert!(read(&digest(&files), &write(&files)).is_err(), "{path:?}");
        }
        let files = vec![file("sub/ünï code 100%.txt", 1), file("..a", 1)];
        assert!(read(&digest(&files), &write(&files)).is_ok());
    }

    #[test]
    fn lists_are_compared_by_path_and_content() {
        let old = [file("same", 1), file("grown", 1), file("gone", 1)];
        let new = [file("new", 1), file("grown", 2), file("same", 1)];
        let expected = Difference {
            added: vec![file("new", 1)],
            removed: vec![file("gone", 1)],
            changed: vec![[file("grown", 1), file("grown", 2)]],
            unchanged: 1,
        };
        assert_eq!(compare(&old, &new), expected);
    }
}
