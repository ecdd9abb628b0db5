//! One job over several nodes: what comes of it, who may go while it runs, and that nothing of it is left.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::daemon::{Daemon, fail, send, succeed};
use crate::rig::{CLUSTER, Lan, poll, program};

const PATIENCE: Duration = Duration::from_secs(60);

/// A small model on a part of MNIST: a step takes a few milliseconds.
const SMALL: [&str; 4] =
    ["model.layers=[784,48,12,48,784]", "data.limit=3000", "data.batch=32", "checkpoint.every=50"];

const OVER_THREE: &str = "schedule.word=split 1 @node | split 3 @cluster | step adam(1e-3)";
/// More than anybody waits for.
const ENDLESS: &str = "job.steps=1000000";

/// `dae-node run` on the MNIST example, small, with these settings, into this folder.
fn run(lan: &Lan, folder: &Path, settings: &[&str], more: &[&str]) -> Command {
    let mut command = lan.client(1, &["run", "examples/mnist-mlp/topology.toml"]);
    command.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap());
    command.args(more).arg("--run-dir").arg(folder);
    for setting in SMALL.iter().chain(settings) {
        command.args(["--set", setting]);
    }
    command
}

/// The same, over the cluster.
fn run_over(lan: &Lan, folder: &Path, settings: &[&str]) -> Command {
    run(lan, folder, settings, &["--cluster", CLUSTER])
}

/// A client that is killed with the test.
pub struct Client(pub Child, PathBuf);

impl Client {
    pub fn start(lan: &Lan, mut command: Command) -> Self {
        let log = lan.folder().join("client.log");
        let file = fs::File::create(&log).unwrap();
        let child =
            command.stdout(file.try_clone().unwrap()).stderr(file).stdin(Stdio::null()).spawn().unwrap();
        Self(child, log)
    }

    pub fn output(&self) -> String {
        fs::read_to_string(&self.1).unwrap()
    }

    pub fn code(&mut self) -> Option<i32> {
        let status = poll(PATIENCE, || self.0.try_wait().unwrap());
        status.unwrap_or_else(|| panic!("the client does not end:\n{}", self.output())).code()
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // Ended already, as a rule.
        let _ = self.0.kill();
        let _ = self.0.wait();
        if std::thread::panicking() {
            eprintln!("--- client:\n{}", self.output());
        }
    }
}

/// The hosts that daemons of this network have started, wherever they are.
fn hosts(lan: &Lan) -> Vec<u32> {
    let ours = lan.folder().to_str().unwrap().as_bytes();
    let is_host = |pid: &u32| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let words: Vec<&[u8]> = line.split(|byte| *byte == 0).collect();
        words.get(1) == Some(&b"serve".as_slice()) && words.iter().any(|word| word.starts_with(ours))
    };
    let all = fs::read_dir("/proc").unwrap();
    all.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).filter(is_host).collect()
}

/// The only job, as this daemon tells it.
fn job(daemon: &Daemon) -> Option<Value> {
    let answer = daemon.ask("jobs")?;
    answer["jobs"].as_array()?.first().cloned()
}

fn step(daemon: &Daemon) -> Option<u64> {
    job(daemon)?["progress"]["step"].as_u64()
}

/// Waits until the job has come that far.
fn until_step(daemon: &Daemon, client: &Client, at_least: u64) {
    let there = poll(PATIENCE, || (step(daemon)? >= at_least).then_some(()));
    assert!(there.is_some(), "{:?}\n{}", job(daemon), client.output());
}

/// No host is left, nor a file of one beside the daemons' sockets.
pub fn nothing_is_left(lan: &Lan, nodes: usize) {
    let gone = poll(Duration::from_secs(10), || hosts(lan).is_empty().then_some(()));
    assert!(gone.is_some(), "hosts are left: {:?}", hosts(lan));
    for place in 1..=nodes {
        assert_eq!(lan.sockets(place), [format!("n{place}.sock")]);
    }
}

fn losses(folder: &Path) -> Vec<f64> {
    let log = fs::read_to_string(folder.join("events.ndjson")).unwrap();
    let events = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    events.filter(|event| event["type"] == "step").map(|event| event["loss"].as_f64().unwrap()).collect()
}

