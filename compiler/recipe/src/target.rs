//! Hardware targets: a cluster or host as data.

use std::collections::BTreeMap;

use diag::{Diagnostics, Span};

use crate::schema::{self, At, Record};
use crate::tree::{Node, Tree};

/// A cluster or host.
#[derive(Clone, Debug)]
pub struct Target {
    /// Its name, which is also upstream's name of the launcher.
    pub name: At<String>,
    /// The file that defines it, relative to the root, with `/`.
    pub manifest: String,
    /// Upstream's labels of runners that this target answers to, beside its name.
    pub labels: Vec<At<String>>,
    /// What stands in it.
    pub hardware: Hardware,
    /// How processes get onto it.
    pub scheduler: Scheduler,
    /// How containers run on it.
    pub runtime: Runtime,
    /// What is mounted: a list, or a function from the point to one.
    pub mounts: Option<Tree>,
    /// The port that servers listen on.
    pub port: Tree,
    /// Variables that every process on it gets: a set, or a function from the point to one.
    pub env: Option<Tree>,
    /// Variables that are passed on by name, their values never written.
    pub secrets: Vec<At<String>>,
    /// Where checkpoints are.
    pub checkpoints: Checkpoints,
    /// What measures power and temperature beside the run: a process, or a function to one.
    pub meter: Option<Tree>,
    /// File systems that matter to a run.
    pub storage: Vec<Storage>,
    /// Where the target was written.
    pub at: Option<Span>,
}

/// What stands in a target.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Hardware {
    /// The GPU, as upstream names it: `b200`.
    pub sku: At<String>,
    /// The GPU's architecture: `sm_100`, `gfx950`.
    pub architecture: At<String>,
    /// Platform of images: `linux/amd64`.
    pub platform: At<String>,
    /// GPUs of one node.
    pub gpus_per_node: u32,
    /// Memory of a node that jobs may use, in MiB, where it is known.
    pub dram_mib: Option<u64>,
    /// Memory of one GPU, in MiB, where it is known.
    pub hbm_mib: Option<u64>,
}

/// How processes get onto a target.
#[derive(Clone, Debug)]
pub struct Scheduler {
    /// What schedules.
    pub kind: SchedulerKind,
    /// Options of the allocation; absent where the container step allocates by itself.
    pub allocate: Option<Tree>,
    /// Options of the step that starts the container.
    pub step: Option<Tree>,
    /// Part of the Job that Kubernetes is asked for: a set, or a function from the point to one.
    pub job: Option<Tree>,
}

/// What schedules.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SchedulerKind {
    /// Nothing: the host is ours.
    None,
    /// Slurm.
    Slurm,
    /// Kubernetes.
    Kubernetes,
}

/// How containers run on a target.
#[derive(Clone, Debug)]
pub struct Runtime {
    /// What runs them.
    pub kind: RuntimeKind,
    /// Folder of imported images; absent where the runtime pulls by itself.
    pub squash: Option<At<String>>,
    /// Which node imports images.
    pub import: Import,
    /// More options of the container's start: a set, or a function from the point to one.
    pub options: Option<Tree>,
    /// Where the workspace is in the container: a path, or a function from the point to one.
    pub workspace: Tree,
    /// Part of the pod's specification, under Kubernetes: a set, or a function from the point to one.
    pub pod: Option<Tree>,
    /// Part of the pod's container, likewise.
    pub container: Option<Tree>,
    /// The resource by which Kubernetes counts GPUs: `nvidia.com/gpu`.
    pub gpu: Option<At<String>>,
    /// The Kubernetes secret that holds the target's secrets, each under its name.
    pub secret: Option<At<String>>,
}

/// What runs containers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RuntimeKind {
    /// Slurm's container plugin over enroot.
    Pyxis,
    /// Docker.
    Docker,
    /// The cluster's own, in pods.
    Kubernetes,
}

/// Which node imports images.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Import {
    /// The node that will run them.
    Compute,
    /// The node from which jobs are submitted.
    Login,
}

/// Where a target's checkpoints are, by repository id and never by anything less.
#[derive(Clone, PartialEq, Debug)]
pub struct Checkpoints {
    /// What clients call the model.
    pub named: Named,
    /// Folder of each staged checkpoint.
    pub staged: BTreeMap<String, At<String>>,
    /// Hub cache inside the container, for what is not staged.
    pub cache: Option<At<String>>,
    /// Folder in which what is not staged is put under the last part of its name.
    pub directory: Option<At<String>>,
    /// Where it was written.
    pub at: Option<Span>,
}

