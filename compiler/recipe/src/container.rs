//! How a plan gets onto its target: allocation, container, mounts, environment passed in.

use std::collections::BTreeMap;

use diag::{Diagnostic, Diagnostics, slugs};

use crate::bridge::{Caller, Point};
use crate::build::or_empty;
use crate::command::{self, Spelling};
use crate::kubernetes::{self, Given};
use crate::plan::{Mount, Piece, Word};
use crate::process;
use crate::schema::{self, Record};
use crate::target::{RuntimeKind, SchedulerKind, Target};
use crate::tree::Tree;
use crate::words::word;

/// What a target adds to a plan.
#[derive(Clone, Debug)]
pub(crate) struct Cluster {
    pub(crate) allocate: Option<Vec<Word>>,
    pub(crate) container: Vec<Word>,
    pub(crate) job: Option<serde_json::Value>,
    pub(crate) passed: BTreeMap<String, Word>,
    pub(crate) mounts: Vec<Mount>,
    pub(crate) meter: Option<process::Process>,
}

/// Asks a target's functions for everything around the processes. They get no point, so the answer
/// holds wherever as many GPUs are asked for.
pub(crate) fn cluster(
    caller: &mut Caller<'_, '_>,
    target: &Target,
    reference: &str,
    gpus: u32,
    point: Point,
    workspace: &str,
    out: &mut Diagnostics,
) -> Option<Cluster> {
    let env = optional(caller, target.env.as_ref(), point, out)?;
    let passed = process::variables(&or_empty(env), out);
    let mounts = match &target.mounts {
        None => Vec::new(),
        Some(mounts) => {
            let tree = caller.resolve(mounts, point, out)?;
            schema::list(&tree, "`mounts`", out, mount)?
        }
    };
    let allocate = optional(caller, target.scheduler.allocate.as_ref(), point, out)?
        .map(|options| with_options("salloc", &options, out));
    let step = or_empty(optional(caller, target.scheduler.step.as_ref(), point, out)?);
    let options = or_empty(optional(caller, target.runtime.options.as_ref(), point, out)?);
    let image = image_word(target, reference);
    if (target.runtime.kind == RuntimeKind::Kubernetes)
        != (target.scheduler.kind == SchedulerKind::Kubernetes)
    {
        out.push(alone(
            target,
            "Kubernetes runs its containers itself: both `scheduler.kind` and `runtime.kind` say so",
        ));
    }
    let mut job = None;
    let container = match target.runtime.kind {
        RuntimeKind::Pyxis => {
            if target.scheduler.kind != SchedulerKind::Slurm {
                out.push(alone(target, "only Slurm has pyxis"));
            }
            let mut words = with_options("srun", &step, out);
            words.push(joined("--container-image=", &image));
            words.extend(pyxis_mounts(&mounts, target, out));
            words.extend(flags(&options, out));
            words.push(Word::from(format!("--container-workdir={workspace}")));
            words.push(Word::from("--no-container-entrypoint"));
            words.push(export(&passed, target));
            words
        }
        RuntimeKind::Docker => {
            let mut words: Vec<Word> = ["docker", "run", "--rm"].map(Word::from).to_vec();
            words.extend(flags(&options, out));
            for mount in &mounts {
                words.push(joined("--volume=", &mount_word(mount, target, out)));
            }
            for (name, value) in &passed {
                words.push(joined(&format!("--env={name}="), value));
            }
            words.extend(target.secrets.iter().map(|name| Word::from(format!("--env={}", name.value))));
            words.push(Word::from(format!("--workdir={workspace}")));
            words.push(Word::from("--entrypoint="));
            words.push(image);
            words
        }
        RuntimeKind::Kubernetes => {
            let mut part = |tree: &Option<Tree>| optional(caller, tree.as_ref(), point, out).map(or_empty);
            let given = Given {
                job: part(&target.scheduler.job)?,
                pod: part(&target.runtime.pod)?,
                container: part(&target.runtime.container)?,
            };
            job = Some(kubernetes::job(target, &given, reference, gpus, workspace, &mounts, out));
            Vec::new()
        }
    };
    let meter = match optional(caller, target.meter.as_ref(), point, out)? {
        Some(tree) => Some(process::process(&tree, "the meter", out)?),
        None => None,
    };
    Some(Cluster { allocate, container, job, passed, mounts, meter })
}

