//! A whole script: data of the plan and the static parts, in one file.

use std::collections::BTreeMap;

use diag::slugs::emit::SCRIPT_TOPOLOGY;
use diag::slugs::upstream::PLATFORM_MISSING;
use diag::{Diagnostic, Diagnostics};
use lock::pin::{Entry, File, Image, Pin};
use lock::{Digest, Lock};
use recipe::plan::Plan;
use recipe::target::Target;

use crate::bash::Bash;
use crate::evidence::{self, Pinned};
use crate::holes::{self, Holes};
use crate::image::Reference;
use crate::parts::Parts;
use crate::site::{Runtime, Site, workspace};
use crate::{docker, gate, kubernetes, quote, refuse, slurm, steps};

/// An emitted script.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Script {
    /// The file: ASCII, with line feeds.
    pub text: String,
    /// Where it goes under the output folder, with `/`: `KEY/TARGET/MODE/JOB.sh`.
    pub path: String,
    /// sha256 of the text.
    pub sha256: Digest,
    /// Digest of the plan that it is of.
    pub plan: Digest,
}

/// A lock, ready to make scripts of: with its seal and the file lists that it names.
#[derive(Debug)]
pub struct Source<'a> {
    lock: &'a Lock,
    seal: Digest,
    files: &'a BTreeMap<Digest, Vec<File>>,
}

impl<'a> Source<'a> {
    /// Takes a lock and the file lists of its checkpoints, by the digest that names them.
    #[must_use]
    pub fn new(lock: &'a Lock, files: &'a BTreeMap<Digest, Vec<File>>) -> Self {
        Self { lock, seal: lock.seal(), files }
    }
}

/// Returns where the script of a plan goes under the output folder.
#[must_use]
pub fn path(plan: &Plan) -> String {
    let job = plan.job.map_or_else(|| "point".to_owned(), |job| job.to_string());
    let plain = |name: &str| -> String {
        let safe =
            |c: char| if c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | '+') { c } else { '_' };
        let name: String = name.chars().map(safe).collect();
        if name.is_empty() || name.starts_with('.') { format!("_{name}") } else { name }
    };
    let form = if plan.kubernetes.is_some() { "yaml" } else { "sh" };
    format!("{}/{}/{}/{job}.{form}", plain(&plan.recipe), plain(&plan.target), evidence::mode(plan))
}

/// Returns the script of a plan on its target.
///
/// # Errors
/// Everything that keeps the plan from being a script: wants without a pin, a lock of another plan,
/// an image without the target's platform, a checkpoint without a place, text that no argv can hold.
pub fn script(plan: &Plan, source: &Source<'_>, target: &Target) -> Result<Script, Diagnostics> {
    script_at(plan, source, &Site::of(target))
}

/// Returns the script of a plan at a place.
///
/// # Errors
/// As [`script`].
pub fn script_at(plan: &Plan, source: &Source<'_>, site: &Site) -> Result<Script, Diagnostics> {
    let mut found = Diagnostics::new();
    let plan_digest = lock::fingerprint(plan).plan;
    refuse::refuse(plan, &plan_digest, source.lock, &mut found);
    for name in &plan.wants {
        // Checkpoints and the image say more of what they lack, below.
        if !name.starts_with("checkpoint:") && *name != format!("image:{}", plan.image) {
            match source.lock.pins.get(name) {
                Some(Entry::Pinned { .. }) => {}
                Some(Entry::Unpinned { reason, .. }) => found.push(gate::unpinned(name, reason)),
                None => found.push(gate::unpinned(name, "the lock does not name it")),
            }
        }
    }
    let checkpoints = gate::checkpoints(plan, source.lock, source.files, site, &mut found);
    let image = pinned_image(plan, source.lock, site, &mut found);
    let workspace = workspace(plan);
    if workspace.is_none() {
        found.push(
            Diagnostic::error(SCRIPT_TOPOLOGY, format!("`{}` mounts no workspace", plan.target))
                .why("results and evidence are written there, and nothing of the run would outlive its container")
                .help("mount `run.workspace` in the target"),
        );
    }
    let holes = Holes::of(plan);
    let container = image.as_ref().and_then(|image| Container::of(plan, site, image, &holes));
    if image.is_some() && container.is_none() {
        found.push(
            Diagnostic::error(
                SCRIPT_TOPOLOGY,
                format!("the container command of `{}` names no image", plan.target),
            )
            .why("the pinned image has to stand in the place of the wanted one"),
        );
    }
    let (Some(image), Some(container), Some(workspace), false) =
        (image, container, workspace, found.has_errors())
    else {
        return Err(found);
    };

    let mut bash = Bash::default();
    header(&mut bash, plan, &plan_digest, &source.seal);
    evidence::write(&mut bash, plan, &plan_digest, &source.seal, &image);
    bash.raw(STATE);
    bash.line("");
    let outside = quote::word(&workspace.mount.from, &holes);
    holes.write_host(&mut bash, &workspace.inside, outside.trim_end_matches('/'), container.needs_run_id());
    holes.write_job(&mut bash);
    let mut handed = holes.handed();
    handed.extend(GIVEN.iter().map(|name| format!("\"{name}=${name}\"")));
    bash.comment("What the other parts are handed.");
    bash.function("hand_over", |bash| bash.array("handed", &handed));
    for (index, checkpoint) in checkpoints.iter().enumerate() {
        gate::write(&mut bash, index, checkpoint, &holes);
    }
    steps::write(&mut bash, plan, source.lock, site, &workspace.inside, &checkpoints, &holes);
    let parts = container.write(&mut bash, plan, &holes);
    fixed(&mut bash, plan, &checkpoints, parts, &site.runtime);
    let text = container.around(bash.finish(), plan, &plan_digest);
    Ok(Script { sha256: Digest::of(text.as_bytes()), path: path(plan), text, plan: plan_digest })
}

