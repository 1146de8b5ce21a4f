//! Real Nix as the judge, many expressions to a process.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

/// A Nix that can be asked.
pub struct Judge {
    /// The root of a Nix beside the system; `None` for the one on the path.
    root: Option<PathBuf>,
    /// What `nix-instantiate --version` says.
    pub version: String,
    /// Where expressions are put for it.
    folder: PathBuf,
    /// The same folder as the judge sees it.
    seen: String,
}

impl Judge {
    /// Finds a Nix: the recent one of `../shared`, installed where `RECIPEC_NIX` says or in a
    /// temporary folder; else the one on the path.
    pub fn find(repository: &Path) -> Option<Self> {
        let script = repository.join("../shared/judges/nix-recent");
        if script.is_file() {
            let root = std::env::var_os("RECIPEC_NIX")
                .map_or_else(|| std::env::temp_dir().join("recipec-nix-recent"), PathBuf::from);
            let installed = Command::new(&script).arg("install").arg(&root).stdout(Stdio::null()).status();
            if installed.is_ok_and(|status| status.success()) {
                let seen = format!("/tmp/{}", folder_name());
                let folder = root.join(&seen[1..]);
                return Self { root: Some(root), version: String::new(), folder, seen }.started();
            }
            println!("the recent Nix of ../shared cannot be installed");
        }
        let folder = std::env::temp_dir().join(folder_name());
        let seen = folder.to_string_lossy().into_owned();
        Self { root: None, version: String::new(), folder, seen }.started()
    }

    fn started(mut self) -> Option<Self> {
        std::fs::create_dir_all(&self.folder).ok()?;
        let output = self.command("nix-instantiate --version").output().ok()?;
        self.version = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        let sound = self.version.contains("Nix") && self.ask(&["1 + 1".to_owned()]) == [Some("2".to_owned())];
        if !sound {
            println!("the Nix that was found does not answer: {:?}", self.version);
        }
        sound.then_some(self)
    }

    /// Returns true for the Nix whose semantics these are; an older one is judged with allowances.
    pub fn is_reference(&self) -> bool {
        self.version.contains("2.34")
    }

    /// Returns a shell command run where the judge sees its folder as the current one.
    fn command(&self, line: &str) -> Command {
        let inside = format!("cd {} && {line}", self.seen);
        let Some(root) = &self.root else {
            let mut command = Command::new("sh");
            command.args(["-c", &inside]);
            return command;
        };
        let mut command = Command::new("unshare");
        let outside = "mount -t proc proc \"$0/proc\"; exec chroot \"$0\" /usr/bin/env -i HOME=/root PATH=/usr/bin:/bin sh -c \"$1\"";
        command.args(["-m", "bash", "-c", outside]).arg(root).arg(inside);
        command
    }

    /// Writes a file beside the expressions.
    pub fn write(&self, name: &str, text: &str) {
        let path = self.folder.join(name);
        if let Some(parent) = path.parent() {
            let _ = std::fs::create_dir_all(parent);
        }
        let _ = std::fs::write(path, text);
    }

    /// Returns the JSON of each expression, or `None` where it fails.
    pub fn ask(&self, expressions: &[String]) -> Vec<Option<String>> {
        let mut answers = vec![None; expressions.len()];
        for (index, text) in expressions.iter().enumerate() {
            self.write(&format!("{index}.nix"), text);
        }
        let mut next = 0;
        // Should an expression end the whole process, the rest goes to another one.
        while next < expressions.len() {
            let (found, reached) = self.ask_from(next, expressions.len());
            for (index, json) in found {
                answers[index] = Some(json);
            }
            next = reached;
        }
        answers
    }

    fn ask_from(&self, first: usize, end: usize) -> (BTreeMap<usize, String>, usize) {
        let line = "nix --extra-experimental-features nix-command repl 2>&1 >/dev/null";
        let spawned =
            self.command(line).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
        let Ok(mut child) = spawned else { return (BTreeMap::new(), end) };
        let mut script = String::new();
        for index in first..end {
            script.push_str(&format!("builtins.trace \"at {index}\" null\n"));
            script.push_str(&format!(
                "builtins.trace \"is {index} ${{builtins.toJSON (import ./{index}.nix)}}\" null\n"
            ));
        }
        script.push_str("builtins.trace \"end\" null\n");
        let mut stdin = child.stdin.take();
        let writer = std::thread::spawn(move || {
            if let Some(stdin) = &mut stdin {
                let _ = stdin.write_all(script.as_bytes());
            }
        });
        let Ok(output) = child.wait_with_output() else { return (BTreeMap::new(), end) };
        let _ = writer.join();
        let mut found = BTreeMap::new();
        let mut reached = first;
        let mut ended = false;
        for line in String::from_utf8_lossy(&output.stdout).lines() {
            let Some(line) = line.strip_prefix("trace: ") else { continue };
            if let Some(number) = line.strip_prefix("at ") {
                reached = number.parse().unwrap_or(reached);
            } else if let Some(rest) = line.strip_prefix("is ")
                && let Some((number, json)) = rest.split_once(' ')
                && let Ok(number) = number.parse::<usize>()
            {
                found.insert(number, json.to_owned());
            } else if line == "end" {
                ended = true;
            }
        }
        (found, if ended { end } else { reached + 1 })
    }

    /// Returns whether each text parses, its variables being defined.
    pub fn parses(&self, texts: &[String]) -> Vec<bool> {
        for (index, text) in texts.iter().enumerate() {
            self.write(&format!("{index}.nix"), text);
        }
        let line = format!(
            "for i in $(seq 0 {}); do nix-instantiate --parse $i.nix >/dev/null 2>&1 && echo yes || echo no; done",
            texts.len().saturating_sub(1)
        );
        let Ok(output) = self.command(&line).output() else { return Vec::new() };
        String::from_utf8_lossy(&output.stdout).lines().map(|line| line == "yes").collect()
    }

    /// Evaluates a file that was written beside the expressions, as the command line does.
    pub fn instantiate(&self, name: &str) -> Option<String> {
        let line = format!("nix-instantiate --eval --strict --json {name}");
        let output = self.command(&line).output().ok()?;
        output
            .status
            .success()
            .then(|| String::from_utf8_lossy(&output.stdout).trim_end_matches('\n').to_owned())
    }
}

/// Tests run side by side, each with a judge of its own.
fn folder_name() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    format!("recipec-nix-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}

impl Drop for Judge {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
