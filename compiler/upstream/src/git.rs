//! Files of git repositories at a commit: cookbook pages, golden curves, client harnesses.
//!
//! The conversation is a forge's REST interface; a local clone and a mirror answer the same
//! questions. A commit counts as upstream's only where upstream's own history has it: forges serve
//! every commit of every fork under the parent's name.

mod evidence;

use diag::{Diagnostic, slugs::upstream as slug};
use lock::Digest;
use lock::pin::{Pin, Source};
use serde::Deserialize;
use url::Url;

use crate::endpoints::Endpoints;
use crate::hub::{is_commit, is_revision, quote, quote_path};
use crate::refusal::{Facts, Refusal, Resolved, excerpt, of_fault, of_status, printable, unexpected};
use crate::secret::{Credential, base64_decode};
use crate::transport::{Request, Response, Service, Transport, ask};

/// The most bytes of one source file.
const FILE_LIMIT: u64 = 16 << 20;
/// The most bytes of any other answer of a forge.
const ANSWER_LIMIT: u64 = 32 << 20;

/// Resolves a file, a folder or a whole repository at a revision.
///
/// # Errors
/// [`Refusal`], with what to do, for every way in which it cannot be pinned.
pub fn resolve<T: Transport + ?Sized>(
    transport: &T,
    endpoints: &Endpoints,
    repository: &str,
    revision: &str,
    path: &str,
) -> Result<Resolved, Refusal> {
    if !is_repository(repository) || !is_revision(revision) || !is_path(path) {
        let shown = printable(&format!("{repository}@{revision}:{path}"), 300);
        return Err(Refusal::manifest(
            Diagnostic::error(slug::SOURCE_REFERENCE, format!("`{shown}` is no file of a git repository"))
                .help("write the repository as `owner/name`, a branch, tag or commit, and a relative path"),
        ));
    }
    let credential = transport.credential(Service::Forge);
    let forge = Forge { transport, base: endpoints.forge(), credential, repository, revision, path };
    let commit = forge.commit()?;
    let content = if path.is_empty() { Content::Repository } else { forge.content(&commit)? };
    let evidence = forge.evidence(&commit)?;
    let sha256 = match &content {
        Content::File(bytes) => Some(Digest::of(bytes)),
        Content::Folder(listing) => Some(Digest::of(listing.as_bytes())),
        Content::Repository => None,
    };
    let content = match content {
        Content::File(bytes) => Some(bytes),
        Content::Folder(listing) => Some(listing.into_bytes()),
        Content::Repository => None,
    };
    Ok(Resolved {
        pin: Pin::Source(Source { commit, sha256, merge: evidence.merge }),
        files: Vec::new(),
        facts: Facts::None,
        content,
        remarks: evidence.remarks,
    })
}

/// Asks whether the commit of a pin is still there.
///
/// # Errors
/// [`Refusal`]: it is gone, or the forge could not be asked.
pub fn still_served<T: Transport + ?Sized>(
    transport: &T,
    endpoints: &Endpoints,
    repository: &str,
    pin: &Source,
) -> Result<(), Refusal> {
    let credential = transport.credential(Service::Forge);
    let base = endpoints.forge();
    Forge { transport, base, credential, repository, revision: &pin.commit, path: "" }.commit().map(drop)
}

/// What a path names.
enum Content {
    /// No path: the commit says it all.
    Repository,
    /// The bytes of a file.
    File(Vec<u8>),
    /// A folder: one line `BLOB  PATH` for each file below it, sorted by path.
    Folder(String),
}

/// A conversation about one path.
pub(crate) struct Forge<'a, T: Transport + ?Sized> {
    transport: &'a T,
    base: String,
    credential: Option<Credential>,
    repository: &'a str,
    revision: &'a str,
    path: &'a str,
}

