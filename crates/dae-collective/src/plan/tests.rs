//! All ranks of a collective in one thread, message by message.

use super::*;
use crate::Element;
use proptest::prelude::*;
use std::collections::HashMap;

fn plans(algorithm: Algorithm, collective: Collective, world: usize, len: usize) -> Vec<Plan> {
    (0..world).map(|rank| Plan::new(algorithm, collective, world, rank, len)).collect()
}

/// Does one round of all ranks, whose plans it looks at as a stranger would.
fn round<T: Element>(rounds: &[&Round], numbers: &mut [Vec<T>]) {
    let mut under_way = HashMap::new();
    for (rank, (round, numbers)) in rounds.iter().zip(&*numbers).enumerate() {
        for Send { to, range } in &round.sends {
            assert_ne!(*to, rank, "nobody sends to itself");
            let last = under_way.insert((rank, *to), numbers[range.clone()].to_vec());
            assert!(last.is_none(), "one message from {rank} to {to}");
            for Receive { range: into, take, .. } in &round.receives {
                let apart = into.end <= range.start || range.end <= into.start;
                assert!(apart || *take == Take::Add, "{rank} sends {range:?} and copies to {into:?}");
            }
        }
    }
    for (rank, (round, numbers)) in rounds.iter().zip(numbers).enumerate() {
        assert!(round.receives.is_sorted_by_key(|receive| receive.from));
        let there = numbers.clone();
        for (n, Receive { from, range, take }) in round.receives.iter().enumerate() {
            let came = under_way.remove(&(*from, rank)).expect("what is waited for was sent");
            assert_eq!(came.len(), range.len(), "from {from} to {rank}");
            if *take == Take::Copy {
                numbers[range.clone()].copy_from_slice(&came);
                continue;
            }
            let place = |r: &Receive| r.take == Take::Add && r.range == *range;
            let first = !round.receives[..n].iter().any(place);
            let last_before_own =
                *from < rank && !round.receives[n + 1..].iter().any(|r| place(r) && r.from < rank);
            for (i, x) in range.clone().zip(came) {
                // Its own comes where its rank does: in the place already if it is the first, or else added at its turn.
                numbers[i] = match (first, *from < rank) {
                    (true, true) => x,
                    (true, false) => there[i].plus(x),
                    (false, _) => numbers[i].plus(x),
                };
                if last_before_own {
                    numbers[i] = numbers[i].plus(there[i]);
                }
            }
        }
    }
    assert!(under_way.is_empty(), "what is sent is waited for: {:?}", under_way.keys());
}

fn rounds<T: Element>(plans: &[Plan], half: impl Fn(&Plan) -> &[Round], numbers: &mut [Vec<T>]) {
    let many = half(&plans[0]).len();
    assert!(plans.iter().all(|plan| half(plan).len() == many), "all have as many rounds");
    for n in 0..many {
        round(&plans.iter().map(|plan| &half(plan)[n]).collect::<Vec<_>>(), numbers);
    }
}

pub(crate) fn simulate<T: Element>(plans: &[Plan], numbers: &mut [Vec<T>]) {
    rounds(plans, Plan::adding, numbers);
    rounds(plans, Plan::copying, numbers);
}

fn integer(rank: usize, i: usize) -> i64 {
    (rank as i64 + 3) * 1_000_003 + i as i64 * 7919
}

fn integers(world: usize, len: usize) -> Vec<Vec<i64>> {
    (0..world).map(|rank| (0..len).map(|i| integer(rank, i)).collect()).collect()
}

/// Numbers whose sum depends on the order of summing.
pub(crate) fn number(rank: usize, i: usize) -> f32 {
    (1.0 + i as f32 * 0.37) * 1e3f32.powi(rank as i32 % 3 - 1) / 3.0
}

pub(crate) fn algorithm() -> impl Strategy<Value = Algorithm> {
    proptest::sample::select(Algorithm::ALL.to_vec())
}

fn length() -> impl Strategy<Value = usize> {
    prop_oneof![0usize..70, 0usize..5000]
}

