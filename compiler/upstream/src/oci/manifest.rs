//! Index, manifest and image config: the few fields that pinning needs.

use std::collections::BTreeMap;

use serde::Deserialize;

/// The media types of what a tag may name. Every request sends all of them: with fewer, real
/// registries answer with a child of the index, under another digest, or with "not found".
pub const MANIFEST_TYPES: [&str; 4] = [OCI_INDEX, DOCKER_LIST, OCI_MANIFEST, DOCKER_MANIFEST];

pub(crate) const OCI_INDEX: &str = "application/vnd.oci.image.index.v1+json";
pub(crate) const DOCKER_LIST: &str = "application/vnd.docker.distribution.manifest.list.v2+json";
pub(crate) const OCI_MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
pub(crate) const DOCKER_MANIFEST: &str = "application/vnd.docker.distribution.manifest.v2+json";

/// The most entries of an index that are read; real ones have fewer than thirty.
const MAX_ENTRIES: usize = 256;

/// A document that a tag names.
#[derive(Debug)]
pub(crate) enum Document {
    Index(Index),
    Manifest(Manifest),
}

#[derive(Deserialize, Debug)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Index {
    media_type: Option<String>,
    pub(crate) manifests: Vec<Descriptor>,
}

#[derive(Deserialize, Debug)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Manifest {
    media_type: Option<String>,
    pub(crate) config: Descriptor,
}

#[derive(Deserialize, Clone, Debug)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Descriptor {
    pub(crate) media_type: String,
    pub(crate) digest: String,
    pub(crate) size: u64,
    #[serde(default)]
    platform: Option<RawPlatform>,
    #[serde(default)]
    annotations: Option<BTreeMap<String, String>>,
}

/// A platform as an index or an image config states it.
#[derive(Deserialize, Clone, Debug)]
pub(crate) struct RawPlatform {
    #[serde(default)]
    os: String,
    #[serde(default)]
    architecture: String,
    #[serde(default)]
    variant: Option<String>,
}

impl RawPlatform {
    /// Returns the name that targets use (`linux/arm64`), or `None` for what is no platform.
    ///
    /// `arm64/v8` is plain `arm64`: the variant is often written and never means another machine.
    pub(crate) fn name(&self) -> Option<String> {
        let word = |text: &str| {
            !text.is_empty()
                && text != "unknown"
                && text.len() <= 32
                && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'))
        };
        if !word(&self.os) || !word(&self.architecture) {
            return None;
        }
        let name = format!("{}/{}", self.os, self.architecture);
        match self.variant.as_deref() {
            None | Some("") => Some(name),
            Some("v8") if self.architecture == "arm64" => Some(name),
            Some(variant) => word(variant).then(|| format!("{name}/{variant}")),
        }
    }
}

impl Descriptor {
    /// Returns the platform that this entry of an index is for; `None` for attestations, which
    /// BuildKit files under `unknown/unknown`, for nested indexes and for other artifacts.
    pub(crate) fn platform(&self) -> Option<String> {
        let kind = self.annotations.as_ref().and_then(|all| all.get("vnd.docker.reference.type"));
        let is_manifest = matches!(self.media_type.as_str(), OCI_MANIFEST | DOCKER_MANIFEST);
        if kind.is_some_and(|kind| kind == "attestation-manifest") || !is_manifest {
            return None;
        }
        self.platform.as_ref()?.name()
    }
}

/// Reads a document of the given media type.
///
/// # Errors
/// What does not fit, as a phrase: the type is none of the four, the text is no such document, or
/// it names another type than the server did.
pub(crate) fn read(media_type: &str, body: &[u8]) -> Result<Document, String> {
    let says = |inside: Option<&str>| match inside {
        Some(inside) if inside != media_type => {
            Err(format!("the server calls it `{media_type}` and the document itself says `{inside}`"))
        }
        _ => Ok(()),
    };
    match media_type {
        OCI_INDEX | DOCKER_LIST => {
            let index: Index =
                serde_json::from_slice(body).map_err(|error| format!("it is no image index: {error}"))?;
            says(index.media_type.as_deref())?;
            if index.manifests.len() > MAX_ENTRIES {
                return Err(format!(
                    "its index has {} entries; {MAX_ENTRIES} are read",
                    index.manifests.len()
                ));
            }
            Ok(Document::Index(index))
        }
        OCI_MANIFEST | DOCKER_MANIFEST => {
            let manifest: Manifest =
                serde_json::from_slice(body).map_err(|error| format!("it is no image manifest: {error}"))?;
            says(manifest.media_type.as_deref())?;
            Ok(Document::Manifest(manifest))
        }
        other => Err(format!(
            "its media type is `{}`, which is neither an image index nor an image manifest",
            crate::refusal::printable(other, 100)
        )),
    }
}

/// Reads the platform out of an image config.
pub(crate) fn config_platform(body: &[u8]) -> Option<String> {
    serde_json::from_slice::<RawPlatform>(body).ok()?.name()
}

/// Reads `errors[].code` of a registry's error body.
pub(crate) fn error_codes(body: &[u8]) -> Vec<String> {
    #[derive(Deserialize)]
    struct Body {
        #[serde(default)]
        errors: Vec<Entry>,
    }
    #[derive(Deserialize)]
    struct Entry {
        #[serde(default)]
        code: String,
    }
    let body: Option<Body> = serde_json::from_slice(body).ok();
    body.map(|body| body.errors.into_iter().map(|entry| entry.code).take(8).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn platform(json: &str) -> Option<String> {
        serde_json::from_str::<RawPlatform>(json).unwrap().name()
    }

    #[test]
    fn the_variant_of_arm64_is_dropped_and_others_are_kept() {
        assert_eq!(
            platform(r#"{"os":"linux","architecture":"arm64","variant":"v8"}"#).as_deref(),
            Some("linux/arm64")
        );
        assert_eq!(
            platform(r#"{"os":"linux","architecture":"arm","variant":"v7"}"#).as_deref(),
            Some("linux/arm/v7")
        );
        assert_eq!(platform(r#"{"os":"unknown","architecture":"unknown"}"#), None);
        assert_eq!(platform(r#"{"os":"linux","architecture":"a/../b"}"#), None);
    }

    #[test]
    fn a_document_that_contradicts_its_content_type_is_refused() {
        let body = format!(r#"{{"schemaVersion":2,"mediaType":"{DOCKER_LIST}","manifests":[]}}"#);
        assert!(read(DOCKER_LIST, body.as_bytes()).is_ok());
        assert!(read(OCI_INDEX, body.as_bytes()).is_err_and(|why| why.contains("itself says")));
        assert!(read("text/html", b"<html>").is_err_and(|why| why.contains("text/html")));
        assert!(read(OCI_INDEX, b"{").is_err());
    }
}
