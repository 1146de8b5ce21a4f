//! What each worker is started with: its arguments and its environment.

use std::collections::BTreeMap;

use crate::plan::{Hole, Word};
use crate::tree::{Node, Tree};

use super::Job;
use super::config::{Engine, Frontend, Role, at, same, scalar, set, text_at};
use super::place::{Process, Worker};

/// Flags that direct vLLM gets from its place.
const PLACED: &[&str] = &["headless", "host", "port", "master-addr", "master-port", "nnodes", "node-rank"];
/// Flags that vLLM under data parallelism, a process a node, gets from its place.
const PLACED_PER_NODE: &[&str] = &[
    "data-parallel-rpc-port",
    "data-parallel-size-local",
    "data-parallel-start-rank",
    "data-parallel-hybrid-lb",
    "headless",
];
/// The name of a model and where it lies, which the orchestrator says itself.
const MODEL: &[&str] = &["model-path", "served-model-name"];
/// What Dynamo logs of a worker.
const LOG: &str = "info,dynamo_runtime::pipeline::network::ingress::push_handler=warn";

/// Arguments as they grow.
#[derive(Default)]
pub(super) struct Arguments(pub Vec<Word>);

impl Arguments {
    pub(super) fn of(words: &[&str]) -> Self {
        Self(words.iter().map(|&word| word.into()).collect())
    }

    pub(super) fn add(&mut self, words: &[&str]) {
        self.0.extend(words.iter().map(|&word| Word::from(word)));
    }

    pub(super) fn flag(&mut self, name: &str, value: impl Into<Word>) {
        self.0.push(name.into());
        self.0.push(value.into());
    }

    fn number(&mut self, name: &str, value: impl ToString) {
        self.flag(name, value.to_string());
    }

    /// Adds the flags of a recipe: an underscore is a dash, `true` is the bare flag, a list follows
    /// its flag, `false` and `null` give nothing.
    fn flags(&mut self, flags: &[(&str, &Tree)]) {
        for (name, value) in flags {
            let name = format!("--{}", name.replace('_', "-"));
            match &value.node {
                Node::Null | Node::Bool(false) => {}
                Node::Bool(true) => self.0.push(name.into()),
                Node::List(items) => {
                    self.0.push(name.into());
                    self.0.extend(items.iter().filter_map(scalar).map(Word::from));
                }
                _ => {
                    if let Some(value) = scalar(value) {
                        self.flag(&name, value);
                    }
                }
            }
        }
    }
}

fn without<'t>(mut flags: Vec<(&'t str, &'t Tree)>, names: &[&str]) -> Vec<(&'t str, &'t Tree)> {
    flags.retain(|(key, _)| !names.iter().any(|name| same(key, name)));
    flags
}

