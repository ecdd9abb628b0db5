//! The mesh, step by step.
use super::*;
use std::time::Duration;

fn id(n: u8) -> NodeId {
    NodeId([n; 32])
}

fn at(port: u16) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, 1], port))
}

fn numbers(dials: &[Dial]) -> Vec<u64> {
    dials.iter().map(|d| d.number).collect()
}

const MDNS: Source = Source::Discovery("mdns");

#[test]
fn what_is_found_is_dialled_once_and_joined() {
    let (mut mesh, now) = (Mesh::new(id(0)), Instant::now());
    mesh.found(MDNS, "n1", &[at(1), at(2)], now);
    mesh.found(MDNS, "n1", &[at(1), at(2)], now);
    let dials = mesh.due(now);
    assert_eq!(dials, [Dial { number: 0, expect: None, addresses: vec![at(1), at(2)] }]);
    assert_eq!(mesh.due(now), [], "it is under way");
    assert_eq!(mesh.reached(0, id(1), "n1", at(2)), Outcome::Joined);
    mesh.found(MDNS, "n1", &[at(1), at(2)], now);
    assert_eq!((mesh.due(now), mesh.next()), (vec![], None), "it is joined");
}

#[test]
fn itself_is_met_once_and_never_dialled_again() {
    let (mut mesh, now) = (Mesh::new(id(0)), Instant::now());
    mesh.found(MDNS, "me", &[at(1)], now);
    mesh.due(now);
    assert_eq!(mesh.reached(0, id(0), "me", at(1)), Outcome::Myself);
    mesh.found(MDNS, "me", &[at(1)], now);
    mesh.greeted(id(0), "me", &[at(5)], now);
    assert_eq!(mesh.due(now), []);
}

#[test]
fn one_node_by_two_ways_is_joined_once() {
    let (mut mesh, now) = (Mesh::new(id(0)), Instant::now());
    mesh.found(MDNS, "n1", &[at(1)], now);
    mesh.found(Source::Discovery("seeds"), "seed", &[at(2)], now);
    assert_eq!(numbers(&mesh.due(now)), [0, 1]);
    assert_eq!(mesh.reached(1, id(1), "n1", at(2)), Outcome::Joined);
    assert_eq!(mesh.reached(0, id(1), "n1", at(1)), Outcome::Double);
    mesh.found(MDNS, "n1", &[at(1)], now);
    assert_eq!(mesh.due(now), [], "the other way is known to lead to the same node");
}

#[test]
fn a_peer_that_dialled_first_overtakes_a_dial_under_way() {
    let (mut mesh, now) = (Mesh::new(id(0)), Instant::now());
    mesh.found(MDNS, "n1", &[at(1)], now);
    mesh.due(now);
    mesh.greeted(id(1), "n1", &[at(1)], now);
    assert_eq!(numbers(&mesh.due(now)), [1], "now it is known who must be there");
    assert_eq!(mesh.reached(0, id(1), "n1", at(1)), Outcome::Double, "its target has gone");
    assert_eq!(mesh.reached(1, id(1), "n1", at(1)), Outcome::Joined);
}

#[test]
fn pauses_double_up_to_a_bound_and_end() {
    let (mut mesh, mut now) = (Mesh::new(id(0)), Instant::now());
    mesh.found(MDNS, "n1", &[at(1)], now);
    let mut pauses = Vec::new();
    while !mesh.due(now).is_empty() {
        assert_eq!(mesh.failed(0, "refused".into(), now), None);
        let Some(next) = mesh.next() else { break };
        pauses.push((next - now).as_millis());
        assert_eq!(mesh.due(next - Duration::from_millis(1)), []);
        now = next;
    }
    assert_eq!(&pauses[..8], [100, 200, 400, 800, 1600, 3200, 5000, 5000]);
    assert_eq!(pauses.len(), 59);
    mesh.found(MDNS, "n1", &[at(1)], now);
    assert_eq!(mesh.due(now).len(), 1, "heard of again after it was given up");
}

