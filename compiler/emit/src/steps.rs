//! The part in the container: what each process is given, and the order in which they run.

use std::collections::BTreeSet;

use lock::Lock;
use lock::pin::{Entry, Pin};
use recipe::plan::{Group, Plan, Rank, Ready, Role, Word};

use crate::bash::Bash;
use crate::gate::{Checkpoint, Place};
use crate::holes::Holes;
use crate::quote::{self, quote};
use crate::site::Site;
use recipe::want::Want;

/// Writes a function for the data of each process, and `run_plan`.
pub(crate) fn write(
    bash: &mut Bash,
    plan: &Plan,
    lock: &Lock,
    site: &Site,
    workspace: &str,
    checkpoints: &[Checkpoint<'_>],
    holes: &Holes,
) {
    let names = names(plan);
    for (index, group) in plan.groups.iter().enumerate() {
        for (number, rank) in ranks(group).enumerate() {
            bash.comment(&format!("{}: {}", group.kind, name(&names, index, number)));
            bash.function(&format!("process_{index}_{number}"), |bash| {
                process(bash, plan, group, rank, lock, holes);
            });
        }
    }
    bash.comment("The order in which everything runs.");
    bash.function("run_plan", |bash| {
        write_files(bash, plan, workspace, holes);
        let mut order = Order {
            bash,
            plan,
            site,
            checkpoints,
            holes,
            names,
            gated: false,
            awaited: vec![false; plan.groups.len()],
        };
        for index in (0..plan.groups.len()).filter(|index| *index != plan.finish) {
            order.start(index);
        }
        order.finish();
    });
}

fn ranks(group: &Group) -> impl Iterator<Item = &Rank> {
    group.replicas.iter().flat_map(|replica| &replica.ranks)
}

/// Returns a name for each process, for logs and evidence: its group's, with a number where that
/// name stands more than once.
fn names(plan: &Plan) -> Vec<Vec<String>> {
    let mut taken = BTreeSet::new();
    let mut names = Vec::new();
    for group in &plan.groups {
        let safe = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_') { c } else { '-' };
        let plain: String = group.name.chars().map(safe).collect();
        let plain =
            if plain.starts_with('-') || plain.is_empty() { format!("process{plain}") } else { plain };
        let unique = |_: &Rank| {
            let numbered = (2..).map(|number| format!("{plain}-{number}"));
            let name = std::iter::once(plain.clone())
                .chain(numbered)
                .find(|name| !taken.contains(name))
                .unwrap_or_default();
            taken.insert(name.clone());
            name
        };
        names.push(ranks(group).map(unique).collect());
    }
    names
}

fn name(names: &[Vec<String>], index: usize, number: usize) -> &str {
    names.get(index).and_then(|names| names.get(number)).map_or("process", String::as_str)
}

fn process(bash: &mut Bash, plan: &Plan, group: &Group, rank: &Rank, lock: &Lock, holes: &Holes) {
    let mut argv = rank.argv.clone();
    if group.kind == "download"
        && let Some((at, commit)) = downloaded(plan, &argv, lock)
    {
        pin_download(&mut argv, at, commit);
    }
    let argv: Vec<String> = argv.iter().map(|word| quote::word(word, holes)).collect();
    bash.array("argv", &argv);
    let declared: Vec<String> =
        rank.env.iter().map(|(name, value)| quote::pair(name, value, holes)).collect();
    bash.array("declared", &declared);
    let secrets: Vec<String> = plan
        .secrets
        .iter()
        .filter(|name| !rank.env.contains_key(*name) && !rank.unset.contains(*name))
        .map(|name| quote(name))
        .collect();
    bash.array("secrets", &secrets);
    let unset: Vec<String> = rank.unset.iter().map(|name| quote(name)).collect();
    bash.array("unset_names", &unset);
}

/// Returns which word of a download names a repository that the plan pins, and at which commit.
fn downloaded<'l>(plan: &Plan, argv: &[Word], lock: &'l Lock) -> Option<(usize, &'l str)> {
    let dataset = argv.iter().any(|word| word.as_text() == Some("dataset"));
    plan.wants.iter().find_map(|name| {
        let Some(Entry::Pinned { want, pin }) = lock.pins.get(name) else { return None };
        let (repository, snapshot) = match (want, pin) {
            (Want::Checkpoint { repository, .. }, Pin::Checkpoint(snapshot)) if !dataset => {
                (repository, snapshot)
            }
            (Want::Dataset { repository, .. }, Pin::Dataset(snapshot)) if dataset => (repository, snapshot),
            _ => return None,
        };
        let at = argv.iter().position(|word| word.as_text() == Some(repository))?;
        Some((at, snapshot.commit.as_str()))
    })
}

/// Makes a download fetch the locked commit, whatever the branch says by now.
fn pin_download(argv: &mut Vec<Word>, at: usize, commit: &str) {
    if let Some(revision) = argv.iter().position(|word| word.as_text() == Some("--revision"))
        && let Some(value) = argv.get_mut(revision + 1)
    {
        *value = commit.into();
        return;
    }
    argv.insert(at + 1, "--revision".into());
    argv.insert(at + 2, commit.into());
}