impl Job<'_> {
    /// Returns the name that the model is served by.
    pub(super) fn served(&self) -> String {
        let config = &self.config;
        let last = || self.model.rsplit('/').next().unwrap_or_default().to_owned();
        if config.engine == Engine::Trtllm {
            return last();
        }
        [Role::Prefill, Role::Agg, Role::Decode]
            .iter()
            .find_map(|&role| config.flag(role, "served-model-name").and_then(Tree::as_text))
            .map_or_else(last, str::to_owned)
    }

    /// Returns what workers are told that the model is: a repository, or the mounted folder.
    pub(super) fn model_argument(&self) -> &str {
        self.model.strip_prefix("hf:").unwrap_or("/model")
    }

    /// Returns how requests reach workers.
    pub(super) fn plane(&self) -> &str {
        text_at(self.config.tree, &["dynamo", "request_plane"]).unwrap_or(self.facts.plane)
    }

    /// Returns the arguments of a process.
    pub(super) fn argv(&self, worker: &Worker, process: &Process) -> Vec<Word> {
        match self.config.engine {
            Engine::Sglang => self.sglang(worker, process),
            Engine::Trtllm => self.trtllm(worker.role),
            Engine::Vllm if self.config.frontend == Frontend::Vllm => self.vllm_direct(worker, process),
            Engine::Vllm => self.vllm(worker, process),
        }
    }

    fn sglang(&self, worker: &Worker, process: &Process) -> Vec<Word> {
        let direct = self.config.frontend == Frontend::Sglang;
        let module = if direct { "sglang.launch_server" } else { "dynamo.sglang" };
        let mut to = Arguments::of(&["python3", "-m", module, "--model-path", self.model_argument()]);
        to.flag("--served-model-name", self.served());
        to.add(&["--host", "0.0.0.0"]);
        to.number("--port", process.http);
        if self.facts.nccl_port {
            to.number("--nccl-port", 17500 + process.number);
        }
        if worker.role != Role::Agg {
            to.add(&["--disaggregation-mode", worker.role.word()]);
        }
        if let Some(port) = process.bootstrap.filter(|_| self.facts.owns_flags || direct) {
            to.number("--disaggregation-bootstrap-port", port);
        }
        if worker.nodes.len() > 1 {
            let mut address = self.address(worker.nodes[0]);
            address.push_text(&format!(":{}", self.facts.ports.init));
            to.flag("--dist-init-addr", address);
            to.number("--nnodes", worker.nodes.len());
            to.number("--node-rank", process.rank);
        }
        if !direct {
            to.flag("--dump-config-to", self.dump(process.node));
        }
        if let Some(events) = self.events(worker.role, process.events) {
            to.flag("--kv-events-config", events);
        }
        if !direct && self.facts.plane_flag_sglang {
            to.add(&["--request-plane", self.plane()]);
        }
        let flags = self.config.flags(worker.role);
        to.flags(&if self.facts.owns_flags { without(flags, MODEL) } else { flags });
        to.0
    }

    fn trtllm(&self, role: Role) -> Vec<Word> {
        let mut to = Arguments::default();
        if matches!(self.config.gpu_type, "gb200" | "gb300") && role != Role::Agg {
            to.add(&["numactl", "-m", "0,1"]);
        }
        to.add(&["trtllm-llmapi-launch", "python3", "-m", "dynamo.trtllm"]);
        to.add(&["--model-path", self.model_argument()]);
        to.flag("--served-model-name", self.served());
        if role != Role::Agg {
            to.add(&["--disaggregation-mode", role.word()]);
        }
        to.flag("--extra-engine-args", format!("/logs/trtllm_config_{}.yaml", role.word()));
        to.add(&["--request-plane", self.plane()]);
        if super::config::flag(self.config.tree, &["backend", "publish_events_and_metrics"], false) {
            to.add(&["--publish-events-and-metrics"]);
        }
        to.0
    }

    fn vllm_direct(&self, worker: &Worker, process: &Process) -> Vec<Word> {
        let mut to = Arguments::of(&["vllm", "serve", self.model_argument()]);
        let mut flags = without(self.config.flags(worker.role), PLACED);
        flags = without(flags, &["connector"]);
        if process.rank == 0 {
            to.add(&["--host", "0.0.0.0", "--port", "8000"]);
        }
        if worker.nodes.len() > 1 {
            self.spread(&mut to, worker, process);
            if process.rank > 0 {
                flags = without(flags, &["api-server-count"]);
            }
        }
        self.devices(&mut to, process);
        let name = Tree::from(self.served().as_str());
        if !flags.iter().any(|(key, _)| *key == "served-model-name") {
            flags.push(("served-model-name", &name));
            flags.sort_by_key(|(key, _)| *key);
        }
        to.flags(&flags);
        to.0
    }

    fn vllm(&self, worker: &Worker, process: &Process) -> Vec<Word> {
        let config = &self.config;
        let mut to = Arguments::of(&["python3", "-m", "dynamo.vllm", "--model", self.model_argument()]);
        to.flag("--served-model-name", self.served());
        if worker.role != Role::Agg {
            to.add(&["--disaggregation-mode", worker.role.word()]);
        }
        let mut flags = without(config.flags(worker.role), &["connector"]);
        let backend = config.tree.get("backend").and_then(|field| field.value.get("connector"));
        let connector = match (config.flag(worker.role, "connector"), backend) {
            (Some(own), _) => own.as_text(),
            (None, Some(field)) => field.value.as_text(),
            (None, None) => Some("nixl"),
        };
        if let Some(connector) = connector.filter(|name| !matches!(*name, "null" | "none" | "")) {
            to.flag("--kv-transfer-config", transfer(connector));
        }
        self.devices(&mut to, process);
        match (config.data_parallel(worker.role), process.rendezvous) {
            (Some(_), Some(port)) => {
                let address = self.address(worker.nodes[0]);
                if config.per_node() {
                    flags = without(flags, PLACED_PER_NODE);
                    to.number("--data-parallel-size-local", process.gpus.len());
                    to.number("--data-parallel-start-rank", process.rank);
                    to.flag("--data-parallel-address", address);
                    to.number("--data-parallel-rpc-port", port);
                    to.add(&["--data-parallel-hybrid-lb"]);
                } else {
                    flags = without(flags, &["data-parallel-rpc-port"]);
                    to.number("--data-parallel-rank", process.rank);
                    to.flag("--data-parallel-address", address);
                    to.number("--data-parallel-rpc-port", port);
                }
            }
            _ if worker.nodes.len() > 1 => self.spread(&mut to, worker, process),
            _ => {}
        }
        if self.facts.plane_flag_vllm {
            to.add(&["--request-plane", self.plane()]);
        }
        to.flag("--dump-config-to", self.dump(process.node));
        if let Some(events) = self.events(worker.role, process.events) {
            to.flag("--kv-events-config", events);
        }
        to.flags(&flags);
        to.0
    }

    /// One replica over several nodes, as vLLM itself has it: the first node serves.
    fn spread(&self, to: &mut Arguments, worker: &Worker, process: &Process) {
        to.flag("--master-addr", self.address(worker.nodes[0]));
        to.number("--nnodes", worker.nodes.len());
        to.number("--node-rank", process.rank);
        if process.rank > 0 {
            to.add(&["--headless"]);
        }
    }

    fn devices(&self, to: &mut Arguments, process: &Process) {
        if self.by_flag() {
            to.flag("--device-ids", devices(process));
        }
    }

    /// Whether vLLM is told its GPUs by a flag.
    fn by_flag(&self) -> bool {
        self.facts.device_ids
            && !super::config::flag(self.config.tree, &["backend", "set_cuda_visible_devices"], false)
    }

    fn dump(&self, node: u32) -> Word {
        let mut path = Word::hole(Hole::LogDir);
        path.push_text("/");
        path.push_word(&self.host(node));
        path.push_text("_config.json");
        path
    }

    /// Returns what a worker publishes of its KV cache, as JSON.
    fn events(&self, role: Role, port: u16) -> Option<String> {
        let wanted = at(self.config.tree, &["backend", "kv_events_config"])?;
        let mut events = serde_json::Map::new();
        events.insert("publisher".to_owned(), "zmq".into());
        events.insert("topic".to_owned(), "kv-events".into());
        if self.config.engine == Engine::Vllm {
            events.insert("enable_kv_cache_events".to_owned(), true.into());
        }
        match &wanted.node {
            Node::Bool(true) if role != Role::Agg => {}
            Node::Set(_) => match at(wanted, &[role.section()]).map(|tree| (&tree.node, tree)) {
                Some((Node::Bool(true), _)) => {}
                Some((Node::Set(_), own)) => {
                    events.extend(
                        set(Some(own)).into_iter().map(|(name, value)| (name.to_owned(), json(value))),
                    );
                }
                _ => return None,
            },
            _ => return None,
        }
        events.insert("endpoint".to_owned(), format!("tcp://*:{port}").into());
        Some(serde_json::Value::Object(events).to_string())
    }

    /// Returns the environment of a process.
    pub(super) fn environment(&self, worker: &Worker, process: &Process) -> BTreeMap<String, Word> {
        let config = &self.config;
        let mut env = BTreeMap::new();
        let mut put = |name: &str, value: Word| {
            env.insert(name.to_owned(), value);
        };
        put("HEAD_NODE_IP", self.address(0));
        put("ETCD_ENDPOINTS", self.etcd());
        put("NATS_SERVER", self.nats());
        put("DYN_SYSTEM_PORT", process.system.to_string().into());
        if config.engine != Engine::Trtllm {
            put("DYN_REQUEST_PLANE", self.plane().into());
        }
        if self.facts.log_defaults {
            put("DYN_SKIP_SGLANG_LOG_FORMATTING", "1".into());
            put("DYN_LOG", LOG.into());
        }
        let section = format!("{}_environment", worker.role.section());
        for (name, value) in set(at(config.tree, &["backend", &section])) {
            put(name, self.template(value, process.node));
        }
        if config.engine == Engine::Trtllm {
            let mut name = Word::from("moe_shared_");
            name.push_hole(Hole::Unique("eplb".to_owned()));
            put("TRTLLM_EPLB_SHM_NAME", name);
        }
        for (name, value) in self.wheel() {
            put(name, value.into());
        }
        for (name, value) in set(at(config.tree, &["environment"])) {
            put(name, self.template(value, process.node));
        }
        let told = config.engine == Engine::Vllm && self.by_flag();
        if !told && u32::try_from(process.gpus.len()).is_ok_and(|gpus| gpus < config.gpus_per_node) {
            put("CUDA_VISIBLE_DEVICES", devices(process).into());
        }
        if config.engine == Engine::Vllm {
            put("DYN_VLLM_KV_EVENT_PORT", process.events.to_string().into());
            put("VLLM_NIXL_SIDE_CHANNEL_PORT", process.side_channel.to_string().into());
            if self.facts.side_channel_host {
                put("VLLM_NIXL_SIDE_CHANNEL_HOST", self.address(process.node));
            }
            if self.facts.vllm_port {
                let port = u32::from(process.number) * 50 + 20000;
                put("VLLM_PORT", port.to_string().into());
            }
        }
        if let Some(store) = at(config.tree, &["backend", "mooncake_kv_store"]) {
            put("MOONCAKE_LOCAL_HOSTNAME", self.address(process.node));
            for (name, value) in set(at(store, &["env"])) {
                put(name, scalar(value).unwrap_or_default().into());
            }
            let mut master = self.infra_address();
            master.push_text(":8700");
            put("MOONCAKE_MASTER", master);
            let mut metadata = Word::from("http://");
            metadata.push_word(&self.infra_address());
            metadata.push_text(":8701/metadata");
            put("MOONCAKE_TE_META_DATA_SERVER", metadata);
            if config.engine == Engine::Vllm {
                put("MOONCAKE_CONFIG_PATH", "/logs/mooncake_store_config.json".into());
            }
        }
        env
    }

    /// Puts the node's name and number into a value; TensorRT-LLM's one step over several nodes
    /// has no such place.
    fn template(&self, value: &Tree, node: u32) -> Word {
        let text = scalar(value).unwrap_or_default();
        if self.config.engine == Engine::Trtllm {
            return text.into();
        }
        let mut word = Word::new();
        let mut rest = text.as_str();
        while let Some(start) = rest.find('{') {
            word.push_text(&rest[..start]);
            rest = &rest[start..];
            if let Some(after) = rest.strip_prefix("{node}") {
                word.push_word(&self.host(node));
                rest = after;
            } else if let Some(after) = rest.strip_prefix("{node_id}") {
                word.push_text(&node.to_string());
                rest = after;
            } else {
                word.push_text("{");
                rest = &rest[1..];
            }
        }
        word.push_text(rest);
        word
    }
}

