//! HTTP: one exchange with timeouts, bounded retries, a bound per host and a cache that always asks.

use std::collections::BTreeMap;
use std::error::Error as _;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use tokio::runtime::Runtime;
use tokio::sync::Semaphore;
use upstream::secret::Credential;
use upstream::transport::{
    Fault, FaultKind, Kept, Method, Request, Response, Service, Transport, Value, ask, server,
};

use crate::cache::Answer;
use crate::{Cache, Credentials, Environment};

/// How patient and how greedy the client is.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Limits {
    /// How long a connection may take to stand.
    pub connect: Duration,
    /// How long the server may be silent in the middle of an answer.
    pub silence: Duration,
    /// How long one exchange may take, whatever trickles in.
    pub exchange: Duration,
    /// How often an exchange is tried that may succeed the next time.
    pub tries: u32,
    /// The wait before the second try; doubled before each further one.
    pub pause: Duration,
    /// The longest wait that a server may ask for; a longer one is reported instead.
    pub patience: Duration,
    /// How many exchanges with one host run at the same time.
    pub per_host: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            silence: Duration::from_secs(30),
            exchange: Duration::from_secs(120),
            tries: 4,
            pause: Duration::from_millis(500),
            patience: Duration::from_secs(60),
            per_host: 100,
        }
    }
}

/// A transport over real connections.
#[derive(Debug)]
pub struct Client {
    runtime: Runtime,
    http: reqwest::Client,
    limits: Limits,
    hosts: Mutex<BTreeMap<String, Arc<Semaphore>>>,
    credentials: Credentials,
    cache: Option<Cache>,
}

/// Headers of an answer that are kept in the cache with it.
const KEPT_HEADERS: [&str; 5] = ["content-type", "link", "docker-content-digest", "x-repo-commit", "etag"];

/// The most connections that one conversation opens at the same time.
const PARALLEL: usize = 16;

