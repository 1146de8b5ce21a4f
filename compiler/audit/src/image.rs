//! What a container ran, beside the image that the lock pins.
//!
//! A runtime says little of an image, and each says something else: a daemon the digests that it pulled by
//! and an id; enroot, where it wrote one, a note of what it imported; a registry the bytes of a manifest.
//! A name with a tag says nothing, since tags move.

use std::collections::BTreeSet;

use lock::Digest;
use lock::pin::Image;
use serde_json::{Map, Value, json};

/// What the lock says of an image.
#[derive(Clone, Copy, Debug)]
pub struct Pinned<'a> {
    /// The reference, as the manifest writes it.
    pub reference: &'a str,
    /// What it resolved to.
    pub image: &'a Image,
    /// Platforms that the recipe's targets need.
    pub needed: &'a [String],
}

/// What a piece of evidence says of the image that ran.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Seen {
    /// References, as they stand there: with a tag, a digest, or both.
    pub names: Vec<String>,
    /// Digests that stand for the whole image: an id, or that of a manifest's bytes.
    pub digests: Vec<Digest>,
    /// The platform that it says it is.
    pub platform: Option<String>,
    /// It is a statement about an image, as builders attach them, and no image.
    pub statement: bool,
    /// Digests that an index calls attestations.
    pub attestations: BTreeSet<Digest>,
}

/// What the pinned digest stands for that was found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Through {
    /// The digest of the reference: an index, or the only manifest.
    Reference,
    /// The manifest of a platform.
    Platform,
    /// The config of a platform's image, which names all of its content.
    Config,
}

impl Through {
    /// Returns the word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Reference => "reference",
            Self::Platform => "platform",
            Self::Config => "config",
        }
    }
}

/// What a piece of evidence comes to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It is the pinned image.
    Same {
        /// What proves it.
        through: Through,
        /// The platform, where the digest says which.
        platform: Option<String>,
    },
    /// It is another one.
    Different(String),
    /// What stands there says nothing of the content.
    Unproven(String),
}

impl Verdict {
    /// Returns the word for it.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Same { .. } => "same",
            Self::Different(_) => "different",
            Self::Unproven(_) => "unproven",
        }
    }

    /// Returns the fields of the machine's document.
    #[must_use]
    pub fn to_json(&self) -> Map<String, Value> {
        let (through, platform, why) = match self {
            Self::Same { through, platform } => (Some(through.word()), platform.clone(), None),
            Self::Different(why) | Self::Unproven(why) => (None, None, Some(why.clone())),
        };
        let fields = json!({ "verdict": self.word(), "through": through, "platform": platform, "why": why });
        fields.as_object().cloned().unwrap_or_default()
    }
}

/// Judges a piece of evidence. `platform` is what the run needed, where that is known; `name` says of a
/// reference where it leads, without tag and digest, with its tag and its digest.
#[must_use]
pub fn judge(
    pinned: &Pinned<'_>,
    seen: &Seen,
    platform: Option<&str>,
    attestations: &BTreeSet<Digest>,
    name: &dyn Fn(&str) -> Option<(String, Option<String>, Option<Digest>)>,
) -> Verdict {
    if seen.statement {
        return Verdict::Different(
            "it is a statement about an image (an attestation), and no image".to_owned(),
        );
    }
    let names: Vec<_> = seen.names.iter().filter_map(|text| name(text)).collect();
    let mut digests: Vec<&Digest> = seen.digests.iter().collect();
    digests.extend(names.iter().filter_map(|(_, _, digest)| digest.as_ref()));
    if let Some(attested) = digests.iter().find(|digest| attestations.contains(**digest)) {
        return Verdict::Different(format!("{attested} is an attestation of the pinned index, and no image"));
    }
    let Some((through, which)) = digests.iter().find_map(|digest| proves(pinned.image, digest)) else {
        return other(pinned, &names, &digests, name);
    };
    let wanted: Vec<&str> = match platform {
        Some(platform) => vec![platform],
        None => pinned.needed.iter().map(String::as_str).collect(),
    };
    let is = which.as_deref().or(seen.platform.as_deref());
    if let Some(is) =
        is.filter(|is| !wanted.is_empty() && !wanted.iter().any(|wanted| same_platform(wanted, is)))
    {
        return Verdict::Different(format!("it is for {is}, and {} is needed", wanted.join(" or ")));
    }
    if let (Some(says), Some(which)) = (&seen.platform, &which)
        && !same_platform(says, which)
    {
        return Verdict::Different(format!(
            "it says that it is for {says}, and its digest is that of {which}"
        ));
    }
    let platform = which.or_else(|| seen.platform.clone());
    Verdict::Same { through, platform }
}

/// `linux/arm64` and `linux/arm64/v8` are one platform: registries leave the variant out or not.
fn same_platform(one: &str, other: &str) -> bool {
    let plain = |text: &str| text.trim_end_matches("/v8").to_owned();
    plain(one) == plain(other)
}

/// Says what of the pinned image a digest is, and of which platform.
fn proves(image: &Image, digest: &Digest) -> Option<(Through, Option<String>)> {
    for (name, platform) in &image.platforms {
        if platform.digest == *digest {
            return Some((Through::Platform, Some(name.clone())));
        }
        if platform.config.as_ref() == Some(digest) {
            return Some((Through::Config, Some(name.clone())));
        }
    }
    (image.digest == *digest).then_some((Through::Reference, None))
}

