//! The parts of a run that make it the same run: image, checkpoint, commands and environments.

use std::collections::BTreeMap;

use diag::slugs::audit::{RUN_CHECKPOINT, RUN_COMMAND, RUN_ENVIRONMENT, RUN_HARNESS, RUN_IMAGE};
use engine::{Chosen, Table, book, choose};
use lock::pin::{Entry, Pin};
use lock::{Lock, PlanKey};
use recipe::want::Want;

use crate::compare::{self, Difference, Environment, Holds, Told, is_secret};
use crate::declared::{self, Declared};
use crate::evidence::Process;
use crate::gather::{Command, Gathered};
use crate::run::{Checks, Subject, Verdict, is_near};

/// The most differences of one record that are told one by one.
const SHOWN: usize = 40;

/// Returns what lies near a result.
pub(crate) fn near<'g, T>(
    all: &'g BTreeMap<String, T>,
    path: &'g str,
) -> impl Iterator<Item = (&'g String, &'g T)> {
    all.iter().filter(move |(place, _)| is_near(place, path))
}

/// Returns the image that a plan runs in, as the manifest names it.
pub(crate) fn wanted_image(lock: &Lock, plan: &PlanKey) -> Option<String> {
    match lock.launch.get("container", "image", plan)? {
        lock::launch::Setting::Text(image) => Some(image.clone()),
        _ => None,
    }
}

/// Returns which table speaks for the engine in a plan's image.
fn chosen(lock: &Lock, plan: &PlanKey, process: &Declared) -> Option<Chosen> {
    let image = wanted_image(lock, plan).unwrap_or_default();
    let stated = lock.known.images.get(&image).and_then(|image| image.engine_version.as_ref());
    Some(choose(process.engine()?, &image, stated.map(|fact| fact.value.as_str())))
}

fn version(lock: &Lock, plan: &PlanKey, process: &Declared) -> String {
    chosen(lock, plan, process).map_or_else(String::new, |chosen| chosen.version)
}

/// Returns the engine of a process with its version, where that is known.
pub(crate) fn engine_name(lock: &Lock, plan: &PlanKey, process: &Declared) -> String {
    let Some((chosen, engine)) = chosen(lock, plan, process).zip(process.engine()) else {
        return String::new();
    };
    if chosen.exact { format!("{} {}", engine.title(), chosen.version) } else { engine.title().to_owned() }
}

pub(crate) fn image(lock: &Lock, plan: &PlanKey, subject: &Subject<'_>, checks: &mut Checks) {
    let Some(wanted) = wanted_image(lock, plan) else { return };
    let pin = lock.image(&wanted);
    if let Some((path, evidence)) = subject.evidence {
        let Some(pin) = pin else {
            let theirs = evidence.image.pinned.digest.clone();
            checks.add(RUN_IMAGE, Verdict::Unproven, ("pin", path), "no pin", theirs);
            return;
        };
        checks.same(RUN_IMAGE, ("digest", path), &pin.digest.to_string(), &evidence.image.pinned.digest);
        let seen = evidence.image.seen.as_str();
        let digests: Vec<String> = std::iter::once(&pin.digest)
            .chain(pin.platforms.values().flat_map(|one| std::iter::once(&one.digest).chain(&one.config)))
            .map(|digest| digest.hex().to_owned())
            .collect();
        let verdict = match seen {
            "" => Verdict::Unproven,
            seen if digests.iter().any(|hex| seen.contains(hex)) => Verdict::Reproduced,
            _ => Verdict::Contradicted,
        };
        let theirs = if seen.is_empty() { "the runtime did not say what it ran" } else { seen };
        checks.add(RUN_IMAGE, verdict, ("what ran", path), pin.digest.to_string(), theirs);
        return;
    }
    let Some(named) = subject.measured.and_then(|measured| measured.image.as_deref()) else { return };
    let plain = |image: &str| image.replace('#', "/").trim_start_matches("docker.io/").to_owned();
    let (ours, theirs) = (plain(&wanted), plain(named));
    let tag = |image: &str| image.split_once('@').map_or(image.to_owned(), |(tag, _)| tag.to_owned());
    if let (Some(pin), Some((_, digest))) = (pin, theirs.split_once("@")) {
        let digests = pin.platforms.values().map(|one| &one.digest).chain([&pin.digest]);
        let same = digests.into_iter().any(|one| one.to_string() == digest);
        let verdict = if same { Verdict::Reproduced } else { Verdict::Contradicted };
        checks.add(RUN_IMAGE, verdict, ("digest", subject.path), pin.digest.to_string(), digest);
    } else if tag(&ours) == tag(&theirs) {
        // A tag says what was asked for, not what it named that day.
        let ours = pin.map_or_else(|| wanted.clone(), |pin| pin.digest.to_string());
        checks.add(RUN_IMAGE, Verdict::Unproven, ("digest", subject.path), ours, format!("the tag {named}"));
    } else {
        checks.add(RUN_IMAGE, Verdict::Contradicted, ("reference", subject.path), wanted, named);
    }
}

