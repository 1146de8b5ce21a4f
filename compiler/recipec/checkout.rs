//! A checkout of InferenceX, as far as routes through it are asked for.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use diag::Diagnostic;
use diag::slugs::host::CANNOT_READ;
use host::files::Root;
use recipe::routes::Checkout;
use serde::Deserialize;

use crate::workspace::unreadable;

const RUNNERS: &str = "configs/runners.yaml";

/// The most bytes of the list of runners.
const LIMIT: u64 = 16 << 20;

/// Reads a checkout.
pub(crate) fn open(folder: &Path) -> Result<Checkout, Diagnostic> {
    #[derive(Deserialize)]
    struct Runners {
        labels: BTreeMap<String, Vec<String>>,
    }
    let name = folder.to_string_lossy().into_owned();
    let unread =
        |why: String| Diagnostic::error(CANNOT_READ, format!("cannot read `{name}/{RUNNERS}`")).why(why);
    let root = Root::open(folder).map_err(|error| unread(error.to_string()))?;
    let bytes = root.bytes(RUNNERS, LIMIT).map_err(|error| unreadable(RUNNERS, &error))?;
    let runners: Runners = serde_saphyr::from_str(&String::from_utf8_lossy(&bytes))
        .map_err(|error| unread(error.to_string()))?;
    let mut files = BTreeSet::new();
    for below in ["runners", "benchmarks/single_node"] {
        // A folder that is not there has no files, which is what is asked.
        files.extend(root.walk(below, ".sh").unwrap_or_default());
    }
    Ok(Checkout { runners: runners.labels, files })
}

/// Reads the checkout that a file of entries is in, if it is in one.
pub(crate) fn around(file: &Path) -> Option<Checkout> {
    let folder = file.parent()?.parent()?;
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    open(folder).ok()
}
