//! Plan building: a point, bound to a target, becomes the processes that run, in order.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use diag::{Diagnostic, Diagnostics, slugs};
use engine::Engine;
use engine::known::{Checkpoint, Known};

use crate::bridge::Caller;
use crate::container::{self, Cluster};
use crate::context::{self, Values};
use crate::facts;
use crate::inject;
use crate::matrix::Job;
use crate::plan::{
    File, Group, Mode, Parallel, Phase, Plan, Pool, Rank, Ready, Replica, Role, Seat, Step, Word,
};
use crate::process::{self, Beside, Process};
use crate::recipe::{Download, Recipe, Speculation, Speculative};
use crate::schema;
use crate::target::{Hardware, Placement, Target};
use crate::tree::{Node, Tree};
use crate::want::Want;
use crate::words::word;

/// A plan together with what rules need to point at the manifest's characters.
#[derive(Clone, Debug)]
pub struct Built {
    /// The plan.
    pub plan: Plan,
    /// The job that it is of.
    pub job: Arc<Job>,
    /// The server's process, each option with its place. Its words are in the plan.
    pub server: Process,
    /// The speculation at this point.
    pub speculative: Option<Speculative>,
    /// What stands in the target.
    pub hardware: Hardware,
    /// Index of the server's group in the plan.
    pub group: usize,
    /// Index of the first word of the server's argument list that is the engine's own: what comes
    /// before are wrappers and the program.
    pub program: usize,
}

/// A recipe bound to a target: everything that is the same at every point.
pub(crate) struct Binding<'a> {
    pub(crate) recipe: &'a Recipe,
    pub(crate) target: &'a Target,
    pub(crate) facts: Checkpoint,
    known: &'a Known,
    placement: Placement,
    workspace: String,
    port: Word,
    wants: BTreeSet<String>,
    of_target: Values,
    of_recipe: Values,
    /// What the target adds, by the number of GPUs asked for.
    clusters: BTreeMap<u32, Cluster>,
}

/// Binds a recipe to a target. `None`, with findings, if the checkpoint has no place there.
pub(crate) fn bind<'a>(
    caller: &mut Caller<'_, '_>,
    recipe: &'a Recipe,
    target: &'a Target,
    known: &'a Known,
    out: &mut Diagnostics,
) -> Option<Binding<'a>> {
    let Some(placement) = target.place(&recipe.model.repository.value) else {
        out.push(no_place(recipe, target));
        return None;
    };
    let facts = facts::checkpoint(recipe, known);
    let of_target = context::of_target(caller, recipe, target, &placement, &facts, out)?;
    let machine = caller.set(of_target.iter().copied(), out)?;
    let workspace = caller.resolve(&target.runtime.workspace, machine, out)?;
    let workspace = schema::text(&workspace, "the workspace in the container", out)?.value;
    let of_recipe = context::of_recipe(caller, recipe, target, &workspace, out)?;
    let port = word(context::port(recipe, target), "the port", out)?;
    let wants = used(recipe, target);
    Some(Binding {
        recipe,
        target,
        facts,
        known,
        placement,
        workspace,
        port,
        wants,
        of_target,
        of_recipe,
        clusters: BTreeMap::new(),
    })
}

/// Builds the plan of one job.
///
/// # Errors
/// If a function of the recipe or the target fails or gives something that is no process; all
/// problems found are in the diagnostics.
pub(crate) fn build(
    caller: &mut Caller<'_, '_>,
    binding: &mut Binding<'_>,
    job: &Arc<Job>,
    mode: Mode,
) -> Result<Built, Diagnostics> {
    let mut out = Diagnostics::new();
    let given = ask(caller, binding, job, mode, &mut out);
    match given.and_then(|given| seat(caller, binding, job, mode, given, &mut out)) {
        Some(built) if !out.has_errors() => Ok(built),
        _ => Err(out),
    }
}

/// What a recipe's functions gave at a point: it is the same on every target of which they know the
/// same.
#[derive(Clone, Debug)]
pub(crate) struct Given {
    server: Process,
    last: Process,
    speculative: Option<Speculative>,
}

