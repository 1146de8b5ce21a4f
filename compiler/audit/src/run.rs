//! A folder of results beside the lock: which published points it reproduces, which it contradicts,
//! and which it leaves unproven.
//!
//! A point is contradicted if anything recorded of its run is not as the lock says; it is reproduced
//! if everything that makes a run was recorded and is as the lock says; else it is unproven. What was
//! not recorded is never taken to be right.

use std::collections::BTreeMap;

use diag::Slug;
use diag::slugs::audit as slugs;
use lock::{Lock, PlanKey, point_ids};
use recipe::plan::Mode;
use serde_json::{Map, Value, json};

use crate::evidence::{Evidence, File};
use crate::gather::Gathered;
use crate::results::{Kind, Measured};
use crate::scores::Thresholds;
use crate::{facets, figures, which};

/// What came of comparing.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Verdict {
    /// As the lock says.
    Reproduced,
    /// Nothing says.
    Unproven,
    /// Not as the lock says.
    Contradicted,
}

impl Verdict {
    /// Returns the word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Reproduced => "reproduced",
            Self::Unproven => "unproven",
            Self::Contradicted => "contradicted",
        }
    }
}

/// One thing that was compared.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Check {
    /// What kind of thing.
    pub slug: Slug,
    /// What came of it.
    pub verdict: Verdict,
    /// What exactly: a flag, a variable, a metric.
    pub about: String,
    /// As the lock says.
    pub ours: String,
    /// As recorded.
    pub theirs: String,
    /// The file that says so; empty where none does.
    pub evidence: String,
}

/// One result with what it proves.
#[derive(Clone, PartialEq, Debug)]
pub struct Judged {
    /// The result's file, below the folder.
    pub path: String,
    /// Config key of the lock.
    pub recipe: String,
    /// The plan that it is of.
    pub plan: Option<PlanKey>,
    /// The points that the plan answers, as the lock names them.
    pub points: Vec<String>,
    /// Each thing that was compared, the worst first.
    pub checks: Vec<Check>,
    /// What was measured: name and value.
    pub headline: BTreeMap<&'static str, f64>,
}

/// By what figures are judged.
#[derive(Clone, Debug)]
pub struct Policy {
    /// The least scores.
    pub thresholds: Thresholds,
    /// By how much a realised acceptance length may differ, as a part of it.
    pub tolerance: f64,
    /// The share of requests that must have a metric.
    pub share: f64,
}

/// A published point with everything that belongs to it.
pub(crate) struct Subject<'g> {
    pub(crate) path: &'g str,
    /// The result; `None` where a run left none.
    pub(crate) measured: Option<&'g Measured>,
    /// The client's own result, where the published one was made of it.
    pub(crate) client: Option<(&'g str, &'g Measured)>,
    pub(crate) evidence: Option<(&'g str, &'g Evidence)>,
    /// What the evidence says of the file, and the digest of the file.
    pub(crate) listed: Option<(&'g File, &'g str)>,
}

/// The checks of one result.
#[derive(Default)]
pub(crate) struct Checks(pub(crate) Vec<Check>);

impl Checks {
    pub(crate) fn add(
        &mut self,
        slug: Slug,
        verdict: Verdict,
        (about, evidence): (&str, &str),
        ours: impl Into<String>,
        theirs: impl Into<String>,
    ) {
        // What a hostile folder holds ends up on a screen.
        let bounded = |text: String| match text.char_indices().nth(600) {
            Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
            None => text,
        };
        self.0.push(Check {
            slug,
            verdict,
            about: about.to_owned(),
            ours: bounded(ours.into()),
            theirs: bounded(theirs.into()),
            evidence: evidence.to_owned(),
        });
    }

    /// Adds what is compared as text.
    pub(crate) fn same(&mut self, slug: Slug, place: (&str, &str), ours: &str, theirs: &str) {
        let verdict = if ours == theirs { Verdict::Reproduced } else { Verdict::Contradicted };
        self.add(slug, verdict, place, ours, theirs);
    }

