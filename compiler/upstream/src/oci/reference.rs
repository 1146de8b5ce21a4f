//! Image references: every spelling in, one meaning, and out again per container runtime.

use std::fmt;

use lock::Digest;

/// Docker Hub, as references name it.
pub const DOCKER_HUB: &str = "docker.io";

/// What an image reference means, however it was spelt.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Reference {
    /// The registry as references name it: `docker.io`, `nvcr.io`, `127.0.0.1:5000`.
    registry: String,
    /// The repository inside it, with `library/` for official images of Docker Hub.
    repository: String,
    /// The tag; `latest` where neither tag nor digest is written.
    tag: Option<String>,
    /// The digest, where one is written.
    digest: Option<Digest>,
}

/// Why a text is no image reference.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ReferenceError {
    /// There is no repository in it.
    Empty,
    /// The registry is no host name with an optional port.
    Registry(String),
    /// The repository has characters or a shape that the distribution specification refuses.
    Repository(String),
    /// The tag is not 1 to 128 of letters, digits, `_`, `.` and `-`.
    Tag(String),
    /// The digest is not `sha256:` and 64 lowercase hexadecimal characters.
    Digest(String),
}

impl fmt::Display for ReferenceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("it names no repository"),
            Self::Registry(text) => write!(f, "`{text}` is no registry: a host name with an optional port"),
            Self::Repository(text) => write!(
                f,
                "`{text}` is no repository: lowercase letters and digits, with single `.`, `_`, `-` and `/` between them"
            ),
            Self::Tag(text) => write!(f, "`{text}` is no tag: up to 128 letters, digits, `_`, `.` and `-`"),
            Self::Digest(text) => {
                write!(f, "`{text}` is no digest: `sha256:` and 64 lowercase hexadecimal characters")
            }
        }
    }
}

impl std::error::Error for ReferenceError {}

impl Reference {
    /// Reads a reference in the spelling of docker (`nvcr.io/nvidia/x:1`, `x:tag@sha256:…`) or of
    /// enroot (`nvcr.io#nvidia/x:1`, `nvcr.io#nvidia/x:sha256:…`, `docker://…`).
    ///
    /// # Errors
    /// [`ReferenceError`], checked here because a malformed digest makes real registries answer
    /// with an internal error instead of a refusal.
    pub fn parse(text: &str) -> Result<Self, ReferenceError> {
        let text = text.strip_prefix("docker://").unwrap_or(text);
        let (name, digest) = split_digest(text)?;
        let (registry, rest) = split_registry(name);
        let registry = match registry {
            "" | "index.docker.io" | "registry-1.docker.io" | DOCKER_HUB => DOCKER_HUB.to_owned(),
            other if is_registry(other) => other.to_ascii_lowercase(),
            other => return Err(ReferenceError::Registry(other.to_owned())),
        };
        let (repository, tag) = match rest.rsplit_once(':') {
            Some((repository, tag)) if !tag.contains('/') => (repository, Some(tag)),
            _ => (rest, None),
        };
        if repository.is_empty() {
            return Err(ReferenceError::Empty);
        }
        if !is_repository(repository) {
            return Err(ReferenceError::Repository(repository.to_owned()));
        }
        if let Some(tag) = tag
            && !is_tag(tag)
        {
            return Err(ReferenceError::Tag(tag.to_owned()));
        }
        let tag = tag.or(if digest.is_none() { Some("latest") } else { None }).map(str::to_owned);
        let repository = if registry == DOCKER_HUB && !repository.contains('/') {
            format!("library/{repository}")
        } else {
            repository.to_owned()
        };
        Ok(Self { registry, repository, tag, digest })
    }

    /// Returns the registry as references name it.
    #[must_use]
    pub fn registry(&self) -> &str {
        &self.registry
    }

    /// Returns the repository inside the registry.
    #[must_use]
    pub fn repository(&self) -> &str {
        &self.repository
    }

    /// Returns the tag, if one is written or implied.
    #[must_use]
    pub fn tag(&self) -> Option<&str> {
        self.tag.as_deref()
    }

