//! A folder of evidence, read with bounds.

use std::collections::BTreeMap;
use std::path::Path;

use ::lock::Lock;
use ::lock::pin::{Entry, Pin};
use ::verify::evidence::Dossier;
use diag::Diagnostic;
use diag::slugs::host::CANNOT_READ;
use host::files::Root;
use recipe::want::Want;

use crate::workspace::unreadable;

/// Most files that are read of a folder.
const MOST: usize = 20_000;
/// Most bytes of one file.
const LIMIT: u64 = 64 << 20;
/// Most bytes of all files.
const TOTAL: usize = 512 << 20;

/// Endings of what can be evidence; logs and traces stay unread.
const ENDINGS: [&str; 4] = [".json", ".yaml", ".md", "CODEOWNERS"];

/// Reads a folder of evidence.
pub(super) fn read(folder: &Path) -> Result<Dossier, Diagnostic> {
    let shown = folder.display().to_string();
    let unread = |why: String| {
        Diagnostic::error(CANNOT_READ, format!("cannot read the evidence in `{shown}`")).why(why)
    };
    let root = Root::open(folder).map_err(|error| unread(error.to_string()))?;
    let mut texts = BTreeMap::new();
    let mut total = 0;
    for ending in ENDINGS {
        for path in root.walk("", ending).map_err(|error| unread(format!("{error:?}")))? {
            let bytes = root.bytes(&path, LIMIT).map_err(|error| unreadable(&path, &error))?;
            total += bytes.len();
            if texts.len() >= MOST || total > TOTAL {
                return Err(unread(format!("it has more than {MOST} files or {} MiB", TOTAL >> 20)));
            }
            texts.insert(path, String::from_utf8_lossy(&bytes).into_owned());
        }
    }
    Ok(Dossier::read(texts))
}

/// Returns the digest that a lock pins an image to.
pub(super) fn pinned(lock: Option<&Lock>, image: &str) -> Option<String> {
    lock?.pins.values().find_map(|entry| match entry {
        Entry::Pinned { want: Want::Image { reference, .. }, pin: Pin::Image(pin) } if reference == image => {
            Some(pin.digest.to_string())
        }
        _ => None,
    })
}
