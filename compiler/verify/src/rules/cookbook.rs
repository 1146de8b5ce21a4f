//! Every major argument beside upstream's cookbook.

use std::collections::BTreeMap;
use std::rc::Rc;

use diag::slugs::verify::COOKBOOK_MATCH;
use recipe::plan::Plan;
use serde_json::{Value as Json, json};

use super::{all_points, verdict};
use crate::claim::{self, Hardware, Subject};
use crate::cookbook::{Cell, Class, Page, Shown};
use crate::facet::{Comparer, FacetOutcome, FacetVerdict, Served, Setting, plain};
use crate::judge::Collected;
use crate::policy::{AdvisoryEffect, Lanes, Policy, Profile, Weight};
use crate::verdict::{Evidence, Outcome, Verdict};

/// A cell with the page that shows it, read in the terms of the engine.
struct Candidate<'a> {
    page: &'a Page,
    cell: Rc<Cell>,
    served: Rc<Served>,
}

/// Plans that come out alike beside one cell.
struct Lane<'a> {
    plans: Vec<&'a Plan>,
    facets: Vec<FacetVerdict>,
    candidate: usize,
}

pub(crate) fn judge(
    subject: &Subject<'_>,
    collected: &Collected,
    policy: &Policy,
    profile: Profile,
) -> Vec<Verdict> {
    let mut gpus: BTreeMap<&str, (&Hardware, Vec<&Plan>)> = BTreeMap::new();
    for plan in subject.plans.iter().filter(|plan| claim::is_throughput(plan)) {
        if let Some(gpu) = subject.gpu(plan) {
            gpus.entry(&gpu.sku).or_insert_with(|| (gpu, Vec::new())).1.push(plan);
        }
    }
    gpus.into_values()
        .flat_map(|(gpu, plans)| judge_gpu(subject, gpu, &plans, collected, policy, profile))
        .collect()
}

fn judge_gpu(
    subject: &Subject<'_>,
    gpu: &Hardware,
    plans: &[&Plan],
    collected: &Collected,
    policy: &Policy,
    profile: Profile,
) -> Vec<Verdict> {
    let setting = Setting {
        engine: subject.engine,
        version: &subject.version,
        architecture: &gpu.architecture,
        checkpoint: subject.facts.clone(),
    };
    let comparer = Comparer::new(&policy.facets, setting.clone());
    let stem = stem(&subject.checkpoint, &policy.facets.qualifiers);
    let pages = &collected.pages;
    let (mut candidates, mut unreadable) = (Vec::new(), Vec::new());
    let shelf = &collected.shelf;
    // A page that does not name the model's family cannot be about it.
    let family = stem.split('-').next().unwrap_or(&stem);
    let may_name = |page: &&Rc<Page>| !family.is_empty() && shelf.names(page, family);
    for page in pages.iter().filter(may_name) {
        match shelf.shown(page, pages, &gpu.sku, &setting) {
            Ok(shown) => candidates.extend(shown.into_iter().filter_map(|Shown { cell, served }| {
                let fits = self::stem(&served.model, &policy.facets.qualifiers) == stem;
                fits.then_some(Candidate { page, cell, served })
            })),
            Err(why) => unreadable.push((page, why)),
        }
    }
    let everywhere: Vec<String> = all_points(subject, plans);
    // Upstream publishes commands of one node, and asks no more of a recipe.
    let published = policy.profiles.published.iter().any(|name| name == subject.engine.name())
        && plans.iter().any(|plan| claim::is_one_node(plan));
    let mut verdicts: Vec<Verdict> = unreadable
        .iter()
        // A page that cannot be read matters only where no other page speaks of the model.
        .filter(|_| candidates.is_empty())
        .map(|(page, why)| {
            let message = format!("`{}` cannot be read: {}", page.path, why.why);
            let mut found = verdict(subject, COOKBOOK_MATCH, Outcome::Unreadable, message);
            found.points.clone_from(&everywhere);
            found.evidence.push(evidence(page, why.line, Class::Independent));
            found
        })
        .collect();
    if candidates.is_empty() && verdicts.is_empty() {
        let looked = pages.iter().filter(may_name).count();
        let message = format!(
            "no cookbook page shows {stem} on {} with {} ({looked} pages name it)",
            gpu.sku.to_uppercase(),
            subject.engine.title()
        );
        let mut found = verdict(subject, COOKBOOK_MATCH, Outcome::Silent, message);
        found.points = everywhere;
        found.advisory = !published;
        verdicts.push(found);
    }
    if candidates.is_empty() {
        return verdicts;
    }
    // Pages that name the GPU speak before pages that leave it open.
    if candidates.iter().any(|candidate| candidate.cell.hardware.is_some()) {
        candidates.retain(|candidate| candidate.cell.hardware.is_some());
    }
    let lanes = lanes(subject, plans, &candidates, &comparer, &setting);
    let somewhere = lanes.iter().any(|lane| {
        lane.facets.iter().all(|facet| facet.weight != Some(Weight::Parallelism) || facet.verdict.holds())
    });
    let demand_lanes = profile.parallelism == Lanes::Everywhere || !somewhere;
    for lane in lanes {
        let mut found = lane_verdict(subject, gpu, lane, &candidates, profile, demand_lanes);
        found.advisory = found.verdict == Outcome::Silent && !published;
        verdicts.push(found);
    }
    verdicts
}

