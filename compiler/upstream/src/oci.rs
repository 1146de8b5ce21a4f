//! Images: from a reference to digests that were computed from the bytes received.
//!
//! The conversation is HEAD, then GET, then each platform's manifest. What a header says of a digest
//! is a claim: a registry whose storage was changed goes on announcing the old one. What this module
//! does not know: how requests travel, who is logged in, and how a lock writes what comes out.

mod challenge;
mod drift;
mod manifest;
mod reference;
mod registry;

use std::collections::BTreeMap;

use diag::{Diagnostic, slugs::upstream as slug};
use lock::Digest;
use lock::pin::{Image, Pin, Platform};

pub use drift::{Movement, movement, still_served};
pub use manifest::MANIFEST_TYPES;
pub use reference::{DOCKER_HUB, Reference, ReferenceError};

use crate::endpoints::{Endpoints, Tokens};
use crate::refusal::{Facts, Refusal, Resolved, excerpt, printable, unexpected};
use crate::transport::{Kept, Method, Response, Transport};
use manifest::{Descriptor, Document};
use registry::Registry;

/// Resolves a reference for the platforms that targets need (`linux/amd64`).
///
/// # Errors
/// [`Refusal`], with what to do, for every way in which this image cannot be pinned.
pub fn resolve<T: Transport + ?Sized>(
    transport: &T,
    endpoints: &Endpoints,
    tokens: &Tokens,
    reference: &str,
    platforms: &[String],
) -> Result<Resolved, Refusal> {
    let parsed = Reference::parse(reference).map_err(|error| {
        Refusal::manifest(
            Diagnostic::error(
                slug::IMAGE_REFERENCE,
                format!("`{}` is no image reference", printable(reference, 200)),
            )
            .why(error.to_string())
            .help("write it as `registry/repository:tag`, or `repository:tag` for Docker Hub"),
        )
    })?;
    let registry = Registry::new(transport, endpoints, tokens, &parsed, reference)?;
    let talk = Talk { registry, reference: &parsed, want: reference };
    let mut remarks = talk.remarks();
    let top = match parsed.digest() {
        Some(digest) => {
            let top = talk.fetch(&digest.to_string(), Some(digest))?;
            remarks.extend(talk.compare_tag(digest)?);
            top
        }
        None => talk.fetch(parsed.tag().unwrap_or("latest"), None)?,
    };
    let found = match &top.document {
        Document::Index(index) => talk.children(&index.manifests, platforms)?,
        Document::Manifest(manifest) => {
            let platform = talk.platform_of(&manifest.config)?;
            let pinned = Platform {
                digest: top.digest.clone(),
                config: manifest.config.digest.parse().ok(),
                media_type: top.media_type.clone(),
                size: top.size,
            };
            BTreeMap::from([(platform, pinned)])
        }
    };
    if let Some(missing) = platforms.iter().find(|wanted| !found.contains_key(*wanted)) {
        return Err(talk.platform_missing(missing, &found));
    }
    let facts = engine::known::Image { platforms: found.keys().cloned().collect(), ..Default::default() };
    let image = Image { digest: top.digest, media_type: top.media_type, size: top.size, platforms: found };
    Ok(Resolved {
        pin: Pin::Image(image),
        files: Vec::new(),
        facts: Facts::Image(facts),
        content: None,
        remarks,
    })
}

/// A document with the digest of its bytes.
struct Fetched {
    digest: Digest,
    media_type: String,
    size: u64,
    document: Document,
}

/// A conversation about one reference.
struct Talk<'a, T: Transport + ?Sized> {
    registry: Registry<'a, T>,
    reference: &'a Reference,
    want: &'a str,
}