fn write_files(bash: &mut Bash, plan: &Plan, workspace: &str, holes: &Holes) {
    for file in &plan.files {
        let mut path = Word::new();
        let relative = match file.path.pieces().first() {
            Some(recipe::plan::Piece::Text(text)) => !text.starts_with('/'),
            _ => false,
        };
        if relative {
            path.push_text(&format!("{workspace}/"));
        }
        path.push_word(&file.path);
        let mut command = vec![format!("write_file {}", quote::word(&path, holes))];
        command.extend(lines(&file.text).iter().map(|line| quote::word(line, holes)));
        bash.command(&command);
    }
}

/// Splits a text at its line breaks, which are then between the lines and nowhere else.
fn lines(text: &Word) -> Vec<Word> {
    let mut lines = vec![Word::new()];
    for piece in text.pieces() {
        match piece {
            recipe::plan::Piece::Text(text) => {
                for (index, part) in text.split('\n').enumerate() {
                    if index > 0 {
                        lines.push(Word::new());
                    }
                    if let Some(last) = lines.last_mut() {
                        last.push_text(part);
                    }
                }
            }
            recipe::plan::Piece::Hole(hole) => {
                if let Some(last) = lines.last_mut() {
                    last.push_hole(hole.clone());
                }
            }
        }
    }
    lines
}

/// Writes the calls of `run_plan` in order.
struct Order<'a, 'b> {
    bash: &'a mut Bash,
    plan: &'a Plan,
    site: &'a Site,
    checkpoints: &'a [Checkpoint<'b>],
    holes: &'a Holes,
    names: Vec<Vec<String>>,
    gated: bool,
    awaited: Vec<bool>,
}

impl Order<'_, '_> {
    fn start(&mut self, index: usize) {
        let Some(group) = self.plan.groups.get(index) else { return };
        self.before(index, group);
        let critical = if group.critical { "yes" } else { "no" };
        for (number, rank) in ranks(group).enumerate() {
            let name = name(&self.names, index, number).to_owned();
            let checkpoint = self.checkpoints.iter().enumerate().find(|(_, checkpoint)| {
                group.kind == "download"
                    && rank.argv.iter().any(|word| word.as_text() == Some(checkpoint.repository))
            });
            self.bash.line(&format!("process_{index}_{number}"));
            if let Some((number, checkpoint)) = checkpoint {
                let (Place::Directory(place) | Place::Cache(place)) = &checkpoint.place;
                if self.site.may_write(self.plan, place) {
                    self.bash.line(&format!("checkpoint_{number}"));
                    self.bash.line(&format!("fetch {name}"));
                } else {
                    self.bash.comment(
                        "Its place is read-only by the target: it is there, or the gate stops the run.",
                    );
                }
            } else if matches!(group.ready, Ready::Ended) {
                self.bash.line(&format!("run_to_end {name} {} {critical}", quote(&group.kind)));
            } else {
                self.bash.line(&format!("start {name} {} {critical}", quote(&group.kind)));
                if number == 0 && matches!(group.ready, Ready::Http { .. } | Ready::Tcp { .. }) {
                    self.bash.line(&format!("group_{index}=$started"));
                }
            }
        }
    }

    fn before(&mut self, index: usize, group: &Group) {
        if !self.gated && group.role != Role::Stage && group.kind != "download" {
            self.gated = true;
            for number in 0..self.checkpoints.len() {
                self.bash.line(&format!("checkpoint_{number}"));
                self.bash.line("gate");
            }
        }
        let after = if index == self.plan.finish {
            (0..self.plan.groups.len()).collect()
        } else {
            group.after.clone()
        };
        for needed in after {
            self.wait(needed);
        }
    }

    fn wait(&mut self, index: usize) {
        if index == self.plan.finish || self.awaited.get(index).copied().unwrap_or(true) {
            return;
        }
        let Some(group) = self.plan.groups.get(index) else { return };
        let bound = group.within.map_or_else(|| "''".to_owned(), |seconds| seconds.to_string());
        let probe = match &group.ready {
            Ready::Http { port, path } => format!("http {} {}", quote::word(port, self.holes), quote(path)),
            Ready::Tcp { port } => format!("tcp {}", quote::word(port, self.holes)),
            // Launches over several nodes are refused before they come here.
            Ready::Started | Ready::Ended | Ready::Ports { .. } | Ready::Registered { .. } => return,
        };
        self.bash.line(&format!("await \"$group_{index}\" {bound} {probe}"));
        if let Some(awaited) = self.awaited.get_mut(index) {
            *awaited = true;
        }
    }

    fn finish(&mut self) {
        let index = self.plan.finish;
        let Some(group) = self.plan.groups.get(index) else { return };
        self.before(index, group);
        for (number, checkpoint) in self.checkpoints.iter().enumerate() {
            if checkpoint.in_cache() {
                self.bash.line(&format!("checkpoint_{number}"));
                self.bash.line("still_there");
            }
        }
        self.bash.line(&format!("process_{index}_0"));
        self.bash.line(&format!("run_finish {} {}", name(&self.names, index, 0), quote(&group.kind)));
    }
}
