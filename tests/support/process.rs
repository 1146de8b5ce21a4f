//! Programs that a test starts and that end with it.

use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::repository;

/// A program that runs beside a test; it is ended by its id when this is dropped.
pub struct Running(Child);

impl Running {
    /// Starts a program.
    pub fn start(command: &mut Command) -> Self {
        Self(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    }

    /// Ends the program at once, as a power cut would.
    pub fn kill(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Returns a port of loopback that nobody listens on.
pub fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// Waits until something listens on a port of loopback.
pub fn wait_for(port: u16) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(Instant::now() < deadline, "nothing listens on port {port}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Returns the path of a program, or says that the test is skipped.
pub fn program(test: &str, name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path)
        .chain(["/usr/bin".into(), "/usr/sbin".into()])
        .map(|folder| folder.join(name));
    let found = found.filter(|path| path.is_file()).collect::<Vec<_>>().into_iter().next();
    if found.is_none() {
        println!("{test}: skipped, there is no `{name}` here");
    }
    found
}

/// Returns a Python that has the hub's own client, or says that the test is skipped.
pub fn hub_python(test: &str) -> Option<PathBuf> {
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| repository().join("target"), PathBuf::from);
    let peers = std::env::var_os("RECIPEC_PEERS").map_or_else(|| target.join("peers"), PathBuf::from);
    let candidates = [std::env::var_os("RECIPEC_PYTHON").map(PathBuf::from), Some(peers.join("bin/python"))];
    for python in candidates.into_iter().flatten() {
        let has = Command::new(&python).args(["-c", "import huggingface_hub"]).output();
        if has.is_ok_and(|output| output.status.success()) {
            return Some(python);
        }
    }
    println!("{test}: skipped, there is no Python with huggingface_hub (RECIPEC_PYTHON, or target/peers)");
    None
}
