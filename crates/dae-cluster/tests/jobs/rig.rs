//! Daemons of a cluster in one process, or in some of their own, and a client.

use dae_actor::System;
use dae_cluster::Sockets;
use dae_cluster::client::Client;
use dae_cluster::daemon::{Daemon, Settings};
use dae_cluster::protocol::hosts::{Outcome, Progress};
use dae_cluster::protocol::jobs::{Demand, JobState, LogLine, RunJob};
use dae_cluster::protocol::{NodeInfo, NodeState, Work};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long anything here may take.
pub const PATIENCE: Duration = Duration::from_secs(20);
const CLUSTER: &str = "c";
/// A process with this set is the daemon of that name, of the cluster in the folder after the colon.
const DAEMON: &str = "DAE_TEST_DAEMON";

pub struct Rig {
    pub daemons: Vec<Daemon>,
    pub folder: tempfile::TempDir,
}

impl Rig {
    /// Daemons `n1`, `n2`, … that see each other.
    pub async fn start(system: &mut System, nodes: usize) -> Self {
        let mut rig = Self { daemons: Vec::new(), folder: tempfile::tempdir().unwrap() };
        for number in 1..=nodes {
            let settings = settings(rig.folder.path(), &format!("n{number}"));
            rig.daemons.push(Daemon::start(system, &settings).await.unwrap());
        }
        rig.see(nodes).await;
        rig
    }

    /// Waits until all nodes see so many.
    pub async fn see(&self, nodes: usize) {
        for daemon in &self.daemons {
            let client = self.client(&daemon.me().name).await;
            eventually("they see each other", async || {
                let nodes_seen = client.nodes().await.unwrap().nodes;
                // Those that have described themselves.
                let there = |node: &&NodeInfo| node.state == NodeState::Alive && node.cores > 0;
                nodes_seen.iter().filter(there).count() == nodes
            })
            .await;
        }
    }

    /// Daemons `n1`, `n2`, …, a client of the first, and a job over all of them that trains.
    pub async fn training(system: &mut System, nodes: u32, words: &str) -> (Self, Client, String) {
        let rig = Self::start(system, nodes as usize).await;
        let client = rig.client("n1").await;
        let job = train(&client, rig.job(nodes, words)).await;
        (rig, client, job)
    }

    pub async fn client(&self, node: &str) -> Client {
        Client::connect_in(&self.sockets(), CLUSTER, Some(node)).await.unwrap()
    }

    fn sockets(&self) -> Sockets {
        Sockets::under(&self.folder.path().join("run"), CLUSTER).unwrap()
    }

    /// A job of the fake host.
    pub fn job(&self, nodes: u32, words: &str) -> RunJob {
        RunJob {
            name: "fake".into(),
            work: Work::Train(words.into()),
            demand: Demand { nodes, workers_per_node: 1, threads_per_worker: 1, only: Vec::new() },
            host: fake_host(),
            run_dir: Some("/runs/fake".into()),
            resume: false,
            cwd: self.folder.path().into(),
            grace_ms: 10_000,
        }
    }

    /// Processes that were started with a path of this rig, and are still there.
    pub fn processes(&self) -> Vec<String> {
        let folder = self.folder.path().to_str().unwrap().to_owned();
        let mut found = Vec::new();
        for entry in std::fs::read_dir("/proc").unwrap().flatten() {
            let line = std::fs::read_to_string(entry.path().join("cmdline")).unwrap_or_default();
            if line.contains(&folder) {
                found.push(line.replace('\0', " "));
            }
        }
        found
    }

    /// What a killed daemon leaves is its socket's file: whoever takes its name next replaces it.
    pub fn forget(&self, node: &str) {
        for entry in std::fs::read_dir(self.sockets().folder()).unwrap().flatten() {
            if entry.file_name().to_str().is_some_and(|name| name.starts_with(node)) {
                std::fs::remove_file(entry.path()).unwrap();
            }
        }
    }

