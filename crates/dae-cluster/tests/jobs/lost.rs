//! Daemons that leave or are killed.

use crate::rig::{Elsewhere, Rig, be_a_daemon, cause, eventually, follow, lives, train};
use dae_actor::System;
use dae_cluster::client::Client;
use dae_cluster::protocol::hosts::Outcome;
use std::time::{Duration, Instant};

/// The processes of a job's hosts, by node.
async fn hosts(client: &Client, job: &str) -> Vec<(String, u32)> {
    let rows = client.actors().await.unwrap();
    let hosts = rows.processes.into_iter().filter(|process| process.job.as_deref() == Some(job));
    hosts.map(|process| (process.node, process.pid)).collect()
}

#[test]
fn a_killed_daemon_takes_its_hosts_along_and_the_job_ends_by_name() {
    if be_a_daemon() {
        return;
    }
    System::run(async |mut system| {
        let rig = Rig::start(&mut system, 1).await;
        let mut other = Elsewhere::start(
            &rig,
            "n2",
            "lost::a_killed_daemon_takes_its_hosts_along_and_the_job_ends_by_name",
        );
        rig.see(2).await;
        let client = rig.client("n1").await;
        let job = train(&client, rig.job(2, "steps=100000")).await;
        let hosts = hosts(&client, &job).await;
        let [(_, first), (_, second)] = hosts[..] else { panic!("{hosts:?}") };
        let began = Instant::now();
        other.kill();
        eventually("its host goes with it", async || !lives(second)).await;
        assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
        let (outcome, seen) = follow(&client, &job).await;
        assert!(cause(&outcome).starts_with("the host on n2 was lost with its node: "), "{outcome:?}");
        assert_eq!(seen.said("host 0 stops"), ["n1"]);
        assert!(!lives(first));
        assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());
        rig.forget("n2");
        rig.end().await;
    })
    .unwrap();
}

#[test]
fn a_killed_home_ends_the_hosts_elsewhere() {
    if be_a_daemon() {
        return;
    }
    System::run(async |mut system| {
        let rig = Rig::start(&mut system, 1).await;
        let mut home = Elsewhere::start(&rig, "n2", "lost::a_killed_home_ends_the_hosts_elsewhere");
        rig.see(2).await;
        let client = rig.client("n2").await;
        let (job, nodes) = client.run(rig.job(2, "steps=100000 deaf=1")).await.unwrap();
        assert_eq!(nodes, ["n2", "n1"]);
        eventually("it trains", async || client.news(&job, 0, true).await.unwrap().job.progress.is_some())
            .await;
        let hosts = hosts(&client, &job).await;
        home.kill();
        // The one that is deaf is killed in the end.
        eventually("all hosts are gone", async || !hosts.iter().any(|(_, pid)| lives(*pid))).await;
        assert_eq!(hosts.len(), 2);
        let client = rig.client("n1").await;
        eventually("its cores are free", async || client.status().await.unwrap().node.hosts.is_empty()).await;
        rig.forget("n2");
        rig.end().await;
    })
    .unwrap();
}

#[test]
fn a_daemon_that_leaves_lets_its_hosts_save() {
    System::run(async |mut system| {
        let (mut rig, client, job) = Rig::training(&mut system, 2, "steps=100000").await;
        rig.daemons.pop().unwrap().leave().await.unwrap();
        let (outcome, seen) = follow(&client, &job).await;
        assert_eq!(outcome, Outcome::Stopped { why: "n2: the daemon leaves".into() });
        assert_eq!(seen.said("host 1 stops"), ["n2"]);
        assert_eq!(seen.said("host 0 stops"), ["n1"]);
        rig.end().await;
    })
    .unwrap();
}
