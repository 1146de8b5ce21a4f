//! Checkpoints and data sets on a model hub: from a revision to a commit, its files and its facts.
//!
//! One request resolves the revision, one for each thousand files lists the tree, and the small
//! files that state facts are read and checked against their git blob id. Weights are never
//! downloaded here: the hub publishes their sha256, for files in Xet storage too.

mod facts;
mod schemes;
mod tree;
mod weights;

use std::collections::BTreeMap;

use diag::{Diagnostic, slugs::upstream as slug};
use lock::pin::{File, Pin, Snapshot};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use url::Url;

use crate::endpoints::Endpoints;
use crate::refusal::{Facts, Refusal, Resolved, excerpt, of_fault, of_status, printable, unexpected};
use crate::secret::Credential;
use crate::transport::{Fault, Kept, Request, Response, Service, Transport, ask};

pub use facts::Documents;

/// What a repository holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Weights and their configuration.
    Model,
    /// Data, such as traces of an agentic client.
    Dataset,
}

impl Kind {
    /// Returns the word in addresses of the hub's interface.
    fn interface(self) -> &'static str {
        match self {
            Self::Model => "models",
            Self::Dataset => "datasets",
        }
    }

    /// Returns what stands before the repository in addresses of files.
    fn prefix(self) -> &'static str {
        match self {
            Self::Model => "",
            Self::Dataset => "datasets/",
        }
    }

    /// Returns the word for people.
    fn noun(self) -> &'static str {
        match self {
            Self::Model => "checkpoint",
            Self::Dataset => "data set",
        }
    }
}

/// The most bytes of the answer about a revision; the list of siblings makes it long.
const REVISION_LIMIT: u64 = 64 << 20;
/// The most bytes of a configuration file, a chat template or an index of shards.
const DOCUMENT_LIMIT: u64 = 64 << 20;

/// The most bytes of a list of an owner's repositories.
const LIST_LIMIT: u64 = 4 << 20;

/// Resolves a repository at a revision.
///
/// # Errors
/// [`Refusal`], with what to do, for every way in which it cannot be pinned.
pub fn resolve<T: Transport + ?Sized>(
    transport: &T,
    endpoints: &Endpoints,
    kind: Kind,
    repository: &str,
    revision: &str,
) -> Result<Resolved, Refusal> {
    if !is_repository(repository) || !is_revision(revision) {
        return Err(Refusal::manifest(
            Diagnostic::error(
                slug::HUB_REFERENCE,
                format!(
                    "`{}` at `{}` is no {} of a hub",
                    printable(repository, 200),
                    printable(revision, 100),
                    kind.noun()
                ),
            )
            .help("write the repository as `owner/name` and the revision as a branch, a tag or a commit"),
        ));
    }
    let base = endpoints.hub();
    let credential = transport.credential(Service::Hub);
    let hub = Hub { transport, base, kind, repository: repository.to_owned(), revision, credential };
    let commit = hub.commit()?;
    // A renamed repository answers by its present name from here on.
    let renamed = commit.name.clone().filter(|name| name != repository);
    let mut remarks: Vec<Diagnostic> = renamed.iter().map(|name| hub.renamed(name)).collect();
    remarks.extend(commit.successor.iter().map(|name| hub.superseded(name)));
    let hub = Hub { repository: renamed.clone().unwrap_or_else(|| repository.to_owned()), ..hub };
    let files = tree::list(&hub, &commit.sha)?;
    let facts = match kind {
        Kind::Dataset => Facts::None,
        Kind::Model => {
            weights::check(&hub, &files)?;
            let documents = hub.documents(&commit.sha, &files)?;
            let set = weights::examine(&hub, &files, &documents)?;
            remarks.extend(set.remarks);
            remarks.extend(documents.conflicts(repository));
            Facts::Checkpoint(Box::new(documents.facts(set.bytes)))
        }
    };
    let snapshot = Snapshot {
        commit: commit.sha,
        renamed,
        files: lock::files::digest(&files),
        count: files.len() as u64,
        bytes: files.iter().map(|file| file.size).fold(0, u64::saturating_add),
    };
    let pin = match kind {
        Kind::Model => Pin::Checkpoint(snapshot),
        Kind::Dataset => Pin::Dataset(snapshot),
    };
    Ok(Resolved { pin, files, facts, content: None, remarks })
}

