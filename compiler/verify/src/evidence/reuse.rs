//! Somebody who may has said which run is reused, and has not taken it back.

use diag::slugs::verify::REUSE_AUTHORIZED;
use serde_json::Value as Json;

use super::{Dossier, about};
use crate::policy::Policy;
use crate::verdict::{Outcome, Verdict};

const COMMENTS: &str = "comments.json";

/// A command in a comment.
#[derive(PartialEq, Eq, Debug)]
enum Command {
    /// Reuse this run, or the latest that succeeded.
    Reuse(Option<u64>),
    /// Reuse nothing.
    Revoke,
}

pub(super) fn judge(dossier: &Dossier, policy: &Policy) -> Vec<Verdict> {
    let Some(mut comments) = dossier.list(COMMENTS) else {
        let why = "the evidence has no `comments.json`: nobody says who authorized the reuse of a run";
        return vec![about(REUSE_AUTHORIZED, Outcome::Unreadable, why, COMMENTS)];
    };
    let field = |comment: &Json, name: &str| -> String {
        comment.get(name).and_then(Json::as_str).unwrap_or_default().to_owned()
    };
    comments.sort_by_key(|comment| field(comment, "created_at"));
    let mut strangers = Vec::new();
    // The last word of those who may speak counts.
    let mut last: Option<(String, Command)> = None;
    for comment in comments {
        let Some(command) = command(&field(comment, "body"), policy) else { continue };
        let user = comment.get("user").map(|user| field(user, "login")).unwrap_or_default();
        let may = policy.review.associations.contains(&field(comment, "author_association"));
        if may {
            last = Some((user, command));
        } else {
            strangers.push(user);
        }
    }
    let run = dossier.document("run.json").and_then(|run| run.get("id")?.as_u64());
    let (outcome, message) = match last {
        None if strangers.is_empty() => {
            (Outcome::Drifts, format!("nobody has posted `{}`", policy.review.command))
        }
        None => (
            Outcome::Drifts,
            format!("`{}` is by {} alone, who may not", policy.review.command, strangers.join(", ")),
        ),
        Some((user, Command::Revoke)) => (Outcome::Drifts, format!("@{user} has revoked the reuse")),
        Some((user, Command::Reuse(Some(named)))) => match run {
            Some(run) if run != named => {
                (Outcome::Drifts, format!("@{user} authorized run {named}, and the evidence is of run {run}"))
            }
            Some(_) => (Outcome::Holds, format!("@{user} authorized run {named}")),
            None => (Outcome::Unreadable, format!("@{user} authorized run {named}; `run.json` is missing")),
        },
        Some((user, Command::Reuse(None))) => {
            (Outcome::Holds, format!("@{user} authorized the latest run that succeeded"))
        }
    };
    vec![about(REUSE_AUTHORIZED, outcome, message, COMMENTS)]
}

/// Returns the last command of a comment: alone on its line, with a run or without.
fn command(body: &str, policy: &Policy) -> Option<Command> {
    let read = |line: &str| -> Option<Command> {
        let mut words = line.split_whitespace();
        let (name, run, rest) = (words.next()?, words.next(), words.next());
        if policy.review.revocations.iter().any(|revocation| revocation == name) {
            return Some(Command::Revoke);
        }
        if name != policy.review.command || rest.is_some() {
            return None;
        }
        match run.map(str::parse) {
            None => Some(Command::Reuse(None)),
            Some(Ok(run)) => Some(Command::Reuse(Some(run))),
            Some(Err(_)) => None,
        }
    };
    body.lines().rev().find_map(read)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_stands_alone_on_its_line_and_the_last_one_counts() {
        let mut policy = Policy::default();
        policy.review.command = "/reuse".to_owned();
        policy.review.revocations = vec!["/revoke".to_owned()];
        let read = |body| command(body, &policy);
        assert_eq!(read("all green\n  /reuse 12  \n"), Some(Command::Reuse(Some(12))));
        assert_eq!(read("/reuse 12\n/reuse"), Some(Command::Reuse(None)));
        assert_eq!(read("/reuse 12\n/revoke"), Some(Command::Revoke));
        assert_eq!(read("please /reuse 12"), None);
        assert_eq!(read("/reuse the last one"), None);
        assert_eq!(read("> /reuse 12"), None);
    }
}
