//! vLLM recipes as pages: every command that a reader could be shown for a GPU.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use serde_json::{Map, Value as Json};

use super::{Cell, Class, Page, Unreadable, checkpoint, line_of};
use crate::vllm::{Catalog, Published, Request, Synthesis, Yaml, omni, synthesize};

/// Most commands that are looked at of one recipe.
const MOST: usize = 4_096;
/// Of more features than this, not every subset is looked at.
const MOST_FEATURES: usize = 8;

/// Returns what holds for all recipes among the pages of the same commit as `page`; `None` if it is
/// not among them.
pub(crate) fn catalog(page: &Page, pages: &[Rc<Page>]) -> Option<Result<Catalog, Unreadable>> {
    let same = |other: &&Rc<Page>| other.repository == page.repository && other.commit == page.commit;
    let taxonomy = pages.iter().filter(same).find(|other| name(other) == ("", "taxonomy"))?;
    let folder = |wanted: &str| -> Vec<(String, String)> {
        let inside = pages.iter().filter(same).filter(|other| name(other).0 == wanted);
        inside.map(|other| (name(other).1.to_owned(), other.text.clone())).collect()
    };
    let catalog = Catalog::read(&taxonomy.text, &folder("strategies"), &folder("kv_store"));
    Some(catalog.map_err(|why| Unreadable {
        line: 0,
        why: format!("what it is put together from cannot be read: {why:?}"),
    }))
}

/// Returns folder and name of a YAML page.
fn name(page: &Page) -> (&str, &str) {
    let path = page.path.strip_suffix(".yaml").unwrap_or("");
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    (folder.rsplit('/').next().unwrap_or(folder), name)
}

/// True if a page is a recipe of a model.
pub(crate) fn is_recipe(page: &Page) -> bool {
    let starts = |mark: &str| page.text.lines().any(|line| line.starts_with(mark));
    page.path.ends_with(".yaml") && starts("model:") && starts("variants:")
}

/// Returns the commands of a recipe on one node of a GPU: every variant, strategy and set of
/// features, with every mode of those that have several.
pub(super) fn cells(page: &Page, catalog: &Catalog, hardware: &str) -> Result<Vec<Cell>, Unreadable> {
    let recipe = Yaml::read(&page.text).map_err(|why| Unreadable { line: 0, why })?;
    let mut cells: Vec<Cell> = Vec::new();
    let mut seen = BTreeSet::new();
    let mut add = |found: Synthesis, selection: Map<String, Json>| {
        let Published { argv, env } = found.server;
        if cells.len() < MOST && seen.insert((argv.clone(), env.clone())) {
            let line = checkpoint(&argv).map_or(0, |name| line_of(&page.text, name)).max(1);
            let (hardware, image) = (Some(hardware.to_owned()), Some(found.image));
            cells.push(Cell { selection, hardware, argv, env, image, line, class: Class::Independent });
        }
    };
    let variants = recipe.get("variants").map(Yaml::entries).unwrap_or_default();
    let strategies = recipe.get("compatible_strategies").map(Yaml::items).unwrap_or_default();
    for (variant, _) in variants {
        for strategy in
            strategies.iter().filter_map(Yaml::text).filter(|name| name.starts_with("single_node"))
        {
            for (features, modes) in choices(&recipe) {
                let request = Request {
                    variant: variant.clone(),
                    hardware: hardware.to_owned(),
                    strategy: strategy.to_owned(),
                    features,
                    modes,
                    nodes: 1,
                    kv_offload: None,
                };
                // A strategy or GPU that the catalog does not have is not offered.
                let Ok(found) = synthesize(catalog, &recipe, &request) else { continue };
                add(found, selection(&request));
            }
        }
        for task in omni::tasks(&recipe) {
            let task = task.on(hardware);
            let Ok(found) = omni::synthesize(catalog, &recipe, variant, hardware, &task) else { continue };
            let selection = [("variant", variant.as_str()), ("task", task.key)];
            add(found, selection.map(|(name, value)| (name.to_owned(), value.into())).into_iter().collect());
        }
    }
    Ok(cells)
}

fn selection(request: &Request) -> Map<String, Json> {
    let Request { variant, strategy, features, modes, .. } = request;
    let entries: [(&str, Json); 4] = [
        ("variant", variant.as_str().into()),
        ("strategy", strategy.as_str().into()),
        ("features", features.iter().map(String::as_str).collect()),
        (
            "modes",
            Json::Object(modes.iter().map(|(name, mode)| (name.clone(), mode.as_str().into())).collect()),
        ),
    ];
    entries.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

type Choice = (Vec<String>, BTreeMap<String, String>);

/// Returns the sets of features in the recipe's order, each with every mode.
fn choices(recipe: &Yaml) -> Vec<Choice> {
    let features = recipe.get("features").map(Yaml::entries).unwrap_or_default();
    let all = features.len().min(MOST_FEATURES);
    let mut choices = Vec::new();
    for bits in 0..1u32 << all {
        // Of very many features the rest is switched on as one.
        let on = |index: usize| if index < all { bits >> index & 1 == 1 } else { bits == (1 << all) - 1 };
        let chosen: Vec<&(String, Yaml)> =
            features.iter().enumerate().filter(|(index, _)| on(*index)).map(|(_, feature)| feature).collect();
        let names: Vec<String> = chosen.iter().map(|(name, _)| name.clone()).collect();
        let mut modes: Vec<BTreeMap<String, String>> = vec![BTreeMap::new()];
        for (name, feature) in &chosen {
            let of_feature = feature.get("modes").map(Yaml::entries).unwrap_or_default();
            if of_feature.is_empty() {
                continue;
            }
            modes = modes
                .iter()
                .flat_map(|known| {
                    of_feature.iter().map(move |(mode, _)| {
                        let mut more = known.clone();
                        more.insert(name.clone(), mode.clone());
                        more
                    })
                })
                .collect();
        }
        choices.extend(modes.into_iter().map(|modes| (names.clone(), modes)));
    }
    choices
}
