//! Slugs: the stable names of findings, each with its explain page.

/// The stable name of a rule, such as `unknown-field`.
///
/// A slug is made only together with its page in `compiler/diag/pages/`, so none is unexplained.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Slug(pub(crate) &'static str);

impl Slug {
    /// Returns the name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.0
    }
}

impl std::fmt::Display for Slug {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0)
    }
}

/// The explain page of a slug, as written in `compiler/diag/pages/`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Page {
    /// Which slug it explains.
    pub slug: Slug,
    /// The stage that reports it, which is also the folder of the page.
    pub stage: &'static str,
    /// The Markdown, with its front matter.
    pub text: &'static str,
}

/// Declares the slugs of one stage, each with its page `pages/<stage>/<slug>.md`.
macro_rules! slugs {
    ($stage:literal: $($name:ident = $slug:literal;)*) => {
        $(
            #[doc = concat!("The slug `", $slug, "`; its page says what it means.")]
            pub const $name: $crate::Slug = $crate::slug::Slug($slug);
        )*
        pub(crate) const PAGES: &[$crate::Page] = &[
            $($crate::Page {
                slug: $name,
                stage: $stage,
                text: include_str!(concat!("../../pages/", $stage, "/", $slug, ".md")),
            },)*
        ];
    };
}
pub(crate) use slugs;

/// Returns the page of the slug that has this name, if there is one.
#[must_use]
pub fn page(name: &str) -> Option<&'static Page> {
    pages().find(|page| page.slug.as_str() == name)
}

/// Returns every page, stages in pipeline order.
pub fn pages() -> impl Iterator<Item = &'static Page> {
    use crate::slugs::{audit, cli, emit, engine, eval, host, lock, recipe, syntax, upstream, verify};
    [
        audit::PAGES,
        cli::PAGES,
        syntax::PAGES,
        eval::PAGES,
        recipe::PAGES,
        engine::PAGES,
        upstream::PAGES,
        lock::PAGES,
        verify::PAGES,
        emit::PAGES,
        host::PAGES,
    ]
    .into_iter()
    .flatten()
}
