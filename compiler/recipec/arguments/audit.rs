//! The command line of `recipec audit`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Set what was served and measured beside the lock
#[derive(Args, Debug)]
pub(crate) struct Audit {
    #[command(subcommand)]
    pub(crate) what: Audited,
}

/// What is audited.
#[derive(Subcommand, Debug)]
pub(crate) enum Audited {
    Checkpoint(AuditCheckpoint),
    Nodes(AuditNodes),
    Image(AuditImage),
    Run(AuditRun),
    Results(AuditResults),
    Attestation(AuditAttestation),
}

/// Is a folder the locked checkpoint, whole and byte for byte?
#[derive(Args, Debug)]
pub(crate) struct AuditCheckpoint {
    /// The folder: of the files, of the repository in a hub cache, or the hub cache itself
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
    /// The lock of the recipe that serves it
    #[arg(long, value_name = "FILE")]
    pub(crate) lock: PathBuf,
    /// Which checkpoint of the lock, where it pins several
    #[arg(long, value_name = "ORG/NAME")]
    pub(crate) repository: Option<String>,
    /// Only names and sizes: a gate before serving, in milliseconds
    #[arg(long)]
    pub(crate) fast: bool,
    /// How many files to read at a time; as many as there are cores by default
    #[arg(long, value_name = "N")]
    pub(crate) jobs: Option<usize>,
    /// Do not read again what has not changed since it was read, as noted in this file; it is made
    #[arg(long, value_name = "FILE", conflicts_with = "fast")]
    pub(crate) remember: Option<PathBuf>,
    /// Read only this part of the files, such as `2/8`; `slurm` for the part of this task of a Slurm step
    #[arg(long, value_name = "PART", conflicts_with = "fast", help_heading = "Many nodes")]
    pub(crate) part: Option<String>,
    /// Also write what this node found into this folder, for `recipec audit nodes`
    #[arg(long, value_name = "DIR", help_heading = "Many nodes")]
    pub(crate) report: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) attest: Attest,
}

/// Do all nodes have the locked checkpoint?
#[derive(Args, Debug)]
#[command(
    after_help = "On each node of a job: `srun --ntasks-per-node=1 recipec audit checkpoint DIR --lock FILE --report REPORTS`; \
    with `--part slurm` the nodes share the reading of a folder that all of them see."
)]
pub(crate) struct AuditNodes {
    /// The folder with their reports
    #[arg(value_name = "REPORTS")]
    pub(crate) reports: PathBuf,
    /// How many have to be there
    #[arg(long, value_name = "N")]
    pub(crate) expect: Option<usize>,
}

/// What an audit found, signed.
#[derive(Args, Debug)]
pub(crate) struct Attest {
    /// Write what was found to this file, as a signed in-toto statement
    #[arg(long, value_name = "FILE", requires = "key", help_heading = "Attestation")]
    pub(crate) attest: Option<PathBuf>,
    /// The ed25519 key that signs it (PEM, PKCS#8), as `openssl genpkey -algorithm ed25519` writes it
    #[arg(long, value_name = "FILE", requires = "attest", help_heading = "Attestation")]
    pub(crate) key: Option<PathBuf>,
    /// The time that it declares, such as `2026-12-07T12:00:00Z`; now by default
    #[arg(long, value_name = "TIME", requires = "attest", help_heading = "Attestation")]
    pub(crate) at: Option<String>,
}

/// Is what ran the locked image?
#[derive(Args, Debug)]
#[command(
    after_help = "Evidence is a squash file of enroot, the evidence file of a launch script, what `docker inspect` \
    or `podman inspect` say of an image or a container, or a manifest as a registry has it; each in a file, \
    or `-` for standard input. What is no file is a reference, such as `NAME@sha256:…`."
)]
pub(crate) struct AuditImage {
    /// What says which image ran
    #[arg(value_name = "EVIDENCE", required = true)]
    pub(crate) evidence: Vec<String>,
    /// The lock of the recipe that ran
    #[arg(long, value_name = "FILE")]
    pub(crate) lock: PathBuf,
    /// Which image of the lock, where it pins several
    #[arg(long, value_name = "REFERENCE")]
    pub(crate) image: Option<String>,
    /// The platform that it had to be, such as `linux/arm64`; those that the lock needs by default
    #[arg(long, value_name = "OS/MACHINE")]
    pub(crate) platform: Option<String>,
}

/// Do results belong to the lock: the same plan, pins and harness, and figures that hold?
#[derive(Args, Debug)]
#[command(after_help = "A point is contradicted if anything recorded of its run is not as the lock says \
    (exit code 4), unproven if something was not recorded (5), else reproduced (0).")]
pub(crate) struct AuditRun {
    /// The folder of a run, or one result
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
    /// The lock of the recipe that was measured
    #[arg(long, value_name = "FILE")]
    pub(crate) lock: PathBuf,
    /// List each thing that was compared, also those that are as locked
    #[arg(long, short)]
    pub(crate) verbose: bool,
    #[command(flatten)]
    pub(crate) gates: Gates,
    #[command(flatten)]
    pub(crate) attest: Attest,
}

/// By what figures are judged.
#[derive(Args, Debug)]
pub(crate) struct Gates {
    /// Percent by which a realised acceptance length may differ from the one that was told
    #[arg(long, value_name = "PERCENT", default_value = "2", help_heading = "Gates")]
    pub(crate) acceptance: f64,
    /// Percent of requests that must have a time to the first token and an inter-token latency
    #[arg(long, value_name = "PERCENT", default_value = "95", help_heading = "Gates")]
    pub(crate) coverage: f64,
    /// The least scores, in place of `manifests/policy/scores.json`
    #[arg(long, value_name = "FILE", help_heading = "Gates")]
    pub(crate) scores: Option<PathBuf>,
}

/// Sum up many runs, recipe by recipe
#[derive(Args, Debug)]
pub(crate) struct AuditResults {
    /// What `recipec audit run --format json` wrote, or folders of runs, which are audited by the locks here
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) gates: Gates,
}

/// Did this key sign what an audit found, and of these files?
#[derive(Args, Debug)]
pub(crate) struct AuditAttestation {
    /// The attestation
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// What it must be about, such as results: each by its content
    #[arg(value_name = "SUBJECT")]
    pub(crate) subjects: Vec<PathBuf>,
    /// The public key (PEM), as `openssl pkey -pubout` writes it
    #[arg(long, value_name = "FILE")]
    pub(crate) key: PathBuf,
    /// The lock that it must be of
    #[arg(long, value_name = "FILE")]
    pub(crate) lock: Option<PathBuf>,
}
