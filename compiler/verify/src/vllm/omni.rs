//! Omni models: one server a task, without strategies, features or parallelism.

use std::collections::BTreeMap;

use super::arguments::last_of_each;
use super::{Catalog, Gpu, Published, Refusal, Synthesis, Yaml, image};

/// Tasks that upstream has a template for; others it does not show.
const KNOWN: [&str; 6] = ["t2i", "i2i", "t2v", "i2v", "ti2v", "t2a"];

/// One task of an omni model, such as text to image.
#[derive(Clone, PartialEq, Debug)]
pub struct Task<'a> {
    /// What it does: `t2i`. Several may do the same.
    pub id: &'a str,
    /// What it is selected by.
    pub key: &'a str,
    stated: &'a Yaml,
    hardware: &'a Yaml,
}

impl Task<'_> {
    /// Returns the task with what the recipe says of it on a GPU.
    #[must_use]
    pub fn on(self, hardware: &str) -> Self {
        Self { hardware: self.stated.at(&["hardware_overrides", hardware]).unwrap_or(&Yaml::Null), ..self }
    }
}

/// Returns the tasks that a recipe offers, in its order; none if it is of no omni model.
#[must_use]
pub fn tasks(recipe: &Yaml) -> Vec<Task<'_>> {
    let stated = recipe.at(&["omni", "tasks"]).map(Yaml::items).unwrap_or_default();
    let read = stated.iter().filter_map(|stated| {
        let id = stated.text().or_else(|| stated.get("id").and_then(Yaml::text))?;
        let key = stated.get("key").and_then(Yaml::text).unwrap_or(id);
        KNOWN.contains(&id).then_some(Task { id, key, stated, hardware: &Yaml::Null })
    });
    read.collect()
}

/// Returns what upstream publishes for a task of an omni model.
///
/// # Errors
/// If there is no such GPU.
pub fn synthesize(
    catalog: &Catalog,
    recipe: &Yaml,
    variant: &str,
    hardware: &str,
    task: &Task<'_>,
) -> Result<Synthesis, Refusal> {
    let gpu = catalog.gpu(hardware).ok_or_else(|| Refusal::Unknown(hardware.to_owned()))?;
    let variants = recipe.get("variants").unwrap_or(&Yaml::Null);
    let stated = variants.get(variant).or_else(|| variants.get("default")).unwrap_or(&Yaml::Null);
    // What the default variant adds is in the model's own arguments already.
    let own = if variant == "default" { &Yaml::Null } else { stated };
    let args = [recipe.at(&["model", "base_args"]), own.get("extra_args")]
        .into_iter()
        .chain([task.stated.get("extra_args"), task.hardware.get("extra_args")])
        .chain(overrides(recipe, stated, &gpu).map(|block| block.get("extra_args")));
    let mut words: Vec<String> =
        args.flatten().flat_map(Yaml::items).map(Yaml::word).filter(|word| !word.is_empty()).collect();
    if let Some(port) = recipe.at(&["omni", "port"]) {
        words.extend(["--port".to_owned(), port.word()]);
    }
    words.push("--omni".to_owned());
    let env = [recipe.at(&["model", "base_env"]), own.get("extra_env")]
        .into_iter()
        .chain(overrides(recipe, stated, &gpu).map(|block| block.get("extra_env")));
    let env: BTreeMap<String, String> =
        env.flatten().flat_map(Yaml::entries).map(|(name, value)| (name.clone(), value.word())).collect();
    let model = [task.hardware.get("model_id"), task.stated.get("model_id"), stated.get("model_id")]
        .into_iter()
        .flatten()
        .next()
        .or_else(|| recipe.at(&["model", "model_id"]));
    let program = recipe.at(&["omni", "serve_binary"]).and_then(Yaml::text).unwrap_or("vllm serve");
    let argv = program.split_whitespace().map(str::to_owned).chain(model.map(Yaml::word));
    let server = Published { argv: argv.chain(last_of_each(words)).collect(), env };
    Ok(Synthesis { server, image: image::image(recipe, stated, &gpu), ..Synthesis::default() })
}

/// Returns what is said of a GPU, the last word last: the recipe of its generation, the variant of
/// its generation, the variant of this very GPU.
fn overrides<'y>(recipe: &'y Yaml, variant: &'y Yaml, gpu: &Gpu<'_>) -> impl Iterator<Item = &'y Yaml> {
    let of = |value: &'y Yaml| value.get("hardware_overrides").unwrap_or(&Yaml::Null);
    let exact = of(variant).get(gpu.id).unwrap_or(&Yaml::Null);
    [gpu.block(of(recipe)), gpu.block(of(variant)), exact].into_iter()
}
