//! The wire format of locks and its migration law.
//!
//! Readers accept every version ever written. A writer keeps the version that it found unless it
//! must change. A version that this recipec does not know is refused by name. Unchanged content
//! is not rewritten. Wire types are not domain types: each version has its own module, and a new
//! version is a new module beside the old ones.

mod brief;
mod v1;

use diag::slugs::lock::{LOCK_CONFLICT, LOCK_EDITED, LOCK_UNREADABLE, LOCK_VERSION};
use diag::{Diagnostic, Diagnostics};
use serde_json::Value;

use crate::{Digest, Lock, canonical, merge, strict};

/// Version that is written.
const NEWEST: u64 = 1;

/// Returns the document of a lock, sealed.
pub(crate) fn write(lock: &Lock) -> Value {
    let mut value = v1::write(lock);
    let seal = seal(&value);
    if let Value::Object(map) = &mut value {
        map.insert("seal".to_owned(), seal.to_string().into());
    }
    value
}

/// Returns the seal that a lock's document has.
pub(crate) fn seal_of(lock: &Lock) -> Digest {
    seal(&v1::write(lock))
}

/// Returns the seal of a document: the digest of its canonical form without the seal.
fn seal(document: &Value) -> Digest {
    let mut document = document.clone();
    if let Value::Object(map) = &mut document {
        map.remove("seal");
    }
    Digest::of(canonical(&document).as_bytes())
}

/// Reads a lock of any version.
pub(crate) fn read(path: &str, text: &str) -> (Option<Lock>, Diagnostics) {
    let mut diagnostics = Diagnostics::new();
    let document = match document(path, text) {
        Ok(document) => document,
        Err(found) => {
            diagnostics.push(found);
            return (None, diagnostics);
        }
    };
    let got = seal(&document);
    let stated = document.get("seal").and_then(Value::as_str);
    if stated != Some(got.to_string().as_str()) {
        diagnostics.push(
            Diagnostic::error(
                LOCK_EDITED,
                format!("`{path}` was edited by hand: its seal is of other content"),
            )
            .why(format!("the content gives `{got}`, the seal says `{}`", stated.unwrap_or("nothing")))
            .help("change the manifest and run `recipec lock`, or take the file from version control again"),
        );
    }
    match v1::read(document) {
        Ok(lock) => (Some(lock), diagnostics),
        Err(why) => {
            diagnostics.push(unreadable(path, &why));
            (None, diagnostics)
        }
    }
}

pub(crate) use brief::read as read_brief;

/// Reads recipe, pins and facts of a side of a conflict; the seal cannot hold there.
pub(crate) fn read_pins(path: &str, text: &str) -> Result<Lock, Diagnostics> {
    let document = document(path, text).map_err(|found| Diagnostics::from_iter([found]))?;
    v1::read_pins(document).map_err(|why| Diagnostics::from_iter([unreadable(path, &why)]))
}

fn unreadable(path: &str, why: &str) -> Diagnostic {
    Diagnostic::error(LOCK_UNREADABLE, format!("cannot read `{path}`: {why}"))
        .help("take the file from version control again, or delete it and run `recipec lock`")
}

/// Returns the document if it is of a version that this recipec reads.
fn document(path: &str, text: &str) -> Result<Value, Diagnostic> {
    if merge::has_markers(text) {
        return Err(Diagnostic::error(
            LOCK_CONFLICT,
            format!("cannot read `{path}`: it has conflict markers"),
        )
        .help("run `recipec lock`: it takes what both sides pinned and writes the file anew"));
    }
    let document = strict::parse(text).map_err(|why| unreadable(path, &why))?;
    let Some(version) = document.get("version") else {
        return Err(unreadable(path, "it has no version"));
    };
    match version.as_u64() {
        Some(NEWEST) => Ok(document),
        Some(newer) if newer > NEWEST => {
            let message =
                format!("cannot read `{path}`: version {newer} is newer than this recipec ({NEWEST})");
            Err(Diagnostic::error(LOCK_VERSION, message).help("use a newer recipec"))
        }
        _ => Err(Diagnostic::error(
            LOCK_VERSION,
            format!("cannot read `{path}`: no recipec has written version {version}"),
        )),
    }
}
