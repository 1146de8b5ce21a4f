//! The image: is its tag one, and does what is stated of its version agree with it.

use diag::slugs::engine as slugs;

use super::Rule;
use crate::finding::{About, Finding};
use crate::image::tag;
use crate::view::View;

const fn any(id: &'static str, evidence: &'static str, check: fn(&View<'_>) -> Vec<Finding>) -> Rule {
    Rule { id, engine: None, from: "", to: "", evidence, check }
}

pub(super) const RULES: &[Rule] = &[
    any("image-placeholder", "https://github.com/ai-dynamo/dynamo/pull/5479", placeholder),
    any("image-version", "https://github.com/vllm-project/recipes/pull/361", version),
];

/// Tags that documentation writes where the reader is to write one.
const PLACEHOLDERS: &[&str] = &["my-tag", "your-tag", "tag", "tbd", "todo", "xxx", "nightly-tbd", "version"];

fn placeholder(view: &View<'_>) -> Vec<Finding> {
    let tag = tag(&view.launch.image);
    let small = tag.to_lowercase();
    let open =
        small.contains(['<', '>', '$', '{', '}']) || small.starts_with("your_") || small.starts_with("your-");
    if !open && !PLACEHOLDERS.contains(&small.as_str()) {
        return Vec::new();
    }
    vec![
        Finding::error(
            slugs::UNEXPANDED_PLACEHOLDER,
            About::Field("image".to_owned()),
            format!("`{tag}` is a placeholder that nobody filled in"),
        )
        .why("no registry has such a tag, or it has what somebody tried last"),
    ]
}

fn version(view: &View<'_>) -> Vec<Finding> {
    let chosen = &view.launch.chosen;
    let Some(stated) = &chosen.contradicted else { return Vec::new() };
    vec![
        Finding::warning(
            slugs::IMAGE_VERSION,
            About::Field("engineVersion".to_owned()),
            format!("{stated} is stated, and the tag says {}", chosen.version),
        )
        .why(format!("the tag is believed: the recipe is judged by {}", chosen.table.version()))
        .help("leave `engineVersion` out where the tag says the version")
        .also(About::Field("image".to_owned()), "the tag"),
    ]
}