/// What one part hands to another beside the holes.
const GIVEN: [&str; 6] = [
    "given_gate",
    "given_script",
    "given_image_seen",
    "given_image_variables",
    "given_node",
    "given_started",
];

/// What every part keeps.
const STATE: &str = include_str!("runtime/state.sh");

fn header(bash: &mut Bash, plan: &Plan, plan_digest: &Digest, seal: &Digest) {
    bash.line("#!/usr/bin/env bash");
    bash.comment(&format!(
        "`{}` on `{}`, {}, written by recipec: change the manifest, not this file.",
        plan.recipe,
        plan.target,
        evidence::mode(plan)
    ));
    bash.comment(&format!("plan {plan_digest}"));
    bash.comment(&format!("lock {seal}"));
    let runner = holes::words(plan)
        .flat_map(recipe::plan::Word::pieces)
        .any(|piece| *piece == recipe::plan::Piece::Hole(recipe::plan::Hole::Runner));
    if plan.kubernetes.is_some() {
        bash.comment("It is the entry of a Job: kubectl create --filename=THIS");
    } else {
        bash.comment(&format!(
            "Run it in the checked-out repository: {}bash THIS",
            if runner { "RUNNER_NAME=... " } else { "" }
        ));
    }
    bash.line("#");
    // The machine that submits keeps more than a pod has.
    let more = if plan.kubernetes.is_some() { "SC2034," } else { "" };
    bash.comment(&format!("shellcheck disable={more}SC2317,SC2329 # one set of functions serves every plan; this one may not call all of them"));
    bash.line("set -euo pipefail");
    bash.line("LC_ALL=C");
    bash.line("");
}

fn pinned_image<'a>(plan: &Plan, lock: &'a Lock, site: &Site, found: &mut Diagnostics) -> Option<Pinned<'a>> {
    let name = format!("image:{}", plan.image);
    let image: &Image = match lock.pins.get(&name) {
        Some(Entry::Pinned { pin: Pin::Image(image), .. }) => image,
        Some(Entry::Unpinned { reason, .. }) => {
            found.push(gate::unpinned(&name, reason));
            return None;
        }
        _ => {
            found.push(gate::unpinned(&name, "the lock does not name it"));
            return None;
        }
    };
    // An index is asked for by the manifest of the platform: enroot takes the first entry of an
    // index that has the architecture, and so may Docker of another version.
    let (platform, config) = match image.platforms.get(&site.platform) {
        Some(platform) => (&platform.digest, platform.config.as_ref()),
        None if image.platforms.is_empty() => (&image.digest, None),
        None => {
            let has: Vec<&str> = image.platforms.keys().map(String::as_str).collect();
            found.push(
                Diagnostic::error(
                    PLATFORM_MISSING,
                    format!("`{}` has no image for `{}`", plan.image, site.platform),
                )
                .why(format!(
                    "target `{}` needs it; the image has {}",
                    plan.target,
                    has.join(", ")
                )),
            );
            return None;
        }
    };
    let reference = Reference::read(&plan.image);
    let reference = match &site.runtime {
        Runtime::Pyxis { .. } => reference.enroot(platform),
        Runtime::Docker | Runtime::Kubernetes => reference.docker(platform),
    };
    Some(Pinned { reference, digest: &image.digest, platform, config })
}

