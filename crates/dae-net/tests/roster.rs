//! The roster: what news make of a node, in any order.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use dae_net::{Member, MemberEvent, MemberState, NodeId, Roster, Sighting};
use proptest::prelude::*;

const ME: NodeId = NodeId([0; 32]);
const PEER: NodeId = NodeId([1; 32]);
const HEARTBEAT: Duration = Duration::from_millis(200);

struct World {
    roster: Roster,
    now: Instant,
}

fn sighting(id: NodeId, generation: u64) -> Sighting {
    let address = "10.0.0.1:7946".parse().unwrap();
    Sighting { id, generation, name: "peer".to_owned(), address, facts: BTreeMap::new() }
}

impl World {
    fn new() -> Self {
        Self { roster: Roster::new(ME), now: Instant::now() }
    }

    fn joined() -> Self {
        let mut world = Self::new();
        world.pass(2.0, true);
        world.roster.connected(PEER, 1, "peer", world.now);
        assert_eq!(world.news(), [MemberEvent::Joined]);
        world
    }

    fn pass(&mut self, seconds: f64, heard: bool) {
        let end = self.now + Duration::from_secs_f64(seconds);
        while self.now < end {
            self.now += HEARTBEAT / 2;
            if heard {
                self.roster.heard(&sighting(PEER, 1), self.now);
            }
            self.roster.tick(self.now);
        }
    }

    fn news(&mut self) -> Vec<MemberEvent> {
        self.roster.take_news().into_iter().map(|news| news.event).collect()
    }

    fn peer(&self) -> Member {
        self.roster.members(self.now).into_iter().find(|each| each.id == PEER).unwrap()
    }
}

#[test]
fn a_node_others_speak_of_is_known_until_a_connection_makes_it_a_member() {
    let mut world = World::new();
    world.pass(1.0, true);
    assert_eq!(world.news(), []);
    assert_eq!((world.peer().state, world.peer().worth_dialling), (MemberState::Known, true));
    world.roster.connected(PEER, 1, "peer", world.now);
    assert_eq!(world.news(), [MemberEvent::Joined]);
    assert_eq!((world.peer().state, world.peer().worth_dialling), (MemberState::Joined, false));
    world.roster.connected(ME, 1, "me", world.now);
    assert_eq!(world.news(), []);
}

#[test]
fn silence_is_suspected_and_then_the_node_has_left() {
    let mut world = World::joined();
    world.pass(600.0, true);
    assert_eq!(world.news(), []);
    world.pass(1.9, false);
    assert!(
        matches!(&world.news()[..], [MemberEvent::Suspected { why }] if why.contains("not heard for 1."))
    );
    world.pass(0.2, true);
    assert_eq!(world.news(), [MemberEvent::Returned { after: MemberState::Suspected }]);
    world.pass(2.7, false);
    assert!(
        matches!(&world.news()[..], [MemberEvent::Suspected { .. }, MemberEvent::Left { why }] if why.contains("phi 8."))
    );
    // To be heard again is no return: what ran there is lost, and a connection must be made anew.
    world.pass(0.5, true);
    assert_eq!(world.news(), []);
    assert!(world.peer().worth_dialling);
    world.roster.connected(PEER, 1, "peer", world.now);
    assert_eq!(world.news(), [MemberEvent::Returned { after: MemberState::Left }]);
}

#[test]
fn a_heartbeat_does_not_mend_a_broken_connection() {
    let mut world = World::joined();
    world.roster.disconnected(PEER, 1, "reset");
    world.pass(1.0, true);
    assert_eq!(world.news(), [MemberEvent::Suspected { why: "the connection broke: reset".to_owned() }]);
    world.roster.connected(PEER, 1, "peer", world.now);
    assert_eq!(world.news(), [MemberEvent::Returned { after: MemberState::Suspected }]);
}

#[test]
fn if_this_process_stood_still_nobody_else_is_to_blame() {
    let mut world = World::joined();
    world.now += Duration::from_secs(60);
    world.pass(0.5, false);
    assert_eq!(world.news(), []);
    world.pass(2.7, false);
    assert!(matches!(&world.news()[..], [MemberEvent::Suspected { .. }, MemberEvent::Left { .. }]));
}

#[test]
fn a_member_without_datagrams_is_suspected_with_a_hint() {
    let mut world = World::new();
    world.roster.connected(PEER, 1, "peer", world.now);
    world.pass(2.0, false);
    let news = world.news();
    assert!(
        matches!(&news[..], [MemberEvent::Joined, MemberEvent::Suspected { why }] if why.contains("UDP")),
        "{news:?}"
    );
    // One that stood still before its first datagram is noticed like any other.
    world.pass(0.7, false);
    assert!(matches!(&world.news()[..], [MemberEvent::Left { .. }]));
}