    fn has(&self, slug: Slug) -> bool {
        self.0.iter().any(|check| check.slug == slug)
    }
}

/// What a run needs to be said to be reproduced.
const NEEDED: &[(Slug, &str)] = &[
    (slugs::RUN_PLAN, "which plan it was"),
    (slugs::RUN_COMMAND, "the server's command"),
    (slugs::RUN_ENVIRONMENT, "the server's environment"),
    (slugs::RUN_IMAGE, "the image that ran"),
    (slugs::RUN_CHECKPOINT, "the checkpoint that was served"),
    (slugs::RUN_HARNESS, "the client's command"),
    (slugs::RUN_WORKLOAD, "concurrency and lengths"),
];

/// Judges everything in a folder.
#[must_use]
pub fn judge(lock: &Lock, all: &Gathered, policy: &Policy) -> Vec<Judged> {
    subjects(all).iter().map(|subject| one(lock, all, policy, subject)).collect()
}

fn one(lock: &Lock, all: &Gathered, policy: &Policy, subject: &Subject<'_>) -> Judged {
    let mut checks = Checks::default();
    let plan = which::plan(lock, all, subject, &mut checks);
    if let Some(plan) = &plan {
        facets::image(lock, plan, subject, &mut checks);
        facets::checkpoints(lock, plan, all, subject, &mut checks);
        facets::processes(lock, plan, all, subject, &mut checks);
        figures::judge(lock, plan, all, policy, subject, &mut checks);
        unlisted(subject, &mut checks);
        for (slug, what) in NEEDED {
            if !checks.has(*slug) {
                checks.add(*slug, Verdict::Unproven, (what, ""), "", "nothing recorded says");
            }
        }
    }
    checks.0.sort_by_key(|check| std::cmp::Reverse(check.verdict));
    let points = plan
        .as_ref()
        .and_then(|plan| Some(point_ids(&lock.recipe, plan.job, lock.jobs.get(&plan.job)?)))
        .unwrap_or_default();
    Judged {
        path: subject.path.to_owned(),
        recipe: lock.recipe.clone(),
        plan,
        points,
        checks: checks.0,
        headline: subject.measured.map(|measured| measured.headline.clone()).unwrap_or_default(),
    }
}

/// A result that the evidence does not list is of the run only if it follows from what was measured.
fn unlisted(subject: &Subject<'_>, checks: &mut Checks) {
    let Some((path, evidence)) = subject.evidence else { return };
    let follows = checks.0.iter().any(|check| check.slug == slugs::RUN_RESULT);
    if subject.measured.is_some() && !follows && !evidence.results.is_empty() {
        let ours = format!("{} files", evidence.results.len());
        checks.add(
            slugs::RUN_RESULT,
            Verdict::Unproven,
            ("what the run left", path),
            ours,
            "this file is not among them",
        );
    }
}

impl Judged {
    /// Returns the verdict on the point: the worst of what was compared.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        let worst = self.checks.iter().map(|check| check.verdict).max();
        match worst {
            Some(worst) if self.plan.is_some() || worst == Verdict::Contradicted => worst,
            _ => Verdict::Unproven,
        }
    }

    /// Returns the result as machines read it.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let checks: Vec<Value> = self
            .checks
            .iter()
            .map(|check| {
                json!({
                    "slug": check.slug.as_str(),
                    "verdict": check.verdict.word(),
                    "about": check.about,
                    "ours": check.ours,
                    "theirs": check.theirs,
                    "evidence": Some(&check.evidence).filter(|path| !path.is_empty()),
                })
            })
            .collect();
        let mode = self.plan.as_ref().map(|plan| match plan.mode {
            Mode::Throughput => "throughput",
            Mode::Eval => "eval",
        });
        let measured: Map<String, Value> =
            self.headline.iter().map(|(name, value)| ((*name).to_owned(), Value::from(*value))).collect();
        json!({
            "path": self.path,
            "plan": self.plan.as_ref().map(|plan| format!("{}/{plan}", self.recipe)),
            "recipe": self.recipe,
            "target": self.plan.as_ref().map(|plan| &plan.target),
            "mode": mode,
            "points": self.points,
            "verdict": self.verdict().word(),
            "measured": measured,
            "checks": checks,
        })
    }
}