/// Asks whether the commit of a pin is still there: owners rewrite history and delete repositories.
///
/// # Errors
/// [`Refusal`]: it is gone, or the hub could not be asked.
pub fn still_served<T: Transport + ?Sized>(
    transport: &T,
    endpoints: &Endpoints,
    kind: Kind,
    repository: &str,
    pin: &Snapshot,
) -> Result<(), Refusal> {
    let repository = pin.renamed.clone().unwrap_or_else(|| repository.to_owned());
    let credential = transport.credential(Service::Hub);
    let hub = Hub { transport, base: endpoints.hub(), kind, repository, revision: &pin.commit, credential };
    hub.commit().map(drop)
}

/// A conversation about one repository.
pub(crate) struct Hub<'a, T: Transport + ?Sized> {
    transport: &'a T,
    base: String,
    kind: Kind,
    repository: String,
    revision: &'a str,
    credential: Option<Credential>,
}

/// What a revision names.
struct Commit {
    sha: String,
    name: Option<String>,
    /// What the owner's card names in its place.
    successor: Option<String>,
}

impl<T: Transport + ?Sized> Hub<'_, T> {
    /// Asks which commit the revision is.
    fn commit(&self) -> Result<Commit, Refusal> {
        #[derive(Deserialize)]
        struct Answer {
            sha: Option<String>,
            id: Option<String>,
            #[serde(default)]
            disabled: bool,
            // Written by hand: any form that is not the documented one says nothing.
            #[serde(default, rename = "cardData")]
            card: serde_json::Value,
        }
        let kind = self.kind.interface();
        let url = self.url(&format!("api/{kind}/{}/revision/{}", self.repository, quote(self.revision)))?;
        let response = self.ask(url, REVISION_LIMIT).map_err(|refusal| self.with_similar(refusal))?;
        let answer: Answer = self.json(&response)?;
        if answer.disabled {
            return Err(self.disabled());
        }
        let Some(sha) = answer.sha.filter(|sha| is_commit(sha)) else {
            return Err(unexpected(
                &self.name(),
                &response,
                "a hub names a commit, and this answer does not",
            ));
        };
        if is_commit(self.revision) && sha != self.revision {
            let why = format!("commit {} was asked for, and the answer is about {sha}", self.revision);
            return Err(unexpected(&self.name(), &response, why));
        }
        let successor = answer.card.get("new_version").and_then(serde_json::Value::as_str);
        let successor = successor.filter(|name| is_repository(name) && *name != self.repository);
        Ok(Commit {
            sha,
            name: answer.id.filter(|id| is_repository(id)),
            successor: successor.map(str::to_owned),
        })
    }

    /// Adds names of the same owner that are like the one that is not there. What the hub says of
    /// them is a hint: if it says nothing, the refusal is as good without.
    fn with_similar(&self, mut refusal: Refusal) -> Refusal {
        #[derive(Deserialize)]
        struct Named {
            id: String,
        }
        let owner = self.repository.split_once('/').map(|(owner, _)| owner);
        let Some(owner) = owner.filter(|_| refusal.diagnostic.slug == slug::CHECKPOINT_NOT_FOUND) else {
            return refusal;
        };
        let kind = self.kind.interface();
        let listed: Option<Vec<Named>> = self
            .url(&format!("api/{kind}?author={}&limit=500", quote(owner)))
            .and_then(|url| self.ask(url, LIST_LIMIT))
            .and_then(|response| self.json(&response))
            .ok();
        let listed = listed.unwrap_or_default();
        let names = listed.iter().map(|named| named.id.as_str()).filter(|id| is_repository(id));
        let near = diag::nearest_all(&self.repository, names);
        if !near.is_empty() {
            let near: Vec<String> = near.iter().take(3).map(|name| format!("`{name}`")).collect();
            refusal.diagnostic.help.push(format!("`{owner}` has names like it: {}", near.join(", ")));
        }
        refusal
    }

    /// Reads the files that state facts.
    fn documents(&self, commit: &str, files: &[File]) -> Result<Documents, Refusal> {
        let find = |path: &str| files.iter().find(|file| file.path == path);
        let names = ["config.json", "hf_quant_config.json", "chat_template.jinja"];
        let mut wanted: Vec<&File> = names.iter().filter_map(|name| find(name)).collect();
        if find("chat_template.jinja").is_none() {
            // Older repositories keep the template in one of these.
            wanted.extend(find("chat_template.json").or_else(|| find("tokenizer_config.json")));
        }
        wanted.extend(weights::INDEXES.iter().filter_map(|name| find(name)));
        let mut texts = BTreeMap::new();
        for (file, body) in wanted.iter().zip(self.contents(commit, &wanted, DOCUMENT_LIMIT)?) {
            texts.insert(file.path.clone(), String::from_utf8_lossy(&body).into_owned());
        }
        Ok(Documents { texts })
    }

    /// Reads files of the tree and checks each against the id that the tree gives it. What an
    /// earlier run read under the same id is not fetched again.
    fn contents(&self, commit: &str, files: &[&File], limit: u64) -> Result<Vec<Vec<u8>>, Refusal> {
        let mut bodies: Vec<Option<Vec<u8>>> = files.iter().map(|file| self.kept(file)).collect();
        let mut requests = Vec::new();
        for (file, _) in files.iter().zip(&bodies).filter(|(_, body)| body.is_none()) {
            if file.size > limit {
                return Err(self.too_long(file, limit));
            }
            let prefix = self.kind.prefix();
            let path = format!("{prefix}{}/resolve/{commit}/{}", self.repository, quote_path(&file.path));
            // A byte more than the tree promises is too much already.
            requests.push(
                Request::get(self.url(&path)?, file.size)
                    .header("accept-encoding", "identity")
                    .authorised(self.credential.as_ref()),
            );
        }
        let mut answers = self.transport.ask_all(&requests).into_iter();
        for (file, body) in files.iter().zip(&mut bodies).filter(|(_, body)| body.is_none()) {
            let Some(answer) = answers.next() else { continue };
            *body = Some(self.content(answer, file)?);
        }
        Ok(bodies.into_iter().map(Option::unwrap_or_default).collect())
    }

    fn kept(&self, file: &File) -> Option<Vec<u8>> {
        let name = identity(file)?;
        let kept = self.transport.kept(&name)?;
        (identity_of(file, &kept.body) == name).then_some(kept.body)
    }

    fn content(&self, answer: Result<Response, Fault>, file: &File) -> Result<Vec<u8>, Refusal> {
        let response = answer.map_err(|fault| of_fault(&self.name(), &fault))?;
        let response = self.judged(response)?;
        let Some(named) = identity(file) else {
            let why = format!("the tree gives `{}` no id", file.path);
            return Err(unexpected(&self.name(), &response, why));
        };
        let received = identity_of(file, &response.body);
        if named != received {
            let (path, name) = (&file.path, self.name());
            return Err(Refusal::outside(
                Diagnostic::error(
                    slug::DIGEST_MISMATCH,
                    format!("what the hub sent for `{path}` of `{name}` is not what its tree names"),
                )
                .why(format!("the tree names {named}"))
                .why(format!("the bytes received have {received}"))
                .help("do not use this checkpoint from this hub or mirror; tell whoever runs it"),
            ));
        }
        let kept = Kept { media_type: String::new(), body: response.body };
        self.transport.keep(&named, &kept);
        Ok(kept.body)
    }

    fn too_long(&self, file: &File, limit: u64) -> Refusal {
        let (path, name) = (&file.path, self.name());
        Refusal::outside(
            Diagnostic::error(
                slug::ANSWER_TOO_LARGE,
                format!("`{path}` of `{name}` is too long to be what its name says"),
            )
            .why(format!("the tree gives it {} bytes; {limit} are read", file.size))
            .help("check that this is the repository you mean"),
        )
    }

    /// Asks the hub and refuses what is no success.
    pub(crate) fn ask(&self, url: Url, limit: u64) -> Result<Response, Refusal> {
        let request = Request::get(url, limit).authorised(self.credential.as_ref());
        let response = ask(self.transport, &request).map_err(|fault| of_fault(&self.name(), &fault))?;
        self.judged(response)
    }

    /// Reads an answer as JSON, and as nothing else: a login page is no answer.
    pub(crate) fn json<D: DeserializeOwned>(&self, response: &Response) -> Result<D, Refusal> {
        match response.media_type().as_deref() {
            Some("application/json") => {}
            other => {
                let why = format!(
                    "a hub answers with JSON, and this is `{}`",
                    printable(other.unwrap_or("nothing"), 80)
                );
                return Err(unexpected(&self.name(), response, why));
            }
        }
        serde_json::from_slice(&response.body)
            .map_err(|error| unexpected(&self.name(), response, format!("it is no JSON of a hub: {error}")))
    }

    /// Turns what the hub says with a status and two headers into refusals.
    fn judged(&self, response: Response) -> Result<Response, Refusal> {
        if let Some(refusal) = of_status(&self.name(), &response) {
            return Err(refusal);
        }
        if response.is_success() {
            return Ok(response);
        }
        let noun = self.kind.noun();
        let (repository, revision) = (&self.repository, self.revision);
        let code = response.header("x-error-code").unwrap_or_default();
        let message = response.header("x-error-message").unwrap_or_default();
        let refuse = |slug, message: String| Refusal::outside(Diagnostic::error(slug, message));
        let mut refusal = match (response.status, code) {
            (404, "RevisionNotFound") => {
                let mut refusal = refuse(
                    slug::REVISION_NOT_FOUND,
                    format!("{noun} `{repository}` has no revision `{revision}`"),
                );
                let diagnostic = &mut refusal.diagnostic;
                diagnostic.notes.push("the newest revision is never taken in its place".to_owned());
                diagnostic
                    .help
                    .push("write a branch, a tag or a commit that the hub shows for it".to_owned());
                refusal
            }
            (404, "EntryNotFound") => refuse(
                slug::UNEXPECTED_ANSWER,
                format!("a file that the tree of `{repository}` lists is not there"),
            ),
            (401 | 403, "GatedRepo") => {
                let mut refusal = refuse(slug::GATED, format!("{noun} `{repository}` is gated"));
                let (why, help) = if response.status == 401 {
                    (
                        "its owner lets known users in alone, and no token was sent",
                        "ask for access on its page, then set `HF_TOKEN`",
                    )
                } else {
                    (
                        "the token that was sent has no access to it",
                        "ask for access on its page with the account of the token",
                    )
                };
                refusal.diagnostic.notes.push(why.to_owned());
                refusal.diagnostic.help.push(help.to_owned());
                refusal
            }
            (401, _) if message.to_ascii_lowercase().contains("invalid credentials") => {
                let mut refusal =
                    refuse(slug::ACCESS_DENIED, "the hub does not accept the token that was sent".to_owned());
                refusal.diagnostic.notes.push(format!("so nothing is known of `{repository}`"));
                refusal
                    .diagnostic
                    .help
                    .push("renew `HF_TOKEN` or the token file, or unset it to ask as nobody".to_owned());
                refusal
            }
            (403, _) if message.to_ascii_lowercase().contains("disabled") => self.disabled(),
            (401 | 403 | 404, _) => {
                let mut refusal =
                    refuse(slug::CHECKPOINT_NOT_FOUND, format!("the hub shows no {noun} `{repository}`"));
                let why = if self.credential.is_some() {
                    "it does not exist, or the token that was sent may not see it"
                } else {
                    "it does not exist, or it is private: without a token the hub answers the same for both"
                };
                refusal.diagnostic.notes.push(why.to_owned());
                refusal
                    .diagnostic
                    .help
                    .push("check the name on the hub; set `HF_TOKEN` if it is private".to_owned());
                refusal
            }
            _ => unexpected(
                &self.name(),
                &response,
                format!("status {}; {}", response.status, excerpt(&response.body)),
            ),
        };
        if !message.is_empty() {
            refusal.diagnostic.notes.push(format!("the hub says: {}", printable(message, 200)));
        }
        Err(refusal)
    }

    fn disabled(&self) -> Refusal {
        Refusal::outside(
            Diagnostic::error(
                slug::CHECKPOINT_DISABLED,
                format!("the hub has disabled `{}`", self.repository),
            )
            .why("nobody can download it any more")
            .help("take another checkpoint, or one that you have by its lock"),
        )
    }

    fn superseded(&self, name: &str) -> Diagnostic {
        let noun = self.kind.noun();
        Diagnostic::warning(
            slug::SUPERSEDED,
            format!("the owner of {noun} `{}` names `{name}` in its place", self.repository),
        )
        .why("its card says so (`new_version`); what is pinned here is the older one")
        .help(format!("write `{name}` in the manifest if the newer {noun} is meant"))
    }

    fn renamed(&self, name: &str) -> Diagnostic {
        Diagnostic::warning(
            slug::RENAMED,
            format!("{} `{}` is called `{name}` now", self.kind.noun(), self.repository),
        )
        .why("the hub redirects for now; whoever takes the old name takes the address with it")
        .help(format!("write `{name}` in the manifest"))
    }

    /// Returns what is resolved, as people know it.
    pub(crate) fn name(&self) -> String {
        format!("{}@{}", self.repository, self.revision)
    }

    fn url(&self, path: &str) -> Result<Url, Refusal> {
        let text = format!("{}/{path}", self.base);
        Url::parse(&text).map_err(|error| {
            Refusal::manifest(
                Diagnostic::error(slug::HUB_REFERENCE, format!("`{text}` is no address: {error}"))
                    .help("check `HF_ENDPOINT`"),
            )
        })
    }
}

