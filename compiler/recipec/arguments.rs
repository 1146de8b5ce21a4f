//! The command line, as clap reads it.

mod audit;
mod import;
mod new;
mod verify;

use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, Parser, Subcommand, ValueEnum};

pub(crate) use audit::*;
pub(crate) use import::{Import, ImportInferencex, ImportSrtSlurm, Source};
pub(crate) use new::New;
pub(crate) use verify::Verify;

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
    /// One document a line (`verify --claims` only)
    Jsonl,
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
    Check(Check),
    Plan(Plan),
    Matrix(Matrix),
    Export(Export),
    Import(Import),
    New(Box<New>),
    Lock(Lock),
    Diff(Diff),
    MergeDriver(MergeDriver),
    Verify(Verify),
    Build(Build),
    Eval(Eval),
    Fmt(Fmt),
    Flags(Flags),
    Audit(Audit),
    Report(Report),
    Explain(Explain),
    Completions(Completions),
}

/// Which recipes a verb works on.
#[derive(Args, Clone, Default, Debug)]
pub(crate) struct Recipes {
    /// Config keys, patterns such as `qwen*-mtp`, or manifests; all recipes without any
    #[arg(value_name = "KEY|FILE")]
    pub(crate) operands: Vec<String>,
    #[command(flatten)]
    pub(crate) bounds: Bounds,
}

/// Prove that manifests are consistent
#[derive(Args, Debug)]
pub(crate) struct Check {
    #[command(flatten)]
    pub(crate) recipes: Recipes,
}

/// Show what a recipe starts, at every point on every target
#[derive(Args, Debug)]
pub(crate) struct Plan {
    #[command(flatten)]
    pub(crate) recipes: Recipes,
    /// Only on this target
    #[arg(long, value_name = "TARGET")]
    pub(crate) target: Option<String>,
    /// Only in this mode
    #[arg(long, value_enum)]
    pub(crate) mode: Option<Mode>,
    /// A point outside the search space, such as `tp=4,conc=24`; may be given several times
    #[arg(long, value_name = "NAME=VALUE,…")]
    pub(crate) point: Vec<String>,
    /// What the run knows: `runner`, `job`, `home`, `workspace` or `logs`
    #[arg(long, value_name = "NAME=VALUE,…", value_delimiter = ',')]
    pub(crate) set: Vec<String>,
}

/// What a run is for.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mode {
    /// Measures speed
    Throughput,
    /// Measures quality
    Eval,
}

/// List the jobs of recipes, field for field as the generator of InferenceX does
#[derive(Args, Debug)]
pub(crate) struct Matrix {
    #[command(flatten)]
    pub(crate) recipes: Recipes,
}

/// Write recipes as another pipeline reads them
#[derive(Args, Debug)]
pub(crate) struct Export {
    /// The pipeline
    pub(crate) form: Form,
    #[command(flatten)]
    pub(crate) recipes: Recipes,
    /// Also ask whether this checkout of the pipeline has what runs them
    #[arg(long, value_name = "DIR")]
    pub(crate) checkout: Option<PathBuf>,
    /// Write the changelog's entry of a pull request instead
    #[arg(long)]
    pub(crate) changelog: bool,
    /// What the changelog's entry tells the changes from
    #[arg(long, value_name = "REVISION", default_value = "HEAD", requires = "changelog")]
    pub(crate) since: String,
}

/// Pipelines that recipes are written for.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Form {
    /// InferenceX: entries of its master configuration, in YAML
    Inferencex,
}

/// Pin everything that recipes name from outside
#[derive(Args, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub(crate) struct Lock {
    #[command(flatten)]
    pub(crate) recipes: Recipes,
    /// Only ask whether the locks are what these manifests give; writes nothing, needs no network
    #[arg(long, conflicts_with_all = ["update", "mirror"])]
    pub(crate) check: bool,
    /// Never touch the network; wants without a pin stay without
    #[arg(long)]
    pub(crate) offline: bool,
    /// Resolve anew what has this name: a want, a config key, an image or a repository
    #[arg(long, value_name = "NAME")]
    pub(crate) update: Vec<String>,
    /// Resolve from this folder and ask nobody else
    #[arg(long, value_name = "DIR", conflicts_with = "offline")]
    pub(crate) mirror: Option<PathBuf>,
    /// Write a lock also where that leaves a want without a pin
    #[arg(long, conflicts_with = "check")]
    pub(crate) allow_unpinned: bool,
    /// Count wants without a pin as failures
    #[arg(long)]
    pub(crate) require_pins: bool,
    /// List each want, also those that are kept
    #[arg(long, short)]
    pub(crate) verbose: bool,
}

/// Show what differs in behaviour and pins
#[derive(Args, Debug)]
#[command(
    after_help = "An operand is `recipe:KEY`, `rev:REVISION` or `file:LOCK`; without the word before the \
    colon it is a file if there is one, else a key, else a revision. Without operands the working tree is set \
    beside HEAD. Two recipes are compared at every point of both, also where only one of them measures."
)]
pub(crate) struct Diff {
    /// What was before
    #[arg(value_name = "A")]
    pub(crate) old: Option<String>,
    /// What is now; the working tree by default
    #[arg(value_name = "B")]
    pub(crate) new: Option<String>,
    /// What is declared to differ, such as `server.--speculative-*`; may be given several times
    #[arg(long, value_name = "PATTERN")]
    pub(crate) except: Vec<String>,
    /// End with 3 if anything differs
    #[arg(long)]
    pub(crate) exit_code: bool,
    /// Language of the words
    #[arg(long, value_enum, value_name = "LANGUAGE", default_value = "en")]
    pub(crate) lang: Words,
    #[command(flatten)]
    pub(crate) bounds: Bounds,
}

