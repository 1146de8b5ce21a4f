//! What no script can say: refused here, all of it at once, and never emitted half.

use diag::slugs::emit::{SCRIPT_TEXT, SCRIPT_TOPOLOGY};
use diag::slugs::lock::LOCK_STALE;
use diag::{Diagnostic, Diagnostics};
use lock::{Digest, Lock, PlanKey};
use recipe::plan::{Piece, Plan, Ready};

use crate::holes;

/// Reports what keeps a plan from being a script.
pub(crate) fn refuse(plan: &Plan, digest: &Digest, lock: &Lock, found: &mut Diagnostics) {
    topology(plan, found);
    words(plan, found);
    names(plan, found);
    let locked = PlanKey::of(plan).and_then(|key| lock.plans.get(&key));
    if let Some(locked) = locked
        && locked.plan != *digest
    {
        found.push(
            Diagnostic::error(LOCK_STALE, format!("the lock of `{}` is of another plan", plan.recipe))
                .why(format!(
                    "the manifests give `{digest}` on `{}`, the lock says `{}`",
                    plan.target, locked.plan
                ))
                .help("run `recipec lock` and look at what changed"),
        );
    }
}

fn topology(plan: &Plan, found: &mut Diagnostics) {
    let nodes: u64 = plan.pools.iter().map(|pool| u64::from(pool.nodes)).sum();
    let mut why = Vec::new();
    if nodes > 1 {
        why.push(format!("it needs {nodes} nodes"));
    }
    for group in &plan.groups {
        let elsewhere = group.image.as_ref().is_some_and(|image| *image != plan.image)
            || group.mounts.as_ref().is_some_and(|mounts| *mounts != plan.mounts);
        if elsewhere {
            why.push(format!("`{}` runs in a container of its own", group.name));
        }
        let orchestrated = matches!(group.ready, Ready::Ports { .. } | Ready::Registered { .. })
            || group.replicas.len() != 1
            || group.replicas.iter().any(|replica| replica.ranks.len() != 1);
        if orchestrated {
            why.push(format!("`{}` is started by an orchestrator", group.name));
        }
    }
    if plan.finish >= plan.groups.len() {
        why.push("no process of it ends the job".to_owned());
    }
    if !why.is_empty() {
        let mut diagnostic = Diagnostic::error(
            SCRIPT_TOPOLOGY,
            format!(
                "`{}` on `{}` is more than one script of one container can start",
                plan.recipe, plan.target
            ),
        );
        for reason in why {
            diagnostic = diagnostic.why(reason);
        }
        found.push(diagnostic);
    }
}

fn words(plan: &Plan, found: &mut Diagnostics) {
    let nul = holes::words(plan).flat_map(recipe::plan::Word::pieces).find_map(|piece| match piece {
        Piece::Text(text) if text.contains('\0') => Some(text),
        _ => None,
    });
    if let Some(text) = nul {
        found.push(
            Diagnostic::error(SCRIPT_TEXT, format!("{text:?} of `{}` holds a zero byte", plan.recipe))
                .why("the end of an argument or of a variable is a zero byte, so none can be inside"),
        );
    }
}

fn names(plan: &Plan, found: &mut Diagnostics) {
    let mut odd: Vec<String> = Vec::new();
    let mut check = |name: &str| {
        let mut bytes = name.bytes();
        let fits = bytes.next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_')
            && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        if !fits {
            odd.push(format!("{name:?} is no name of a variable"));
        }
    };
    plan.passed.keys().for_each(|name| check(name));
    let ranks = plan.groups.iter().flat_map(|group| &group.replicas).flat_map(|replica| &replica.ranks);
    for rank in ranks.clone() {
        rank.env.keys().for_each(|name| check(name));
        rank.unset.iter().for_each(|name| check(name));
    }
    for rank in ranks {
        let program = rank.argv.first().map(holes_as_text).unwrap_or_default();
        if program.is_empty() {
            odd.push("a process has no program".to_owned());
        }
        // `env` would take it for a variable.
        if program.contains('=') {
            odd.push(format!("{program:?} is no name of a program"));
        }
    }
    odd.sort();
    odd.dedup();
    for message in odd {
        found.push(Diagnostic::error(SCRIPT_TEXT, format!("{message} in `{}`", plan.recipe)));
    }
}

fn holes_as_text(word: &recipe::plan::Word) -> String {
    lock::words::to_text(word)
}
