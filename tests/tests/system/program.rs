//! Starting the programs, and reading what they leave.

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// No run in these tests takes nearly as long.
const PATIENCE: Duration = Duration::from_secs(120);

/// A small model on a part of MNIST: a step takes a millisecond.
pub const SMALL: &[&str] = &[
    "model.layers=[784,48,12,48,784]",
    "data.limit=3000",
    "data.batch=32",
    "checkpoint.every=20",
    "job.steps=120",
];

/// The repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// A program beside this test's own.
pub fn program(name: &str) -> PathBuf {
    let path = std::env::current_exe().unwrap().ancestors().nth(2).unwrap().join(name);
    assert!(path.is_file(), "{} is missing: run `cargo xtask build`", path.display());
    path
}

/// `dae-node` with these arguments, in the repository.
pub fn node(args: &[&str]) -> Command {
    let mut command = Command::new(program("dae-node"));
    command.args(args).current_dir(root()).stdin(Stdio::null()).env_remove("DAE_HOST").env_remove("RUST_LOG");
    command
}

/// `dae-node run` on the MNIST example with the small model, these settings, and this run folder.
pub fn run(folder: &Path, settings: &[&str], more: &[&str]) -> Command {
    let mut command = node(&["run", "examples/mnist-mlp/topology.toml", "--run-dir"]);
    command.arg(folder).args(more);
    for setting in SMALL.iter().chain(settings) {
        command.args(["--set", setting]);
    }
    command
}

/// Exit code, standard output and standard error.
pub fn outcome(mut command: Command) -> (i32, String, String) {
    let output: Output = command.output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code().unwrap_or(-1), text(&output.stdout), text(&output.stderr))
}

/// Runs to the end, which must be good.
pub fn succeed(command: Command) -> String {
    let (code, stdout, stderr) = outcome(command);
    assert_eq!(code, 0, "{stderr}");
    stdout
}

/// The lines of steps in a run's log, as they stand.
pub fn steps(folder: &Path) -> Vec<String> {
    let log = fs::read_to_string(folder.join("events.ndjson")).unwrap_or_default();
    log.lines().filter(|l| l.starts_with("{\"type\":\"step\"")).map(String::from).collect()
}

/// The losses of a run.
pub fn losses(folder: &Path) -> Vec<f64> {
    let loss = |line: &String| serde_json::from_str::<Value>(line).unwrap()["loss"].as_f64().unwrap();
    steps(folder).iter().map(loss).collect()
}

/// A run's summary.
pub fn summary(folder: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(folder.join("summary.json")).unwrap()).unwrap()
}

/// The names of a run's checkpoints, oldest first.
pub fn checkpoints(folder: &Path) -> Vec<PathBuf> {
    let mut all: Vec<_> = fs::read_dir(folder.join("checkpoints"))
        .map(|entries| entries.map(|e| e.unwrap().path()).collect())
        .unwrap_or_default();
    all.sort();
    all
}

/// A process that is ended when the test is over, whatever it ends with.
pub struct Process(pub Child);

impl Process {
    /// Starts it, its output dropped.
    pub fn start(mut command: Command) -> Self {
        Self(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: i32) {
        let id = i32::try_from(self.0.id()).unwrap();
        // SAFETY: a signal to a child that has not been waited for, so the number is still its own.
        #[allow(unsafe_code)]
        let sent = unsafe { libc::kill(id, signal) };
        assert_eq!(sent, 0);
    }

    /// Waits until `ready` says so.
    pub fn until(&mut self, what: &str, ready: impl Fn() -> bool) {
        let start = Instant::now();
        while !ready() {
            assert!(start.elapsed() < PATIENCE, "waited in vain for {what}");
            assert!(self.0.try_wait().unwrap().is_none(), "it ended before {what}");
            std::thread::yield_now();
        }
    }

    /// Its exit code, or the negative of the signal that ended it.
    pub fn code(&mut self) -> i32 {
        use std::os::unix::process::ExitStatusExt;
        let start = Instant::now();
        loop {
            if let Some(status) = self.0.try_wait().unwrap() {
                return status.code().unwrap_or_else(|| -status.signal().unwrap());
            }
            assert!(start.elapsed() < PATIENCE, "it did not end");
            std::thread::yield_now();
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Ended already, as a rule.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
