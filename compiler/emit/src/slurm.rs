//! Slurm with pyxis and enroot: the part on the submitting machine, and the one on the node.

use recipe::plan::{Piece, Plan, Word};

use crate::bash::Bash;
use crate::holes::Holes;
use crate::parts::{Parts, host_command, mounts};
use crate::quote::{self, quote};
use crate::site::Import;

/// Static parts of the runtime, in the order in which they stand in a script.
pub(crate) const SLURM: &str = include_str!("runtime/slurm.sh");
pub(crate) const IMPORT: &str = include_str!("runtime/import.sh");

/// How a plan's container gets its image.
#[derive(Debug)]
pub(crate) struct Container {
    /// The container command with the pinned image in it, as bash words.
    words: Vec<String>,
    /// The squash file, as a bash word, where there is one.
    squash: Option<String>,
}

/// Puts the pinned image into the container command: a squash file named by its digest, or the
/// reference itself. `None` if the command names no image.
pub(crate) fn container(
    plan: &Plan,
    folder: Option<&str>,
    name: &str,
    reference: &str,
    holes: &Holes,
) -> Option<Container> {
    const OPTION: &str = "--container-image";
    let mut squash = None;
    let mut words = Vec::new();
    let mut found = false;
    let mut rest = plan.container.iter();
    while let Some(word) = rest.next() {
        let value = match word.pieces().first() {
            Some(Piece::Text(text)) if text == OPTION && word.pieces().len() == 1 => {
                rest.next().and_then(Word::as_text).map(str::to_owned)
            }
            Some(Piece::Text(text)) => {
                match text.strip_prefix(OPTION).and_then(|text| text.strip_prefix('=')) {
                    Some(value) => Some(value.to_owned()),
                    None => {
                        words.push(quote::word(word, holes));
                        continue;
                    }
                }
            }
            _ => {
                words.push(quote::word(word, holes));
                continue;
            }
        };
        found = true;
        let value = value.unwrap_or_default();
        let written = value
            .starts_with('/')
            .then(|| value.rsplit_once('/').map_or("", |(folder, _)| folder).to_owned());
        if let Some(folder) = folder.map(str::to_owned).or(written) {
            squash = Some(quote(&format!("{}/{name}", folder.trim_end_matches('/'))));
            words.push("\"--container-image=$squash\"".to_owned());
        } else {
            words.push(quote(&format!("{OPTION}={reference}")));
        }
    }
    found.then_some(Container { words, squash })
}

/// Writes the part on the submitting machine, and the part on the node.
pub(crate) fn write(
    bash: &mut Bash,
    plan: &Plan,
    container: &Container,
    import: Import,
    holes: &Holes,
) -> Parts {
    if let Some(squash) = &container.squash {
        bash.line(&format!("squash={squash}"));
        bash.line("");
    }
    let import_here = container.squash.is_some() && import == Import::Login;
    let import_there = container.squash.is_some() && import == Import::Compute;
    let creates = plan.mounts.iter().any(|mount| mount.create);
    // A step that allocates by itself cannot be preceded by another on the same node, unless that
    // one is found first. It is, where something has to be made on the node.
    let node = if plan.allocate.is_some() {
        import_there || !plan.mounts.is_empty()
    } else {
        import_there || creates
    };
    if node {
        bash.comment("On the node, outside any container.");
        bash.function("node", |bash| {
            bash.line("exec </dev/null");
            bash.line("take \"$@\"");
            bash.line("trap dismiss EXIT");
            bash.line("trap 'exit 143' TERM");
            bash.line("job_holes");
            mounts(bash, plan, holes);
            if import_there {
                bash.line("import_image");
            }
            if plan.allocate.is_none() {
                bash.line("printf '%s\\n' \"${SLURMD_NODENAME:-}\"");
            }
        });
    }
    bash.comment("On the machine that submits.");
    bash.function("host", |bash| {
        bash.line("need srun scancel squeue sha256sum realpath mktemp");
        bash.line("host_begin");
        if import_here {
            bash.line("import_image");
        }
        let mut run = container.words.clone();
        match &plan.allocate {
            Some(allocate) => {
                let mut command = vec!["allocate".to_owned()];
                command.extend(allocate.iter().map(|word| quote::word(word, holes)));
                bash.command(&command);
                bash.line("given_node=$(squeue -h -j \"$hole_job\" -o %N)");
                bash.line("job_holes");
                bash.line("hand_over");
                if node {
                    bash.line("step srun \"--jobid=$hole_job\" --nodes=1 --ntasks=1 --mpi=none bash -s -- node \"${handed[@]}\"");
                }
            }
            None => {
                bash.line("hand_over");
                if node {
                    let mut command = vec!["find_node".to_owned()];
                    command.extend(request(plan, holes));
                    command.push("bash -s -- node \"${handed[@]}\"".to_owned());
                    bash.command(&command);
                    bash.line("hand_over");
                    run.insert(run.len().min(1), "\"--nodelist=$given_node\"".to_owned());
                }
            }
        }
        host_command(bash, "step", plan, &run, "bash -s -- inside \"${handed[@]}\"", holes);
    });
    Parts { node, import: import_here || import_there }
}

/// Returns the container command without what is pyxis's: the request for a node.
fn request(plan: &Plan, holes: &Holes) -> Vec<String> {
    let mut words = Vec::new();
    let mut rest = plan.container.iter();
    while let Some(word) = rest.next() {
        let first = match word.pieces().first() {
            Some(Piece::Text(text)) => text.as_str(),
            _ => "",
        };
        if first.starts_with("--container-")
            || first.starts_with("--no-container-")
            || first.starts_with("--export")
        {
            // `--container-image VALUE`; the flags without a value are these.
            let flag = first.contains('=')
                || first.starts_with("--no-")
                || matches!(
                    first,
                    "--container-mount-home"
                        | "--container-remap-root"
                        | "--container-writable"
                        | "--container-readonly"
                        | "--container-entrypoint"
                );
            if !flag {
                rest.next();
            }
            continue;
        }
        words.push(quote::word(word, holes));
    }
    words
}
