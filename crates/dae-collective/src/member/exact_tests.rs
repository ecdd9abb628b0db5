//! Sums that do not depend on the order of their terms, through the arena.

#![allow(unsafe_code)]

use super::*;
use proptest::prelude::*;
use std::time::Duration;

const LEN: usize = 77;
const STEPS: usize = 4;

/// The gradient of one grain: sizes grow and shrink from step to step, and one step has a leap in it.
fn grain(step: usize, grain: usize, into: &mut [f32]) {
    let leap = if step == 2 { 1e6 } else { 1.0 };
    for (at, g) in into.iter_mut().enumerate() {
        *g = ((grain * 31 + at * 7 + step) as f32).sin() * leap * (0.1_f32).powi((at % 9) as i32);
    }
}

/// Trains with so many ranks that share `grains` grains; gives the parameters, and how often a step had to be done again.
fn train(world: usize, grains: usize, arena: &Arc<Arena>) -> (Vec<f32>, usize) {
    let members = (0..world).map(|rank| arena.join(rank).unwrap()).collect();
    let again = all_of(members, grains);
    // SAFETY: everybody has left.
    let params = unsafe { arena.params.slice(0..LEN) };
    (params.to_vec(), again)
}

/// Trains with these members, which are all there are.
fn all_of(members: Vec<Member>, grains: usize) -> usize {
    let world = members.len();
    let again: Vec<usize> = std::thread::scope(|scope| {
        let ranks: Vec<_> = members
            .into_iter()
            .map(|mut member| {
                let rank = member.rank();
                scope.spawn(move || {
                    let (mut step, mut again) = (0, 0);
                    while step < STEPS {
                        let mut mine = Contribution { weight: 1.0, ..Default::default() };
                        for n in 0..grains / world {
                            // Whichever way round.
                            let at = if rank % 2 == 0 { n } else { grains / world - 1 - n };
                            grain(step, rank * (grains / world) + at, member.slot());
                            mine.peak = mine.peak.max(member.fold(n == 0));
                        }
                        let apply = |view: &mut Apply<'_>| {
                            if view.again {
                                return Ok((true, None));
                            }
                            for (p, g) in view.params.iter_mut().zip(view.grads[0]) {
                                *p -= 1e-3 * g;
                            }
                            Ok((false, Some(true)))
                        };
                        match member.reduce(mine, apply).unwrap().0 {
                            true => again += 1,
                            false => step += 1,
                        }
                    }
                    member.leave(STEPS as u64).unwrap();
                    again
                })
            })
            .collect();
        ranks.into_iter().map(|rank| rank.join().unwrap()).collect()
    });
    assert!(again.windows(2).all(|pair| pair[0] == pair[1]), "all ranks decide alike");
    again[0]
}

fn arena(world: usize, grains: usize) -> Arc<Arena> {
    Arena::exact(0, LEN, 0, world, Duration::from_secs(20), grains)
}

#[test]
fn the_number_of_ranks_does_not_change_a_bit() {
    let (one, again) = train(1, 30, &arena(1, 30));
    // The first step, the leap up, and the leap down.
    assert_eq!(again, 3);
    for world in [2, 3, 5, 6] {
        let (params, again) = train(world, 30, &arena(world, 30));
        assert_eq!((params, again), (one.clone(), 3), "{world} ranks");
    }
}

#[test]
fn nor_does_the_number_of_nodes_or_the_algorithm() {
    let (one, _) = train(1, 30, &arena(1, 30));
    for algorithm in crate::Algorithm::ALL {
        for (nodes, ranks) in [(2, 1), (3, 1), (3, 2), (5, 1)] {
            let names: Vec<_> = (0..nodes).map(|n| format!("node {n}")).collect();
            let stall = Duration::from_secs(20);
            let arenas: Vec<_> =
                (0..nodes).map(|n| Arena::exact(n * ranks, LEN, 0, ranks, stall, 30)).collect();
            let mut members: Vec<Option<Member>> = (0..nodes * ranks).map(|_| None).collect();
            for rank in 0..ranks {
                for (node, peers) in crate::MemoryPeers::mesh(&names, stall).into_iter().enumerate() {
                    let member = arenas[node].join(rank).unwrap();
                    let member = member.across_by(Box::new(peers), crate::Means::Plain(algorithm));
                    members[node * ranks + rank] = Some(member);
                }
            }
            all_of(members.into_iter().flatten().collect(), 30);
            for arena in arenas {
                // SAFETY: everybody has left.
                let params = unsafe { arena.params.slice(0..LEN) };
                assert_eq!(params, one, "{nodes} nodes of {ranks}, {algorithm}");
            }
        }
    }
}

#[test]
fn the_scale_is_part_of_the_state() {
    let arena = arena(1, 30);
    train(1, 30, &arena);
    let scale = arena.scale();
    assert_ne!(scale, Scale::UNKNOWN);
    arena.reopen().unwrap();
    let mut member = arena.join(0).unwrap();
    grain(STEPS, 0, member.slot());
    let peak = member.fold(true);
    let mine = Contribution { weight: 1.0, peak, ..Default::default() };
    let again = member.reduce(mine, |view| Ok((view.again, Some(true)))).unwrap().0;
    assert!(!again, "what fitted the step before fits this one");
    let snapshot = member.leave(1).unwrap().unwrap();
    assert_eq!(snapshot.scale(), arena.scale());
    drop(snapshot);
    arena.load(0, &[0.0; LEN], &[], scale).unwrap();
    assert_eq!(arena.scale(), scale);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn a_number_that_is_not_finite_is_told_to_all(bad in prop::sample::select(vec![f32::NAN, f32::INFINITY]), who in 0_usize..3) {
        let arena = arena(3, 3);
        std::thread::scope(|scope| {
            for rank in 0..3 {
                let mut member = arena.join(rank).unwrap();
                scope.spawn(move || {
                    member.slot().fill(1.0);
                    if rank == who {
                        member.slot()[5] = bad;
                    }
                    let mine = Contribution { weight: 1.0, peak: member.fold(true), ..Default::default() };
                    let decide = |view: &mut Apply<'_>| Ok((crate::Commit::decide(view.contributions).culprit, None));
                    let (culprit, _) = member.reduce(mine, decide).unwrap();
                    assert_eq!(culprit.map(|c| (c.rank, c.what)), Some((who, "gradient")));
                    member.leave(0).unwrap();
                });
            }
        });
    }
}