pub(crate) fn checkpoints(
    lock: &Lock,
    plan: &PlanKey,
    all: &Gathered,
    subject: &Subject<'_>,
    checks: &mut Checks,
) {
    for entry in lock.pins.values() {
        let (Entry::Pinned { want, .. } | Entry::Unpinned { want, .. }) = entry;
        let Want::Checkpoint { repository, .. } = want else { continue };
        let seen = subject.evidence.and_then(|(path, evidence)| {
            let one = evidence.checkpoints.iter().find(|one| one.repository == *repository)?;
            Some((path, one))
        });
        let Entry::Pinned { pin: Pin::Checkpoint(pin), .. } = entry else {
            let (path, theirs) =
                seen.map_or(("", "nothing recorded says"), |(path, one)| (path, &one.commit));
            checks.add(RUN_CHECKPOINT, Verdict::Unproven, (repository, path), "no pin", theirs);
            continue;
        };
        let ours = format!("{}, list {}", pin.commit, pin.files);
        if let Some((path, one)) = seen {
            let theirs = format!("{}, list {}", one.commit, one.list);
            checks.same(RUN_CHECKPOINT, (repository, path), &ours, &theirs);
            if let Some(problem) = one.problems.first() {
                let count = one.problems.len();
                let theirs = format!("{count} findings: {problem}");
                checks.add(RUN_CHECKPOINT, Verdict::Contradicted, (repository, path), "complete", theirs);
            }
        }
        for looked in all.looked.iter().filter(|looked| is_near(&looked.path, subject.path)) {
            let Some((repo, commit)) = &looked.is else { continue };
            if repo == repository || pin.renamed.as_ref() == Some(repo) {
                let complete = looked.state == "complete" && *commit == pin.commit;
                let verdict = match (complete, looked.whole) {
                    (true, true) => Verdict::Reproduced,
                    (true, false) => Verdict::Unproven,
                    (false, _) => Verdict::Contradicted,
                };
                let how = if looked.whole { "" } else { ", by names and sizes" };
                let theirs = format!("{} at {commit}{how}", looked.state);
                checks.add(RUN_CHECKPOINT, verdict, (repository, &looked.path), &ours, theirs);
            }
        }
    }
    served(lock, plan, subject, checks);
}

/// The name under which the result says that the model was served.
fn served(lock: &Lock, plan: &PlanKey, subject: &Subject<'_>, checks: &mut Checks) {
    let Some(named) = subject.measured.and_then(|measured| measured.model.as_deref()) else { return };
    if !serves(lock, plan, named) {
        let ours = names(lock, plan).into_iter().next().unwrap_or_default();
        checks.add(RUN_CHECKPOINT, Verdict::Contradicted, ("model", subject.path), ours, named);
    }
}

/// Returns whether a plan serves its model under a name.
pub(crate) fn serves(lock: &Lock, plan: &PlanKey, named: &str) -> bool {
    names(lock, plan).iter().any(|name| declared::stands_for(name, named))
}

fn names(lock: &Lock, plan: &PlanKey) -> Vec<String> {
    let mut names: Vec<String> = lock
        .pins
        .values()
        .filter_map(|entry| match entry {
            Entry::Pinned { want: Want::Checkpoint { repository, .. }, .. }
            | Entry::Unpinned { want: Want::Checkpoint { repository, .. }, .. } => Some(repository.clone()),
            _ => None,
        })
        .collect();
    for server in declared::servers(lock, plan) {
        let flags = ["--served-model-name", "--model-path", "--model"];
        names.extend(flags.iter().filter_map(|flag| server.flag(flag)).map(str::to_owned));
        names.extend(server.argv.iter().filter(|word| word.contains('/')).cloned());
    }
    names
}

