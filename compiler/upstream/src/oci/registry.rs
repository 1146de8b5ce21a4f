//! One repository of one registry: requests with the authorisation that it asks for.

use std::sync::{MutexGuard, PoisonError};

use diag::{Diagnostic, slugs::upstream as slug};
use serde::Deserialize;
use url::Url;

use super::challenge::Challenge;
use super::manifest::{MANIFEST_TYPES, error_codes};
use super::reference::Reference;
use crate::endpoints::{Access, Endpoints, Slot, Tokens, is_private};
use crate::refusal::{Refusal, excerpt, of_fault, of_status, unexpected};
use crate::secret::{Credential, Secret};
use crate::transport::{Method, Request, Response, Service, Transport, ask, server};

/// The most bytes of a manifest or an index; containerd and crane draw the line nearby.
const MANIFEST_LIMIT: u64 = 4 << 20;
/// The most bytes of an image config.
const CONFIG_LIMIT: u64 = 8 << 20;
/// The most bytes of a token or of a list of tags.
const SMALL_LIMIT: u64 = 4 << 20;

/// A conversation with one repository.
pub(crate) struct Registry<'a, T: Transport + ?Sized> {
    transport: &'a T,
    base: Url,
    reference: &'a Reference,
    token: Slot,
    /// What is being resolved, as people know it.
    want: &'a str,
}

impl<'a, T: Transport + ?Sized> Registry<'a, T> {
    pub(crate) fn new(
        transport: &'a T,
        endpoints: &Endpoints,
        tokens: &Tokens,
        reference: &'a Reference,
        want: &'a str,
    ) -> Result<Self, Refusal> {
        let base = endpoints.registry(reference.registry()).ok_or_else(|| {
            Refusal::manifest(Diagnostic::error(
                slug::IMAGE_REFERENCE,
                format!("`{}` is no address of a registry", reference.registry()),
            ))
        })?;
        let token = tokens.slot(reference.registry(), reference.repository());
        Ok(Self { transport, base, reference, token, want })
    }

    /// Asks for a manifest by tag or digest.
    pub(crate) fn manifest(&self, method: Method, name: &str) -> Result<Response, Refusal> {
        self.authorised(&self.manifest_request(method, name)?)
    }

    /// Asks for several manifests by digest; the repository has answered before, so that the
    /// authorisation is there.
    pub(crate) fn manifests(
        &self,
        asked: &[(Method, String)],
    ) -> Result<Vec<Result<Response, Refusal>>, Refusal> {
        let requests: Vec<Request> = asked
            .iter()
            .map(|(method, name)| self.manifest_request(*method, name))
            .collect::<Result<_, _>>()?;
        let known = self.access().clone();
        let authorised: Vec<Request> =
            requests.iter().map(|request| request.clone().authorised(known.credential())).collect();
        let answers = self.transport.ask_all(&authorised);
        let judged = answers
            .into_iter()
            .zip(&requests)
            .map(|(answer, request)| match answer {
                // A token may end between two requests; the slow way obtains a new one.
                Ok(response) if response.status == 401 => self.authorised(request),
                Ok(response) => of_status(self.want, &response).map_or(Ok(response), Err),
                Err(fault) => Err(of_fault(self.want, &fault)),
            })
            .collect();
        Ok(judged)
    }

