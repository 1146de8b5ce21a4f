//! Real schedulers, registries and runtimes, started for a test and stopped by process id.

use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use lock::Digest;

use super::run::{Bench, has, port, ports};
use crate::support::repository;

/// Says why a test does not run here.
fn skip(test: &str, why: &str) {
    println!("{test}: skipped, {why}");
}

/// Debian's docker-registry on loopback, with a tiny image in it.
pub struct Registry {
    child: Child,
    /// `127.0.0.1:PORT`.
    pub address: String,
    /// The image, with its tag.
    pub image: String,
    /// Digest of its manifest.
    pub manifest: Digest,
    /// Digest of its config.
    pub config: Digest,
}

impl Registry {
    /// Starts a registry and pushes an image whose stand-ins record into `record`.
    pub fn start(test: &str, bench: &Bench, record: &str) -> Option<Self> {
        for program in ["docker-registry", "skopeo", "cc"] {
            if !has(program) {
                skip(test, &format!("`{program}` is not installed"));
                return None;
            }
        }
        let address = format!("127.0.0.1:{}", port());
        let config = bench.write(
            "registry.yml",
            format!(
                "version: 0.1\nstorage: {{filesystem: {{rootdirectory: {}}}}}\nhttp: {{addr: {address}}}\n",
                bench.text("registry")
            ),
        );
        let log = std::fs::File::create(bench.path("registry.log")).unwrap();
        let child = Command::new("docker-registry")
            .arg("serve")
            .arg(config)
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .unwrap();
        let image = format!("{address}/tiny/engine:v1");
        let mut registry = Self { child, address, image, manifest: Digest::of(b""), config: Digest::of(b"") };
        registry.wait();
        let output = Command::new(repository().join("tests/support/stubs/make-image"))
            .arg(bench.path("image"))
            .arg(&registry.image)
            .arg(record)
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", super::run::said(&output));
        let text = String::from_utf8(output.stdout).unwrap();
        let mut digests = text.split_whitespace().map(|hex| Digest::from_hex(hex).unwrap());
        registry.manifest = digests.next().unwrap();
        registry.config = digests.next().unwrap();
        Some(registry)
    }

    fn wait(&self) {
        let begun = Instant::now();
        while std::net::TcpStream::connect(&self.address).is_err() {
            assert!(begun.elapsed() < Duration::from_secs(20), "the registry did not start");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Returns what enroot is asked for.
    pub fn pinned(&self) -> String {
        format!("docker://{}#tiny/engine:sha256:{}", self.address, self.manifest.hex())
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A real Slurm of one node, `n0`, with pyxis and enroot.
pub struct Slurm {
    judges: PathBuf,
    dir: PathBuf,
    /// Its configuration file.
    pub conf: String,
}

impl Slurm {
    /// Installs what is missing and starts it in the bench's folder `slurm`.
    pub fn start(test: &str, judges: &Path, bench: &Bench) -> Option<Self> {
        let root = Command::new("id").arg("-u").output().unwrap().stdout == b"0\n";
        if !root || !judges.join("slurm-up").is_file() {
            skip(test, "it needs root and the judges");
            return None;
        }
        let installed = Command::new(judges.join("slurm-install")).stdin(Stdio::null()).output().unwrap();
        if !installed.status.success() {
            skip(test, &format!("slurm-install failed: {}", super::run::said(&installed)));
            return None;
        }
        let dir = bench.path("slurm");
        let output = Command::new(judges.join("slurm-up"))
            .arg(&dir)
            .args(["1", "8", "gpu"])
            .env("PORT_BASE", ports(2).to_string())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        let conf = text.lines().find_map(|line| line.strip_prefix("export SLURM_CONF="));
        let slurm = Self { judges: judges.to_owned(), dir, conf: conf.unwrap_or_default().to_owned() };
        assert!(conf.is_some(), "Slurm did not start: {}", super::run::said(&output));
        Some(slurm)
    }
}

impl Drop for Slurm {
    fn drop(&mut self) {
        let _ = Command::new(self.judges.join("slurm-down")).arg(&self.dir).status();
    }
}

/// A real Docker daemon of its own.
pub struct Docker {
    pid: PathBuf,
    /// The value of `DOCKER_HOST`.
    pub host: String,
}

impl Docker {
    /// Starts a daemon in the bench's folder `docker`, which may read `registry` over plain HTTP.
    pub fn start(test: &str, judges: &Path, bench: &Bench, registry: &str) -> Option<Self> {
        let root = Command::new("id").arg("-u").output().unwrap().stdout == b"0\n";
        if !root || !judges.join("docker-up").is_file() {
            skip(test, "it needs root and the judges");
            return None;
        }
        let dir = bench.path("docker");
        // The daemon keeps the pipes that it was started with, so they go to files.
        let (out, err) = (bench.path("docker.out"), bench.path("docker.err"));
        let status = Command::new(judges.join("docker-up"))
            .arg(&dir)
            .arg(registry)
            .stdin(Stdio::null())
            .stdout(std::fs::File::create(&out).unwrap())
            .stderr(std::fs::File::create(&err).unwrap())
            .process_group(0)
            .status()
            .unwrap();
        let text = std::fs::read_to_string(&out).unwrap();
        let host = text.lines().find_map(|line| line.strip_prefix("export DOCKER_HOST="));
        let Some(host) = host.filter(|_| status.success()) else {
            skip(test, &format!("no Docker daemon here: {}", std::fs::read_to_string(&err).unwrap()));
            return None;
        };
        Some(Self { pid: dir.join("docker.pid"), host: host.to_owned() })
    }
}

impl Drop for Docker {
    fn drop(&mut self) {
        let Ok(pid) = std::fs::read_to_string(&self.pid) else { return };
        let _ = Command::new("kill").arg(pid.trim()).status();
        let begun = Instant::now();
        while Path::new("/proc").join(pid.trim()).exists() && begun.elapsed() < Duration::from_secs(20) {
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}
