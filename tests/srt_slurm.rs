//! What srt-slurm starts, against what it was recorded to start: every worker, front end, store,
//! discovery and client of every recorded job, with arguments, environment, image, mounts and nodes,
//! the waits between them and the files beside them.

use std::collections::BTreeMap;
use std::path::Path;

use recipe::plan::{File, Group, Hole, Mode, Mount, Piece, Rank, Ready, Role, Word};
use recipe::srt_slurm::{Launch, Revision, launch, select};
use recipe::tree::{Node, Tree};
use serde_json::{Value, json};

use crate::support::shared;

/// Reads a file of one JSON document a line.
fn lines(path: &Path) -> Vec<Value> {
    let text = crate::oracle::gz_text(path);
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Upstream's reader lets the last of two keys count, and launchers write one twice.
fn yaml(text: &str) -> Tree {
    let options = serde_saphyr::options! {
        duplicate_keys: serde_saphyr::DuplicateKeyPolicy::LastWins,
        strict_booleans: true,
    };
    tree(&serde_saphyr::from_str_with_options(text, options).unwrap())
}

fn tree(value: &Value) -> Tree {
    match value {
        Value::Null => Tree::made(Node::Null),
        Value::Bool(value) => (*value).into(),
        Value::Number(number) => match number.as_i64() {
            Some(number) => number.into(),
            None => Tree::made(Node::Float(number.as_f64().unwrap())),
        },
        Value::String(text) => text.as_str().into(),
        Value::Array(items) => Tree::made(Node::List(items.iter().map(tree).collect())),
        Value::Object(fields) => Tree::set(fields.iter().map(|(name, value)| (name.as_str(), tree(value)))),
    }
}

/// Long texts of the record are kept apart.
struct Texts(Value);

impl Texts {
    fn get(&self, value: &Value) -> Value {
        match value {
            Value::Object(fields) if fields.len() == 1 && fields.contains_key("text") => {
                let text = self.0[fields["text"].as_str().unwrap()].as_str().unwrap();
                serde_json::from_str::<Value>(text)
                    .ok()
                    .filter(Value::is_array)
                    .unwrap_or_else(|| Value::from(text))
            }
            Value::Object(fields) => {
                fields.iter().map(|(name, value)| (name.clone(), self.get(value))).collect()
            }
            Value::Array(items) => items.iter().map(|item| self.get(item)).collect(),
            _ => value.clone(),
        }
    }

    fn text(&self, value: &Value) -> String {
        match self.get(value) {
            Value::String(text) => text,
            other => panic!("no text: {other}"),
        }
    }
}

/// Says a word as the recorder does.
fn said(word: &Word) -> String {
    word.pieces()
        .iter()
        .map(|piece| match piece {
            Piece::Text(text) => text.clone(),
            Piece::Hole(Hole::Address { node: (_, node) }) => format!("10.0.0.{}", node + 1),
            Piece::Hole(Hole::Host { node: (_, node) }) => format!("node{node:02}"),
            Piece::Hole(Hole::LogDir) => "{srt_root}/outputs/4242/logs".to_owned(),
            Piece::Hole(Hole::Orchestrator) => "{srt_root}".to_owned(),
            Piece::Hole(Hole::Workspace) => "{workspace}".to_owned(),
            Piece::Hole(Hole::Unique(_)) => "{uuid}".to_owned(),
            Piece::Hole(other) => panic!("{other:?}"),
        })
        .collect()
}

fn mounts(mounts: &[Mount]) -> Vec<Value> {
    let mut all: Vec<Value> =
        mounts.iter().map(|mount| json!([said(&mount.from), said(&mount.to)])).collect();
    all.sort_by_key(Value::to_string);
    all
}

/// Values that are JSON are compared as JSON, numbers as numbers.
fn plain(text: &str) -> Value {
    match serde_json::from_str::<Value>(text) {
        Ok(value) if value.is_object() => value,
        _ => Value::from(text),
    }
}

/// Returns a flag with what follows it; the order of different flags does not matter to who reads
/// them, so they are sorted by name, each with its values in order.
fn flags(argv: &[String]) -> Value {
    let start = argv.iter().position(|word| word.starts_with("--")).unwrap_or(argv.len());
    let mut groups: Vec<(String, Vec<Value>)> = Vec::new();
    for word in &argv[start..] {
        if word.starts_with("--") {
            groups.push((word.clone(), Vec::new()));
        } else {
            groups.last_mut().unwrap().1.push(plain(word));
        }
    }
    groups.sort_by(|a, b| a.0.cmp(&b.0));
    json!([argv[..start], groups])
}

fn role(role: Role) -> &'static str {
    match role {
        Role::Proxy => "nginx",
        other => lock::role(other),
    }
}

