//! The plan: a point bound to a target with what is known, as pure data.
//!
//! One type serves one node and many. One node is one pool, one `Serve(Agg)` group of one rank,
//! and a client. Nothing in a plan is decided later than here but [`Hole`]s, which only the run
//! knows; digests cover holes unexpanded.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

/// What a run is for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Measures speed; synthetic acceptance may be injected.
    Throughput,
    /// Measures quality; nothing synthetic.
    Eval,
}

/// One point bound to one target in one mode.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Plan {
    /// Config key of the recipe.
    pub recipe: String,
    /// Name of the target.
    pub target: String,
    /// What the run is for.
    pub mode: Mode,
    /// Index of the job in the recipe's matrix; `None` for a point outside the search space.
    pub job: Option<u32>,
    /// Every point that this one start of the servers answers, as the labels that upstream's
    /// matrix uses (`tp`, `conc`, `ep`, …).
    pub points: Vec<serde_json::Map<String, serde_json::Value>>,
    /// The image that most groups run in, as the manifest writes it.
    pub image: String,
    /// The scheduler's allocation command; `None` where the container command allocates by itself.
    pub allocate: Option<Vec<Word>>,
    /// The command that starts the container, up to but without the entry. The image in it is the
    /// wanted one; emitters put the pinned one in its place.
    pub container: Vec<Word>,
    /// The Kubernetes Job that runs the container, without its entry, where no command starts it.
    pub kubernetes: Option<serde_json::Value>,
    /// Environment that the container command passes in: declared variables only.
    pub passed: BTreeMap<String, Word>,
    /// Variables that are passed in by name; their values are never written.
    pub secrets: BTreeSet<String>,
    /// What is mounted.
    pub mounts: Vec<Mount>,
    /// Sets of nodes of one kind.
    pub pools: Vec<Pool>,
    /// Groups in start order.
    pub groups: Vec<Group>,
    /// Files written before anything starts.
    pub files: Vec<File>,
    /// The group whose end ends the job: an index into `groups`.
    pub finish: usize,
    /// Wants that this plan uses, by [`crate::want::Want::name`], sorted.
    pub wants: BTreeSet<String>,
}

/// A host directory in a container.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Mount {
    /// Host path.
    pub from: Word,
    /// Path in the container.
    pub to: Word,
    /// Whether the container may not write.
    pub readonly: bool,
    /// Whether the node that mounts may have to create the source first.
    pub create: bool,
}

/// A set of nodes of one kind.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pool {
    /// Nodes in it.
    pub nodes: u32,
    /// GPUs asked for on each.
    pub gpus: u32,
}

/// What a group does.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Role {
    /// An engine that serves.
    Serve(Phase),
    /// Spreads requests over engines.
    Router,
    /// Stands before routers.
    Gateway,
    /// Runs beside, such as a per-node store.
    Sidecar,
    /// Lets processes find each other.
    Discovery,
    /// A store of KV cache blocks.
    KvStore,
    /// Brings something to the node: a download, an installation, an image import.
    Stage,
    /// Measures power or temperature.
    Meter,
    /// A plain reverse proxy.
    Proxy,
    /// The benchmark client.
    Client,
    /// The evaluator.
    Eval,
}

/// What part of inference an engine does.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Phase {
    /// All of it.
    Agg,
    /// Prefill only.
    Prefill,
    /// Decode only.
    Decode,
}

/// How wide a replica is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
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

impl Parallel {
    /// Returns the GPUs of one replica: `tp * pp * pcp`, as upstream counts them.
    #[must_use]
    pub fn gpus(&self) -> u32 {
        self.tp.saturating_mul(self.pp).saturating_mul(self.pcp)
    }
}

/// Processes that start together and do one thing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Group {
    /// What it does.
    pub role: Role,
    /// Its name in scripts, logs and digests: `server`, `client`, `download`, …
    pub name: String,
    /// The kind of step, as `plan --format json` prints it (`download`, `install`, `server`, …).
    pub kind: String,
    /// Its image where it differs from the plan's.
    pub image: Option<String>,
    /// Its mounts where they differ from the plan's.
    pub mounts: Option<Vec<Mount>>,
    /// Its replicas.
    pub replicas: Vec<Replica>,
    /// Groups that must be ready (or, for stages, have ended) first: indices into `groups`.
    pub after: Vec<usize>,
    /// When it counts as ready.
    pub ready: Ready,
    /// How long it may take to be ready, in seconds; `None` for no limit.
    pub within: Option<u64>,
    /// Whether its end by error ends the job.
    pub critical: bool,
}

/// One copy of what a group runs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Replica {
    /// How wide it is; `None` for what is no engine.
    pub parallel: Option<Parallel>,
    /// Its processes, one a rank.
    pub ranks: Vec<Rank>,
    /// How its ranks are started.
    pub step: Step,
}

/// How the ranks of a replica are started.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Step {
    /// Each by itself.
    #[default]
    EachRank,
    /// All by one step over their nodes, as MPI does; the ranks are then one a node, and alike.
    Spanning {
        /// Processes in all, the same number on each node.
        tasks: u32,
    },
}