/// What clients call the model.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Named {
    /// Its repository id.
    Repository,
    /// The path that the server reads it from.
    Path,
}

/// A file system that matters to a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Storage {
    /// Where it is on the host.
    pub path: String,
    /// Whether every node has its own.
    pub node_local: bool,
    /// Whether jobs may write there.
    pub writable: bool,
    /// Whether the node from which jobs are submitted sees it.
    pub login: bool,
}

/// Where one checkpoint is on one target.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Placement {
    /// What the server reads: a folder, or the repository id where a hub cache serves it.
    pub path: String,
    /// What clients call the model.
    pub name: String,
    /// The folder to fill, where it is one.
    pub folder: Option<String>,
    /// Whether somebody staged it.
    pub staged: bool,
}

impl Target {
    /// Returns true if `label` is this target's name or one of its labels.
    #[must_use]
    pub fn answers_to(&self, label: &str) -> bool {
        self.name.value == label || self.labels.iter().any(|own| own.value == label)
    }

    /// Returns where a checkpoint is on this target; `None` if there is no place for it.
    #[must_use]
    pub fn place(&self, repository: &str) -> Option<Placement> {
        let named = |path: &str| match self.checkpoints.named {
            Named::Repository => repository.to_owned(),
            Named::Path => path.to_owned(),
        };
        if let Some(path) = self.checkpoints.staged.get(repository) {
            return Some(Placement {
                path: path.value.clone(),
                name: named(&path.value),
                folder: Some(path.value.clone()),
                staged: true,
            });
        }
        if let Some(directory) = &self.checkpoints.directory {
            let last = repository.rsplit('/').next().unwrap_or(repository);
            let path = format!("{}/{last}", directory.value.trim_end_matches('/'));
            return Some(Placement { name: named(&path), folder: Some(path.clone()), path, staged: false });
        }
        self.checkpoints.cache.as_ref().map(|_| Placement {
            path: repository.to_owned(),
            name: repository.to_owned(),
            folder: None,
            staged: false,
        })
    }
}

const FIELDS: &[&str] = &[
    "name",
    "labels",
    "hardware",
    "scheduler",
    "runtime",
    "mounts",
    "port",
    "env",
    "secrets",
    "checkpoints",
    "meter",
    "storage",
];

/// Reads a target manifest's value.
pub fn read(tree: &Tree, manifest: &str, out: &mut Diagnostics) -> Option<Target> {
    let record = Record::open(tree, "a target", FIELDS, out)?;
    let name = record.required("name", out, schema::text);
    let labels =
        record.optional("labels", out, |tree, what, out| schema::list(tree, what, out, schema::text));
    let hardware = record.required("hardware", out, hardware);
    let scheduler = record.required("scheduler", out, scheduler);
    let runtime = record.required("runtime", out, runtime);
    let secrets =
        record.optional("secrets", out, |tree, what, out| schema::list(tree, what, out, schema::text));
    let checkpoints = record.required("checkpoints", out, checkpoints);
    let storage = record.optional("storage", out, |tree, what, out| schema::list(tree, what, out, storage));
    let port = record.required("port", out, |tree, _, _| Some(tree.clone()));
    Some(Target {
        name: name?,
        manifest: manifest.to_owned(),
        labels: labels.unwrap_or_default(),
        hardware: hardware?,
        scheduler: scheduler?,
        runtime: runtime?,
        mounts: record.field("mounts").map(|field| field.value.clone()),
        port: port?,
        env: record.field("env").map(|field| field.value.clone()),
        secrets: secrets.unwrap_or_default(),
        checkpoints: checkpoints?,
        meter: record.field("meter").map(|field| field.value.clone()),
        storage: storage.unwrap_or_default(),
        at: tree.at,
    })
}