pub(crate) fn processes(
    lock: &Lock,
    plan: &PlanKey,
    all: &Gathered,
    subject: &Subject<'_>,
    checks: &mut Checks,
) {
    if let Some((path, evidence)) = subject.evidence {
        let mut open: Vec<Declared> = declared::processes(lock, plan);
        for process in &evidence.processes {
            from_evidence(lock, plan, process, path, &mut open, checks);
        }
        for missing in open.iter().filter(|process| process.engine().is_some()) {
            checks.add(
                RUN_COMMAND,
                Verdict::Contradicted,
                (&missing.name, path),
                missing.argv.join(" "),
                "not started",
            );
        }
    }
    recorded(lock, plan, all, subject, checks);
    logged(lock, plan, all, subject, checks);
    environments(lock, plan, all, subject, checks);
}

/// A process as the script started it.
fn from_evidence(
    lock: &Lock,
    plan: &PlanKey,
    process: &Process,
    path: &str,
    open: &mut Vec<Declared>,
    checks: &mut Checks,
) {
    let slug = match process.kind.as_str() {
        "client" | "eval" => RUN_HARNESS,
        // What a script downloads and installs is pinned by it, and is not as in the plan.
        "download" | "install" | "stage" | "file" | "meter" => return,
        _ => RUN_COMMAND,
    };
    // Ranks of one group have numbers that lock and script write in ways of their own.
    let base = |name: &str| name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '-').to_owned();
    let matching = |declared: &Declared| {
        let plain = declared.name.split(['[', '#']).next().unwrap_or(&declared.name);
        plain == process.name || plain == base(&process.name)
    };
    let best = open
        .iter()
        .enumerate()
        .filter(|(_, declared)| matching(declared))
        .map(|(at, declared)| {
            let version = version(lock, plan, declared);
            (at, compare::words(declared, &version, &process.argv, Holds::Words), version)
        })
        .min_by_key(|(_, differences, _)| differences.len());
    let Some((at, differences, version)) = best else {
        checks.add(
            slug,
            Verdict::Contradicted,
            (&process.name, path),
            "not in the plan",
            process.argv.join(" "),
        );
        return;
    };
    let declared = open.remove(at);
    let place = (process.name.as_str(), path);
    differing(checks, slug, place, &differences, &declared);
    if slug == RUN_COMMAND {
        let table = declared.engine().map(|engine| book(engine).nearest(&version));
        variables(checks, &declared, table, &process.env, Environment::Given, place);
    }
}

fn differing(
    checks: &mut Checks,
    slug: diag::Slug,
    (name, path): (&str, &str),
    differences: &[Difference],
    declared: &Declared,
) {
    for one in differences.iter().take(SHOWN) {
        let shown = |value: &Option<String>| match value {
            Some(_) if is_secret(&one.what) => "(not shown)".to_owned(),
            Some(value) => value.clone(),
            None => "not given".to_owned(),
        };
        let about = if name.is_empty() { one.what.clone() } else { format!("{name}: {}", one.what) };
        checks.add(slug, Verdict::Contradicted, (&about, path), shown(&one.ours), shown(&one.theirs));
    }
    if differences.len() > SHOWN {
        let more = format!("{} more", differences.len() - SHOWN);
        checks.add(slug, Verdict::Contradicted, (name, path), "", more);
    }
    if differences.is_empty() {
        let count = declared.argv.iter().filter(|word| word.starts_with('-')).count();
        let all = format!("{count} flags");
        checks.add(slug, Verdict::Reproduced, (&declared.name, path), all.clone(), all);
    }
}

/// Commands in files: the engine's, and the client's.
fn recorded(lock: &Lock, plan: &PlanKey, all: &Gathered, subject: &Subject<'_>, checks: &mut Checks) {
    let servers = declared::servers(lock, plan);
    let others: Vec<Declared> = declared::processes(lock, plan)
        .into_iter()
        .filter(|process| process.engine().is_none() && is_harness(process))
        .collect();
    // Files of one name are of several runs, or of several processes of this one: the nearest counts.
    let mut best: BTreeMap<(String, String), (Vec<Difference>, &Declared, &Command)> = BTreeMap::new();
    for command in all.commands.iter().filter(|command| is_near(&command.path, subject.path)) {
        let name = command.path.rsplit('/').next().unwrap_or(&command.path).to_owned();
        let holds = if command.kernel { Holds::Kernel } else { Holds::Words };
        let candidates: Vec<&Declared> = if command.engine().is_some() {
            servers.iter().collect()
        } else {
            others.iter().filter(|process| same_program(process, command)).collect()
        };
        for declared in candidates {
            let found = compare::words(declared, &version(lock, plan, declared), &command.argv, holds);
            let slot = (name.clone(), declared.name.clone());
            if best.get(&slot).is_none_or(|(before, _, _)| found.len() < before.len()) {
                best.insert(slot, (found, declared, command));
            }
        }
    }
    for (differences, declared, command) in best.values() {
        let slug = if declared.engine().is_some() { RUN_COMMAND } else { RUN_HARNESS };
        let name = if servers.len() > 1 { declared.name.as_str() } else { "" };
        differing(checks, slug, (name, &command.path), differences, declared);
    }
}