#[test]
fn a_job_over_three_nodes_learns_as_one_node_does() {
    let Some(lan) = Lan::of(3) else { return };
    let _daemons = lan.cluster(3);
    let (alone, over) = (lan.folder().join("alone"), lan.folder().join("over"));
    succeed(&mut run(&lan, &alone, &["job.steps=200", "schedule.word=split 3 | step adam(1e-3)"], &[]));
    let mut client = Client::start(&lan, run_over(&lan, &over, &["job.steps=200", OVER_THREE]));
    assert_eq!(client.code(), Some(0), "{}", client.output());

    let (one, three) = (losses(&alone), losses(&over));
    assert_eq!((one.len(), three.len()), (200, 200));
    for (step, (one, three)) in one.iter().zip(&three).enumerate() {
        assert!((one - three).abs() <= 1e-5 * one.abs(), "step {step}: {one} and {three}");
    }
    let to_the_bit = one == three;
    println!("losses of 3 workers on one node and of one worker on each of 3: to the bit {to_the_bit}");
    // What the first node wrote is in the run's folder, and can be evaluated.
    succeed(&mut lan.client(1, &["eval", over.to_str().unwrap()]));
    nothing_is_left(&lan, 3);
}

#[test]
fn a_client_that_is_killed_ends_nothing() {
    let Some(lan) = Lan::of(3) else { return };
    let daemons = lan.cluster(3);
    let folder = lan.folder().join("run");
    let mut client = Client::start(&lan, run_over(&lan, &folder, &[ENDLESS, OVER_THREE]));
    until_step(&daemons[0], &client, 20);
    assert_eq!(hosts(&lan).len(), 3);
    client.0.kill().unwrap();
    let then = step(&daemons[0]).unwrap();
    until_step(&daemons[0], &client, then + 50);

    // Any daemon knows of it, and another client may follow and stop it.
    let id = job(&daemons[2]).unwrap()["job"].as_str().unwrap().to_owned();
    let node = ["--cluster", CLUSTER];
    let mut attached = Client::start(&lan, lan.client(3, &[&["attach", &id], &node[..]].concat()));
    let listed = succeed(&mut lan.client(3, &[&["jobs"], &node[..]].concat()));
    assert!(listed.contains(&id), "{listed}");
    succeed(&mut lan.client(3, &[&["stop", &id], &node[..]].concat()));
    // Stopped in order: what it had is saved, and whoever looked on is told.
    attached.code();
    nothing_is_left(&lan, 3);
    let summary: Value =
        serde_json::from_str(&fs::read_to_string(folder.join("summary.json")).unwrap()).unwrap();
    assert_eq!(summary["status"], "stopped", "{summary:#}");
    let listed = succeed(&mut lan.client(3, &[&["logs", &id], &node[..]].concat()));
    assert!(!listed.is_empty());
}

#[test]
fn an_interrupt_of_the_client_ends_nothing() {
    let Some(lan) = Lan::of(2) else { return };
    let daemons = lan.cluster(2);
    let word = "schedule.word=split 1 @node | split 2 @cluster | step adam(1e-3)";
    let mut client = Client::start(&lan, run_over(&lan, &lan.folder().join("run"), &[ENDLESS, word]));
    until_step(&daemons[0], &client, 20);
    send(client.0.id(), libc::SIGINT);
    client.code();
    let said = client.output();
    assert!(said.contains("attach") && said.contains("stop"), "it says how to go on: {said}");
    let then = step(&daemons[0]).unwrap();
    until_step(&daemons[0], &client, then + 50);
}

#[test]
fn a_killed_daemon_takes_its_hosts_along_and_the_job_ends_with_the_cause() {
    let Some(lan) = Lan::of(3) else { return };
    let daemons = lan.cluster(3);
    let mut client = Client::start(&lan, run_over(&lan, &lan.folder().join("run"), &[ENDLESS, OVER_THREE]));
    until_step(&daemons[0], &client, 20);
    let before = hosts(&lan);
    daemons[1].signal(libc::SIGKILL);
    let fewer = poll(Duration::from_secs(5), || (hosts(&lan).len() < before.len()).then_some(()));
    assert!(fewer.is_some(), "its host lives on");
    assert_eq!(client.code(), Some(1), "{}", client.output());
    let said = client.output();
    assert!(said.contains("n2"), "the lost node is named: {said}");
    // The killed daemon could not remove its socket; the next of its name replaces it.
    nothing_is_left(&lan, 3);
}

