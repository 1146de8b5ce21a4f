//! Mirrors: a folder that answers as the servers would.
//!
//! ```text
//! DIR/oci/                                an OCI image layout; `skopeo copy --all --preserve-digests docker://X oci:DIR/oci:X`
//!         index.json                      each image under `org.opencontainers.image.ref.name`: its full name,
//!                                         such as `docker.io/lmsysorg/sglang:v0.5.14-cu130`
//!         blobs/sha256/<hex>              indexes, manifests and configs; layers are not needed to lock
//! DIR/hub/                                the hub client's own cache layout (`HF_HUB_CACHE=DIR/hub hf download …`)
//!         models--<owner>--<name>/        `datasets--…` for data sets
//!             refs/<revision>             the commit that a branch or tag names
//!             trees/<commit>.json         path, size, git blob id and sha256 of every file, as the client keeps it
//!             snapshots/<commit>/<path>   the small files; weights are not needed to lock
//! DIR/git/<owner>/<name>/
//!             refs/<revision>             the commit that a branch or tag names
//!             <commit>/<path>             files as they were at that commit
//!             pulls/<commit>.json         what the forge answers about the pull requests of a commit, if kept
//! DIR/git/<owner>/<name>.git              a clone in place of the folder above; `host` reads it with git
//! ```
//!
//! The conversations are the ones that servers have: digests are computed from the bytes here too,
//! so a mirror that was tampered with is refused like a server that lies. A mirror is asked for
//! nothing but what is in it; whatever is missing is reported as missing from the mirror.

mod forge;
mod hub;
mod registry;

use url::Url;

use crate::secret::Credential;
use crate::transport::{Fault, FaultKind, Method, Request, Response, Service, Transport};

/// Where a mirror's files come from; paths are relative, with `/`.
pub trait Store: Sync {
    /// Returns the bytes of a file; `None` if there is none.
    ///
    /// # Errors
    /// Why it cannot be read, in the words of the system.
    fn read(&self, path: &str, limit: u64) -> Result<Option<Vec<u8>>, String>;

    /// Returns the names in a folder; `None` if there is none.
    ///
    /// # Errors
    /// Why it cannot be read, in the words of the system.
    fn list(&self, path: &str) -> Result<Option<Vec<String>>, String>;
}

/// A transport that a folder answers.
#[derive(Debug)]
pub struct Mirror<S: Store> {
    store: S,
}

impl<S: Store> Mirror<S> {
    /// Returns the mirror of a store.
    pub fn new(store: S) -> Self {
        Self { store }
    }
}

impl<S: Store> Transport for Mirror<S> {
    fn send(&self, request: &Request) -> Result<Response, Fault> {
        let local = |why: String| Fault::new(FaultKind::Local, &request.url, why);
        let path = decode(request.url.path()).ok_or_else(|| local("the path is no text".to_owned()))?;
        let answer = if let Some(rest) = path.strip_prefix("/v2/") {
            registry::answer(&self.store, &request.url, rest)
        } else if let Some(rest) = path.strip_prefix("/repos/") {
            forge::answer(&self.store, request, rest)
        } else {
            hub::answer(&self.store, &path)
        };
        let mut response = match answer.map_err(local)? {
            Answer::Found(media_type, body) => reply(&request.url, 200, media_type, body),
            Answer::Absent(code) => {
                let mut response = reply(&request.url, 404, "application/json".to_owned(), b"{}".to_vec());
                response.headers.push(("x-error-code".to_owned(), code.to_owned()));
                response
            }
            Answer::NotMirrored(why) => return Err(Fault::new(FaultKind::NotMirrored, &request.url, why)),
        };
        if request.method == Method::Head {
            response.body.clear();
        } else if response.body.len() as u64 > request.limit {
            let why = format!("the file has more than the {} bytes that were expected", request.limit);
            return Err(Fault::new(FaultKind::TooLarge, &request.url, why));
        }
        Ok(response)
    }

    fn credential(&self, _: Service<'_>) -> Option<Credential> {
        None
    }
}

/// What a folder answers.
enum Answer {
    /// Media type and body.
    Found(String, Vec<u8>),
    /// The mirror knows the thing and that it has no such part; with the hub's code for it.
    Absent(&'static str),
    /// The mirror does not know the thing.
    NotMirrored(String),
}

/// The most bytes that are read of any file of a mirror.
const LIMIT: u64 = 64 << 20;

fn reply(url: &Url, status: u16, media_type: String, body: Vec<u8>) -> Response {
    Response { status, headers: vec![("content-type".to_owned(), media_type)], body, url: url.clone() }
}

/// Decodes `%2F` and its like; `None` if the result is no UTF-8 or leads elsewhere.
fn decode(path: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let digits = [rest.next()?, rest.next()?];
            bytes.push(u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    let text = String::from_utf8(bytes).ok()?;
    let safe = text.split('/').all(|part| !matches!(part, "." | "..")) && !text.contains(['\\', '\0']);
    safe.then_some(text)
}
