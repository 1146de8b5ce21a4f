//! vLLM recipes put together as upstream's own code puts them together.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;
use verify::claims;
use verify::cookbook::{Page, command};
use verify::vllm::{Catalog, Published, Request, Yaml, omni, synthesize};

use crate::oracle::gz;
use crate::support::shared;

fn folder(path: &Path) -> Vec<(String, String)> {
    let entries = std::fs::read_dir(path).unwrap();
    let read = entries.map(|entry| {
        let path = entry.unwrap().path();
        (path.file_stem().unwrap().to_str().unwrap().to_owned(), std::fs::read_to_string(&path).unwrap())
    });
    read.collect()
}

struct Upstream {
    root: std::path::PathBuf,
    catalog: Catalog,
    recipes: BTreeMap<String, Yaml>,
}

impl Upstream {
    fn new(shared: &Path) -> Self {
        let root = shared.join("upstream/vllm-recipes");
        let taxonomy = std::fs::read_to_string(root.join("taxonomy.yaml")).unwrap();
        let catalog =
            Catalog::read(&taxonomy, &folder(&root.join("strategies")), &folder(&root.join("kv_store")))
                .unwrap();
        Self { root, catalog, recipes: BTreeMap::new() }
    }

    fn recipe(&mut self, id: &str) -> &Yaml {
        let path = self.root.join("models").join(format!("{id}.yaml"));
        self.recipes
            .entry(id.to_owned())
            .or_insert_with(|| Yaml::read(&std::fs::read_to_string(path).unwrap()).unwrap())
    }
}

fn words(value: &Value) -> Vec<String> {
    value.as_array().unwrap().iter().map(|word| word.as_str().unwrap().to_owned()).collect()
}

fn published(value: &Value) -> Published {
    // Upstream prints some values as numbers and some as strings.
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let env =
        value["env"].as_object().unwrap().iter().map(|(name, value)| (name.clone(), text(value))).collect();
    let argv = value["argv"].as_array().map(|_| words(&value["argv"])).unwrap_or_default();
    Published { argv, env }
}

fn request(entry: &Value, features: Vec<String>) -> Request {
    let text = |field: &str| entry[field].as_str().unwrap_or_default().to_owned();
    let modes = entry["modes"].as_object().into_iter().flatten();
    Request {
        variant: text("variant"),
        hardware: text("hw"),
        strategy: text("strategy"),
        features,
        modes: modes.map(|(name, mode)| (name.clone(), mode.as_str().unwrap().to_owned())).collect(),
        nodes: u32::try_from(entry["nodes"].as_u64().unwrap_or(1)).unwrap(),
        kv_offload: entry["kv"].as_str().map(str::to_owned),
    }
}

#[test]
fn every_published_command_comes_out_equal() {
    let Some(shared) = shared("every_published_command_comes_out_equal") else { return };
    let mut upstream = Upstream::new(&shared);
    let oracle = gz(&shared.join("oracles/vllm-commands.json.gz"));
    let (mut equal, mut total) = (0, 0);
    for entry in oracle["entries"].as_array().unwrap().iter().filter(|entry| entry["kind"] != "omni") {
        upstream.recipe(entry["hf_id"].as_str().unwrap());
        let recipe = &upstream.recipes[entry["hf_id"].as_str().unwrap()];
        let found =
            synthesize(&upstream.catalog, recipe, &request(entry, words(&entry["feature_list"]))).unwrap();
        let same = match found.roles {
            Some(roles) => {
                roles.prefill == published(&entry["prefill"])
                    && roles.decode == published(&entry["decode"])
                    && Some(roles.router.as_str()) == entry["router"].as_str()
            }
            None => {
                let workers: Vec<Vec<String>> =
                    entry["worker_argvs"].as_array().into_iter().flatten().map(words).collect();
                found.server == published(entry) && found.workers == workers
            }
        } && entry["image"] == found.image.as_str();
        total += 1;
        equal += usize::from(same);
        if !same && total - equal < 5 {
            println!("{} {} {} {}", entry["hf_id"], entry["hw"], entry["strategy"], entry["features"]);
        }
    }
    println!("published commands equal to upstream's: {equal}/{total}");
    assert!(total > 30_000);
    assert_eq!(equal, total);
}

#[test]
fn every_command_of_an_omni_model_comes_out_equal() {
    let Some(shared) = shared("every_command_of_an_omni_model_comes_out_equal") else { return };
    let mut upstream = Upstream::new(&shared);
    let oracle = gz(&shared.join("oracles/vllm-commands.json.gz"));
    // Several tasks of a model may have one id, so they are told apart by their order.
    let mut groups: BTreeMap<[&str; 3], Vec<&Value>> = BTreeMap::new();
    for entry in oracle["entries"].as_array().unwrap().iter().filter(|entry| entry["kind"] == "omni") {
        let key = ["hf_id", "variant", "hw"].map(|field| entry[field].as_str().unwrap());
        groups.entry(key).or_default().push(entry);
    }
    let (mut equal, mut total) = (0, 0);
    for ([id, variant, hardware], entries) in groups {
        upstream.recipe(id);
        let recipe = &upstream.recipes[id];
        let tasks = omni::tasks(recipe);
        assert_eq!(tasks.len(), entries.len(), "{id} {variant} {hardware}");
        for (task, entry) in tasks.iter().zip(entries) {
            let found = omni::synthesize(&upstream.catalog, recipe, variant, hardware, task).unwrap();
            let wanted = command::commands(entry["command"].as_str().unwrap()).pop().unwrap();
            let same = found.server == Published { argv: wanted.argv, env: published(entry).env }
                && entry["image"] == found.image.as_str()
                && entry["task"] == task.id;
            total += 1;
            equal += usize::from(same);
            if !same && total - equal < 5 {
                println!("{id} {variant} {hardware} {}: {found:?}\n{entry}", task.key);
            }
        }
    }
    println!("commands of omni models equal to upstream's: {equal}/{total}");
    assert!(total > 500);
    assert_eq!(equal, total);
}