/// A process as both sides say it.
fn planned(launch: &Launch, group: &Group, ranks: &[Rank]) -> Value {
    let first = &ranks[0];
    let argv: Vec<String> = first.argv.iter().map(said).collect();
    let mut env: BTreeMap<&String, String> =
        first.env.iter().map(|(name, word)| (name, said(word))).collect();
    let mut unset: Vec<&String> = first.unset.iter().collect();
    unset.sort();
    if group.role == Role::Eval {
        env.clear();
    }
    json!({
        "role": role(group.role),
        "argv": flags(&argv),
        "env": env,
        "unset": unset,
        "image": group.image.as_ref().unwrap_or(&launch.image),
        "mounts": mounts(group.mounts.as_ref().unwrap_or(&launch.mounts)),
        "nodes": ranks.iter().map(|rank| format!("node{:02}", rank.seat.node)).collect::<Vec<_>>(),
    })
}

fn recorded(texts: &Texts, process: &Value) -> Value {
    let process = texts.get(process);
    let argv: Vec<String> =
        process["argv"].as_array().unwrap().iter().map(|word| word.as_str().unwrap().to_owned()).collect();
    let mut mounts: Vec<Value> = process["mounts"].as_array().cloned().unwrap_or_default();
    mounts.sort_by_key(Value::to_string);
    let eval = process["role"] == "eval";
    json!({
        "role": process["role"],
        "argv": flags(&argv),
        "env": if eval { json!({}) } else { process["env"].clone() },
        "unset": process.get("env_unset").cloned().unwrap_or_else(|| json!([])),
        "image": process["image"],
        "mounts": mounts,
        "nodes": process["nodes"],
    })
}

/// Returns the waits of a launch as the record has them: after how many processes, for what.
fn waits(launch: &Launch) -> Vec<Value> {
    let mut processes = 0;
    let mut all = Vec::new();
    for group in &launch.groups {
        for replica in &group.replicas {
            processes +=
                if matches!(replica.step, recipe::plan::Step::EachRank) { replica.ranks.len() } else { 1 };
        }
        let node = |node: u32| format!("node{node:02}");
        match &group.ready {
            Ready::Ports { ports } => all.extend(ports.iter().map(|port| {
                let host = node(group.replicas[0].ranks[0].seat.node);
                json!([processes, host, said(port).parse::<u64>().unwrap(), group.within, "port"])
            })),
            Ready::Registered { node: (_, at), port, prefill, decode } => {
                let port = said(port).parse::<u64>().unwrap();
                all.push(json!([processes, node(*at), port, group.within, [prefill, decode]]));
            }
            _ => {}
        }
    }
    all
}

fn recorded_waits(row: &Value) -> Vec<Value> {
    let waits = row["waits"].as_array().unwrap().iter();
    waits
        // Before an evaluation that follows a benchmark the port is only looked at.
        .filter(|wait| !(wait["port"] == 8000 && wait["wait"] == "wait_for_port"))
        .map(|wait| {
            let limit = wait["timeout"].as_f64().unwrap();
            assert!(limit.fract() == 0.0);
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "whole seconds")]
            let limit = limit as u64;
            let what = match wait["wait"].as_str().unwrap() {
                "wait_for_port" => json!("port"),
                _ => json!([wait["n_prefill"], wait["n_decode"]]),
            };
            let after = wait["after_process"].as_u64().unwrap();
            let power = |process: &Value| u64::from(process["role"] == "power");
            let processes = row["processes"].as_array().unwrap().iter();
            let skipped: u64 = processes.take(usize::try_from(after).unwrap()).map(power).sum();
            json!([after - skipped, wait["host"], wait["port"], limit, what])
        })
        .collect()
}

