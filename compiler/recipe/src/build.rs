//! Plan building: a point, bound to a target, becomes the processes that run, in order.

use std::collections::{BTreeMap, BTreeSet};

use diag::{Diagnostic, Diagnostics, slugs};
use engine::Engine;
use engine::known::Known;

use crate::bridge::Caller;
use crate::container;
use crate::context::{Bound, context};
use crate::facts;
use crate::inject;
use crate::matrix::Job;
use crate::plan::{File, Group, Mode, Parallel, Phase, Plan, Pool, Rank, Ready, Replica, Role, Seat, Word};
use crate::process::{self, Process};
use crate::recipe::{Download, Recipe, Speculation, Speculative};
use crate::schema;
use crate::target::{Hardware, Target};
use crate::tree::{Node, Tree};
use crate::want::Want;
use crate::words::word;

/// A plan together with what rules need to point at the manifest's characters.
#[derive(Clone, Debug)]
pub struct Built {
    /// The plan.
    pub plan: Plan,
    /// The job that it is of.
    pub job: Job,
    /// The server's process, each option with its place.
    pub server: Process,
    /// The client's or evaluator's process.
    pub last: Process,
    /// The speculation at this point.
    pub speculative: Option<Speculative>,
    /// What stands in the target.
    pub hardware: Hardware,
    /// How many words of the server's head are the engine's own positional arguments.
    pub positionals: usize,
}

/// Builds the plan of one job on one target.
///
/// # Errors
/// If the checkpoint has no place on the target, or a function of the recipe or the target fails
/// or gives something that is no process; all problems found are in the diagnostics.
pub(crate) fn build(
    caller: &mut Caller<'_, '_>,
    recipe: &Recipe,
    target: &Target,
    job: &Job,
    mode: Mode,
    known: &Known,
) -> Result<Built, Diagnostics> {
    let mut out = Diagnostics::new();
    match assemble(caller, recipe, target, job, mode, known, &mut out) {
        Some(built) if !out.has_errors() => Ok(built),
        _ => Err(out),
    }
}

fn assemble(
    caller: &mut Caller<'_, '_>,
    recipe: &Recipe,
    target: &Target,
    job: &Job,
    mode: Mode,
    known: &Known,
    out: &mut Diagnostics,
) -> Option<Built> {
    let repository = &recipe.model.repository.value;
    let Some(placement) = target.place(repository) else {
        out.push(no_place(recipe, target));
        return None;
    };
    let mut bound = Bound {
        recipe,
        target,
        point: &job.point,
        mode,
        placement,
        facts: facts::checkpoint(recipe, known),
        speculative: recipe.speculative.always().cloned(),
    };
    let first = caller.give(&context(&bound, None), out)?;
    if let Speculation::PerPoint(function) = &recipe.speculative {
        let tree = caller.call(function, first, out)?;
        if !tree.is_null() {
            bound.speculative = Some(crate::lower::speculative(&tree, out)?);
        }
    }
    let workspace = caller.resolve(&target.runtime.workspace, first, out)?;
    let workspace = schema::text(&workspace, "the workspace in the container", out)?.value;
    let point = caller.give(&context(&bound, Some(&workspace)), out)?;

    let server = caller.call(&recipe.serve, point, out);
    let server = server.and_then(|tree| process::process(&tree, "the server", out));
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
    let cluster = container::cluster(caller, &bound, point, &workspace, out);
    let meter = match &target.meter {
        None => None,
        Some(meter) => {
            caller.resolve(meter, point, out).and_then(|tree| process::process(&tree, "the meter", out))
        }
    };
    let port = word(&target.port, "the port", out);
    let (mut server, last, cluster, port) = (server?, last?, cluster?, port?);
    let injected = inject::acceptance(recipe, bound.speculative.as_ref(), &bound.facts, mode, known);
    injected.apply(&mut server, out);

    let mut stages = Stages { passed: &cluster.passed, parallel: job.point.parallel, groups: Vec::new() };
    stages.downloads(&bound);
    if let Some(meter) = &meter {
        stages.beside(meter);
    }
    let ready = server.ready.clone();
    stages.server(&server, ready.as_deref(), &port);
    stages.packages(recipe);
    for tool in &last.tools {
        stages.stage("tools", "stage", tool);
    }
    let finish = stages.last(&last, mode);
    let groups = stages.groups;
    let mut row = job.row.clone();
    // Whether upstream also evaluates a job says nothing of the point.
    row.remove("run-eval");
    let files: Vec<File> = server.files.iter().chain(&last.files).cloned().collect();
    let plan = Plan {
        recipe: recipe.key.value.clone(),
        target: target.name.value.clone(),
        mode,
        job: job.index,
        points: vec![row],
        image: recipe.image.value.clone(),
        allocate: cluster.allocate,
        container: cluster.container,
        passed: cluster.passed,
        secrets: target.secrets.iter().map(|name| name.value.clone()).collect(),
        mounts: cluster.mounts,
        pools: vec![Pool { nodes: 1, gpus: job.point.parallel.gpus() }],
        groups,
        files,
        finish,
        wants: used(recipe, target, bound.speculative.as_ref()),
    };
    let positionals = positionals(recipe, &server);
    Some(Built {
        plan,
        job: job.clone(),
        server,
        last,
        speculative: bound.speculative,
        hardware: target.hardware.clone(),
        positionals,
    })
}

