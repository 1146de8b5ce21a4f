//! The forge's half of a mirror: snapshots of git repositories.

use serde_json::{Value, json};

use super::{Answer, LIMIT, Store};
use crate::hub::is_commit;
use crate::secret::base64_encode;
use crate::transport::Request;

const JSON: &str = "application/json";

/// Answers `/repos/<owner>/<name>[/<rest>]`.
pub(super) fn answer<S: Store>(store: &S, request: &Request, rest: &str) -> Result<Answer, String> {
    let mut parts = rest.splitn(3, '/');
    let (Some(owner), Some(name)) = (parts.next(), parts.next()) else {
        return Ok(Answer::NotMirrored("a mirror answers about repositories alone".to_owned()));
    };
    let rest = parts.next().unwrap_or("");
    let folder = format!("git/{owner}/{name}");
    if store.list(&folder)?.is_none() {
        return Ok(Answer::NotMirrored(format!("it has no `{folder}`")));
    }
    let query = |wanted: &str| {
        let found = request.url.query_pairs().find(|(name, _)| name == wanted);
        found.map(|(_, value)| value.into_owned()).unwrap_or_default()
    };
    if rest.is_empty() {
        return Ok(found(&json!({ "default_branch": "" })));
    }
    if let Some(path) = rest.strip_prefix("contents/") {
        return contents(store, &folder, &query("ref"), path);
    }
    if let Some(commit) = rest.strip_prefix("git/trees/") {
        return tree(store, &folder, commit);
    }
    if let Some(commit) = rest.strip_prefix("commits/").and_then(|rest| rest.strip_suffix("/pulls")) {
        let kept = store.read(&format!("{folder}/pulls/{commit}.json"), LIMIT)?;
        return Ok(kept.map_or(Answer::Absent("pulls"), |body| Answer::Found(JSON.to_owned(), body)));
    }
    if let Some(revision) = rest.strip_prefix("commits/") {
        return commit(store, &folder, revision);
    }
    if rest == "commits" {
        // A snapshot has no history: what it holds is the last change there is.
        return Ok(found(&json!([{ "sha": query("sha") }])));
    }
    if let Some((_, commit)) = rest.strip_prefix("compare/").and_then(|rest| rest.split_once("...")) {
        // Whoever made the mirror vouches for the commits that are in it.
        let there = store.list(&format!("{folder}/{commit}"))?.is_some();
        return Ok(if there { found(&json!({ "status": "behind" })) } else { Answer::Absent("commit") });
    }
    Ok(Answer::NotMirrored(format!("a mirror does not answer `{rest}` about a repository")))
}

fn found(value: &Value) -> Answer {
    Answer::Found(JSON.to_owned(), value.to_string().into_bytes())
}

fn commit<S: Store>(store: &S, folder: &str, revision: &str) -> Result<Answer, String> {
    if is_commit(revision) && store.list(&format!("{folder}/{revision}"))?.is_some() {
        return Ok(Answer::Found("text/plain".to_owned(), revision.as_bytes().to_vec()));
    }
    match store.read(&format!("{folder}/refs/{revision}"), 4096)? {
        Some(body) => Ok(Answer::Found("text/plain".to_owned(), body)),
        None => Ok(Answer::NotMirrored(format!("`{folder}` has no revision `{revision}`"))),
    }
}

fn contents<S: Store>(store: &S, folder: &str, commit: &str, path: &str) -> Result<Answer, String> {
    let place = format!("{folder}/{commit}/{path}");
    if let Some(body) = store.read(&place, LIMIT)? {
        return Ok(found(&json!({
            "type": "file",
            "sha": crate::git_blob_id(&body),
            "size": body.len(),
            "encoding": "base64",
            "content": base64_encode(&body),
        })));
    }
    Ok(match store.list(&place)? {
        Some(_) => found(&json!([])),
        None => Answer::Absent("path"),
    })
}

/// Lists a whole snapshot as a forge lists a tree.
fn tree<S: Store>(store: &S, folder: &str, commit: &str) -> Result<Answer, String> {
    let root = format!("{folder}/{commit}");
    let mut nodes = Vec::new();
    let mut open = vec![(String::new(), 0)];
    while let Some((below, depth)) = open.pop() {
        let Some(names) = store.list(&format!("{root}/{below}"))? else { continue };
        for name in names {
            let path = if below.is_empty() { name } else { format!("{below}/{name}") };
            match store.read(&format!("{root}/{path}"), LIMIT)? {
                Some(body) => {
                    nodes.push(json!({ "path": path, "type": "blob", "sha": crate::git_blob_id(&body) }));
                }
                None if depth < 32 => open.push((path, depth + 1)),
                None => {}
            }
        }
    }
    Ok(found(&json!({ "tree": nodes, "truncated": false })))
}