/// Reads nginx's language: words, blocks, ends of statements; comments and order of blocks aside.
fn nginx(text: &str) -> Vec<Value> {
    fn block(words: &mut std::iter::Peekable<std::vec::IntoIter<String>>) -> Vec<Value> {
        let mut all = Vec::new();
        let mut statement: Vec<String> = Vec::new();
        while let Some(word) = words.next() {
            match word.as_str() {
                ";" => all.push(json!(std::mem::take(&mut statement))),
                "{" => {
                    let inner = block(words);
                    all.push(json!([std::mem::take(&mut statement), inner]));
                }
                "}" => break,
                _ => statement.push(word),
            }
        }
        all.sort_by_key(Value::to_string);
        all
    }
    let mut words = Vec::new();
    for line in text.lines() {
        let line = line.split('#').next().unwrap();
        let line = line.replace(';', " ; ").replace('{', " { ").replace('}', " } ");
        words.extend(line.split_whitespace().map(str::to_owned));
    }
    block(&mut words.into_iter().peekable())
}

fn files(files: &[File]) -> BTreeMap<String, Value> {
    files
        .iter()
        .map(|file| {
            let path = said(&file.path);
            let name = path.rsplit('/').next().unwrap().to_owned();
            let value = content(&name, &said(&file.text));
            (name, value)
        })
        .collect()
}

fn content(name: &str, text: &str) -> Value {
    if name == "nginx.conf" { json!(nginx(text)) } else { serde_saphyr::from_str(text).unwrap() }
}

/// Returns what differs between a recorded job and its launch.
fn differences(texts: &Texts, row: &Value) -> Vec<String> {
    let mut all = Vec::new();
    let named = row["recipe"].as_str().unwrap();
    let selector = named.split_once(':').map(|(_, selector)| selector);
    let file = yaml(&texts.text(&row["recipe_after_launcher"]));
    let [(_, recipe)] = &select(&file, selector).unwrap()[..] else { return vec!["not one variant".into()] };
    let cluster = yaml(&texts.text(&row["cluster_file"]));
    let commit = row["srt_slurm"]["commit"].as_str().unwrap();
    let revision = Revision::named(commit).unwrap_or_else(|| panic!("{commit}"));
    let mode = if row["mode"].as_str().unwrap().starts_with("thr") { Mode::Throughput } else { Mode::Eval };
    let mut found = diag::Diagnostics::new();
    let launch = launch(recipe, &cluster, revision, mode, &mut found);
    // What ran is refused only for what is wrong with it.
    all.extend(
        found
            .iter()
            .filter(|finding| finding.severity == diag::Severity::Error)
            .map(|finding| format!("{}: {}", finding.slug.as_str(), finding.message)),
    );
    let Some(launch) = launch else { return all };
    if launch.pool.nodes as usize != row["nodes"].as_array().unwrap().len() {
        all.push(format!("{} nodes for {}", launch.pool.nodes, row["nodes"]));
    }
    let mut ours = Vec::new();
    for group in &launch.groups {
        for replica in &group.replicas {
            match replica.step {
                recipe::plan::Step::EachRank => {
                    ours.extend(
                        replica.ranks.iter().map(|rank| planned(&launch, group, std::slice::from_ref(rank))),
                    );
                }
                recipe::plan::Step::Spanning { .. } => ours.push(planned(&launch, group, &replica.ranks)),
            }
        }
    }
    let theirs: Vec<Value> = row["processes"]
        .as_array()
        .unwrap()
        .iter()
        // The recorder skips the power exporter; fetching a model is a stage of our own; an
        // evaluation after a benchmark is the workflow's wish, not the recipe's.
        .filter(|process| {
            let role = process["role"].as_str().unwrap();
            !matches!((role, mode), ("power" | "fetch-model", _) | ("eval", Mode::Throughput))
        })
        .map(|process| recorded(texts, process))
        .collect();
    if ours.len() != theirs.len() {
        all.push(format!("{} processes for {}", ours.len(), theirs.len()));
    }
    for (ours, theirs) in ours.iter().zip(&theirs) {
        for field in ["role", "argv", "env", "unset", "image", "mounts", "nodes"] {
            if ours[field] != theirs[field] {
                all.push(format!("{field} of {}:\n  {}\n  {}", theirs["role"], ours[field], theirs[field]));
            }
        }
    }
    let fetches = row["processes"].as_array().unwrap().iter().any(|process| process["role"] == "fetch-model");
    if !fetches && waits(&launch) != recorded_waits(row) {
        all.push(format!("waits:\n  {:?}\n  {:?}", waits(&launch), recorded_waits(row)));
    }
    let theirs: BTreeMap<String, Value> = row["files"]
        .as_object()
        .unwrap()
        .iter()
        .filter(|(path, _)| path.starts_with("logs/"))
        .map(|(path, text)| {
            let name = path.rsplit('/').next().unwrap().to_owned();
            let value = content(&name, &texts.text(text));
            (name, value)
        })
        .collect();
    if files(&launch.files) != theirs {
        all.push(format!("files:\n  {:?}\n  {theirs:?}", files(&launch.files)));
    }
    all
}

