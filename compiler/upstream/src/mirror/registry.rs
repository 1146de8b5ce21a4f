//! The registry's half of a mirror: an OCI image layout.

use lock::Digest;
use serde::Deserialize;
use url::Url;

use super::{Answer, LIMIT, Store};
use crate::oci::{DOCKER_HUB, Reference};
use crate::transport::server;

/// The name of an image inside `index.json`.
const NAME: &str = "org.opencontainers.image.ref.name";

#[derive(Deserialize)]
struct Layout {
    manifests: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    media_type: String,
    digest: String,
    #[serde(default)]
    annotations: std::collections::BTreeMap<String, String>,
}

/// Answers `/v2/<repository>/{manifests,blobs,tags}/<name>`.
pub(super) fn answer<S: Store>(store: &S, url: &Url, rest: &str) -> Result<Answer, String> {
    let host = server(url);
    let registry = if host == "registry-1.docker.io" { DOCKER_HUB } else { host.as_str() };
    let Some((front, name)) = rest.rsplit_once('/') else {
        return Ok(Answer::NotMirrored("a mirror answers about manifests and blobs alone".to_owned()));
    };
    let repository = front.strip_suffix("/manifests").or_else(|| front.strip_suffix("/blobs"));
    let Some(repository) = repository else {
        return Ok(Answer::NotMirrored("a mirror lists no tags".to_owned()));
    };
    let Some(index) = store.read("oci/index.json", LIMIT)? else {
        return Ok(Answer::NotMirrored("it has no `oci/index.json`".to_owned()));
    };
    let layout: Layout = serde_json::from_slice(&index)
        .map_err(|error| format!("`oci/index.json` is no image layout: {error}"))?;
    if let Ok(digest) = name.parse::<Digest>() {
        return blob(store, &digest, None);
    }
    let wanted = format!("{registry}/{repository}:{name}");
    let found = layout.manifests.iter().find(|entry| {
        let named = entry.annotations.get(NAME).and_then(|text| Reference::parse(text).ok());
        named.is_some_and(|named| named.canonical() == wanted)
    });
    let Some(entry) = found else {
        return Ok(Answer::NotMirrored(format!("`oci/index.json` names no `{wanted}`")));
    };
    let digest = entry.digest.parse().map_err(|error| format!("`{wanted}` in `oci/index.json`: {error}"))?;
    blob(store, &digest, Some(&entry.media_type))
}

/// Returns a blob with its media type, which a manifest or an index states itself.
fn blob<S: Store>(store: &S, digest: &Digest, media_type: Option<&str>) -> Result<Answer, String> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Typed {
        media_type: Option<String>,
        manifests: Option<serde::de::IgnoredAny>,
        layers: Option<serde::de::IgnoredAny>,
    }
    let Some(body) = store.read(&format!("oci/blobs/sha256/{}", digest.hex()), LIMIT)? else {
        return Ok(Answer::Absent("MANIFEST_UNKNOWN"));
    };
    let typed: Option<Typed> = serde_json::from_slice(&body).ok();
    let stated = typed.and_then(|typed| {
        // The image specification lets both leave their type out.
        typed.media_type.or_else(|| match (typed.manifests, typed.layers) {
            (Some(_), _) => Some("application/vnd.oci.image.index.v1+json".to_owned()),
            (None, Some(_)) => Some("application/vnd.oci.image.manifest.v1+json".to_owned()),
            (None, None) => None,
        })
    });
    let media_type = media_type.map(str::to_owned).or(stated);
    Ok(Answer::Found(media_type.unwrap_or_else(|| "application/octet-stream".to_owned()), body))
}
