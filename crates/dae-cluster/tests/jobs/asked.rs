//! What clients ask: to place, follow, stop, list.

use crate::rig::{Rig, eventually, follow, train};
use dae_actor::System;
use dae_cluster::client::JobError;
use dae_cluster::protocol::Work;
use dae_cluster::protocol::hosts::Outcome;
use dae_cluster::protocol::jobs::{JobState, RunJob};

#[test]
fn a_demand_that_cannot_be_met_is_refused_at_once_with_the_arithmetic() {
    System::run(async |mut system| {
        let rig = Rig::start(&mut system, 2).await;
        let client = rig.client("n1").await;
        let refused = async |run: RunJob| match client.run(run).await {
            Err(JobError::Refused(why)) => why,
            other => panic!("{other:?}"),
        };
        let why = refused(rig.job(3, "")).await;
        assert!(
            why.starts_with("3 nodes with 1 cores free")
                && why.contains("each are wanted, 2 have that: n1 has "),
            "{why}"
        );
        let mut run = rig.job(2, "");
        run.demand.only = vec!["n2".into(), "n9".into()];
        assert!(refused(run.clone()).await.starts_with("placement.nodes names n9, not in the cluster now"));
        run.demand.only.pop();
        assert!(refused(run.clone()).await.contains("leaves out n1"));
        run.demand = rig.job(1, "").demand;
        run.demand.workers_per_node = 100_000;
        assert!(refused(run.clone()).await.contains("100000 cores free"));
        run.work = Work::Train("x".repeat(100_000));
        assert!(matches!(client.run(run.clone()).await, Err(JobError::Ask(_) | JobError::Refused(_))));
        run.work = Work::Train(String::new());
        run.host = "relative".into();
        assert!(refused(run).await.contains("not an absolute path"));
        assert_eq!(client.jobs().await.unwrap().jobs, []);
        rig.end().await;
    })
    .unwrap();
}

#[test]
fn a_client_may_leave_and_another_attach_from_any_node() {
    System::run(async |mut system| {
        let rig = Rig::start(&mut system, 3).await;
        let client = rig.client("n1").await;
        let job = train(&client, rig.job(2, "steps=100000")).await;
        client.peer.close("the client leaves");
        drop(client);

        for node in ["n2", "n3"] {
            let client = rig.client(node).await;
            let rows = client.jobs().await.unwrap();
            assert_eq!((rows.jobs.len(), rows.silent), (1, Vec::<String>::new()));
            let row = &rows.jobs[0];
            assert_eq!(
                (row.job.as_str(), row.home.as_str(), row.state.clone()),
                (job.as_str(), "n1", JobState::Running)
            );
            let news = client.news(&job, 0, true).await.unwrap();
            assert!(news.lines.iter().any(|line| line.text == "a host begins"), "from the start: {news:?}");
        }
        let client = rig.client("n3").await;
        client.stop(&job, "stopped by bob", false).await.unwrap();
        let (outcome, _) = follow(&client, &job).await;
        assert_eq!(outcome, Outcome::Stopped { why: "stopped by bob".into() });

        let unknown = client.news("other-1234", 0, true).await;
        let Err(JobError::Unknown(why)) = unknown else { panic!("{unknown:?}") };
        assert_eq!(why, "no node knows a job other-1234; see `dae-node jobs`");
        rig.end().await;
    })
    .unwrap();
}

#[test]
fn two_jobs_share_a_node_as_far_as_its_cores_go() {
    System::run(async |mut system| {
        let rig = Rig::start(&mut system, 1).await;
        let client = rig.client("n1").await;
        let cores = client.status().await.unwrap().node.cores;
        let mut jobs = Vec::new();
        for _ in 0..cores {
            jobs.push(client.run(rig.job(1, "steps=100000")).await.unwrap().0);
            let started = async || client.status().await.unwrap().node.hosts.len() == jobs.len();
            eventually("its host runs", started).await;
        }
        let Err(JobError::Refused(why)) = client.run(rig.job(1, "")).await else { panic!("it has room") };
        assert!(
            why.contains(&format!("it has 0 of {cores} cores free (taken by ")) && why.contains(&jobs[0]),
            "{why}"
        );
        for job in jobs {
            client.stop(&job, "enough", false).await.unwrap();
            follow(&client, &job).await;
        }
        assert_eq!(client.status().await.unwrap().node.cores_free, cores);
        rig.end().await;
    })
    .unwrap();
}

#[test]
fn the_actors_of_all_processes_are_listed() {
    System::run(async |mut system| {
        let rig = Rig::start(&mut system, 2).await;
        let client = rig.client("n2").await;
        let job = train(&client, rig.job(2, "steps=100000")).await;
        let rows = client.actors().await.unwrap();
        assert_eq!(rows.silent, [""; 0]);
        let hosts: Vec<_> =
            rows.processes.iter().filter(|process| process.job.as_ref() == Some(&job)).collect();
        assert_eq!(hosts.iter().map(|process| process.node.as_str()).collect::<Vec<_>>(), ["n1", "n2"]);
        let worker = &hosts[0].actors[0];
        assert_eq!((worker.name.as_str(), worker.depth, worker.restarts), ("worker 0", 2, 1));
        let daemons = rows.processes.iter().filter(|process| process.job.is_none());
        assert!(
            daemons.flat_map(|process| &process.actors).all(|actor| actor.kind == "node" && actor.bound > 0)
        );
        client.stop(&job, "enough", true).await.unwrap();
        follow(&client, &job).await;
        rig.end().await;
    })
    .unwrap();
}