fn other(
    pinned: &Pinned<'_>,
    names: &[(String, Option<String>, Option<Digest>)],
    digests: &[&Digest],
    name: &dyn Fn(&str) -> Option<(String, Option<String>, Option<Digest>)>,
) -> Verdict {
    let wanted = name(pinned.reference);
    let ours = wanted.as_ref().map(|(repository, _, _)| repository);
    let Some(first) = digests.first() else {
        let text = names.iter().map(|(name, tag, _)| match tag {
            Some(tag) => format!("{name}:{tag}"),
            None => name.clone(),
        });
        let text = text.collect::<Vec<_>>().join(", ");
        return Verdict::Unproven(match text.as_str() {
            "" => "it says no digest".to_owned(),
            names => format!("it names {names} without a digest, and tags move"),
        });
    };
    let mine = names.iter().find(|(repository, _, _)| Some(repository) == ours);
    let tag = wanted.as_ref().and_then(|(_, tag, _)| tag.as_ref());
    Verdict::Different(match mine {
        Some((repository, _, _))
            if tag.is_some() && names.iter().any(|(_, other, _)| other.as_ref() == tag) =>
        {
            format!("the tag has moved: {repository} is {first} here, {} in the lock", pinned.image.digest)
        }
        Some((repository, _, _)) => {
            format!("another build of {repository}: {first}, {} in the lock", pinned.image.digest)
        }
        None if names.is_empty() => format!("{first} is nothing that the lock pins"),
        None => format!("another image, {}: {first}", names.first().map_or("", |(name, _, _)| name)),
    })
}

/// Reads a text of evidence: what `docker inspect`, `podman inspect` or `crane manifest` print, the
/// evidence of a launch script, enroot's note, or a reference. `bytes` are those of the text.
///
/// # Errors
/// In a phrase, if it says nothing of an image.
pub fn read(bytes: &[u8]) -> Result<Seen, String> {
    let text = String::from_utf8_lossy(bytes);
    match serde_json::from_str::<Value>(&text) {
        Ok(Value::Array(all)) => match all.as_slice() {
            [one] => of_object(one, bytes),
            _ => Err(format!("it describes {} things, and one ran", all.len())),
        },
        Ok(value) if value.is_object() => of_object(&value, bytes),
        _ => of_text(&text),
    }
}

/// Reads a line as launch scripts and enroot write it: references and digests between white space.
fn of_text(text: &str) -> Result<Seen, String> {
    let line = text.lines().next().unwrap_or_default();
    let line = line.strip_prefix("# enroot-provenance: ").unwrap_or(line);
    let mut seen = Seen::default();
    for word in line.split_whitespace() {
        match word.parse::<Digest>() {
            Ok(digest) => seen.digests.push(digest),
            Err(_) => seen.names.push(word.to_owned()),
        }
    }
    if seen == Seen::default() { Err("it says nothing of an image".to_owned()) } else { Ok(seen) }
}

fn of_object(value: &Value, bytes: &[u8]) -> Result<Seen, String> {
    let text = |name: &str| value.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    let digest = |text: Option<&str>| text.and_then(|text| text.parse::<Digest>().ok());
    if text("kind") == Some("recipec-evidence") {
        let noted = value.pointer("/image/seen").and_then(Value::as_str).unwrap_or_default();
        return of_text(noted).map_err(|_| "the runtime did not say what it ran".to_owned());
    }
    // A manifest or an index: its own bytes are what digests are of.
    if value.get("schemaVersion").is_some() {
        let mut seen = Seen { digests: vec![Digest::of(bytes)], ..Seen::default() };
        let layers = value.get("layers").and_then(Value::as_array);
        seen.statement = layers.is_some_and(|layers| {
            let statement = |layer: &Value| {
                layer
                    .get("mediaType")
                    .and_then(Value::as_str)
                    .is_some_and(|kind| kind.starts_with("application/vnd.in-toto"))
            };
            !layers.is_empty() && layers.iter().all(statement)
        });
        for child in value.get("manifests").and_then(Value::as_array).into_iter().flatten() {
            let kind = child.pointer("/annotations/vnd.docker.reference.type").and_then(Value::as_str);
            if kind == Some("attestation-manifest") {
                seen.attestations.extend(digest(child.get("digest").and_then(Value::as_str)));
            }
        }
        return Ok(seen);
    }
    let mut seen = Seen::default();
    for list in ["RepoDigests", "RepoTags"] {
        let all = value.get(list).and_then(Value::as_array).into_iter().flatten();
        seen.names.extend(all.filter_map(Value::as_str).map(str::to_owned));
    }
    // Of an image `Id`, of a container `Image`; podman has `Digest` as well.
    let container = value.get("State").is_some() || value.get("Mounts").is_some();
    let ids =
        if container { vec![text("Image"), text("ImageDigest")] } else { vec![text("Id"), text("Digest")] };
    seen.digests.extend(ids.into_iter().flatten().filter_map(|id| {
        // Podman writes the bare hexadecimal digits.
        digest(Some(id)).or_else(|| format!("sha256:{id}").parse().ok())
    }));
    if let Some(name) = value.pointer("/Config/Image").and_then(Value::as_str).filter(|name| !name.is_empty())
    {
        // The daemon writes the id here if that was asked for.
        if name.parse::<Digest>().is_err() {
            seen.names.push(name.to_owned());
        }
    }
    if let (Some(system), Some(machine)) = (text("Os"), text("Architecture")) {
        let variant = text("Variant").map_or_else(String::new, |variant| format!("/{variant}"));
        seen.platform = Some(format!("{system}/{machine}{variant}"));
    }
    if seen == Seen::default() { Err("it says nothing of an image".to_owned()) } else { Ok(seen) }
}
