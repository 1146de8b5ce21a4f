//! Is a commit upstream's own, and which merged pull request brought the file?

use diag::{Diagnostic, slugs::upstream as slug};
use lock::pin::Merge;
use serde::Deserialize;

use super::{ANSWER_LIMIT, Forge, JSON, is_commit};
use crate::hub::quote;
use crate::refusal::Refusal;
use crate::transport::Transport;

/// The most branches and tags whose heads are looked at.
const MAX_REFS: usize = 100;

/// What was found, and what is odd about it.
pub(super) struct Evidence {
    pub(super) merge: Option<Merge>,
    pub(super) remarks: Vec<Diagnostic>,
}

#[derive(Deserialize)]
struct Pull {
    number: u64,
    #[serde(default)]
    merged_at: Option<String>,
    #[serde(default)]
    merge_commit_sha: Option<String>,
    #[serde(default)]
    base: Option<Base>,
}

#[derive(Deserialize)]
struct Base {
    #[serde(default)]
    repo: Option<Repo>,
}

#[derive(Deserialize)]
struct Repo {
    #[serde(default)]
    full_name: String,
}

impl<T: Transport + ?Sized> Forge<'_, T> {
    /// Collects the evidence for a commit.
    ///
    /// # Errors
    /// [`Refusal`]: the commit is not in upstream's history, or the forge could not be asked.
    pub(super) fn evidence(&self, commit: &str) -> Result<Evidence, Refusal> {
        // A branch or a tag is upstream's by being upstream's; a bare commit may be a fork's.
        if is_commit(self.revision) && !self.is_upstream(commit)? {
            return Err(Refusal::outside(
                Diagnostic::error(
                    slug::COMMIT_NOT_UPSTREAM,
                    format!("commit {commit} is not in the history of `{}`", self.repository),
                )
                .why("the forge serves it, as it serves every commit of every fork under this name")
                .why("no branch or tag of the repository itself was found to hold it")
                .help("name a commit that is merged, or the branch or tag that holds it"),
            ));
        }
        let Some(last) = self.last_change(commit)? else {
            return Ok(Evidence { merge: None, remarks: Vec::new() });
        };
        let pulls = self.pulls(&last)?;
        let merge = pulls.iter().find_map(|pull| self.merge(pull));
        let mut remarks = Vec::new();
        if let (None, Some(open)) = (&merge, pulls.first()) {
            remarks.push(
                Diagnostic::warning(
                    slug::NOT_MERGED,
                    format!("pull request {} of `{}` is not merged", open.number, self.repository),
                )
                .why(format!("the last change of `{}` comes from it", self.path))
                .help("what is not merged is no evidence: wait for the merge, then lock again"),
            );
        }
        Ok(Evidence { merge, remarks })
    }

    /// Says whether upstream's own history has a commit: its default branch, or any branch or tag.
    fn is_upstream(&self, commit: &str) -> Result<bool, Refusal> {
        #[derive(Deserialize)]
        struct About {
            default_branch: String,
        }
        #[derive(Deserialize)]
        struct Head {
            commit: HeadCommit,
        }
        #[derive(Deserialize)]
        struct HeadCommit {
            sha: String,
        }
        let about: About = self.json(&self.ask("", JSON, ANSWER_LIMIT)?)?;
        if self.is_ancestor(commit, &about.default_branch)? {
            return Ok(true);
        }
        for refs in ["branches", "tags"] {
            let response = self.ask(&format!("{refs}?per_page={MAX_REFS}"), JSON, ANSWER_LIMIT)?;
            if response.status == 404 {
                continue;
            }
            let heads: Vec<Head> = self.json(&response)?;
            if heads.iter().any(|head| head.commit.sha == commit) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Says whether `commit` is an ancestor of `of`, or the same.
    fn is_ancestor(&self, commit: &str, of: &str) -> Result<bool, Refusal> {
        #[derive(Deserialize)]
        struct Comparison {
            status: String,
        }
        let response =
            self.ask(&format!("compare/{}...{commit}?per_page=1", quote(of)), JSON, ANSWER_LIMIT)?;
        if response.status == 404 {
            return Ok(false);
        }
        let comparison: Comparison = self.json(&response)?;
        // Seen from the branch: "behind" has nothing that the branch lacks.
        Ok(matches!(comparison.status.as_str(), "behind" | "identical"))
    }

    /// Returns the commit that last changed the path.
    fn last_change(&self, commit: &str) -> Result<Option<String>, Refusal> {
        #[derive(Deserialize)]
        struct Entry {
            sha: String,
        }
        if self.path.is_empty() {
            return Ok(Some(commit.to_owned()));
        }
        let place = format!("commits?path={}&sha={commit}&per_page=1", quote(self.path));
        let response = self.ask(&place, JSON, ANSWER_LIMIT)?;
        if response.status == 404 {
            return Ok(None);
        }
        let entries: Vec<Entry> = self.json(&response)?;
        Ok(entries.into_iter().next().map(|entry| entry.sha).filter(|sha| is_commit(sha)))
    }

    /// Returns the pull requests that a commit belongs to; none where the forge does not say.
    fn pulls(&self, commit: &str) -> Result<Vec<Pull>, Refusal> {
        let response = self.ask(&format!("commits/{commit}/pulls"), JSON, ANSWER_LIMIT)?;
        if response.status == 404 {
            return Ok(Vec::new());
        }
        let mut pulls: Vec<Pull> = self.json(&response)?;
        // A fork's pull requests name the same commits.
        pulls.retain(|pull| {
            let base = pull.base.as_ref().and_then(|base| base.repo.as_ref());
            base.is_none_or(|repo| repo.full_name.eq_ignore_ascii_case(self.repository))
        });
        pulls.sort_by_key(|pull| pull.number);
        Ok(pulls)
    }

    /// Reads the merge out of a pull request. `merge_commit_sha` alone proves nothing: before a
    /// merge it names a trial merge, so the time of the merge is what counts.
    fn merge(&self, pull: &Pull) -> Option<Merge> {
        let time = pull.merged_at.clone().filter(|time| is_time(time))?;
        let commit = pull.merge_commit_sha.clone().filter(|sha| is_commit(sha))?;
        Some(Merge { pull: pull.number, commit, time })
    }
}

/// `2026-09-18T12:00:00Z`, as the forge writes it.
fn is_time(text: &str) -> bool {
    (19..=35).contains(&text.len())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_digit() || matches!(byte, b'-' | b':' | b'T' | b'Z' | b'+' | b'.'))
}