/// Returns how many words of a server's head are neither wrappers nor the program.
fn positionals(recipe: &Recipe, server: &Process) -> usize {
    let head: Vec<String> =
        server.head.iter().map(|word| word.as_text().unwrap_or_default().to_owned()).collect();
    let program = Engine::parse(&recipe.engine.value).and_then(|engine| engine.program_words(&head));
    head.len().saturating_sub(program.unwrap_or(head.len()))
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

/// Returns the names of the wants that a plan uses.
fn used(recipe: &Recipe, target: &Target, speculative: Option<&Speculative>) -> BTreeSet<String> {
    let platforms = [target.hardware.platform.value.clone()];
    let draft =
        speculative.and_then(|speculative| speculative.draft.as_ref()).map(|draft| Want::Checkpoint {
            repository: draft.repository.value.clone(),
            revision: draft.revision.value.clone(),
        });
    recipe
        .wants(&platforms)
        .iter()
        .filter(|want| !matches!(want, Want::Source { purpose, .. } if purpose != "harness"))
        .chain(&draft)
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
        process: &Process,
        gpus: u32,
        ready: Ready,
    ) -> usize {
        let mut env = self.passed.clone();
        env.extend(process.env.iter().map(|(name, value)| (name.clone(), value.clone())));
        for name in &process.unset {
            env.remove(name);
        }
        let serves = matches!(role, Role::Serve(_));
        let ports = match &ready {
            Ready::Http { port, .. } | Ready::Tcp { port } => {
                BTreeMap::from([("http".to_owned(), port.clone())])
            }
            Ready::Started | Ready::Ended => BTreeMap::new(),
        };
        let rank = Rank {
            seat: Seat { pool: 0, node: 0, gpus },
            argv: process.argv(),
            env,
            unset: process.unset.clone(),
            ports,
        };
        let parallel = serves.then_some(self.parallel);
        self.groups.push(Group {
            role,
            name: name.to_owned(),
            kind: kind.to_owned(),
            image: None,
            mounts: None,
            replicas: vec![Replica { parallel, ranks: vec![rank] }],
            after: (0..self.groups.len()).collect(),
            ready,
            within: None,
            critical: !matches!(role, Role::Meter),
        });
        self.groups.len() - 1
    }

    fn stage(&mut self, name: &str, kind: &str, process: &Process) {
        self.push(Role::Stage, name, kind, process, 0, Ready::Ended);
    }

    /// Downloads what the run needs and nobody has brought.
    fn downloads(&mut self, bound: &Bound<'_>) {
        let placement = &bound.placement;
        if !placement.staged || bound.recipe.download == Download::Missing {
            let folder = placement.folder.as_deref();
            self.stage(
                "checkpoint",
                "download",
                &download(&bound.recipe.model.repository.value, folder, false),
            );
        }
        let draft = bound.speculative.as_ref().and_then(|speculative| speculative.draft.as_ref());
        if let Some(draft) = draft {
            let place = bound.target.place(&draft.repository.value);
            if place.as_ref().is_none_or(|place| !place.staged) {
                let folder = place.and_then(|place| place.folder);
                self.stage("draft", "download", &download(&draft.repository.value, folder.as_deref(), false));
            }
        }
        for dataset in &bound.recipe.datasets {
            self.stage("dataset", "download", &download(&dataset.repository.value, None, true));
        }
    }

    fn beside(&mut self, meter: &Process) {
        self.push(Role::Meter, "meter", "meter", meter, 0, Ready::Started);
    }

    fn server(&mut self, server: &Process, path: Option<&str>, port: &Word) {
        let ready = match path {
            Some(path) => Ready::Http { port: port.clone(), path: path.to_owned() },
            None => Ready::Tcp { port: port.clone() },
        };
        let gpus = self.parallel.gpus();
        self.push(Role::Serve(Phase::Agg), "server", "server", server, gpus, ready);
    }

    /// Installs what the client imports. After the server is up, so that its own packages are those
    /// of the image when it loads them.
    fn packages(&mut self, recipe: &Recipe) {
        if recipe.packages.is_empty() {
            return;
        }
        let mut head: Vec<Word> = ["pip", "install", "-q"].map(Word::from).to_vec();
        head.extend(recipe.packages.iter().map(|package| Word::from(package.value.as_str())));
        self.stage("packages", "install", &Process { head, ..Process::default() });
    }

    fn last(&mut self, process: &Process, mode: Mode) -> usize {
        let (role, name) = match mode {
            Mode::Throughput => (Role::Client, "client"),
            Mode::Eval => (Role::Eval, "eval"),
        };
        self.push(role, name, name, process, 0, Ready::Ended)
    }
}

fn download(repository: &str, folder: Option<&str>, dataset: bool) -> Process {
    let mut head: Vec<Word> = ["hf", "download"].map(Word::from).to_vec();
    if dataset {
        head.extend(["--repo-type", "dataset"].map(Word::from));
    }
    head.push(Word::from(repository));
    if let Some(folder) = folder {
        head.extend(["--local-dir", folder].map(Word::from));
    }
    Process { head, ..Process::default() }
}

/// Returns a set's tree, or an empty one where there is none.
pub(crate) fn or_empty(tree: Option<Tree>) -> Tree {
    tree.unwrap_or_else(|| Tree::made(Node::Set(Vec::new())))
}
