//! The command line of `recipec import`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{Bounds, Mode};

/// Read what another project says of a configuration
#[derive(Args, Debug)]
pub(crate) struct Import {
    #[command(subcommand)]
    pub(crate) form: Source,
}

/// Projects that configurations are read from.
#[derive(Subcommand, Debug)]
pub(crate) enum Source {
    Inferencex(ImportInferencex),
    SrtSlurm(ImportSrtSlurm),
}

/// Plan what a recipe of srt-slurm (schema 1) starts over its nodes, and report what is wrong with it
#[derive(Args, Debug)]
#[command(after_help = "A file with overrides gives a plan for each variant; FILE:override_x and \
    FILE:zip_override_x[2] take one.")]
pub(crate) struct ImportSrtSlurm {
    /// The recipe, and after a colon its variant
    #[arg(value_name = "FILE[:VARIANT]")]
    pub(crate) file: PathBuf,
    /// The orchestrator's file of the cluster (`srtslurm.yaml`)
    #[arg(long, value_name = "FILE")]
    pub(crate) cluster: PathBuf,
    /// The orchestrator's revision: a tag, a commit, or a branch, which moves
    #[arg(long)]
    pub(crate) revision: String,
    /// What the run is for
    #[arg(long, value_enum, default_value = "throughput")]
    pub(crate) mode: Mode,
}

/// Start a manifest from an entry of InferenceX's master configuration
#[derive(Args, Debug)]
pub(crate) struct ImportInferencex {
    /// The file of entries
    pub(crate) file: PathBuf,
    /// The entry
    pub(crate) key: String,
    /// The recipe that says how it is served; the nearest by default
    #[arg(long, value_name = "KEY")]
    pub(crate) from: Option<String>,
    /// Where the manifest goes; `-` for standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) to: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) bounds: Bounds,
}
