//! Concurrencies are a set: each once, in ascending order, within one part of the search space and
//! across parts that measure the same layout.

use diag::{Diagnostic, Diagnostics, slugs};

use crate::recipe::Recipe;
use crate::schema::At;
use crate::search::{Entry, Scenario};

pub(crate) fn report(recipe: &Recipe, out: &mut Diagnostics) {
    for scenario in &recipe.scenarios {
        for (index, entry) in scenario.search.iter().enumerate() {
            within(entry, out);
            for earlier in scenario.search.iter().take(index) {
                across(earlier, entry, out);
            }
        }
    }
    for (index, scenario) in recipe.scenarios.iter().enumerate() {
        for earlier in recipe.scenarios.iter().take(index) {
            if earlier.workload == scenario.workload {
                between(earlier, scenario, out);
            }
        }
    }
}

fn within(entry: &Entry, out: &mut Diagnostics) {
    if !entry.listed {
        return;
    }
    let mut highest: Option<&At<u32>> = None;
    for (index, conc) in entry.conc.iter().enumerate() {
        let repeated = entry.conc.iter().take(index).find(|earlier| earlier.value == conc.value);
        if let Some(earlier) = repeated {
            out.push(twice(earlier, conc));
        } else if let Some(highest) = highest.filter(|highest| highest.value > conc.value) {
            let mut finding = Diagnostic::warning(
                slugs::recipe::UNSORTED_CONCURRENCIES,
                format!("concurrency {} stands after {}", conc.value, highest.value),
            )
            .help("sort the list, so that a missing or repeated one is seen");
            finding.span = conc.at;
            if let Some(at) = highest.at {
                finding = finding.label(at, "higher, and before it");
            }
            out.push(finding);
        }
        if highest.is_none_or(|highest| conc.value > highest.value) {
            highest = Some(conc);
        }
    }
}

fn across(earlier: &Entry, entry: &Entry, out: &mut Diagnostics) {
    if earlier.parallel != entry.parallel || earlier.kv_offload != entry.kv_offload {
        return;
    }
    for conc in &entry.conc {
        if let Some(first) = earlier.conc.iter().find(|first| first.value == conc.value) {
            out.push(twice(first, conc));
        }
    }
}

fn between(earlier: &Scenario, scenario: &Scenario, out: &mut Diagnostics) {
    for first in &earlier.search {
        for second in &scenario.search {
            across(first, second, out);
        }
    }
}

fn twice(first: &At<u32>, second: &At<u32>) -> Diagnostic {
    let mut finding = Diagnostic::error(
        slugs::recipe::DUPLICATE_CONCURRENCY,
        format!("concurrency {} is measured twice", second.value),
    )
    .why("two jobs of one point give two results for one place on a chart")
    .help("leave one out");
    finding.span = second.at;
    if let Some(at) = first.at.filter(|at| second.at != Some(*at)) {
        finding = finding.label(at, "first here");
    }
    finding
}
