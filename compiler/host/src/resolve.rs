//! Resolving wants: all at once, each once, in an order that no answer can change.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering};

use diag::{Diagnostic, slugs};
use lock::pin::Pin;
use recipe::want::Want;
use upstream::mirror::Mirror;
use upstream::secret::Credential;
use upstream::transport::{Fault, FaultKind, Kept, Request, Response, Service, Transport};
use upstream::{Class, Endpoints, Refusal, Resolved, Tokens};
use url::Url;

use crate::clone::{self, Clones};
use crate::mirror::Folder;
use crate::{Cache, Client, Environment, Limits, Progress, Show};

/// How wants are resolved.
#[derive(Clone, Default, Debug)]
pub struct Options {
    /// Variables for endpoints, proxies, logins and the cache; empty in sealed tests.
    pub environment: Environment,
    /// Asks nobody; every want is refused with exit code 3.
    pub offline: bool,
    /// Resolves from this folder and asks nobody else.
    pub mirror: Option<PathBuf>,
    /// Local clones to ask in place of the forge, by repository (`owner/name`).
    pub clones: Clones,
    /// Who looks at the progress.
    pub show: Show,
    /// How patient and how greedy.
    pub limits: Limits,
}

/// What came of one want.
#[derive(Clone, PartialEq, Debug)]
pub struct Resolution {
    /// What was wanted.
    pub want: Want,
    /// Its pin with files and facts, or why there is none.
    pub outcome: Result<Resolved, Refusal>,
}

/// The most wants that are resolved at the same time.
const PARALLEL: usize = 256;

/// Resolves wants. Each is asked for once, however often it is named; the result is sorted and
/// without doubles, whatever the order of the wants and of the answers. One want's refusal leaves
/// the others alone.
#[must_use]
pub fn resolve(wants: &[Want], options: &Options) -> Vec<Resolution> {
    let wants: Vec<&Want> = wants.iter().collect::<BTreeSet<_>>().into_iter().collect();
    let world = match World::new(options) {
        Ok(world) => world,
        Err(refusal) => {
            let refused = |want: &&Want| Resolution { want: (*want).clone(), outcome: Err(refusal.clone()) };
            return wants.iter().map(refused).collect();
        }
    };
    let tokens = Tokens::default();
    let ask = |want: &&Want| upstream::resolve(&world, &world.endpoints, &tokens, want);
    let outcomes = at_once(&wants, "wants", options.show, |want| want.name(), ask);
    let problems = world.problems();
    let resolved = wants.into_iter().zip(outcomes);
    resolved
        .map(|(want, outcome)| Resolution {
            want: want.clone(),
            outcome: outcome.map_err(|refusal| explained(refusal, &problems)),
        })
        .collect()
}

/// Asks whether what pins name is still served, whatever their tags and branches name today. The
/// answers have the order of the pins.
#[must_use]
pub fn served(pins: &[(Want, Pin)], options: &Options) -> Vec<Result<(), Refusal>> {
    let world = match World::new(options) {
        Ok(world) => world,
        Err(refusal) => return pins.iter().map(|_| Err(refusal.clone())).collect(),
    };
    let tokens = Tokens::default();
    let ask =
        |(want, pin): &(Want, Pin)| upstream::still_served(&world, &world.endpoints, &tokens, want, pin);
    at_once(pins, "pins", options.show, |(want, _)| want.name(), ask)
}

/// Asks about many things at the same time; the answers have the order of the things.
fn at_once<T: Sync, A: Send>(
    things: &[T],
    what: &str,
    show: Show,
    name: impl Fn(&T) -> String + Sync,
    ask: impl Fn(&T) -> A + Sync,
) -> Vec<A> {
    let progress = Progress::start(show, what, things.len() as u64);
    let next = AtomicUsize::new(0);
    let answers: Mutex<BTreeMap<usize, A>> = Mutex::default();
    std::thread::scope(|scope| {
        for _ in 0..things.len().min(PARALLEL) {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(thing) = things.get(at) else { break };
                    let answer = ask(thing);
                    progress.advance(1, &name(thing));
                    answers.lock().unwrap_or_else(PoisonError::into_inner).insert(at, answer);
                }
            });
        }
    });
    answers.into_inner().unwrap_or_else(PoisonError::into_inner).into_values().collect()
}

/// Names the cause of a refused login where there is one: a file with logins that cannot be read.
fn explained(mut refusal: Refusal, problems: &[Diagnostic]) -> Refusal {
    if refusal.diagnostic.slug != slugs::upstream::ACCESS_DENIED {
        return refusal;
    }
    let Some((first, others)) = problems.split_first() else { return refusal };
    let mut cause = first.clone();
    cause.severity = refusal.diagnostic.severity;
    cause.notes.push(refusal.diagnostic.message);
    cause.notes.extend(others.iter().map(|other| other.message.clone()));
    refusal.diagnostic = Box::new(cause);
    refusal
}

