//! Holes: values that only the run knows, each resolved once, into one variable with a check.

use std::collections::BTreeMap;

use recipe::plan::{Hole, Piece, Plan, Word};

use crate::bash::Bash;
use crate::quote::quote;

/// The holes of a plan, each with the name of its variable.
#[derive(Debug, Default)]
pub(crate) struct Holes {
    names: BTreeMap<Hole, String>,
    each: BTreeMap<Hole, String>,
}

impl Holes {
    /// Collects the holes of a plan, in a stable order.
    pub(crate) fn of(plan: &Plan) -> Self {
        let mut holes = Self::default();
        for word in words(plan) {
            for piece in word.pieces() {
                if let Piece::Hole(hole) = piece {
                    holes.add(hole, plan);
                }
            }
        }
        // The evidence and the logs always have a place, and the evidence always names the job.
        holes.add(&Hole::LogDir, plan);
        holes.add(&Hole::Job, plan);
        holes
    }

    fn add(&mut self, hole: &Hole, plan: &Plan) {
        if self.names.contains_key(hole) {
            return;
        }
        let count = self.names.len();
        let name = match hole {
            Hole::Runner => "hole_runner".to_owned(),
            Hole::Home => "hole_home".to_owned(),
            Hole::Workspace => "hole_workspace".to_owned(),
            Hole::Orchestrator => "hole_orchestrator".to_owned(),
            Hole::Host { node: (pool, node) } => format!("hole_host_{pool}_{node}"),
            Hole::Address { node: (pool, node) } => format!("hole_address_{pool}_{node}"),
            Hole::Job => "hole_job".to_owned(),
            Hole::JobPort { base, modulus } => format!("hole_port_{base}_{modulus}"),
            Hole::LogDir => "hole_logdir".to_owned(),
            Hole::Unique(_) => format!("hole_unique_{count}"),
            Hole::Each { of, shape, separator } => {
                let text = self.each_text(of, shape, separator, plan);
                self.each.insert(hole.clone(), text);
                format!("hole_each_{count}")
            }
        };
        self.names.insert(hole.clone(), name);
    }

    /// Returns one bash word that says `shape` of each process, separated.
    fn each_text(&mut self, of: &[(u32, u32, u32)], shape: &str, separator: &str, plan: &Plan) -> String {
        let mut parts = Vec::new();
        for &(group, replica, rank) in of {
            let found = plan
                .groups
                .get(group as usize)
                .and_then(|group| group.replicas.get(replica as usize))
                .and_then(|replica| replica.ranks.get(rank as usize));
            let Some(rank) = found else { continue };
            let node = (rank.seat.pool, rank.seat.node);
            let port =
                rank.ports.get("http").or_else(|| rank.ports.values().next()).cloned().unwrap_or_default();
            let (host, address) = (Hole::Host { node }, Hole::Address { node });
            let mut part = Word::new();
            match shape {
                "host" => part.push_hole(host),
                "host:port" => {
                    part.push_hole(host);
                    part.push_text(":");
                    part.push_word(&port);
                }
                "http" => {
                    part.push_text("http://");
                    part.push_hole(address);
                    part.push_text(":");
                    part.push_word(&port);
                }
                _ => part.push_hole(address),
            }
            for piece in part.pieces() {
                if let Piece::Hole(hole) = piece {
                    self.add(hole, plan);
                }
            }
            parts.push(crate::quote::word(&part, self));
        }
        parts.join(&quote(separator))
    }

    /// Returns the variable of a hole.
    pub(crate) fn variable(&self, hole: &Hole) -> &str {
        self.names.get(hole).map_or("hole_unknown", String::as_str)
    }

    fn has(&self, hole: &Hole) -> bool {
        self.names.contains_key(hole)
    }

