//! How the GPUs are shared out, in arguments.

use super::{Chosen, Part, Yaml};

/// Returns the arguments that say how a part uses its GPUs on a node.
pub(super) fn arguments(chosen: &Chosen<'_>, part: Part, rank: u32) -> Vec<String> {
    match (chosen.deploys(), part) {
        ("multi_node", _) => several_nodes(chosen, rank),
        ("pd_cluster", Part::Prefill | Part::Decode) => role(chosen, part),
        _ => one_node(chosen),
    }
}

fn flag(name: &str, value: impl std::fmt::Display) -> [String; 2] {
    [name.to_owned(), value.to_string()]
}

fn kind(chosen: &Chosen<'_>) -> &'static str {
    let name = chosen.request.strategy.as_str();
    if name.ends_with("_dep") {
        "dep"
    } else if name.ends_with("_tep") {
        "tep"
    } else {
        "tp"
    }
}

fn one_node(chosen: &Chosen<'_>) -> Vec<String> {
    let name = chosen.strategy.get("parallel_flag").and_then(Yaml::text).unwrap_or("--tensor-parallel-size");
    let size =
        if chosen.request.strategy == "single_node_tp" { tensor_parallel(chosen) } else { chosen.gpu.count };
    flag(name, size).to_vec()
}

/// Returns the width of tensor parallelism on one node: as the variant says, as the recipe says of
/// the strategy, one GPU where the model fits on it, else all.
fn tensor_parallel(chosen: &Chosen<'_>) -> u64 {
    let gpu = &chosen.gpu;
    let stated = |value: &Yaml| match value {
        Yaml::Map(_) => gpu.keyed(value).and_then(Yaml::whole),
        other => other.whole(),
    };
    let hint =
        chosen.variant.get("tp").and_then(stated).or_else(|| chosen.overrides.get("tp").and_then(stated));
    if let Some(hint) = hint.filter(|hint| *hint > 0) {
        return if gpu.generation == "cpu" { hint } else { hint.min(gpu.count) };
    }
    let needed = chosen.variant.get("vram_minimum_gb").and_then(Yaml::number);
    #[expect(clippy::cast_precision_loss, reason = "GPUs of a node are few")]
    let fits = needed.is_some_and(|needed| needed > 0.0 && needed <= gpu.vram / gpu.count.max(1) as f64);
    if fits { 1 } else { gpu.count }
}

/// Returns the last value of a flag among what the recipe overrides of the strategy.
fn overridden(chosen: &Chosen<'_>, name: &str) -> Option<u64> {
    let block = chosen.gpu.block(chosen.overrides.get("hardware_overrides").unwrap_or(&Yaml::Null));
    let lists = [
        chosen.overrides.get("extra_args"),
        chosen.overrides.get("vllm_args"),
        block.get("extra_args"),
        chosen.overrides.at(&["hardware_overrides", chosen.gpu.id, "extra_args"]),
    ];
    let words: Vec<String> = lists.into_iter().flatten().flat_map(Yaml::items).map(Yaml::word).collect();
    words.windows(2).rev().find(|pair| pair[0] == name).and_then(|pair| pair[1].parse().ok())
}

fn several_nodes(chosen: &Chosen<'_>, rank: u32) -> Vec<String> {
    let nodes = u64::from(chosen.request.nodes.max(1));
    let count = chosen.gpu.count;
    let total = count * nodes;
    let rank = u64::from(rank);
    let mut args: Vec<String> = Vec::new();
    let data_parallel = |args: &mut Vec<String>, size: u64, local: u64| {
        args.extend(flag("--data-parallel-size", size));
        args.extend(flag("--data-parallel-size-local", local));
        args.extend(flag("--data-parallel-address", "$HEAD_IP"));
        if rank > 0 {
            let local = overridden(chosen, "--data-parallel-size-local").unwrap_or(local);
            args.extend(flag("--data-parallel-start-rank", rank * local));
        }
    };
    let rendezvous = |args: &mut Vec<String>| {
        args.extend(flag("--nnodes", nodes));
        args.extend(flag("--node-rank", rank));
        args.extend(flag("--master-addr", "$HEAD_IP"));
        if rank > 0 {
            args.push("--headless".to_owned());
        }
    };
    match (chosen.strategy.get("parallelism").and_then(Yaml::text), kind(chosen)) {
        (Some("tp_dp"), _) => {
            args.extend(flag("--tensor-parallel-size", count));
            data_parallel(&mut args, nodes, 1);
        }
        (Some("tp_pp"), _) => {
            args.extend(flag("--tensor-parallel-size", count));
            args.extend(flag("--pipeline-parallel-size", nodes));
            rendezvous(&mut args);
        }
        (_, "dep") => data_parallel(&mut args, total, count),
        _ => {
            let name =
                chosen.strategy.get("parallel_flag").and_then(Yaml::text).unwrap_or("--tensor-parallel-size");
            args.extend(flag(name, total));
            rendezvous(&mut args);
        }
    }
    args
}

/// How a pool of prefill or decode servers is shared out.
pub(super) struct Pool {
    /// `dep`, `tep` or `tp`.
    pub(super) parallelism: String,
    /// GPUs of one node that the pool sees.
    pub(super) visible: u64,
    /// Tensor parallelism that the recipe states.
    pub(super) stated: Option<u64>,
}

/// Returns how a role's pool is shared out: it is of one node, and two pools on one node halve
/// its GPUs.
pub(super) fn pool(chosen: &Chosen<'_>, part: Part) -> Pool {
    let role = chosen.override_of(part);
    let gpu = &chosen.gpu;
    let stated = |value: &Yaml| match value {
        Yaml::Map(_) => gpu.keyed(value).and_then(Yaml::whole),
        other => other.whole(),
    };
    let modes: Vec<&str> = chosen
        .overrides
        .get("pool_modes")
        .map(Yaml::items)
        .unwrap_or_default()
        .iter()
        .filter_map(Yaml::text)
        .collect();
    let wanted = role.get("parallelism").and_then(Yaml::text).unwrap_or("tp");
    let parallelism = if modes.is_empty() || modes.contains(&wanted) {
        wanted
    } else {
        modes.first().copied().unwrap_or(wanted)
    };
    let visible = if chosen.request.nodes > 1 { gpu.count } else { (gpu.count / 2).max(1) };
    Pool { parallelism: parallelism.to_owned(), visible, stated: role.get("tp").and_then(stated) }
}

fn role(chosen: &Chosen<'_>, part: Part) -> Vec<String> {
    let pool = pool(chosen, part);
    let count = chosen.gpu.count;
    let name = if part == Part::Prefill { "PREFILL" } else { "DECODE" };
    let mut args: Vec<String> = Vec::new();
    match pool.parallelism.as_str() {
        "dep" => {
            if let Some(stated) = pool.stated {
                args.extend(flag("--tensor-parallel-size", stated));
            }
            args.extend(flag("--data-parallel-size", count));
            args.extend(flag("--data-parallel-size-local", count));
            args.extend(flag("--data-parallel-start-rank", 0));
            args.extend(flag("--data-parallel-address", format!("${name}_NODE_1")));
            args.extend(flag("--data-parallel-rpc-port", format!("${name}_DP_RPC_PORT")));
            args.push("--enable-expert-parallel".to_owned());
        }
        "tep" => {
            args.extend(flag("--tensor-parallel-size", pool.visible));
            args.push("--enable-expert-parallel".to_owned());
        }
        _ => args.extend(flag("--tensor-parallel-size", pool.visible)),
    }
    args
}

/// Returns the router's command, as shown.
pub(super) fn router(chosen: &Chosen<'_>) -> String {
    let policy = chosen.strategy.at(&["router", "policy"]).and_then(Yaml::text).unwrap_or("round_robin");
    let stated = chosen.overrides.at(&["router", "intra_node_data_parallel_size"]).and_then(Yaml::whole);
    let pools = [Part::Prefill, Part::Decode].map(|part| pool(chosen, part));
    let wide = pools.iter().all(|pool| pool.parallelism == "dep");
    let inside = stated.unwrap_or(if wide { chosen.gpu.count } else { 1 });
    [
        format!("vllm-router --policy {policy}"),
        "    --vllm-pd-disaggregation".to_owned(),
        "    --prefill http://$PREFILL_NODE_1:8001".to_owned(),
        "    --decode http://$DECODE_NODE_1:8002".to_owned(),
        "    --host $ROUTER_HOST".to_owned(),
        "    --port $ROUTER_PORT".to_owned(),
        format!("    --intra-node-data-parallel-size {inside}"),
    ]
    .join(" \\\n")
}