/// Asks the recipe's functions.
pub(crate) fn ask(
    caller: &mut Caller<'_, '_>,
    binding: &Binding<'_>,
    job: &Job,
    mode: Mode,
    out: &mut Diagnostics,
) -> Option<Given> {
    let (recipe, target) = (binding.recipe, binding.target);
    let mut values = context::of_point(caller, recipe, target, &job.point, mode, out)?;
    values.extend_from_slice(&binding.of_target);
    values.extend_from_slice(&binding.of_recipe);
    let speculative = match &recipe.speculative {
        Speculation::None => None,
        Speculation::Always(speculative) => Some((**speculative).clone()),
        Speculation::PerPoint(function) => {
            let first = caller.set(values.iter().copied(), out)?;
            let tree = caller.call(function, first, out)?;
            let speculative =
                if tree.is_null() { None } else { Some(crate::lower::speculative(&tree, out)?) };
            let unlisted = speculative.as_ref().map_or_else(Vec::new, |used| unlisted(recipe, used));
            if !unlisted.is_empty() {
                out.extend(unlisted);
                return None;
            }
            values.push(("speculative", context::given(caller, speculative.as_ref(), target, out)?));
            speculative
        }
    };
    let point = caller.set(values, out)?;
    let server = caller.call(&recipe.serve, point, out);
    let server = server.and_then(|tree| process::server(&tree, out));
    let last = match (mode, &recipe.eval) {
        (Mode::Throughput, _) => caller.call(&recipe.client, point, out),
        (Mode::Eval, Some(eval)) => caller.call(eval, point, out),
        (Mode::Eval, None) => {
            let mut finding =
                Diagnostic::error(slugs::recipe::MISSING_FIELD, "the recipe has no `eval` to plan");
            finding.span = recipe.key.at;
            out.push(finding);
            None
        }
    };
    let last = last.and_then(|tree| process::process(&tree, "the client", out));
    let (mut server, last) = (server?, last?);
    inject::acceptance(recipe, speculative.as_ref(), &binding.facts, mode, binding.known)
        .apply(&mut server, out);
    Some(Given { server, last, speculative })
}

/// Returns what a function of the point drafts with and the recipe does not list, so that no lock
/// would pin it.
fn unlisted(recipe: &Recipe, used: &Speculative) -> Vec<Diagnostic> {
    let draft = used.draft.as_ref().map(|draft| &draft.checkpoint);
    let draft = draft.filter(|draft| recipe.drafts.iter().all(|listed| listed.want() != draft.want()));
    let curve = used.acceptance.as_ref().and_then(|acceptance| acceptance.curve.as_ref());
    let curve =
        curve.filter(|curve| recipe.curves.iter().all(|listed| listed.name.value != curve.name.value));
    let missing = draft.map(|draft| ("draft", &draft.repository, "drafts")).into_iter();
    let missing = missing.chain(curve.map(|curve| ("golden curve", &curve.name, "curves")));
    missing
        .map(|(what, name, field)| {
            let mut finding = Diagnostic::error(
                slugs::recipe::MISSING_FIELD,
                format!("the {what} `{}` is used at a point, and `{field}` does not list it", name.value),
            )
            .why("`speculative` is a function of the point, and a lock pins what the recipe names without asking at every point")
            .help(format!("list it in the recipe's `{field}`"));
            finding.span = name.at.or(used.at);
            finding
        })
        .collect()
}

