//! A job over several hosts: one process each, as a daemon starts them.

use crate::home::{Ending, Hosts, Order, job};
use crate::program::{SMALL, checkpoints, outcome, program, root, run, steps, succeed, summary};
use dae_cluster::protocol::hosts::Outcome;
use dae_train::topology::{Kinds, Topology};
use std::path::Path;
use std::time::{Duration, Instant};

const TWO_NODES: &str = "schedule.word=split 1 @node | split 2 @cluster | step adam(1e-3)";
const TWO_WORKERS: &str = "schedule.word=split 2 @node | step adam(1e-3)";
/// Noticed at once, with room for a busy machine.
const AT_ONCE: Duration = Duration::from_secs(2);

/// The MNIST example with the small model and these settings.
fn topology(settings: &[&str]) -> String {
    let all: Vec<_> = SMALL.iter().chain(settings).map(|setting| (*setting).to_owned()).collect();
    let loaded = Topology::from_file(&root().join("examples/mnist-mlp/topology.toml"), &all).unwrap();
    loaded.compile(&Kinds::stock()).unwrap().topology().to_toml()
}

/// Orders for two hosts, into this folder.
fn two(folder: &Path, settings: &[&str]) -> Vec<Order> {
    let topology = topology(&[&[TWO_NODES], settings].concat());
    let first = Order { topology, run_dir: Some(folder.to_owned()), resume: false };
    vec![first.clone(), Order { run_dir: None, ..first }]
}

fn undisturbed(orders: Vec<Order>) -> Vec<Ending> {
    job(orders, async |_: &mut Hosts| {})
}

fn assert_done(endings: &[Ending]) {
    for ending in endings {
        assert_eq!((&ending.outcome, ending.code), (&Some(Outcome::Done), 0), "{}", ending.stderr);
    }
}

#[test]
fn two_hosts_come_to_the_bits_of_two_workers() {
    let folders = tempfile::tempdir().unwrap();
    let (here, across) = (folders.path().join("here"), folders.path().join("across"));
    succeed(run(&here, &[TWO_WORKERS, "job.steps=200"], &[]));
    let endings = undisturbed(two(&across, &["job.steps=200"]));
    assert_done(&endings);
    assert_eq!(steps(&across).len(), 200);
    assert_eq!(steps(&across), steps(&here));
    assert_eq!(summary(&across)["parameters_sha256"], summary(&here)["parameters_sha256"]);
    assert_eq!(summary(&across)["workers"], 2);
    for file in ["events.ndjson", "loss.png", "reconstruction.png", "summary.json", "topology.toml"] {
        assert!(across.join(file).metadata().unwrap().len() > 0, "{file}");
    }
    // The first speaks, plainly; the other has nothing to add.
    assert!(endings[0].stderr.contains("finished at step 200"), "{}", endings[0].stderr);
    assert_eq!(endings[1].stderr, "");
}

#[test]
fn hosts_that_differ_all_say_in_what_and_train_nothing() {
    let folders = tempfile::tempdir().unwrap();
    for (setting, what) in [
        ("job.seed=8", "topology: "),
        ("model.layers=[784,40,784]", "model: "),
        ("data.limit=2999", "data: 3000 samples"),
    ] {
        let folder = folders.path().join(what);
        let mut orders = two(&folder, &[]);
        orders[1].topology = topology(&[TWO_NODES, setting]);
        let endings = undisturbed(orders);
        for ending in &endings {
            let (cause, code, blames) = ending.failure();
            assert_eq!((i32::from(code), blames), (ending.code, None), "{cause}");
            assert!(cause.contains(what) && cause.contains("on n0") && cause.contains("on n1"), "{cause}");
            assert!(ending.stderr.contains("the nodes differ"), "{}", ending.stderr);
        }
        assert!(steps(&folder).is_empty() && checkpoints(&folder).is_empty());
    }
}

#[test]
fn a_host_that_cannot_begin_is_named_by_the_others() {
    let folders = tempfile::tempdir().unwrap();
    let mut orders = two(folders.path(), &[]);
    orders[1].topology = topology(&[TWO_NODES, "data.path=/no/such/folder"]);
    let start = Instant::now();
    let endings = undisturbed(orders);
    let (cause, _, blames) = endings[1].failure();
    assert!(cause.contains("/no/such/folder") && blames.is_none(), "{cause}");
    let (cause, _, blames) = endings[0].failure();
    assert!(cause.contains("node n1: ") && cause.contains("/no/such/folder"), "{cause}");
    assert_eq!(blames, Some(1));
    assert!(start.elapsed() < Duration::from_secs(20));
}

