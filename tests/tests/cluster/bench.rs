//! What is measured between nodes, who may go meanwhile, and that nothing of it is left.

use std::time::Duration;

use serde_json::Value;

use crate::daemon::{Daemon, fail, send, succeed};
use crate::jobs::{Client, nothing_is_left};
use crate::rig::{CLUSTER, Lan, poll, program};

/// Waits until the latest job has found something.
fn until_it_measures(daemon: &Daemon, client: &Client) {
    let there = poll(Duration::from_secs(60), || {
        let answer = daemon.ask("jobs")?;
        let latest = answer["jobs"].as_array()?.last()?;
        (latest["state"] == "running" && latest["progress"]["step"].as_u64() >= Some(2)).then_some(())
    });
    assert!(there.is_some(), "{}", client.output());
}

const MEASURE: [&str; 4] = ["bench", "allreduce", "--cluster", CLUSTER];

#[test]
fn links_and_sums_between_three_nodes_are_measured_and_nothing_is_left() {
    let Some(lan) = Lan::of(3) else { return };
    let daemons = lan.cluster(3);

    let json = succeed(&mut lan.client(1, &[&MEASURE[..], &["--json"]].concat()));
    let found: Value =
        serde_json::from_str(&json[json.find('{').unwrap()..]).unwrap_or_else(|e| panic!("{e}: {json}"));
    assert_eq!((&found["version"], &found["sealed"]), (&1.into(), &true.into()), "{found:#}");
    assert_eq!(found["nodes"].as_array().unwrap().len(), 3, "{found:#}");
    let links = found["links"].as_array().unwrap();
    assert!(links.len() == 3 && links.iter().all(|link| link["latency_s"].as_f64() > Some(0.0)), "{found:#}");
    let sizes = found["all_reduces"].as_array().unwrap();
    let bytes: Vec<_> = sizes.iter().filter_map(|sums| sums["bytes"].as_u64()).collect();
    assert_eq!(bytes, [4 << 10, 256 << 10, 4 << 20, 64 << 20]);
    for sums in sizes {
        let by = sums["by"].as_array().unwrap();
        let algorithms: Vec<_> = by.iter().filter_map(|timed| timed["algorithm"].as_str()).collect();
        assert_eq!(algorithms, ["direct", "ring", "halving", "doubling", "tree"], "{sums:#}");
        assert!(by.iter().all(|timed| timed["median_s"].as_f64() > Some(0.0)), "{sums:#}");
        let auto = &sums["auto"];
        assert!(auto["algorithm"].as_str().is_some_and(|auto| algorithms.contains(&auto)), "{sums:#}");
        assert!(auto["why"].as_str().is_some_and(|why| why.contains("3 nodes")), "{sums:#}");
    }
    nothing_is_left(&lan, 3);

    // Ctrl-C ends it on all nodes.
    let mut client = Client::start(&lan, lan.client(1, &MEASURE));
    until_it_measures(&daemons[0], &client);
    send(client.0.id(), libc::SIGINT);
    assert_eq!(client.code(), Some(130), "{}", client.output());
    nothing_is_left(&lan, 3);

    // What is not there is named, each with its own exit code.
    let said = fail(&mut lan.client(1, &[&MEASURE[..], &["--on", "n1,n9"]].concat()));
    assert!(said.contains("not in the cluster now: n9"), "{said}");
    let mut nowhere = program();
    nowhere.args(["bench", "allreduce", "--cluster", "nowhere"]).env("XDG_RUNTIME_DIR", lan.folder());
    assert_eq!(nowhere.output().unwrap().status.code(), Some(3));
    let said = fail(&mut nowhere);
    assert!(said.contains("cluster `nowhere`") && said.contains("dae-node join"), "{said}");
    let said = succeed(&mut lan.client(1, &[&MEASURE[..], &["--on", "n1"]].concat()));
    assert!(said.contains("nothing lies between nodes"), "{said}");

    // A node that is lost meanwhile is named.
    let mut client = Client::start(&lan, lan.client(1, &MEASURE));
    until_it_measures(&daemons[0], &client);
    daemons[1].signal(libc::SIGKILL);
    assert_eq!(client.code(), Some(1), "{}", client.output());
    assert!(client.output().contains("n2"), "{}", client.output());
    nothing_is_left(&lan, 3);
}
