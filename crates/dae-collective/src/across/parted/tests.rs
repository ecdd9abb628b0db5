//! Each node moves its own part: the same bits as where each moves all.

use crate::{
    Algorithm, Apply, Arena, Broken, Codec, Contribution, Means, Member, MemoryPeers, Peers, Snapshot,
};
use proptest::prelude::*;
use std::time::Duration;

const STALL: Duration = Duration::from_secs(20);
const STEPS: u64 = 5;
/// Nobody applies the one at first, and the other counts and moves nothing.
const DONE_ANEW: u64 = 1;
const SKIPPED: u64 = 2;

fn gradient(rank: usize, i: usize, step: u64) -> f32 {
    (1.0 + i as f32 * 0.37 + step as f32).sin() * 10_f32.powi(rank as i32 % 3 - 1)
}

/// Momentum, clipped by the norm over all numbers. Whether the step is done.
fn momentum(
    view: &mut Apply<'_>,
    step: u64,
    first_try: bool,
    exact: bool,
) -> Result<(bool, Option<bool>), Broken> {
    if view.again || (step == DONE_ANEW && first_try) {
        return Ok((false, None));
    }
    if step == SKIPPED {
        view.skipped = true;
        return Ok((true, Some(true)));
    }
    let total = |view: &Apply<'_>, i: usize| view.grads.iter().map(|g| g[i]).fold(-0.0, |a, b| a + b);
    let norm = if exact {
        let mine = (0..view.params.len()).map(|i| i128::from((total(view, i).abs() * 1e6) as i64)).sum();
        view.sum_exact(mine)? as f32
    } else {
        let squares =
            |range: std::ops::Range<usize>| -> f64 { range.map(|i| f64::from(total(view, i)).powi(2)).sum() };
        let mine = view.stretches().map(squares).sum();
        view.sum(mine)?.sqrt() as f32
    };
    for i in 0..view.params.len() {
        let g = total(view, i) / norm;
        let v = &mut view.state[0][i];
        *v = 0.9 * *v + g;
        view.params[i] -= 0.1 * *v;
    }
    Ok((true, Some(true)))
}

type Bits = Vec<u32>;

fn bits(numbers: &[f32]) -> Bits {
    numbers.iter().map(|x| x.to_bits()).collect()
}

fn state(copy: &Snapshot) -> (Bits, Bits) {
    (bits(copy.params()), bits(copy.state()[0]))
}

/// What a rank saw: the periodic copy, and the last.
type Seen = (Option<(Bits, Bits)>, Option<(Bits, Bits)>);

fn train(mut member: Member) -> Seen {
    let (rank, exact) = (member.rank(), member.arena().is_exact());
    let (mut step, mut first_try, mut periodic) = (0, true, None);
    while step < STEPS {
        member.slot().iter_mut().enumerate().for_each(|(i, g)| *g = gradient(rank, i, step));
        let mut mine = Contribution { weight: 1.0, ..Default::default() };
        if exact {
            mine.peak = member.fold(true);
        }
        let apply = |view: &mut Apply<'_>| momentum(view, step, first_try, exact);
        let (done, bad) = member.reduce(mine, apply).unwrap();
        assert_eq!(bad, None);
        first_try = false;
        if !done {
            continue;
        }
        (step, first_try) = (step + 1, true);
        if step == 4 {
            member.copy_slice().unwrap();
        }
        if step == 5 && rank == 0 {
            periodic = member.take_snapshot(4).map(|copy| state(&copy));
        }
    }
    (periodic, member.leave(STEPS).unwrap().map(|copy| state(&copy)))
}

struct World {
    nodes: usize,
    ranks: usize,
    len: usize,
    exact: bool,
}

impl World {
    fn members(&self, state: usize) -> Vec<Member> {
        let Self { nodes, ranks, len, exact } = *self;
        let names: Vec<_> = (0..nodes).map(|n| format!("node {n}")).collect();
        let arena = |node: usize| match exact {
            true => Arena::exact(node * ranks, len, state, ranks, STALL, nodes * ranks),
            false => Arena::on_node(node * ranks, len, state, ranks, STALL),
        };
        let arenas: Vec<_> = (0..nodes).map(arena).collect();
        let mut members = Vec::new();
        for rank in 0..ranks {
            for (arena, peers) in arenas.iter().zip(MemoryPeers::mesh(&names, STALL)) {
                members.push(arena.join(rank).unwrap().across(Box::new(peers)));
            }
        }
        members.sort_by_key(Member::rank);
        members
    }

    fn train(&self, parted: Option<Algorithm>) -> Vec<Seen> {
        let members = self.members(1).into_iter().map(|member| match parted {
            Some(algorithm) => member.parted(algorithm),
            None => member,
        });
        std::thread::scope(|scope| {
            let threads: Vec<_> = members.map(|m| scope.spawn(move || train(m))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        })
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn whoever_moves_what_the_bits_are_the_same(
        nodes in 1usize..5, ranks in 1usize..3, len in 0usize..400, exact: bool,
    ) {
        let world = World { nodes, ranks, len, exact };
        let (whole, parted) = (world.train(None), world.train(Some(Algorithm::Direct)));
        // The first has the state of all, the others their parts of it.
        prop_assert!(whole[0] == parted[0]);
        prop_assert!(whole[0].0.is_some() && whole[0].1.is_some());
        let params = |seen: &[Seen]| -> Vec<Option<Bits>> {
            seen.iter().map(|seen| seen.1.as_ref().map(|last| last.0.clone())).collect()
        };
        prop_assert!(params(&whole) == params(&parted));
    }

    #[test]
    fn all_algorithms_agree_where_the_order_of_sums_is_nothing(
        nodes in 2usize..6, len in 0usize..400, which in 0..Algorithm::ALL.len(),
    ) {
        let world = World { nodes, ranks: 1, len, exact: true };
        let (whole, parted) = (world.train(None), world.train(Some(Algorithm::ALL[which])));
        prop_assert!(whole[0] == parted[0]);
        let params = |seen: &Seen| seen.1.as_ref().map(|last| last.0.clone());
        prop_assert!(parted.iter().all(|seen| params(seen) == params(&whole[0])));
    }
}

#[test]
fn what_one_node_saw_not_to_be_finite_all_know() {
    let world = World { nodes: 3, ranks: 2, len: 400, exact: false };
    std::thread::scope(|scope| {
        let threads: Vec<_> = world
            .members(0)
            .into_iter()
            .map(|member| member.parted(Algorithm::Direct))
            .map(|mut member| {
                scope.spawn(move || {
                    member.slot().fill(1.0);
                    if member.rank() == 0 {
                        // In the second rank's slice of the last node's part.
                        member.slot()[399] = f32::NAN;
                    }
                    let apply =
                        |view: &mut Apply<'_>| Ok(((), Some(view.grads[0].iter().all(|g| g.is_finite()))));
                    let ((), bad) = member.reduce(Contribution::default(), apply).unwrap();
                    assert_eq!(bad, Some(1));
                    member.leave(1).unwrap();
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
}

#[test]
#[should_panic(expected = "codec")]
fn parts_do_not_go_with_a_codec() {
    let ends = MemoryPeers::mesh(&["a".to_owned(), "b".to_owned()], STALL);
    for peers in ends {
        let arena = Arena::on_node(peers.node(), 8, 0, 1, STALL);
        let member = arena.join(0).unwrap().across_by(Box::new(peers), Means::Coded(Codec::Int8));
        member.parted(Algorithm::Direct);
    }
}