const LONG: &[&str] = &["job.steps=3000", "checkpoint.every=100"];

#[test]
fn a_stop_ends_all_hosts_after_the_same_step_and_they_go_on_to_the_same_bits() {
    let folders = tempfile::tempdir().unwrap();
    let (here, across) = (folders.path().join("here"), folders.path().join("across"));
    succeed(run(&here, &[&[TWO_WORKERS], LONG].concat(), &[]));
    let endings = job(two(&across, LONG), async |hosts: &mut Hosts| {
        hosts.until("progress", |told| told.last().is_some_and(|p| p.step > 150 && p.total == 3000)).await;
        let actors = hosts.actors(1).await.actors;
        assert!(actors.iter().any(|a| a.name == "worker 1" && a.state == "running"), "{actors:?}");
        // One of them is enough.
        hosts.stop(1, "enough for today");
    });
    // The other cannot know whether somebody asked or an actor of the job; one that says so is enough for the daemons.
    assert!(matches!(&endings[1].outcome, Some(Outcome::Stopped { .. })), "{:?}", endings[1]);
    assert!(matches!(&endings[0].outcome, Some(Outcome::Done)), "{:?}", endings[0]);
    assert_eq!((endings[0].code, endings[1].code), (0, 130));
    let done = steps(&across).len();
    assert!((150..3000).contains(&done), "{done}");
    assert_eq!(summary(&across)["status"], "stopped");
    assert!(checkpoints(&across).last().unwrap().ends_with(format!("step-{done:010}")));

    let resumed = two(&across, LONG).into_iter().map(|order| Order { resume: true, ..order });
    assert_done(&undisturbed(resumed.collect()));
    assert_eq!(steps(&across), steps(&here));
    assert_eq!(summary(&across)["parameters_sha256"], summary(&here)["parameters_sha256"]);
}

#[test]
fn a_host_that_is_killed_fails_the_other_at_once_by_name() {
    let folders = tempfile::tempdir().unwrap();
    let mut killed = Instant::now();
    for victim in [0, 1] {
        let folder = folders.path().join(victim.to_string());
        let endings = job(two(&folder, LONG), async |hosts: &mut Hosts| {
            hosts.until("progress", |told| told.last().is_some_and(|p| p.step > 20)).await;
            hosts.kill(victim);
            killed = Instant::now();
        });
        assert_eq!((endings[victim].code, &endings[victim].outcome), (-libc::SIGKILL, &None));
        let other = &endings[1 - victim];
        let (cause, code, blames) = other.failure();
        assert!(cause.contains(&format!("node n{victim}: ")), "{cause}");
        assert_eq!((code, other.code, blames), (1, 1, Some(victim as u32)));
        assert!(other.at - killed < AT_ONCE, "{:?}", other.at - killed);
    }
}

#[test]
fn a_host_goes_with_its_daemon() {
    let folders = tempfile::tempdir().unwrap();
    let mut left = Instant::now();
    let endings = job(two(folders.path(), LONG), async |hosts: &mut Hosts| {
        hosts.until("progress", |told| told.last().is_some_and(|p| p.step > 20)).await;
        hosts.leave(0);
        left = Instant::now();
    });
    assert_eq!((endings[0].code, &endings[0].outcome), (3, &None));
    assert!(endings[0].stderr.contains("the daemon has gone"), "{}", endings[0].stderr);
    assert!(endings[0].at - left < AT_ONCE);
    assert!(endings[1].failure().0.contains("node n0: "));
}

#[test]
fn a_host_that_nobody_waits_for_says_so() {
    let mut alone = std::process::Command::new(program("dae-host"));
    alone.args(["serve", "--socket", "/no/c/n.sock", "--job", "j"]).env("DAE_JOB_TOKEN", "t");
    let (code, _, stderr) = outcome(alone);
    assert_eq!(code, 3, "{stderr}");
    assert!(stderr.contains("/no/c/n.sock") && stderr.contains("daemons start this command"), "{stderr}");
}

#[test]
fn a_word_for_several_nodes_is_refused_on_one_before_anything_is_begun() {
    let folders = tempfile::tempdir().unwrap();
    let folder = folders.path().join("run");
    let (code, _, stderr) = outcome(run(&folder, &[TWO_NODES], &[]));
    assert_eq!(code, 4, "{stderr}");
    assert!(stderr.contains("--cluster") && !folder.exists(), "{stderr}");
}