/// Returns the name by which the tree identifies a file's content.
fn identity(file: &File) -> Option<String> {
    file.sha256.as_ref().map(ToString::to_string).or_else(|| Some(format!("blob {}", file.blob.as_ref()?)))
}

/// Returns the name of the same kind that these bytes have.
fn identity_of(file: &File, bytes: &[u8]) -> String {
    match file.sha256 {
        Some(_) => lock::Digest::of(bytes).to_string(),
        None => format!("blob {}", crate::git_blob_id(bytes)),
    }
}

/// Returns true for 40 hexadecimal characters.
pub(crate) fn is_commit(text: &str) -> bool {
    text.len() == 40 && text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

/// `owner/name`, or the bare name of the hub's oldest repositories.
fn is_repository(text: &str) -> bool {
    let part = |part: &str| {
        !part.is_empty()
            && part.len() <= 96
            && !part.starts_with(['.', '-'])
            && !part.contains("..")
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
    };
    match text.split_once('/') {
        Some((owner, name)) => part(owner) && part(name),
        None => part(text),
    }
}

pub(crate) fn is_revision(text: &str) -> bool {
    (1..=200).contains(&text.len())
        && !text.contains("..")
        && !text.starts_with(['/', '-'])
        && text.bytes().all(|byte| {
            byte.is_ascii_graphic()
                && !matches!(byte, b'\\' | b'?' | b'#' | b'%' | b':' | b'*' | b'[' | b'^' | b'~')
        })
}

/// Percent-encodes everything but unreserved characters; `/` too.
pub(crate) fn quote(text: &str) -> String {
    text.bytes()
        .map(|byte| match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                char::from(byte).to_string()
            }
            other => format!("%{other:02X}"),
        })
        .collect()
}

pub(crate) fn quote_path(path: &str) -> String {
    path.split('/').map(quote).collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests;
