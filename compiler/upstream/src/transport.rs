//! The door between a conversation and the world: one request, one answer.
//!
//! A [`Transport`] makes exactly one exchange: it does not follow redirects and adds no credential
//! of its own. Waiting, retrying, proxies and connections are its business; what an answer means is
//! not. [`ask`] follows redirects on top of it, by rules that every transport shares.

use std::fmt;

use url::Url;

use crate::secret::{Credential, Secret};

/// How many redirects [`ask`] follows. Blobs need one, renamed repositories one more.
pub const MAX_REDIRECTS: usize = 5;

/// What to do with the resource.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Method {
    /// Fetch headers alone.
    Head,
    /// Fetch the body.
    Get,
    /// Send a form; used for tokens only.
    Post,
}

/// The value of a header.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Value {
    /// Anyone may see it.
    Plain(String),
    /// A credential.
    Secret(Secret),
}

/// One request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Request {
    /// What to do.
    pub method: Method,
    /// Where; no user or password is ever part of it.
    pub url: Url,
    /// Headers with lowercase names.
    pub headers: Vec<(&'static str, Value)>,
    /// The body of a form; it may hold a credential.
    pub form: Option<Secret>,
    /// The most bytes of body to accept; more is [`FaultKind::TooLarge`].
    pub limit: u64,
}

impl Request {
    /// Returns a GET that accepts at most `limit` bytes.
    #[must_use]
    pub fn get(url: Url, limit: u64) -> Self {
        Self { method: Method::Get, url, headers: Vec::new(), form: None, limit }
    }

    /// Returns a HEAD.
    #[must_use]
    pub fn head(url: Url) -> Self {
        Self { method: Method::Head, url, headers: Vec::new(), form: None, limit: 0 }
    }

    /// Adds a header that anyone may see.
    #[must_use]
    pub fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, Value::Plain(value.into())));
        self
    }

    /// Adds the credential, if there is one. An identity token is never sent as it is.
    #[must_use]
    pub fn authorised(mut self, credential: Option<&Credential>) -> Self {
        let value = match credential {
            Some(Credential::Basic { user, password }) => {
                let pair = format!("{user}:{}", password.expose());
                format!("Basic {}", crate::secret::base64_encode(pair.as_bytes()))
            }
            Some(Credential::Bearer(token)) => format!("Bearer {}", token.expose()),
            Some(Credential::Identity(_)) | None => return self,
        };
        self.headers.push(("authorization", Value::Secret(value.into())));
        self
    }
}

/// One answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Response {
    /// The status.
    pub status: u16,
    /// Headers with lowercase names, in the order received.
    pub headers: Vec<(String, String)>,
    /// The body, whole; empty for HEAD.
    pub body: Vec<u8>,
    /// Where the answer came from, which differs from what was asked after a redirect.
    pub url: Url,
}

impl Response {
    /// Returns the first value of a header.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Returns the media type in lowercase and without its parameters.
    #[must_use]
    pub fn media_type(&self) -> Option<String> {
        let value = self.header("content-type")?;
        Some(value.split(';').next().unwrap_or(value).trim().to_ascii_lowercase())
    }

    /// Returns true for 2xx.
    #[must_use]
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }
}

/// Why no answer came.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FaultKind {
    /// `--offline`: nothing was asked.
    Offline,
    /// A mirror does not hold it.
    NotMirrored,
    /// The name does not resolve.
    Name,
    /// Nobody listens there.
    Connect,
    /// No answer in time.
    Timeout,
    /// The connection ended before the answer did.
    Cut,
    /// The certificate is not valid, or there is no common protocol.
    Tls,
    /// The body is longer than the request accepts.
    TooLarge,
    /// Too many redirects.
    RedirectLoop,
    /// A redirect from https to http, or to something that is neither.
    RedirectDowngrade,
    /// What came is no HTTP.
    Protocol,
    /// The local side failed: a cache or a mirror folder cannot be read.
    Local,
}

/// An exchange that gave no answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    /// What happened.
    pub kind: FaultKind,
    /// Which server (`host:port`), for people.
    pub server: String,
    /// What the machinery below said, without any credential.
    pub detail: String,
}