impl Binding<'_> {
    /// Returns true if a draft lies in the same place on both targets, as far as is known here.
    fn drafts_alike(&self, other: &Self) -> bool {
        match &self.recipe.speculative {
            Speculation::None => true,
            Speculation::Always(speculative) => speculative
                .draft
                .as_ref()
                .is_none_or(|draft| draft.folder(self.target) == draft.folder(other.target)),
            Speculation::PerPoint(_) => {
                let (ours, theirs) = (&self.target.checkpoints, &other.target.checkpoints);
                ours.staged.is_empty() && theirs.staged.is_empty() && ours.directory == theirs.directory
            }
        }
    }

    /// Returns true if the functions of the recipe are told the same on both targets.
    pub(crate) fn tells_the_same(&self, other: &Self) -> bool {
        let (ours, theirs) = (&self.target.hardware, &other.target.hardware);
        self.placement == other.placement
            && self.workspace == other.workspace
            && self.drafts_alike(other)
            && self.port == other.port
            && (&ours.sku.value, &ours.architecture.value, ours.gpus_per_node, ours.dram_mib)
                == (&theirs.sku.value, &theirs.architecture.value, theirs.gpus_per_node, theirs.dram_mib)
    }
}

/// Puts the processes of a point onto a target, with all that comes before and after them.
pub(crate) fn seat(
    caller: &mut Caller<'_, '_>,
    binding: &mut Binding<'_>,
    job: &Arc<Job>,
    mode: Mode,
    given: Given,
    out: &mut Diagnostics,
) -> Option<Built> {
    let (recipe, target) = (binding.recipe, binding.target);
    let Given { mut server, mut last, speculative } = given;
    let gpus = job.point.parallel.gpus();
    if !binding.clusters.contains_key(&gpus) {
        let mut machine = binding.of_target.clone();
        machine.push(("gpus", caller.give(&Tree::from(gpus), out)?));
        machine.push(("workspace", caller.give(&Tree::from(binding.workspace.as_str()), out)?));
        let machine = caller.set(machine, out)?;
        let image = &recipe.image.value;
        let cluster = container::cluster(caller, target, image, gpus, machine, &binding.workspace, out)?;
        binding.clusters.insert(gpus, cluster);
    }
    let cluster = binding.clusters.get(&gpus)?;
    let program = program(recipe, &server);

    let mut stages = Stages { passed: &cluster.passed, parallel: job.point.parallel, groups: Vec::new() };
    stages.downloads(binding, speculative.as_ref());
    if let Some(meter) = &cluster.meter {
        stages.meter(meter.clone());
    }
    let mut files = std::mem::take(&mut server.files);
    stages.tools(&mut server, "install");
    let (routers, stores): (Vec<_>, Vec<_>) =
        std::mem::take(&mut server.beside).into_iter().partition(|beside| beside.role == Role::Router);
    stages.together(stores, &mut files);
    let port = server.port.clone().unwrap_or_else(|| binding.port.clone());
    let group = stages.server(&mut server, port);
    stages.together(routers, &mut files);
    files.append(&mut last.files);
    stages.packages(recipe);
    for install in &recipe.installs {
        let install = process::process(install, "an installation", out)?;
        stages.stage("packages", "install", install);
    }
    stages.tools(&mut last, "stage");
    let finish = stages.last(last, mode);
    let groups = stages.groups;
    let mut row = job.row.clone();
    // Whether upstream also evaluates a job says nothing of the point.
    row.remove("run-eval");
    let mut wants = binding.wants.clone();
    let draft = speculative.as_ref().and_then(|speculative| speculative.draft.as_ref());
    wants.extend(draft.map(|draft| draft.checkpoint.want().name()));
    let plan = Plan {
        recipe: recipe.key.value.clone(),
        target: target.name.value.clone(),
        mode,
        job: job.index,
        points: vec![row],
        image: recipe.image.value.clone(),
        allocate: cluster.allocate.clone(),
        container: cluster.container.clone(),
        kubernetes: cluster.job.clone(),
        passed: cluster.passed.clone(),
        secrets: target.secrets.iter().map(|name| name.value.clone()).collect(),
        mounts: cluster.mounts.clone(),
        pools: vec![Pool { nodes: 1, gpus }],
        groups,
        files,
        finish,
        wants,
    };
    Some(Built {
        plan,
        job: Arc::clone(job),
        server,
        speculative,
        hardware: target.hardware.clone(),
        group,
        program,
    })
}

