//! A model hub on loopback, close enough that the hub's own client takes it for one.
//!
//! It serves what the small mirror holds and what a test adds, with the addresses, headers and
//! errors of the real hub: pages of trees, redirects of small files to `resolve-cache` and of large
//! ones to another host, gated and private repositories, and renamed ones.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::server::{Reply, Request, Server};
use super::{files, repository};

/// One repository at one commit.
#[derive(Clone, Default)]
pub struct Repo {
    pub files: BTreeMap<String, Vec<u8>>,
    /// Branches, tags and `refs/pr/N`.
    pub refs: Vec<String>,
    pub commit: String,
    pub gated: bool,
    pub private: bool,
    pub disabled: bool,
    /// Where a request for this name is sent.
    pub moved_to: Option<String>,
}

impl Repo {
    /// Returns a repository with these files on `main`; the commit is made up of its letter.
    pub fn new(letter: char, files: &[(&str, &str)]) -> Self {
        Self {
            files: files.iter().map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec())).collect(),
            refs: vec!["main".to_owned()],
            commit: letter.to_string().repeat(40),
            ..Self::default()
        }
    }
}

/// What the hub does in a test.
#[derive(Clone, Default)]
pub struct Setup {
    /// Repositories by kind and id: `models/owner/name`.
    pub repositories: BTreeMap<String, Repo>,
    /// Files of one page of a tree; 1000 if 0.
    pub page: usize,
    /// Tells large files as Xet-backed.
    pub xet: bool,
}

/// A running hub, with the host that large files are on.
pub struct Hub {
    pub server: Server,
    pub files: Server,
}

/// The token that may see private and gated repositories.
pub const TOKEN: &str = "hf_test_token";
/// A token that is known and may see nothing special.
pub const STRANGER: &str = "hf_stranger";

impl Hub {
    /// Starts a hub with these repositories besides those of the small mirror.
    pub fn start(mut setup: Setup) -> Self {
        for (name, repo) in of_mirror() {
            setup.repositories.entry(name).or_insert(repo);
        }
        let setup = Arc::new(setup);
        let kept = setup.clone();
        let files = Server::start(move |request| large(&kept, request));
        let base = Arc::new(Mutex::new(files.url()));
        let server = Server::start(move |request| answer(&setup, &base.lock().unwrap(), request));
        Self { server, files }
    }

    /// Returns the hub with the mirror's repositories alone.
    pub fn of_mirror() -> Self {
        Self::start(Setup::default())
    }
}

/// Reads the repositories of the small mirror.
fn of_mirror() -> Vec<(String, Repo)> {
    let root = repository().join("fixtures/mirror/hub");
    let mut found = Vec::new();
    for entry in fs::read_dir(&root).unwrap() {
        let folder = entry.unwrap().path();
        let name = folder.file_name().unwrap().to_str().unwrap().replace("--", "/");
        let commit = fs::read_to_string(folder.join("refs/main")).unwrap();
        let snapshot = folder.join("snapshots").join(&commit);
        let contents = files(&snapshot, "").into_iter().map(|path| {
            let relative = path.strip_prefix(&snapshot).unwrap().to_str().unwrap().to_owned();
            (relative, fs::read(&path).unwrap())
        });
        let refs = vec!["main".to_owned(), "v1.0".to_owned(), "refs/pr/1".to_owned()];
        found.push((name, Repo { files: contents.collect(), refs, commit, ..Repo::default() }));
    }
    found
}

fn is_large(path: &str) -> bool {
    [".safetensors", ".bin", ".gguf", ".parquet"].iter().any(|end| path.ends_with(end))
}

fn sha256(bytes: &[u8]) -> String {
    lock::Digest::of(bytes).hex().to_owned()
}

fn pointer(bytes: &[u8]) -> Vec<u8> {
    format!(
        "version https://git-lfs.github.com/spec/v1\noid sha256:{}\nsize {}\n",
        sha256(bytes),
        bytes.len()
    )
    .into_bytes()
}

fn error(status: u16, code: &str, message: &str) -> Reply {
    let reply =
        Reply::new(status, json!({ "error": message }).to_string()).with("content-type", "application/json");
    let reply = if code.is_empty() { reply } else { reply.with("x-error-code", code) };
    reply.with("x-error-message", message)
}

