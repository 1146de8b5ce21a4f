//! The files of a repository at a commit, page by page.

use std::collections::{BTreeMap, BTreeSet};

use diag::{Diagnostic, slugs::upstream as slug};
use lock::Digest;
use lock::pin::File;
use serde::Deserialize;
use url::Url;

use super::{Hub, is_commit};
use crate::refusal::{Refusal, printable, unexpected};
use crate::transport::{Response, Transport};

/// The most bytes of one page of a tree.
const PAGE_LIMIT: u64 = 16 << 20;
/// The most pages; each has up to a thousand files.
const MAX_PAGES: usize = 200;

/// One entry as the hub lists it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    #[serde(rename = "type")]
    kind: String,
    path: String,
    #[serde(default)]
    size: u64,
    #[serde(default)]
    oid: Option<String>,
    #[serde(default)]
    lfs: Option<LargeFile>,
}

/// What the hub says of a file in large-file storage; Xet-backed files have it too.
#[derive(Deserialize)]
struct LargeFile {
    oid: String,
    #[serde(default)]
    size: Option<u64>,
}

/// Lists all files at a commit, sorted by path.
pub(super) fn list<T: Transport + ?Sized>(hub: &Hub<'_, T>, commit: &str) -> Result<Vec<File>, Refusal> {
    let kind = hub.kind.interface();
    let mut url =
        hub.url(&format!("api/{kind}/{}/tree/{commit}?recursive=true&expand=false", hub.repository))?;
    let origin = url.origin();
    let mut seen = BTreeSet::new();
    let mut files = BTreeMap::new();
    for _ in 0..MAX_PAGES {
        if !seen.insert(url.to_string()) {
            break;
        }
        let response = hub.ask(url.clone(), PAGE_LIMIT)?;
        let entries: Vec<Entry> = hub.json(&response)?;
        for entry in entries.into_iter().filter(|entry| entry.kind == "file") {
            let file = read(hub, entry, &response)?;
            files.insert(file.path.clone(), file);
        }
        match next(&response) {
            None => return whole(hub, files),
            Some(next) if next.origin() == origin => url = next,
            Some(next) => {
                let why = format!("its next page is on another host, `{}`", crate::transport::server(&next));
                return Err(unexpected(&hub.name(), &response, why));
            }
        }
    }
    Err(Refusal::outside(
        Diagnostic::error(slug::ANSWER_TOO_LARGE, format!("the tree of `{}` does not end", hub.name()))
            .why(format!("pages repeat, or there are more than {MAX_PAGES} of them"))
            .help("check that `HF_ENDPOINT` is a hub"),
    ))
}

/// Reads the `next` of a `Link` header.
fn next(response: &Response) -> Option<Url> {
    for (name, value) in &response.headers {
        if name != "link" {
            continue;
        }
        for link in value.split(", <") {
            let (target, parameters) = link.trim_start_matches('<').split_once('>')?;
            let relation = parameters.to_ascii_lowercase().replace([' ', '"'], "");
            if relation.split(';').any(|parameter| parameter == "rel=next") {
                return response.url.join(target).ok();
            }
        }
    }
    None
}

/// Checks one entry: it is going to be a path on disk and a line of a lock.
fn read<T: Transport + ?Sized>(hub: &Hub<'_, T>, entry: Entry, response: &Response) -> Result<File, Refusal> {
    if !is_safe(&entry.path) {
        return Err(Refusal::outside(
            Diagnostic::error(
                slug::UNSAFE_PATH,
                format!("the tree of `{}` has a path that leads elsewhere", hub.name()),
            )
            .why(format!("`{}` is no plain relative path", printable(&entry.path, 200)))
            .help("do not use this checkpoint from this hub or mirror"),
        ));
    }
    let no_id = |why: String| unexpected(&hub.name(), response, format!("`{}`: {why}", entry.path));
    match entry.lfs {
        Some(large) => {
            // `oid` of the entry itself is the blob of the pointer file; the weights' sha256 is the
            // `oid` inside `lfs`. Some hubs write it with its algorithm.
            let hex = large.oid.strip_prefix("sha256:").unwrap_or(&large.oid);
            let sha256 = Digest::from_hex(hex).map_err(|error| no_id(error.to_string()))?;
            if large.size.is_some_and(|size| size != entry.size) {
                return Err(no_id("it has two sizes".to_owned()));
            }
            Ok(File { path: entry.path, size: entry.size, sha256: Some(sha256), blob: None })
        }
        None => match entry.oid {
            Some(oid) if is_commit(&oid) => {
                Ok(File { path: entry.path, size: entry.size, sha256: None, blob: Some(oid) })
            }
            _ => Err(no_id("it has neither a sha256 nor a git blob id".to_owned())),
        },
    }
}

/// Refuses trees that cannot be unpacked everywhere.
fn whole<T: Transport + ?Sized>(
    hub: &Hub<'_, T>,
    files: BTreeMap<String, File>,
) -> Result<Vec<File>, Refusal> {
    let mut folded: BTreeMap<String, &str> = BTreeMap::new();
    for path in files.keys() {
        if let Some(other) = folded.insert(path.to_lowercase(), path) {
            return Err(Refusal::outside(
                Diagnostic::error(slug::CASE_COLLISION, format!("two files of `{}` differ in case alone", hub.name()))
                    .why(format!("`{other}` and `{path}`"))
                    .why("a file system that ignores case keeps one of them, and its hash is another on each machine")
                    .help("take a revision without the double name"),
            ));
        }
    }
    Ok(files.into_values().collect())
}

/// Relative, with `/`, without `..`, drive letters, streams or control characters.
fn is_safe(path: &str) -> bool {
    !path.is_empty()
        && path.len() <= 1024
        && !path.contains(['\\', ':'])
        && !path.chars().any(char::is_control)
        && path.split('/').all(|part| !matches!(part, "" | "." | ".."))
}
