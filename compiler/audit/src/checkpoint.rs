//! A staged checkpoint beside the list of files that the lock pins.
//!
//! First names and sizes, which take milliseconds and show every download that stopped; then every
//! byte. A file that cannot be read is neither right nor wrong, and is said to be unreadable.

use std::collections::{BTreeMap, BTreeSet};

use lock::pin::File;
use serde_json::{Map, Value, json};

use crate::survey::{Survey, What};

/// The most bytes of a file that may be a pointer in place of weights.
pub const POINTER_LIMIT: u64 = 1024;

/// File names that loaders take weights from.
const WEIGHTS: &[&str] = &[".safetensors", ".bin", ".pt", ".pth", ".gguf", ".ckpt"];

/// What the lock says of a checkpoint.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// Repository id on the hub.
    pub repository: &'a str,
    /// The commit.
    pub commit: &'a str,
    /// Its files.
    pub files: &'a [File],
}

/// What one file is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum State {
    /// As locked, as far as was looked.
    Ok,
    /// Not there.
    Missing,
    /// Of another size.
    Size,
    /// Of the size, with other content.
    Hash,
    /// A pointer of large-file storage in place of the content.
    Pointer,
    /// A download that did not end.
    Partial,
    /// Weights that the lock does not have, which a loader may take.
    Extra,
    /// A link that leads nowhere.
    Dangling,
    /// Something that could not be read.
    Unreadable,
}

impl State {
    /// Returns the word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Missing => "missing",
            Self::Size => "size",
            Self::Hash => "hash",
            Self::Pointer => "pointer",
            Self::Partial => "partial",
            Self::Extra => "extra",
            Self::Dangling => "dangling",
            Self::Unreadable => "unreadable",
        }
    }
}

/// What was found of one file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Found {
    /// Path below the checkpoint's folder.
    pub path: String,
    /// What it is.
    pub state: State,
    /// What the lock says: a size, or a digest.
    pub want: Option<String>,
    /// What is there.
    pub got: Option<String>,
    /// What else is worth knowing, in a phrase.
    pub note: Option<String>,
}

/// What a whole checkpoint is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Whole {
    /// Every file is there and as locked.
    Complete,
    /// A download is still running.
    InProgress,
    /// Something is missing or has not arrived.
    Incomplete,
    /// Something is there that is not what the lock says.
    Different,
    /// Something could not be read, and the rest is right.
    Unreadable,
}

impl Whole {
    /// Returns the word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::InProgress => "in-progress",
            Self::Incomplete => "incomplete",
            Self::Different => "different",
            Self::Unreadable => "unreadable",
        }
    }
}

/// What an audit of a checkpoint found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Report {
    /// Repository id that the lock pins.
    pub repository: String,
    /// Commit that the lock pins.
    pub commit: String,
    /// Each locked file, and what else matters, by path.
    pub files: Vec<Found>,
    /// Which pinned checkpoint it really is: repository and commit.
    pub is: Option<(String, String)>,
    /// Bytes of which the content was looked at.
    pub hashed: u64,
}

/// Compares names and sizes.
#[must_use]
pub fn compare(wanted: &Wanted<'_>, survey: &Survey) -> Report {
    let there: BTreeMap<&str, &What> =
        survey.entries.iter().map(|entry| (entry.path.as_str(), &entry.what)).collect();
    let mut files: Vec<Found> =
        wanted.files.iter().map(|file| beside(file, there.get(file.path.as_str()).copied())).collect();
    let locked: BTreeSet<&str> = wanted.files.iter().map(|file| file.path.as_str()).collect();
    let found = |path: &str, state, got: Option<String>, note: &str| Found {
        path: path.to_owned(),
        state,
        want: None,
        got,
        note: Some(note.to_owned()).filter(|note| !note.is_empty()),
    };
    for entry in &survey.entries {
        let weights = WEIGHTS.iter().any(|ending| entry.path.to_ascii_lowercase().ends_with(ending));
        if weights && !locked.contains(entry.path.as_str()) {
            let got = match &entry.what {
                What::File { size, .. } => Some(size.to_string()),
                _ => None,
            };
            files.push(found(&entry.path, State::Extra, got, "a loader may take it for a part of the model"));
        }
    }
    for partial in &survey.partial {
        let note = if partial.recent { "still arriving" } else { "left behind" };
        files.push(found(&partial.path, State::Partial, Some(partial.size.to_string()), note));
    }
    for (path, why) in &survey.unread {
        files.push(found(path, State::Unreadable, None, why));
    }
    files.sort_by(|a, b| (&a.path, a.state).cmp(&(&b.path, b.state)));
    Report {
        repository: wanted.repository.to_owned(),
        commit: wanted.commit.to_owned(),
        files,
        is: None,
        hashed: 0,
    }
}

