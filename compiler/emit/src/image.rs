//! Image references: read as manifests write them, spelt as each runtime can parse them.

use lock::Digest;

/// Where an image lives, without tag or digest.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Reference {
    /// Host of the registry, with its port; Docker Hub is `registry-1.docker.io`.
    registry: String,
    /// Path in it; Docker Hub's own images have `library/` before them.
    repository: String,
}

const HUB: &str = "registry-1.docker.io";

impl Reference {
    /// Reads `[REGISTRY/|REGISTRY#]REPOSITORY[:TAG][@DIGEST]`, in Docker's or enroot's spelling. The
    /// part before the first `/` is a registry if it has a dot or a colon or is `localhost`.
    pub(crate) fn read(text: &str) -> Self {
        let text = text.strip_prefix("docker://").unwrap_or(text);
        let text = text.split_once('@').map_or(text, |(name, _)| name);
        let (registry, rest) = match text.split_once('#') {
            Some(split) => split,
            None => match text.split_once('/') {
                Some((first, rest)) if first.contains(['.', ':']) || first == "localhost" => (first, rest),
                _ => (HUB, text),
            },
        };
        // enroot spells a digest as a tag, `:sha256:HEX`: both parts go.
        let rest = rest.split_once(":sha256:").map_or(rest, |(name, _)| name);
        let name = match rest.rsplit_once(':') {
            Some((name, tag)) if !tag.contains('/') => name,
            _ => rest,
        };
        let registry = if matches!(registry, "docker.io" | "index.docker.io") { HUB } else { registry };
        let repository =
            if registry == HUB && !name.contains('/') { format!("library/{name}") } else { name.to_owned() };
        Self { registry: registry.to_owned(), repository }
    }

    /// Returns what pyxis takes: `REGISTRY#REPOSITORY:sha256:HEX`. Of the spellings with a digest it
    /// is the one that enroot 3.5.0, 4.0.0 and 4.1.2 all parse; `TAG@sha256:HEX` becomes a user
    /// name in the first.
    pub(crate) fn pyxis(&self, digest: &Digest) -> String {
        format!("{}#{}:sha256:{}", self.registry, self.repository, digest.hex())
    }

    /// Returns what `enroot import` takes.
    pub(crate) fn enroot(&self, digest: &Digest) -> String {
        format!("docker://{}", self.pyxis(digest))
    }

    /// Returns what `docker` takes, as it lists it in an image's own digests.
    pub(crate) fn docker(&self, digest: &Digest) -> String {
        if self.registry == HUB {
            let name = self.repository.strip_prefix("library/").unwrap_or(&self.repository);
            format!("{name}@{digest}")
        } else {
            format!("{}/{}@{digest}", self.registry, self.repository)
        }
    }

    /// Returns the name of a squash file of this image: keyed by content, so that a tag that moved
    /// never serves an old import.
    pub(crate) fn squash(&self, digest: &Digest) -> String {
        let name: String = self
            .repository
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_') { c } else { '_' })
            .collect();
        format!("{name}_sha256_{}.sqsh", digest.hex())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_of_a_manifest_reaches_every_runtime() {
        let digest = Digest::of(b"");
        let hex = digest.hex();
        for (written, registry, repository, docker) in [
            ("lmsysorg/sglang:v0.5.14-cu130", HUB, "lmsysorg/sglang", "lmsysorg/sglang"),
            ("ubuntu:22.04", HUB, "library/ubuntu", "ubuntu"),
            ("docker.io/vllm/vllm-openai:v1", HUB, "vllm/vllm-openai", "vllm/vllm-openai"),
            (
                "nvcr.io#nvidia/tensorrt-llm/release:1.3.0rc18",
                "nvcr.io",
                "nvidia/tensorrt-llm/release",
                "nvcr.io/nvidia/tensorrt-llm/release",
            ),
            ("nvcr.io/nvidia/x:1@sha256:ab", "nvcr.io", "nvidia/x", "nvcr.io/nvidia/x"),
            ("127.0.0.1:5055/a/b", "127.0.0.1:5055", "a/b", "127.0.0.1:5055/a/b"),
            ("127.0.0.1:5055#a/b:sha256:00", "127.0.0.1:5055", "a/b", "127.0.0.1:5055/a/b"),
            ("localhost/a:1", "localhost", "a", "localhost/a"),
        ] {
            let reference = Reference::read(written);
            assert_eq!(
                reference.enroot(&digest),
                format!("docker://{registry}#{repository}:sha256:{hex}"),
                "{written}"
            );
            assert_eq!(reference.docker(&digest), format!("{docker}@sha256:{hex}"), "{written}");
        }
    }

    #[test]
    fn a_squash_file_is_named_by_content() {
        let digest = Digest::of(b"");
        let name = Reference::read("lmsysorg/sglang:v1").squash(&digest);
        assert_eq!(name, format!("lmsysorg_sglang_sha256_{}.sqsh", digest.hex()));
        assert_eq!(name, Reference::read("lmsysorg/sglang:v2").squash(&digest));
    }
}