impl<T: Transport + ?Sized> Talk<'_, T> {
    /// Fetches what a tag or digest names: HEAD, then GET, whose bytes must be what both announced.
    fn fetch(&self, name: &str, asked: Option<&Digest>) -> Result<Fetched, Refusal> {
        let mut announced = self.announced(name)?;
        // A tag may move between the two requests; the second look decides.
        for _ in 0..2 {
            if let Some(fetched) = announced.as_ref().and_then(|digest| self.kept(digest)) {
                return Ok(fetched);
            }
            let response = self.registry.manifest(Method::Get, name)?;
            if response.status == 404 {
                return Err(self.not_found(asked, &response)?);
            }
            let fetched = self.read(&response, asked)?;
            match announced {
                Some(digest) if digest != fetched.digest => announced = self.announced(name)?,
                _ => return Ok(fetched),
            }
            if announced.as_ref() == Some(&fetched.digest) {
                return Ok(fetched);
            }
        }
        Err(Refusal::outside(
            Diagnostic::error(
                slug::TAG_MOVING,
                format!("`{}` names something else each time it is asked for", self.want),
            )
            .why("what HEAD announces and what GET sends differ, twice in a row")
            .help("lock again when whoever pushes the tag is done, or name the digest in the manifest"),
        ))
    }

    /// Returns the digest that HEAD announces: a claim, `None` where there is none.
    fn announced(&self, name: &str) -> Result<Option<Digest>, Refusal> {
        // A failing HEAD has no body to explain itself; the GET that follows has.
        let response = self.registry.manifest(Method::Head, name)?;
        Ok(if response.is_success() { announced_digest(&response) } else { None })
    }

    /// Returns a document that an earlier run fetched, if its bytes still are what they are named.
    fn kept(&self, digest: &Digest) -> Option<Fetched> {
        let Kept { media_type, body } = self.registry.transport().kept(&digest.to_string())?;
        if Digest::of(&body) != *digest {
            return None;
        }
        let document = manifest::read(&media_type, &body).ok()?;
        Some(Fetched { digest: digest.clone(), media_type, size: body.len() as u64, document })
    }

    /// Reads a manifest answer and computes its digest from the bytes.
    fn read(&self, response: &Response, asked: Option<&Digest>) -> Result<Fetched, Refusal> {
        if !response.is_success() {
            let why = format!("status {}; {}", response.status, excerpt(&response.body));
            return Err(unexpected(self.want, response, why));
        }
        let digest = Digest::of(&response.body);
        let claims = announced_digest(response);
        for claimed in asked.into_iter().chain(claims.as_ref()) {
            if *claimed != digest {
                return Err(self.mismatch(claimed, &digest));
            }
        }
        let media_type = response.media_type().unwrap_or_default();
        let document = manifest::read(&media_type, &response.body)
            .map_err(|why| unexpected(self.want, response, why))?;
        let kept = Kept { media_type: media_type.clone(), body: response.body.clone() };
        self.registry.transport().keep(&digest.to_string(), &kept);
        Ok(Fetched { digest, media_type, size: response.body.len() as u64, document })
    }

    /// Fetches the manifest of every platform of an index. One that is gone is a refusal if a
    /// target needs it: cleanup jobs of registries delete inner manifests while the tag still works.
    fn children(
        &self,
        entries: &[Descriptor],
        needed: &[String],
    ) -> Result<BTreeMap<String, Platform>, Refusal> {
        let mut wanted: BTreeMap<String, (&Descriptor, Digest)> = BTreeMap::new();
        for entry in entries {
            let Some(platform) = entry.platform() else { continue };
            let Ok(digest) = entry.digest.parse::<Digest>() else { continue };
            // Runtimes take the first entry that fits.
            wanted.entry(platform).or_insert((entry, digest));
        }
        // What an earlier run fetched is only looked for, not fetched again.
        let kept: Vec<Option<Fetched>> = wanted.values().map(|(_, digest)| self.kept(digest)).collect();
        let asked: Vec<(Method, String)> = wanted
            .values()
            .zip(&kept)
            .map(|((_, digest), kept)| {
                (if kept.is_some() { Method::Head } else { Method::Get }, digest.to_string())
            })
            .collect();
        let answers = self.registry.manifests(&asked)?;
        let mut found = BTreeMap::new();
        for (((platform, (entry, digest)), answer), kept) in wanted.into_iter().zip(answers).zip(kept) {
            let response = answer?;
            if response.status == 404 {
                if needed.contains(&platform) {
                    return Err(self.child_gone(&platform, &digest));
                }
                continue;
            }
            let fetched = match kept {
                Some(kept) => kept,
                None => self.read(&response, Some(&digest))?,
            };
            if fetched.size != entry.size {
                let why =
                    format!("the index says {} bytes for {platform}, and {} came", entry.size, fetched.size);
                return Err(unexpected(self.want, &response, why));
            }
            let config = match &fetched.document {
                Document::Manifest(manifest) => manifest.config.digest.parse().ok(),
                Document::Index(_) => None,
            };
            let media_type = fetched.media_type;
            found.insert(platform, Platform { digest, config, media_type, size: fetched.size });
        }
        Ok(found)
    }

    /// Reads the platform of a single manifest out of the image config that it names.
    fn platform_of(&self, config: &Descriptor) -> Result<String, Refusal> {
        let digest: Digest = config.digest.parse().map_err(|_| {
            Refusal::outside(
                Diagnostic::error(
                    slug::UNEXPECTED_ANSWER,
                    format!("the manifest of `{}` cannot be used", self.want),
                )
                .why(format!(
                    "its config is named `{}`, which is no sha256 digest",
                    printable(&config.digest, 100)
                ))
                .help("check that the reference names a container image"),
            )
        })?;
        let response = self.registry.config(&digest.to_string())?;
        if response.status == 404 {
            return Err(self.child_gone("the image config", &digest));
        }
        if !response.is_success() {
            let why = format!("status {}; {}", response.status, excerpt(&response.body));
            return Err(unexpected(self.want, &response, why));
        }
        let received = Digest::of(&response.body);
        if received != digest {
            return Err(self.mismatch(&digest, &received));
        }
        manifest::config_platform(&response.body).ok_or_else(|| {
            let why = format!(
                "its config (`{}`) states no platform: it is no container image",
                printable(&config.media_type, 100)
            );
            unexpected(self.want, &response, why)
        })
    }

    /// Says where the tag beside a digest points today: runtimes ignore it, people do not.
    fn compare_tag(&self, written: &Digest) -> Result<Option<Diagnostic>, Refusal> {
        let Some(tag) = self.reference.tag() else { return Ok(None) };
        let response = self.registry.manifest(Method::Head, tag)?;
        if response.status == 404 {
            return Ok(Some(
                Diagnostic::warning(
                    slug::TAG_NOT_FOUND,
                    format!(
                        "tag `{tag}` of `{}` is gone; the digest beside it is still served",
                        self.reference.repository()
                    ),
                )
                .help("keep the digest: it is what runs"),
            ));
        }
        let Some(current) = announced_digest(&response) else { return Ok(None) };
        Ok((current != *written).then(|| {
            Diagnostic::warning(
                slug::TAG_MOVED,
                format!(
                    "tag `{tag}` of `{}` no longer names the digest beside it",
                    self.reference.repository()
                ),
            )
            .why(format!("the manifest says {written}, and the registry says the tag is {current} now"))
            .why("runtimes use the digest and ignore the tag")
            .help("keep the digest, or take the new one if the newer build is meant")
        }))
    }

    /// Warns of tags that cannot stay what they are.
    fn remarks(&self) -> Vec<Diagnostic> {
        let (None, Some(tag)) = (self.reference.digest(), self.reference.tag()) else { return Vec::new() };
        let dated = tag.contains("nightly") || tag.split(['-', '_', '.']).any(|word| word == "dev");
        let moving = matches!(tag, "latest" | "main" | "master" | "edge" | "stable")
            || tag == "dev"
            || tag == "nightly";
        if moving {
            return vec![
                Diagnostic::warning(
                    slug::MUTABLE_TAG,
                    format!(
                        "tag `{tag}` of `{}` names the newest build of the day",
                        self.reference.repository()
                    ),
                )
                .why("the lock holds the digest of today's build; what the tag names tomorrow is another")
                .help("name a release"),
            ];
        }
        if dated {
            return vec![
                Diagnostic::warning(
                    slug::SHORT_LIVED_TAG,
                    format!(
                        "tag `{tag}` of `{}` is a development build, which registries prune",
                        self.reference.repository()
                    ),
                )
                .why("vLLM keeps its last fourteen nightlies; other projects delete theirs after some weeks")
                .help("name a release, or copy the image to a registry of yours by digest"),
            ];
        }
        Vec::new()
    }

    fn mismatch(&self, claimed: &Digest, received: &Digest) -> Refusal {
        Refusal::outside(
            Diagnostic::error(
                slug::DIGEST_MISMATCH,
                format!(
                    "what `{}` sent for `{}` is not what it is named",
                    self.reference.registry(),
                    self.want
                ),
            )
            .why(format!("it is named {claimed}"))
            .why(format!("the bytes received have {received}"))
            .help("do not use this image; tell whoever runs the registry or the proxy in between"),
        )
    }

    fn child_gone(&self, what: &str, digest: &Digest) -> Refusal {
        Refusal::outside(
            Diagnostic::error(
                slug::CHILD_GONE,
                format!("`{}` is there, and its part for {what} is gone", self.want),
            )
            .why(format!("the registry has no {digest}; a cleanup deleted it while the tag still resolves"))
            .help("name another tag, or ask the publisher to push the image again"),
        )
    }

    fn platform_missing(&self, missing: &str, found: &BTreeMap<String, Platform>) -> Refusal {
        let there = found.keys().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        Refusal::outside(
            Diagnostic::error(
                slug::PLATFORM_MISSING,
                format!("`{}` has no image for `{missing}`", self.want),
            )
            .why(if there.is_empty() {
                "it has an image for no platform".to_owned()
            } else {
                format!("it has {there}")
            })
            .help("name a tag built for that platform, or leave out the target that needs it"),
        )
    }

    /// Explains a 404: the repository, the tag or the digest is not there.
    fn not_found(&self, asked: Option<&Digest>, response: &Response) -> Result<Refusal, Refusal> {
        let repository = self.reference.repository();
        let registry = self.reference.registry();
        let codes = manifest::error_codes(&response.body);
        // docker-registry says MANIFEST_UNKNOWN for a repository that it does not have, so the list
        // of tags decides.
        let named_unknown = codes.iter().any(|code| code == "NAME_UNKNOWN");
        let tags = if named_unknown { None } else { self.registry.tags().unwrap_or(Some(Vec::new())) };
        let Some(tags) = tags else {
            return Ok(Refusal::outside(
                Diagnostic::error(
                    slug::REPOSITORY_NOT_FOUND,
                    format!("`{registry}` has no repository `{repository}`"),
                )
                .why("the repository itself is unknown, not only the tag")
                .help(
                    "check the name against the publisher's page; a private repository needs `docker login`",
                ),
            ));
        };
        if let Some(digest) = asked {
            return Ok(Refusal::outside(
                Diagnostic::error(slug::DIGEST_GONE, format!("`{registry}/{repository}` no longer has {digest}"))
                    .why("registries delete what no tag names any more")
                    .help("nothing can bring these bytes back but a copy; take another image with `recipec lock --update`"),
            ));
        }
        let tag = self.reference.tag().unwrap_or("latest");
        let mut diagnostic =
            Diagnostic::error(slug::TAG_NOT_FOUND, format!("`{registry}/{repository}` has no tag `{tag}`"));
        let similar = similar(tag, &tags);
        diagnostic = if similar.is_empty() {
            diagnostic.why(format!("{} tags are published, and none is like it", tags.len()))
        } else {
            let list = similar.iter().map(|tag| format!("`{tag}`")).collect::<Vec<_>>().join(", ");
            diagnostic.help(format!("published tags like it: {list}"))
        };
        Ok(Refusal::outside(diagnostic.help("a tag is never guessed: write one that is published")))
    }
}

