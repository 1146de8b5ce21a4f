//! The image comes from the engine's own project.

use diag::slugs::verify::IMAGE_ORGANIZATION;

use super::{policy_file, verdict};
use crate::claim::Subject;
use crate::policy::Policy;
use crate::verdict::{Outcome, Verdict};

pub(crate) fn judge(subject: &Subject<'_>, policy: &Policy) -> Vec<Verdict> {
    let Some(wanted) = policy.images.organizations.get(subject.engine.name()) else { return Vec::new() };
    let mut skus: Vec<&str> = subject.hardware.values().map(|gpu| gpu.sku.as_str()).collect();
    skus.retain(|sku| policy.images.skus.iter().any(|one| one.eq_ignore_ascii_case(sku)));
    if skus.is_empty() {
        return Vec::new();
    }
    let found = organization(&subject.image);
    let outcome = if wanted.contains(&found) { Outcome::Holds } else { Outcome::Drifts };
    let message = match outcome {
        Outcome::Holds => format!("`{}` is {}'s own", subject.image, subject.engine.title()),
        _ => format!(
            "`{}` is of `{found}`; {} publishes as {}",
            subject.image,
            subject.engine.title(),
            wanted.join(" or ")
        ),
    };
    let mut found = verdict(subject, IMAGE_ORGANIZATION, outcome, message);
    found.evidence.push(policy_file("images.json"));
    vec![found]
}

/// Returns the organization of an image: what stands between the registry and the repository.
fn organization(image: &str) -> String {
    let path = image.replace('#', "/");
    let parts: Vec<&str> = path.split('/').collect();
    // A first part with a dot or a port is a registry; Docker Hub's own name says nothing.
    let rest = match parts.as_slice() {
        [registry, rest @ ..]
            if !rest.is_empty() && (registry.contains(['.', ':']) || *registry == "localhost") =>
        {
            if *registry == "docker.io" {
                rest
            } else {
                return format!("{registry}/{}", rest.first().unwrap_or(&""));
            }
        }
        all => all,
    };
    match rest {
        [organization, _, ..] => (*organization).to_owned(),
        _ => "library".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_organization_is_read_from_any_spelling() {
        for (image, expected) in [
            ("lmsysorg/sglang:v0.5.14-cu130", "lmsysorg"),
            ("docker.io/vllm/vllm-openai:v1", "vllm"),
            ("nvcr.io#nvidia/tensorrt-llm/release:1", "nvcr.io/nvidia"),
            ("ubuntu:24.04", "library"),
            ("localhost:5000/vllm/vllm-openai", "localhost:5000/vllm"),
        ] {
            assert_eq!(organization(image), expected, "{image}");
        }
    }
}