fn hardware(tree: &Tree, _: &str, out: &mut Diagnostics) -> Option<Hardware> {
    let fields = ["sku", "architecture", "platform", "gpusPerNode", "dramMib", "hbmMib"];
    let record = Record::open(tree, "`hardware`", &fields, out)?;
    let sku = record.required("sku", out, schema::text);
    let architecture = record.required("architecture", out, schema::text);
    let platform = record.required("platform", out, schema::text);
    let gpus = record.required("gpusPerNode", out, schema::count);
    let dram_mib = record.optional("dramMib", out, schema::count).map(|mib| u64::from(mib.value));
    Some(Hardware {
        sku: sku?,
        architecture: architecture?,
        platform: platform?,
        gpus_per_node: gpus?.value,
        dram_mib,
        hbm_mib: record.optional("hbmMib", out, schema::count).map(|mib| u64::from(mib.value)),
    })
}

fn scheduler(tree: &Tree, _: &str, out: &mut Diagnostics) -> Option<Scheduler> {
    let record = Record::open(tree, "`scheduler`", &["kind", "allocate", "step", "job"], out)?;
    let kinds = [
        ("none", SchedulerKind::None),
        ("slurm", SchedulerKind::Slurm),
        ("kubernetes", SchedulerKind::Kubernetes),
    ];
    let kind = record.required("kind", out, |tree, what, out| schema::choice(tree, what, &kinds, out));
    Some(Scheduler {
        kind: kind?.value,
        allocate: record.field("allocate").map(|field| field.value.clone()),
        step: record.field("step").map(|field| field.value.clone()),
        job: record.field("job").map(|field| field.value.clone()),
    })
}

fn runtime(tree: &Tree, _: &str, out: &mut Diagnostics) -> Option<Runtime> {
    let fields = ["kind", "squash", "import", "options", "workspace", "pod", "container", "gpu", "secret"];
    let record = Record::open(tree, "`runtime`", &fields, out)?;
    let kinds = [
        ("pyxis", RuntimeKind::Pyxis),
        ("docker", RuntimeKind::Docker),
        ("kubernetes", RuntimeKind::Kubernetes),
    ];
    let imports = [("compute", Import::Compute), ("login", Import::Login)];
    let kind = record.required("kind", out, |tree, what, out| schema::choice(tree, what, &kinds, out));
    let import = record.optional("import", out, |tree, what, out| schema::choice(tree, what, &imports, out));
    let squash = record.optional("squash", out, schema::text);
    let workspace = record.required("workspace", out, |tree, _, _| Some(tree.clone()));
    Some(Runtime {
        kind: kind?.value,
        squash,
        import: import.map_or(Import::Compute, |import| import.value),
        options: record.field("options").map(|field| field.value.clone()),
        workspace: workspace?,
        pod: record.field("pod").map(|field| field.value.clone()),
        container: record.field("container").map(|field| field.value.clone()),
        gpu: record.optional("gpu", out, schema::text),
        secret: record.optional("secret", out, schema::text),
    })
}

fn checkpoints(tree: &Tree, _: &str, out: &mut Diagnostics) -> Option<Checkpoints> {
    let record = Record::open(tree, "`checkpoints`", &["named", "staged", "cache", "directory"], out)?;
    let names = [("repository", Named::Repository), ("path", Named::Path)];
    let named = record.optional("named", out, |tree, what, out| schema::choice(tree, what, &names, out));
    let mut staged = BTreeMap::new();
    if let Some(field) = record.field("staged") {
        match &field.value.node {
            Node::Set(places) => {
                for place in places {
                    if let Some(path) = schema::text(&place.value, &place.name, out) {
                        staged.insert(place.name.to_string(), path);
                    }
                }
            }
            _ => out.push(schema::wrong_type(&field.value, "`staged`", "a set of folders by repository id")),
        }
    }
    Some(Checkpoints {
        named: named.map_or(Named::Repository, |named| named.value),
        staged,
        cache: record.optional("cache", out, schema::text),
        directory: record.optional("directory", out, schema::text),
        at: tree.at,
    })
}

fn storage(tree: &Tree, _: &str, out: &mut Diagnostics) -> Option<Storage> {
    let record = Record::open(tree, "a storage", &["path", "scope", "access", "login"], out)?;
    let scopes = [("node", true), ("shared", false)];
    let accesses = [("read-write", true), ("read-only", false)];
    let path = record.required("path", out, schema::text);
    let scope = record.required("scope", out, |tree, what, out| schema::choice(tree, what, &scopes, out));
    let access = record.required("access", out, |tree, what, out| schema::choice(tree, what, &accesses, out));
    let login = record.required("login", out, schema::boolean);
    Some(Storage {
        path: path?.value,
        node_local: scope?.value,
        writable: access?.value,
        login: login?.value,
    })
}