#[test]
fn every_launch_equals_the_recorded_one() {
    let Some(shared) = shared("every_launch_equals_the_recorded_one") else { return };
    let folder = shared.join("oracles/multinode");
    let texts = Texts(crate::oracle::gz(&folder.join("texts.json.gz")));
    let (mut rows, mut equal, mut processes) = (0, 0, 0);
    let mut wrong = Vec::new();
    for file in ["srt_throughput.jsonl.gz", "srt_eval_only.jsonl.gz"] {
        for row in lines(&folder.join(file)) {
            if row["outcome"] != "recorded" {
                continue;
            }
            rows += 1;
            processes += row["processes"].as_array().unwrap().len();
            let found = differences(&texts, &row);
            if found.is_empty() {
                equal += 1;
            } else {
                wrong.push(format!(
                    "{} {} {}: {}",
                    row["config_key"],
                    row["job"],
                    row["mode"],
                    found.join("\n")
                ));
            }
        }
    }
    println!("{equal} of {rows} launches equal, {processes} processes");
    wrong.truncate(12);
    let wrong: Vec<String> = wrong.iter().map(|text| text.chars().take(1500).collect()).collect();
    assert!(wrong.is_empty(), "{equal} of {rows}\n{}", wrong.join("\n\n"));
    assert_eq!(rows, 672);
}

/// What the orchestrator refused is refused here, at the field that it does not know.
#[test]
fn a_recipe_with_a_field_that_its_revision_does_not_know_is_refused() {
    let Some(shared) = shared("a_recipe_with_a_field_that_its_revision_does_not_know_is_refused") else {
        return;
    };
    let folder = shared.join("oracles/multinode");
    let texts = Texts(crate::oracle::gz(&folder.join("texts.json.gz")));
    let mut refused = 0;
    for row in lines(&folder.join("srt_throughput.jsonl.gz")) {
        if row["outcome"] != "submit-failed" {
            continue;
        }
        let file = yaml(&texts.text(&row["recipe_after_launcher"]));
        let revision = Revision::named(row["srt_slurm"]["ref"].as_str().unwrap()).unwrap();
        let cluster = yaml(&texts.text(&row["cluster_file"]));
        let mut found = diag::Diagnostics::new();
        for (_, recipe) in select(&file, None).unwrap() {
            launch(&recipe, &cluster, revision, Mode::Throughput, &mut found);
        }
        let unknown: Vec<&str> = found
            .iter()
            .filter(|finding| finding.severity == diag::Severity::Error)
            .map(|finding| finding.message.as_str())
            .collect();
        assert_eq!(unknown, ["`aiperf_server_metrics` is unknown to srt-slurm v1.0.53"], "{}", row["recipe"]);
        refused += 1;
    }
    assert_eq!(refused, 18);
}