proptest! {
    #[test]
    fn sums_of_integers_are_exact(algorithm in algorithm(), world in 1usize..=64, len in length()) {
        let total: Vec<i64> = (0..len).map(|i| (0..world).map(|rank| integer(rank, i)).sum()).collect();
        let mut all = integers(world, len);
        simulate(&plans(algorithm, Collective::AllReduce, world, len), &mut all);
        prop_assert!(all.iter().all(|numbers| *numbers == total));

        let mut all = integers(world, len);
        simulate(&plans(algorithm, Collective::ReduceScatter, world, len), &mut all);
        for (rank, numbers) in all.iter().enumerate() {
            let part = Parts { len, world }.one(rank);
            prop_assert_eq!(&numbers[part.clone()], &total[part]);
        }
    }

    #[test]
    fn every_sum_is_held_by_somebody_between_the_halves(algorithm in algorithm(), world in 1usize..=64, len in length()) {
        let total: Vec<i64> = (0..len).map(|i| (0..world).map(|rank| integer(rank, i)).sum()).collect();
        let plans = plans(algorithm, Collective::AllReduce, world, len);
        let mut all = integers(world, len);
        rounds(&plans, Plan::adding, &mut all);
        let mut finished: Vec<_> = (0..world).map(|_| vec![0.5f32; len]).collect();
        for ((plan, sums), finished) in plans.iter().zip(&all).zip(&mut finished) {
            prop_assert_eq!(&sums[plan.held()], &total[plan.held()]);
            plan.held().for_each(|i| finished[i] = -(i as f32));
        }
        rounds(&plans, Plan::copying, &mut finished);
        prop_assert!(finished.iter().all(|numbers| numbers.iter().enumerate().all(|(i, x)| *x == -(i as f32))));
    }

    #[test]
    fn parts_are_gathered_and_what_one_has_is_spread(
        algorithm in algorithm(), world in 1usize..=64, len in length(), root in 0usize..64,
    ) {
        let mut all = vec![vec![0; len]; world];
        for (rank, numbers) in all.iter_mut().enumerate() {
            Parts { len, world }.one(rank).for_each(|i| numbers[i] = i as i64 + 1);
        }
        simulate(&plans(algorithm, Collective::AllGather, world, len), &mut all);
        prop_assert!(all.iter().all(|numbers| numbers.iter().zip(1..).all(|(x, i)| *x == i)));

        let root = root % world;
        let mut all = integers(world, len);
        let sent = all[root].clone();
        simulate(&plans(algorithm, Collective::Broadcast { root }, world, len), &mut all);
        prop_assert!(all.iter().all(|numbers| *numbers == sent));
    }

    #[test]
    fn all_ranks_come_to_the_same_bits(algorithm in algorithm(), world in 1usize..=64, len in 0usize..1000) {
        let mut all: Vec<Vec<f32>> = (0..world).map(|r| (0..len).map(|i| number(r, i)).collect()).collect();
        simulate(&plans(algorithm, Collective::AllReduce, world, len), &mut all);
        for i in 0..len {
            let plain: f64 = (0..world).map(|rank| f64::from(number(rank, i))).sum();
            prop_assert!((f64::from(all[0][i]) - plain).abs() <= 1e-6 * world as f64 * plain);
            prop_assert!(all.iter().all(|numbers| numbers[i].to_bits() == all[0][i].to_bits()));
            if algorithm == Algorithm::Direct {
                let in_order = (0..world).map(|rank| number(rank, i)).reduce(|a, b| a + b).unwrap();
                prop_assert_eq!(all[0][i].to_bits(), in_order.to_bits());
            }
        }
    }

    #[test]
    fn no_byte_is_sent_in_vain(log in 1u32..=6, world in 2usize..=64, len in 100_000usize..1_000_000) {
        use Algorithm::*;
        for (algorithm, world) in [(Direct, world), (Ring, world), (HalvingDoubling, 1 << log)] {
            // Parts differ by a block of 32 at most.
            let (bound, slack) = (2 * (world - 1) * len / world, 2 * 32 * world);
            for plan in plans(algorithm, Collective::AllReduce, world, len) {
                let rounds = plan.adding().iter().chain(plan.copying());
                let sent: usize = rounds.flat_map(|r| &r.sends).map(|s| s.range.len()).sum();
                prop_assert!(sent.abs_diff(bound) <= bound / 50 + slack, "{} {}: {} {}", algorithm, world, sent, bound);
            }
        }
    }
}

#[test]
fn nobody_leaves_a_barrier_before_all_have_come() {
    for (algorithm, world) in Algorithm::ALL.into_iter().flat_map(|a| (1..=64).map(move |w| (a, w))) {
        let plans = plans(algorithm, Collective::Barrier, world, 0);
        // The ranks that each has heard of, by whatever way.
        let mut heard: Vec<u64> = (0..world).map(|rank| 1 << rank).collect();
        let many = plans[0].adding().len() + plans[0].copying().len();
        for n in 0..many {
            let before = heard.clone();
            for (plan, heard) in plans.iter().zip(&mut heard) {
                let round = plan.adding().iter().chain(plan.copying()).nth(n).unwrap();
                round.receives.iter().for_each(|receive| *heard |= before[receive.from]);
            }
        }
        assert!(heard.iter().all(|heard| heard.count_ones() == world as u32), "{algorithm} {world}");
        simulate(&plans, &mut vec![Vec::<i64>::new(); world]);
    }
}

#[test]
fn rounds_are_as_many_as_promised() {
    for (algorithm, rounds) in Algorithm::ALL.into_iter().zip([2, 30, 8, 4, 8]) {
        let plan = Plan::new(algorithm, Collective::AllReduce, 16, 5, 1000);
        assert_eq!(plan.adding().len() + plan.copying().len(), rounds, "{algorithm}");
    }
}

#[test]
fn nothing_is_sent_of_nothing() {
    for algorithm in Algorithm::ALL {
        let plan = Plan::new(algorithm, Collective::AllReduce, 7, 3, 0);
        assert!(plan.adding().iter().chain(plan.copying()).all(|round| *round == Round::default()));
    }
}
