//! `recipec import`: what another project says of a configuration.

mod inferencex;
mod srt_slurm;

use crate::arguments::{Import, Options, Source};
use crate::outcome::Outcome;

/// Reads what another project says.
pub(crate) fn run(verb: &Import, options: &Options) -> Outcome {
    match &verb.form {
        Source::Inferencex(verb) => inferencex::run(verb, options),
        Source::SrtSlurm(verb) => srt_slurm::run(verb),
    }
}
