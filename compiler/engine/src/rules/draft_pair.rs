//! Drafts and the targets that they were trained for.

use diag::slugs::engine as slugs;

use super::Rule;
use crate::finding::{About, Finding};
use crate::view::View;

pub(super) const RULES: &[Rule] = &[Rule {
    id: "draft-pair",
    engine: None,
    from: "",
    to: "",
    evidence: "https://github.com/SemiAnalysisAI/InferenceX/pull/2228",
    check: pair,
}];

const DRAFTS: &str = include_str!("../../tables/drafts.table");

fn name(repository: &str) -> String {
    repository.rsplit('/').next().unwrap_or(repository).to_lowercase()
}

/// The rows of one kind: three cells each.
fn rows(kind: &str) -> impl Iterator<Item = (&'static str, &'static str)> {
    DRAFTS.lines().filter_map(move |line| {
        let mut cells = line.split('\t');
        (cells.next() == Some(kind)).then_some(())?;
        Some((cells.next()?, cells.next()?))
    })
}

/// The drafts that are known of a target; the longest beginning of its name decides, so that one
/// generation is not taken for the next.
fn known_of(target: &str) -> Vec<&'static str> {
    let target = name(target);
    let follows =
        |stem: &str| target.strip_prefix(stem).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'));
    rows("draft").filter(|(stem, _)| follows(stem)).map(|(_, draft)| draft).collect()
}

/// The targets that a draft is known to be of.
fn targets_of(draft: &str) -> Vec<&'static str> {
    rows("draft").filter(|(_, known)| name(known) == name(draft)).map(|(stem, _)| stem).collect()
}

fn pair(view: &View<'_>) -> Vec<Finding> {
    let (Some(model), Some(draft)) = (&view.launch.model, &view.launch.draft) else { return Vec::new() };
    let here = || About::Field("speculative.draft".to_owned());
    if let Some((_, instead)) = rows("gone").find(|(gone, _)| name(gone) == name(&draft.repository)) {
        return vec![
            Finding::error(
                slugs::DRAFT_PAIR,
                here(),
                format!(
                    "`{}` is the wrong generation of the draft of `{}`",
                    draft.repository, model.repository
                ),
            )
            .why("upstream ran with it, took it back within hours, and came again with another")
            .help(format!("write `{instead}`"))
            .replace(format!("\"{instead}\"")),
        ];
    }
    let known = known_of(&model.repository);
    if known.iter().any(|known| name(known) == name(&draft.repository)) {
        return Vec::new();
    }
    let targets = targets_of(&draft.repository);
    if let Some(target) = targets.first() {
        let mut finding = Finding::error(
            slugs::DRAFT_PAIR,
            here(),
            format!("`{}` drafts for `{target}`, not for `{}`", draft.repository, model.repository),
        )
        .why("a draft guesses what the target that it was trained with would say");
        if let Some(instead) = known.first() {
            finding = finding.help(format!("write `{instead}`"));
        }
        return vec![finding];
    }
    if known.is_empty() {
        return Vec::new();
    }
    vec![
        Finding::note(
            slugs::DRAFT_PAIR,
            here(),
            format!("`{}` is not known to draft for `{}`", draft.repository, model.repository),
        )
        .why(format!("upstream drafts for it with {}", known.join(" or "))),
    ]
}
