//! What cookbooks say, all of it: every command that a reader can be shown, one line each, with what
//! is selected to see it.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use serde_json::{Value as Json, json};

use crate::cookbook::generator::Generator;
use crate::cookbook::matrix::Matrix;
use crate::cookbook::{Page, Unreadable, published};
use crate::vllm::{Catalog, Published, Request, Synthesis, Yaml, omni, synthesize};

/// Most selections of a page of which hidden ones are looked at.
const MOST_HIDDEN: usize = 4_096;

/// What a page says, or why it cannot be read.
pub type Claims = Result<Vec<Json>, Unreadable>;

/// Returns what each page that shows commands says, with its path.
#[must_use]
pub fn of(pages: &[Rc<Page>]) -> Vec<(String, Claims)> {
    let mut all = Vec::new();
    for page in pages {
        let starts = |mark: &str| page.text.lines().any(|line| line.starts_with(mark));
        let claims = if published::is_recipe(page) {
            match published::catalog(page, pages) {
                Some(catalog) => catalog.and_then(|catalog| recipe(page, &catalog)),
                None => Err(Unreadable { line: 0, why: "`taxonomy.yaml` is not beside it".to_owned() }),
            }
        } else if starts("export const config ") || starts("export const config=") {
            matrix(page)
        } else if page.text.contains("generateCommand") && page.path.ends_with(".jsx") {
            generator(page)
        } else {
            continue;
        };
        all.push((page.path.clone(), claims));
    }
    all
}

fn fail(error: crate::script::ScriptError) -> Unreadable {
    Unreadable { line: error.line, why: error.why }
}

/// Returns the path below the folder that all snippets are in.
fn snippet(page: &Page) -> &str {
    page.path.split_once("snippets/").map_or(page.path.as_str(), |(_, path)| path)
}

fn matrix(page: &Page) -> Claims {
    let mut matrix = Matrix::read(&page.text).map_err(fail)?;
    let mut claims = Vec::new();
    for cell in matrix.cells().to_vec() {
        for selection in matrix.selections(&cell).map_err(fail)? {
            let shown = matrix.render(&cell, &selection).map_err(fail)?;
            claims.push(json!({
                "source": { "file": snippet(page), "form": "matrix", "sel": selection, "cell": cell.index },
                "command": shown.command,
                "env": {},
                "image": shown.image,
            }));
        }
    }
    Ok(claims)
}

fn generator(page: &Page) -> Claims {
    let generator = Generator::read(&page.text).map_err(fail)?;
    let mut selections = generator.selections(&|_, _| true, false).map_err(fail)?;
    // What is hidden or greyed out at the time still has its command, on pages of few choices.
    let hidden = generator.selections(&|_, _| true, true).map_err(fail)?;
    if hidden.len() <= MOST_HIDDEN {
        let known: BTreeSet<String> =
            selections.iter().map(|selection| json!(selection).to_string()).collect();
        selections
            .extend(hidden.into_iter().filter(|selection| !known.contains(&json!(selection).to_string())));
    }
    let shown = selections.into_iter().filter_map(|selection| {
        // What the page refuses to show it does not say.
        let command = generator.render(&selection).ok()?;
        Some(json!({
            "source": { "file": snippet(page), "form": "generator", "sel": selection },
            "command": command,
            "env": {},
            "image": Json::Null,
        }))
    });
    Ok(shown.collect())
}

fn recipe(page: &Page, catalog: &Catalog) -> Claims {
    let recipe = Yaml::read(&page.text).map_err(|why| Unreadable { line: 0, why })?;
    let id = page.path.split_once("models/").map_or(page.path.as_str(), |(_, path)| path);
    let id = id.trim_end_matches(".yaml");
    let mut claims = Vec::new();
    let unsupported = |map: Option<&Yaml>, key: &str| {
        map.and_then(|map| map.get(key)).and_then(Yaml::text) == Some("unsupported")
    };
    for (variant, stated) in recipe.get("variants").map(Yaml::entries).unwrap_or_default() {
        for hardware in catalog.hardware() {
            let listed = stated.get("supported_hardware").map(Yaml::items).unwrap_or_default();
            let left_out = !listed.is_empty() && !listed.iter().any(|one| one.text() == Some(hardware));
            if left_out || unsupported(recipe.at(&["meta", "hardware"]), hardware) {
                continue;
            }
            for task in omni::tasks(&recipe) {
                let Ok(found) = omni::synthesize(catalog, &recipe, variant, hardware, &task) else {
                    continue;
                };
                let source = json!({
                    "kind": "omni", "hf_id": id, "variant": variant, "hw": hardware, "task": task.id,
                });
                claims.push(claim(source, found));
            }
            for strategy in strategies(&recipe) {
                deployed(catalog, &recipe, [id, variant, hardware, strategy], &mut claims);
            }
        }
    }
    Ok(claims)
}

