//! What was collected of a submission: results of its sweep and of its evaluations, what the forge
//! says of the run and of the pull request, and upstream's own files beside the submission's.
//!
//! A folder of evidence is what the forge's own tools download, each thing at its own name:
//!
//! | path | what |
//! |---|---|
//! | `**/agg_*.json`, `results_bmk/*.json`, `bmk_*/*.json` | rows of results |
//! | `**/meta_env.json` with `results*.json` beside it | an evaluation |
//! | `run.json`, `jobs.json` | the workflow's run and its jobs |
//! | `pull.json`, `commits.json`, `files.json`, `comments.json`, `reviews.json` | the pull request |
//! | `base/…`, `head/…` | files of the repository before and after |

mod changelog;
mod evals;
mod growth;
mod owners;
mod reuse;
mod rows;
mod run;
mod signoff;

use std::collections::BTreeMap;

use serde_json::Value as Json;

use crate::claim::Subject;
use crate::cookbook::Class;
use crate::policy::Policy;
use crate::verdict::{Day, Evidence, Outcome, Verdict};

pub use growth::judge as growth;
pub use signoff::fill_in;

/// What was collected.
#[derive(Clone, Default, Debug)]
pub struct Dossier {
    texts: BTreeMap<String, String>,
    documents: BTreeMap<String, Json>,
    /// Files that are no JSON and should be, with what is wrong.
    broken: Vec<(String, String)>,
}

impl Dossier {
    /// Reads what was collected, by path relative to its folder.
    #[must_use]
    pub fn read(texts: BTreeMap<String, String>) -> Self {
        let (mut documents, mut broken) = (BTreeMap::new(), Vec::new());
        // Files of the repository are upstream's and the submission's own, whatever is in them.
        let own = |path: &&String| !path.starts_with("base/") && !path.starts_with("head/");
        for path in texts.keys().filter(own).filter(|path| path.ends_with(".json")) {
            match lock::parse_json(&texts[path]) {
                Ok(document) => {
                    documents.insert(path.clone(), document);
                }
                Err(why) => broken.push((path.clone(), why)),
            }
        }
        Self { texts, documents, broken }
    }

    /// Returns the day of the run, which is the day that dated rules are judged at unless another is
    /// given.
    #[must_use]
    pub fn day(&self) -> Option<Day> {
        let run = self.documents.get("run.json")?;
        ["run_started_at", "created_at"].iter().find_map(|field| run.get(*field)?.as_str()?.parse().ok())
    }

    fn document(&self, path: &str) -> Option<&Json> {
        self.documents.get(path)
    }

    /// Returns the entries of a list; several pages of one may stand in a list of lists.
    fn list(&self, path: &str) -> Option<Vec<&Json>> {
        let list = self.document(path)?.as_array()?;
        Some(
            list.iter()
                .flat_map(|entry| entry.as_array().map_or(vec![entry], |page| page.iter().collect()))
                .collect(),
        )
    }

    fn text(&self, path: &str) -> Option<&str> {
        self.texts.get(path).map(String::as_str)
    }
}

/// Judges what the evidence says of a recipe.
#[must_use]
pub fn judge(
    subject: &Subject<'_>,
    dossier: &Dossier,
    policy: &Policy,
    pinned: Option<&str>,
) -> Vec<Verdict> {
    let mut verdicts = rows::judge(subject, dossier, pinned);
    verdicts.extend(evals::judge(subject, dossier, policy, pinned));
    verdicts.extend(run::nodes(subject, dossier));
    verdicts
}

/// Judges what the evidence says of the pull request as a whole.
#[must_use]
pub fn pull_request(dossier: &Dossier, policy: &Policy) -> Vec<Verdict> {
    let mut verdicts: Vec<Verdict> = Vec::new();
    for (path, why) in &dossier.broken {
        verdicts.push(about(
            diag::slugs::verify::EVIDENCE_CURRENT,
            Outcome::Unreadable,
            format!("`{path}` cannot be read: {why}"),
            path,
        ));
    }
    verdicts.extend(run::judge(dossier));
    verdicts.extend(reuse::judge(dossier, policy));
    verdicts.extend(signoff::judge(dossier));
    verdicts.extend(owners::judge(dossier));
    verdicts.extend(changelog::judge(dossier, policy));
    verdicts
}

/// A verdict on the pull request.
fn about(slug: diag::Slug, outcome: Outcome, message: impl Into<String>, path: &str) -> Verdict {
    Verdict {
        recipe: String::new(),
        points: Vec::new(),
        slug: slug.as_str(),
        verdict: outcome,
        facets: Vec::new(),
        cell: None,
        evidence: vec![file(path)],
        message: message.into(),
        advisory: false,
    }
}

/// Evidence in a file of the folder.
fn file(path: &str) -> Evidence {
    Evidence {
        repo: String::new(),
        commit: String::new(),
        path: path.to_owned(),
        line: 0,
        class: Class::Independent,
    }
}
