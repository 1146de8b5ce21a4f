//! vLLM recipes put together as upstream's own code puts them together.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;
use verify::vllm::{Catalog, Published, Request, Yaml, synthesize};

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
    Published { argv: words(&value["argv"]), env }
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
    let (mut equal, mut total, mut omni) = (0, 0, 0);
    for entry in oracle["entries"].as_array().unwrap() {
        if entry["kind"] == "omni" {
            omni += 1;
            continue;
        }
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
    println!("published commands equal to upstream's: {equal}/{total}, and {omni} of omni models not read");
    assert!(total > 30_000);
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
