//! What a recipe is, once read: plain data, and the functions that make processes of points.

use std::collections::BTreeMap;

use diag::Span;
use engine::known::Checkpoint;

use crate::schema::At;
use crate::search::Scenario;
use crate::target::Target;
use crate::tree::Tree;
use crate::want::Want;

/// One benchmark configuration, named by its config key.
#[derive(Clone, Debug)]
pub struct Recipe {
    /// The config key.
    pub key: At<String>,
    /// The file that defines it, relative to the root, with `/`.
    pub manifest: String,
    /// The engine as the manifest names it, which is also upstream's `framework`.
    pub engine: At<String>,
    /// Version of the engine, where the image's tag does not say it.
    pub engine_version: Option<At<String>>,
    /// Rules of the engine that do not hold for this image, each with the reason; the place is that
    /// of the rule's name.
    pub waivers: BTreeMap<String, At<String>>,
    /// The image as the manifest writes it.
    pub image: At<String>,
    /// The checkpoint served.
    pub model: Model,
    /// How weights and KV cache are quantized.
    pub quantization: Option<Quantization>,
    /// Speculative decoding.
    pub speculative: Speculation,
    /// Draft checkpoints that a function of the point chooses between: what a lock pins without
    /// asking at every point.
    pub drafts: Vec<Repository>,
    /// Golden curves that a function of the point takes acceptance lengths from, likewise.
    pub curves: Vec<Curve>,
    /// Targets by name or label; the first is upstream's runner.
    pub targets: Vec<At<String>>,
    /// Workloads with their search spaces.
    pub scenarios: Vec<Scenario>,
    /// When the checkpoint is downloaded.
    pub download: Download,
    /// Data sets downloaded before anything starts.
    pub datasets: Vec<Repository>,
    /// Python packages installed for the client once the server is ready.
    pub packages: Vec<At<String>>,
    /// Processes that install what packages alone cannot say, once the server is ready.
    pub installs: Vec<Tree>,
    /// The port that its servers listen on, where the target's will not do.
    pub port: Option<Tree>,
    /// Pages of cookbooks that the recipe follows.
    pub cookbook: Vec<SourceFile>,
    /// The repository that is checked out in the workspace: clients and evaluators come from it.
    pub harness: Option<SourceFile>,
    /// From a point to the server's process.
    pub serve: Tree,
    /// From a point to the client's process.
    pub client: Tree,
    /// From a point to the evaluator's process.
    pub eval: Option<Tree>,
}

/// The checkpoint that a recipe serves.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Model {
    /// Repository id on the hub, `owner/name`.
    pub repository: At<String>,
    /// Branch, tag or commit.
    pub revision: At<String>,
    /// Upstream's name of the family.
    pub prefix: At<String>,
    /// Upstream's name of the precision.
    pub precision: At<String>,
    /// Whether the traffic thinks.
    pub thinking: Option<At<bool>>,
    /// What the manifest states of the checkpoint.
    pub facts: Checkpoint,
    /// Where the model was written.
    pub at: Option<Span>,
}

/// A repository of a hub.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Repository {
    /// Repository id on the hub, `owner/name`.
    pub repository: At<String>,
    /// Branch, tag or commit.
    pub revision: At<String>,
}

/// A file or folder of a git repository.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SourceFile {
    /// Repository on the forge, `owner/name`.
    pub repository: At<String>,
    /// Branch, tag or commit.
    pub revision: At<String>,
    /// Path inside; empty for the repository itself.
    pub path: String,
}

/// How weights and KV cache are quantized, in the engine's own words.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Quantization {
    /// Method that the engine is told; absent where it reads it from the checkpoint.
    pub method: Option<At<String>>,
    /// Type of the KV cache.
    pub kv_cache: Option<At<String>>,
}

/// Whether and how a recipe drafts.
#[derive(Clone, Debug)]
pub enum Speculation {
    /// It does not.
    None,
    /// The same at every point.
    Always(Box<Speculative>),
    /// As a function of the point says.
    PerPoint(Tree),
}

impl Speculation {
    /// Returns the speculation that holds at every point, if there is one.
    #[must_use]
    pub fn always(&self) -> Option<&Speculative> {
        if let Self::Always(speculative) = self { Some(speculative) } else { None }
    }
}

