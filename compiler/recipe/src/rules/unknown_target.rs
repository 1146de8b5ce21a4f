//! A recipe runs on targets that there are.

use diag::{Diagnostic, Diagnostics, nearest, slugs};

use crate::check::Corpus;
use crate::recipe::Recipe;

pub(crate) fn report(recipe: &Recipe, corpus: &Corpus, out: &mut Diagnostics) {
    for label in &recipe.targets {
        if corpus.targets.iter().any(|target| target.answers_to(&label.value)) {
            continue;
        }
        let mut finding =
            Diagnostic::error(slugs::recipe::UNKNOWN_TARGET, format!("unknown target `{}`", label.value));
        finding.span = label.at;
        finding.label = "no target has this name or label".to_owned();
        let mut names: Vec<&str> = corpus
            .targets
            .iter()
            .flat_map(|target| std::iter::once(&target.name).chain(&target.labels))
            .map(|name| name.value.as_str())
            .collect();
        names.sort_unstable();
        names.dedup();
        finding = match (nearest(&label.value, names.iter().copied()), label.at) {
            (Some(near), Some(at)) => {
                finding.fix(at, format!("\"{near}\""), format!("did you mean `{near}`?"))
            }
            _ => finding.help(format!("there are: {}", names.join(", "))),
        };
        out.push(finding);
    }
}
