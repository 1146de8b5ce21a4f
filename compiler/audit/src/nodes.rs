//! Reports of many nodes on one checkpoint, as one.
//!
//! Each node looks at what it sees itself: a folder of its own, or the one that all share. Where they share
//! it, each may read a part, and a file is as locked if it is on every node that looked and some node
//! has read it.

use std::collections::{BTreeMap, BTreeSet};

use lock::Digest;
use lock::pin::File;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::checkpoint::Report;
use crate::found::{State, Whole};

/// Word for what kind of document a report is.
const KIND: &str = "recipec-node-report";

/// One part of several, counted from 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Part {
    /// Which.
    pub number: u32,
    /// Of how many.
    pub of: u32,
}

impl Part {
    /// Reads `2/8`.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let (number, of) = text.split_once('/')?;
        let (number, of) = (number.parse().ok()?, of.parse().ok()?);
        (1..=of).contains(&number).then_some(Self { number, of })
    }

    /// Returns the files that this part reads: a function of the locked list alone, so that all nodes
    /// agree on it, with about as many bytes for each.
    #[must_use]
    pub fn of_files<'f>(self, files: &[&'f File]) -> Vec<&'f File> {
        let mut order: Vec<&File> = files.to_vec();
        order.sort_by(|a, b| (b.size, &a.path).cmp(&(a.size, &b.path)));
        // The least loaded part takes the next file; of equal ones the first.
        let mut loads: BTreeSet<(u64, u32)> = (1..=self.of).map(|number| (0, number)).collect();
        let mut mine = Vec::new();
        for file in order {
            let Some((load, number)) = loads.pop_first() else { break };
            loads.insert((load.saturating_add(file.size.max(1)), number));
            if number == self.number {
                mine.push(file);
            }
        }
        mine
    }
}

/// What one node found.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct NodeReport {
    version: u32,
    kind: String,
    /// Name of the node, and of its task where there are several.
    pub node: String,
    /// The scheduler's job; reports of two jobs are not of one time.
    #[serde(default)]
    pub job: Option<String>,
    /// Seal of the lock.
    pub lock: Digest,
    /// Repository id.
    pub repository: String,
    /// The commit.
    pub commit: String,
    /// The part that it was to read.
    #[serde(default)]
    pub part: Option<Part>,
    /// Only names and sizes were looked at.
    pub fast: bool,
    /// What the whole is for this node.
    pub state: String,
    /// What is wrong beside single files, by slug.
    pub faults: Vec<String>,
    /// Each locked file, and what else matters.
    pub files: Vec<Seen>,
}

/// What one node found of one file.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct Seen {
    /// Its path.
    pub path: String,
    /// What it is.
    pub state: String,
    /// Its content was compared.
    pub read: bool,
    /// What else is worth knowing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// Where a report comes from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct From {
    /// Name of the node.
    pub node: String,
    /// The scheduler's job.
    pub job: Option<String>,
    /// Seal of the lock.
    pub lock: Digest,
    /// The part that it was to read.
    pub part: Option<Part>,
    /// Only names and sizes were looked at.
    pub fast: bool,
}

impl NodeReport {
    /// Returns the report of a node.
    #[must_use]
    pub fn new(from: From, report: &Report, faults: Vec<String>) -> Self {
        let From { node, job, lock, part, fast } = from;
        let files = report.files.iter().map(|found| Seen {
            path: found.path.clone(),
            state: found.state.word().to_owned(),
            read: found.read,
            note: found.note.clone(),
        });
        Self {
            version: 1,
            kind: KIND.to_owned(),
            node,
            job,
            lock,
            repository: report.repository.clone(),
            commit: report.commit.clone(),
            part,
            fast,
            state: report.whole().word().to_owned(),
            faults,
            files: files.collect(),
        }
    }

    /// Reads a report.
    ///
    /// # Errors
    /// In a phrase.
    pub fn read(text: &str) -> Result<Self, String> {
        let report: Self =
            serde_json::from_value(lock::parse_json(text)?).map_err(|error| error.to_string())?;
        if report.kind == KIND && report.version == 1 {
            Ok(report)
        } else {
            Err(format!("it is no report of a node, but `{}` {}", report.kind.escape_debug(), report.version))
        }
    }

    /// Returns its text.
    #[must_use]
    pub fn write(&self) -> String {
        lock::pretty(&serde_json::to_value(self).unwrap_or_default())
    }
}

