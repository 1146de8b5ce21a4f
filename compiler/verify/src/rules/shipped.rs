//! The image runs as it was published: nothing patches the engine, unless a waiver covers it.

use std::collections::{BTreeMap, BTreeSet};

use diag::slugs::verify::ENGINE_PATCH;
use lock::words::to_text;
use recipe::plan::{Group, Mount, Plan, Rank, Role};

use super::{all_points, policy_file, verdict};
use crate::claim::Subject;
use crate::policy::{Policy, ShippedPolicy, Waiver};
use crate::verdict::{Day, Evidence, Outcome, Verdict};

pub(crate) fn judge(subject: &Subject<'_>, policy: &Policy, day: Option<Day>) -> Vec<Verdict> {
    let mut found: BTreeMap<String, Vec<&Plan>> = BTreeMap::new();
    for plan in subject.plans {
        for what in changes(plan, &policy.shipped) {
            found.entry(what).or_default().push(plan);
        }
    }
    if found.is_empty() {
        let message = "the image runs as it was published";
        return vec![verdict(subject, ENGINE_PATCH, Outcome::Holds, message)];
    }
    let waivers: Vec<&Waiver> =
        policy.waivers.waivers.iter().filter(|waiver| waiver.recipe == subject.recipe).collect();
    let judged = found.into_iter().map(|(what, plans)| {
        let covering = waivers.iter().find(|waiver| waiver.covers.iter().any(|part| what.contains(part)));
        let (outcome, message) = match (covering, waivers.as_slice()) {
            (Some(waiver), _) => match ended(waiver, day) {
                Ok(false) => (Outcome::Holds, format!("{what}; #{} waives it: {}", waiver.pull, waiver.why)),
                Ok(true) => (
                    Outcome::Drifts,
                    format!(
                        "{what}; the waiver of #{} ended with {}",
                        waiver.pull,
                        waiver.last.as_deref().unwrap_or_default()
                    ),
                ),
                Err(why) => (Outcome::Unreadable, format!("the waiver of #{}: {why}", waiver.pull)),
            },
            (None, []) => (Outcome::Drifts, format!("{what}, and nothing waives it")),
            (None, [waiver, ..]) => {
                (Outcome::Drifts, format!("{what}, which the waiver of #{} does not cover", waiver.pull))
            }
        };
        let mut found = verdict(subject, ENGINE_PATCH, outcome, message);
        found.points = all_points(subject, &plans);
        found.evidence.push(policy_file("shipped.json"));
        found.evidence.extend(covering.map(|_| -> Evidence { policy_file("waivers.json") }));
        found
    });
    judged.collect()
}

/// A waiver with a last day ends after it; without a day to judge at, it stands.
fn ended(waiver: &Waiver, day: Option<Day>) -> Result<bool, String> {
    let last: Option<Day> = waiver.last.as_ref().map(|last| last.parse()).transpose()?;
    Ok(day.zip(last).is_some_and(|(day, last)| day > last))
}

/// Returns what changes the engine of a plan.
fn changes(plan: &Plan, policy: &ShippedPolicy) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let place = |text: &str| policy.places.iter().any(|place| text.contains(place.as_str()));
    for file in &plan.files {
        let path = to_text(&file.path);
        if place(&path) {
            found.insert(format!("a file is written to `{path}`"));
        }
    }
    let own = plan.groups.iter().filter_map(|group| group.mounts.as_ref()).flatten();
    for Mount { to, .. } in plan.mounts.iter().chain(own) {
        let to = to_text(to);
        if place(&to) {
            found.insert(format!("`{to}` is mounted over"));
        }
    }
    // What comes after the servers are ready is the client's affair.
    for group in plan.groups.iter().filter(|group| serves(group)) {
        for rank in group.replicas.iter().flat_map(|replica| &replica.ranks) {
            look(group, rank, policy, &mut found);
        }
    }
    found
}

fn serves(group: &Group) -> bool {
    match group.role {
        Role::Serve(_) | Role::Router | Role::Gateway | Role::Sidecar | Role::KvStore | Role::Stage => true,
        Role::Discovery | Role::Meter | Role::Proxy | Role::Client | Role::Eval => false,
    }
}

fn look(group: &Group, rank: &Rank, policy: &ShippedPolicy, found: &mut BTreeSet<String>) {
    for name in policy.loaders.iter().filter(|name| rank.env.contains_key(*name)) {
        found.insert(format!("`{name}` puts other code before that of `{}`", group.name));
    }
    // Values of flags are no commands; a shell's script is.
    let shell = rank.argv.first().map(to_text).is_some_and(|program| {
        matches!(
            program.rsplit('/').next(),
            Some("bash" | "sh" | "python" | "python3" | "env" | "pip" | "uv")
        )
    });
    if !shell {
        return;
    }
    let text = rank.argv.iter().map(to_text).collect::<Vec<_>>().join(" ");
    for line in text.split(['\n', ';']) {
        let tool = policy.tools.iter().find(|tool| line.contains(tool.as_str()));
        if let Some(tool) = tool {
            found.insert(format!("`{tool}` in `{}`: {}", group.name, short(line)));
        }
        if line.contains("pip install")
            && let Some(package) = policy.packages.iter().find(|package| installs(line, package))
        {
            found.insert(format!("`{}` installs `{package}`: {}", group.name, short(line)));
        }
    }
}

/// True if a line installs a package, by name with or without a version, or from a repository.
fn installs(line: &str, package: &str) -> bool {
    line.split_whitespace().skip_while(|word| *word != "install").skip(1).any(|word| {
        let word = word.trim_matches(['"', '\'']);
        let name = word.split(['=', '<', '>', '~', '!', '[', '@']).next().unwrap_or(word);
        let repository = word.contains("://") || word.contains(".whl");
        name == package || repository && word.rsplit(['/', '-']).any(|part| part.starts_with(package))
    })
}

fn short(line: &str) -> String {
    let line = line.trim();
    let mut short: String = line.chars().take(120).collect();
    if short.len() < line.len() {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn engines_are_told_from_what_only_sounds_like_them() {
        assert!(installs("pip install vllm==0.27.1", "vllm"));
        assert!(installs("uv pip install git+https://github.com/org/vllm@main", "vllm"));
        assert!(installs("pip install https://host/vllm-1.0-cp312.whl", "vllm"));
        assert!(!installs("pip install vllm-bench", "vllm"));
        assert!(!installs("pip install aiperf", "vllm"));
        assert!(!installs("vllm serve", "vllm"));
    }
}
