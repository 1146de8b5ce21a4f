//! Versions of engines, in the order of their release.

use std::cmp::Ordering;
use std::fmt;

/// A version as people write it: `0.5.14`, `0.5.12.post1`, `1.3.0rc18`, `nightly`.
///
/// Compared as pip compares: numbers by value, `rc` before the release, `post` after it. A version
/// without any number (`nightly`, `main`, `latest`) is newer than every release, never compared as text.
#[derive(Clone, Debug)]
pub struct Version {
    text: String,
    key: Option<Key>,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Key {
    release: Vec<u64>,
    /// -1 development, 0 candidate, 1 release, 2 post-release; then its number.
    stage: (i8, u64),
}

impl Version {
    /// Reads a version; every text is one. A leading `v` and operators such as `>=` are dropped.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let text = text.trim().trim_start_matches(['>', '=', '<', '~', '^', ' ']);
        let text = text
            .strip_prefix('v')
            .filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
            .unwrap_or(text);
        Self { text: text.to_owned(), key: key(text) }
    }

    /// Returns the text without a leading `v`.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns true if it has no number, as `nightly` has none.
    #[must_use]
    pub fn is_moving(&self) -> bool {
        self.key.is_none()
    }

    /// Returns the release numbers: `[0, 5, 14]`; empty for a moving version.
    #[must_use]
    pub fn numbers(&self) -> &[u64] {
        self.key.as_ref().map_or(&[], |key| &key.release)
    }
}

fn key(text: &str) -> Option<Key> {
    if !text.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (mut numbers, mut rest) = text.split_at(end);
    numbers = numbers.trim_end_matches('.');
    rest = rest.trim_start_matches(['.', '-', '_']);
    let mut release: Vec<u64> = numbers.split('.').map(|part| part.parse().unwrap_or(u64::MAX)).collect();
    while release.last() == Some(&0) {
        release.pop();
    }
    let number = |text: &str| {
        let digits: String =
            text.chars().skip_while(|c| *c == '.').take_while(char::is_ascii_digit).collect();
        digits.parse().unwrap_or(0)
    };
    let stage = if let Some(rest) = rest.strip_prefix("post") {
        (2, number(rest))
    } else if let Some(rest) = rest.strip_prefix("rc") {
        (0, number(rest))
    } else if let Some(rest) = rest.strip_prefix("dev") {
        (-1, number(rest))
    } else {
        (1, 0)
    };
    Some(Key { release, stage })
}

impl PartialEq for Version {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Version {}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Version {
    fn cmp(&self, other: &Self) -> Ordering {
        match (&self.key, &other.key) {
            (Some(a), Some(b)) => a.cmp(b),
            (None, Some(_)) => Ordering::Greater,
            (Some(_), None) => Ordering::Less,
            (None, None) => Ordering::Equal,
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::Version;

    #[test]
    fn versions_are_ordered_by_release_and_never_as_text() {
        let ordered = [
            "0.5.8.post1",
            "0.5.12",
            "0.5.12.post1",
            "0.5.14",
            "0.20.0",
            "1.3.0rc14",
            "1.3.0rc18",
            "1.3.0",
            "nightly",
        ];
        for pair in ordered.windows(2) {
            assert!(Version::parse(pair[0]) < Version::parse(pair[1]), "{pair:?}");
        }
        assert_eq!(Version::parse("v0.20"), Version::parse(">=0.20.0"));
    }
}
