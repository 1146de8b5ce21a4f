//! What earlier runs fetched: kept under the name of its bytes, or under its address to be asked
//! about again.
//!
//! Nothing here is believed. Content is hashed again when it is used, and an answer that was kept
//! is used only when the server says that it is still the same (304). So `--update` needs no way
//! around the cache, and a broken cache costs time alone.

use std::path::{Path, PathBuf};

use lock::Digest;
use serde::{Deserialize, Serialize};
use upstream::transport::Kept;

/// The most bytes of one entry.
const LIMIT: u64 = 64 << 20;

/// A cache folder; every failure of it is a miss.
#[derive(Clone, Debug)]
pub struct Cache {
    folder: PathBuf,
}

/// An answer with what the server needs to know it again.
#[derive(Serialize, Deserialize, Clone, PartialEq, Eq, Debug)]
pub(crate) struct Answer {
    pub(crate) etag: String,
    pub(crate) headers: Vec<(String, String)>,
    #[serde(skip)]
    pub(crate) body: Vec<u8>,
}

/// The first line of an entry; the body follows.
#[derive(Serialize, Deserialize)]
struct Head<T> {
    sha256: Digest,
    #[serde(flatten)]
    about: T,
}

#[derive(Serialize, Deserialize)]
struct ContentType {
    media_type: String,
}

impl Cache {
    /// Returns the cache of a folder, which is made when something is kept.
    #[must_use]
    pub fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned() }
    }

    /// Returns content that was kept under the name of its bytes; whoever asks checks that name.
    #[must_use]
    pub fn content(&self, name: &str) -> Option<Kept> {
        let (head, body) = self.read::<ContentType>(&place("content", name))?;
        Some(Kept { media_type: head.media_type, body })
    }

    /// Keeps content under the name of its bytes.
    pub fn keep_content(&self, name: &str, kept: &Kept) {
        let about = ContentType { media_type: kept.media_type.clone() };
        self.write(&place("content", name), about, &kept.body);
    }

    /// Returns the answer that was kept for a request.
    pub(crate) fn answer(&self, request: &str) -> Option<Answer> {
        let (answer, body) = self.read::<Answer>(&place("answers", request))?;
        Some(Answer { body, ..answer })
    }

    /// Keeps an answer for a request.
    pub(crate) fn keep_answer(&self, request: &str, answer: &Answer) {
        self.write(&place("answers", request), answer.clone(), &answer.body);
    }

    fn read<T: for<'de> Deserialize<'de>>(&self, name: &str) -> Option<(T, Vec<u8>)> {
        let path = self.folder.join(name);
        if fs_err::metadata(&path).ok()?.len() > LIMIT {
            return None;
        }
        let mut bytes = fs_err::read(&path).ok()?;
        let end = bytes.iter().position(|&byte| byte == b'\n')?;
        let head: Head<T> = serde_json::from_slice(bytes.get(..end)?).ok()?;
        let body = bytes.split_off(end + 1);
        (Digest::of(&body) == head.sha256).then_some((head.about, body))
    }

    fn write<T: Serialize>(&self, name: &str, about: T, body: &[u8]) {
        let Ok(mut bytes) = serde_json::to_vec(&Head { sha256: Digest::of(body), about }) else { return };
        bytes.push(b'\n');
        bytes.extend_from_slice(body);
        if let Err(error) = self.private().and_then(|()| crate::write_atomic(&self.folder.join(name), &bytes))
        {
            tracing::debug!(%error, "not kept in the cache");
        }
    }

    /// Makes the folder for the user alone: answers about private repositories are in it.
    fn private(&self) -> std::io::Result<()> {
        if self.folder.is_dir() {
            return Ok(());
        }
        fs_err::create_dir_all(&self.folder)?;
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            fs_err::set_permissions(&self.folder, std::fs::Permissions::from_mode(0o700))?;
        }
        Ok(())
    }
}

fn place(folder: &str, name: &str) -> String {
    format!("{folder}/{}", Digest::of(name.as_bytes()).hex())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_changed_on_disk_is_a_miss() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::new(&folder.path().join("cache"));
        let kept = Kept { media_type: "a/b".into(), body: b"body\nwith lines".to_vec() };
        assert_eq!(cache.content("a"), None);
        cache.keep_content("a", &kept);
        assert_eq!(cache.content("a"), Some(kept));
        let path = folder.path().join("cache").join(place("content", "a"));
        let mut bytes = fs_err::read(&path).unwrap();
        *bytes.last_mut().unwrap() ^= 1;
        fs_err::write(&path, bytes).unwrap();
        assert_eq!(cache.content("a"), None);
        fs_err::write(&path, "no head").unwrap();
        assert_eq!(cache.content("a"), None);
    }

    #[test]
    fn an_answer_comes_back_whole() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::new(folder.path());
        let answer =
            Answer { etag: "\"e\"".into(), headers: vec![("link".into(), "x".into())], body: b"{}".to_vec() };
        cache.keep_answer("GET https://a/", &answer);
        assert_eq!(cache.answer("GET https://a/"), Some(answer));
        assert_eq!(cache.answer("GET https://b/"), None);
    }
}
