//! The check of one launch: everything that this crate can say of it, in one report.

use crate::finding::{About, Finding, Report};
use crate::launch::Launch;
use crate::view::View;
use crate::{config, flags, injected, rules, values, variables};

/// Checks a launch: its flags, values, variables, injected acceptance, and every rule about how
/// they go together with each other, the hardware and the checkpoint.
///
/// A rule that lacks a fact is in the report's `skipped`. Findings come in the order of what they
/// are about.
#[must_use]
pub fn check(launch: &Launch) -> Report {
    let view = View::new(launch);
    let mut findings = Vec::new();
    flags::check(&view, &mut findings);
    values::check(&view, &mut findings);
    variables::check(&view, &mut findings);
    config::check(&view, &mut findings);
    injected::check(&view, &mut findings);
    let waived = rules::check(&view, &mut findings);
    findings.sort_by(|a: &Finding, b: &Finding| {
        (place(&a.about), a.slug, &a.message).cmp(&(place(&b.about), b.slug, &b.message))
    });
    findings.dedup();
    Report { findings, skipped: view.skipped.into_inner(), waived }
}

fn place(about: &About) -> (usize, &About) {
    match about {
        About::Name(at) | About::Value(at, _) => (*at, about),
        _ => (usize::MAX, about),
    }
}