const RECIPE: &str = r#"
name: example
model: { path: model, container: engine, precision: fp8 }
resources: { gpu_type: b200, gpus_per_node: 8, prefill_nodes: 1, prefill_workers: 2, decode_nodes: 2, decode_workers: 1 }
frontend: { type: dynamo, num_additional_frontends: 1 }
dynamo: { version: "1.3.1" }
infra: { etcd_nats_dedicated_node: true }
environment: { WHERE: "{node}-{node_id}-{other}" }
backend:
  type: sglang
  sglang_config:
    prefill: { served-model-name: example/Model, tensor_parallel_size: 4, trust-remote-code: true, chunked: false }
    decode: { tensor-parallel-size: 16, cuda-graph-bs: [1, 2] }
benchmark: { type: sa-bench, isl: 8192, osl: 1024, concurrencies: [4, 8] }
"#;

const CLUSTER: &str = "model_paths: { model: /models/Example }\ncontainers: { engine: /images/engine.sqsh }";

fn of(recipe: &str, revision: &str) -> Launch {
    let mut found = diag::Diagnostics::new();
    let launch = launch(
        &yaml(recipe),
        &yaml(CLUSTER),
        Revision::named(revision).unwrap(),
        Mode::Throughput,
        &mut found,
    );
    assert!(!found.has_errors(), "{found:?}");
    launch.unwrap()
}

fn argv(rank: &Rank) -> String {
    rank.argv.iter().map(said).collect::<Vec<_>>().join(" ")
}

/// Two prefill workers share a node, decode spans two, and discovery has one of its own.
#[test]
fn workers_sit_where_the_orchestrator_puts_them() {
    let launch = of(RECIPE, "v1.0.53");
    assert_eq!(launch.pool.nodes, 4);
    let names: Vec<&str> = launch.groups.iter().map(|group| group.name.as_str()).collect();
    assert_eq!(names, ["discovery", "prefill", "decode", "nginx", "router", "client"]);
    let prefill = &launch.groups[1];
    let seats: Vec<(u32, u32, u32)> = prefill
        .replicas
        .iter()
        .map(|replica| (replica.ranks[0].seat.node, replica.ranks[0].seat.first, replica.ranks[0].seat.gpus))
        .collect();
    assert_eq!(seats, [(1, 0, 4), (1, 4, 4)]);
    let second = &prefill.replicas[1].ranks[0];
    assert_eq!(
        argv(second),
        "python3 -m dynamo.sglang --model-path /model --served-model-name example/Model --host 0.0.0.0 \
         --port 6132 --disaggregation-mode prefill --disaggregation-bootstrap-port 7201 --dump-config-to \
         {srt_root}/outputs/4242/logs/node01_config.json --request-plane tcp --tensor-parallel-size 4 \
         --trust-remote-code"
    );
    assert_eq!(said(&second.env["CUDA_VISIBLE_DEVICES"]), "4,5,6,7");
    assert_eq!(said(&second.env["WHERE"]), "node01-0-{other}");
    let decode = &launch.groups[2].replicas[0].ranks;
    assert!(
        argv(&decode[1]).contains("--dist-init-addr 10.0.0.3:8300 --nnodes 2 --node-rank 1"),
        "{}",
        argv(&decode[1])
    );
    assert!(argv(&decode[1]).ends_with("--cuda-graph-bs 1 2 --tensor-parallel-size 16"));
    assert!(!decode[0].env.contains_key("CUDA_VISIBLE_DEVICES"));
    // Workers start together, after discovery; the front end waits for them.
    assert_eq!(launch.groups[1].after, launch.groups[2].after);
    let Ready::Registered { prefill: 2, decode: 1, .. } = launch.groups[4].ready else {
        panic!("{:?}", launch.groups[4].ready)
    };
    assert_eq!(launch.groups[4].within, Some(1800));
}

