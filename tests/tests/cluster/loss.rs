//! Nodes that are killed, stopped, cut off, or leave: how soon the others know, and that they come back.

use std::time::{Duration, SystemTime};

use crate::daemon::{Daemon, succeed};
use crate::rig::{CLUSTER, Lan};

/// Where a connection tells. The promise is 200 ms; both cores may be busy with other tests here.
const TOLD: Duration = Duration::from_millis(1000);
/// Where nothing tells. The promise is 3 s.
const SILENT: Duration = Duration::from_millis(4500);
/// How long the judgement is waited for.
const PATIENCE: Duration = Duration::from_secs(20);

/// Each of these finds that node gone within the limit, counted from `since`.
fn gone(daemons: &[Daemon], node: &str, since: SystemTime, limit: Duration) {
    for daemon in daemons.iter().filter(|daemon| daemon.name != node) {
        let took = daemon.told(&[node, "left"], since, PATIENCE);
        println!("{} knows that {node} left after {took:?}", daemon.name);
        assert!(took < limit, "after {took:?}: {:#}", daemon.status());
        daemon.until_it_judges(node, "left", Duration::from_secs(2));
    }
}

/// All see each other alive again, and every node that was away counts as returned, not as new.
fn healed(daemons: &mut [Daemon]) {
    let nodes = daemons.len();
    for daemon in daemons {
        daemon.until_it_sees(nodes, PATIENCE);
    }
}

#[test]
fn a_killed_node_is_noticed_at_once_and_may_come_back() {
    let Some(lan) = Lan::of(3) else { return };
    let mut daemons = lan.cluster(3);
    let since = SystemTime::now();
    daemons[1].signal(libc::SIGKILL);
    gone(&daemons, "n2", since, TOLD);
    daemons[1].ended(PATIENCE);

    // Started anew it is the same node with another generation.
    daemons[1] = lan.start(2, &[]);
    healed(&mut daemons);
    daemons[0].told(&["n2", "returned"], since, PATIENCE);
}

#[test]
fn a_node_that_leaves_says_so() {
    let Some(lan) = Lan::of(3) else { return };
    let mut daemons = lan.cluster(3);
    let since = SystemTime::now();
    succeed(&mut lan.client(2, &["leave", "--cluster", CLUSTER]));
    gone(&daemons, "n2", since, TOLD);
    assert!(daemons[1].ended(PATIENCE).success(), "{}", daemons[1].output());

    let since = SystemTime::now();
    daemons[2].signal(libc::SIGTERM);
    assert!(daemons[2].ended(PATIENCE).success(), "{}", daemons[2].output());
    daemons[0].told(&["n3", "left"], since, PATIENCE);
    assert_eq!((lan.sockets(2), lan.sockets(3)), (vec![], vec![]));
}

#[test]
fn a_stopped_node_is_noticed_and_returns_when_it_goes_on() {
    let Some(lan) = Lan::of(3) else { return };
    let mut daemons = lan.cluster(3);
    let since = SystemTime::now();
    daemons[1].signal(libc::SIGSTOP);
    for daemon in [&daemons[0], &daemons[2]] {
        let took = daemon.told(&["n2", "suspected"], since, PATIENCE);
        println!("{} suspects n2 after {took:?}", daemon.name);
    }
    gone(&daemons, "n2", since, SILENT);
    daemons[1].signal(libc::SIGCONT);
    healed(&mut daemons);
}

#[test]
fn a_pulled_cable_is_noticed_and_put_back() {
    let Some(lan) = Lan::of(3) else { return };
    let mut daemons = lan.cluster(3);
    let since = SystemTime::now();
    lan.cable(2, false);
    gone(&daemons, "n2", since, SILENT);
    // The one that is alone finds the others gone, in turn.
    for other in ["n1", "n3"] {
        daemons[1].told(&[other, "left"], since, PATIENCE);
    }
    lan.cable(2, true);
    let since = SystemTime::now();
    healed(&mut daemons);
    println!("healed after {:?}", since.elapsed().unwrap());
}

/// Multicast goes on, so mDNS goes on telling that the node is there: it does not decide who is alive.
#[test]
fn a_silent_partition_is_noticed_and_heals() {
    let Some(lan) = Lan::of(3) else { return };
    let mut daemons = lan.cluster(3);
    let since = SystemTime::now();
    lan.silence(2, true);
    gone(&daemons, "n2", since, SILENT);
    lan.silence(2, false);
    let since = SystemTime::now();
    healed(&mut daemons);
    println!("healed after {:?}", since.elapsed().unwrap());
}

/// Nobody is thought dead because the machine is busy: both cores computing, for a while.
/// `DAE_BUSY_S=600` for as long as the promise says.
#[test]
fn a_busy_machine_evicts_nobody() {
    let Some(lan) = Lan::of(3) else { return };
    let busy_s: u64 = std::env::var("DAE_BUSY_S").map_or(10, |s| s.parse().unwrap());
    let daemons = lan.cluster(3);
    let since = SystemTime::now();
    let until = std::time::Instant::now() + Duration::from_secs(busy_s);
    let cores = std::thread::available_parallelism().unwrap().get();
    std::thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                while std::time::Instant::now() < until {
                    std::hint::spin_loop()
                }
            });
        }
    });
    let since_ms = since.duration_since(std::time::UNIX_EPOCH).unwrap().as_millis() as u64;
    for daemon in &daemons {
        let status = daemon.status();
        let events = status["events"].as_array().unwrap();
        let later = events.iter().filter(|event| event["at_ms"].as_u64().unwrap() >= since_ms);
        let gone: Vec<_> = later.filter(|event| event["what"].as_str().unwrap().contains("left")).collect();
        assert!(gone.is_empty(), "{gone:?}");
        assert!(daemon.sees().iter().all(|(_, state)| state == "alive"), "{:?}", daemon.sees());
    }
}
