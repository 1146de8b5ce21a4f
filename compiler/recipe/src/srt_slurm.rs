//! srt-slurm: from a recipe of that orchestrator (schema 1) to the processes that it starts.
//!
//! What runs follows from four things: the recipe, the cluster's file, the orchestrator's revision,
//! and whether the run is an evaluation. Only addresses, host names, the folder of logs and one
//! unique name are left to the run; ports are counted here as the orchestrator counts them.

mod config;
mod fields;
mod place;
mod revision;
mod rules;
mod select;
mod services;
mod worker;

use std::collections::BTreeMap;

use diag::Diagnostics;

use crate::plan::{
    File, Group, Hole, Mode, Mount, Phase, Plan, Pool, Rank, Ready, Replica, Role, Seat, Step, Word,
};
use crate::tree::{Node, Tree};

pub use self::revision::Revision;
pub use self::select::select;

use self::config::{Config, Engine, Frontend, at, list, set, text_at};
use self::place::Worker;

/// What a recipe starts, in the order in which it starts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Launch {
    /// The nodes, the first of which may be discovery's own.
    pub pool: Pool,
    /// The image that groups run in, unless they say another.
    pub image: String,
    /// What every group mounts, unless it says otherwise.
    pub mounts: Vec<Mount>,
    /// The groups in start order.
    pub groups: Vec<Group>,
    /// Files that are written before anything starts.
    pub files: Vec<File>,
    /// The group whose end ends the job.
    pub finish: usize,
}

impl Launch {
    /// Returns the launch as a plan of a recipe on a target.
    #[must_use]
    pub fn plan(self, recipe: &str, target: &str, mode: Mode) -> Plan {
        Plan {
            recipe: recipe.to_owned(),
            target: target.to_owned(),
            mode,
            job: None,
            points: Vec::new(),
            image: self.image,
            allocate: None,
            container: Vec::new(),
            kubernetes: None,
            passed: BTreeMap::new(),
            secrets: std::collections::BTreeSet::new(),
            mounts: self.mounts,
            pools: vec![self.pool],
            groups: self.groups,
            files: self.files,
            finish: self.finish,
            wants: std::collections::BTreeSet::new(),
        }
    }
}

/// A recipe, read, with what its launch depends on.
struct Job<'t> {
    config: Config<'t>,
    facts: &'static revision::Facts,
    cluster: &'t Tree,
    /// The model after the cluster's aliases: a folder, or `hf:` and a repository.
    model: &'t str,
    image: &'t str,
    /// How many nodes workers may sit on.
    nodes: u32,
}

impl Job<'_> {
    /// Returns a node's number in the allocation, from its number among those of the workers.
    fn seat(&self, node: u32) -> (u32, u32) {
        (0, node + u32::from(self.config.dedicated))
    }

    fn address(&self, node: u32) -> Word {
        Word::hole(Hole::Address { node: self.seat(node) })
    }

    fn host(&self, node: u32) -> Word {
        Word::hole(Hole::Host { node: self.seat(node) })
    }

    #[expect(clippy::unused_self, reason = "beside its siblings")]
    fn infra_address(&self) -> Word {
        Word::hole(Hole::Address { node: (0, 0) })
    }

    #[expect(clippy::unused_self, reason = "beside its siblings")]
    fn infra_host(&self) -> Word {
        Word::hole(Hole::Host { node: (0, 0) })
    }

    /// Returns the image that an alias of the cluster names.
    fn container<'a>(&'a self, name: &'a str) -> &'a str {
        text_at(self.cluster, &["containers", name]).unwrap_or(name)
    }
}

