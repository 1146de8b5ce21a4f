//! Where workers sit and which ports they get.

use std::collections::BTreeMap;

use diag::{Diagnostic, Diagnostics, slugs};

use super::config::{Config, Engine, Role, flag};
use super::revision::Facts;

/// More GPUs than any job has; a recipe may be hostile.
const MOST: u32 = 16_384;

/// A worker: one unit that serves, on one node or more.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Worker {
    pub role: Role,
    /// Its number among those of its role.
    pub index: u32,
    /// Its nodes, as indices into the nodes that workers sit on.
    pub nodes: Vec<u32>,
    /// Its GPUs on each node.
    pub gpus: std::ops::Range<u32>,
    pub processes: Vec<Process>,
}

/// A process of a worker, with its ports.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Process {
    pub node: u32,
    pub gpus: std::ops::Range<u32>,
    /// Its node's number within the worker, or its first data-parallel rank.
    pub rank: u32,
    /// Its number among all processes of workers.
    pub number: u16,
    pub http: u16,
    pub bootstrap: Option<u16>,
    pub events: u16,
    pub side_channel: u16,
    pub rendezvous: Option<u16>,
    pub system: u16,
}

/// Counters that begin anew on each node.
struct PerNode(BTreeMap<u32, u16>, u16, u16);

impl PerNode {
    fn next(&mut self, node: u32) -> u16 {
        let next = self.0.entry(node).or_insert(self.1);
        let port = *next;
        *next = next.saturating_add(self.2);
        port
    }
}

fn take(next: &mut u16, count: u32) -> u16 {
    let first = *next;
    *next = next.saturating_add(u16::try_from(count).unwrap_or(u16::MAX));
    first
}

/// Returns how many nodes the workers need at most, if each role begins on a node of its own.
fn room(config: &Config<'_>) -> u32 {
    let tree = config.tree;
    let count = |name: &str| match super::config::at(tree, &["resources", name]).map(|tree| &tree.node) {
        Some(crate::tree::Node::Int(number)) => u32::try_from(*number).unwrap_or(0),
        _ => 0,
    };
    if config.split() {
        count("prefill_nodes").saturating_add(count("decode_nodes"))
    } else {
        config.agg_nodes
    }
}

/// Places the workers. Nodes are counted from the first that workers may sit on.
pub(super) fn workers(config: &Config<'_>, facts: &Facts, out: &mut Diagnostics) -> Option<Vec<Worker>> {
    let nodes = nodes(config);
    if nodes.saturating_mul(config.gpus_per_node) > MOST {
        let mut finding = Diagnostic::error(
            slugs::recipe::OUT_OF_RANGE,
            format!("{nodes} nodes of {} GPUs are more than {MOST} GPUs", config.gpus_per_node),
        );
        finding.span = super::config::at(config.tree, &["resources"]).and_then(|tree| tree.at);
        out.push(finding);
        return None;
    }
    let mut workers = Vec::new();
    // What does not fit is counted, and not made.
    let mut used = 0;
    let mut add = |new: Worker, last: u32| {
        used = used.max(last + 1);
        if last < nodes {
            workers.push(new);
        }
    };
    let (mut node, mut offset) = (0_u32, 0_u32);
    for role in Role::ALL {
        let wanted = config.of(role);
        if wanted.count == 0 {
            continue;
        }
        if role == Role::Decode && offset > 0 && node + 1 < nodes && !together(config) {
            node += 1;
            offset = 0;
        }
        for index in 0..wanted.count {
            let width = config.gpus_per_node;
            if wanted.gpus >= width {
                let count = wanted.gpus.div_ceil(width);
                let fits = node + count <= nodes;
                let own = if fits { (node..node + count).collect() } else { Vec::new() };
                add(worker(role, index, own, 0..width), node + count - 1);
                node += count;
            } else {
                if offset + wanted.gpus > width {
                    node += 1;
                    offset = 0;
                }
                add(worker(role, index, vec![node], offset..offset + wanted.gpus), node);
                offset += wanted.gpus;
                if offset >= width || config.spread {
                    node += 1;
                    offset = 0;
                }
            }
        }
    }
    if used > nodes {
        let mut finding = Diagnostic::error(
            slugs::recipe::TOO_FEW_NODES,
            format!("the workers need {used} nodes, and the recipe asks for {nodes}"),
        );
        finding.span = super::config::at(config.tree, &["resources"]).and_then(|tree| tree.at);
        out.push(
            finding.why("whole-node workers begin on a node of their own, and smaller ones fill a node"),
        );
        return None;
    }
    number(config, facts, &mut workers);
    Some(workers)
}

