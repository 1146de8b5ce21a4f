//! A folder in which a script runs, with stand-ins on its PATH and what they recorded.

use std::fs;
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::support::repository;

/// Returns whether a program is on the PATH.
pub fn has(program: &str) -> bool {
    std::env::var_os("PATH")
        .is_some_and(|path| std::env::split_paths(&path).any(|folder| folder.join(program).is_file()))
}

/// Returns a port that nothing listens on.
pub fn port() -> u16 {
    ports(1)
}

/// Returns the first of `count` neighbouring ports that nothing listens on: below the kernel's own
/// choices, and apart from those of another test process.
pub fn ports(count: u16) -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let base = 10000 + u16::try_from(std::process::id() % 340).unwrap() * 64;
    loop {
        let port = base + NEXT.fetch_add(count, Ordering::Relaxed) % 1000;
        if (port..port + count).all(|port| std::net::TcpListener::bind(("0.0.0.0", port)).is_ok()) {
            return port;
        }
    }
}

/// A folder with `bin` (stand-ins), `record` (what they recorded) and `workspace`.
pub struct Bench {
    dir: TempDir,
}

/// One call that a stand-in recorded.
#[derive(Debug)]
pub struct Call {
    pub argv: Vec<String>,
    pub env: Vec<String>,
}

impl Bench {
    pub fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        for folder in ["bin", "record", "workspace", "home"] {
            fs::create_dir(dir.path().join(folder)).unwrap();
        }
        Self { dir }
    }

    /// Adds the stand-ins.
    pub fn with_stubs() -> Self {
        let bench = Self::new();
        let stubs = repository().join("tests/support/stubs");
        for name in ["salloc", "srun", "scancel", "squeue", "enroot", "unsquashfs", "docker", "record.sh"] {
            fs::copy(stubs.join(name), bench.path("bin").join(name)).unwrap();
        }
        recorder(&bench.path("bin/engine"), &bench.path("record"), false);
        for name in ["client", "python3", "pip", "uv", "aiperf", "install", "hf", "mpirun", "nvidia-smi"] {
            fs::copy(bench.path("bin/engine"), bench.path("bin").join(name)).unwrap();
        }
        bench
    }

    pub fn path(&self, path: &str) -> PathBuf {
        self.dir.path().join(path)
    }

    pub fn text(&self, path: &str) -> String {
        self.path(path).to_str().unwrap().to_owned()
    }

    pub fn write(&self, path: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    /// Writes a program that hides the stand-in of this name.
    pub fn program(&self, name: &str, text: &str) {
        let path = self.write(&format!("bin/{name}"), text);
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Returns a command that inherits nothing.
    pub fn plain(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("PATH", format!("{}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", self.text("bin")))
            .env("HOME", self.text("home"))
            .env("RUNNER_NAME", "example-target_00")
            .env("GITHUB_WORKSPACE", self.text("workspace"))
            .current_dir(self.path("workspace"))
            .stdin(Stdio::null());
        command
    }

    /// Returns the command that runs a script.
    pub fn command(&self, script: &str) -> Command {
        let path = self.write("script.sh", script);
        let mut command = self.plain("bash");
        command.arg(path);
        command
    }

    pub fn run(&self, script: &str) -> Output {
        self.command(script).output().unwrap()
    }

    /// Returns the calls of a stand-in, in order.
    pub fn calls(&self, name: &str) -> Vec<Call> {
        self.calls_in("record", name)
    }

    /// Returns the calls that a stand-in recorded in a folder, in order.
    pub fn calls_in(&self, folder: &str, name: &str) -> Vec<Call> {
        let read = |number: usize, kind: &str| -> Option<Vec<String>> {
            let bytes = fs::read(self.path(&format!("{folder}/{name}.{number}.{kind}"))).ok()?;
            let text = String::from_utf8(bytes).unwrap();
            let mut entries: Vec<String> = text.split('\0').map(str::to_owned).collect();
            // Each entry is ended by a zero byte, so the last part is empty.
            assert_eq!(entries.pop().as_deref(), Some(""));
            Some(entries)
        };
        (0..)
            .map_while(|number| Some(Call { argv: read(number, "argv")?, env: read(number, "env")? }))
            .collect()
    }

    /// Returns the evidence that a run left.
    #[track_caller]
    pub fn evidence(&self) -> serde_json::Value {
        self.evidence_in("workspace")
    }

    /// Returns the evidence that a run left in a folder.
    #[track_caller]
    pub fn evidence_in(&self, folder: &str) -> serde_json::Value {
        let path = self.path(&format!("{folder}/example-recipe_example-target_throughput_3.evidence.json"));
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
    }

    /// Fails if anything that a stand-in started still runs.
    #[track_caller]
    pub fn nothing_runs(&self) {
        self.nothing_runs_in("record");
    }

    /// Fails if anything that recorded its process id in a folder still runs.
    #[track_caller]
    pub fn nothing_runs_in(&self, folder: &str) {
        let begun = Instant::now();
        loop {
            let alive: Vec<String> = crate::support::files(&self.path(folder), ".pid")
                .into_iter()
                .filter_map(|path| fs::read_to_string(path).ok())
                .filter(|pid| !pid.is_empty() && alive(pid))
                .collect();
            if alive.is_empty() {
                return;
            }
            assert!(begun.elapsed() < Duration::from_secs(20), "still running: {alive:?}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Waits until a file is there.
    #[track_caller]
    pub fn wait_for(&self, path: &str, child: &mut Child) {
        let begun = Instant::now();
        while !self.path(path).exists() {
            assert!(begun.elapsed() < Duration::from_secs(60), "{path} did not appear");
            if child.try_wait().unwrap().is_some() {
                let mut said = String::new();
                if let Some(stderr) = &mut child.stderr {
                    stderr.read_to_string(&mut said).unwrap();
                }
                panic!("the script ended before {path} appeared: {said}");
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

fn alive(pid: &str) -> bool {
    // A zombie has ended; its parent has only not asked yet.
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

/// Compiles the recording stand-in.
pub fn recorder(to: &Path, record: &Path, fixed: bool) {
    let mut command = Command::new("cc");
    if fixed {
        command.arg("-static");
    }
    let ran = command
        .args(["-O1", "-Wall", "-o"])
        .arg(to)
        .arg(format!("-DRECORD=\"{}\"", record.display()))
        .arg(repository().join("tests/support/stubs/recorder.c"))
        .output()
        .unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
}

/// Returns everything that a script said, for a message.
pub fn said(output: &Output) -> String {
    format!("{}\n{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}