    /// Writes `host_holes`, which resolves on the submitting machine what is known there.
    /// `log_directory` is the container's, `host_log_directory` bash for the same place outside;
    /// `unique` asks for `run_id` whether or not the plan does.
    pub(crate) fn write_host(
        &self,
        bash: &mut Bash,
        log_directory: &str,
        host_log_directory: &str,
        unique: bool,
    ) {
        bash.function("host_holes", |bash| {
            if unique || self.names.keys().any(|hole| matches!(hole, Hole::Unique(_))) {
                bash.line("run_id=$(date -u +%Y%m%dT%H%M%S)-$$");
            }
            if self.has(&Hole::Runner) {
                bash.comment("The name that the runner has, such as `b200-dgxc_00`.");
                bash.line("hole_runner=${RUNNER_NAME:-}");
                bash.line("plain RUNNER_NAME \"$hole_runner\"");
            }
            if self.has(&Hole::Home) {
                bash.line("hole_home=${HOME:-}");
                bash.line("plain HOME \"$hole_home\"");
            }
            if self.has(&Hole::Workspace) {
                bash.comment("The checked-out repository: GITHUB_WORKSPACE, or the folder this is run in.");
                bash.line("hole_workspace=$(cd -- \"${GITHUB_WORKSPACE:-$PWD}\" && pwd -P)");
                bash.line("plain GITHUB_WORKSPACE \"$hole_workspace\"");
            }
            for (hole, name) in &self.names {
                if let Hole::Unique(of) = hole {
                    bash.line(&format!("{name}={}\"-$run_id\"", quote(of)));
                }
            }
            bash.comment("RECIPEC_LOG_DIR: a folder in the workspace for logs, results and the evidence.");
            bash.line("local below=${RECIPEC_LOG_DIR:-}");
            bash.line("[[ /$below/ != */../* && $below != /* ]] || stop hole-unusable 2 'RECIPEC_LOG_DIR leaves the workspace'");
            bash.line("[[ -z $below ]] || plain RECIPEC_LOG_DIR \"$below\"");
            bash.line(&format!("hole_logdir={}\"${{below:+/$below}}\"", quote(log_directory)));
            bash.line(&format!("host_log_directory={host_log_directory}\"${{below:+/$below}}\""));
        });
    }

    /// Writes `job_holes`, which resolves what follows from the job, wherever that is first known.
    pub(crate) fn write_job(&self, bash: &mut Bash) {
        bash.function("job_holes", |bash| {
            bash.line("[[ -n $hole_job ]] || hole_job=${SLURM_JOB_ID:-}");
            bash.line("[[ $hole_job =~ ^[0-9]{1,18}$ ]] || stop hole-empty 2 \"the job has no number: '$hole_job'\"");
            for (hole, name) in &self.names {
                match hole {
                    Hole::JobPort { base, modulus } => {
                        bash.line(&format!("{name}=$(({base} + 10#$hole_job % {}))", (*modulus).max(1)));
                    }
                    Hole::Host { .. } => bash.line(&format!("{name}=$given_node")),
                    Hole::Address { .. } => {
                        bash.line(&format!("{name}=$(node_address \"$given_node\")"));
                    }
                    _ => {}
                }
            }
            for (hole, text) in &self.each {
                bash.line(&format!("{}={text}", self.variable(hole)));
            }
        });
    }

    /// Returns the pairs that the submitting machine hands to the other parts of the script.
    pub(crate) fn handed(&self) -> Vec<String> {
        self.names
            .iter()
            .filter(|(hole, _)| {
                matches!(
                    hole,
                    Hole::Runner | Hole::Home | Hole::Workspace | Hole::Job | Hole::LogDir | Hole::Unique(_)
                )
            })
            .map(|(_, name)| format!("\"{name}=${name}\""))
            .collect()
    }
}

/// Returns every word of a plan.
pub(crate) fn words(plan: &Plan) -> impl Iterator<Item = &Word> {
    host_words(plan).chain(inside_words(plan))
}

/// Returns the words that the submitting machine or the node reads.
pub(crate) fn host_words(plan: &Plan) -> impl Iterator<Item = &Word> {
    let allocate = plan.allocate.iter().flatten();
    let mounts = plan.mounts.iter().flat_map(|mount| [&mount.from, &mount.to]);
    allocate.chain(&plan.container).chain(plan.passed.values()).chain(mounts)
}

fn inside_words(plan: &Plan) -> impl Iterator<Item = &Word> {
    let files = plan.files.iter().flat_map(|file| [&file.path, &file.text]);
    let groups = plan.groups.iter().flat_map(|group| {
        let ready = match &group.ready {
            recipe::plan::Ready::Tcp { port }
            | recipe::plan::Ready::Http { port, .. }
            | recipe::plan::Ready::Registered { port, .. } => std::slice::from_ref(port),
            recipe::plan::Ready::Ports { ports } => ports,
            recipe::plan::Ready::Started | recipe::plan::Ready::Ended => &[],
        };
        let ranks = group.replicas.iter().flat_map(|replica| &replica.ranks);
        ranks
            .flat_map(|rank| rank.argv.iter().chain(rank.env.values()).chain(rank.ports.values()))
            .chain(ready)
    });
    files.chain(groups)
}