/// Returns the strategies that a recipe offers on some hardware.
fn strategies(recipe: &Yaml) -> Vec<&str> {
    let listed = recipe.get("compatible_strategies").map(Yaml::items).unwrap_or_default();
    let mut all: Vec<&str> = listed.iter().filter_map(Yaml::text).collect();
    for (name, _) in recipe.get("strategy_hardware").map(Yaml::entries).unwrap_or_default() {
        if !all.contains(&name.as_str()) {
            all.push(name);
        }
    }
    all
}

/// Adds what is published of a strategy on a GPU, with each set of features.
fn deployed(
    catalog: &Catalog,
    recipe: &Yaml,
    [id, variant, hardware, strategy]: [&str; 4],
    into: &mut Vec<Json>,
) {
    let Some(kind) = catalog.deploys(strategy) else { return };
    for (name, features, modes) in features(recipe, variant, hardware) {
        let request = Request {
            variant: variant.to_owned(),
            hardware: hardware.to_owned(),
            strategy: strategy.to_owned(),
            features: features.clone(),
            modes: modes.clone(),
            nodes: nodes(catalog, recipe, kind, strategy, hardware),
            kv_offload: None,
        };
        let Ok(found) = synthesize(catalog, recipe, &request) else { continue };
        let source = json!({
            "kind": kind, "hf_id": id, "variant": variant, "hw": hardware, "strategy": strategy,
            "features": name, "feature_list": features, "modes": modes, "nodes": request.nodes,
        });
        into.push(claim(source, found));
    }
}

fn claim(source: Json, found: Synthesis) -> Json {
    let part = |published: &Published| json!({ "argv": published.argv, "env": published.env });
    match found.roles {
        Some(roles) => json!({
            "source": source,
            "prefill": part(&roles.prefill),
            "decode": part(&roles.decode),
            "router": roles.router,
            "image": found.image,
        }),
        None => json!({
            "source": source,
            "argv": found.server.argv,
            "env": found.server.env,
            "worker_argvs": found.workers,
            "image": found.image,
        }),
    }
}

/// Returns the nodes that a strategy needs: at least two where it is for several, and as many as the
/// least number of GPUs takes that the recipe states.
fn nodes(catalog: &Catalog, recipe: &Yaml, kind: &str, strategy: &str, hardware: &str) -> u32 {
    let Some(least) = recipe.get("strategy_min_gpus") else {
        return if kind == "multi_node" { 2 } else { 1 };
    };
    let of = |block: &Yaml| {
        let keys = [strategy.to_owned(), format!("multi_node_{strategy}"), format!("single_node_{strategy}")];
        block.whole().or_else(|| keys.iter().find_map(|key| block.get(key)?.whole())).unwrap_or(0)
    };
    let own = if least.whole().is_some() { None } else { least.get(hardware) };
    let gpus = of(least).max(own.map_or(0, of));
    let nodes = u32::try_from(gpus.div_ceil(catalog.gpus(hardware).max(1))).unwrap_or(1);
    match kind {
        "multi_node" => nodes.max(2),
        "pd_cluster" => nodes.max(1),
        _ => 1,
    }
}

type Features = (String, Vec<String>, BTreeMap<String, String>);

/// Returns the sets of features that are shown: those that are on at first, none, all, and all with
/// each mode of each that has several.
fn features(recipe: &Yaml, variant: &str, hardware: &str) -> Vec<Features> {
    let entries = recipe.get("features").map(Yaml::entries).unwrap_or_default();
    let all: Vec<String> = entries.iter().map(|(name, _)| name.clone()).collect();
    let names = |list: Option<&Yaml>| -> Vec<String> {
        list.map(Yaml::items).unwrap_or_default().iter().map(Yaml::word).collect()
    };
    let mut off = names(recipe.get("opt_in_features"));
    off.extend(names(recipe.at(&["hardware_opt_in_features", hardware])));
    let chosen = recipe.at(&["variants", variant, "default_modes"]).map(Yaml::entries).unwrap_or_default();
    off.retain(|name| !chosen.iter().any(|(feature, _)| feature == name));
    let first: Vec<String> = all.iter().filter(|name| !off.contains(name)).cloned().collect();
    let mut sets = vec![
        ("default".to_owned(), first, BTreeMap::new()),
        ("none".to_owned(), Vec::new(), BTreeMap::new()),
        ("all".to_owned(), all.clone(), BTreeMap::new()),
    ];
    for (feature, stated) in entries {
        for (mode, _) in stated.get("modes").map(Yaml::entries).unwrap_or_default() {
            let modes = [(feature.clone(), mode.clone())].into();
            sets.push((format!("all+{feature}={mode}"), all.clone(), modes));
        }
    }
    sets
}