/// Returns what a recipe starts, and reports what is wrong with it; what cannot start is no launch.
/// `recipe` is one variant ([`select`]), `cluster` the orchestrator's file of the cluster.
pub fn launch(
    recipe: &Tree,
    cluster: &Tree,
    revision: &'static Revision,
    mode: Mode,
    out: &mut Diagnostics,
) -> Option<Launch> {
    fields::check(recipe, revision, out);
    let config = Config::read(recipe, out)?;
    let workers = place::workers(&config, &revision.facts, out)?;
    rules::check(&config, revision, out);
    let model = text_at(cluster, &["model_paths", config.model]).unwrap_or(config.model);
    let image = text_at(cluster, &["containers", config.container]).unwrap_or(config.container);
    let nodes = place::nodes(&config);
    let job = Job { config, facts: &revision.facts, cluster, model, image, nodes };
    Some(job.launch(&workers, mode))
}

/// Collects groups; each starts when those before it are ready.
struct Groups(Vec<Group>);

impl Groups {
    fn add(&mut self, role: Role, name: &str, replicas: Vec<Replica>) -> &mut Group {
        let after = (0..self.0.len()).collect();
        self.0.push(Group {
            role,
            name: name.to_owned(),
            kind: name.to_owned(),
            image: None,
            mounts: None,
            replicas,
            after,
            ready: Ready::Started,
            within: None,
            critical: true,
        });
        let last = self.0.len() - 1;
        &mut self.0[last]
    }
}

fn single(seat: Seat, argv: Vec<Word>, env: BTreeMap<String, Word>) -> Replica {
    let rank = Rank { seat, argv, env, unset: std::collections::BTreeSet::new(), ports: BTreeMap::new() };
    Replica { parallel: None, ranks: vec![rank], step: Step::EachRank }
}

fn ports(numbers: &[u16]) -> Ready {
    Ready::Ports { ports: numbers.iter().map(|port| Word::from(port.to_string())).collect() }
}