/// Sets every plan beside its nearest cell and puts together those that come out alike.
fn lanes<'a>(
    subject: &Subject<'_>,
    plans: &[&'a Plan],
    candidates: &[Candidate<'_>],
    comparer: &Comparer<'_>,
    setting: &Setting<'_>,
) -> Vec<Lane<'a>> {
    let mut lanes: Vec<Lane<'a>> = Vec::new();
    // Clusters start the same servers, and so do points that differ in what clients do.
    let mut known: BTreeMap<(Vec<String>, BTreeMap<String, String>), (usize, Vec<FacetVerdict>)> =
        BTreeMap::new();
    for plan in plans {
        for (_, rank) in claim::servers(plan) {
            let (argv, env) = (claim::argv(rank), claim::env(rank));
            let key = (argv, env);
            let near = match known.get(&key) {
                Some(near) => near.clone(),
                None => {
                    let ours = Served::read(setting, &key.0, &key.1, Some(&subject.checkpoint));
                    let Some(near) = nearest(&ours, candidates, comparer) else { continue };
                    known.insert(key, near.clone());
                    near
                }
            };
            let (candidate, facets) = near;
            let majors = |facets: &[FacetVerdict]| -> Vec<FacetVerdict> {
                facets.iter().filter(|facet| facet.weight.is_some()).cloned().collect()
            };
            match lanes
                .iter_mut()
                .find(|lane| lane.candidate == candidate && majors(&lane.facets) == majors(&facets))
            {
                Some(lane) => {
                    lane.plans.push(plan);
                    widen(&mut lane.facets, facets);
                }
                None => lanes.push(Lane { plans: vec![plan], facets, candidate }),
            }
        }
    }
    lanes
}