/// Returns the nodes that workers sit on.
pub(super) fn nodes(config: &Config<'_>) -> u32 {
    let together = together(config);
    let gpus: u32 = config.workers.iter().map(|workers| workers.count.saturating_mul(workers.gpus)).sum();
    if together && config.split() {
        return gpus.div_ceil(config.gpus_per_node).max(1);
    }
    room(config).max(1)
}

/// Returns whether prefill and decode share nodes.
fn together(config: &Config<'_>) -> bool {
    let may = |name: &str| flag(config.tree, &["backend", name], false);
    if config.engine != Engine::Vllm || !may("allow_prefill_decode_colocation") {
        return false;
    }
    let (prefill, decode) = (config.of(Role::Prefill), config.of(Role::Decode));
    let gpus: u32 = config.workers.iter().map(|workers| workers.count.saturating_mul(workers.gpus)).sum();
    prefill.count > 0
        && decode.count > 0
        && (gpus <= config.gpus_per_node || may("allow_prefill_decode_colocation_across_nodes"))
}

fn worker(role: Role, index: u32, nodes: Vec<u32>, gpus: std::ops::Range<u32>) -> Worker {
    Worker { role, index, nodes, gpus, processes: Vec::new() }
}

/// Gives every worker its processes and every process its ports, in the order in which they start.
fn number(config: &Config<'_>, facts: &Facts, workers: &mut [Worker]) {
    let ports = facts.ports;
    let mut http = PerNode(BTreeMap::new(), ports.http, ports.http_step);
    let mut bootstrap = PerNode(BTreeMap::new(), ports.bootstrap, 1);
    let mut rendezvous = PerNode(BTreeMap::new(), ports.rendezvous, 1);
    let (mut events, mut side_channel) = (ports.events, ports.side_channel);
    let mut number = 0_u16;
    for worker in workers {
        let prefill = worker.role == Role::Prefill;
        let size = config.data_parallel(worker.role);
        let Some(&leader) = worker.nodes.first() else { continue };
        let mut add = |process: Process| {
            let system = ports.system.saturating_add(number);
            worker.processes.push(Process { number, system, ..process });
            number = number.saturating_add(1);
        };
        let process = Process {
            node: leader,
            gpus: worker.gpus.clone(),
            rank: 0,
            number: 0,
            http: 0,
            bootstrap: None,
            events: 0,
            side_channel: 0,
            rendezvous: None,
            system: 0,
        };
        match size {
            Some(size) if config.per_node() => {
                let port = rendezvous.next(leader);
                let block = take(&mut side_channel, size);
                let width = worker.gpus.end - worker.gpus.start;
                for (place, &node) in (0..).zip(&worker.nodes) {
                    add(Process {
                        node,
                        rank: place * width,
                        http: http.next(node),
                        bootstrap: prefill.then(|| bootstrap.next(node)),
                        events: take(&mut events, width),
                        side_channel: block,
                        rendezvous: Some(port),
                        ..process.clone()
                    });
                }
            }
            Some(size) => {
                let port = rendezvous.next(leader);
                let block = (!facts.side_channel_each).then(|| take(&mut side_channel, size));
                let mut rank = 0;
                for &node in &worker.nodes {
                    for gpu in worker.gpus.clone() {
                        add(Process {
                            node,
                            gpus: gpu..gpu + 1,
                            rank,
                            http: if rank == 0 { http.next(node) } else { 0 },
                            bootstrap: (prefill && rank == 0).then(|| bootstrap.next(node)),
                            events: take(&mut events, 1),
                            side_channel: block.unwrap_or_else(|| take(&mut side_channel, 1)),
                            rendezvous: Some(port),
                            ..process.clone()
                        });
                        rank += 1;
                    }
                }
            }
            None => {
                let port = prefill.then(|| bootstrap.next(leader));
                for (rank, &node) in (0..).zip(&worker.nodes) {
                    add(Process {
                        node,
                        rank,
                        http: if rank == 0 { http.next(node) } else { 0 },
                        bootstrap: port,
                        events: take(&mut events, 1),
                        side_channel: take(&mut side_channel, 1),
                        ..process.clone()
                    });
                }
            }
        }
    }
}
