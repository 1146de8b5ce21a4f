//! The environment, in upstream's order: the last one wins.

use std::collections::BTreeMap;

use super::{Chosen, Part, Yaml, arguments, parallel};

pub(super) fn env(chosen: &Chosen<'_>, part: Part) -> BTreeMap<String, String> {
    let mut env = BTreeMap::new();
    let Chosen { recipe, variant, overrides, gpu, .. } = chosen;
    let mut add = |map: Option<&Yaml>| {
        let entries = map.map(Yaml::entries).unwrap_or_default();
        env.extend(entries.iter().map(|(name, value)| (name.clone(), value.word())));
    };
    add(recipe.at(&["model", "base_env"]));
    add(variant.get("extra_env"));
    add(variant.at(&["hardware_overrides", gpu.id, "extra_env"]));
    add(chosen.strategy_of(part).get("env"));
    let offload = arguments::kv_offload(chosen, part);
    add(offload.as_ref().map(|offload| offload.env));
    let visible = visible_devices(chosen, part);
    add(visible.as_ref());
    add(overrides.get("env"));
    add(chosen.override_of(part).get("env"));
    add(overrides.get("extra_env"));
    let strategy_hardware = overrides.get("hardware_overrides").unwrap_or(&Yaml::Null);
    let block = gpu.block(strategy_hardware);
    if *block != Yaml::Null {
        add(block.get("extra_env"));
    } else {
        add(gpu.block(recipe.get("hardware_overrides").unwrap_or(&Yaml::Null)).get("extra_env"));
        add(gpu.block(variant.get("hardware_overrides").unwrap_or(&Yaml::Null)).get("extra_env"));
    }
    add(strategy_hardware.at(&[gpu.id, "extra_env"]));
    add(chosen.override_of(part).at(&["hardware_overrides", gpu.id, "extra_env"]));
    if part != Part::Whole && !matches!(gpu.id, "gb200" | "gb300") {
        // Only trays of these two share NVLink beyond the node.
        env.retain(|name, _| {
            !matches!(
                name.as_str(),
                "NCCL_CUMEM_ENABLE"
                    | "NCCL_MNNVL_ENABLE"
                    | "NCCL_NVLS_ENABLE"
                    | "UCX_NET_DEVICES"
                    | "VLLM_USE_NCCL_SYMM_MEM"
            )
        });
    }
    env
}

/// Pools are told their GPUs: two on one node share them.
fn visible_devices(chosen: &Chosen<'_>, part: Part) -> Option<Yaml> {
    if part == Part::Whole || chosen.gpu.count < 2 {
        return None;
    }
    let visible = parallel::pool(chosen, part).visible;
    let first = if part == Part::Decode && chosen.request.nodes <= 1 { visible } else { 0 };
    let ids: Vec<String> = (first..first + visible).map(|id| id.to_string()).collect();
    Some(Yaml::Map(vec![("CUDA_VISIBLE_DEVICES".to_owned(), Yaml::Text(ids.join(",")))]))
}