/// Returns the nearest cell: fewest arguments that fail, then fewest that are only shown, then fewest
/// that differ without changing the model, then the page's own order. What upstream made from our own
/// submissions comes after everything else.
fn nearest(
    ours: &Served,
    candidates: &[Candidate<'_>],
    comparer: &Comparer<'_>,
) -> Option<(usize, Vec<FacetVerdict>)> {
    let mut best: Option<(bool, usize, usize)> = None;
    let mut tied: Vec<(usize, Vec<FacetVerdict>)> = Vec::new();
    for (index, candidate) in candidates.iter().enumerate() {
        let facets = comparer.majors(ours, &candidate.served);
        let failing = facets.iter().filter(|facet| !facet.verdict.holds());
        let shown = failing.clone().count();
        let circular = candidate.cell.class == Class::Circular;
        let key = (circular, failing.filter(|facet| !facet.advisory).count(), shown);
        if best.is_none_or(|best| key < best) {
            best = Some(key);
            tied.clear();
        }
        if best == Some(key) {
            tied.push((index, facets));
        }
    }
    let whole = tied.into_iter().filter_map(|(index, mut facets)| {
        facets.extend(comparer.others(ours, &candidates.get(index)?.served));
        let differs = |facet: &&FacetVerdict| {
            facet.verdict == FacetOutcome::Informational && facet.ours != facet.theirs
        };
        Some((facets.iter().filter(differs).count(), index, facets))
    });
    whole.min_by_key(|(differing, index, _)| (*differing, *index)).map(|(_, index, facets)| (index, facets))
}

/// Keeps the tuning of further plans of a lane: values that differ between them become a list.
fn widen(lane: &mut Vec<FacetVerdict>, more: Vec<FacetVerdict>) {
    for facet in more.into_iter().filter(|facet| facet.weight.is_none()) {
        match lane.iter_mut().find(|known| known.weight.is_none() && known.facet == facet.facet) {
            Some(known) if known.ours == facet.ours => {}
            Some(known) => match &mut known.ours {
                Json::Array(values) if values.contains(&facet.ours) => {}
                Json::Array(values) => values.push(facet.ours),
                single => *single = Json::Array(vec![single.take(), facet.ours]),
            },
            None => lane.push(facet),
        }
    }
}

fn lane_verdict(
    subject: &Subject<'_>,
    gpu: &Hardware,
    lane: Lane<'_>,
    candidates: &[Candidate<'_>],
    profile: Profile,
    demand_lanes: bool,
) -> Verdict {
    let Lane { plans, mut facets, candidate } = lane;
    let shown_only = profile.advisory == AdvisoryEffect::Shown;
    for facet in &mut facets {
        facet.advisory &= shown_only;
    }
    let fails = |facet: &&FacetVerdict| {
        !facet.verdict.holds()
            && !facet.advisory
            && (demand_lanes || facet.weight != Some(Weight::Parallelism))
    };
    let failing: Vec<&FacetVerdict> = facets.iter().filter(fails).collect();
    let Some(candidate) = candidates.get(candidate) else {
        return verdict(subject, COOKBOOK_MATCH, Outcome::Unreadable, "no cell was found");
    };
    let place = format!("{}:{}", candidate.page.path, candidate.cell.line);
    let circular = candidate.cell.class == Class::Circular;
    let (outcome, message) = match failing.as_slice() {
        [] if circular => (
            Outcome::Silent,
            format!("only {place} agrees, which upstream made from InferenceX's own submissions"),
        ),
        [] => {
            let informative: Vec<&str> = facets
                .iter()
                .filter(|facet| !facet.verdict.holds())
                .map(|facet| facet.facet.as_str())
                .collect();
            let but = if informative.is_empty() {
                String::new()
            } else {
                format!("; for information: {}", informative.join(", "))
            };
            (Outcome::Holds, format!("{place} agrees{but}"))
        }
        failing => {
            let all: Vec<String> = failing
                .iter()
                .map(|facet| {
                    format!("{} {} is {} there", facet.facet, plain(&facet.ours), plain(&facet.theirs))
                })
                .collect();
            (Outcome::Drifts, format!("{place}: {}", all.join("; ")))
        }
    };
    let mut found = verdict(subject, COOKBOOK_MATCH, outcome, message);
    found.points = all_points(subject, &plans);
    found.evidence.push(evidence(candidate.page, candidate.cell.line, candidate.cell.class));
    found.cell = Some(json!({
        "selection": candidate.cell.selection,
        "argv": candidate.cell.argv,
        "env": candidate.cell.env,
        "image": candidate.cell.image,
    }));
    let hardware = FacetVerdict {
        facet: "hardware".to_owned(),
        ours: gpu.sku.as_str().into(),
        theirs: candidate.cell.hardware.as_deref().map_or(Json::Null, Json::from),
        verdict: if candidate.cell.hardware.is_some() {
            FacetOutcome::Match
        } else {
            FacetOutcome::Informational
        },
        reason: if candidate.cell.hardware.is_some() {
            String::new()
        } else {
            "the page names no GPU".to_owned()
        },
        advisory: false,
        weight: Some(Weight::Major),
    };
    found.facets = std::iter::once(hardware).chain(facets).collect();
    if let Some(model) =
        found.facets.iter_mut().find(|facet| facet.facet == "model" && !facet.verdict.holds())
    {
        model.reason = format!("{place} names `{}`", plain(&model.theirs));
    }
    found
}

fn evidence(page: &Page, line: usize, class: Class) -> Evidence {
    Evidence {
        repo: page.repository.clone(),
        commit: page.commit.clone(),
        path: page.path.clone(),
        line,
        class,
    }
}

/// Returns the model that a checkpoint is of: its name up to the first word that says how it was
/// made (`NVFP4`, `FP8`, a date), in lower case.
fn stem(checkpoint: &str, qualifiers: &[String]) -> String {
    let name = checkpoint.rsplit('/').next().unwrap_or(checkpoint).trim_end_matches('>');
    let made = |word: &str| {
        let dated = word.len() == 4 && word.bytes().all(|b| b.is_ascii_digit());
        dated || qualifiers.iter().any(|qualifier| qualifier.eq_ignore_ascii_case(word))
    };
    let words: Vec<&str> = name.split(['-', '_']).take_while(|word| !made(word)).collect();
    words.join("-").to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_is_known_by_its_name_without_how_it_was_made() {
        let qualifiers = ["NVFP4", "FP8"].map(str::to_owned);
        let stem = |name| stem(name, &qualifiers);
        assert_eq!(stem("nvidia/Qwen3.5-397B-A17B-NVFP4-V2"), "qwen3.5-397b-a17b");
        assert_eq!(stem("Qwen/Qwen3.5-397B-A17B-FP8"), stem("nvidia/Qwen3.5-397B-A17B-NVFP4"));
        assert_ne!(stem("Qwen/Qwen3.5-122B-A10B-FP8"), stem("nvidia/Qwen3.5-397B-A17B-NVFP4"));
        assert_eq!(stem("deepseek-ai/DeepSeek-V4-Pro-0813"), "deepseek-v4-pro");
    }
}
