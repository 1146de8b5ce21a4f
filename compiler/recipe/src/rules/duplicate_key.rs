//! Config keys are unique across a root: a lock, a result and a script are named by them.

use std::collections::BTreeMap;

use diag::{Diagnostic, Diagnostics, slugs};

use crate::check::Corpus;
use crate::recipe::Recipe;

pub(crate) fn report(corpus: &Corpus, out: &mut Diagnostics) {
    let mut first: BTreeMap<&str, &Recipe> = BTreeMap::new();
    for recipe in &corpus.recipes {
        let key = recipe.key.value.as_str();
        let Some(earlier) = first.get(key) else {
            first.insert(key, recipe);
            continue;
        };
        let mut finding =
            Diagnostic::error(slugs::recipe::DUPLICATE_KEY, format!("`{key}` is the key of two recipes"))
                .why("locks, results and scripts are named by the key");
        finding.span = recipe.key.at;
        finding.label = format!("in `{}`", recipe.manifest);
        if let Some(at) = earlier.key.at {
            finding = finding.label(at, format!("and in `{}`", earlier.manifest));
        }
        out.push(finding);
    }
    let mut names: BTreeMap<&str, &crate::target::Target> = BTreeMap::new();
    for target in &corpus.targets {
        let name = target.name.value.as_str();
        let Some(earlier) = names.get(name) else {
            names.insert(name, target);
            continue;
        };
        let mut finding =
            Diagnostic::error(slugs::recipe::DUPLICATE_KEY, format!("`{name}` is the name of two targets"));
        finding.span = target.name.at;
        if let Some(at) = earlier.name.at {
            finding = finding.label(at, "first here");
        }
        out.push(finding);
    }
}