impl<T: Transport + ?Sized> Forge<'_, T> {
    /// Asks which commit the revision is.
    fn commit(&self) -> Result<String, Refusal> {
        let response =
            self.ask(&format!("commits/{}", quote(self.revision)), "application/vnd.github.sha", 4096)?;
        if !response.is_success() {
            return Err(self.commit_missing(&response)?);
        }
        let text = String::from_utf8_lossy(&response.body).trim().to_owned();
        if !is_commit(&text) {
            return Err(unexpected(
                &self.name(),
                &response,
                "a forge names a commit, and this answer does not",
            ));
        }
        if is_commit(self.revision) && text != self.revision {
            let why = format!("commit {} was asked for, and the answer is {text}", self.revision);
            return Err(unexpected(&self.name(), &response, why));
        }
        Ok(text)
    }

    /// Explains why there is no commit: the repository or the revision is not there.
    fn commit_missing(&self, response: &Response) -> Result<Refusal, Refusal> {
        let repository = self.repository;
        if self.ask("", JSON, ANSWER_LIMIT)?.is_success() {
            return Ok(Refusal::outside(
                Diagnostic::error(
                    slug::REVISION_NOT_FOUND,
                    format!("`{repository}` has no revision `{}`", self.revision),
                )
                .why(format!("status {}; {}", response.status, excerpt(&response.body)))
                .help("write a branch, a tag or a full commit; a commit that was rewritten away is gone"),
            ));
        }
        Ok(Refusal::outside(
            Diagnostic::error(
                slug::SOURCE_NOT_FOUND,
                format!("the forge shows no repository `{repository}`"),
            )
            .why("it does not exist, or it is private: the forge answers the same for both")
            .help("check the name; set `GITHUB_TOKEN` if it is private"),
        ))
    }

    /// Fetches what the path names and checks it against its git blob id.
    fn content(&self, commit: &str) -> Result<Content, Refusal> {
        #[derive(Deserialize)]
        struct Entry {
            #[serde(rename = "type")]
            kind: String,
            sha: String,
            size: u64,
            #[serde(default)]
            encoding: String,
            #[serde(default)]
            content: String,
        }
        let place = format!("contents/{}?ref={commit}", quote_path(self.path));
        let response = self.ask(&place, JSON, ANSWER_LIMIT)?;
        if response.status == 404 {
            return Err(Refusal::outside(
                Diagnostic::error(
                    slug::PATH_NOT_FOUND,
                    format!("`{}` has no `{}` at this revision", self.repository, self.path),
                )
                .why(format!("revision `{}` is commit {commit}", self.revision))
                .help("the file may have been renamed: look for it upstream and write its new path"),
            ));
        }
        let value: serde_json::Value = self.json(&response)?;
        if value.is_array() {
            return self.folder(commit).map(Content::Folder);
        }
        let entry: Entry = serde_json::from_value(value)
            .map_err(|error| unexpected(&self.name(), &response, format!("it describes no file: {error}")))?;
        if entry.kind != "file" {
            return Err(unexpected(
                &self.name(),
                &response,
                format!("the path names a {}, not a file", printable(&entry.kind, 40)),
            ));
        }
        if entry.size > FILE_LIMIT {
            return Err(Refusal::outside(
                Diagnostic::error(
                    slug::ANSWER_TOO_LARGE,
                    format!("`{}` is too long to be read as a source", self.name()),
                )
                .why(format!("it has {} bytes; {FILE_LIMIT} are read", entry.size)),
            ));
        }
        let bytes = if entry.encoding == "base64" {
            base64_decode(&entry.content)
                .ok_or_else(|| unexpected(&self.name(), &response, "its content is no base64"))?
        } else {
            // Files of more than a megabyte come raw only.
            let raw = self.ask(&place, "application/vnd.github.raw", FILE_LIMIT)?;
            if !raw.is_success() {
                return Err(unexpected(
                    &self.name(),
                    &raw,
                    format!("status {}; {}", raw.status, excerpt(&raw.body)),
                ));
            }
            raw.body
        };
        let received = crate::git_blob_id(&bytes);
        if received != entry.sha {
            return Err(Refusal::outside(
                Diagnostic::error(
                    slug::DIGEST_MISMATCH,
                    format!("what the forge sent for `{}` is not what it names", self.name()),
                )
                .why(format!("it names blob {}", printable(&entry.sha, 64)))
                .why(format!("the bytes received are blob {received}"))
                .help("lock again; if it stays, something between you and the forge changes content"),
            ));
        }
        Ok(Content::File(bytes))
    }

    /// Lists a folder with the git blob id of every file below it.
    fn folder(&self, commit: &str) -> Result<String, Refusal> {
        #[derive(Deserialize)]
        struct Tree {
            tree: Vec<Node>,
            #[serde(default)]
            truncated: bool,
        }
        #[derive(Deserialize)]
        struct Node {
            path: String,
            #[serde(rename = "type")]
            kind: String,
            sha: String,
        }
        let response = self.ask(&format!("git/trees/{commit}?recursive=1"), JSON, ANSWER_LIMIT)?;
        let tree: Tree = self.json(&response)?;
        if tree.truncated {
            return Err(unexpected(
                &self.name(),
                &response,
                "the repository is too large for the forge to list it whole; name a file",
            ));
        }
        let prefix = format!("{}/", self.path.trim_end_matches('/'));
        let mut lines: Vec<(String, String)> = Vec::new();
        for node in tree.tree {
            if node.kind == "blob"
                && node.path.starts_with(&prefix)
                && is_commit(&node.sha)
                && is_path(&node.path)
            {
                lines.push((node.path, node.sha));
            }
        }
        lines.sort_unstable();
        Ok(lines.into_iter().map(|(path, blob)| format!("{blob}  {path}\n")).collect())
    }

    /// Asks the forge about the repository; statuses that say "not now" are refusals.
    pub(crate) fn ask(&self, rest: &str, accept: &str, limit: u64) -> Result<Response, Refusal> {
        let slash = if rest.is_empty() { "" } else { "/" };
        let text = format!("{}/repos/{}{slash}{rest}", self.base, self.repository);
        let url = Url::parse(&text).map_err(|error| {
            Refusal::manifest(
                Diagnostic::error(
                    slug::SOURCE_REFERENCE,
                    format!("`{}` is no address: {error}", printable(&text, 300)),
                )
                .help("check `GITHUB_API_URL`"),
            )
        })?;
        let request = Request::get(url, limit).header("accept", accept).authorised(self.credential.as_ref());
        let response = ask(self.transport, &request).map_err(|fault| of_fault(&self.name(), &fault))?;
        if let Some(refusal) = of_status(&self.name(), &response) {
            return Err(refusal);
        }
        match response.status {
            401 => Err(Refusal::outside(
                Diagnostic::error(slug::ACCESS_DENIED, "the forge does not accept the token that was sent")
                    .why(format!("so nothing is known of `{}`", self.name()))
                    .help("renew `GITHUB_TOKEN`, or unset it to ask as nobody"),
            )),
            403 => Err(Refusal::outside(
                Diagnostic::error(slug::ACCESS_DENIED, format!("the forge does not show `{}`", self.name()))
                    .why(excerpt(&response.body))
                    .help("check what the token in `GITHUB_TOKEN` may read"),
            )),
            _ => Ok(response),
        }
    }

    /// Reads a JSON answer.
    pub(crate) fn json<'de, D: Deserialize<'de>>(&self, response: &'de Response) -> Result<D, Refusal> {
        let json = response.media_type().is_some_and(|kind| kind.ends_with("json"));
        if !response.is_success() || !json {
            let kind = printable(&response.media_type().unwrap_or_default(), 80);
            let why = format!("status {}, `{kind}`; {}", response.status, excerpt(&response.body));
            return Err(unexpected(&self.name(), response, why));
        }
        serde_json::from_slice(&response.body)
            .map_err(|error| unexpected(&self.name(), response, format!("it is no JSON of a forge: {error}")))
    }

    /// Returns what is resolved, as people know it.
    pub(crate) fn name(&self) -> String {
        format!("{}@{}:{}", self.repository, self.revision, self.path)
    }
}

/// What is asked for where no other form is.
pub(crate) const JSON: &str = "application/vnd.github+json";

fn is_repository(text: &str) -> bool {
    let part = |part: &str| {
        !part.is_empty()
            && part.len() <= 100
            && !matches!(part, "." | "..")
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
    };
    text.split_once('/').is_some_and(|(owner, name)| part(owner) && part(name))
}

fn is_path(path: &str) -> bool {
    path.is_empty()
        || (path.len() <= 1024
            && !path.contains('\\')
            && !path.chars().any(char::is_control)
            && path.trim_end_matches('/').split('/').all(|part| !matches!(part, "" | "." | "..")))
}

#[cfg(test)]
mod tests;
