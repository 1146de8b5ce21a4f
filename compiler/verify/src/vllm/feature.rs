//! Features: what a reader switches on.

use super::{Chosen, Yaml};

/// Returns the arguments of a feature; none if the strategy does not have it.
pub(super) fn arguments(chosen: &Chosen<'_>, name: &str) -> Vec<String> {
    let Some(feature) = chosen.recipe.at(&["features", name]) else { return Vec::new() };
    if let Some(strategies) = feature.get("strategies")
        && !strategies.items().iter().any(|one| one.text() == Some(&chosen.request.strategy))
    {
        return Vec::new();
    }
    let source = match feature.get("modes") {
        Some(modes) => match mode(chosen, name, feature, modes) {
            Some(mode) => mode,
            None => return Vec::new(),
        },
        None => feature,
    };
    let replaced = source
        .get("hardware_overrides")
        .and_then(|overrides| chosen.gpu.keyed(overrides))
        .and_then(|one| one.get("args"));
    let args = replaced.or_else(|| source.get("args")).map(Yaml::items).unwrap_or_default();
    args.iter().map(Yaml::word).collect()
}

/// Returns the mode: the reader's, the variant's, the feature's own, else the first that the
/// variant and the GPU allow.
fn mode<'a>(chosen: &Chosen<'a>, name: &str, feature: &'a Yaml, modes: &'a Yaml) -> Option<&'a Yaml> {
    let allowed = |mode: &&'a Yaml| {
        let variants = mode.get("variants").map(Yaml::items);
        let hardware =
            mode.get("hardware").and_then(|hardware| chosen.gpu.keyed(hardware)).and_then(Yaml::text);
        variants.is_none_or(|list| list.iter().any(|one| one.text() == Some(&chosen.request.variant)))
            && hardware != Some("unsupported")
    };
    let asked = chosen.request.modes.get(name).map(String::as_str);
    let variant = chosen.variant.at(&["default_modes", name]).and_then(Yaml::text);
    let own = feature.get("default_mode").and_then(Yaml::text);
    [asked, variant, own]
        .into_iter()
        .flatten()
        .find_map(|name| modes.get(name).filter(allowed))
        .or_else(|| modes.entries().iter().map(|(_, mode)| mode).find(allowed))
}
