//! Evicted KV blocks go into the host's memory and take no more of it than its GPUs are given.

use diag::slugs::verify::OFFLOAD_SHARE;
use engine::Value;
use recipe::plan::Plan;

use super::{all_points, policy_file, verdict};
use crate::claim::{self, Subject};
use crate::policy::Policy;
use crate::verdict::{Outcome, Verdict};

pub(crate) fn judge(subject: &Subject<'_>, policy: &Policy) -> Vec<Verdict> {
    let offloads = |plan: &&Plan| {
        plan.points.iter().any(|point| point.get("kv-offloading").is_some_and(|value| *value == "dram"))
    };
    let mut concerned: Vec<&Plan> = subject.plans.iter().filter(offloads).collect();
    let elsewhere: Vec<(String, Vec<&Plan>)> = elsewhere(subject, policy);
    let mut verdicts: Vec<Verdict> = Vec::new();
    for (message, plans) in elsewhere {
        let mut found = verdict(subject, OFFLOAD_SHARE, Outcome::Drifts, message);
        found.points = all_points(subject, &plans);
        verdicts.push(found);
    }
    concerned.retain(|plan| over(subject, policy, plan).is_some_and(|(taken, share)| taken > share));
    if let Some((taken, share)) = concerned.first().and_then(|plan| over(subject, policy, plan)) {
        let message =
            format!("KV offload is given {taken} GB, and {share} GB is the share of the GPUs that it uses");
        let mut found = verdict(subject, OFFLOAD_SHARE, Outcome::Drifts, message);
        found.points = all_points(subject, &concerned);
        verdicts.push(found);
    }
    let any = subject.plans.iter().any(|plan| offloads(&plan));
    if verdicts.is_empty() && any {
        let message = "KV offload keeps to memory, and to its share of it";
        verdicts.push(verdict(subject, OFFLOAD_SHARE, Outcome::Holds, message));
    }
    for found in &mut verdicts {
        found.evidence.push(policy_file("offload.json"));
    }
    verdicts
}

/// Returns what a plan's point is given and what its GPUs' share is, in decimal gigabytes.
fn over(subject: &Subject<'_>, policy: &Policy, plan: &Plan) -> Option<(u64, u64)> {
    let gpu = subject.gpu(plan)?;
    let taken = plan.points.first()?.get("total-cpu-dram-gb")?.as_u64()?;
    if policy.offload.installed.iter().any(|sku| sku.eq_ignore_ascii_case(&gpu.sku)) {
        return None;
    }
    let used: u32 = plan.pools.iter().map(|pool| pool.gpus).max()?;
    Some((taken, policy.offload.node_gb * u64::from(used) / u64::from(gpu.per_node.max(1))))
}

/// Returns the servers that put KV blocks elsewhere than into memory.
fn elsewhere<'p>(subject: &Subject<'p>, policy: &Policy) -> Vec<(String, Vec<&'p Plan>)> {
    let Some(flags) = policy.offload.elsewhere.get(subject.engine.name()) else { return Vec::new() };
    let mut found: Vec<(String, Vec<&Plan>)> = Vec::new();
    for plan in subject.plans {
        for (_, rank) in claim::servers(plan) {
            let set = subject.canonical(rank);
            for (flag, values) in flags {
                let (name, member) = flag.split_once('.').unwrap_or((flag, ""));
                let value = match (set.flags.get(name), member) {
                    (Some(Value::Json(json)), member) if !member.is_empty() => {
                        json.get(member).map(crate::facet::plain)
                    }
                    (Some(value), "") => Some(value.to_text()),
                    _ => None,
                };
                let Some(value) = value.filter(|value| values.is_empty() || values.contains(value)) else {
                    continue;
                };
                let message = format!("`{flag}` is {value}, which puts KV blocks elsewhere than into memory");
                match found.iter_mut().find(|(known, _)| *known == message) {
                    Some((_, plans)) => plans.push(plan),
                    None => found.push((message, vec![plan])),
                }
            }
        }
    }
    found
}
