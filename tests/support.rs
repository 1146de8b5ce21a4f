//! What tests share: a sealed folder to run recipec in, and transcripts.
//!
//! A process started here inherits nothing: no home, no proxy, no credentials, no colour settings.
//! So a test sees the same on every machine.

pub mod hub;
pub mod process;
pub mod registry;
pub mod server;
pub mod transcript;

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

/// Returns the root of the repository.
pub fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns the folder with recorded truth and real judges that lies beside some checkouts, or says
/// that the test is skipped.
pub fn shared(test: &str) -> Option<PathBuf> {
    let path = repository().parent()?.join("shared");
    if path.is_dir() {
        return Some(path);
    }
    println!("{test}: skipped, there is no ../shared beside this checkout");
    None
}

/// A temporary folder with a home of its own.
pub struct Sandbox {
    dir: TempDir,
}

/// What a process said.
#[derive(Debug)]
pub struct Ran {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Sandbox {
    /// Returns an empty folder.
    pub fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("home")).unwrap();
        fs::create_dir(dir.path().join("root")).unwrap();
        Self { dir }
    }

    /// Returns a folder with a copy of the repository's folder `from`.
    pub fn with(from: &str) -> Self {
        let sandbox = Self::new();
        sandbox.copy(from);
        sandbox
    }

    /// Copies what is in the repository's folder `from` into this one.
    pub fn copy(&self, from: &str) {
        copy_tree(&repository().join(from), &self.root());
    }

    /// Returns the folder in which commands run.
    pub fn root(&self) -> PathBuf {
        self.dir.path().join("root")
    }

    /// Returns the path of a file in the folder.
    pub fn path(&self, path: &str) -> PathBuf {
        self.root().join(path)
    }

    /// Writes a file, and the folders above it.
    pub fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Returns the text of a file.
    pub fn read(&self, path: &str) -> String {
        let path = self.path(path);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// Returns a command that inherits nothing, with recipec on its PATH.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let bin = Path::new(env!("CARGO_BIN_EXE_recipec")).parent().unwrap();
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("HOME", self.dir.path().join("home"))
            .env("PATH", format!("{}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", bin.display()))
            .env("LC_ALL", "C.UTF-8")
            .env("TZ", "UTC")
            .current_dir(self.root())
            .stdin(Stdio::null());
        command
    }

    /// Runs recipec.
    pub fn recipec<A: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = A>) -> Ran {
        let mut command = self.command(env!("CARGO_BIN_EXE_recipec"));
        Ran::of(command.args(arguments).output().unwrap())
    }

    /// Runs a bash script.
    pub fn bash(&self, script: &str) -> Ran {
        Ran::of(self.command("bash").args(["-c", script]).output().unwrap())
    }
}

impl Ran {
    fn of(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Returns standard output as JSON.
    #[track_caller]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("{error}\nstdout: {}\nstderr: {}", self.stdout, self.stderr))
    }

    /// Fails unless the exit code is this one.
    #[track_caller]
    pub fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, code, "\nstdout: {}\nstderr: {}", self.stdout, self.stderr);
        self
    }
}

/// Copies a folder with everything in it, symbolic links as they are.
pub fn copy_tree(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap_or_else(|error| panic!("{}: {error}", from.display())) {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            copy_tree(&entry.path(), &target);
        } else if kind.is_symlink() {
            std::os::unix::fs::symlink(fs::read_link(entry.path()).unwrap(), target).unwrap();
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// Returns every file below `dir` whose name ends in `end`, sorted.
pub fn files(dir: &Path, end: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![dir.to_owned()];
    while let Some(dir) = open.pop() {
        let Ok(entries) = fs::read_dir(&dir) else { continue };
        for entry in entries {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else if path.to_string_lossy().ends_with(end) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}
