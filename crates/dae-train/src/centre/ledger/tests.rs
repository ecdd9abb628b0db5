//! The books under whatever order of arrivals.

use super::*;
use dae_schedule::SyncMode;
use proptest::prelude::*;

/// Children at work: whoever the dice choose pushes next.
struct World {
    ledger: Ledger,
    left: Vec<u64>,
    /// The round each child is in.
    running: Vec<Option<u64>>,
    fired: Vec<Vec<(usize, u64)>>,
    dropped: usize,
    quiet: usize,
}

impl World {
    fn new(sync: SyncMode, rounds: &[u64]) -> Self {
        Self::pausing(sync, rounds, 0)
    }

    fn pausing(sync: SyncMode, rounds: &[u64], every: u64) -> Self {
        let join = Join { sync, ..Join::new(rounds.len() as u32) };
        let ledger = Ledger::new(&join, 0, rounds.iter().map(|left| (0, *left == 0))).pause_every(every);
        let running = rounds.iter().map(|_| None).collect();
        let mut world = Self { ledger, left: rounds.to_vec(), running, fired: vec![], dropped: 0, quiet: 0 };
        let orders = world.ledger.begin();
        world.obey(orders);
        world
    }

    fn obey(&mut self, orders: Vec<Order>) {
        for order in orders {
            match order {
                Order::Begin { child, round } => {
                    assert_eq!(
                        self.running[child].replace(round),
                        None,
                        "child {child} is under way already"
                    );
                }
                Order::Fire { version, given } => {
                    self.fired.push(given.iter().map(|each| (each.child, each.round)).collect());
                    assert_eq!(version, self.fired.len() as u64);
                }
                Order::Drop { .. } => self.dropped += 1,
                Order::Mix(mix) => panic!("a join has nobody who mixes: {mix:?}"),
                Order::Leave { child } => assert_eq!(self.running[child], None),
                Order::Quiet => {
                    assert!(self.running.iter().all(Option::is_none));
                    self.quiet += 1;
                    let orders = self.ledger.release();
                    self.obey(orders);
                }
            }
        }
    }

    /// Some child pushes, by a number that chooses; false if nobody is under way.
    fn push(&mut self, dice: usize) -> bool {
        let under_way: Vec<_> = (0..self.left.len()).filter(|child| self.running[*child].is_some()).collect();
        let Some(child) = under_way.get(dice % under_way.len().max(1)).copied() else { return false };
        let round = self.running[child].take().unwrap();
        self.left[child] -= 1;
        let arrival = Arrival { child, round, samples: 1, loss: 0.0, last: self.left[child] == 0 };
        let orders = self.ledger.arrive(arrival);
        self.obey(orders);
        // Told once more, whether it waits, has gone on, or was dropped.
        if self.running[child] != Some(round) {
            assert_eq!(self.ledger.arrive(arrival), []);
        }
        true
    }
}

fn syncs() -> impl Strategy<Value = SyncMode> {
    prop_oneof![
        Just(SyncMode::Bsp),
        (0u32..4).prop_map(SyncMode::Ssp),
        Just(SyncMode::Async),
        (1u32..3, any::<bool>()).prop_map(|(k, keep)| {
            SyncMode::Quorum { k, late: Some(if keep { Late::Keep } else { Late::Drop }) }
        }),
    ]
}