/// The command that starts the container, for its runtime.
#[derive(Debug)]
enum Container {
    Slurm(slurm::Container, crate::site::Import),
    Docker(docker::Container),
    Kubernetes(kubernetes::Container),
}

impl Container {
    fn of(plan: &Plan, site: &Site, image: &Pinned<'_>, holes: &Holes) -> Option<Self> {
        match &site.runtime {
            Runtime::Pyxis { squash, import } => {
                let reference = Reference::read(&plan.image);
                let (name, direct) = (reference.squash(image.platform), reference.pyxis(image.platform));
                let container = slurm::container(plan, squash.as_deref(), &name, &direct, holes)?;
                Some(Self::Slurm(container, *import))
            }
            Runtime::Docker => docker::container(plan, holes).map(Self::Docker),
            Runtime::Kubernetes => kubernetes::container(plan, &image.reference).map(Self::Kubernetes),
        }
    }

    fn needs_run_id(&self) -> bool {
        matches!(self, Self::Docker(container) if container.unnamed())
    }

    /// Returns the file that holds a script: the script itself, or what hands it to a cluster.
    fn around(&self, script: String, plan: &Plan, digest: &Digest) -> String {
        match self {
            Self::Kubernetes(container) => container.file(&script, plan, digest),
            Self::Slurm(..) | Self::Docker(_) => script,
        }
    }

    fn write(&self, bash: &mut Bash, plan: &Plan, holes: &Holes) -> Parts {
        match self {
            Self::Slurm(container, import) => slurm::write(bash, plan, container, *import, holes),
            Self::Docker(container) => docker::write(bash, plan, container, holes),
            Self::Kubernetes(container) => kubernetes::write(bash, plan, container),
        }
    }
}

fn on_host(bash: &mut Bash, text: &str) {
    bash.raw(include_str!("runtime/host.sh"));
    bash.line("");
    bash.raw(text);
    bash.line("");
    bash.raw(include_str!("runtime/mounts.sh"));
}

/// Adds what every script does alike.
fn fixed(
    bash: &mut Bash,
    plan: &Plan,
    checkpoints: &[gate::Checkpoint<'_>],
    parts: Parts,
    runtime: &Runtime,
) {
    bash.raw(include_str!("runtime/common.sh"));
    bash.line("");
    bash.raw(include_str!("runtime/process.sh"));
    if !checkpoints.is_empty() {
        bash.line("");
        bash.raw(include_str!("runtime/gate.sh"));
        if plan.groups.iter().any(|group| group.kind == "download") {
            bash.line("");
            bash.raw(include_str!("runtime/download.sh"));
        }
    }
    for text in [include_str!("runtime/evidence.sh"), include_str!("runtime/inside.sh")] {
        bash.line("");
        bash.raw(text);
    }
    bash.line("");
    match runtime {
        Runtime::Pyxis { .. } => on_host(bash, slurm::SLURM),
        Runtime::Docker => on_host(bash, docker::DOCKER),
        Runtime::Kubernetes => bash.raw(kubernetes::KUBERNETES),
    }
    if parts.import {
        bash.line("");
        bash.raw(slurm::IMPORT);
    }
    bash.line("");
    let pod = matches!(runtime, Runtime::Kubernetes);
    bash.function("main", |bash| {
        bash.line("((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] >= 404)) || stop bash-too-old 5 \"bash $BASH_VERSION is older than 4.4\"");
        bash.line(if pod { "case ${1:-} in" } else { "case ${1:-host} in" });
        bash.line(if pod { "  pod) pod ;;" } else { "  host) host ;;" });
        if parts.node {
            bash.line("  node) node \"${@:2}\" ;;");
        }
        bash.line("  inside) inside \"${@:2}\" ;;");
        bash.line("  *) stop usage 2 'this script takes no arguments' ;;");
        bash.line("esac");
    });
    // One line, so that bash has read all of it before anything else reads the same input.
    bash.line("main \"$@\"; exit");
}
