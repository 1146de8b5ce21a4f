//! The environment variables, read once.

use std::collections::BTreeMap;
use std::path::PathBuf;

/// Environment variables as a value: read from the process once, or made up by a test.
///
/// Values may be credentials, so `Debug` shows names alone.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Environment {
    variables: BTreeMap<String, String>,
}

impl Environment {
    /// Reads the variables of this process; those that are not UTF-8 are left out.
    #[must_use]
    pub fn of_process() -> Self {
        let pairs = std::env::vars_os();
        pairs
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect()
    }

    /// Returns the value of a variable; one that is set to nothing counts as not set.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// Returns the value of the first of these variables that is set.
    #[must_use]
    pub fn first(&self, names: &[&str]) -> Option<&str> {
        names.iter().find_map(|name| self.get(name))
    }

    /// Returns the home folder.
    #[must_use]
    pub fn home(&self) -> Option<PathBuf> {
        self.get("HOME").map(PathBuf::from)
    }

    /// Returns recipec's cache folder: `RECIPEC_CACHE`, else `recipec` under the user's caches.
    #[must_use]
    pub fn cache(&self) -> Option<PathBuf> {
        if let Some(folder) = self.get("RECIPEC_CACHE") {
            return Some(PathBuf::from(folder));
        }
        let caches = self.get("XDG_CACHE_HOME").map(PathBuf::from);
        Some(caches.or_else(|| Some(self.home()?.join(".cache")))?.join("recipec"))
    }
}

/// Returns the name of this machine, as the system has it.
#[must_use]
pub fn machine() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

impl<N: Into<String>, V: Into<String>> FromIterator<(N, V)> for Environment {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(pairs: I) -> Self {
        Self { variables: pairs.into_iter().map(|(name, value)| (name.into(), value.into())).collect() }
    }
}

impl std::fmt::Debug for Environment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.variables.keys()).finish()
    }
}