/// The same recipe by a revision of another generation: other ports, another request plane.
#[test]
fn a_revision_has_rules_of_its_own() {
    let launch = of(RECIPE, "sa-submission-q2-2026");
    let second = argv(&launch.groups[1].replicas[1].ranks[0]);
    assert!(second.contains("--port 30001 --disaggregation-mode prefill --dump-config-to"), "{second}");
    assert!(second.contains("--request-plane nats --served-model-name example/Model"), "{second}");
    assert!(Revision::named("deb1dfd").is_some() && Revision::named("v9").is_none());
}

#[test]
fn a_file_with_overrides_gives_its_variants() {
    let file = yaml(
        "base: { name: b, resources: { gpus_per_node: 8, prefill_nodes: 1 }, list: [1] }\n\
         override_wide: { resources: { prefill_nodes: 2 }, list: [2, 3] }\n\
         override_less: { list: null }\n\
         zip_override_x: { name: [p, q], resources: { decode_nodes: [1, 2], gpus_per_node: [4] } }\n",
    );
    let names = |selector: Option<&str>| -> Vec<String> {
        select(&file, selector).unwrap().into_iter().map(|(name, _)| name).collect()
    };
    let all = ["override_less", "override_wide", "zip_override_x[0]", "zip_override_x[1]"];
    assert_eq!(names(None), all);
    assert_eq!(names(Some("base")), ["base"]);
    let (_, wide) = select(&file, Some("override_wide")).unwrap().remove(0);
    let number = |tree: &Tree, section: &str, name: &str| {
        format!("{:?}", tree.get(section).unwrap().value.get(name).unwrap().value.node)
    };
    assert_eq!(number(&wide, "resources", "prefill_nodes"), "Int(2)");
    assert_eq!(number(&wide, "resources", "gpus_per_node"), "Int(8)");
    assert_eq!(wide.get("name").unwrap().value.as_text(), Some("b_wide"));
    let (_, second) = select(&file, Some("zip_override_x[1]")).unwrap().remove(0);
    assert_eq!(number(&second, "resources", "decode_nodes"), "Int(2)");
    assert_eq!(number(&second, "resources", "gpus_per_node"), "Int(4)");
    assert_eq!(second.get("name").unwrap().value.as_text(), Some("q"));
    let (_, less) = select(&file, Some("override_less")).unwrap().remove(0);
    assert!(less.get("list").is_none());
    for wrong in ["override_none", "zip_override_x[2]", "zip_override_x[", "wide"] {
        assert!(select(&file, Some(wrong)).is_err(), "{wrong}");
    }
}

/// No recipe makes it panic, or work without end.
#[test]
fn a_hostile_recipe_is_refused_or_planned() {
    let words = ["-1", "0", "1", "4096", "99999999999", "[]", "{}", "null", "x", "true", "1.5", "'{node'"];
    let places = [
        "gpus_per_node: 8",
        "prefill_nodes: 1",
        "prefill_workers: 2",
        "decode_nodes: 2",
        "isl: 8192",
        "tensor_parallel_size: 4",
        "num_additional_frontends: 1",
        "type: sglang",
        "path: model",
        "concurrencies: [4, 8]",
        "cuda-graph-bs: [1, 2]",
    ];
    let mut seen = 0;
    for place in places {
        for word in words {
            let (name, _) = place.split_once(':').unwrap();
            let recipe = RECIPE.replace(place, &format!("{name}: {word}"));
            assert!(RECIPE.contains(place), "{place}");
            for revision in Revision::all() {
                let mut found = diag::Diagnostics::new();
                let launch = launch(&yaml(&recipe), &yaml(CLUSTER), revision, Mode::Eval, &mut found);
                assert!(launch.is_some() || found.has_errors(), "{place} {word}");
                seen += 1;
            }
        }
    }
    assert!(seen > 1000);
}
