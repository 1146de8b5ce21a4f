//! The hub's half of a mirror: the layout of the hub client's own cache.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::json;

use super::{Answer, LIMIT, Store};
use crate::hub::is_commit;

/// What the hub client keeps of a tree.
#[derive(Deserialize)]
struct Tree {
    format_version: u64,
    files: BTreeMap<String, Node>,
}

#[derive(Deserialize)]
struct Node {
    size: u64,
    #[serde(default)]
    blob_id: Option<String>,
    #[serde(default)]
    lfs_sha256: Option<String>,
    #[serde(default)]
    lfs_size: Option<u64>,
}

const JSON: &str = "application/json";

/// Answers `/api/{models,datasets}/<id>/{revision,tree}/<…>` and `/<id>/resolve/<commit>/<path>`.
pub(super) fn answer<S: Store>(store: &S, path: &str) -> Result<Answer, String> {
    let path = path.trim_start_matches('/');
    if let Some(rest) = path.strip_prefix("api/") {
        let Some((kind, rest)) = rest.split_once('/') else { return Ok(unknown(path)) };
        for verb in ["revision", "tree"] {
            let Some((id, name)) = rest.split_once(&format!("/{verb}/")) else { continue };
            let folder = folder(kind, id);
            if store.list(&folder)?.is_none() {
                return Ok(Answer::NotMirrored(format!("it has no `{folder}`")));
            }
            return if verb == "revision" {
                revision(store, &folder, id, name)
            } else {
                tree(store, &folder, name)
            };
        }
        return Ok(unknown(path));
    }
    let (kind, rest) = path.strip_prefix("datasets/").map_or(("models", path), |rest| ("datasets", rest));
    let parts = rest.split_once("/resolve/").and_then(|(id, rest)| Some((id, rest.split_once('/')?)));
    let Some((id, (commit, file))) = parts else { return Ok(unknown(path)) };
    let place = format!("{}/snapshots/{commit}/{file}", folder(kind, id));
    match store.read(&place, LIMIT)? {
        Some(body) => Ok(Answer::Found("application/octet-stream".to_owned(), body)),
        None => Ok(Answer::NotMirrored(format!("it has no `{place}`"))),
    }
}

fn folder(kind: &str, id: &str) -> String {
    format!("hub/{kind}--{}", id.replace('/', "--"))
}

fn unknown(path: &str) -> Answer {
    Answer::NotMirrored(format!("a mirror does not answer `/{path}`"))
}

fn revision<S: Store>(store: &S, folder: &str, id: &str, revision: &str) -> Result<Answer, String> {
    let commit = if is_commit(revision) {
        store.read(&format!("{folder}/trees/{revision}.json"), LIMIT)?.map(|_| revision.to_owned())
    } else {
        let found = store.read(&format!("{folder}/refs/{revision}"), 4096)?;
        found.map(|bytes| String::from_utf8_lossy(&bytes).trim().to_owned())
    };
    match commit {
        Some(commit) if is_commit(&commit) => {
            Ok(Answer::Found(JSON.to_owned(), json!({ "id": id, "sha": commit }).to_string().into_bytes()))
        }
        Some(_) => Err(format!("`{folder}/refs/{revision}` holds no commit")),
        None => Ok(Answer::NotMirrored(format!("`{folder}` has no revision `{revision}`"))),
    }
}

fn tree<S: Store>(store: &S, folder: &str, commit: &str) -> Result<Answer, String> {
    let place = format!("{folder}/trees/{commit}.json");
    let Some(body) = store.read(&place, LIMIT)? else {
        return Ok(Answer::NotMirrored(format!("it has no `{place}`")));
    };
    let tree: Tree =
        serde_json::from_slice(&body).map_err(|error| format!("`{place}` is no tree: {error}"))?;
    if tree.format_version != 1 {
        return Err(format!("`{place}` has format {}, and 1 is known", tree.format_version));
    }
    let entries: Vec<_> = tree
        .files
        .into_iter()
        .map(|(path, node)| {
            let mut entry = json!({ "type": "file", "path": path, "size": node.size, "oid": node.blob_id });
            if let (Some(sha256), Some(entry)) = (node.lfs_sha256, entry.as_object_mut()) {
                entry.insert(
                    "lfs".to_owned(),
                    json!({ "oid": sha256, "size": node.lfs_size.unwrap_or(node.size) }),
                );
            }
            entry
        })
        .collect();
    Ok(Answer::Found(JSON.to_owned(), serde_json::Value::Array(entries).to_string().into_bytes()))
}