impl Client {
    /// Returns a client that reads proxies, certificates and logins from the environment.
    ///
    /// # Errors
    /// A proxy or a certificate that cannot be used, or no runtime.
    pub fn new(environment: &Environment, limits: Limits, cache: Option<Cache>) -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
        let http =
            client(environment, &limits).map_err(|why| io::Error::new(io::ErrorKind::InvalidInput, why))?;
        let credentials = Credentials::new(environment.clone());
        Ok(Self { runtime, http, limits, hosts: Mutex::default(), credentials, cache })
    }

    /// Returns the logins that this client shows.
    #[must_use]
    pub fn credentials(&self) -> &Credentials {
        &self.credentials
    }

    fn host(&self, name: String) -> Arc<Semaphore> {
        let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        hosts.entry(name).or_insert_with(|| Arc::new(Semaphore::new(self.limits.per_host.max(1)))).clone()
    }

    /// Tries an exchange until it gives an answer that will not change by itself.
    async fn exchange(&self, request: &Request) -> Result<Response, Fault> {
        let mut pause = self.limits.pause;
        let mut tried = 0;
        loop {
            tried += 1;
            let outcome = self.once(request).await;
            if tried >= self.limits.tries.max(1) {
                return outcome;
            }
            let wait = match &outcome {
                Ok(response) => match response.status {
                    408 | 500 | 502 | 504 => pause,
                    429 | 503 => asked_wait(response).unwrap_or(pause),
                    _ => return outcome,
                },
                Err(fault) => match fault.kind {
                    FaultKind::Connect | FaultKind::Timeout | FaultKind::Cut | FaultKind::Name => pause,
                    _ => return outcome,
                },
            };
            if wait > self.limits.patience {
                return outcome;
            }
            tracing::debug!(url = %request.url, ?wait, "asking again");
            tokio::time::sleep(wait).await;
            pause = pause.saturating_mul(2);
        }
    }

    /// Makes an exchange once.
    async fn once(&self, request: &Request) -> Result<Response, Fault> {
        let host = self.host(server(&request.url));
        let closed = |_| Fault::new(FaultKind::Local, &request.url, "the client is shutting down");
        let _place = host.acquire().await.map_err(closed)?;
        let exchange = self.read(request);
        match tokio::time::timeout(self.limits.exchange, exchange).await {
            Ok(outcome) => outcome,
            Err(_) => {
                let why = format!("no whole answer within {} s", self.limits.exchange.as_secs_f32());
                Err(Fault::new(FaultKind::Timeout, &request.url, why))
            }
        }
    }

    async fn read(&self, request: &Request) -> Result<Response, Fault> {
        let key = self.cache_key(request);
        let known = key.as_ref().and_then(|key| self.cache.as_ref()?.answer(key));
        let mut headers = headers(request)?;
        if let Some(known) = &known
            && let Ok(etag) = HeaderValue::from_str(&known.etag)
        {
            headers.insert(reqwest::header::IF_NONE_MATCH, etag);
        }
        let method = match request.method {
            Method::Head => reqwest::Method::HEAD,
            Method::Get => reqwest::Method::GET,
            Method::Post => reqwest::Method::POST,
        };
        let mut builder = self.http.request(method, request.url.clone()).headers(headers);
        if let Some(form) = &request.form {
            builder = builder
                .header(reqwest::header::CONTENT_TYPE, "application/x-www-form-urlencoded")
                .body(form.expose().to_owned());
        }
        let mut answer = builder.send().await.map_err(|error| fault(request, error))?;
        let status = answer.status().as_u16();
        let mut received: Vec<(String, String)> = answer
            .headers()
            .iter()
            .take(200)
            .map(|(name, value)| {
                (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned())
            })
            .collect();
        let too_large = |size: u64| {
            let why = format!(
                "an answer has at most {} bytes here, and this one has {size} or more",
                request.limit
            );
            Fault::new(FaultKind::TooLarge, &request.url, why)
        };
        // Whoever refuses explains itself; that must fit even where only a few bytes are expected.
        let limit = if (200..300).contains(&status) { request.limit } else { request.limit.max(64 << 10) };
        let mut body = Vec::new();
        if request.method != Method::Head {
            if let Some(size) = answer.content_length().filter(|&size| size > limit) {
                return Err(too_large(size));
            }
            while let Some(chunk) = answer.chunk().await.map_err(|error| fault(request, error))? {
                if (body.len() + chunk.len()) as u64 > limit {
                    return Err(too_large((body.len() + chunk.len()) as u64));
                }
                body.extend_from_slice(&chunk);
            }
        }
        if let (304, Some(known)) = (status, known) {
            received.retain(|(name, _)| !known.headers.iter().any(|(kept, _)| kept == name));
            received.extend(known.headers);
            return Ok(Response {
                status: 200,
                headers: received,
                body: known.body,
                url: request.url.clone(),
            });
        }
        let response = Response { status, headers: received, body, url: request.url.clone() };
        if let (Some(key), Some(cache)) = (key, &self.cache) {
            keep(cache, &key, &response);
        }
        Ok(response)
    }

    /// Returns the name under which an answer is kept; `None` for what must not be.
    fn cache_key(&self, request: &Request) -> Option<String> {
        let header = |wanted: &str| request.headers.iter().find(|(name, _)| *name == wanted);
        if request.method != Method::Get || self.cache.is_none() || header("cache-control").is_some() {
            return None;
        }
        let accept = match header("accept") {
            Some((_, Value::Plain(accept))) => accept.as_str(),
            _ => "",
        };
        let known = if header("authorization").is_some() { "known" } else { "nobody" };
        Some(format!("{}\n{accept}\n{known}", request.url))
    }
}

impl Transport for Client {
    fn send(&self, request: &Request) -> Result<Response, Fault> {
        self.runtime.block_on(self.exchange(request))
    }

    fn ask_all(&self, requests: &[Request]) -> Vec<Result<Response, Fault>> {
        if requests.len() < 2 {
            return requests.iter().map(|request| ask(self, request)).collect();
        }
        std::thread::scope(|scope| {
            let mut answers = Vec::with_capacity(requests.len());
            for some in requests.chunks(PARALLEL) {
                let running: Vec<_> =
                    some.iter().map(|request| scope.spawn(move || ask(self, request))).collect();
                for (thread, request) in running.into_iter().zip(some) {
                    let panicked = || Fault::new(FaultKind::Local, &request.url, "the exchange panicked");
                    answers.push(thread.join().unwrap_or_else(|_| Err(panicked())));
                }
            }
            answers
        })
    }

    fn credential(&self, service: Service<'_>) -> Option<Credential> {
        self.credentials.get(service)
    }

    fn kept(&self, name: &str) -> Option<Kept> {
        self.cache.as_ref()?.content(name)
    }

    fn keep(&self, name: &str, kept: &Kept) {
        if let Some(cache) = &self.cache {
            cache.keep_content(name, kept);
        }
    }
}

fn keep(cache: &Cache, key: &str, response: &Response) {
    let forbidden = response.header("cache-control").is_some_and(|control| control.contains("no-store"));
    let (200, Some(etag), false) = (response.status, response.header("etag"), forbidden) else { return };
    let headers =
        response.headers.iter().filter(|(name, _)| KEPT_HEADERS.contains(&name.as_str())).cloned().collect();
    cache.keep_answer(key, &Answer { etag: etag.to_owned(), headers, body: response.body.clone() });
}