fn beside(file: &File, what: Option<&What>) -> Found {
    let mut found = Found {
        path: file.path.clone(),
        state: State::Ok,
        want: Some(file.size.to_string()),
        got: None,
        note: None,
    };
    match what {
        None => found.state = State::Missing,
        Some(What::File { size, held, outside }) => {
            found.got = Some(size.to_string());
            if *size != file.size {
                found.state = State::Size;
                found.note = (*size < file.size).then(|| "cut short".to_owned());
            } else if *held == 0 && *size > 0 {
                found.note = Some("it takes no room on the disk: all holes".to_owned());
            } else if let Some(outside) = outside {
                found.note = Some(format!("a link leads out of the cache, to {outside}"));
            }
        }
        Some(What::Dangling { to }) => {
            found.state = State::Dangling;
            found.note = Some(format!("a link to {to}, where nothing is"));
        }
        Some(What::Other) => {
            found.state = State::Unreadable;
            found.note = Some("no regular file".to_owned());
        }
        Some(What::Unreadable(why)) => {
            found.state = State::Unreadable;
            found.note = Some(why.clone());
        }
    }
    found
}

/// The digests of a file's content.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Content {
    /// sha256, in hexadecimal.
    pub sha256: String,
    /// Git blob id, where it was asked for.
    pub blob: Option<String>,
    /// Git blob id of the content with line feeds in place of carriage return and line feed.
    pub plain_blob: Option<String>,
    /// Bytes read.
    pub bytes: u64,
}

