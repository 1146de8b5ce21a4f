//! vLLM recipes: the published command for a variant, a GPU, a strategy and a set of features.
//!
//! Upstream publishes no commands but the parts of them, as YAML, and puts them together when a
//! reader selects. This puts them together by the same rules.

mod arguments;
mod environment;
mod feature;
mod image;
pub mod omni;
mod parallel;
mod yaml;

use std::collections::BTreeMap;

pub use yaml::Yaml;

/// What holds for all recipes: GPUs, strategies and ways to offload the KV cache.
#[derive(Clone, Debug)]
pub struct Catalog {
    taxonomy: Yaml,
    strategies: BTreeMap<String, Yaml>,
    kv_stores: BTreeMap<String, Yaml>,
}

/// What a reader selects.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Request {
    /// Variant of the model: `default`, `nvfp4`.
    pub variant: String,
    /// GPU: `b200`.
    pub hardware: String,
    /// Strategy: `single_node_tp`.
    pub strategy: String,
    /// Features, in order.
    pub features: Vec<String>,
    /// Mode of features that have several.
    pub modes: BTreeMap<String, String>,
    /// Nodes.
    pub nodes: u32,
    /// Way to offload the KV cache.
    pub kv_offload: Option<String>,
}

/// A command with its environment.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Published {
    /// Program and arguments.
    pub argv: Vec<String>,
    /// The environment.
    pub env: BTreeMap<String, String>,
}

/// What upstream publishes for a request.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Synthesis {
    /// The server; of several nodes, that of the first.
    pub server: Published,
    /// The servers of further nodes.
    pub workers: Vec<Vec<String>>,
    /// Prefill and decode, where they are apart.
    pub roles: Option<Roles>,
    /// The image.
    pub image: String,
}

/// Prefill and decode servers.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Roles {
    /// Prefill.
    pub prefill: Published,
    /// Decode.
    pub decode: Published,
    /// The router's command, as shown.
    pub router: String,
}

/// The words that tell parts of a cluster apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Part {
    Whole,
    Prefill,
    Decode,
}

impl Part {
    fn name(self) -> Option<&'static str> {
        match self {
            Self::Whole => None,
            Self::Prefill => Some("prefill"),
            Self::Decode => Some("decode"),
        }
    }
}

/// A request with everything that it names, looked up once.
pub(crate) struct Chosen<'a> {
    pub(crate) request: &'a Request,
    pub(crate) recipe: &'a Yaml,
    pub(crate) variant: &'a Yaml,
    pub(crate) strategy: &'a Yaml,
    pub(crate) overrides: &'a Yaml,
    pub(crate) catalog: &'a Catalog,
    pub(crate) gpu: Gpu<'a>,
}

/// A GPU of the taxonomy.
#[derive(Clone, Copy)]
pub(crate) struct Gpu<'a> {
    pub(crate) id: &'a str,
    pub(crate) brand: &'a str,
    pub(crate) generation: &'a str,
    pub(crate) count: u64,
    pub(crate) vram: f64,
}

impl Gpu<'_> {
    /// Looks a GPU up in a map that is keyed by it: exactly, by generation, by brand, else the
    /// default.
    pub(crate) fn keyed<'y>(&self, map: &'y Yaml) -> Option<&'y Yaml> {
        let brand = self.brand.to_lowercase();
        [self.id, self.generation, &brand, "default"].into_iter().find_map(|key| map.get(key))
    }

    /// Returns the block of its generation in a map of overrides; NVIDIA's falls back to the brand.
    pub(crate) fn block<'y>(&self, overrides: &'y Yaml) -> &'y Yaml {
        let brand = if self.brand == "NVIDIA" { overrides.get("nvidia") } else { None };
        overrides.get(self.generation).or(brand).unwrap_or(&Yaml::Null)
    }
}

/// Why there is no command.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// A text is no YAML, or of another form.
    Unreadable(String),
    /// The request names something that is not there.
    Unknown(String),
}

impl Catalog {
    /// Reads `taxonomy.yaml`, and strategies and KV stores by name.
    ///
    /// # Errors
    /// If a text cannot be read.
    pub fn read(
        taxonomy: &str,
        strategies: &[(String, String)],
        kv_stores: &[(String, String)],
    ) -> Result<Self, Refusal> {
        let read = |texts: &[(String, String)]| -> Result<BTreeMap<String, Yaml>, Refusal> {
            let named = texts
                .iter()
                .map(|(name, text)| Ok((name.clone(), Yaml::read(text).map_err(Refusal::Unreadable)?)));
            named.collect()
        };
        let taxonomy = Yaml::read(taxonomy).map_err(Refusal::Unreadable)?;
        Ok(Self { taxonomy, strategies: read(strategies)?, kv_stores: read(kv_stores)? })
    }