impl Job<'_> {
    fn place(&self, node: u32, gpus: &std::ops::Range<u32>) -> Seat {
        let (pool, node) = self.seat(node);
        Seat { pool, node, first: gpus.start, gpus: gpus.end - gpus.start }
    }

    fn launch(&self, workers: &[Worker], mode: Mode) -> Launch {
        let tree = self.config.tree;
        let mounts = self.mounts();
        let mut groups = Groups(Vec::new());
        let infra = Seat { pool: 0, node: 0, first: 0, gpus: 0 };
        if !(self.config.frontend == Frontend::Vllm && self.facts.direct_without_discovery) {
            let discovery = single(infra, self.discovery(), BTreeMap::new());
            let group = groups.add(Role::Discovery, "discovery", vec![discovery]);
            let mut own = mounts.clone();
            own.push(mount(orchestrator("/src/srtctl/cli/setup_head.py"), "/tmp/setup_head.py".into()));
            own.push(mount("/tmp".into(), "/host-tmp".into()));
            group.mounts = Some(own);
            group.ready = ports(&[4222, 2379]);
            group.within = Some(300);
        }
        let mut files = Vec::new();
        if let Some(store) = at(tree, &["backend", "mooncake_kv_store"]) {
            let group = groups.add(
                Role::KvStore,
                "kv-store",
                vec![single(infra, self.store(store), BTreeMap::new())],
            );
            group.image = text_at(store, &["container"]).map(|name| self.container(name).to_owned());
            group.ready = ports(&[8700, 8701, 8702]);
            group.within = Some(120);
            files.extend(self.store_file(store));
        }
        self.workers(workers, &mut groups, &mut files);
        let first = self.routers(workers, &mut groups, &mut files);
        let every = number(tree, &["health_check", "interval_seconds"]).unwrap_or(10);
        let (prefill, decode) = self.registrations(workers, mode);
        let (_, node) = self.seat(self.public(workers));
        let ready = Ready::Registered { node: (0, node), port: "8000".into(), prefill, decode };
        if let Some(group) = groups.0.get_mut(first) {
            group.ready = ready;
            let attempts = number(tree, &["health_check", "max_attempts"]).unwrap_or(180);
            group.within = Some(attempts.saturating_mul(every));
        }
        let seat = |node| self.place(node, &(0..0));
        if mode == Mode::Throughput {
            let argv = self.client();
            let env = self.client_environment(workers);
            let client = single(seat(self.client_node(workers)), argv, env);
            groups.add(Role::Client, "client", vec![client]).ready = Ready::Ended;
        } else {
            let script = "/srtctl-benchmarks/lm-eval/bench.sh";
            let mut argv = worker::Arguments::of(&["bash", script, "http://localhost:8000"]).0;
            if self.facts.workspace {
                argv.push("/infmax-workspace".into());
            }
            let env = BTreeMap::from([("MODEL_NAME".to_owned(), Word::from(self.served()))]);
            groups.add(Role::Eval, "eval", vec![single(seat(0), argv, env)]).ready = Ready::Ended;
        }
        let finish = groups.0.len() - 1;
        let nodes = self.nodes + u32::from(self.config.dedicated);
        let pool = Pool { nodes, gpus: self.config.gpus_per_node };
        Launch { pool, image: self.image.to_owned(), mounts, groups: groups.0, files, finish }
    }

    fn workers(&self, workers: &[Worker], groups: &mut Groups, files: &mut Vec<File>) {
        for role in config::Role::ALL {
            let own: Vec<&Worker> = workers.iter().filter(|worker| worker.role == role).collect();
            if own.is_empty() {
                continue;
            }
            let spans = self.config.engine == Engine::Trtllm;
            let replicas = own
                .iter()
                .map(|worker| {
                    let processes = worker.processes.iter().take(if spans { 1 } else { usize::MAX });
                    let mut ranks: Vec<Rank> = processes.map(|process| self.rank(worker, process)).collect();
                    let mut step = Step::EachRank;
                    if let Some(first) = ranks.first().cloned().filter(|_| spans) {
                        step = Step::Spanning {
                            tasks: u32::try_from(worker.nodes.len() * worker.gpus.len()).unwrap_or(u32::MAX),
                        };
                        ranks.extend(
                            worker
                                .nodes
                                .iter()
                                .skip(1)
                                .map(|&node| Rank { seat: self.place(node, &worker.gpus), ..first.clone() }),
                        );
                    }
                    Replica { parallel: None, ranks, step }
                })
                .collect();
            let phase = match role {
                config::Role::Prefill => Phase::Prefill,
                config::Role::Decode => Phase::Decode,
                config::Role::Agg => Phase::Agg,
            };
            let alone = groups.0.len();
            let group = groups.add(Role::Serve(phase), role.word(), replicas);
            // Workers of all roles start together.
            let waits = group.after.iter().copied();
            group.after = waits.filter(|&index| index < alone).collect();
            if spans {
                let flags = at(self.config.tree, &["backend", "trtllm_config", role.section()]);
                let document = flags.cloned().unwrap_or_else(|| Tree::set([]));
                if let Some(text) = crate::yaml::document(&document, &mut Diagnostics::new()) {
                    files.push(File { path: logs(&format!("trtllm_config_{}.yaml", role.word())), text });
                }
            }
        }
        let serving = |group: &Group| matches!(group.role, Role::Serve(_));
        let together: Vec<usize> = (0..groups.0.len()).filter(|&index| serving(&groups.0[index])).collect();
        for &index in &together {
            groups.0[index].after.retain(|before| !together.contains(before));
        }
    }

    fn rank(&self, worker: &Worker, process: &place::Process) -> Rank {
        let mut named = BTreeMap::from([("system".to_owned(), Word::from(process.system.to_string()))]);
        let mut port = |name: &str, number: u16| {
            named.insert(name.to_owned(), Word::from(number.to_string()));
        };
        if process.http > 0 {
            port("http", process.http);
        }
        if let Some(number) = process.bootstrap.filter(|_| self.config.engine == Engine::Sglang) {
            port("bootstrap", number);
        }
        let mut unset = std::collections::BTreeSet::new();
        if self.config.engine == Engine::Vllm && self.facts.vllm_port && worker.nodes.len() > 1 {
            // Ranks on several nodes that begin to look for a port at one number race for it.
            unset.insert("VLLM_PORT".to_owned());
        }
        Rank {
            seat: self.place(process.node, &process.gpus),
            argv: self.argv(worker, process),
            env: self.environment(worker, process),
            unset,
            ports: named,
        }
    }

    /// Adds the front ends and returns the group at which the workers must be known.
    fn routers(&self, workers: &[Worker], groups: &mut Groups, files: &mut Vec<File>) -> usize {
        if self.config.frontend == Frontend::Vllm {
            return groups.0.len() - 1;
        }
        let behind = services::behind_nginx(self);
        if let Some(nodes) = &behind {
            let text = self.nginx(nodes);
            files.push(File { path: logs("nginx.conf"), text });
            let command = "nginx -c /logs/nginx.conf -g 'daemon off;'";
            let argv = worker::Arguments::of(&["bash", "-c", command]).0;
            let seat = self.place(0, &(0..0));
            let group = groups.add(Role::Proxy, "nginx", vec![single(seat, argv, BTreeMap::new())]);
            let image = text_at(self.config.tree, &["frontend", "nginx_container"]).unwrap_or("nginx:1.27.4");
            group.image = Some(self.container(image).to_owned());
        }
        let nginx = behind.is_some();
        let replicas = behind
            .unwrap_or_else(|| vec![self.public(workers)])
            .into_iter()
            .map(|node| {
                single(self.place(node, &(0..0)), self.router(workers, nginx), self.router_environment())
            })
            .collect();
        groups.add(Role::Router, "router", replicas);
        // Nothing waits for the workers before the front ends are there.
        groups.0.len() - 1
    }

    fn mounts(&self) -> Vec<Mount> {
        let mut mounts = vec![mount(Word::hole(Hole::LogDir), "/logs".into())];
        if !self.model.starts_with("hf:") {
            mounts.push(mount(self.model.into(), "/model".into()));
        }
        mounts.push(mount(orchestrator("/configs"), "/configs".into()));
        if self.facts.runtime_scripts {
            mounts.push(mount(orchestrator("/src/srtctl/runtime_scripts"), "/srtctl-runtime".into()));
        }
        mounts.push(mount(orchestrator("/src/srtctl/benchmarks/scripts"), "/srtctl-benchmarks".into()));
        for (from, to) in set(at(self.cluster, &["default_mounts"])) {
            mounts.push(mount(from.into(), to.as_text().unwrap_or_default().into()));
        }
        for pair in list(at(self.config.tree, &["extra_mount"])).iter().filter_map(Tree::as_text) {
            let (from, to) = pair.split_once(':').unwrap_or((pair, pair));
            let absolute = from.starts_with('/') || from == "tmpfs";
            let from = if absolute { from.into() } else { orchestrator(&format!("/{from}")) };
            mounts.push(mount(from, to.into()));
        }
        if self.facts.workspace {
            mounts.push(mount(Word::hole(Hole::Workspace), "/infmax-workspace".into()));
        }
        mounts
    }

    /// Returns the file from which vLLM's connector reads where the store is.
    fn store_file(&self, store: &Tree) -> Option<File> {
        if self.config.engine != Engine::Vllm {
            return None;
        }
        let mut text = Word::from("{");
        for (name, value) in set(at(store, &["store_config"])) {
            if name != "master_server_address" {
                text.push_text(&format!("{}: {}, ", serde_json::Value::from(name), worker::json(value)));
            }
        }
        text.push_text("\"master_server_address\": \"");
        text.push_word(&self.infra_address());
        text.push_text(":8700\"}\n");
        Some(File { path: logs("mooncake_store_config.json"), text })
    }
}

fn mount(from: Word, to: Word) -> Mount {
    Mount { from, to, readonly: false, create: false }
}

fn orchestrator(path: &str) -> Word {
    let mut word = Word::hole(Hole::Orchestrator);
    word.push_text(path);
    word
}

fn logs(name: &str) -> Word {
    let mut word = Word::hole(Hole::LogDir);
    word.push_text("/");
    word.push_text(name);
    word
}

fn number(tree: &Tree, path: &[&str]) -> Option<u64> {
    match at(tree, path)?.node {
        Node::Int(number) => u64::try_from(number).ok(),
        _ => None,
    }
}