/// The host of large files: it must never see a credential.
fn large(setup: &Setup, request: &Request) -> Reply {
    if request.header("authorization").is_some() {
        return Reply::new(400, "a credential came with it");
    }
    let wanted = request.path().trim_start_matches("/large/").to_owned();
    let all = setup.repositories.values().flat_map(|repo| repo.files.values());
    let Some(body) = all.into_iter().find(|body| sha256(body) == wanted) else { return Reply::new(404, "") };
    ranged(request, body).with("etag", format!("\"{wanted}\""))
}

/// Answers a range as the client asks for one when it goes on with a download.
fn ranged(request: &Request, body: &[u8]) -> Reply {
    let from = request
        .header("range")
        .and_then(|range| range.strip_prefix("bytes=")?.split('-').next()?.parse::<usize>().ok());
    match from {
        Some(from) if from > 0 && from < body.len() => Reply::new(206, &body[from..])
            .with("content-range", format!("bytes {from}-{}/{}", body.len() - 1, body.len())),
        _ => Reply::new(200, body),
    }
}

fn answer(setup: &Setup, files: &str, request: &Request) -> Reply {
    let path = request.path();
    let token =
        request.header("authorization").and_then(|value| value.strip_prefix("Bearer ")).map(str::to_owned);
    if token.as_deref().is_some_and(|token| token != TOKEN && token != STRANGER) {
        return error(401, "", "Invalid credentials in Authorization header");
    }
    if path == "/api/models" {
        let author = format!("models/{}/", request.query("author").unwrap_or_default());
        let names = setup.repositories.keys().filter(|name| name.starts_with(&author));
        let listed: Vec<Value> =
            names.map(|name| json!({ "id": name.trim_start_matches("models/") })).collect();
        return Reply::json(Value::Array(listed));
    }
    if path == "/api/whoami-v2" {
        return Reply::json(json!({ "name": "tester", "type": "user", "auth": {} }));
    }
    let kinds = [
        ("/api/models/", "models/"),
        ("/api/datasets/", "datasets/"),
        ("/datasets/", "datasets/"),
        ("/", "models/"),
    ];
    let cached = path.strip_prefix("/api/resolve-cache/");
    let (kind, rest) = match cached {
        Some(rest) => ("", rest.to_owned()),
        None => {
            let (prefix, kind) = kinds.iter().find(|(prefix, _)| path.starts_with(prefix)).unwrap();
            (*kind, path[prefix.len()..].to_owned())
        }
    };
    let full = format!("{kind}{rest}");
    // The longest name that fits: some are one word, most are two.
    let found =
        setup.repositories.iter().filter(|(name, _)| full == **name || full.starts_with(&format!("{name}/")));
    let Some((name, repo)) = found.max_by_key(|(name, _)| name.len()) else {
        return if token.is_some() {
            error(404, "RepoNotFound", "Repository not found")
        } else {
            error(401, "RepoNotFound", "Repository not found")
        };
    };
    if let Some(moved) = &repo.moved_to {
        let id = name.split_once('/').unwrap().1;
        return Reply::new(307, "").with("location", request.target.replace(id, moved));
    }
    let known = token.as_deref() == Some(TOKEN);
    if repo.private && !known {
        return if token.is_some() {
            error(404, "RepoNotFound", "Repository not found")
        } else {
            error(401, "RepoNotFound", "Repository not found")
        };
    }
    let rest = full[name.len()..].trim_start_matches('/').to_owned();
    let id = name.split_once('/').unwrap().1;
    let is_file = rest.starts_with("resolve/") || cached.is_some();
    if repo.disabled {
        return error(403, "", "Access to this resource is disabled.");
    }
    if repo.gated && !known && is_file {
        let status = if token.is_some() { 403 } else { 401 };
        return error(status, "GatedRepo", "Access to this model is restricted");
    }
    if cached.is_some() {
        let Some((_, file)) = rest.split_once('/') else { return Reply::new(404, "") };
        return small(repo, &super::server::decode(file), request);
    }
    route(setup, files, request, (id, repo), &rest)
}

