//! The image that upstream suggests.

use super::{Gpu, Yaml};

pub(super) fn image(recipe: &Yaml, variant: &Yaml, gpu: &Gpu<'_>) -> String {
    let brand = gpu.brand.to_lowercase();
    let exact = variant.at(&["hardware_overrides", gpu.id, "docker_image"]).map(Yaml::word);
    // An image that is given without a brand is CUDA's; these three have builds of their own.
    let own_build = matches!(gpu.brand, "AMD" | "Google" | "Intel");
    let by_brand = |value: &Yaml| -> Option<String> {
        match value {
            Yaml::Text(text) if !own_build => Some(text.clone()),
            Yaml::Map(_) => match value.get(&brand)? {
                Yaml::Text(text) => Some(text.clone()),
                versions => versions.entries().first().map(|(_, image)| image.word()),
            },
            _ => None,
        }
    };
    let stated = exact
        .or_else(|| variant.get("docker_image").and_then(by_brand))
        .or_else(|| recipe.at(&["model", "docker_image"]).and_then(by_brand));
    let nightly = recipe.at(&["model", "nightly_required"]) == Some(&Yaml::Bool(true));
    stated.unwrap_or_else(|| {
        let (name, tag) = match (gpu.brand, gpu.generation) {
            (_, "cpu") => return "vllm/vllm-openai-cpu:latest-x86_64".to_owned(),
            ("AMD", _) => ("vllm/vllm-openai-rocm", nightly),
            ("Google", _) => ("vllm/vllm-tpu", false),
            (_, "xpu") => ("vllm/vllm-openai-xpu", false),
            _ => ("vllm/vllm-openai", nightly),
        };
        format!("{name}:{}", if tag { "nightly" } else { "latest" })
    })
}
