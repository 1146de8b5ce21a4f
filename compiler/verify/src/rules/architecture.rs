//! The model is served as it was published: no override of its configuration takes work from it.

use std::collections::BTreeMap;

use diag::slugs::verify::ARCHITECTURE_OVERRIDE;
use engine::Value;
use recipe::plan::{Plan, Rank};
use serde_json::Value as Json;

use super::{all_points, policy_file, verdict};
use crate::claim::{self, Subject};
use crate::policy::Policy;
use crate::verdict::{Outcome, Verdict};

pub(crate) fn judge(subject: &Subject<'_>, policy: &Policy) -> Vec<Verdict> {
    let Some(flags) = policy.shipped.overrides.get(subject.engine.name()) else { return Vec::new() };
    let mut found: BTreeMap<String, Vec<&Plan>> = BTreeMap::new();
    for plan in subject.plans {
        for (_, rank) in claim::servers(plan) {
            for message in overridden(subject, flags, &policy.shipped.harmless, rank) {
                let plans = found.entry(message).or_default();
                if plans.last().is_none_or(|last| !std::ptr::eq(*last, plan)) {
                    plans.push(plan);
                }
            }
        }
    }
    if found.is_empty() {
        let message = "nothing overrides the checkpoint's configuration";
        return vec![verdict(subject, ARCHITECTURE_OVERRIDE, Outcome::Holds, message)];
    }
    let judged = found.into_iter().map(|(message, plans)| {
        let mut found = verdict(subject, ARCHITECTURE_OVERRIDE, Outcome::Drifts, message);
        found.points = all_points(subject, &plans);
        found.evidence.push(policy_file("shipped.json"));
        found
    });
    judged.collect()
}

fn overridden(subject: &Subject<'_>, flags: &[String], harmless: &[String], rank: &Rank) -> Vec<String> {
    let set = subject.canonical(rank);
    let mut messages = Vec::new();
    for flag in flags {
        let Some(value) = set.flags.get(flag.as_str()) else { continue };
        let json = match value {
            Value::Json(json) => json.clone(),
            other => match lock::parse_json(&other.to_text()) {
                Ok(json) => json,
                Err(_) => {
                    messages.push(format!("`{flag}` has a value that is no JSON"));
                    continue;
                }
            },
        };
        let mut members = Vec::new();
        leaves(&json, &mut String::new(), &mut members);
        members.retain(|(path, _)| !path.split('.').any(|part| harmless.iter().any(|one| one == part)));
        if !members.is_empty() {
            let set: Vec<String> = members.iter().map(|(path, value)| format!("{path} = {value}")).collect();
            messages.push(format!(
                "`{flag}` sets {}: what takes work from the model is not accepted, however fast it is",
                set.join(", ")
            ));
        }
    }
    messages
}

/// Returns the members that are no objects themselves, by path.
fn leaves(json: &Json, path: &mut String, into: &mut Vec<(String, String)>) {
    match json {
        Json::Object(members) => {
            for (name, value) in members {
                let length = path.len();
                if !path.is_empty() {
                    path.push('.');
                }
                path.push_str(name);
                leaves(value, path, into);
                path.truncate(length);
            }
        }
        value => into.push((path.clone(), value.to_string())),
    }
}
