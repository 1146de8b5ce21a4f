//! Local clones of git repositories, asked in place of the forge.
//!
//! A clone answers the questions that the conversation puts to a forge, and one of them better: it
//! has the whole history, so it knows for certain which commits are upstream's.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use upstream::git_blob_id;
use upstream::secret::base64_encode;
use upstream::transport::{Fault, FaultKind, Method, Request, Response};

/// Clones by repository (`owner/name`).
pub(crate) type Clones = BTreeMap<String, PathBuf>;

/// Finds the clones of a mirror folder: `git/<owner>/<name>.git`.
pub(crate) fn of_mirror(folder: &Path) -> Clones {
    let mut clones = Clones::new();
    for entry in walkdir::WalkDir::new(folder.join("git")).min_depth(2).max_depth(2).sort_by_file_name() {
        let Ok(entry) = entry else { continue };
        let parts = (entry.path().parent().and_then(Path::file_name), entry.file_name().to_str());
        let (Some(owner), Some(name)) = (parts.0.and_then(|owner| owner.to_str()), parts.1) else { continue };
        if let Some(name) = name.strip_suffix(".git")
            && entry.path().is_dir()
        {
            clones.insert(format!("{owner}/{name}"), entry.path().to_owned());
        }
    }
    clones
}

/// Answers a request about a repository that there is a clone of; `None` for every other request.
pub(crate) fn answer(clones: &Clones, request: &Request) -> Option<Result<Response, Fault>> {
    let path = request.url.path();
    let at = path.find("/repos/")?;
    let mut parts = path.get(at + "/repos/".len()..)?.splitn(3, '/');
    let (owner, name) = (parts.next()?, parts.next()?);
    let clone = Clone { folder: clones.get(&format!("{owner}/{name}"))? };
    let rest = decoded(parts.next().unwrap_or(""))?;
    let found = match clone.ask(request, &rest) {
        Ok(found) => found,
        Err(error) => return Some(Err(Fault::new(FaultKind::Local, &request.url, error.to_string()))),
    };
    let (status, media_type, body) = match found {
        Some(Found::Json(value)) => (200, "application/json", value.to_string().into_bytes()),
        Some(Found::Text(text)) => (200, "text/plain", text.into_bytes()),
        None => (404, "application/json", b"{}".to_vec()),
    };
    let headers = vec![("content-type".to_owned(), media_type.to_owned())];
    let body = if request.method == Method::Head { Vec::new() } else { body };
    Some(Ok(Response { status, headers, body, url: request.url.clone() }))
}

enum Found {
    Json(Value),
    Text(String),
}

struct Clone<'a> {
    folder: &'a Path,
}