#[test]
fn what_was_silent_before_this_process_stood_still_counts() {
    let mut world = World::joined();
    world.pass(1.4, false);
    assert!(matches!(&world.news()[..], [MemberEvent::Suspected { .. }]));
    world.now += Duration::from_secs(60);
    world.pass(0.5, false);
    assert_eq!(world.news(), []);
    world.pass(0.4, false);
    assert!(matches!(&world.news()[..], [MemberEvent::Left { .. }]));
}

#[test]
fn a_process_that_is_always_late_notices_a_silence_by_its_own_ticks() {
    let mut world = World::joined();
    let mut ticks = 0;
    while !matches!(world.news().last(), Some(MemberEvent::Left { .. })) {
        ticks += 1;
        assert!(ticks < 40, "never");
        world.now += Duration::from_millis(700);
        world.roster.tick(world.now);
    }
    assert!(ticks > 19, "{ticks}");
}

#[test]
fn a_younger_start_wins_over_an_older_one() {
    let mut world = World::joined();
    world.roster.heard(&sighting(PEER, 2), world.now);
    assert_eq!(world.news(), [MemberEvent::Left { why: "it started anew".to_owned() }]);
    world.roster.lost(PEER, 1, "late news of the first start");
    world.roster.goodbye(PEER, 1);
    world.roster.connected(PEER, 1, "peer", world.now);
    assert_eq!(world.news(), []);
    world.roster.connected(PEER, 2, "peer", world.now);
    assert_eq!(world.news(), [MemberEvent::Returned { after: MemberState::Left }]);
}

#[test]
fn who_left_is_forgotten_after_a_while() {
    let mut world = World::joined();
    world.roster.goodbye(PEER, 1);
    world.pass(60.0, false);
    assert_eq!(world.peer().why, "it said goodbye");
    world.pass(600.0, false);
    assert_eq!(world.roster.members(world.now), []);
}

#[derive(Clone, Debug)]
enum Input {
    Heard(u8, u64),
    Connected(u8, u64),
    Disconnected(u8, u64),
    Lost(u8, u64),
    Goodbye(u8, u64),
    Wait(u64),
}

fn input() -> impl Strategy<Value = Input> {
    let whom = || (0..4_u8, 1..4_u64);
    prop_oneof![
        whom().prop_map(|(id, generation)| Input::Heard(id, generation)),
        whom().prop_map(|(id, generation)| Input::Connected(id, generation)),
        whom().prop_map(|(id, generation)| Input::Disconnected(id, generation)),
        whom().prop_map(|(id, generation)| Input::Lost(id, generation)),
        whom().prop_map(|(id, generation)| Input::Goodbye(id, generation)),
        (1..3000_u64).prop_map(Input::Wait),
    ]
}

proptest! {
    /// Whatever comes: the events of a node tell one story (who joined leaves before it returns, and generations only
    /// grow), and the rows are what the story says.
    #[test]
    fn the_events_tell_one_story(inputs in prop::collection::vec(input(), 0..200)) {
        let mut roster = Roster::new(ME);
        let mut now = Instant::now();
        let mut told: BTreeMap<NodeId, (MemberState, u64)> = BTreeMap::new();
        for input in inputs {
            let id = |number: u8| NodeId([number; 32]);
            match input {
                Input::Heard(number, generation) => roster.heard(&sighting(id(number), generation), now),
                Input::Connected(number, generation) => roster.connected(id(number), generation, "peer", now),
                Input::Disconnected(number, generation) => roster.disconnected(id(number), generation, "reset"),
                Input::Lost(number, generation) => roster.lost(id(number), generation, "refused"),
                Input::Goodbye(number, generation) => roster.goodbye(id(number), generation),
                Input::Wait(ms) => now += Duration::from_millis(ms),
            }
            roster.tick(now);
            for news in roster.take_news() {
                prop_assert_ne!(news.id, ME);
                let before = told.get(&news.id).copied();
                let (state, generation) = match before {
                    None => (MemberState::Known, 0),
                    Some(known) => known,
                };
                prop_assert!(news.generation >= generation);
                use MemberState::{Joined, Known, Left, Suspected};
                let after = match (&news.event, state) {
                    (MemberEvent::Joined, Known) => Joined,
                    (MemberEvent::Suspected { why }, Joined) if !why.is_empty() => Suspected,
                    (MemberEvent::Left { why }, Joined | Suspected) if !why.is_empty() => Left,
                    (MemberEvent::Returned { after }, Suspected | Left) if *after == state => Joined,
                    (event, state) => return Err(TestCaseError::fail(format!("{event:?} after {state:?}"))),
                };
                told.insert(news.id, (after, news.generation));
            }
            let rows: BTreeMap<NodeId, Member> = roster.members(now).into_iter().map(|row| (row.id, row)).collect();
            for (id, (state, generation)) in &told {
                match rows.get(id) {
                    Some(row) if row.generation == *generation => prop_assert_eq!(row.state, *state),
                    // Its new start is known and no member yet.
                    Some(row) => prop_assert_eq!((row.state, *state), (MemberState::Known, MemberState::Left)),
                    None => prop_assert_eq!(*state, MemberState::Left),
                }
            }
        }
    }
}
