//! What the parts of a script on a submitting machine have in common.

use recipe::plan::{Piece, Plan, Word};

use crate::bash::Bash;
use crate::holes::Holes;
use crate::quote;

/// Which parts a script has beside the one on the host and the one in the container.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parts {
    /// It has a part on the node, outside the container.
    pub(crate) node: bool,
    /// It imports an image into a squash file.
    pub(crate) import: bool,
}

/// Writes the making of mount sources, and the test that the others are there.
pub(crate) fn mounts(bash: &mut Bash, plan: &Plan, holes: &Holes) {
    let sources = |create: bool| -> Vec<String> {
        let those = plan.mounts.iter().filter(|mount| mount.create == create);
        those.map(|mount| quote::word(&mount.from, holes)).collect()
    };
    let (make, require) = (sources(true), sources(false));
    if !make.is_empty() {
        bash.line(&format!("make_sources {}", make.join(" ")));
    }
    if !require.is_empty() {
        bash.line(&format!("require_sources {}", require.join(" ")));
    }
}

/// Writes the start of the container, with the variables in its environment that it passes on by
/// name.
pub(crate) fn host_command(
    bash: &mut Bash,
    by: &str,
    plan: &Plan,
    words: &[String],
    entry: &str,
    holes: &Holes,
) {
    let mut command = vec![by.to_owned()];
    // `--export=NAME` stands for a value that `--export=NAME=VALUE` cannot hold.
    let by_name = |value: &Word| {
        value.pieces().iter().any(|piece| matches!(piece, Piece::Text(text) if text.contains([',', '\n'])))
    };
    if plan.passed.values().any(by_name) {
        let pairs: Vec<String> = plan
            .passed
            .iter()
            .filter(|(_, value)| by_name(value))
            .map(|(name, value)| quote::pair(name, value, holes))
            .collect();
        command.push("env".to_owned());
        command.extend(pairs);
    }
    command.extend(words.iter().cloned());
    command.push(entry.to_owned());
    bash.command(&command);
}