#[test]
fn every_way_to_offload_the_kv_cache_comes_out_equal() {
    let Some(shared) = shared("every_way_to_offload_the_kv_cache_comes_out_equal") else { return };
    let mut upstream = Upstream::new(&shared);
    let oracle = gz(&shared.join("oracles/vllm-commands-kvoffload.json.gz"));
    let (mut equal, mut total) = (0, 0);
    for entry in oracle["entries"].as_array().unwrap() {
        let recipe = upstream.recipe(entry["hf_id"].as_str().unwrap());
        let features = recipe
            .get("features")
            .map(Yaml::entries)
            .unwrap_or_default()
            .iter()
            .map(|(name, _)| name.clone())
            .collect();
        let request = request(entry, features);
        let recipe = &upstream.recipes[entry["hf_id"].as_str().unwrap()];
        let found = synthesize(&upstream.catalog, recipe, &request).unwrap();
        total += 1;
        if found.server == published(entry) {
            equal += 1;
        } else {
            println!("{} {} {} {}", entry["hf_id"], entry["hw"], entry["strategy"], entry["kv"]);
        }
    }
    println!("commands with KV offload equal to upstream's: {equal}/{total}");
    assert!(total > 3_000);
    assert_eq!(equal, total);
}

/// Every file below a folder as a page, with the path from `root`.
fn pages(root: &Path, folder: &str, ending: &str, into: &mut Vec<std::rc::Rc<Page>>) {
    for entry in std::fs::read_dir(root.join(folder)).unwrap() {
        let path = entry.unwrap().path();
        let below = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
        if path.is_dir() {
            pages(root, &below, ending, into);
        } else if below.ends_with(ending) {
            let text = std::fs::read_to_string(&path).unwrap();
            let (repository, commit) = ("o/r".to_owned(), "c".to_owned());
            into.push(std::rc::Rc::new(Page { repository, commit, path: below, text }));
        }
    }
}

#[test]
fn claims_say_everything_that_upstream_publishes() {
    let Some(shared) = shared("claims_say_everything_that_upstream_publishes") else { return };
    let mut all = Vec::new();
    pages(&shared.join("upstream/vllm-recipes"), "", ".yaml", &mut all);
    let mut sglang = Vec::new();
    pages(&shared.join("upstream/sglang-cookbook"), "docs/src/snippets", ".jsx", &mut sglang);
    // One page in six, for time; `CLAIMS=all` takes every one.
    if std::env::var_os("CLAIMS").is_none() {
        let (mut models, mut snippets) = (0, 0);
        all.retain(|page| {
            !page.path.starts_with("models/") || {
                models += 1;
                models % 6 == 0
            }
        });
        sglang.retain(|_| {
            snippets += 1;
            snippets % 6 == 0
        });
    }
    let ends = |page: &std::rc::Rc<Page>, entry: &Value| match entry["file"].as_str() {
        Some(file) => page.path.ends_with(file),
        None => page.path == format!("models/{}.yaml", entry["hf_id"].as_str().unwrap()),
    };
    let looked: Vec<_> = all.iter().chain(&sglang).cloned().collect();
    let mut said: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    let mut lines = 0;
    for (path, claims) in claims::of(&all).into_iter().chain(claims::of(&sglang)) {
        // Two pages of image models are written in another way; the oracle has neither.
        let Ok(claims) = claims else {
            println!("{path}: {claims:?}");
            continue;
        };
        for claim in claims {
            lines += 1;
            said.entry(key(&claim["source"])).or_default().push(claim);
        }
    }
    for oracle in ["vllm-commands", "sglang-commands"] {
        let oracle = gz(&shared.join(format!("oracles/{oracle}.json.gz")));
        let (mut equal, mut total) = (0, 0);
        let mut names: BTreeMap<String, bool> = BTreeMap::new();
        for entry in oracle["entries"].as_array().unwrap() {
            let name = format!("{}{}", entry["file"], entry["hf_id"]);
            if !*names.entry(name).or_insert_with(|| looked.iter().any(|page| ends(page, entry))) {
                continue;
            }
            let found =
                said.get(&key(entry)).into_iter().flatten().any(|claim| match entry["command"].as_str() {
                    Some(command) if entry["form"].is_string() => claim["command"] == command,
                    Some(command) if entry["kind"] == "omni" => {
                        let wanted = command::commands(command).pop().unwrap();
                        words(&claim["argv"]) == wanted.argv
                    }
                    _ if entry["kind"] == "pd_cluster" => {
                        claim["prefill"]["argv"] == entry["prefill"]["argv"]
                    }
                    _ => claim["argv"] == entry["argv"],
                });
            total += 1;
            equal += usize::from(found);
            if !found && total - equal < 6 {
                println!("nothing says {}", key(entry));
            }
        }
        println!("entries of the oracle among {lines} claims: {equal}/{total}");
        assert!(total > 1_000);
        assert_eq!(equal, total);
    }
}

/// What is selected, in the words of the oracles.
fn key(entry: &Value) -> String {
    let fields =
        ["file", "form", "sel", "kind", "hf_id", "variant", "hw", "strategy", "features", "nodes", "task"];
    fields.map(|field| entry[field].to_string()).join(" ")
}