#[test]
fn a_lost_connection_is_dialled_again_at_once() {
    let (mut mesh, now) = (Mesh::new(id(0)), Instant::now());
    mesh.greeted(id(1), "n1", &[at(1)], now);
    mesh.due(now);
    mesh.reached(0, id(1), "n1", at(1));
    mesh.lost(id(1), now);
    assert_eq!(mesh.due(now), [Dial { number: 0, expect: Some(id(1)), addresses: vec![at(1)] }]);
    let missed = Missed { id: id(1), news: true, addresses: vec![at(1)] };
    assert_eq!(mesh.failed(0, "refused".into(), now), Some(missed), "the failure tells of this node");
    // It starts again elsewhere and says so: the pause is over.
    mesh.greeted(id(1), "n1", &[at(9)], now);
    assert_eq!(mesh.due(now)[0].addresses, [at(9)]);
    mesh.forget(id(1));
    assert_eq!((mesh.failed(0, "late".into(), now), mesh.next()), (None, None));
}

#[test]
fn a_greeting_during_a_dial_makes_the_next_one_follow_at_once() {
    let (mut mesh, now) = (Mesh::new(id(0)), Instant::now());
    mesh.greeted(id(1), "n1", &[at(1)], now);
    mesh.due(now);
    mesh.greeted(id(1), "n1", &[at(2)], now);
    mesh.failed(0, "refused".into(), now);
    assert_eq!(mesh.due(now)[0].addresses, [at(2)]);
}

#[test]
fn nodes_that_others_speak_of_are_dialled_and_known_ones_get_one_more_address() {
    let (mut mesh, now) = (Mesh::new(id(0)), Instant::now());
    mesh.heard_of(id(1), "n1", at(1), now);
    mesh.heard_of(id(1), "n1", at(2), now);
    mesh.heard_of(id(0), "me", at(3), now);
    let dial = Dial { number: 0, expect: Some(id(1)), addresses: vec![at(1), at(2)] };
    assert_eq!(mesh.due(now), [dial]);
}

#[test]
fn those_who_declined_are_named_with_the_reason() {
    let (mut mesh, now) = (Mesh::new(id(0)), Instant::now());
    mesh.found(Source::Discovery("seeds"), "head:7000", &[at(1)], now);
    mesh.due(now);
    mesh.failed(0, "another key".into(), now);
    let told = ("head:7000 at 10.0.0.1:1 (by seeds)".to_owned(), "another key".to_owned());
    assert_eq!(mesh.declined(), [told]);
    mesh.due(mesh.next().expect("a pause"));
    mesh.reached(0, id(1), "head", at(1));
    assert_eq!(mesh.declined(), []);
}

#[test]
fn a_flood_of_places_is_bounded_and_drops_no_member() {
    let (mut mesh, now) = (Mesh::new(id(0)), Instant::now());
    mesh.greeted(id(1), "n1", &[at(1)], now);
    mesh.due(now);
    mesh.reached(0, id(1), "n1", at(1));
    for port in 2..5000 {
        mesh.found(MDNS, "x", &[at(port)], now);
        for dial in mesh.due(now) {
            mesh.failed(dial.number, "refused".into(), now);
        }
    }
    assert_eq!(mesh.targets.len(), MOST_TARGETS);
    assert!(mesh.targets.iter().any(|t| t.id == Some(id(1))));
}

#[test]
fn addresses_nobody_can_have_are_not_dialled() {
    let (mut mesh, now) = (Mesh::new(id(0)), Instant::now());
    let bad =
        ["0.0.0.0:1", "[::]:1", "224.0.0.251:5353", "10.0.0.1:0"].map(|a| a.parse().expect("an address"));
    mesh.found(MDNS, "x", &bad, now);
    mesh.greeted(id(1), "x", &bad, now);
    assert_eq!((mesh.due(now), mesh.next()), (vec![], None));
    let many: Vec<_> = (1..100).map(at).collect();
    mesh.found(MDNS, "x", &many, now);
    assert_eq!(mesh.due(now)[0].addresses.len(), MOST_ADDRESSES);
}
