//! Every way a job ends.

use crate::rig::{Rig, cause, eventually, follow, lives, train};
use dae_actor::System;
use dae_cluster::protocol::hosts::Outcome;
use dae_cluster::protocol::jobs::JobState;
use std::time::{Duration, Instant};

#[test]
fn two_nodes_do_all_steps() {
    System::run(async |mut system| {
        let rig = Rig::start(&mut system, 2).await;
        let client = rig.client("n1").await;
        let (job, nodes) = client.run(rig.job(2, "steps=50")).await.unwrap();
        assert_eq!(nodes, ["n1", "n2"]);
        assert!(job.starts_with("fake-"), "{job}");
        let (outcome, seen) = follow(&client, &job).await;
        assert_eq!(outcome, Outcome::Done);
        // What both say is told once; what one says, with its name.
        assert_eq!(seen.said("a host begins"), ["n1+n2"]);
        assert_eq!(seen.said("all steps are done"), ["n1+n2"]);
        assert_eq!(seen.said("host 0 of 2 writes to Some(\"/runs/fake\")"), ["n1"]);
        assert_eq!(seen.said("host 1 of 2 writes to None"), ["n2"]);
        assert_eq!(seen.progress.map(|progress| (progress.step, progress.total)), Some((50, 50)));
        assert_eq!(seen.states.last(), Some(&JobState::Ended(Outcome::Done)));
        assert_eq!(rig.processes(), [""; 0]);
        rig.end().await;
    })
    .unwrap();
}

#[test]
fn one_hosts_failure_is_the_jobs_and_the_others_stop() {
    System::run(async |mut system| {
        let rig = Rig::start(&mut system, 2).await;
        let client = rig.client("n1").await;
        // Whoever is heard first; the deaf one comes to its own end, stop or no stop.
        let (job, _) = client.run(rig.job(2, "steps=100 fail=1 blame=0:1 deaf=1")).await.unwrap();
        let (outcome, _) = follow(&client, &job).await;
        assert_eq!(cause(&outcome), "n2: out of luck");
        let (job, _) = client.run(rig.job(2, "steps=100 crash=1 blame=0:1 deaf=1")).await.unwrap();
        let (outcome, _) = follow(&client, &job).await;
        assert_eq!(cause(&outcome), "the host on n2 ended with exit code 7, without having said why");
        let (job, _) = client.run(rig.job(2, "steps=100 fail=0")).await.unwrap();
        let (outcome, seen) = follow(&client, &job).await;
        assert_eq!(cause(&outcome), "n1: out of luck");
        assert_eq!(seen.said("host 1 stops"), ["n2"]);
        rig.end().await;
    })
    .unwrap();
}

#[test]
fn a_stop_is_in_order() {
    System::run(async |mut system| {
        let (rig, client, job) = Rig::training(&mut system, 2, "steps=100000").await;
        assert!(client.stop(&job, "stopped by ada", false).await.unwrap());
        let (outcome, seen) = follow(&client, &job).await;
        assert_eq!(outcome, Outcome::Stopped { why: "stopped by ada".into() });
        assert_eq!(
            (seen.said("host 0 stops"), seen.said("host 1 stops")),
            (vec!["n1".into()], vec!["n2".into()])
        );
        assert!(!client.stop(&job, "again", false).await.unwrap(), "it is over");
        rig.end().await;
    })
    .unwrap();
}

#[test]
fn who_ignores_a_stop_is_killed_after_the_grace_with_all_it_started() {
    System::run(async |mut system| {
        let rig = Rig::start(&mut system, 2).await;
        let client = rig.client("n1").await;
        let mut run = rig.job(2, "steps=100000 deaf=1 child");
        run.grace_ms = 700;
        let job = train(&client, run).await;
        let began = Instant::now();
        client.stop(&job, "stopped by ada", false).await.unwrap();
        let (outcome, seen) = follow(&client, &job).await;
        let took = began.elapsed();
        assert!((700..2_500).contains(&took.as_millis()), "{took:?}");
        assert_eq!(
            cause(&outcome),
            "stopped by ada; the host on n2 was killed, what it had not saved is lost"
        );
        let children: Vec<u32> = seen
            .lines
            .iter()
            .filter_map(|line| line.text.strip_prefix("child ")?.split_whitespace().next()?.parse().ok())
            .collect();
        assert_eq!(children.len(), 2);
        eventually("its children are gone", async || !children.iter().any(|pid| lives(*pid))).await;
        rig.end().await;
    })
    .unwrap();
}

#[test]
fn a_stop_at_once_kills() {
    System::run(async |mut system| {
        let (rig, client, job) = Rig::training(&mut system, 1, "steps=100000").await;
        let began = Instant::now();
        client.stop(&job, "stopped by ada", true).await.unwrap();
        let (outcome, _) = follow(&client, &job).await;
        assert!(cause(&outcome).contains("was killed") && began.elapsed() < Duration::from_secs(1));
        rig.end().await;
    })
    .unwrap();
}

#[test]
fn a_program_that_is_not_there_fails_the_job_by_name() {
    System::run(async |mut system| {
        let rig = Rig::start(&mut system, 2).await;
        let client = rig.client("n1").await;
        let mut run = rig.job(2, "");
        run.host = "/no/such/host".into();
        let (job, _) = client.run(run).await.unwrap();
        let (outcome, _) = follow(&client, &job).await;
        let cause = cause(&outcome);
        assert!(
            cause.contains("could not start its host: cannot run /no/such/host: No such file"),
            "{cause}"
        );
        rig.end().await;
    })
    .unwrap();
}