proptest! {
    #[test]
    fn everybody_comes_to_an_end_and_every_push_counts_once(
        sync in syncs(),
        rounds in proptest::collection::vec(0u64..6, 2..5),
        dice in proptest::collection::vec(any::<usize>(), 40),
        every in 0u64..4,
    ) {
        let mut world = World::pausing(sync, &rounds, every);
        let mut dice = dice.into_iter().cycle();
        while world.push(dice.next().unwrap()) {}
        prop_assert!(world.ledger.through(), "{:?}", world.ledger);
        let mut all: Vec<_> = world.fired.concat();
        let sum = rounds.iter().sum::<u64>() as usize;
        prop_assert_eq!(all.len() + world.dropped, sum);
        all.sort_unstable();
        all.dedup();
        prop_assert_eq!(all.len() + world.dropped, sum);
        if let Some(due) = (world.fired.len() as u64).checked_div(every) {
            // Updates that come while all come to rest are of the same rest.
            prop_assert!(world.quiet as u64 <= due && (world.quiet > 0) == (due > 0), "{} of {due}", world.quiet);
        }
    }

    #[test]
    fn nobody_is_further_ahead_than_the_slack_allows(
        slack in 0u32..4,
        dice in proptest::collection::vec(any::<usize>(), 60),
    ) {
        let mut world = World::new(SyncMode::Ssp(slack), &[20, 20, 20]);
        for dice in dice {
            world.push(dice);
            let clocks = [0, 1, 2].map(|child| world.ledger.clock(child));
            let (most, least) = (clocks.iter().max().unwrap(), clocks.iter().min().unwrap());
            prop_assert!(most - least <= u64::from(slack) + 1, "{clocks:?}");
        }
    }

    #[test]
    fn an_update_has_k_contributions_while_all_are_there(
        k in 1u32..4,
        dice in proptest::collection::vec(any::<usize>(), 30),
    ) {
        let mut world = World::new(SyncMode::Quorum { k, late: Some(Late::Keep) }, &[100, 100, 100]);
        dice.into_iter().for_each(|dice| { world.push(dice); });
        prop_assert!(world.fired.iter().all(|given| given.len() == k as usize));
    }

    #[test]
    fn who_is_asked_to_stop_ends_its_round_first(
        sync in syncs(),
        before in 0usize..20,
        dice in proptest::collection::vec(any::<usize>(), 40),
    ) {
        let mut world = World::new(sync, &[50, 50, 50]);
        let mut dice = dice.into_iter().cycle();
        (0..before).for_each(|_| { world.push(dice.next().unwrap()); });
        let under_way = world.running.iter().flatten().count();
        let orders = world.ledger.stop();
        world.obey(orders);
        let mut pushes = 0;
        while world.push(dice.next().unwrap()) { pushes += 1; }
        prop_assert_eq!(pushes, under_way);
        prop_assert!(world.ledger.through());
    }
}

#[test]
fn what_is_late_is_dropped_or_kept() {
    for (late, fired, dropped) in [
        (Late::Drop, vec![vec![(0, 0), (1, 0)], vec![(0, 1), (2, 1)]], 1),
        (Late::Keep, vec![vec![(0, 0), (1, 0)], vec![(0, 1), (2, 0)]], 0),
    ] {
        let mut world = World::new(SyncMode::Quorum { k: 2, late: Some(late) }, &[9, 9, 9]);
        // Children 0 and 1 make the first update; child 2 has pulled before it.
        world.push(0);
        world.push(0);
        world.push(2);
        if late == Late::Drop {
            world.push(2);
        }
        world.push(0);
        assert_eq!((&world.fired[..], world.dropped), (&fired[..], dropped), "{late:?}");
    }
}

#[test]
fn what_is_too_old_is_dropped() {
    let join = Join { sync: SyncMode::Async, stale: Stale::Drop(1), ..Join::new(2) };
    let mut ledger = Ledger::new(&join, 7, [(0, false), (0, false)]);
    ledger.begin();
    let arrival = |child, round| Arrival { child, round, samples: 1, loss: 0.0, last: false };
    (0..2).for_each(|round| drop(ledger.arrive(arrival(0, round))));
    assert_eq!(ledger.version(), 9);
    let orders = ledger.arrive(arrival(1, 0));
    assert_eq!(orders, [Order::Drop { child: 1, round: 0 }, Order::Begin { child: 1, round: 1 }]);
    assert_eq!(ledger.tally().children[1].dropped, 1);
    assert_eq!(ledger.tally().children[0].staleness, [(0, 2)].into());
}

#[test]
fn children_of_unequal_clocks_go_on_together() {
    let mut ledger = Ledger::new(&Join::new(2), 5, [(5, false), (4, false)]);
    assert_eq!(ledger.begin(), [Order::Begin { child: 0, round: 5 }, Order::Begin { child: 1, round: 4 }]);
    let arrival = |child, round| Arrival { child, round, samples: 1, loss: 0.0, last: false };
    assert_eq!(ledger.arrive(arrival(0, 5)), []);
    assert!(matches!(ledger.arrive(arrival(1, 4))[0], Order::Fire { version: 6, .. }));
}