impl Fault {
    /// Returns a fault of an exchange with the server of `url`.
    pub fn new(kind: FaultKind, url: &Url, detail: impl Into<String>) -> Self {
        Self { kind, server: server(url), detail: detail.into() }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.server, self.detail)
    }
}

impl std::error::Error for Fault {}

/// Who asks for a credential.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Service<'a> {
    /// A registry, by the name that references use (`docker.io`, `nvcr.io`).
    Registry(&'a str),
    /// A model hub.
    Hub,
    /// A git forge.
    Forge,
}

/// What conversations speak through.
pub trait Transport: Sync {
    /// Makes one exchange. Redirects are answers like any other.
    ///
    /// # Errors
    /// [`Fault`] if there is no whole answer; a status is never an error here.
    fn send(&self, request: &Request) -> Result<Response, Fault>;

    /// Makes several exchanges that do not depend on each other; answers are in the order of the
    /// requests. A transport that can do so makes them at the same time.
    fn ask_all(&self, requests: &[Request]) -> Vec<Result<Response, Fault>> {
        requests.iter().map(|request| ask(self, request)).collect()
    }

    /// Returns the credential for a service, if the user has one.
    fn credential(&self, service: Service<'_>) -> Option<Credential>;

    /// Returns content that was kept under the name of its bytes (`sha256:…`, `blob …`), so that it
    /// need not be fetched again: registries count fetches against a limit, and looking (HEAD) not.
    /// Whoever asks checks that the bytes have that name.
    fn kept(&self, name: &str) -> Option<Kept> {
        let _ = name;
        None
    }

    /// Keeps content under the name of its bytes, for later runs.
    fn keep(&self, name: &str, kept: &Kept) {
        let _ = (name, kept);
    }
}

/// Content that a cache holds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Kept {
    /// The media type that came with it.
    pub media_type: String,
    /// The bytes.
    pub body: Vec<u8>,
}

/// Makes one exchange and follows redirects: at most [`MAX_REDIRECTS`], never from https to http,
/// and never with a credential to another origin.
///
/// # Errors
/// [`Fault`] of the transport, or of a redirect that is not followed.
pub fn ask<T: Transport + ?Sized>(transport: &T, request: &Request) -> Result<Response, Fault> {
    let mut request = request.clone();
    for _ in 0..=MAX_REDIRECTS {
        let response = transport.send(&request)?;
        let Some(target) = redirect(&request, &response)? else { return Ok(response) };
        if target.origin() != request.url.origin() {
            request.headers.retain(|(_, value)| matches!(value, Value::Plain(_)));
        }
        request.url = target;
    }
    Err(Fault::new(
        FaultKind::RedirectLoop,
        &request.url,
        format!("more than {MAX_REDIRECTS} redirects, one after the other"),
    ))
}

/// Returns where an answer sends us, if it does.
fn redirect(request: &Request, response: &Response) -> Result<Option<Url>, Fault> {
    if !matches!(response.status, 301 | 302 | 303 | 307 | 308) || request.method == Method::Post {
        return Ok(None);
    }
    let Some(location) = response.header("location") else { return Ok(None) };
    let refuse = |detail: String| Err(Fault::new(FaultKind::RedirectDowngrade, &request.url, detail));
    let Ok(mut target) = request.url.join(location) else {
        return refuse("it redirects to what is no address".to_owned());
    };
    // An address may carry a user and a password; they are not ours to send.
    let _ = target.set_username("");
    let _ = target.set_password(None);
    match (request.url.scheme(), target.scheme()) {
        (_, "https") | ("http", "http") => Ok(Some(target)),
        (_, scheme) => refuse(format!("it redirects from https to {scheme}, at {}", server(&target))),
    }
}

/// Returns `host:port`, the port only where it is not the scheme's own.
#[must_use]
pub fn server(url: &Url) -> String {
    match (url.host_str(), url.port()) {
        (Some(host), Some(port)) => format!("{host}:{port}"),
        (Some(host), None) => host.to_owned(),
        (None, _) => url.scheme().to_owned(),
    }
}

#[cfg(test)]
mod tests;