/// What `--lang` takes.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Words {
    /// English
    En,
    /// Chinese
    Zh,
}

/// Merge one lock for git, as a merge driver
#[derive(Args, Debug)]
#[command(
    after_help = "Once in a clone: `git config merge.recipec.driver 'recipec merge-driver %O %A %B %P'`, and in \
    .gitattributes `lockfiles/**/*.lock.json merge=recipec`. Ends with 1 where it leaves a conflict in OURS; \
    `recipec lock` then writes the lock anew from the pins of both sides."
)]
pub(crate) struct MergeDriver {
    /// The common ancestor (`%O`)
    pub(crate) base: PathBuf,
    /// The one side (`%A`), which takes the result
    pub(crate) ours: PathBuf,
    /// The other side (`%B`)
    pub(crate) theirs: PathBuf,
    /// Where the lock is in the repository (`%P`)
    pub(crate) path: Option<String>,
}

/// Write the launch script of every plan
#[derive(Args, Debug)]
pub(crate) struct Build {
    #[command(flatten)]
    pub(crate) recipes: Recipes,
    /// Folder for the scripts
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
    /// Only for this target
    #[arg(long, value_name = "TARGET")]
    pub(crate) target: Option<String>,
    /// Only in this mode
    #[arg(long, value_enum)]
    pub(crate) mode: Option<Mode>,
}

/// Lay manifests out
#[derive(Args, Debug)]
pub(crate) struct Fmt {
    /// Files or folders, `-` for standard input; all of `manifests/` without any
    pub(crate) files: Vec<PathBuf>,
    /// Only ask whether they are laid out; writes nothing
    #[arg(long)]
    pub(crate) check: bool,
}

/// Print the value of a file, as Nix does
#[derive(Args, Debug)]
pub(crate) struct Eval {
    /// The file; `-` for standard input
    #[arg(required_unless_present = "expr", conflicts_with = "expr")]
    pub(crate) file: Option<PathBuf>,
    /// Evaluate this expression instead
    #[arg(short = 'E', long, value_name = "TEXT")]
    pub(crate) expr: Option<String>,
    /// Print only the value at this path, such as `a.b`
    #[arg(short = 'A', long = "attr", value_name = "PATH")]
    pub(crate) attribute: Option<String>,
    #[command(flatten)]
    pub(crate) bounds: Bounds,
}

/// What evaluation may use before it is stopped.
#[derive(Args, Clone, Default, Debug)]
pub(crate) struct Bounds {
    /// Expressions evaluated
    #[arg(long, value_name = "COUNT", help_heading = "Limits")]
    pub(crate) limit_steps: Option<u64>,
    /// Function calls within one another
    #[arg(long, value_name = "COUNT", help_heading = "Limits")]
    pub(crate) limit_depth: Option<u32>,
    /// Bytes of memory that values take
    #[arg(long, value_name = "BYTES", help_heading = "Limits")]
    pub(crate) limit_bytes: Option<u64>,
    /// Bytes of one printed value
    #[arg(long, value_name = "BYTES", help_heading = "Limits")]
    pub(crate) limit_output: Option<u64>,
    /// Files loaded
    #[arg(long, value_name = "COUNT", help_heading = "Limits")]
    pub(crate) limit_imports: Option<u32>,
}

/// List what the command line of an engine takes
#[derive(Args, Debug)]
pub(crate) struct Flags {
    /// `sglang`, `vllm`, `trtllm` or `atom`
    pub(crate) engine: String,
    /// Its version, if the first word is one, then what to show in full: flags with or without dashes,
    /// members of JSON values (`speculative-config.method`), environment variables
    #[arg(value_name = "VERSION] [NAME", allow_hyphen_values = true)]
    pub(crate) flags: Vec<String>,
    /// Version of the engine; the newest known one by default
    #[arg(long = "of", value_name = "VERSION")]
    pub(crate) version: Option<String>,
}

/// Put the corpus, its pins and what is known of it on one page
#[derive(Args, Debug)]
pub(crate) struct Report {
    #[command(flatten)]
    pub(crate) recipes: Recipes,
    /// Write a page that needs nothing but a browser, to FILE or to standard output
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    pub(crate) html: Option<Option<PathBuf>>,
    /// What `verify`, `audit run` or `audit results` wrote with `--format json`; may be given several times
    #[arg(long, value_name = "FILE")]
    pub(crate) with: Vec<PathBuf>,
    /// Read upstream's pages from this folder and show what they say
    #[arg(long, value_name = "DIR")]
    pub(crate) mirror: Option<PathBuf>,
    /// What differences are told from
    #[arg(long, value_name = "REVISION", default_value = "HEAD")]
    pub(crate) since: String,
}

/// Say what a finding means and what to do, with examples
#[derive(Args, Debug)]
pub(crate) struct Explain {
    /// Name in brackets after `error` or `warning`, or of a rule at the evidence; all names in brackets
    /// are listed without it
    pub(crate) slug: Option<String>,
}

/// Print a completion script for a shell
#[derive(Args, Debug)]
pub(crate) struct Completions {
    /// The shell
    pub(crate) shell: clap_complete::Shell,
}
