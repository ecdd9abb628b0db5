//! Every discovery keeps one contract: it finds the others of its cluster, not itself and nobody else, until it is
//! dropped.
#![allow(clippy::unwrap_used)]

use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

use dae_net::{
    Announcement, CANDIDATES, Candidate, Discovery, Interface, Mdns, NodeId, Running, Seeds, advertised,
};
use tokio::sync::mpsc;
use tokio::time::timeout;

fn start(
    discovery: Box<dyn Discovery>,
    number: u8,
    tag: u8,
    at: SocketAddr,
) -> (mpsc::Receiver<Candidate>, Running) {
    let (sender, found) = mpsc::channel(CANDIDATES);
    let me = Announcement {
        name: format!("node{number}"),
        id: NodeId([number; 32]),
        tag: [tag; 16],
        port: at.port(),
        addresses: vec![at.ip()],
        versions: (1, 1),
    };
    (found, discovery.start(me, sender).unwrap())
}

/// Waits for a candidate with this address, and says how long it took.
async fn find(found: &mut mpsc::Receiver<Candidate>, wanted: SocketAddr, not: SocketAddr) -> Duration {
    let start = Instant::now();
    let search = async {
        while let Some(candidate) = found.recv().await {
            assert!(!candidate.addresses.contains(&not), "found the other cluster: {candidate:?}");
            if candidate.addresses.contains(&wanted) {
                return start.elapsed();
            }
        }
        panic!("it ended before it found {wanted}");
    };
    timeout(Duration::from_secs(6), search).await.unwrap_or_else(|_| panic!("{wanted} was not found"))
}

/// `make` is given the addresses of the nodes that are to be found.
async fn keeps_the_contract(make: impl Fn(&[SocketAddr]) -> Box<dyn Discovery>, ip: IpAddr, base: u16) {
    let at = |number: u8| SocketAddr::new(ip, base + u16::from(number));
    let (mine, others) = (base as u8, base as u8 + 1);
    let make = || make(&[at(1), at(2), at(4)]);
    let name = make().name();
    let (mut one, running) = start(make(), 1, mine, at(1));
    let (mut two, stopping) = start(make(), 2, mine, at(2));
    let (_, _other_cluster) = start(make(), 3, others, at(3));
    let found = tokio::join!(find(&mut one, at(2), at(3)), find(&mut two, at(1), at(3)));
    println!("{name}: found each other after {found:?}");
    assert_eq!((running.name(), name), (name, stopping.name()));

    drop(stopping);
    let (mut late, _late_running) = start(make(), 4, mine, at(4));
    find(&mut one, at(4), at(3)).await;
    find(&mut late, at(1), at(3)).await;
    let rest = timeout(Duration::from_secs(2), async {
        let mut rest = Vec::new();
        while let Some(candidate) = two.recv().await {
            rest.push(candidate);
        }
        rest
    });
    let rest = rest.await.unwrap_or_else(|_| panic!("{name} goes on after it was dropped"));
    assert!(name == "seeds" || !rest.iter().any(|each| each.addresses.contains(&at(4))), "{name}: {rest:?}");
}

#[tokio::test]
async fn mdns_keeps_the_contract() {
    let interfaces = Interface::list().unwrap();
    let loopback = IpAddr::from([127, 0, 0, 1]);
    let ip = advertised(&interfaces, None).map_or(loopback, |addresses| addresses[0]);
    keeps_the_contract(|_| Box::new(Mdns::new()), ip, 21_000).await;
}

#[tokio::test]
async fn mdns_on_the_loopback_keeps_the_contract() {
    keeps_the_contract(|_| Box::new(Mdns::on("lo")), IpAddr::from([127, 0, 0, 1]), 22_010).await;
}

#[tokio::test]
async fn seeds_keep_the_contract() {
    let make = |seeds: &[SocketAddr]| -> Box<dyn Discovery> {
        Box::new(Seeds::new(seeds.iter().map(ToString::to_string), 7946).unwrap())
    };
    keeps_the_contract(make, IpAddr::from([127, 0, 0, 1]), 23_020).await;
}

#[tokio::test]
async fn a_seed_may_be_a_name_and_is_offered_again() {
    let seeds = Seeds::new(["localhost:7946"], 1).unwrap();
    let (mut found, _running) = start(Box::new(seeds), 1, 1, "10.0.0.1:1".parse().unwrap());
    let at: SocketAddr = "127.0.0.1:7946".parse().unwrap();
    let nobody: SocketAddr = "10.0.0.1:1".parse().unwrap();
    assert!(find(&mut found, at, nobody).await < Duration::from_secs(1));
    assert!(find(&mut found, at, nobody).await > Duration::from_millis(100));
}

#[tokio::test]
async fn mdns_says_what_to_do_where_it_cannot_work() {
    let (sender, _found) = mpsc::channel(1);
    let me = Announcement {
        name: "node".to_owned(),
        id: NodeId([1; 32]),
        tag: [1; 16],
        port: 1,
        addresses: Vec::new(),
        versions: (1, 1),
    };
    let error = Box::new(Mdns::on("no-such-interface")).start(me, sender).unwrap_err().to_string();
    assert!(error.contains("no interface") && error.contains("--seed"), "{error}");
}
