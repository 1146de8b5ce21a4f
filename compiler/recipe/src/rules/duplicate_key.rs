//! Config keys are unique across a root: a lock, a result and a script are named by them.

use std::collections::BTreeMap;

use diag::{Diagnostic, Diagnostics, slugs};

use crate::check::{Corpus, Key};

pub(crate) fn report(corpus: &Corpus, out: &mut Diagnostics) {
    let mut first: BTreeMap<&str, &Key> = BTreeMap::new();
    for one in &corpus.keys {
        let key = one.key.value.as_str();
        let Some(earlier) = first.get(key) else {
            first.insert(key, one);
            continue;
        };
        // Whoever asks for one of the two hears of it; whoever asks for neither does not.
        if !corpus.recipes.iter().any(|recipe| recipe.key.value == key) {
            continue;
        }
        let mut finding =
            Diagnostic::error(slugs::recipe::DUPLICATE_KEY, format!("`{key}` is the key of two recipes"))
                .why("locks, results and scripts are named by the key");
        finding.span = one.key.at;
        finding.label = format!("in `{}`", one.manifest);
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
