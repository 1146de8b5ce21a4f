//! Speculative decoding is measured on text that the model would be given: through its chat
//! template.

use diag::slugs::verify::CHAT_TEMPLATE;
use recipe::plan::{Plan, Role};

use super::verdict;
use crate::claim::{self, Subject};
use crate::verdict::{Outcome, Verdict};

pub(crate) fn judge(subject: &Subject<'_>) -> Vec<Verdict> {
    let concerned: Vec<&Plan> = subject
        .plans
        .iter()
        .filter(|plan| claim::is_throughput(plan) && claim::scenario(plan) != "agentic-coding")
        .filter(|plan| subject.drafting.is_some() || drafts(plan))
        .collect();
    if concerned.is_empty() {
        return Vec::new();
    }
    let (good, bad): (Vec<&Plan>, Vec<&Plan>) = concerned.into_iter().partition(|plan| uses_template(plan));
    let mut verdicts = Vec::new();
    for (plans, outcome, message) in [
        (good, Outcome::Holds, "the client uses the chat template"),
        (
            bad,
            Outcome::Drifts,
            "the client sends raw prompts to a server that drafts: `--use-chat-template` is missing",
        ),
    ] {
        if !plans.is_empty() {
            let mut found = verdict(subject, CHAT_TEMPLATE, outcome, message);
            found.points = plans.iter().flat_map(|plan| subject.points(plan)).collect();
            found.points.dedup();
            verdicts.push(found);
        }
    }
    verdicts
}

fn drafts(plan: &Plan) -> bool {
    claim::servers(plan)
        .any(|(_, rank)| claim::argv(rank).iter().any(|word| word.starts_with("--speculative")))
}

/// True if a client goes through the template: by its flag, or by the chat endpoint.
fn uses_template(plan: &Plan) -> bool {
    let clients = plan.groups.iter().filter(|group| group.role == Role::Client);
    let words =
        clients.flat_map(|group| &group.replicas).flat_map(|replica| &replica.ranks).flat_map(claim::argv);
    words.into_iter().any(|word| {
        let flag = word.split('=').next().unwrap_or(&word);
        flag == "--use-chat-template"
            || flag == "--apply-chat-template"
            || word.contains("/v1/chat/completions")
            || word == "openai-chat"
    })
}