fn alone(target: &Target, why: &str) -> Diagnostic {
    let mut finding = Diagnostic::error(
        slugs::recipe::UNKNOWN_CHOICE,
        format!("the scheduler and the runtime of `{}` do not go together", target.name.value),
    )
    .why(why);
    finding.span = target.at;
    finding
}

/// `Some(None)` where nothing is declared; `None` where asking failed.
#[expect(clippy::option_option, reason = "absent and failed are different answers")]
fn optional(
    caller: &mut Caller<'_, '_>,
    tree: Option<&Tree>,
    point: Point,
    out: &mut Diagnostics,
) -> Option<Option<Tree>> {
    match tree {
        None => Some(None),
        Some(tree) => caller.resolve(tree, point, out).map(Some),
    }
}

fn with_options(program: &str, options: &Tree, out: &mut Diagnostics) -> Vec<Word> {
    std::iter::once(Word::from(program)).chain(flags(options, out)).collect()
}

fn flags(options: &Tree, out: &mut Diagnostics) -> Vec<Word> {
    let mut words = Vec::new();
    command::options(options, Spelling::Joined, &mut words, out);
    words
}

fn joined(flag: &str, value: &Word) -> Word {
    let mut word = Word::from(flag);
    word.push_word(value);
    word
}

/// Returns how a target's runtime names an image: the imported file, or the reference itself.
fn image_word(target: &Target, reference: &str) -> Word {
    match &target.runtime.squash {
        Some(folder) => {
            let name = reference.replace(['/', ':', '@', '#'], "_");
            Word::from(format!("{}/{name}.sqsh", folder.value.trim_end_matches('/')))
        }
        // Docker writes `/` where enroot writes `#` between the registry and the repository.
        None if target.runtime.kind == RuntimeKind::Docker => Word::from(reference.replacen('#', "/", 1)),
        None => Word::from(reference),
    }
}

fn mount(tree: &Tree, _: &str, out: &mut Diagnostics) -> Option<Mount> {
    let record = Record::open(tree, "a mount", &["from", "to", "readonly", "create"], out)?;
    let from = record.required("from", out, word);
    let to = record.required("to", out, word);
    let readonly = record.optional("readonly", out, schema::boolean).is_some_and(|value| value.value);
    let create = record.optional("create", out, schema::boolean).is_some_and(|value| value.value);
    Some(Mount { from: from?, to: to?, readonly, create })
}

fn pyxis_mounts(mounts: &[Mount], target: &Target, out: &mut Diagnostics) -> Option<Word> {
    if mounts.is_empty() {
        return None;
    }
    let mut all = Word::from("--container-mounts=");
    for (index, mount) in mounts.iter().enumerate() {
        if index > 0 {
            all.push_text(",");
        }
        all.push_word(&mount_word(mount, target, out));
    }
    Some(all)
}

/// Writes a mount as both runtimes read it; a path with a separator in it cannot be written.
fn mount_word(mount: &Mount, target: &Target, out: &mut Diagnostics) -> Word {
    for side in [&mount.from, &mount.to] {
        let unwritable = |piece: &Piece| matches!(piece, Piece::Text(text) if text.contains([':', ',']));
        if side.pieces().iter().any(unwritable) {
            let mut finding = Diagnostic::error(
                slugs::recipe::MOUNT_NOT_WRITABLE,
                "a mount's path has a colon or a comma, which separate mounts",
            );
            finding.span = target.mounts.as_ref().and_then(|tree| tree.at).or(target.at);
            out.push(finding);
        }
    }
    let mut word = mount.from.clone();
    word.push_text(":");
    word.push_word(&mount.to);
    if mount.readonly {
        word.push_text(":ro");
    }
    word
}

/// Names the declared variables and nothing else: without `ALL` Slurm passes no others. A value
/// with a comma cannot stand here, so such a variable is passed by name.
fn export(passed: &BTreeMap<String, Word>, target: &Target) -> Word {
    let mut word = Word::from("--export=");
    let mut first = true;
    for (name, value) in passed {
        if !std::mem::take(&mut first) {
            word.push_text(",");
        }
        word.push_text(name);
        let plain = |piece: &Piece| !matches!(piece, Piece::Text(text) if text.contains([',', '\n']));
        if value.pieces().iter().all(plain) {
            word.push_text("=");
            word.push_word(value);
        }
    }
    for name in &target.secrets {
        if !std::mem::take(&mut first) {
            word.push_text(",");
        }
        word.push_text(&name.value);
    }
    if first {
        word.push_text("NONE");
    }
    word
}
