//! What `recipec new` takes: the answers to the questions that it asks otherwise.

use std::path::PathBuf;

use clap::Args;

use super::Bounds;

/// Start a manifest from a sibling, or from a few answers
#[derive(Args, Debug)]
#[command(after_help = "What is not given is asked for on a terminal. A recipe takes from its sibling all \
    that it does not say itself.")]
pub(crate) struct New {
    /// The new config key
    pub(crate) key: String,
    /// The sibling; the nearest recipe by default
    #[arg(long, value_name = "KEY")]
    pub(crate) from: Option<String>,
    /// A field of the sibling that differs, such as `image=…` or `model.revision=…`; may be given several times
    #[arg(long, value_name = "FIELD=VALUE", requires = "from")]
    pub(crate) change: Vec<String>,
    /// Where the manifest goes; `-` for standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) to: Option<PathBuf>,
    /// The engine: sglang, vllm, trt or atom
    #[arg(long, help_heading = "Answers")]
    pub(crate) engine: Option<String>,
    /// The container image
    #[arg(long, help_heading = "Answers")]
    pub(crate) image: Option<String>,
    /// The checkpoint
    #[arg(long, value_name = "OWNER/NAME", help_heading = "Answers")]
    pub(crate) model: Option<String>,
    /// Short name of the model's family; the key's first word by default
    #[arg(long, help_heading = "Answers")]
    pub(crate) prefix: Option<String>,
    /// The precision, such as `fp8`
    #[arg(long, help_heading = "Answers")]
    pub(crate) precision: Option<String>,
    /// A target, by name or label; may be given several times
    #[arg(long, help_heading = "Answers")]
    pub(crate) target: Vec<String>,
    /// Tokens in
    #[arg(
        long,
        value_name = "TOKENS",
        requires = "osl",
        conflicts_with = "agentic",
        help_heading = "Answers"
    )]
    pub(crate) isl: Option<u32>,
    /// Tokens out
    #[arg(
        long,
        value_name = "TOKENS",
        requires = "isl",
        conflicts_with = "agentic",
        help_heading = "Answers"
    )]
    pub(crate) osl: Option<u32>,
    /// Agents' conversations are replayed
    #[arg(long, help_heading = "Answers")]
    pub(crate) agentic: bool,
    /// Tensor-parallel size
    #[arg(long, value_name = "GPUS", help_heading = "Answers")]
    pub(crate) tp: Option<String>,
    /// Expert-parallel size
    #[arg(long, value_name = "GPUS", help_heading = "Answers")]
    pub(crate) ep: Option<u32>,
    /// Concurrencies, as `4,8,16` or `4..64`
    #[arg(long, value_name = "LIST", help_heading = "Answers")]
    pub(crate) conc: Option<String>,
    /// It drafts
    #[arg(long, help_heading = "Answers")]
    pub(crate) drafts: bool,
    #[command(flatten)]
    pub(crate) bounds: Bounds,
}