type MakeProxy = fn(&str) -> reqwest::Result<reqwest::Proxy>;

/// Builds the client below: no redirects, no compression (digests are of the bytes received), and
/// proxies and certificates from our environment alone.
fn client(environment: &Environment, limits: &Limits) -> Result<reqwest::Client, String> {
    let mut builder = reqwest::Client::builder()
        .user_agent(concat!("recipec/", env!("CARGO_PKG_VERSION")))
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(limits.connect)
        .read_timeout(limits.silence)
        .no_proxy();
    let except = environment.first(&["NO_PROXY", "no_proxy"]).and_then(reqwest::NoProxy::from_string);
    let all = ["ALL_PROXY", "all_proxy"];
    let proxies: [(&[&str], MakeProxy); 3] = [
        (&["HTTPS_PROXY", "https_proxy"], |url| reqwest::Proxy::https(url)),
        // Upper case is left out: a web server hands a request's `Proxy` header on under that name.
        (&["http_proxy"], |url| reqwest::Proxy::http(url)),
        (&all, |url| reqwest::Proxy::all(url)),
    ];
    for (names, make) in proxies {
        if let Some(url) = environment.first(names) {
            let proxy =
                make(url).map_err(|_| format!("`{}` is no address of a proxy", names.join("` or `")))?;
            builder = builder.proxy(proxy.no_proxy(except.clone()));
        }
    }
    if let Some(path) = environment.get("SSL_CERT_FILE") {
        let pem = fs_err::read(path).map_err(|error| format!("`SSL_CERT_FILE`: {error}"))?;
        let certificates = reqwest::Certificate::from_pem_bundle(&pem)
            .map_err(|_| format!("`SSL_CERT_FILE`: `{path}` holds no certificates"))?;
        builder = builder.tls_certs_merge(certificates);
    }
    builder.build().map_err(|error| error.to_string())
}

fn headers(request: &Request) -> Result<HeaderMap, Fault> {
    let mut map = HeaderMap::new();
    for (name, value) in &request.headers {
        let (text, secret) = match value {
            Value::Plain(text) => (text.as_str(), false),
            Value::Secret(secret) => (secret.expose(), true),
        };
        let mut value = HeaderValue::from_str(text).map_err(|_| {
            Fault::new(FaultKind::Local, &request.url, format!("`{name}` cannot be sent: it is no header"))
        })?;
        value.set_sensitive(secret);
        map.append(HeaderName::from_static(name), value);
    }
    Ok(map)
}

/// Returns how long a server asks us to wait: `Retry-After` in seconds, or the hub's `RateLimit`.
fn asked_wait(response: &Response) -> Option<Duration> {
    if let Some(value) = response.header("retry-after") {
        // A date is not compared with our clock, which may be wrong: it counts as too long.
        return Some(value.trim().parse().map_or(Duration::MAX, Duration::from_secs));
    }
    let limit = response.header("ratelimit")?;
    let seconds = limit.split(';').find_map(|part| part.trim().strip_prefix("t="))?;
    seconds.parse::<u64>().ok().map(|seconds| Duration::from_secs(seconds.saturating_add(1)))
}

/// Words of the layers below for a connection that ended too early.
const CUT: [&str; 7] = ["reset", "closed", "eof", "incomplete", "broken pipe", "end of file", "aborted"];

/// Says what went wrong, without the address, which is known and could hold a token.
fn fault(request: &Request, error: reqwest::Error) -> Fault {
    let error = error.without_url();
    let mut texts = vec![error.to_string()];
    let mut cause = error.source();
    while let Some(inner) = cause {
        let text = inner.to_string();
        if texts.last() != Some(&text) && texts.len() < 8 {
            texts.push(text);
        }
        cause = inner.source();
    }
    let whole = texts.join(": ");
    let says = |words: &[&str]| words.iter().any(|word| whole.to_ascii_lowercase().contains(word));
    let kind = if error.is_timeout() || says(&["timed out"]) {
        FaultKind::Timeout
    } else if says(&[
        "certificate",
        "tls",
        "handshake",
        "received fatal alert",
        "invalidcontenttype",
        "corrupt message",
    ]) {
        FaultKind::Tls
    } else if says(&["dns error", "failed to lookup", "name or service not known"]) {
        FaultKind::Name
    } else if error.is_connect() {
        FaultKind::Connect
    } else if error.is_body() || error.is_decode() || says(&CUT) {
        FaultKind::Cut
    } else {
        FaultKind::Protocol
    };
    // The innermost cause says most; what stands around it repeats "error sending request".
    let detail = texts.last().cloned().unwrap_or_default();
    Fault::new(kind, &request.url, upstream::printable(&detail, 200))
}
