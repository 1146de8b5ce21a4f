//! Pins of images later on: are they still served, and what does a moved tag really change?

use lock::pin::Image;

use super::registry::Registry;
use super::{Reference, Talk};
use crate::endpoints::{Endpoints, Tokens};
use crate::refusal::Refusal;
use crate::transport::{Method, Transport};
use diag::{Diagnostic, slugs::upstream as slug};

/// What differs between an old and a new pin of one reference.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Movement {
    /// Nothing.
    None,
    /// The tag names other bytes, but what runs on the platform is the same image config: a
    /// signature, an attestation or another platform was added.
    OtherParts,
    /// What runs on the platform is another image.
    Content,
}

/// Says whether what a target runs changed between two pins of one reference.
#[must_use]
pub fn movement(old: &Image, new: &Image, platforms: &[String]) -> Movement {
    if old.digest == new.digest {
        return Movement::None;
    }
    let same = |platform: &String| match (old.platforms.get(platform), new.platforms.get(platform)) {
        (Some(old), Some(new)) => {
            old.digest == new.digest || (old.config.is_some() && old.config == new.config)
        }
        _ => false,
    };
    if !platforms.is_empty() && platforms.iter().all(same) { Movement::OtherParts } else { Movement::Content }
}

/// Asks whether a pin is still served: its digest and each platform's that a target needs. HEAD
/// alone is asked: Docker Hub counts GETs against the user's limit, and this is no proof of content.
///
/// # Errors
/// [`Refusal`]: the digest or a part of it is gone, or the registry could not be asked.
pub fn still_served<T: Transport + ?Sized>(
    transport: &T,
    endpoints: &Endpoints,
    tokens: &Tokens,
    reference: &str,
    pin: &Image,
    platforms: &[String],
) -> Result<(), Refusal> {
    let parsed = Reference::parse(reference).map_err(|error| {
        Refusal::manifest(
            Diagnostic::error(slug::IMAGE_REFERENCE, format!("`{reference}` is no image reference"))
                .why(error.to_string()),
        )
    })?;
    let talk = Talk {
        registry: Registry::new(transport, endpoints, tokens, &parsed, reference)?,
        reference: &parsed,
        want: reference,
    };
    let response = talk.registry.manifest(Method::Head, &pin.digest.to_string())?;
    if response.status == 404 {
        return Err(talk.not_found(Some(&pin.digest), &response)?);
    }
    let needed = pin.platforms.iter().filter(|(name, _)| platforms.contains(name));
    for (name, platform) in needed.filter(|(_, platform)| platform.digest != pin.digest) {
        if talk.registry.manifest(Method::Head, &platform.digest.to_string())?.status == 404 {
            return Err(talk.child_gone(name, &platform.digest));
        }
    }
    Ok(())
}
