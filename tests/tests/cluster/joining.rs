//! Daemons that find each other.

use std::time::{Duration, Instant};

use crate::daemon::Daemon;
use crate::rig::{Lan, poll};

/// Nothing but mDNS, nobody is told of anybody.
#[test]
fn three_nodes_find_each_other_and_nobody_else() {
    let Some(lan) = Lan::of(3) else { return };
    let mut daemons: Vec<Daemon> = (1..=3).map(|place| lan.start(place, &["--discovery", "mdns"])).collect();
    for daemon in &mut daemons {
        daemon.until_it_sees(3, Duration::from_secs(10));
    }
    let answer = daemons[0].ask("nodes").unwrap();
    assert_eq!(answer["version"], 1, "{answer:#}");
    for node in answer["nodes"].as_array().unwrap() {
        let name = node["name"].as_str().unwrap();
        let expected = [format!("10.87.0.{}:", &name[1..]), format!("[fdda:e087::{}]:", &name[1..])];
        let addresses: Vec<&str> =
            node["addresses"].as_array().unwrap().iter().map(|a| a.as_str().unwrap()).collect();
        assert!(!addresses.is_empty(), "{node:#}");
        for address in addresses {
            assert!(expected.iter().any(|e| address.starts_with(e)), "{name} at {address}");
        }
    }
}

/// Started at once, over and over: one cluster, every time. `DAE_REPEAT=100` for a long one.
#[test]
fn four_nodes_started_at_once_form_one_cluster() {
    let Some(lan) = Lan::of(4) else { return };
    let repeat: usize = std::env::var("DAE_REPEAT").map_or(5, |n| n.parse().unwrap());
    let mut times = vec![];
    for _ in 0..repeat {
        let start = Instant::now();
        let mut daemons: Vec<Daemon> = (1..=4).map(|place| lan.start(place, &[])).collect();
        for daemon in &mut daemons {
            daemon.until_it_sees(4, Duration::from_secs(10));
        }
        times.push(start.elapsed());
        for daemon in &daemons {
            daemon.signal(libc::SIGTERM);
        }
        for daemon in &mut daemons {
            assert!(daemon.ended(Duration::from_secs(5)).success(), "{}", daemon.output());
        }
    }
    times.sort();
    println!("4 nodes, {repeat} times: median {:?}, longest {:?}", times[repeat / 2], times[repeat - 1]);
    // The median here is under one second; a machine at work elsewhere gets more.
    assert!(times[repeat / 2] < Duration::from_secs(4), "{times:?}");
}

/// A second node has joined within a moment of being ready.
#[test]
fn a_late_node_is_found() {
    let Some(lan) = Lan::of(2) else { return };
    let mut first = lan.start(1, &[]);
    first.ready();
    let mut second = lan.start(2, &[]);
    let ready = second.ready();
    let start = Instant::now();
    second.until_it_sees(2, Duration::from_secs(10));
    println!("ready after {ready:?}, joined {:?} later", start.elapsed());
    first.until_it_sees(2, Duration::from_secs(2));
}

/// Without multicast, seeds lead there, and to those whom the seed knows.
#[test]
fn seeds_are_enough() {
    let Some(lan) = Lan::of(3) else { return };
    let listen = ["--discovery", "seeds", "--listen", "[::]:7946"];
    let mut first = lan.start(1, &listen);
    first.ready();
    let seed = ["--discovery", "seeds", "--seed", "10.87.0.1:7946"];
    let mut second = lan.start(2, &seed);
    second.ready();
    let start = Instant::now();
    second.until_it_sees(2, Duration::from_secs(5));
    println!("joined by seed in {:?}", start.elapsed());
    // IPv6, and one seed only: the third learns of the second from the first.
    let mut third = lan.start(3, &["--discovery", "seeds", "--seed", "[fdda:e087::1]:7946"]);
    third.until_it_sees(3, Duration::from_secs(5));
    second.until_it_sees(3, Duration::from_secs(5));
}

/// A seed that is not there yet is found once it is.
#[test]
fn a_seed_may_come_later() {
    let Some(lan) = Lan::of(2) else { return };
    let mut early = lan.start(1, &["--discovery", "seeds", "--seed", "10.87.0.2:7946"]);
    early.ready();
    // It says whom it asked, and how that ended.
    let declined = poll(Duration::from_secs(10), || {
        let status = early.status();
        let declined = status["declined"].to_string();
        declined.contains("10.87.0.2:7946").then_some(declined)
    });
    assert!(declined.is_some(), "{:#}", early.status());
    let mut late = lan.start(2, &["--discovery", "seeds", "--listen", "0.0.0.0:7946"]);
    late.ready();
    late.until_it_sees(2, Duration::from_secs(15));
}

/// The same name in the same folder of sockets belongs to one daemon; the second says so, and which it is.
#[test]
fn a_second_daemon_of_the_same_name_is_refused() {
    let Some(lan) = Lan::of(1) else { return };
    let mut first = lan.start(1, &[]);
    first.ready();
    let mut second = lan.start(1, &[]);
    assert!(!second.ended(Duration::from_secs(5)).success());
    let said = second.output();
    assert!(said.contains(&first.pid().to_string()) && said.contains("--name"), "{said}");
    first.until_it_sees(1, Duration::from_secs(2));
}
