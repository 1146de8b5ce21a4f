//! One Docker host: no scheduler, one container.

use recipe::plan::{Plan, Word};

use crate::bash::Bash;
use crate::holes::Holes;
use crate::parts::{Parts, host_command, mounts};
use crate::quote;

pub(crate) const DOCKER: &str = include_str!("runtime/docker.sh");

/// The `docker run` command with the pinned image in it.
#[derive(Debug)]
pub(crate) struct Container {
    words: Vec<String>,
    /// The container's name, as a bash word.
    name: String,
    /// How bash is started on what comes in.
    entry: &'static str,
}

/// Puts the pinned image and what a script needs of the container into the command: a name by which
/// it can be ended, standard input for this very script, bash as the entry. `None` if the command
/// is no `docker run` of the plan's image.
pub(crate) fn container(plan: &Plan, holes: &Holes) -> Option<Container> {
    let words = &plan.container;
    // Docker writes `/` where a manifest may write enroot's `#`.
    let written = [plan.image.clone(), plan.image.replacen('#', "/", 1)];
    let image = words
        .iter()
        .rposition(|word| word.as_text().is_some_and(|text| written.iter().any(|image| image == text)))?;
    let run = words.iter().position(|word| word.as_text() == Some("run"))?;
    if run >= image {
        return None;
    }
    let options = words.get(run + 1..image)?;
    let text = |word: &Word| lock::words::to_text(word);
    let value = |name: &str| {
        options.iter().enumerate().find_map(|(at, word)| {
            if word.as_text() == Some(name) {
                return options.get(at + 1).map(|word| quote::word(word, holes));
            }
            let prefix = format!("{name}=");
            text(word).starts_with(&prefix).then(|| without_prefix(word, &prefix, holes))
        })
    };
    let has = |names: &[&str]| {
        options.iter().any(|word| names.contains(&text(word).split('=').next().unwrap_or_default()))
    };
    let mut command: Vec<String> = words.get(..=run)?.iter().map(|word| quote::word(word, holes)).collect();
    if !has(&["--interactive", "-i", "-it"]) {
        command.push("--interactive".to_owned());
    }
    if !has(&["--rm"]) {
        command.push("--rm".to_owned());
    }
    let name = value("--name").unwrap_or_else(|| "\"recipec-$run_id\"".to_owned());
    if !has(&["--name"]) {
        command.push("\"--name=$container_name\"".to_owned());
    }
    let entry = value("--entrypoint");
    if entry.is_none() {
        command.push("'--entrypoint='".to_owned());
    }
    for secret in &plan.secrets {
        let by_name = format!("--env={secret}");
        let given =
            options.iter().any(|word| word.as_text().is_some_and(|text| text == secret || text == by_name));
        if !given {
            command.push(quote::quote(&by_name));
        }
    }
    command.extend(options.iter().map(|word| quote::word(word, holes)));
    command.push("\"$image_reference\"".to_owned());
    command.extend(words.get(image + 1..)?.iter().map(|word| quote::word(word, holes)));
    // An entry of the plan's own is taken to be bash, as upstream's is.
    let entry = if matches!(entry.as_deref(), None | Some("''")) { "bash -s" } else { "-s" };
    Some(Container { words: command, name, entry })
}

impl Container {
    /// Returns whether the plan gave the container no name.
    pub(crate) fn unnamed(&self) -> bool {
        self.name.contains("$run_id")
    }
}

fn without_prefix(word: &Word, prefix: &str, holes: &Holes) -> String {
    let mut rest = Word::new();
    for (index, piece) in word.pieces().iter().enumerate() {
        match piece {
            recipe::plan::Piece::Text(text) if index == 0 => {
                rest.push_text(text.strip_prefix(prefix).unwrap_or(text));
            }
            recipe::plan::Piece::Text(text) => rest.push_text(text),
            recipe::plan::Piece::Hole(hole) => rest.push_hole(hole.clone()),
        }
    }
    quote::word(&rest, holes)
}

/// Writes the part on the host.
pub(crate) fn write(bash: &mut Bash, plan: &Plan, container: &Container, holes: &Holes) -> Parts {
    bash.comment("On the host.");
    bash.function("host", |bash| {
        bash.line("need docker sha256sum realpath");
        bash.line("host_begin");
        bash.line("hole_job=${RECIPEC_JOB:-$$}");
        bash.line("given_node=$(uname -n)");
        bash.line("job_holes");
        mounts(bash, plan, holes);
        bash.line("pull");
        bash.line("hand_over");
        bash.line(&format!("container_name={}", container.name));
        host_command(
            bash,
            "step",
            plan,
            &container.words,
            &format!("{} -- inside \"${{handed[@]}}\"", container.entry),
            holes,
        );
    });
    Parts { node: false, import: false }
}