fn is_harness(process: &Declared) -> bool {
    ["client", "eval"].iter().any(|kind| process.name.split(['[', '#']).next() == Some(kind))
}

/// Returns whether a command starts the program of a process: the same words before the first flag,
/// paths left out.
fn same_program(process: &Declared, command: &Command) -> bool {
    let head = |argv: &[String]| -> Vec<String> {
        let words = argv.iter().take_while(|word| !word.starts_with("--"));
        words
            .map(|word| word.rsplit('/').next().unwrap_or(word).to_owned())
            .filter(|word| !word.starts_with("python"))
            .collect()
    };
    head(&process.argv) == head(&command.argv)
}

/// What the engine logged of its arguments.
fn logged(lock: &Lock, plan: &PlanKey, all: &Gathered, subject: &Subject<'_>, checks: &mut Checks) {
    let servers = declared::servers(lock, plan);
    for (path, log) in near(&all.logs, subject.path) {
        let Some((fields, only)) = &log.arguments else { continue };
        let told = if *only { Told::Given } else { Told::All };
        let best = servers
            .iter()
            .map(|server| (compare::fields(server, &version(lock, plan, server), fields, told), server))
            .min_by_key(|(differences, _)| differences.len());
        if let Some((differences, server)) = best {
            let name = if servers.len() > 1 { server.name.as_str() } else { "" };
            differing(checks, RUN_COMMAND, (name, path), &differences, server);
        }
    }
}

fn environments(lock: &Lock, plan: &PlanKey, all: &Gathered, subject: &Subject<'_>, checks: &mut Checks) {
    let servers = declared::servers(lock, plan);
    for seen in all.variables.iter().filter(|seen| is_near(&seen.path, subject.path)) {
        // The environment of whose command lies beside it.
        let folder =
            |path: &str| path.rsplit_once('/').map_or(String::new(), |(folder, _)| folder.to_owned());
        let beside: Vec<&Command> = all
            .commands
            .iter()
            .filter(|command| command.kernel && folder(&command.path) == folder(&seen.path))
            .collect();
        if !beside.is_empty() && beside.iter().all(|command| command.engine().is_none()) {
            continue;
        }
        let best = servers
            .iter()
            .map(|server| {
                let engine = server.engine();
                let table = engine.map(|engine| book(engine).nearest(&version(lock, plan, server)));
                let (wrong, _) = compare::variables(server, table, &seen.given, Environment::Whole);
                (wrong.len(), server, table)
            })
            .min_by_key(|(count, _, _)| *count);
        if let Some((_, server, table)) = best {
            let place = (server.name.as_str(), seen.path.as_str());
            variables(checks, server, table, &seen.given, Environment::Whole, place);
        }
    }
}

fn variables(
    checks: &mut Checks,
    declared: &Declared,
    table: Option<Table>,
    given: &BTreeMap<String, String>,
    seen: Environment,
    (name, path): (&str, &str),
) {
    let (wrong, open) = compare::variables(declared, table, given, seen);
    let text = |value: &Option<String>| value.clone().unwrap_or_else(|| "not set".to_owned());
    for (verdict, all) in [(Verdict::Contradicted, &wrong), (Verdict::Unproven, &open)] {
        for one in all.iter().take(SHOWN) {
            checks.add(RUN_ENVIRONMENT, verdict, (&one.what, path), text(&one.ours), text(&one.theirs));
        }
    }
    if wrong.is_empty() {
        let count = format!("{} variables", declared.env.len());
        checks.add(RUN_ENVIRONMENT, Verdict::Reproduced, (name, path), count.clone(), count);
    }
}

/// Returns in how many settings the recorded commands differ from a plan.
pub(crate) fn distance(lock: &Lock, plan: &PlanKey, all: &Gathered, subject: &Subject<'_>) -> usize {
    let mut checks = Checks::default();
    processes(lock, plan, all, subject, &mut checks);
    checks.0.iter().filter(|check| check.verdict == Verdict::Contradicted).count()
}
