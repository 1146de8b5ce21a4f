//! Where each service is spoken to, and what conversations share.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use url::{Host, Url};

use crate::oci::DOCKER_HUB;
use crate::secret::Credential;

/// Addresses of the services that differ from the public ones, as users set them.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Endpoints {
    /// Base address of a registry in place of its own, by the name that references use: a
    /// pull-through cache, or a registry that speaks http.
    pub registries: BTreeMap<String, Url>,
    /// The model hub (`HF_ENDPOINT`).
    pub hub: Option<Url>,
    /// The forge's REST interface (`GITHUB_API_URL`).
    pub forge: Option<Url>,
}

impl Endpoints {
    /// Returns the base address of a registry. Only loopback registries speak http unasked, as with
    /// docker.
    #[must_use]
    pub fn registry(&self, name: &str) -> Option<Url> {
        if let Some(url) = self.registries.get(name) {
            return Some(url.clone());
        }
        let host = if name == DOCKER_HUB { "registry-1.docker.io" } else { name };
        let url = Url::parse(&format!("https://{host}")).ok()?;
        if is_loopback(&url) { Url::parse(&format!("http://{host}")).ok() } else { Some(url) }
    }

    /// Returns the base address of the model hub, without a slash at its end.
    #[must_use]
    pub fn hub(&self) -> String {
        base(self.hub.as_ref(), "https://huggingface.co")
    }

    /// Returns the base address of the forge's REST interface, without a slash at its end.
    #[must_use]
    pub fn forge(&self) -> String {
        base(self.forge.as_ref(), "https://api.github.com")
    }
}

fn base(set: Option<&Url>, usual: &str) -> String {
    set.map_or_else(|| usual.to_owned(), |url| url.as_str().trim_end_matches('/').to_owned())
}

/// Returns true for this machine by name or by number.
#[must_use]
pub(crate) fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

/// Returns true for numbers that no public service has: loopback, private, link-local.
#[must_use]
pub(crate) fn is_private(url: &Url) -> bool {
    is_loopback(url)
        || match url.host() {
            Some(Host::Ipv4(a)) => a.is_private() || a.is_link_local() || a.is_unspecified(),
            Some(Host::Ipv6(a)) => a.is_unique_local() || a.is_unicast_link_local() || a.is_unspecified(),
            Some(Host::Domain(_)) | None => false,
        }
}

/// Access to repositories of registries, shared by all conversations of one run.
#[derive(Debug, Default)]
pub struct Tokens {
    slots: Mutex<BTreeMap<(String, String), Slot>>,
}

/// The access to one repository; whoever holds the lock is finding it out.
pub(crate) type Slot = Arc<Mutex<Access>>;

/// What is known of the access to a repository.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) enum Access {
    /// Nobody has asked yet: one asks, the others wait for what comes of it.
    #[default]
    Unknown,
    /// It was shown to nobody in particular, or asking failed and each may ask for themselves.
    Open,
    /// It wants this.
    Known(Credential),
}

impl Access {
    /// Returns what to show.
    pub(crate) fn credential(&self) -> Option<&Credential> {
        match self {
            Self::Known(credential) => Some(credential),
            Self::Unknown | Self::Open => None,
        }
    }
}

impl Tokens {
    /// Returns the place of one repository's access.
    pub(crate) fn slot(&self, registry: &str, repository: &str) -> Slot {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        slots.entry((registry.to_owned(), repository.to_owned())).or_default().clone()
    }
}