fn devices(process: &Process) -> String {
    process.gpus.clone().map(|gpu| gpu.to_string()).collect::<Vec<_>>().join(",")
}

/// Returns the configuration of a KV connector that a short name stands for.
fn transfer(connector: &str) -> String {
    match connector.to_ascii_lowercase().as_str() {
        "nixl" => r#"{"kv_connector": "NixlConnector", "kv_role": "kv_both"}"#.to_owned(),
        "lmcache" => r#"{"kv_connector": "LMCacheConnectorV1", "kv_role": "kv_both"}"#.to_owned(),
        "kvbm" => concat!(
            r#"{"kv_connector": "DynamoConnector", "#,
            r#""kv_connector_module_path": "kvbm.vllm_integration.connector", "kv_role": "kv_both"}"#
        )
        .to_owned(),
        _ => connector.to_owned(),
    }
}

/// Returns a value as JSON.
pub(super) fn json(tree: &Tree) -> serde_json::Value {
    match &tree.node {
        Node::Null | Node::Function(_) => serde_json::Value::Null,
        Node::Bool(value) => (*value).into(),
        Node::Int(value) => (*value).into(),
        Node::Float(value) => (*value).into(),
        Node::Text(text) => text.to_string().into(),
        Node::List(items) => items.iter().map(json).collect(),
        Node::Set(fields) => {
            fields.iter().map(|field| (field.name.to_string(), json(&field.value))).collect()
        }
    }
}