    /// Returns the names of GPUs, in their order.
    pub(crate) fn hardware(&self) -> impl Iterator<Item = &str> {
        let profiles = self.taxonomy.get("hardware_profiles").map(Yaml::entries).unwrap_or_default();
        profiles.iter().map(|(name, _)| name.as_str())
    }

    /// Returns how a strategy deploys: `single_node`, `multi_node` or `pd_cluster`.
    pub(crate) fn deploys(&self, strategy: &str) -> Option<&str> {
        self.strategies.get(strategy)?.get("deploy_type").and_then(Yaml::text)
    }

    /// Returns the GPUs of a node.
    pub(crate) fn gpus(&self, hardware: &str) -> u64 {
        self.gpu(hardware).map_or(8, |gpu| gpu.count)
    }

    /// Returns the GPU of this name.
    pub(crate) fn gpu<'a>(&'a self, id: &'a str) -> Option<Gpu<'a>> {
        let profile = self.taxonomy.at(&["hardware_profiles", id])?;
        let generation = match profile.get("generation") {
            Some(Yaml::List(list)) => list.first().and_then(Yaml::text).unwrap_or_default(),
            other => other.and_then(Yaml::text).unwrap_or_default(),
        };
        Some(Gpu {
            id,
            brand: profile.get("brand").and_then(Yaml::text).unwrap_or_default(),
            generation,
            count: profile.get("gpu_count").and_then(Yaml::whole).unwrap_or(1),
            vram: profile.get("vram_gb").and_then(Yaml::number).unwrap_or(0.0),
        })
    }
}

/// Returns what upstream publishes for a request.
///
/// # Errors
/// If the request names a strategy or a GPU that is not there.
pub fn synthesize(catalog: &Catalog, recipe: &Yaml, request: &Request) -> Result<Synthesis, Refusal> {
    let unknown = |what: &str| Refusal::Unknown(what.to_owned());
    let strategy = catalog.strategies.get(&request.strategy).ok_or_else(|| unknown(&request.strategy))?;
    let gpu = catalog.gpu(&request.hardware).ok_or_else(|| unknown(&request.hardware))?;
    let variants = recipe.get("variants").unwrap_or(&Yaml::Null);
    let variant = variants.get(&request.variant).or_else(|| variants.get("default")).unwrap_or(&Yaml::Null);
    let overrides = recipe.at(&["strategy_overrides", &request.strategy]).unwrap_or(&Yaml::Null);
    let chosen = Chosen { request, recipe, variant, strategy, overrides, catalog, gpu };
    let mut synthesis =
        Synthesis { image: image::image(recipe, variant, &chosen.gpu), ..Synthesis::default() };
    let published = |part: Part, rank: u32| Published {
        argv: arguments::argv(&chosen, part, rank),
        env: environment::env(&chosen, part),
    };
    if chosen.deploys() == "pd_cluster" {
        synthesis.roles = Some(Roles {
            prefill: published(Part::Prefill, 0),
            decode: published(Part::Decode, 0),
            router: parallel::router(&chosen),
        });
        return Ok(synthesis);
    }
    synthesis.server = published(Part::Whole, 0);
    if chosen.deploys() == "multi_node" {
        synthesis.workers =
            (1..request.nodes.max(1)).map(|rank| arguments::argv(&chosen, Part::Whole, rank)).collect();
    }
    Ok(synthesis)
}

impl<'a> Chosen<'a> {
    pub(crate) fn deploys(&self) -> &'a str {
        self.strategy.get("deploy_type").and_then(Yaml::text).unwrap_or_default()
    }

    /// Returns what the strategy says of a part, or of the whole.
    pub(crate) fn strategy_of(&self, part: Part) -> &'a Yaml {
        match part.name() {
            Some(role) => self.strategy.get(role).unwrap_or(&Yaml::Null),
            None => self.strategy,
        }
    }

    /// Returns what the recipe overrides of a part of the strategy.
    pub(crate) fn override_of(&self, part: Part) -> &'a Yaml {
        match part.name() {
            Some(role) => self.overrides.get(role).unwrap_or(&Yaml::Null),
            None => &Yaml::Null,
        }
    }
}