/// Returns how many words of a server are wrappers and the program.
fn program(recipe: &Recipe, server: &Process) -> usize {
    let head: Vec<String> = server
        .argv
        .iter()
        .take(server.head)
        .map(|word| word.as_text().unwrap_or_default().to_owned())
        .collect();
    let program = Engine::parse(&recipe.engine.value).and_then(|engine| engine.program_words(&head));
    program.unwrap_or(head.len())
}

fn no_place(recipe: &Recipe, target: &Target) -> Diagnostic {
    let repository = &recipe.model.repository.value;
    let mut finding = Diagnostic::error(
        slugs::recipe::NO_PLACE_FOR_CHECKPOINT,
        format!("`{repository}` has no place on `{}`", target.name.value),
    )
    .why("the target stages no such checkpoint, and has no hub cache or folder to download it to")
    .help(format!(
        "stage it: `checkpoints.staged.\"{repository}\" = \"/some/folder\";` in `{}`",
        target.manifest
    ));
    finding.span = recipe.model.repository.at;
    finding.label = format!("not staged on `{}`", target.name.value);
    if let Some(at) = target.checkpoints.at {
        finding = finding.label(at, "what this target stages");
    }
    if let Some(at) = recipe.key.at {
        finding = finding.label(at, "wanted by this recipe");
    }
    finding
}

/// Returns the names of the wants that every plan of a recipe on a target uses. Of listed drafts a
/// plan uses the one that it drafts with, if it drafts.
fn used(recipe: &Recipe, target: &Target) -> BTreeSet<String> {
    let platforms = [target.hardware.platform.value.clone()];
    let chosen_at_points = |want: &Want| {
        matches!(want, Want::Checkpoint { repository, .. } if *repository != recipe.model.repository.value)
            && recipe.drafts.iter().any(|draft| draft.want() == *want)
    };
    recipe
        .wants(&platforms)
        .iter()
        .filter(|want| !matches!(want, Want::Source { purpose, .. } if purpose != "harness"))
        .filter(|want| !chosen_at_points(want))
        .map(Want::name)
        .collect()
}

/// Groups in the order in which they start, each after those before it.
struct Stages<'a> {
    passed: &'a BTreeMap<String, Word>,
    parallel: Parallel,
    groups: Vec<Group>,
}

