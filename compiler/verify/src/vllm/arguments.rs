//! The arguments, in upstream's order, and the last of each flag.

use super::{Chosen, Part, Yaml, feature, parallel};

/// Returns program and arguments of a part on a node.
pub(super) fn argv(chosen: &Chosen<'_>, part: Part, rank: u32) -> Vec<String> {
    let mut args: Vec<String> = Vec::new();
    let Chosen { recipe, variant, overrides, gpu, .. } = chosen;
    let mut add =
        |list: Option<&Yaml>| args.extend(list.map(Yaml::items).unwrap_or_default().iter().map(Yaml::word));
    add(recipe.at(&["model", "base_args"]));
    add(variant.get("extra_args"));
    add(variant.at(&["hardware_overrides", gpu.id, "extra_args"]));
    add(chosen.strategy_of(part).get("vllm_args"));
    args.extend(parallel::arguments(chosen, part, rank));
    let mut add =
        |list: Option<&Yaml>| args.extend(list.map(Yaml::items).unwrap_or_default().iter().map(Yaml::word));
    add(overrides.get("extra_args"));
    match part {
        Part::Whole => add(overrides.get("vllm_args")),
        Part::Prefill | Part::Decode => add(chosen.override_of(part).get("vllm_args")),
    }
    let strategy_hardware = overrides.get("hardware_overrides").unwrap_or(&Yaml::Null);
    // What a strategy says of a generation takes the place of what recipe and variant say.
    let block = gpu.block(strategy_hardware);
    if *block != Yaml::Null {
        add(block.get("extra_args"));
    } else {
        add(gpu.block(recipe.get("hardware_overrides").unwrap_or(&Yaml::Null)).get("extra_args"));
        add(gpu.block(variant.get("hardware_overrides").unwrap_or(&Yaml::Null)).get("extra_args"));
    }
    add(strategy_hardware.at(&[gpu.id, "extra_args"]));
    add(chosen.override_of(part).at(&["hardware_overrides", gpu.id, "extra_args"]));
    for name in &chosen.request.features {
        args.extend(feature::arguments(chosen, name));
    }
    if let Some(offload) = kv_offload(chosen, part) {
        args.extend(offload.args.items().iter().map(Yaml::word));
    }
    let model = variant
        .get("model_id")
        .or_else(|| recipe.at(&["model", "model_id"]))
        .map(Yaml::word)
        .unwrap_or_default();
    args.retain(|arg| !arg.is_empty());
    ["vllm".to_owned(), "serve".to_owned(), model].into_iter().chain(last_of_each(args)).collect()
}

/// What an option of KV offload adds to a part.
pub(super) struct KvOffload<'a> {
    pub(super) args: &'a Yaml,
    pub(super) env: &'a Yaml,
}

/// Returns what the option of KV offload that a request asks for adds; `None` where it is not
/// offered: to this strategy, on this brand, or for a recipe that has not verified it.
pub(super) fn kv_offload<'a>(chosen: &Chosen<'a>, part: Part) -> Option<KvOffload<'a>> {
    let name = chosen.request.kv_offload.as_ref()?;
    let none = &Yaml::Null;
    if let Some(store) = chosen.catalog.kv_stores.get(name) {
        let inside = store.get("vllm").unwrap_or(none);
        let args = match part.name() {
            Some(role) => store.at(&["pd", role, "args"]),
            None => inside.get("vllm_args"),
        };
        return Some(KvOffload { args: args.unwrap_or(none), env: inside.get("env").unwrap_or(none) });
    }
    // A cluster of prefill and decode owns the KV transfer itself.
    if chosen.deploys() == "pd_cluster" {
        return None;
    }
    let option = chosen.catalog.taxonomy.at(&["kv_offload", name])?;
    let lists = |key: &str, one: &str| {
        option.get(key).is_none_or(|list| list.items().iter().any(|item| item.text() == Some(one)))
    };
    let opted = option.get("requires_opt_in") != Some(&Yaml::Bool(true))
        || chosen.recipe.at(&["kv_offload_support", name]).and_then(Yaml::text) == Some("verified");
    let offered = opted && lists("strategies", &chosen.request.strategy) && lists("brands", chosen.gpu.brand);
    offered.then(|| KvOffload {
        args: option.get("args").unwrap_or(none),
        env: option.get("env").unwrap_or(none),
    })
}

/// Keeps the last of each flag where it stands. A flag takes the next word as its value unless
/// that begins with a dash; spellings are told apart, as upstream does.
pub(super) fn last_of_each(args: Vec<String>) -> Vec<String> {
    let mut items: Vec<(Option<String>, Vec<String>)> = Vec::new();
    let mut rest = args.into_iter().peekable();
    while let Some(arg) = rest.next() {
        if !arg.starts_with('-') {
            items.push((None, vec![arg]));
            continue;
        }
        let mut words = vec![arg.clone()];
        words.extend(rest.next_if(|next| !next.starts_with('-')));
        items.retain(|(flag, _)| flag.as_deref() != Some(&arg));
        items.push((Some(arg), words));
    }
    items.into_iter().flat_map(|(_, words)| words).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_of_a_flag_wins_where_it_stands() {
        let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(last_of_each(words("--a 1 --b --a 2 --a=3 x --c")), words("--b --a 2 --a=3 x --c"));
    }
}