    /// Everybody leaves; nothing is left.
    pub async fn end(mut self) {
        for daemon in self.daemons.drain(..) {
            daemon.leave().await.unwrap();
        }
        assert_eq!(self.processes(), [""; 0]);
        // The folder goes with its last daemon, or is empty.
        let left = std::fs::read_dir(self.sockets().folder()).into_iter().flatten();
        let left: Vec<_> = left.flatten().map(|entry| entry.path()).collect();
        assert!(left.is_empty(), "{left:?}");
    }
}

/// Another daemon of a rig, in a process of its own. The test `name` must begin with [`be_a_daemon`].
pub struct Elsewhere(pub Child);

impl Elsewhere {
    pub fn start(rig: &Rig, name: &str, test: &str) -> Self {
        let me = std::env::current_exe().unwrap();
        let mut command = Command::new(me);
        command.args([test, "--exact", "--test-threads=1"]).stdout(Stdio::null()).stderr(Stdio::null());
        command.env(DAEMON, format!("{name}:{}", rig.folder.path().display()));
        Self(command.spawn().unwrap())
    }

    pub fn kill(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Elsewhere {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Whether this process is a daemon; if so, it has been one, and the test is over.
pub fn be_a_daemon() -> bool {
    let Ok(word) = std::env::var(DAEMON) else { return false };
    let (name, folder) = word.split_once(':').unwrap();
    dae_cluster::daemon::run(&settings(Path::new(folder), name), |_| ()).unwrap();
    true
}

fn settings(folder: &Path, name: &str) -> Settings {
    Settings {
        cluster: CLUSTER.into(),
        name: Some(name.into()),
        runtime_dir: Some(folder.join("run")),
        state_dir: Some(folder.join("state")),
        ..Settings::default()
    }
}

/// Built with the tests: `cargo test -p dae-cluster` builds the examples, too.
fn fake_host() -> PathBuf {
    let me = std::env::current_exe().unwrap();
    let path = me.parent().unwrap().parent().unwrap().join("examples/fake_host");
    assert!(path.exists(), "{} is missing: cargo build -p dae-cluster --example fake_host", path.display());
    path
}

/// What was seen of a job.
#[derive(Debug, Default)]
pub struct Seen {
    pub lines: Vec<LogLine>,
    pub progress: Option<Progress>,
    pub states: Vec<JobState>,
}

impl Seen {
    /// Lines of so many nodes that say this.
    pub fn said(&self, text: &str) -> Vec<String> {
        let lines = self.lines.iter().filter(|line| line.text.contains(text));
        lines.map(|line| line.nodes.join("+")).collect()
    }
}

/// Follows a job to its end.
pub async fn follow(client: &Client, job: &str) -> (Outcome, Seen) {
    let mut seen = Seen::default();
    let followed = client.follow(job, 0, |news| {
        assert_eq!(news.missed, 0);
        seen.lines.extend(news.lines.iter().cloned());
        seen.progress = news.job.progress.or(seen.progress);
        if seen.states.last() != Some(&news.job.state) {
            seen.states.push(news.job.state.clone());
        }
    });
    let outcome = tokio::time::timeout(PATIENCE, followed).await.expect("it ends in time").unwrap();
    (outcome, seen)
}

/// Starts a job, and waits until it trains.
pub async fn train(client: &Client, run: RunJob) -> String {
    let (job, _) = client.run(run).await.unwrap();
    eventually("it trains", async || client.news(&job, 0, true).await.unwrap().job.progress.is_some()).await;
    job
}

/// Waits until it is so.
pub async fn eventually(what: &str, mut so: impl AsyncFnMut() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !so().await {
        assert!(Instant::now() < until, "in vain: {what}");
        tokio::time::sleep_until((Instant::now() + Duration::from_millis(20)).into()).await;
    }
}

/// Whether a process is there and no zombie.
pub fn lives(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    !stat.is_empty() && !stat.contains(") Z")
}

pub fn cause(outcome: &Outcome) -> &str {
    match outcome {
        Outcome::Failed { cause, .. } => cause,
        other => panic!("{other:?}"),
    }
}
