//! A launch as plain data: what one engine process is given, and what is known around it.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use crate::image::Chosen;
use crate::known::Checkpoint;

/// One engine process as it would start.
#[derive(Clone, Debug)]
pub struct Launch {
    /// The table it is judged by, and how certain that is: [`crate::choose`].
    pub chosen: Chosen,
    /// The image as the manifest writes it.
    pub image: String,
    /// The engine's own arguments, without program and wrappers, in order.
    pub arguments: Vec<Argument>,
    /// The environment; values with holes are given with the hole as some text.
    pub environment: BTreeMap<String, String>,
    /// The engine's configuration file (`--config` of `trtllm-serve`), as data.
    pub config: Option<Json>,
    /// What part of inference the process does.
    pub role: Role,
    /// What the run is for.
    pub mode: Mode,
    /// The workload.
    pub workload: Workload,
    /// The machine; `None` where no target is bound.
    pub hardware: Option<Hardware>,
    /// The checkpoint that is served.
    pub model: Option<Model>,
    /// The draft checkpoint, if the draft is a model of its own.
    pub draft: Option<Model>,
    /// How the recipe's point is parallel.
    pub parallel: Option<Parallel>,
    /// What the recipe declares of speculative decoding.
    pub speculative: Option<Speculative>,
    /// KV offload that the recipe declares: the medium, such as `dram`; `None` where it declares none.
    pub kv_offload: Option<String>,
    /// Whether the process is an orchestrator's worker, without an HTTP frontend of its own.
    pub worker: bool,
    /// Rules that do not hold for this image, with the reason.
    pub waivers: BTreeMap<String, String>,
}

/// One argument: an option with its values, or a word.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Argument {
    /// The name as written, without dashes where the manifest writes none.
    pub name: String,
    /// The words of the argument list that it becomes, the option itself first.
    pub words: Vec<String>,
}

/// What part of inference a process does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Role {
    /// All of it.
    #[default]
    Agg,
    /// Prefill only.
    Prefill,
    /// Decode only.
    Decode,
}

/// What a run is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Mode {
    /// Speed.
    #[default]
    Throughput,
    /// Quality.
    Eval,
}

/// What is asked of the server.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Workload {
    /// Its kind; `None` where nobody says.
    pub scenario: Option<Scenario>,
    /// Concurrent requests.
    pub concurrency: Option<u64>,
    /// Input and output tokens of a fixed sequence.
    pub tokens: Option<(u64, u64)>,
}

/// A kind of workload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scenario {
    /// Random tokens of fixed lengths.
    FixedSequence,
    /// Recorded conversations of agents.
    Agentic,
}

/// The machine.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Hardware {
    /// The SKU, such as `b200`.
    pub sku: String,
    /// The architecture by name: `sm_90`, `sm_100`, `sm_103`, `sm_120`, `gfx942`, `gfx950`.
    pub architecture: String,
    /// Memory of one GPU in bytes.
    pub hbm: Option<u64>,
    /// GPUs of one node.
    pub gpus_per_node: Option<u32>,
    /// Memory of one node in bytes.
    pub dram: Option<u64>,
}

/// A checkpoint with what is known of it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Model {
    /// Repository id, `owner/name`.
    pub repository: String,
    /// What is known.
    pub facts: Checkpoint,
}

/// How a point is parallel, as the recipe labels it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Parallel {
    /// Tensor-parallel size.
    pub tp: u32,
    /// Pipeline-parallel size.
    pub pp: u32,
    /// Expert-parallel size.
    pub ep: u32,
    /// Attention data parallelism.
    pub dp_attn: bool,
    /// Decode context-parallel size.
    pub dcp: u32,
    /// Prefill context-parallel size.
    pub pcp: u32,
}

/// What a recipe declares of speculative decoding.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Speculative {
    /// `mtp`, `eagle3`, `dspark`, ….
    pub method: String,
    /// Draft tokens in a row that one step proposes.
    pub steps: u32,
    /// How the draft samples, where that matters.
    pub sampling: Option<String>,
    /// The synthetic acceptance length that throughput runs are told, as a decimal.
    pub acceptance: Option<String>,
}

impl Launch {
    /// Returns a launch of nothing but arguments and environment; the rest is to be filled in.
    #[must_use]
    pub fn new(
        chosen: Chosen,
        image: &str,
        arguments: Vec<Argument>,
        environment: BTreeMap<String, String>,
    ) -> Self {
        Self {
            chosen,
            image: image.to_owned(),
            arguments,
            environment,
            config: None,
            role: Role::default(),
            mode: Mode::default(),
            workload: Workload::default(),
            hardware: None,
            model: None,
            draft: None,
            parallel: None,
            speculative: None,
            kv_offload: None,
            worker: false,
            waivers: BTreeMap::new(),
        }
    }

    /// Returns one argument a word, for a command line whose options nobody has told apart.
    #[must_use]
    pub fn words(argv: &[String]) -> Vec<Argument> {
        argv.iter().map(|word| Argument { name: word.clone(), words: vec![word.clone()] }).collect()
    }
}
