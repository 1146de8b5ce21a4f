//! A staged checkpoint beside the list of files that the lock pins.
//!
//! First names and sizes, which take milliseconds and show every download that stopped; then every
//! byte. A file that cannot be read is neither right nor wrong, and is said to be unreadable.

use std::collections::{BTreeMap, BTreeSet};

use lock::pin::File;
use serde_json::{Map, Value, json};

use crate::found::{Found, State, Whole, is_weights};
use crate::survey::{Survey, What};

/// The most bytes of a file that may be a pointer in place of weights.
pub const POINTER_LIMIT: u64 = 1024;

/// What is said of a file without a byte on the disk.
const HOLES: &str = "it takes no room on the disk: all holes";

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
    /// Who says that it is that: the content, or the notes of the hub's client.
    pub said_by: SaidBy,
    /// Bytes of which the content was looked at.
    pub hashed: u64,
    /// How many files were not read again, since they have not changed since they were.
    pub remembered: u64,
    /// What else is worth knowing of the whole, in phrases.
    pub notes: Vec<String>,
}

/// Who says which checkpoint it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SaidBy {
    /// The files themselves: every one of them has the size, and as far as it was read the content.
    Content,
    /// The hub's client, in the names and notes that it keeps; nothing was proven.
    Client,
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
        read: false,
    };
    for entry in &survey.entries {
        if is_weights(&entry.path) && !locked.contains(entry.path.as_str()) {
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
        said_by: SaidBy::Content,
        hashed: 0,
        remembered: 0,
        notes: notes(wanted, survey),
    }
}

/// What is worth knowing of the whole, beside its files.
fn notes(wanted: &Wanted<'_>, survey: &Survey) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(other) = &survey.other {
        notes.push(format!("the cache has no snapshot {}; {other} was looked at", wanted.commit));
    }
    if let Some(main) = survey.main.as_ref().filter(|main| *main != wanted.commit) {
        notes.push(format!("`main` is {main} in the cache: whoever names no revision is served that"));
    }
    let listed = survey.entries.iter().filter(|entry| is_weights(&entry.path)).count() as u64;
    if survey.strays > listed {
        notes.push(format!("{} weights lie beside the locked ones", survey.strays));
    }
    notes
}

fn beside(file: &File, what: Option<&What>) -> Found {
    let mut found = Found {
        path: file.path.clone(),
        state: State::Ok,
        want: Some(file.size.to_string()),
        got: None,
        note: None,
        read: false,
    };
    match what {
        None => found.state = State::Missing,
        Some(What::File { size, held, outside }) => {
            found.got = Some(size.to_string());
            if *size != file.size {
                found.state = State::Size;
                // A shorter text is another text; only what is large arrives in parts.
                found.note = (*size < file.size && file.sha256.is_some()).then(|| "cut short".to_owned());
            } else if *held == 0 && *size > 0 {
                found.note = Some(HOLES.to_owned());
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
    /// Bytes that it has.
    pub bytes: u64,
    /// It was read earlier and has not changed since.
    pub remembered: bool,
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

    /// Calls files that take no room on the disk unread, where nobody will read them: they are holes, which
    /// a download that reserves its space leaves, or were moved to slower storage.
    pub fn doubt_holes(&mut self) {
        for found in self.files.iter_mut().filter(|found| found.state == State::Ok) {
            if found.note.as_deref() == Some(HOLES) && is_weights(&found.path) {
                found.state = State::Unreadable;
            }
        }
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
        found.read = true;
        self.hashed = self.hashed.saturating_add(content.bytes);
        self.remembered += u64::from(content.remembered);
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
        if let Some(other) = other {
            found.note = Some(format!("it is the content of {}", other.path));
        }
    }

    /// Adds to what is worth knowing of a file that is not as locked.
    pub fn add_note(&mut self, path: &str, note: &str) {
        let found = self.files.iter_mut().find(|found| found.path == path && found.state != State::Ok);
        if let Some(found) = found {
            found.note = Some(match found.note.take() {
                Some(before) => format!("{before}; {note}"),
                None => note.to_owned(),
            });
        }
    }

    /// Takes what a file would be with line feeds in place of carriage return and line feed.
    pub fn without_returns(&mut self, file: &File, blob: &str) {
        if file.blob.as_deref() == Some(blob) {
            self.add_note(&file.path, "only its line ends differ: CRLF in place of LF");
        }
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
        // The hub's client names a snapshot after its commit, and notes the commit of each file that it
        // put into a plain folder.
        let commits: BTreeSet<&str> = survey.noted.iter().map(|(_, commit)| commit.as_str()).collect();
        let noted = commits.first().copied().filter(|_| commits.len() == 1);
        let said = survey.other.as_deref().or(noted).filter(|commit| *commit != self.commit);
        if let (None, Some(commit)) = (&self.is, said) {
            self.is = Some((self.repository.clone(), commit.to_owned()));
            self.said_by = SaidBy::Client;
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
                    "read": found.read,
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
            "is_said_by": is.as_ref().map(|_| match self.said_by {
                SaidBy::Content => "content",
                SaidBy::Client => "client",
            }),
            "files": files,
            "hashed_bytes": self.hashed,
            "remembered": self.remembered,
            "notes": self.notes,
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