fn route(setup: &Setup, files: &str, request: &Request, (id, repo): (&str, &Repo), rest: &str) -> Reply {
    let (verb, rest) = rest.split_once('/').unwrap_or((rest, ""));
    // A revision may hold slashes, so the ones that exist decide where it ends.
    let mut names: Vec<&str> = repo.refs.iter().map(String::as_str).chain([repo.commit.as_str()]).collect();
    names.sort_by_key(|name| std::cmp::Reverse(name.len()));
    let revision = names.into_iter().find(|name| rest == *name || rest.starts_with(&format!("{name}/")));
    let missing = || error(404, "RevisionNotFound", &format!("Invalid rev id: {rest}"));
    match verb {
        "" | "revision" => {
            if verb == "revision" && revision.is_none() {
                return missing();
            }
            let siblings: Vec<Value> = repo.files.keys().map(|path| json!({ "rfilename": path })).collect();
            Reply::json(json!({
                "_id": "0", "id": id, "modelId": id, "sha": repo.commit, "private": repo.private,
                "gated": if repo.gated { json!("auto") } else { json!(false) }, "disabled": repo.disabled,
                "tags": [], "downloads": 0, "likes": 0, "siblings": siblings,
                "lastModified": "2026-01-01T00:00:00.000Z", "createdAt": "2026-01-01T00:00:00.000Z",
            }))
        }
        "tree" if revision.is_some() => tree(setup, request, repo),
        "resolve" => match revision {
            Some(revision) => {
                resolve(setup, files, request, (id, repo), rest[revision.len()..].trim_start_matches('/'))
            }
            None => missing(),
        },
        "tree" => missing(),
        _ => Reply::new(404, "{}"),
    }
}

fn tree(setup: &Setup, request: &Request, repo: &Repo) -> Reply {
    let page = if setup.page == 0 { 1000 } else { setup.page };
    let from: usize = request.query("cursor").and_then(|cursor| cursor.parse().ok()).unwrap_or(0);
    let mut entries = Vec::new();
    for (path, body) in repo.files.iter().skip(from).take(page) {
        let mut entry = json!({ "type": "file", "path": path, "size": body.len() });
        if is_large(path) {
            entry["oid"] = upstream::git_blob_id(&pointer(body)).into();
            entry["lfs"] =
                json!({ "oid": sha256(body), "size": body.len(), "pointerSize": pointer(body).len() });
            if setup.xet {
                entry["xetHash"] = sha256(path.as_bytes()).into();
            }
        } else {
            entry["oid"] = upstream::git_blob_id(body).into();
        }
        entries.push(entry);
    }
    let reply = Reply::json(Value::Array(entries));
    if from + page >= repo.files.len() {
        return reply;
    }
    let host = request.header("host").unwrap_or_default();
    let target = request.target.split("&cursor=").next().unwrap();
    reply.with("link", format!("<http://{host}{target}&cursor={}>; rel=\"next\"", from + page))
}

fn resolve(setup: &Setup, files: &str, request: &Request, (id, repo): (&str, &Repo), path: &str) -> Reply {
    let Some(body) = repo.files.get(path) else {
        return error(404, "EntryNotFound", "Entry not found").with("x-repo-commit", &repo.commit);
    };
    if is_large(path) {
        let digest = sha256(body);
        let reply = Reply::new(302, "")
            .with("location", format!("{files}/large/{digest}"))
            .with("x-repo-commit", &repo.commit)
            .with("x-linked-etag", format!("\"{digest}\""))
            .with("x-linked-size", body.len());
        return if setup.xet { reply.with("x-xet-hash", sha256(path.as_bytes())) } else { reply };
    }
    let _ = request;
    let encoded = path.replace('/', "%2F");
    let kind = if setup.repositories.contains_key(&format!("datasets/{id}")) { "datasets" } else { "models" };
    Reply::new(307, "")
        .with("location", format!("/api/resolve-cache/{kind}/{id}/{}/{encoded}", repo.commit))
        .with("x-repo-commit", &repo.commit)
}

fn small(repo: &Repo, path: &str, request: &Request) -> Reply {
    let Some(body) = repo.files.get(path) else { return Reply::new(404, "") };
    ranged(request, body)
        .with("etag", format!("\"{}\"", upstream::git_blob_id(body)))
        .with("x-repo-commit", &repo.commit)
        .with(
            "content-disposition",
            format!("inline; filename=\"{}\"", Path::new(path).file_name().unwrap().to_str().unwrap()),
        )
}