    /// Returns the digest, if one is written.
    #[must_use]
    pub fn digest(&self) -> Option<&Digest> {
        self.digest.as_ref()
    }

    /// Returns the one spelling that two references share when they mean the same
    /// (`docker.io/lmsysorg/sglang:v0.5.14-cu130`).
    #[must_use]
    pub fn canonical(&self) -> String {
        let mut text = format!("{}/{}", self.registry, self.repository);
        if let Some(tag) = &self.tag {
            text.push(':');
            text.push_str(tag);
        }
        if let Some(digest) = &self.digest {
            text.push('@');
            text.push_str(&digest.to_string());
        }
        text
    }

    /// Returns `registry/repository@sha256:…`, which docker, containerd, podman and skopeo pull.
    ///
    /// The tag is left out: skopeo refuses a reference that has both.
    #[must_use]
    pub fn docker(&self, digest: &Digest) -> String {
        format!("{}/{}@{digest}", self.registry, self.repository)
    }

    /// Returns `REGISTRY#REPOSITORY:sha256:HEX`, which enroot and pyxis pull.
    ///
    /// `@` is not used: enroot up to 3.5.0 reads what stands before it as a user. Images of Docker
    /// Hub name no registry: enroot up to 4.1.2 takes `docker.io` for the registry's own host, and
    /// it is not.
    #[must_use]
    pub fn enroot(&self, digest: &Digest) -> String {
        if self.registry == DOCKER_HUB {
            format!("{}:{digest}", self.repository)
        } else {
            format!("{}#{}:{digest}", self.registry, self.repository)
        }
    }
}

/// Splits `@sha256:…` off, or `:sha256:…` as enroot spells it.
fn split_digest(text: &str) -> Result<(&str, Option<Digest>), ReferenceError> {
    let parse = |digest: &str| digest.parse().map_err(|_| ReferenceError::Digest(digest.to_owned()));
    if let Some((name, digest)) = text.rsplit_once('@') {
        // `docker://USER@REGISTRY#IMAGE` has a user there, and no digest.
        let looks_like_user = digest.contains('#') && !digest.starts_with("sha");
        if looks_like_user {
            return split_digest(digest);
        }
        return Ok((name, Some(parse(digest)?)));
    }
    match text.find(":sha256:") {
        Some(at) => {
            let (name, digest) = text.split_at(at);
            Ok((name, Some(parse(digest.trim_start_matches(':'))?)))
        }
        None => Ok((text, None)),
    }
}

/// Splits the registry off: before `#`, or before the first `/` if it looks like a host.
fn split_registry(name: &str) -> (&str, &str) {
    if let Some((registry, rest)) = name.split_once('#') {
        return (registry, rest);
    }
    match name.split_once('/') {
        Some((first, rest)) if first.contains(['.', ':']) || first == "localhost" => (first, rest),
        _ => ("", name),
    }
}

fn is_registry(text: &str) -> bool {
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()) => {
            (host, port)
        }
        _ => (text, "0"),
    };
    let host_fits = match host.strip_prefix('[') {
        Some(_) => matches!(url::Host::parse(host), Ok(url::Host::Ipv6(_))),
        None => {
            !host.is_empty()
                && host.len() <= 253
                && host.split('.').all(|label| {
                    !label.is_empty()
                        && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
                        && !label.starts_with('-')
                        && !label.ends_with('-')
                })
        }
    };
    host_fits && port.parse::<u16>().is_ok()
}

