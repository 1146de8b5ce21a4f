//! What a script must know of its target, and nothing else of it.

use std::collections::BTreeMap;

use recipe::plan::{Mount, Plan, Word};
use recipe::target::{RuntimeKind, Target};

pub use recipe::target::Import;

/// The place where a plan runs, as far as a script is concerned.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Site {
    /// Platform of its machines, such as `linux/amd64`.
    pub platform: String,
    /// How containers start.
    pub runtime: Runtime,
    /// Folders that somebody filled, by repository id.
    pub staged: BTreeMap<String, String>,
    /// The hub cache that holds the other checkpoints.
    pub cache: Option<String>,
    /// The folder that holds the other checkpoints, each under the last part of its name.
    pub directory: Option<String>,
    /// Host paths that jobs may read and not write.
    pub readonly: Vec<String>,
    /// Host paths that jobs may write.
    pub writable: Vec<String>,
}

/// How containers start.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Runtime {
    /// Slurm with pyxis and enroot.
    Pyxis {
        /// Folder of squash files; `None` where the container step pulls the image itself.
        squash: Option<String>,
        /// Where an image is imported into that folder.
        import: Import,
    },
    /// One Docker host.
    Docker,
    /// A Kubernetes cluster.
    Kubernetes,
}

impl Site {
    /// Takes from a target what scripts need.
    #[must_use]
    pub fn of(target: &Target) -> Self {
        let runtime = match target.runtime.kind {
            RuntimeKind::Pyxis => Runtime::Pyxis {
                squash: target.runtime.squash.as_ref().map(|path| path.value.clone()),
                import: target.runtime.import,
            },
            RuntimeKind::Docker => Runtime::Docker,
            RuntimeKind::Kubernetes => Runtime::Kubernetes,
        };
        let checkpoints = &target.checkpoints;
        let storage = |writable: bool| {
            let those = target.storage.iter().filter(|storage| storage.writable == writable);
            those.map(|storage| storage.path.clone()).collect()
        };
        Self {
            platform: target.hardware.platform.value.clone(),
            runtime,
            staged: checkpoints
                .staged
                .iter()
                .map(|(name, path)| (name.clone(), path.value.clone()))
                .collect(),
            cache: checkpoints.cache.as_ref().map(|path| path.value.clone()),
            directory: checkpoints.directory.as_ref().map(|path| path.value.clone()),
            readonly: storage(false),
            writable: storage(true),
        }
    }

    /// Returns false if the target says that jobs may not write at a path of the container.
    pub(crate) fn may_write(&self, plan: &Plan, path: &Word) -> bool {
        let Some(path) = path.as_text() else { return true };
        let outside = plan
            .mounts
            .iter()
            .filter_map(|mount| {
                Some((mount.from.as_text()?, below(path, mount.to.as_text()?)?, mount.readonly))
            })
            .min_by_key(|(_, rest, _)| rest.len())
            .map(|(from, rest, readonly)| (format!("{}{rest}", from.trim_end_matches('/')), readonly));
        let Some((host, readonly)) = outside else { return true };
        let longest = |paths: &[String]| {
            paths.iter().filter(|path| below(&host, path).is_some()).map(String::len).max()
        };
        !readonly && longest(&self.readonly) <= longest(&self.writable)
    }
}

/// Returns the part of `path` after `root`, beginning with `/` or empty, if it is at or under it.
fn below<'a>(path: &'a str, root: &str) -> Option<&'a str> {
    let rest = path.strip_prefix(root.trim_end_matches('/'))?;
    (rest.is_empty() || rest.starts_with('/')).then_some(rest)
}

/// The checked-out repository: where it is in the container, and the mount that brings it there.
pub(crate) struct Workspace<'a> {
    pub(crate) inside: String,
    pub(crate) mount: &'a Mount,
}

/// Finds the workspace of a plan: the mount at the container's working directory, or the mount of
/// the checked-out repository.
pub(crate) fn workspace(plan: &Plan) -> Option<Workspace<'_>> {
    let mut words = plan.container.iter();
    let mut directory = plan.kubernetes.as_ref().and_then(crate::kubernetes::directory);
    while let Some(word) = words.next() {
        let Some(text) = word.as_text() else { continue };
        if matches!(text, "--container-workdir" | "--workdir" | "-w") {
            directory = words.next().and_then(Word::as_text);
        } else if let Some(value) =
            text.strip_prefix("--container-workdir=").or_else(|| text.strip_prefix("--workdir="))
        {
            directory = Some(value);
        }
    }
    let trimmed = directory.map(|path| path.trim_end_matches('/'));
    let at_directory = |mount: &&Mount| {
        trimmed.is_some() && mount.to.as_text().map(|to| to.trim_end_matches('/')) == trimmed
    };
    let of_repository = |mount: &&Mount| mount.from == Word::hole(recipe::plan::Hole::Workspace);
    let mount = plan.mounts.iter().find(at_directory).or_else(|| plan.mounts.iter().find(of_repository))?;
    let inside = mount.to.as_text()?.trim_end_matches('/').to_owned();
    Some(Workspace { inside, mount })
}