/// Returns the digest that a header claims, if it is of the algorithm that we compute.
fn announced_digest(response: &Response) -> Option<Digest> {
    response.header("docker-content-digest")?.trim().parse().ok()
}

/// Returns up to five published tags that `tag` was probably meant to be: those that continue it or
/// have its shape with other numbers, newest first, then those that are spelt nearly so.
fn similar(tag: &str, tags: &[String]) -> Vec<String> {
    let shape = |text: &str| -> String {
        let mut shape: String = text.chars().map(|c| if c.is_ascii_hexdigit() { '0' } else { c }).collect();
        while shape.contains("00") {
            shape = shape.replace("00", "0");
        }
        shape
    };
    let wanted = shape(tag);
    let mut near: Vec<String> = Vec::new();
    let prefixed =
        tags.iter().rev().filter(|other| other.starts_with(tag) || tag.starts_with(other.as_str()));
    let with_letter =
        tags.iter().filter(|other| other.trim_start_matches('v') == tag.trim_start_matches('v'));
    let spelt = diag::nearest_all(tag, tags.iter().map(String::as_str)).into_iter();
    let shaped = tags.iter().rev().filter(|other| shape(other) == wanted).take(2);
    for candidate in
        with_letter.chain(prefixed).map(String::as_str).chain(shaped.map(String::as_str)).chain(spelt)
    {
        if near.len() < 5 && !near.iter().any(|known| known == candidate) {
            near.push(candidate.to_owned());
        }
    }
    near
}

#[cfg(test)]
mod tests;