/// Returns the published points of a folder, each with what belongs to it.
fn subjects(all: &Gathered) -> Vec<Subject<'_>> {
    let published = |kind: Kind| all.results.iter().filter(move |(_, measured)| measured.kind == kind);
    let beside = |path: &str| {
        let (folder, name) = split(path);
        let client = name.strip_prefix("agg_")?;
        let path = if folder.is_empty() { client.to_owned() } else { format!("{folder}/{client}") };
        let (path, client) = all.results.get_key_value(&path)?;
        (client.kind == Kind::Client).then_some((path.as_str(), client))
    };
    let made_of: Vec<&str> =
        published(Kind::Fixed).filter_map(|(path, _)| beside(path)).map(|(path, _)| path).collect();
    let replayed = published(Kind::Agentic).next().is_some();
    let mut found: Vec<Subject<'_>> = all
        .results
        .iter()
        .filter(|(path, measured)| match measured.kind {
            Kind::Client => !made_of.contains(&path.as_str()),
            Kind::Profile => !replayed,
            Kind::Fixed | Kind::Agentic | Kind::Eval => true,
        })
        .map(|(path, measured)| {
            let client = beside(path).filter(|_| measured.kind == Kind::Fixed);
            let (evidence, listed) = evidence(all, path, client.map(|(path, _)| path));
            Subject { path, measured: Some(measured), client, evidence, listed }
        })
        .collect();
    // A run that left nothing is shown too.
    for (path, evidence) in &all.evidence {
        let used = |subject: &Subject<'_>| subject.evidence.is_some_and(|(used, _)| used == path);
        if !found.iter().any(used) {
            found.push(Subject {
                path,
                measured: None,
                client: None,
                evidence: Some((path, evidence)),
                listed: None,
            });
        }
    }
    found
}

/// Returns the evidence of the run that left a file: one that lists it, else the only one that is near.
fn evidence<'g>(
    all: &'g Gathered,
    path: &str,
    client: Option<&str>,
) -> (Option<(&'g str, &'g Evidence)>, Option<(&'g File, &'g str)>) {
    for path in [Some(path), client].into_iter().flatten() {
        for (place, evidence) in &all.evidence {
            let folder = split(place).0;
            let listed = evidence.results.iter().find(|file| {
                let whole =
                    if folder.is_empty() { file.path.clone() } else { format!("{folder}/{}", file.path) };
                whole == path
            });
            if let Some(file) = listed {
                let digest = all.digests.get(path).map(String::as_str);
                return (Some((place.as_str(), evidence)), digest.map(|digest| (file, digest)));
            }
        }
    }
    let mut close = all.evidence.iter().filter(|(place, _)| is_near(place, path));
    match (close.next(), close.next()) {
        (Some((place, evidence)), None) => (Some((place.as_str(), evidence)), None),
        _ => (None, None),
    }
}

fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

/// Returns whether two files may be of one run: the folder of one holds the other's.
pub(crate) fn is_near(one: &str, other: &str) -> bool {
    let (one, other) = (split(one).0, split(other).0);
    let holds = |outer: &str, inner: &str| {
        outer.is_empty()
            || inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    holds(one, other) || holds(other, one)
}

#[cfg(test)]
mod tests {
    use super::is_near;

    #[test]
    fn files_of_one_run_lie_in_one_another() {
        assert!(is_near("agg_x.json", "results/server.log"));
        assert!(is_near("a/agg_x.json", "a/logs/server.log"));
        assert!(!is_near("a/agg_x.json", "b/server.log"));
        assert!(!is_near("a/agg_x.json", "ab/server.log"));
    }
}
