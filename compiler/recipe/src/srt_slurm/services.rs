//! What runs beside the workers: discovery, the store of KV blocks, the front ends, the client.

use std::collections::BTreeMap;

use crate::plan::{self, Hole, Word};
use crate::tree::Tree;

use super::Job;
use super::config::{Engine, Frontend, Role, at, list, scalar, set, text_at};
use super::place::{Process, Worker};
use super::revision::Client;
use super::worker::Arguments;

/// The public port of the front end, and the one behind nginx.
const PUBLIC: u16 = 8000;
const BEHIND: u16 = 8180;

/// Where front ends run: `None` for one at the public port, else behind nginx on the first node.
pub(super) fn behind_nginx(job: &Job<'_>) -> Option<Vec<u32>> {
    let frontend = at(job.config.tree, &["frontend"]);
    let several = frontend.is_none_or(|tree| super::config::flag(tree, &["enable_multiple_frontends"], true));
    if job.nodes == 1 || !several {
        return None;
    }
    let more = frontend
        .and_then(|tree| at(tree, &["num_additional_frontends"]))
        .and_then(|tree| scalar(tree)?.parse::<u32>().ok())
        .unwrap_or(9);
    Some((1..job.nodes).take(more as usize + 1).collect())
}

impl Job<'_> {
    pub(super) fn etcd(&self) -> Word {
        let mut word = Word::from("http://");
        word.push_word(&self.infra_host());
        word.push_text(":2379");
        word
    }

    pub(super) fn nats(&self) -> Word {
        let mut word = Word::from("nats://");
        word.push_word(&self.infra_host());
        word.push_text(":4222");
        word
    }

    pub(super) fn discovery(&self) -> Vec<Word> {
        let mut to = Arguments::of(&["python3", "/tmp/setup_head.py", "--name", self.config.name]);
        to.flag("--log-dir", Word::hole(Hole::LogDir));
        let limit = at(self.config.tree, &["infra", "nats_max_payload_mb"]).and_then(scalar);
        if let Some(limit) = limit {
            to.flag("--nats-max-payload-mb", limit);
        }
        to.0
    }

    pub(super) fn store(&self, store: &Tree) -> Vec<Word> {
        let mut to = Arguments::of(&[
            "mooncake_master",
            "--port=8700",
            "--enable_http_metadata_server=true",
            "--http_metadata_server_port=8701",
            "--eviction_high_watermark_ratio=0.9",
            "--default_kv_lease_ttl=10000",
            "--rpc_thread_num=16",
            "--enable_metric_reporting=true",
            "--metrics_port=8702",
        ]);
        let more = list(at(store, &["master_extra_args"]));
        to.0.extend(more.iter().filter_map(scalar).map(Word::from));
        to.0
    }

    /// Returns the arguments of a front end.
    pub(super) fn router(&self, workers: &[Worker], nginx: bool) -> Vec<Word> {
        let port = if nginx { BEHIND } else { PUBLIC };
        let mut to;
        if self.config.frontend == Frontend::Dynamo {
            to = Arguments::of(&["python3", "-m", "dynamo.frontend"]);
            to.0.push(format!("--http-port={port}").into());
        } else {
            to = Arguments::of(&["python", "-m", "sglang_router.launch_router"]);
            let leaders = |role: Role| {
                workers
                    .iter()
                    .filter(move |worker| worker.role == role)
                    .filter_map(|worker| worker.processes.first())
            };
            let url = |process: &Process| {
                let mut url = Word::from("http://");
                url.push_word(&self.address(process.node));
                url.push_text(&format!(":{}", process.http));
                url
            };
            if self.config.split() {
                to.add(&["--pd-disaggregation"]);
                for process in leaders(Role::Prefill) {
                    to.flag("--prefill", url(process));
                    to.0.extend(process.bootstrap.map(|port| Word::from(port.to_string())));
                }
                for process in leaders(Role::Decode) {
                    to.flag("--decode", url(process));
                }
            } else {
                to.add(&["--worker-urls"]);
                to.0.extend(leaders(Role::Agg).map(url));
            }
            to.add(&["--host", "0.0.0.0"]);
            to.flag("--port", port.to_string());
        }
        for (name, value) in set(at(self.config.tree, &["frontend", "args"])) {
            match value.node {
                crate::tree::Node::Bool(true) => to.0.push(format!("--{name}").into()),
                crate::tree::Node::Bool(false) | crate::tree::Node::Null => {}
                _ => to.flag(&format!("--{name}"), scalar(value).unwrap_or_default()),
            }
        }
        to.0
    }

    pub(super) fn router_environment(&self) -> BTreeMap<String, Word> {
        let mut env = BTreeMap::new();
        if self.config.frontend == Frontend::Dynamo {
            env.insert("ETCD_ENDPOINTS".to_owned(), self.etcd());
            env.insert("NATS_SERVER".to_owned(), self.nats());
            env.insert("DYN_REQUEST_PLANE".to_owned(), self.plane().into());
            if self.facts.log_defaults {
                env.insert("DYN_SKIP_SGLANG_LOG_FORMATTING".to_owned(), "1".into());
            }
            self.declared(&mut env);
        }
        for (name, value) in set(at(self.config.tree, &["frontend", "env"])) {
            env.insert(name.to_owned(), scalar(value).unwrap_or_default().into());
        }
        env
    }

    /// Adds what the recipe declares for every process.
    fn declared(&self, env: &mut BTreeMap<String, Word>) {
        for (name, value) in self.wheel() {
            env.insert(name.to_owned(), value.into());
        }
        for (name, value) in set(at(self.config.tree, &["environment"])) {
            env.insert(name.to_owned(), scalar(value).unwrap_or_default().into());
        }
    }

    /// Returns the variables by which a wheel of Dynamo is found.
    pub(super) fn wheel(&self) -> Vec<(&'static str, String)> {
        let Some(version) = at(self.config.tree, &["dynamo", "wheel"]).and_then(scalar) else {
            return Vec::new();
        };
        let file = format!("ai_dynamo-{version}-py3-none-any.whl");
        vec![("DYNAMO_VERSION", version), ("DYNAMO_WHEEL_NAME", file)]
    }

    /// Returns the node where the front end answers.
    pub(super) fn public(&self, workers: &[Worker]) -> u32 {
        let first = |role: Role| workers.iter().find(|worker| worker.role == role).map(|w| w.nodes[0]);
        let placed = text_at(self.config.tree, &["frontend", "orchestrator_placement"]);
        match (self.config.frontend, placed) {
            (Frontend::Vllm, _) => first(Role::Agg),
            (_, Some("first_decode")) => first(Role::Decode),
            _ => None,
        }
        .unwrap_or(0)
    }

    /// Returns the node where the client runs.
    pub(super) fn client_node(&self, workers: &[Worker]) -> u32 {
        let decode = || workers.iter().filter(|worker| worker.role == Role::Decode).map(|w| w.nodes[0]);
        match text_at(self.config.tree, &["benchmark", "client_placement"]) {
            Some("first_decode") => decode().next(),
            Some("last_decode") => decode().next_back(),
            _ => None,
        }
        .unwrap_or(0)
    }

    pub(super) fn client(&self) -> Vec<Word> {
        let tree = self.config.tree;
        if let Some(command) = text_at(tree, &["benchmark", "command"]) {
            return Arguments::of(&["bash", "-lc", command]).0;
        }
        let value = |name: &str| at(tree, &["benchmark", name]).and_then(scalar);
        let concurrencies = match at(tree, &["benchmark", "concurrencies"]) {
            Some(tree) if matches!(tree.node, crate::tree::Node::List(_)) => {
                list(Some(tree)).iter().filter_map(scalar).collect::<Vec<_>>().join("x")
            }
            Some(tree) => scalar(tree).unwrap_or_default(),
            None => String::new(),
        };
        let gpus = |role: Role| {
            let workers = self.config.of(role);
            workers.count * workers.gpus
        };
        let split = self.config.split();
        let (prefill, decode) = if split { (gpus(Role::Prefill), gpus(Role::Decode)) } else { (0, 0) };
        let all =
            if split { prefill + decode } else { self.config.agg_nodes.max(1) * self.config.gpus_per_node };
        let mut to =
            Arguments::of(&["bash", "/srtctl-benchmarks/sa-bench/bench.sh", "http://localhost:8000"]);
        let words = [
            value("isl").unwrap_or_else(|| "0".to_owned()),
            value("osl").unwrap_or_else(|| "0".to_owned()),
            concurrencies,
            value("req_rate").unwrap_or_else(|| "inf".to_owned()),
            self.model_argument().to_owned(),
            self.served(),
            split.to_string(),
            all.to_string(),
            prefill.to_string(),
            decode.to_string(),
            value("random_range_ratio").unwrap_or_else(|| "0.8".to_owned()),
            value("num_prompts_mult").unwrap_or_else(|| "10".to_owned()),
            value("num_warmup_mult").unwrap_or_else(|| "2".to_owned()),
            value("custom_tokenizer").unwrap_or_default(),
            super::config::flag(tree, &["benchmark", "use_chat_template"], true).to_string(),
        ];
        to.0.extend(words.into_iter().map(Word::from));
        let dataset = || {
            [
                value("dataset_name").unwrap_or_else(|| "random".to_owned()),
                value("dataset_path").unwrap_or_default(),
            ]
        };
        let rest: Vec<String> = match self.facts.client {
            Client::WarmupRate => vec![value("warmup_req_rate").unwrap_or_else(|| "250".to_owned())],
            Client::TokenizerMode => vec![value("tokenizer_mode").unwrap_or_default()],
            Client::Dataset => dataset().into(),
            Client::Connections => {
                let reuse = super::config::flag(tree, &["benchmark", "reuse_http_connections"], false);
                dataset().into_iter().chain([reuse.to_string()]).collect()
            }
        };
        to.0.extend(rest.into_iter().map(Word::from));
        to.0
    }

    pub(super) fn client_environment(&self, workers: &[Worker]) -> BTreeMap<String, Word> {
        let tree = self.config.tree;
        let mut env = BTreeMap::new();
        if self.facts.client != Client::TokenizerMode {
            self.declared(&mut env);
        }
        env.insert("SRTCTL_FRONTEND_TYPE".to_owned(), self.config.frontend.name().into());
        if self.facts.client_frontend {
            env.insert("SRT_FRONTEND_HOST".to_owned(), self.address(self.public(workers)));
            env.insert("SRT_FRONTEND_PORT".to_owned(), PUBLIC.to_string().into());
        }
        if self.facts.client_workers && text_at(tree, &["benchmark", "type"]) == Some("custom") {
            self.endpoints(workers, &mut env);
        }
        for (name, value) in set(at(tree, &["benchmark", "env"])) {
            env.insert(name.to_owned(), scalar(value).unwrap_or_default().into());
        }
        env
    }

    /// Adds where each worker is reached and where it tells its metrics.
    fn endpoints(&self, workers: &[Worker], env: &mut BTreeMap<String, Word>) {
        let mut metrics = Word::new();
        for role in Role::ALL {
            let (mut addresses, mut endpoints) = (Word::new(), Word::new());
            let leaders = workers.iter().filter(|worker| worker.role == role);
            for process in leaders.filter_map(|worker| worker.processes.first()) {
                let port = match self.config.frontend {
                    Frontend::Dynamo => process.system,
                    Frontend::Vllm => PUBLIC,
                    Frontend::Sglang => process.http,
                };
                let mut endpoint = self.address(process.node);
                endpoint.push_text(&format!(":{port}"));
                for (list, part) in
                    [(&mut addresses, &self.address(process.node)), (&mut endpoints, &endpoint)]
                {
                    if !list.pieces().is_empty() {
                        list.push_text(",");
                    }
                    list.push_word(part);
                }
                metrics.push_text(if metrics.pieces().is_empty() { "http://" } else { ",http://" });
                metrics.push_word(&endpoint);
                metrics.push_text("/metrics");
            }
            if !addresses.pieces().is_empty() {
                let name = role.word().to_ascii_uppercase();
                env.insert(format!("SRT_{name}_IPS"), addresses);
                env.insert(format!("SRT_{name}_ENDPOINTS"), endpoints);
            }
        }
        env.insert("AIPERF_SERVER_METRICS_URLS".to_owned(), metrics);
    }

    /// Returns how many prefill and decode workers the front end must know, in its own units.
    pub(super) fn registrations(&self, workers: &[Worker], mode: plan::Mode) -> (u32, u32) {
        let ranks = mode == plan::Mode::Throughput
            && self.config.frontend == Frontend::Dynamo
            && self.config.engine == Engine::Vllm
            && self.facts.waits_for_ranks;
        let count = |role: Role| {
            let own = || workers.iter().filter(move |worker| worker.role == role);
            let entries = match self.config.data_parallel(role).filter(|&size| ranks && size > 1) {
                Some(_) if self.config.per_node() => own().map(|worker| worker.processes.len()).sum(),
                Some(size) => own().count() * size as usize,
                None => own().count(),
            };
            u32::try_from(entries).unwrap_or(u32::MAX)
        };
        if self.config.of(Role::Agg).count > 0 {
            (0, count(Role::Agg))
        } else {
            (count(Role::Prefill), count(Role::Decode))
        }
    }

    /// Returns the configuration of the proxy that stands before the front ends.
    pub(super) fn nginx(&self, frontends: &[u32]) -> Word {
        let tree = self.config.tree;
        let affinity = super::config::flag(tree, &["frontend", "nginx_session_affinity"], false);
        let timeout = text_at(tree, &["frontend", "nginx_keepalive_timeout"]).unwrap_or("600s");
        let header =
            text_at(tree, &["frontend", "nginx_session_affinity_header"]).unwrap_or("X-Dynamo-Session-ID");
        let mut to = Word::new();
        let mut line = |text: &str| to.push_text(&format!("{text}\n"));
        line("worker_processes auto;");
        line("events {\n  worker_connections 65535;\n  multi_accept on;\n  use epoll;\n}");
        line("http {");
        if self.facts.nginx_body {
            line("  client_max_body_size 45m;");
        }
        line("  access_log off;");
        if affinity {
            let key = format!("$http_{}", header.to_ascii_lowercase().replace('-', "_"));
            line(&format!(
                "  map {key} $frontend_hash_key {{\n    default {key};\n    \"\" $request_id;\n  }}"
            ));
        }
        if self.facts.nginx_keepalive {
            line(&format!("  keepalive_timeout {timeout};"));
        }
        line("  upstream backend_servers {");
        if affinity {
            line("    hash $frontend_hash_key consistent;");
        }
        for &node in frontends {
            to.push_text("    server ");
            to.push_word(&self.address(node));
            to.push_text(&format!(":{BEHIND};\n"));
        }
        let mut line = |text: &str| to.push_text(&format!("{text}\n"));
        if self.facts.nginx_keepalive {
            line(&format!("    keepalive 512;\n    keepalive_timeout {timeout};"));
        }
        line(&format!("  }}\n  server {{\n    listen {PUBLIC};\n    location / {{"));
        line("      proxy_pass http://backend_servers;\n      proxy_buffering off;");
        line("      proxy_read_timeout 24h;\n      proxy_send_timeout 24h;");
        if self.facts.nginx_keepalive {
            line("      proxy_http_version 1.1;\n      proxy_set_header Connection \"\";");
        }
        line("    }\n  }\n}");
        to
    }
}