    /// Returns what the conversation goes through.
    pub(crate) fn transport(&self) -> &'a T {
        self.transport
    }

    /// Asks for an image config by digest.
    pub(crate) fn config(&self, digest: &str) -> Result<Response, Refusal> {
        let url = self.url(&format!("blobs/{digest}"))?;
        self.authorised(&Request::get(url, CONFIG_LIMIT))
    }

    /// Asks for the tags; `None` where the registry does not say.
    pub(crate) fn tags(&self) -> Result<Option<Vec<String>>, Refusal> {
        #[derive(Deserialize)]
        struct Tags {
            tags: Option<Vec<String>>,
        }
        let response = self.authorised(&Request::get(self.url("tags/list")?, SMALL_LIMIT))?;
        if response.status == 404 {
            return Ok(None);
        }
        let tags: Option<Tags> = serde_json::from_slice(&response.body).ok();
        let mut tags = tags.and_then(|it| it.tags).unwrap_or_default();
        tags.retain(|tag| tag.len() <= 128 && tag.chars().all(|c| c.is_ascii_graphic()));
        tags.sort_unstable();
        Ok(Some(tags))
    }

    fn manifest_request(&self, method: Method, name: &str) -> Result<Request, Refusal> {
        let url = self.url(&format!("manifests/{name}"))?;
        let request = Request { method, ..Request::get(url, MANIFEST_LIMIT) };
        Ok(request.header("accept", MANIFEST_TYPES.join(", ")))
    }

    fn url(&self, rest: &str) -> Result<Url, Refusal> {
        let text =
            format!("{}/v2/{}/{rest}", self.base.as_str().trim_end_matches('/'), self.reference.repository());
        Url::parse(&text).map_err(|error| {
            Refusal::manifest(Diagnostic::error(
                slug::IMAGE_REFERENCE,
                format!("`{text}` is no address: {error}"),
            ))
        })
    }

    /// Makes a request, with a token or a password if the registry asks for one.
    fn authorised(&self, request: &Request) -> Result<Response, Refusal> {
        let mut slot = self.access();
        let known = slot.clone();
        let first = known == Access::Unknown;
        // Whoever comes first keeps the others waiting, so that a repository is asked once who may
        // see it. If that fails, the others ask for themselves and at the same time.
        if first {
            *slot = Access::Open;
        }
        let waiting = first.then_some(slot);
        let response = self.ask(&request.clone().authorised(known.credential()))?;
        if response.status != 401 || response.url.origin() != request.url.origin() {
            drop(waiting);
            return self.judged(response);
        }
        let mut slot = waiting.unwrap_or_else(|| self.access());
        // Someone else may have found it out in the meantime.
        if first || *slot == known {
            *slot = Access::Known(self.obtain(&response)?);
        }
        let fresh = slot.clone();
        drop(slot);
        let response = self.ask(&request.clone().authorised(fresh.credential()))?;
        // Who is refused with a login learns something else than who is refused without one.
        let login = self.transport.credential(Service::Registry(self.reference.registry())).is_some();
        match response.status {
            401 | 403 if login => {
                Err(self.denied(Some(&response), "it refuses the login that is configured for it"))
            }
            _ => self.judged(response),
        }
    }

    fn access(&self) -> MutexGuard<'_, Access> {
        self.token.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ask(&self, request: &Request) -> Result<Response, Refusal> {
        ask(self.transport, request).map_err(|fault| of_fault(self.want, &fault))
    }

    /// Turns the statuses that mean the same for every request of a registry into refusals.
    fn judged(&self, response: Response) -> Result<Response, Refusal> {
        if let Some(refusal) = of_status(self.want, &response) {
            return Err(refusal);
        }
        match response.status {
            401 | 403 => Err(self.denied(Some(&response), "the registry refused the request")),
            _ => Ok(response),
        }
    }

    /// Obtains what a 401 asks for.
    fn obtain(&self, response: &Response) -> Result<Credential, Refusal> {
        let challenges = response.headers.iter().filter(|(name, _)| name == "www-authenticate");
        let challenge = challenges.filter_map(|(_, value)| Challenge::parse(value)).next();
        let credential = self.transport.credential(Service::Registry(self.reference.registry()));
        match challenge {
            None => Err(self.denied(Some(response), "it wants a login of a kind that is not known here")),
            Some(Challenge::Basic) => match credential {
                Some(basic @ Credential::Basic { .. }) => Ok(basic),
                _ => Err(self.denied(None, "it wants a user name and a password, and none is configured")),
            },
            Some(Challenge::Bearer { realm, service, scope, .. }) => {
                if let Some(token @ Credential::Bearer(_)) = credential {
                    return Ok(token);
                }
                self.token(&realm, service, scope, credential.as_ref())
            }
        }
    }

    /// Asks a token server.
    fn token(
        &self,
        realm: &str,
        service: Option<String>,
        scope: Option<String>,
        credential: Option<&Credential>,
    ) -> Result<Credential, Refusal> {
        let mut url = self.realm(realm)?;
        let service = service.unwrap_or_else(|| server(&self.base));
        let scope = scope.unwrap_or_else(|| format!("repository:{}:pull", self.reference.repository()));
        let mut response = None;
        if let Some(Credential::Identity(identity)) = credential {
            let form = url::form_urlencoded::Serializer::new(String::new())
                .append_pair("grant_type", "refresh_token")
                .append_pair("service", &service)
                .append_pair("client_id", "recipec")
                .append_pair("scope", &scope)
                .append_pair("refresh_token", identity.expose())
                .finish();
            let request = Request {
                method: Method::Post,
                form: Some(Secret::from(form)),
                ..Request::get(url.clone(), SMALL_LIMIT)
            };
            let answer = self.ask(&request)?;
            // Token servers that know no refresh tokens answer so; the older way is tried then.
            if !matches!(answer.status, 404 | 405) {
                response = Some(answer);
            }
        }
        let response = match response {
            Some(response) => response,
            None => {
                url.query_pairs_mut().append_pair("service", &service).append_pair("scope", &scope);
                // Nobody keeps a token: `no-store` says so to our own cache as well.
                let request = Request::get(url, SMALL_LIMIT).header("cache-control", "no-store");
                self.ask(&request.authorised(credential))?
            }
        };
        if let Some(refusal) = of_status(self.want, &response) {
            return Err(refusal);
        }
        if !response.is_success() {
            return Err(self.denied(Some(&response), "its token server refused"));
        }
        #[derive(Deserialize)]
        struct Answer {
            token: Option<String>,
            access_token: Option<String>,
        }
        let answer: Answer = serde_json::from_slice(&response.body).map_err(|error| {
            unexpected(self.want, &response, format!("a token server answers with JSON: {error}"))
        })?;
        match answer.token.or(answer.access_token) {
            Some(token) if is_token(&token) => Ok(Credential::Bearer(Secret::from(token))),
            _ => Err(unexpected(self.want, &response, "there is no token in the token server's answer")),
        }
    }

    /// Checks where a registry sends us for a token: over https unless the registry itself speaks
    /// http, and not to a private number unless the registry has one.
    fn realm(&self, realm: &str) -> Result<Url, Refusal> {
        let refuse = |why: &str| {
            Refusal::outside(
                Diagnostic::error(
                    slug::REDIRECT_REFUSED,
                    format!("`{}` sends us to a token server that is not asked", self.reference.registry()),
                )
                .why(format!("`{}`: {why}", crate::refusal::printable(realm, 200)))
                .help("check that the registry is the one you mean"),
            )
        };
        let mut url = Url::parse(realm).map_err(|_| refuse("it is no address"))?;
        let _ = url.set_username("");
        let _ = url.set_password(None);
        match url.scheme() {
            "https" => {}
            "http" if self.base.scheme() == "http" => {}
            _ => return Err(refuse("it does not speak https")),
        }
        if is_private(&url) && !is_private(&self.base) {
            return Err(refuse("it is a private address, and the registry's is public"));
        }
        Ok(url)
    }

    fn denied(&self, response: Option<&Response>, why: &str) -> Refusal {
        let registry = self.reference.registry();
        let mut diagnostic = Diagnostic::error(
            slug::ACCESS_DENIED,
            format!("`{registry}` does not show `{}`", self.reference.repository()),
        )
        .why(why);
        if let Some(response) = response {
            let codes = error_codes(&response.body);
            diagnostic = diagnostic.why(if codes.is_empty() {
                format!("status {}; {}", response.status, excerpt(&response.body))
            } else {
                format!("status {}: {}", response.status, crate::refusal::printable(&codes.join(", "), 200))
            });
        }
        Refusal::outside(
            diagnostic
                .why("registries answer the same for what is private, what does not exist and a wrong password")
                .help(format!("check the name; if the repository is private, run `docker login {registry}`")),
        )
    }
}

/// A token goes into a header, so it must be one word of visible ASCII.
fn is_token(text: &str) -> bool {
    !text.is_empty() && text.len() <= 64 << 10 && text.bytes().all(|byte| byte.is_ascii_graphic())
}