impl Clone<'_> {
    fn ask(&self, request: &Request, rest: &str) -> std::io::Result<Option<Found>> {
        let query = |wanted: &str| {
            let found = request.url.query_pairs().find(|(name, _)| name == wanted);
            found.map(|(_, value)| value.into_owned()).unwrap_or_default()
        };
        if rest.is_empty() {
            return Ok(Some(Found::Json(json!({ "default_branch": self.default_branch()? }))));
        }
        if let Some(path) = rest.strip_prefix("contents/") {
            return self.contents(&query("ref"), path);
        }
        if let Some(commit) = rest.strip_prefix("git/trees/") {
            return self.tree(commit);
        }
        if rest.starts_with("branches") || rest.starts_with("tags") {
            // Answered with the heads that hold what is asked for; see `compare` below.
            return Ok(Some(Found::Json(json!([]))));
        }
        if rest == "commits" {
            // Who changed a path last is asked for the sake of pull requests, which a clone does not
            // know; walking through history for it would take longer than all the rest.
            return Ok(Some(Found::Json(json!([]))));
        }
        if let Some(commit) = rest.strip_prefix("commits/") {
            if commit.ends_with("/pulls") {
                return Ok(None);
            }
            return Ok(self.commit(commit)?.map(Found::Text));
        }
        if let Some((_, commit)) = rest.strip_prefix("compare/").and_then(|rest| rest.split_once("...")) {
            let Some(commit) = self.commit(commit)? else { return Ok(None) };
            let refs = if self.is_bare()? { "refs/heads" } else { "refs/remotes" };
            // A head is held without a walk through history.
            let mut held = false;
            for how in ["points-at", "contains"].map(|how| format!("--{how}={commit}")) {
                let named = self.text(&["for-each-ref", "--count=1", &how, refs, "refs/tags"])?;
                held = held || named.is_some_and(|named| !named.trim().is_empty());
                if held {
                    break;
                }
            }
            let status = if held { "behind" } else { "diverged" };
            return Ok(Some(Found::Json(json!({ "status": status }))));
        }
        Ok(None)
    }

    fn default_branch(&self) -> std::io::Result<String> {
        let remote = self.text(&["symbolic-ref", "--quiet", "refs/remotes/origin/HEAD"])?;
        Ok(remote.unwrap_or_else(|| "HEAD".to_owned()).trim().to_owned())
    }

    fn is_bare(&self) -> std::io::Result<bool> {
        Ok(self.text(&["rev-parse", "--is-bare-repository"])?.is_some_and(|text| text.trim() == "true"))
    }

    /// Resolves as the forge does: a branch of upstream, a tag, or a commit. A branch of the clone
    /// itself is its owner's, not upstream's.
    fn commit(&self, revision: &str) -> std::io::Result<Option<String>> {
        let branches = if self.is_bare()? { "refs/heads" } else { "refs/remotes/origin" };
        let full = revision.len() == 40 && revision.bytes().all(|byte| byte.is_ascii_hexdigit());
        let names = if full {
            vec![revision.to_owned()]
        } else {
            vec![format!("{branches}/{revision}"), format!("refs/tags/{revision}")]
        };
        for name in names {
            let commit = self.text(&[
                "rev-parse",
                "--verify",
                "--quiet",
                "--end-of-options",
                &format!("{name}^{{commit}}"),
            ])?;
            if let Some(commit) = commit {
                return Ok(Some(commit.trim().to_owned()));
            }
        }
        Ok(None)
    }

    fn contents(&self, commit: &str, path: &str) -> std::io::Result<Option<Found>> {
        let object = format!("{commit}:{path}");
        let Some(kind) = self.text(&["cat-file", "-t", "--end-of-options", &object])? else {
            return Ok(None);
        };
        if kind.trim() == "tree" {
            return Ok(Some(Found::Json(json!([]))));
        }
        let Some(bytes) = self.bytes(&["cat-file", "blob", "--end-of-options", &object])? else {
            return Ok(None);
        };
        Ok(Some(Found::Json(json!({
            "type": "file",
            "sha": git_blob_id(&bytes),
            "size": bytes.len(),
            "encoding": "base64",
            "content": base64_encode(&bytes),
        }))))
    }

    fn tree(&self, commit: &str) -> std::io::Result<Option<Found>> {
        let Some(text) = self.text(&["ls-tree", "-r", "-z", "--full-tree", "--end-of-options", commit])?
        else {
            return Ok(None);
        };
        let nodes: Vec<Value> = text
            .split('\0')
            .filter_map(|line| {
                let (about, path) = line.split_once('\t')?;
                let mut words = about.split(' ').skip(1);
                Some(json!({ "type": words.next()?, "sha": words.next()?, "path": path }))
            })
            .collect();
        Ok(Some(Found::Json(json!({ "tree": nodes, "truncated": false }))))
    }

    fn text(&self, arguments: &[&str]) -> std::io::Result<Option<String>> {
        Ok(self.bytes(arguments)?.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
    }

    /// Runs git; `None` where it refuses, which is how it says that there is no such thing.
    fn bytes(&self, arguments: &[&str]) -> std::io::Result<Option<Vec<u8>>> {
        let output = Command::new("git")
            .arg("-C")
            .arg(self.folder)
            // A clone may be anyone's: nothing of its configuration is run, nothing is fetched.
            .args(["-c", "core.fsmonitor=false", "-c", "protocol.allow=never", "--no-pager"])
            .args(arguments)
            .env("GIT_NO_LAZY_FETCH", "1")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env_remove("GIT_DIR")
            .env_remove("GIT_WORK_TREE")
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .output()?;
        Ok(output.status.success().then_some(output.stdout))
    }
}

/// Decodes `%2F` and its like; `None` if the result is no UTF-8.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let digits = [rest.next()?, rest.next()?];
            bytes.push(u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}