/// Whom the conversations reach.
struct World {
    inner: Inner,
    clones: Clones,
    endpoints: Endpoints,
}

enum Inner {
    Live(Box<Client>),
    Mirror(Mirror<Folder>),
    Nobody,
}

impl World {
    fn new(options: &Options) -> Result<Self, Refusal> {
        let mut clones = options.clones.clone();
        if let Some(folder) = &options.mirror {
            let folder = Folder::open(folder).map_err(|error| {
                Refusal::unreachable(
                    Diagnostic::error(
                        slugs::host::CANNOT_READ,
                        format!("the mirror `{}` cannot be read", folder.display()),
                    )
                    .why(error.to_string())
                    .help("give `--mirror` a folder"),
                )
            })?;
            clones.extend(clone::of_mirror(folder.path()));
            let inner = Inner::Mirror(Mirror::new(folder));
            // The mirror stands for the public services, whatever the variables say.
            return Ok(Self { inner, clones, endpoints: Endpoints::default() });
        }
        let endpoints = endpoints(&options.environment)?;
        if options.offline {
            return Ok(Self { inner: Inner::Nobody, clones, endpoints });
        }
        let cache = options.environment.cache().map(|folder| Cache::new(&folder));
        let client = Client::new(&options.environment, options.limits, cache).map_err(|error| {
            Refusal::unreachable(
                Diagnostic::error(slugs::upstream::UNREACHABLE, "no connection can be made from here")
                    .why(error.to_string())
                    .help("check the variables that name proxies and certificates"),
            )
        })?;
        Ok(Self { inner: Inner::Live(Box::new(client)), clones, endpoints })
    }

    fn problems(&self) -> Vec<Diagnostic> {
        match &self.inner {
            Inner::Live(client) => client.credentials().problems(),
            Inner::Mirror(_) | Inner::Nobody => Vec::new(),
        }
    }
}

/// Reads the addresses that the user set: `HF_ENDPOINT`, `GITHUB_API_URL`, and registries as
/// `RECIPEC_REGISTRIES=docker.io=https://cache.example,nvcr.io=…`.
fn endpoints(environment: &Environment) -> Result<Endpoints, Refusal> {
    let address = |name: &str, text: &str| {
        let url =
            Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
        url.filter(|url| url.username().is_empty() && url.password().is_none()).ok_or_else(|| Refusal {
            class: Class::Unreachable,
            diagnostic: Box::new(
                Diagnostic::error(
                    slugs::upstream::UNREACHABLE,
                    format!("`{name}` holds no address of a server"),
                )
                .help("write `https://host` without user and password, or unset it"),
            ),
        })
    };
    let set = |name: &str| environment.get(name).map(|text| address(name, text)).transpose();
    let mut all =
        Endpoints { hub: set("HF_ENDPOINT")?, forge: set("GITHUB_API_URL")?, ..Endpoints::default() };
    let registries = environment.get("RECIPEC_REGISTRIES").unwrap_or("");
    for pair in registries.split(',').filter(|pair| !pair.trim().is_empty()) {
        let (name, url) = pair.split_once('=').unwrap_or((pair, ""));
        all.registries.insert(name.trim().to_owned(), address("RECIPEC_REGISTRIES", url.trim())?);
    }
    Ok(all)
}

impl Transport for World {
    fn send(&self, request: &Request) -> Result<Response, Fault> {
        if let Some(answer) = clone::answer(&self.clones, request) {
            return answer;
        }
        match &self.inner {
            Inner::Live(client) => client.send(request),
            Inner::Mirror(mirror) => mirror.send(request),
            Inner::Nobody => Err(Fault::new(FaultKind::Offline, &request.url, "nobody is asked")),
        }
    }

    fn ask_all(&self, requests: &[Request]) -> Vec<Result<Response, Fault>> {
        match &self.inner {
            Inner::Live(client) if self.clones.is_empty() => client.ask_all(requests),
            _ => requests.iter().map(|request| upstream::ask(self, request)).collect(),
        }
    }

    fn credential(&self, service: Service<'_>) -> Option<Credential> {
        match &self.inner {
            Inner::Live(client) => client.credential(service),
            Inner::Mirror(_) | Inner::Nobody => None,
        }
    }

    fn kept(&self, name: &str) -> Option<Kept> {
        match &self.inner {
            Inner::Live(client) => client.kept(name),
            Inner::Mirror(_) | Inner::Nobody => None,
        }
    }

    fn keep(&self, name: &str, kept: &Kept) {
        if let Inner::Live(client) = &self.inner {
            client.keep(name, kept);
        }
    }
}