/// One process.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rank {
    /// Where it sits.
    pub seat: Seat,
    /// Program and arguments.
    pub argv: Vec<Word>,
    /// Environment that it needs, all of it declared.
    pub env: BTreeMap<String, Word>,
    /// Variables that must not be set.
    pub unset: BTreeSet<String>,
    /// Ports it listens on, by use (`http`, `metrics`, …).
    pub ports: BTreeMap<String, Word>,
}

/// A place for a process.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Seat {
    /// Index into the plan's pools.
    pub pool: u32,
    /// Node of the pool.
    pub node: u32,
    /// First GPU used.
    pub first: u32,
    /// GPUs used, from the first.
    pub gpus: u32,
}

/// A file written before anything starts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct File {
    /// Where; relative paths are under the workspace.
    pub path: Word,
    /// What.
    pub text: Word,
}

/// When a group counts as ready.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Ready {
    /// At once.
    Started,
    /// When a port accepts.
    Tcp {
        /// The port.
        port: Word,
    },
    /// When several ports accept.
    Ports {
        /// The ports, in the order in which they are tried.
        ports: Vec<Word>,
    },
    /// When a front end knows its workers.
    Registered {
        /// The node where it answers: pool and node.
        node: (u32, u32),
        /// Its port.
        port: Word,
        /// Prefill workers, in the front end's own units.
        prefill: u32,
        /// Decode workers, or those that do both.
        decode: u32,
    },
    /// When a request is answered with success.
    Http {
        /// The port.
        port: Word,
        /// The path, beginning with `/`.
        path: String,
    },
    /// When it has ended with success.
    Ended,
}

/// An argv element or a value: text with holes.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Word(Pieces);

/// Nearly every word is one piece, and there are thousands, so one piece is held without a list.
/// A list has two at least.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
enum Pieces {
    #[default]
    None,
    One(Piece),
    Several(Vec<Piece>),
}

/// Part of a [`Word`].
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Piece {
    /// Text, decided.
    Text(String),
    /// A value that only the run knows.
    Hole(Hole),
}

/// A value that only the run knows. Nothing else is decided late.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Hole {
    /// The name that upstream's runner has (`b200-dgxc_00`).
    Runner,
    /// Home directory of the user who runs.
    Home,
    /// The checked-out repository.
    Workspace,
    /// The checkout of the orchestrator that starts the processes.
    Orchestrator,
    /// Name of a node of a pool.
    Host {
        /// Pool and node.
        node: (u32, u32),
    },
    /// Address of a node of a pool.
    Address {
        /// Pool and node.
        node: (u32, u32),
    },
    /// The scheduler's job id.
    Job,
    /// A port computed from the job id: `base + job % modulus`.
    JobPort {
        /// Lowest port.
        base: u16,
        /// How many ports.
        modulus: u16,
    },
    /// Where logs and results go.
    LogDir,
    /// A name that is unique to this run, derived from the one given.
    Unique(String),
    /// One item for each of several processes.
    Each {
        /// Group, replica, rank of each.
        of: Vec<(u32, u32, u32)>,
        /// What is said of each: `address`, `host`, `http`, `host:port`.
        shape: String,
        /// What stands between.
        separator: String,
    },
}

impl Word {
    /// Returns a word without pieces.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns a word of one hole.
    #[must_use]
    pub fn hole(hole: Hole) -> Self {
        Self(Pieces::One(Piece::Hole(hole)))
    }

    /// Adds text; neighbouring texts become one piece, so that equal words are equal values.
    pub fn push_text(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        let last = match &mut self.0 {
            Pieces::None => None,
            Pieces::One(piece) => Some(piece),
            Pieces::Several(pieces) => pieces.last_mut(),
        };
        match last {
            Some(Piece::Text(last)) => last.push_str(text),
            _ => self.push(Piece::Text(text.to_owned())),
        }
    }

    /// Adds a hole.
    pub fn push_hole(&mut self, hole: Hole) {
        self.push(Piece::Hole(hole));
    }

    fn push(&mut self, piece: Piece) {
        self.0 = match std::mem::take(&mut self.0) {
            Pieces::None => Pieces::One(piece),
            Pieces::One(first) => Pieces::Several(vec![first, piece]),
            Pieces::Several(mut pieces) => {
                pieces.push(piece);
                Pieces::Several(pieces)
            }
        };
    }

    /// Adds all pieces of another word.
    pub fn push_word(&mut self, other: &Self) {
        for piece in other.pieces() {
            match piece {
                Piece::Text(text) => self.push_text(text),
                Piece::Hole(hole) => self.push_hole(hole.clone()),
            }
        }
    }

    /// Returns the pieces.
    #[must_use]
    pub fn pieces(&self) -> &[Piece] {
        match &self.0 {
            Pieces::None => &[],
            Pieces::One(piece) => std::slice::from_ref(piece),
            Pieces::Several(pieces) => pieces,
        }
    }

    /// Returns the text if there is no hole in it.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match self.pieces() {
            [] => Some(""),
            [Piece::Text(text)] => Some(text),
            _ => None,
        }
    }
}

impl From<&str> for Word {
    fn from(text: &str) -> Self {
        Self::from(text.to_owned())
    }
}

impl From<String> for Word {
    fn from(text: String) -> Self {
        if text.is_empty() { Self::new() } else { Self(Pieces::One(Piece::Text(text))) }
    }
}