impl Stages<'_> {
    fn push(
        &mut self,
        role: Role,
        name: &str,
        kind: &str,
        process: Process,
        gpus: u32,
        ready: Ready,
    ) -> usize {
        let mut env = process.env;
        for (name, value) in self.passed {
            if !env.contains_key(name) && !process.unset.contains(name) {
                env.insert(name.clone(), value.clone());
            }
        }
        let serves = matches!(role, Role::Serve(_));
        let ports = match &ready {
            Ready::Http { port, .. } | Ready::Tcp { port } => {
                BTreeMap::from([("http".to_owned(), port.clone())])
            }
            Ready::Started | Ready::Ended | Ready::Ports { .. } | Ready::Registered { .. } => BTreeMap::new(),
        };
        let seat = Seat { pool: 0, node: 0, first: 0, gpus };
        let rank = Rank { seat, argv: process.argv, env, unset: process.unset, ports };
        let parallel = serves.then_some(self.parallel);
        self.groups.push(Group {
            role,
            name: name.to_owned(),
            kind: kind.to_owned(),
            image: None,
            mounts: None,
            replicas: vec![Replica { parallel, ranks: vec![rank], step: Step::EachRank }],
            after: (0..self.groups.len()).collect(),
            ready,
            within: None,
            critical: !matches!(role, Role::Meter),
        });
        self.groups.len() - 1
    }

    fn stage(&mut self, name: &str, kind: &str, process: Process) {
        self.push(Role::Stage, name, kind, process, 0, Ready::Ended);
    }

    /// Downloads what the run needs and nobody has brought.
    fn downloads(&mut self, binding: &Binding<'_>, speculative: Option<&Speculative>) {
        let (recipe, placement) = (binding.recipe, &binding.placement);
        let wanted = match recipe.download {
            Download::Unstaged => !placement.staged,
            Download::Missing => true,
            Download::Engine => false,
        };
        if wanted {
            let folder = placement.folder.as_deref();
            self.stage("checkpoint", "download", download(&recipe.model.repository.value, folder, false));
        }
        if let Some(draft) = speculative.and_then(|speculative| speculative.draft.as_ref()) {
            let repository = &draft.checkpoint.repository.value;
            let staged = binding.target.place(repository).is_some_and(|place| place.staged);
            if !staged && !draft.brought {
                let folder = draft.folder(binding.target);
                self.stage("draft", "download", download(repository, folder.as_deref(), false));
            }
        }
        for dataset in &recipe.datasets {
            self.stage("dataset", "download", download(&dataset.repository.value, None, true));
        }
    }

    fn meter(&mut self, meter: Process) {
        self.push(Role::Meter, "meter", "meter", meter, 0, Ready::Started);
    }

    /// Adds what must have ended before a process starts.
    fn tools(&mut self, process: &mut Process, kind: &str) {
        for tool in std::mem::take(&mut process.tools) {
            self.stage("tools", kind, tool);
        }
    }

    /// Adds processes that start one after the other and wait for none of each other.
    fn together(&mut self, all: Vec<Beside>, files: &mut Vec<File>) {
        let mut all = all;
        for beside in &mut all {
            files.append(&mut beside.process.files);
            self.tools(&mut beside.process, "install");
        }
        let first = self.groups.len();
        for Beside { role, port, process } in all {
            let name = match role {
                Role::Router => "router",
                Role::KvStore => "kv-store",
                _ => "sidecar",
            };
            let ready = ready(&process, port);
            let index = self.push(role, name, name, process, 0, ready);
            if let Some(group) = self.groups.get_mut(index) {
                group.after.truncate(first);
            }
        }
    }

    /// Adds the server; what rules need of it stays with the caller.
    fn server(&mut self, server: &mut Process, port: Word) -> usize {
        let ready = ready(server, port);
        let gpus = self.parallel.gpus();
        let process = Process {
            argv: std::mem::take(&mut server.argv),
            env: std::mem::take(&mut server.env),
            unset: server.unset.clone(),
            ..Process::default()
        };
        self.push(Role::Serve(Phase::Agg), "server", "server", process, gpus, ready)
    }

    /// Installs what the client imports. After the server is up, so that its own packages are those
    /// of the image when it loads them.
    fn packages(&mut self, recipe: &Recipe) {
        if recipe.packages.is_empty() {
            return;
        }
        let mut argv: Vec<Word> = ["pip", "install", "-q"].map(Word::from).to_vec();
        argv.extend(recipe.packages.iter().map(|package| Word::from(package.value.as_str())));
        self.stage("packages", "install", Process { argv, ..Process::default() });
    }

    fn last(&mut self, process: Process, mode: Mode) -> usize {
        let (role, name) = match mode {
            Mode::Throughput => (Role::Client, "client"),
            Mode::Eval => (Role::Eval, "eval"),
        };
        self.push(role, name, name, process, 0, Ready::Ended)
    }
}

/// Returns when a process that listens counts as ready.
fn ready(process: &Process, port: Word) -> Ready {
    match &process.ready {
        Some(path) => Ready::Http { port, path: path.clone() },
        None => Ready::Tcp { port },
    }
}

fn download(repository: &str, folder: Option<&str>, dataset: bool) -> Process {
    let mut argv: Vec<Word> = ["hf", "download"].map(Word::from).to_vec();
    if dataset {
        argv.extend(["--repo-type", "dataset"].map(Word::from));
    }
    argv.push(Word::from(repository));
    if let Some(folder) = folder {
        argv.extend(["--local-dir", folder].map(Word::from));
    }
    Process { argv, ..Process::default() }
}

/// Returns a set's tree, or an empty one where there is none.
pub(crate) fn or_empty(tree: Option<Tree>) -> Tree {
    tree.unwrap_or_else(|| Tree::made(Node::Set(Vec::new())))
}