/// `[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*` between slashes, as the distribution specification has it.
fn is_repository(text: &str) -> bool {
    text.len() <= 255
        && text.split('/').all(|part| {
            let edges =
                |at: Option<u8>| at.is_some_and(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
            let mut separator = String::new();
            edges(part.bytes().next())
                && edges(part.bytes().last())
                && part.chars().all(|letter| {
                    if letter.is_ascii_lowercase() || letter.is_ascii_digit() {
                        separator.clear();
                        return true;
                    }
                    separator.push(letter);
                    separator == "."
                        || separator == "_"
                        || separator == "__"
                        || separator.bytes().all(|b| b == b'-')
                })
        })
}

fn is_tag(text: &str) -> bool {
    (1..=128).contains(&text.len())
        && !text.starts_with(['.', '-'])
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEX: &str = "5027e95b5a8c4a5d1c4a5d1c4a5d1c4a5d1c4a5d1c4a5d1c4a5d1c4a5d1c4a5d";

    fn canonical(text: &str) -> String {
        Reference::parse(text).map_or_else(|error| format!("refused: {error:?}"), |it| it.canonical())
    }

    #[test]
    fn every_spelling_of_one_image_means_the_same() {
        for text in [
            "nvcr.io/nvidia/tensorrt-llm/release:1.3.0rc18",
            "nvcr.io#nvidia/tensorrt-llm/release:1.3.0rc18",
            "docker://nvcr.io#nvidia/tensorrt-llm/release:1.3.0rc18",
            "docker://$oauthtoken@nvcr.io#nvidia/tensorrt-llm/release:1.3.0rc18",
        ] {
            assert_eq!(canonical(text), "nvcr.io/nvidia/tensorrt-llm/release:1.3.0rc18", "{text}");
        }
        for text in
            ["vllm/vllm-openai:v1", "docker.io/vllm/vllm-openai:v1", "index.docker.io/vllm/vllm-openai:v1"]
        {
            assert_eq!(canonical(text), "docker.io/vllm/vllm-openai:v1", "{text}");
        }
        assert_eq!(canonical("ubuntu"), "docker.io/library/ubuntu:latest");
        assert_eq!(canonical("localhost/a:1"), "localhost/a:1");
        assert_eq!(
            canonical("127.0.0.1:5511/lmsysorg/sglang:nightly"),
            "127.0.0.1:5511/lmsysorg/sglang:nightly"
        );
    }

    #[test]
    fn a_digest_beside_a_tag_is_kept_with_it() {
        let reference = Reference::parse(&format!("lmsysorg/sglang:v0.5.14-cu130@sha256:{HEX}")).unwrap();
        assert_eq!(reference.tag(), Some("v0.5.14-cu130"));
        assert_eq!(reference.digest().map(Digest::hex), Some(HEX));
        assert_eq!(
            canonical(&format!("nvcr.io#nvidia/x:sha256:{HEX}")),
            format!("nvcr.io/nvidia/x@sha256:{HEX}"),
            "a digest alone implies no tag"
        );
    }

    #[test]
    fn each_runtime_gets_the_spelling_it_can_parse() {
        let digest = Digest::from_hex(HEX).unwrap();
        let hub = Reference::parse("lmsysorg/sglang:v1").unwrap();
        let nvcr = Reference::parse("nvcr.io#nvidia/x:1").unwrap();
        assert_eq!(hub.docker(&digest), format!("docker.io/lmsysorg/sglang@sha256:{HEX}"));
        assert_eq!(hub.enroot(&digest), format!("lmsysorg/sglang:sha256:{HEX}"));
        assert_eq!(nvcr.docker(&digest), format!("nvcr.io/nvidia/x@sha256:{HEX}"));
        assert_eq!(nvcr.enroot(&digest), format!("nvcr.io#nvidia/x:sha256:{HEX}"));
        for spelling in [hub.enroot(&digest), nvcr.enroot(&digest), hub.docker(&digest)] {
            assert_eq!(Reference::parse(&spelling).unwrap().digest(), Some(&digest), "{spelling}");
        }
    }

    #[test]
    fn what_no_registry_would_take_is_refused_before_it_is_sent() {
        for text in [
            "",
            ":tag",
            "A/b:1",
            "a//b",
            "a/b:",
            "a/-b",
            "a/b___c:1",
            "a/b:.x",
            "a/b@sha256:00",
            "a b",
            "x.y:99999/a",
            "[::1/a",
            "[x]:1/a",
            "ex ample.com/a",
        ] {
            assert!(canonical(text).starts_with("refused"), "{text} -> {}", canonical(text));
        }
        assert_eq!(canonical("a/b__c-d--e.f:1"), "docker.io/a/b__c-d--e.f:1");
        assert!(canonical(&format!("a/b:{}", "t".repeat(129))).starts_with("refused"));
    }
}
