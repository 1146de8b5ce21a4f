//! The command line, as clap reads it.

use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// A compiler for reproducible LLM-inference benchmarks.
#[derive(Parser, Debug)]
#[command(name = "recipec", version, max_term_width = 100, disable_help_subcommand = true)]
#[command(after_help = "Exit codes: 0 all holds, 1 the manifest is wrong, 2 usage, 3 the lock is stale, \
    4 the outside disagrees, 5 something could not be reached or read.")]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) options: Options,
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

/// Options that every verb takes.
#[derive(Args, Debug)]
pub(crate) struct Options {
    /// Folder that holds `manifests/`; the nearest parent that has one by default
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) root: Option<PathBuf>,
    /// Form of the answer on standard output
    #[arg(
        long,
        global = true,
        value_enum,
        value_name = "FORMAT",
        default_value = "human",
        hide_default_value = true
    )]
    pub(crate) format: Format,
    /// Also write the answer in a format to a file; may be given several times
    #[arg(long, global = true, value_name = "FORMAT:FILE")]
    pub(crate) output: Vec<Output>,
    /// Count warnings as errors
    #[arg(long, global = true, value_enum, value_name = "WHAT")]
    pub(crate) deny: Option<Deny>,
    /// When to colour
    #[arg(
        long,
        global = true,
        value_enum,
        value_name = "WHEN",
        default_value = "auto",
        hide_default_value = true
    )]
    pub(crate) color: Color,
}

/// Forms of an answer.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Format {
    /// For people
    Human,
    /// For machines
    Json,
    /// For code-scanning services (SARIF 2.1.0)
    Sarif,
    /// GitHub annotations
    Github,
    /// For a comment of a pull request
    Markdown,
    /// One line a finding
    Brief,
    /// As `nix-instantiate` prints values (`eval` only)
    Nix,
}

/// A format and the file that takes it.
#[derive(Clone, Debug)]
pub(crate) struct Output {
    pub(crate) format: Format,
    pub(crate) file: PathBuf,
}

impl FromStr for Output {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (format, file) =
            text.split_once(':').ok_or("expected FORMAT:FILE, such as `sarif:findings.sarif`")?;
        if file.is_empty() {
            return Err("the file has no name".to_owned());
        }
        Ok(Self { format: Format::from_str(format, false)?, file: PathBuf::from(file) })
    }
}

/// What `--deny` takes.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Deny {
    /// Warnings end with exit code 1
    Warnings,
}

/// What `--color` takes.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Color {
    /// On a terminal; NO_COLOR, FORCE_COLOR and CLICOLOR_FORCE are honoured
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

#[derive(Subcommand, Debug)]
pub(crate) enum Verb {
    Explain(Explain),
    Completions(Completions),
}

/// Say what a finding means and what to do, with examples
#[derive(Args, Debug)]
pub(crate) struct Explain {
    /// Name in brackets after `error` or `warning`; all names are listed without it
    pub(crate) slug: Option<String>,
}

/// Print a completion script for a shell
#[derive(Args, Debug)]
pub(crate) struct Completions {
    /// The shell
    pub(crate) shell: clap_complete::Shell,
}
