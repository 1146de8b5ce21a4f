//! A branch that no point reaches: what it says is never measured.
//!
//! In a recipe's own file, the recipes of that file count; in `lib`, all recipes of the root.

use std::collections::BTreeMap;

use diag::{Diagnostic, Diagnostics, Span, slugs};
use eval::{Branch, BranchKind, Coverage};

use crate::bridge::Caller;
use crate::check::Corpus;

pub(crate) fn report(coverage: &Coverage, corpus: &Corpus, caller: &Caller<'_, '_>, out: &mut Diagnostics) {
    // A corpus has thousands of branches and of recipes: each file is judged once.
    let mut own: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for recipe in &corpus.recipes {
        own.entry(&recipe.manifest).or_default().0 += 1;
    }
    for key in &corpus.keys {
        own.entry(&key.manifest).or_default().1 += 1;
    }
    let all = !corpus.partial && corpus.has_all(None);
    for branch in &coverage.branches {
        if branch.kind != BranchKind::If {
            continue;
        }
        let Some(arm) = unreached(branch) else { continue };
        let Some(path) = caller.path(arm) else { continue };
        let whole = own.get(path.as_str()).map(|(here, of)| here >= of);
        let shared = path.starts_with("manifests/lib/");
        // In a file of recipes that are not all here, or in lib without all recipes of the root,
        // nobody knows what the others reach.
        let known = whole.unwrap_or(shared && all);
        if !known {
            continue;
        }
        let taken = if branch.first_taken == 0 { "never true" } else { "always true" };
        let finding = Diagnostic::warning(
            slugs::recipe::UNREACHED_BRANCH,
            format!("no point reaches this branch: the condition is {taken}"),
        )
        .at_labelled(arm, "never chosen")
        .label(branch.condition, format!("{taken}, at every point on every target in both modes"))
        .help(if whole.is_some() {
            "widen the search space, or take the branch out"
        } else {
            "no recipe of the root reaches it: take it out, or write a table"
        });
        out.push(finding);
    }
}

/// Returns the arm that was never chosen although the other one was.
fn unreached(branch: &Branch) -> Option<Span> {
    match (branch.first_taken, branch.second_taken) {
        (0, 1..) => branch.first,
        (1.., 0) => Some(branch.second),
        _ => None,
    }
}