/// Reports as one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Merged {
    /// What the whole is.
    pub whole: Whole,
    /// Nodes by name, with what the whole is for each.
    pub nodes: BTreeMap<String, String>,
    /// What is wrong, and on which nodes: file (or slug), state, note.
    pub wrong: BTreeMap<(String, String, String), BTreeSet<String>>,
    /// Locked files that no node has read, where reading was asked for.
    pub unread: Vec<String>,
    /// How many files there are.
    pub files: usize,
}

/// Merges reports.
///
/// # Errors
/// In a phrase, if they are not about one thing.
pub fn merge(reports: &[NodeReport]) -> Result<Merged, String> {
    let first = reports.first().ok_or("there is no report")?;
    let mut nodes = BTreeMap::new();
    for report in reports {
        for (what, same) in [
            ("lock", report.lock == first.lock),
            ("checkpoint", (&report.repository, &report.commit) == (&first.repository, &first.commit)),
            ("job", report.job == first.job),
            ("depth", report.fast == first.fast),
        ] {
            if !same {
                return Err(format!(
                    "`{}` and `{}` are of another {what}",
                    shown(&first.node),
                    shown(&report.node)
                ));
            }
        }
        if nodes.insert(report.node.clone(), report.state.clone()).is_some() {
            return Err(format!("`{}` reports twice", shown(&report.node)));
        }
    }
    let mut wrong: BTreeMap<_, BTreeSet<String>> = BTreeMap::new();
    let mut files: BTreeMap<&str, bool> = BTreeMap::new();
    let ok = State::Ok.word();
    for report in reports {
        for seen in &report.files {
            let read = files.entry(&seen.path).or_default();
            *read = *read || seen.read || seen.state != ok;
            if seen.state != ok {
                let key = (seen.path.clone(), seen.state.clone(), seen.note.clone().unwrap_or_default());
                wrong.entry(key).or_default().insert(report.node.clone());
            }
        }
        for fault in &report.faults {
            let key = (String::new(), fault.clone(), String::new());
            wrong.entry(key).or_default().insert(report.node.clone());
        }
    }
    let unread: Vec<String> =
        files.iter().filter(|(_, read)| !first.fast && !**read).map(|(path, _)| (*path).to_owned()).collect();
    let has = |whole: Whole| nodes.values().any(|state| state == whole.word());
    let order = [Whole::Different, Whole::Incomplete, Whole::InProgress, Whole::Unreadable];
    let known = |state: &String| order.iter().chain([&Whole::Complete]).any(|whole| whole.word() == state);
    if let Some(state) = nodes.values().find(|state| !known(state)) {
        return Err(format!("`{}` is no state of a checkpoint", shown(state)));
    }
    let fault = || if unread.is_empty() { Whole::Complete } else { Whole::Unreadable };
    let whole = order.into_iter().find(|whole| has(*whole)).unwrap_or_else(fault);
    Ok(Merged { whole, nodes, wrong, unread, files: files.len() })
}

fn shown(text: &str) -> String {
    text.escape_debug().to_string()
}

impl Merged {
    /// Returns the fields of the machine's document.
    #[must_use]
    pub fn to_json(&self) -> Map<String, Value> {
        let nodes: Vec<Value> =
            self.nodes.iter().map(|(node, state)| json!({ "node": node, "state": state })).collect();
        let wrong: Vec<Value> = self
            .wrong
            .iter()
            .map(|((path, state, note), nodes)| json!({ "path": path, "state": state, "note": note, "nodes": nodes }))
            .collect();
        let fields = json!({
            "state": self.whole.word(),
            "nodes": nodes,
            "wrong": wrong,
            "unread": self.unread,
            "files": self.files,
        });
        fields.as_object().cloned().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_disjoint_and_together_all() {
        let files: Vec<File> = (0..57)
            .map(|number| File {
                path: format!("{number:02}"),
                size: number * number,
                sha256: None,
                blob: None,
            })
            .collect();
        let files: Vec<&File> = files.iter().collect();
        for of in [1, 2, 7, 100] {
            let parts = (1..=of).map(|number| Part { number, of }.of_files(&files));
            let mut all: Vec<&str> = parts.flatten().map(|file| file.path.as_str()).collect();
            all.sort_unstable();
            let want: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
            assert_eq!(all, want, "{of}");
        }
        assert_eq!(Part::read("2/8"), Some(Part { number: 2, of: 8 }));
        for text in ["", "2", "0/8", "9/8", "1/0", "-1/2", "1/2/3"] {
            assert_eq!(Part::read(text), None, "{text}");
        }
    }
}
