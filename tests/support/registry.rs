//! Debian's docker-registry on loopback, and images to put into it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use super::process::{Running, free_port, program, wait_for};
use super::repository;

/// A running registry with its storage.
pub struct Registry {
    folder: TempDir,
    port: u16,
    /// Stops the registry when it goes.
    _running: Running,
}

impl Registry {
    /// Starts an open registry, or says that the test is skipped.
    pub fn start(test: &str) -> Option<Self> {
        Self::with(test, "")
    }

    /// Starts a registry that asks for the user `me` and the password `secret`.
    pub fn with_login(test: &str) -> Option<Self> {
        let htpasswd = program(test, "htpasswd")?;
        let output = Command::new(htpasswd).args(["-Bbn", "me", "secret"]).output().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("htpasswd");
        fs::write(&path, output.stdout).unwrap();
        Self::in_folder(
            test,
            folder,
            &format!("auth: {{htpasswd: {{realm: test, path: {}}}}}\n", path.display()),
        )
    }

    /// Starts a registry with more lines in its configuration.
    pub fn with(test: &str, more: &str) -> Option<Self> {
        Self::in_folder(test, tempfile::tempdir().unwrap(), more)
    }

    fn in_folder(test: &str, folder: TempDir, more: &str) -> Option<Self> {
        let registry = program(test, "docker-registry")?;
        let port = free_port();
        let config = folder.path().join("registry.yml");
        let text = format!(
            "version: 0.1\nlog: {{level: error}}\nstorage: {{filesystem: {{rootdirectory: {}}}, delete: {{enabled: true}}}}\nhttp: {{addr: '127.0.0.1:{port}'}}\n{more}",
            folder.path().join("data").display()
        );
        fs::write(&config, text).unwrap();
        let running = Running::start(Command::new(registry).arg("serve").arg(&config));
        wait_for(port);
        Some(Self { folder, port, _running: running })
    }

    /// Returns `127.0.0.1:port`, as references name it.
    pub fn name(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Returns the file that holds a blob.
    pub fn blob(&self, hex: &str) -> PathBuf {
        self.folder.path().join("data/docker/registry/v2/blobs/sha256").join(&hex[..2]).join(hex).join("data")
    }

    /// Deletes what a repository knows of a manifest, as a registry's cleanup does.
    pub fn forget(&self, repository: &str, hex: &str) {
        let path =
            format!("data/docker/registry/v2/repositories/{repository}/_manifests/revisions/sha256/{hex}");
        fs::remove_dir_all(self.folder.path().join(path)).unwrap();
    }

    /// Copies an image of the small mirror into the registry with skopeo, all platforms of it.
    pub fn push(&self, skopeo: &Path, from: &str, to: &str, credentials: &[&str]) {
        let layout = repository().join("fixtures/mirror/oci");
        let from = format!("oci:{}:registry.example/tiny/engine:{from}", layout.display());
        let to = format!("docker://{}/{to}", self.name());
        let output = Command::new(skopeo)
            .args(["--insecure-policy", "copy", "--all", "--preserve-digests", "--dest-tls-verify=false"])
            .args(credentials)
            .args([&from, &to])
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}