impl Report {
    /// Returns the locked files that may be right, whose content is not known yet.
    pub fn to_read<'a>(&self, wanted: &Wanted<'a>) -> Vec<&'a File> {
        let open: BTreeSet<&str> = self
            .files
            .iter()
            .filter(|found| found.state == State::Ok)
            .map(|found| found.path.as_str())
            .collect();
        wanted.files.iter().filter(|file| open.contains(file.path.as_str())).collect()
    }

    /// Returns the paths of small files of the wrong size, which may be pointers.
    #[must_use]
    pub fn may_be_pointers(&self) -> Vec<String> {
        let small = |found: &&Found| {
            found.state == State::Size
                && found
                    .got
                    .as_ref()
                    .and_then(|size| size.parse::<u64>().ok())
                    .is_some_and(|size| size <= POINTER_LIMIT)
        };
        self.files.iter().filter(small).map(|found| found.path.clone()).collect()
    }

    /// Takes the beginning of a file that may be a pointer.
    pub fn beginning(&mut self, path: &str, text: &str, wanted: &Wanted<'_>) {
        if !text.starts_with("version https://git-lfs.github.com/spec/") {
            return;
        }
        let oid = text.lines().find_map(|line| line.strip_prefix("oid sha256:")).map(str::trim);
        let locked = wanted.files.iter().find(|file| file.path == path).and_then(|file| file.sha256.as_ref());
        let right = oid.is_some() && oid == locked.map(lock::Digest::hex);
        if let Some(found) = self.files.iter_mut().find(|found| found.path == path) {
            found.state = State::Pointer;
            found.note = Some(if right {
                "a pointer to the locked content: run `git lfs pull`".to_owned()
            } else {
                "a pointer to other content".to_owned()
            });
        }
    }

    /// Takes the content of a file, or why it could not be read.
    pub fn content(&mut self, file: &File, content: Result<&Content, &str>, wanted: &Wanted<'_>) {
        let Some(found) = self.files.iter_mut().find(|found| found.path == file.path) else { return };
        let content = match content {
            Ok(content) => content,
            Err(why) => {
                found.state = State::Unreadable;
                found.note = Some(why.to_owned());
                return;
            }
        };
        self.hashed = self.hashed.saturating_add(content.bytes);
        let (want, got) = match (&file.sha256, &file.blob) {
            (Some(digest), _) => (format!("sha256:{}", digest.hex()), format!("sha256:{}", content.sha256)),
            (None, Some(blob)) => {
                (format!("blob:{blob}"), format!("blob:{}", content.blob.as_deref().unwrap_or_default()))
            }
            // The hub says no digest of it: its size is all that is known.
            (None, None) => return,
        };
        if want == got {
            found.want = Some(want);
            found.got = Some(got);
            return;
        }
        found.state = State::Hash;
        found.want = Some(want);
        found.got = Some(got);
        let other = wanted.files.iter().find(|other| {
            other.sha256.as_ref().is_some_and(|digest| digest.hex() == content.sha256)
                || other.blob.is_some() && other.blob == content.blob
        });
        let line_ends = file.blob.is_some() && file.blob == content.plain_blob;
        found.note = if line_ends {
            Some("only its line ends differ: CRLF in place of LF".to_owned())
        } else if let Some(other) = other {
            Some(format!("it is the content of {}", other.path))
        } else {
            found.note.take()
        };
    }

    /// Returns the locked files that have the locked content, as far as was looked.
    fn right(&self) -> usize {
        self.files.iter().filter(|found| found.state == State::Ok).count()
    }

    /// Returns what the whole checkpoint is.
    #[must_use]
    pub fn whole(&self) -> Whole {
        let has = |state| self.files.iter().any(|found| found.state == state);
        let arriving = self
            .files
            .iter()
            .any(|found| found.state == State::Partial && found.note.as_deref() == Some("still arriving"));
        if arriving {
            Whole::InProgress
        } else if [State::Missing, State::Partial, State::Dangling, State::Pointer].into_iter().any(has)
            || self.files.iter().any(|found| found.note.as_deref() == Some("cut short"))
        {
            Whole::Incomplete
        } else if [State::Size, State::Hash, State::Extra].into_iter().any(has) {
            Whole::Different
        } else if has(State::Unreadable) {
            Whole::Unreadable
        } else {
            Whole::Complete
        }
    }

    /// Finds out which pinned checkpoint it really is: the wanted one if all is right, else one of the
    /// others whose every file is there with the right size and, where contents are known, content.
    pub fn identify(&mut self, survey: &Survey, contents: &BTreeMap<String, Content>, others: &[Wanted<'_>]) {
        if self.whole() == Whole::Complete {
            self.is = Some((self.repository.clone(), self.commit.clone()));
            return;
        }
        let sizes: BTreeMap<&str, u64> = survey
            .entries
            .iter()
            .filter_map(|entry| match entry.what {
                What::File { size, .. } => Some((entry.path.as_str(), size)),
                _ => None,
            })
            .collect();
        let fits = |file: &File| {
            let content = contents.get(&file.path);
            sizes.get(file.path.as_str()) == Some(&file.size)
                && content.is_none_or(|content| match (&file.sha256, &file.blob) {
                    (Some(digest), _) => digest.hex() == content.sha256,
                    (None, Some(blob)) => Some(blob) == content.blob.as_ref(),
                    (None, None) => true,
                })
        };
        let other = others.iter().find(|other| !other.files.is_empty() && other.files.iter().all(fits));
        self.is = other.map(|other| (other.repository.to_owned(), other.commit.to_owned()));
        // The hub's client notes the commit of each file that it put into a plain folder.
        let commits: BTreeSet<&str> = survey.noted.iter().map(|(_, commit)| commit.as_str()).collect();
        if self.is.is_none()
            && let [commit] = commits.iter().copied().collect::<Vec<_>>().as_slice()
            && *commit != self.commit
        {
            self.is = Some((self.repository.clone(), (*commit).to_owned()));
        }
    }

    /// Returns the fields of the machine's document.
    #[must_use]
    pub fn to_json(&self) -> Map<String, Value> {
        let files: Vec<Value> = self
            .files
            .iter()
            .map(|found| {
                let mut entry = json!({
                    "path": found.path,
                    "state": found.state.word(),
                    "want": found.want,
                    "got": found.got,
                });
                if let Some(note) = &found.note {
                    entry["note"] = json!(note);
                }
                entry
            })
            .collect();
        let is = self.is.as_ref().map(|(repository, commit)| json!({ "repo": repository, "commit": commit }));
        let fields = json!({
            "state": self.whole().word(),
            "wants": { "repo": self.repository, "commit": self.commit },
            "is": is,
            "files": files,
            "hashed_bytes": self.hashed,
        });
        fields.as_object().cloned().unwrap_or_default()
    }

    /// Returns how many locked files are right, and how many there are.
    #[must_use]
    pub fn count(&self) -> (usize, usize) {
        let locked = self.files.iter().filter(|found| found.want.is_some()).count();
        (self.right(), locked)
    }
}