#[test]
fn a_join_over_two_nodes_learns_as_one_on_one_node_does() {
    let Some(lan) = Lan::of(2) else { return };
    let _daemons = lan.cluster(2);
    let word = |place: &str| {
        format!(
            "schedule.word=split 2 | step adamw(1e-3) | every 5 | join 2{place} outer=nesterov(0.7,0.9) shards=2"
        )
    };
    let steps = "job.steps=100";
    let (alone, over) = (lan.folder().join("alone"), lan.folder().join("over"));
    succeed(&mut run(&lan, &alone, &[steps, &word("")], &[]));
    let mut client = Client::start(&lan, run_over(&lan, &over, &[steps, &word(" @cluster")]));
    assert_eq!(client.code(), Some(0), "{}", client.output());
    let (one, two) = (losses(&alone), losses(&over));
    assert_eq!((one.len(), two.len()), (20, 20));
    for (step, (one, two)) in one.iter().zip(&two).enumerate() {
        assert!((one - two).abs() <= 1e-5 * one.abs(), "update {step}: {one} and {two}");
    }
    let staleness = fs::read_to_string(over.join("staleness.json")).unwrap();
    let staleness: Value = serde_json::from_str(&staleness).unwrap();
    assert_eq!(staleness["children"].as_array().unwrap().len(), 2, "{staleness:#}");
    succeed(&mut lan.client(1, &["eval", over.to_str().unwrap()]));
    nothing_is_left(&lan, 2);
}

#[test]
fn a_join_that_waits_for_nobody_ends_with_a_lost_node_and_goes_on_from_its_checkpoint() {
    let Some(lan) = Lan::of(2) else { return };
    let mut daemons = lan.cluster(2);
    let folder = lan.folder().join("run");
    let word = "schedule.word=split 2 @node | step adamw(1e-3) | every 5 | join 2 @cluster sync=async outer=nesterov(0.1,0.3)";
    let mut client = Client::start(&lan, run_over(&lan, &folder, &[ENDLESS, word]));
    until_step(&daemons[0], &client, 120);
    daemons[1].signal(libc::SIGKILL);
    assert_eq!(client.code(), Some(1), "{}", client.output());
    assert!(client.output().contains("n2"), "the lost node is named: {}", client.output());
    daemons[1].ended(Duration::from_secs(30));
    drop(daemons);

    let daemons = lan.cluster(2);
    let more = ["--cluster", CLUSTER, "--resume"];
    let mut client = Client::start(&lan, run(&lan, &folder, &[ENDLESS, word], &more));
    until_step(&daemons[0], &client, 130);
    let id = job(&daemons[1]).unwrap()["job"].as_str().unwrap().to_owned();
    succeed(&mut lan.client(2, &["stop", &id, "--cluster", CLUSTER]));
    client.code();
    let summary: Value =
        serde_json::from_str(&fs::read_to_string(folder.join("summary.json")).unwrap()).unwrap();
    assert_eq!(summary["status"], "stopped", "{summary:#}");
    assert!(summary["step"].as_u64().unwrap() >= 130, "{summary:#}");
    nothing_is_left(&lan, 2);
}

#[test]
fn daemons_that_leave_take_everything_along() {
    let Some(lan) = Lan::of(2) else { return };
    let mut daemons = lan.cluster(2);
    let word = "schedule.word=split 1 @node | split 2 @cluster | step adam(1e-3)";
    let mut client = Client::start(&lan, run_over(&lan, &lan.folder().join("run"), &[ENDLESS, word]));
    until_step(&daemons[0], &client, 20);
    for daemon in &daemons {
        daemon.signal(libc::SIGTERM);
    }
    for daemon in &mut daemons {
        daemon.ended(Duration::from_secs(30));
    }
    assert_ne!(client.code(), Some(0), "{}", client.output());
    let gone = poll(Duration::from_secs(10), || hosts(&lan).is_empty().then_some(()));
    assert!(gone.is_some(), "{:?}", hosts(&lan));
    assert_eq!((lan.sockets(1), lan.sockets(2)), (vec![], vec![]));
}

#[test]
fn what_cannot_be_placed_is_refused_at_once_with_the_arithmetic() {
    let Some(lan) = Lan::of(2) else { return };
    let _daemons = lan.cluster(2);
    let folder = lan.folder().join("run");
    let start = std::time::Instant::now();
    let word = "schedule.word=split 1 @node | split 5 @cluster | step adam(1e-3)";
    let said = fail(&mut run_over(&lan, &folder, &[word]));
    assert!(said.contains('5') && said.contains('2'), "{said}");
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
    assert!(!folder.exists() && hosts(&lan).is_empty(), "nothing is begun");

    // Several nodes without a cluster: what is missing is named.
    let said = fail(&mut run(&lan, &folder, &[OVER_THREE], &[]));
    assert!(said.contains("--cluster"), "{said}");
    // No daemon: which command starts one.
    let mut lost = program();
    lost.args(["nodes", "--cluster", "nowhere"]).env("XDG_RUNTIME_DIR", lan.folder());
    let said = fail(&mut lost);
    assert!(said.contains("dae-node join"), "{said}");
}