/// Speculative decoding, in words that belong to no engine but for the algorithm's name.
#[derive(Clone, PartialEq, Debug)]
pub struct Speculative {
    /// `mtp`, `eagle3`, `dspark`, ….
    pub method: At<String>,
    /// What upstream's matrix calls it: `mtp` or `draft_model`.
    pub label: String,
    /// The engine's name of the algorithm.
    pub algorithm: Option<At<String>>,
    /// Draft tokens in a row that one step proposes.
    pub steps: At<u32>,
    /// Branches of the draft tree.
    pub topk: Option<At<u32>>,
    /// Tokens that one step verifies, where the engine counts them.
    pub draft_tokens: Option<At<u32>>,
    /// The draft checkpoint, if the draft is a model of its own.
    pub draft: Option<Draft>,
    /// How the draft samples, where that matters: `greedy` or `probabilistic`.
    pub draft_sampling: Option<At<String>>,
    /// The synthetic acceptance that throughput runs inject.
    pub acceptance: Option<Acceptance>,
    /// Where it was written.
    pub at: Option<Span>,
}

/// A draft that is a checkpoint of its own.
#[derive(Clone, PartialEq, Debug)]
pub struct Draft {
    /// The checkpoint.
    pub checkpoint: Repository,
    /// The folder that it is put into on targets that have no folder for it.
    pub folder: Option<At<String>>,
    /// Whether the engine brings it by itself.
    pub brought: bool,
}

impl Draft {
    /// Returns the folder that holds the draft on a target; `None` where a hub cache serves it.
    #[must_use]
    pub fn folder(&self, target: &Target) -> Option<String> {
        let place = target.place(&self.checkpoint.repository.value).and_then(|place| place.folder);
        place.or_else(|| self.folder.as_ref().map(|folder| folder.value.clone()))
    }
}

/// Synthetic acceptance: the mean number of tokens that a step yields.
#[derive(Clone, PartialEq, Debug)]
pub struct Acceptance {
    /// The length as a decimal, where the manifest writes it; else it is the curve's.
    pub length: Option<At<String>>,
    /// The golden curve it is taken from.
    pub curve: Option<Curve>,
    /// Where a model without a curve has its length from.
    pub source: Option<At<String>>,
    /// Where it was written.
    pub at: Option<Span>,
}

/// A golden curve as a manifest names or states it.
#[derive(Clone, PartialEq, Debug)]
pub struct Curve {
    /// Name of the file that holds it.
    pub name: At<String>,
    /// The file, if it is in a repository.
    pub source: Option<SourceFile>,
    /// The curve itself, where the manifest states it; else it is a known or a committed one.
    pub stated: Option<engine::known::Curve>,
}

/// When the checkpoint is downloaded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Download {
    /// Where no target has staged it.
    Unstaged,
    /// Also where a staged place turns out to be missing.
    Missing,
    /// Never by a step of its own: the engine brings what is not staged as it starts.
    Engine,
}

impl Recipe {
    /// Returns everything that the recipe names from outside, sorted, for these platforms.
    #[must_use]
    pub fn wants(&self, platforms: &[String]) -> Vec<Want> {
        let mut wants = vec![
            Want::Image { reference: self.image.value.clone(), platforms: platforms.to_vec() },
            Want::Checkpoint {
                repository: self.model.repository.value.clone(),
                revision: self.model.revision.value.clone(),
            },
        ];
        wants.extend(self.datasets.iter().map(|dataset| Want::Dataset {
            repository: dataset.repository.value.clone(),
            revision: dataset.revision.value.clone(),
        }));
        wants.extend(self.cookbook.iter().map(|page| page.want("cookbook")));
        wants.extend(self.harness.iter().map(|harness| harness.want("harness")));
        if let Some(speculative) = self.speculative.always() {
            wants.extend(speculative.draft.iter().map(|draft| draft.checkpoint.want()));
            let curve = speculative.acceptance.as_ref().and_then(|acceptance| acceptance.curve.as_ref());
            wants.extend(curve.and_then(|curve| curve.source.as_ref()).map(|source| source.want("curve")));
        }
        wants.extend(self.drafts.iter().map(Repository::want));
        let sources = self.curves.iter().filter_map(|curve| curve.source.as_ref());
        wants.extend(sources.map(|source| source.want("curve")));
        wants.sort();
        wants.dedup();
        wants
    }

    /// Returns upstream's name of the runner: the first target.
    #[must_use]
    pub fn runner(&self) -> &str {
        self.targets.first().map_or("", |target| &target.value)
    }
}

impl Repository {
    /// Returns the checkpoint as a want.
    #[must_use]
    pub fn want(&self) -> Want {
        Want::Checkpoint { repository: self.repository.value.clone(), revision: self.revision.value.clone() }
    }
}

impl SourceFile {
    fn want(&self, purpose: &str) -> Want {
        Want::Source {
            purpose: purpose.to_owned(),
            repository: self.repository.value.clone(),
            revision: self.revision.value.clone(),
            path: self.path.clone(),
        }
    }
}
