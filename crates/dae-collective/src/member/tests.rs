//! One rank, and several, in an arena.

#![allow(unsafe_code)]

use super::*;
use crate::ArenaError;
use proptest::prelude::*;
use std::time::Duration;

/// Plain gradient descent on a slice: what a worker does in `reduce`, in the smallest form.
fn descend(view: &mut Apply<'_>) -> (f64, Option<bool>) {
    let weight: f64 = view.contributions.iter().map(|c| c.weight).sum();
    for (i, p) in view.params.iter_mut().enumerate() {
        *p -= view.grads.iter().map(|g| g[i]).sum::<f32>() / weight as f32;
    }
    (weight, Some(true))
}

/// Runs `world` ranks for `steps` steps; `fail` makes a rank drop out before the reduce of a step.
fn train(arena: &Arc<Arena>, steps: u64, fail: Option<(usize, u64)>) -> Vec<Result<(), Broken>> {
    std::thread::scope(|scope| {
        let ranks: Vec<_> = (0..arena.world())
            .map(|rank| {
                let mut member = arena.join(rank).unwrap();
                scope.spawn(move || {
                    for step in 0..steps {
                        if fail == Some((rank, step)) {
                            return Err(Broken::Left { rank, cause: "told to".into() });
                        }
                        for (i, g) in member.slot().iter_mut().enumerate() {
                            *g = (rank + 1) as f32 * (i + 1) as f32;
                        }
                        let mine = Contribution { weight: 1.0, ..Default::default() };
                        member.reduce(mine, |view| Ok(descend(view)))?;
                    }
                    member.leave(steps).map(drop)
                })
            })
            .collect();
        ranks.into_iter().map(|r| r.join().unwrap()).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn every_length_and_world_is_covered_once(len in 0usize..500, world in 1usize..9) {
        let arena = Arena::new(len, 0, world, Duration::from_secs(20));
        let edges: Vec<_> = (0..world).map(|r| arena.slice_of(r)).collect();
        prop_assert_eq!(edges[0].start, 0);
        prop_assert_eq!(edges[world - 1].end, len);
        prop_assert!(edges.windows(2).all(|w| w[0].end == w[1].start));
        for outcome in train(&arena, 3, None) {
            prop_assert_eq!(outcome, Ok(()));
        }
        let factor = (1..=world).sum::<usize>() as f32 / world as f32;
        // SAFETY: everybody has left.
        let params = unsafe { arena.params.slice(0..len) };
        for (i, p) in params.iter().enumerate() {
            let want = -3.0 * factor * (i + 1) as f32;
            prop_assert!((p - want).abs() <= want.abs() * 1e-6);
        }
    }

    #[test]
    fn a_lost_rank_frees_all_and_loses_no_step(world in 2usize..5, who in 0usize..4, step in 0u64..6) {
        let who = who % world;
        let arena = Arena::new(100, 0, world, Duration::from_secs(20));
        let outcomes = train(&arena, 8, Some((who, step)));
        let told = |o: &Result<(), Broken>| matches!(o, Err(Broken::Left { rank, .. }) if *rank == who);
        prop_assert!(outcomes.iter().all(told));
        prop_assert_eq!(arena.committed(), Ok(step));
        arena.reopen().unwrap();
        prop_assert!(train(&arena, 8 - step, None).iter().all(Result::is_ok));
        let whole = Arena::new(100, 0, world, Duration::from_secs(20));
        train(&whole, 8, None);
        // SAFETY: everybody has left both arenas.
        let (a, b) = unsafe { (arena.params.slice(0..100), whole.params.slice(0..100)) };
        prop_assert_eq!(a, b);
    }
}

#[test]
fn a_step_cut_short_while_applied_is_told() {
    let arena = Arena::new(64, 0, 1, Duration::from_secs(20));
    let mut member = arena.join(0).unwrap();
    let cut = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        member.reduce::<()>(Contribution::default(), |_| panic!("half way"))
    }));
    assert!(cut.is_err());
    drop(member);
    assert_eq!(arena.reopen(), Err(ArenaError::Torn));
    arena.load(5, &[1.0; 64], &[], Scale::UNKNOWN).unwrap();
    assert_eq!(arena.committed(), Ok(5));
}

#[test]
fn a_rank_enters_once() {
    let arena = Arena::new(8, 0, 2, Duration::from_secs(20));
    let member = arena.join(1).unwrap();
    assert_eq!(arena.join(1).err(), Some(ArenaError::Occupied(1)));
    assert_eq!(arena.join(2).err(), Some(ArenaError::NoSuchRank { rank: 2, world: 2 }));
    assert_eq!(arena.reopen(), Err(ArenaError::Occupied(1)));
    drop(member);
    assert!(matches!(arena.broken(), Some(Broken::Left { rank: 1, .. })));
}

#[test]
fn the_copy_of_a_step_is_whole_after_the_next_reduce() {
    let arena = Arena::new(64, 1, 1, Duration::from_secs(20));
    let mut member = arena.join(0).unwrap();
    let step = |member: &mut Member| {
        member.slot().fill(1.0);
        let mine = Contribution { weight: 1.0, ..Default::default() };
        member.reduce(mine, |v| Ok(descend(v))).unwrap();
    };
    step(&mut member);
    assert!(member.take_snapshot(1).is_none(), "there is no copy");
    assert!(member.copy_slice().unwrap());
    assert!(member.take_snapshot(1).is_none(), "others may still be at it");
    step(&mut member);
    let copy = member.take_snapshot(1).unwrap();
    assert!(!member.copy_slice().unwrap(), "somebody reads it");
    assert!(!member.snapshot_free());
    assert!(copy.params().iter().all(|p| *p == -1.0));
    assert!(member.params().iter().all(|p| *p == -2.0));
    drop(copy);
    assert!(member.snapshot_free());
    assert!(member.take_snapshot(1).is_none(), "it was taken");
    assert!(member.leave(2).unwrap().unwrap().params().iter().all(|p| *p == -2.0));
}

#[test]
fn a_member_whose_reduce_was_cut_short_touches_nothing_more() {
    let arena = Arena::new(64, 0, 1, Duration::from_secs(20));
    let mut member = arena.join(0).unwrap();
    let cause = Broken::Left { rank: 0, cause: "out of cheese".into() };
    let failed = member.reduce::<()>(Contribution::default(), |_| Err(cause.clone()));
    assert_eq!(failed, Err(cause.clone()));
    assert_eq!(member.broken(), Some(cause.clone()));
    let again = member.reduce::<()>(Contribution::default(), |_| unreachable!("it is broken"));
    assert_eq!(again, Err(cause.clone()));
    assert!(!member.copy_slice().unwrap());
    let touch = |touch: &mut dyn FnMut()| std::panic::catch_unwind(std::panic::AssertUnwindSafe(touch));
    assert!(touch(&mut || member.slot().fill(1.0)).is_err());
    assert!(touch(&mut || assert!(member.params().is_empty())).is_err());
    assert_eq!(member.leave(0).map(drop), Err(cause));
    // The others may be at that step still: who comes back waits until the group is formed anew.
    assert_eq!(arena.join(0).err(), Some(ArenaError::Gone(0)));
    arena.load(0, &[0.0; 64], &[], Scale::UNKNOWN).unwrap();
    assert!(arena.join(0).is_ok());
}

#[test]
fn a_step_has_one_sum() {
    let arena = Arena::new(64, 0, 1, Duration::from_secs(20));
    let mut member = arena.join(0).unwrap();
    let twice = member.reduce(Contribution::default(), |view| {
        assert_eq!(view.sum(2.5)?, 2.5);
        view.params.fill(1.0);
        view.sum(1.0).map(|sum| (sum, Some(true)))
    });
    assert!(matches!(&twice, Err(Broken::Left { cause, .. }) if cause.contains("two sums")), "{twice:?}");
    drop(member);
    assert_eq!(arena.reopen(), Err(ArenaError::Torn));
}

#[test]
fn ranks_that_disagree_about_a_sum_fail_at_once() {
    let arena = Arena::new(64, 0, 2, Duration::from_secs(600));
    let step = |rank: usize| {
        let mut member = arena.join(rank).unwrap();
        let apply = |view: &mut Apply<'_>| match rank {
            0 => view.sum(1.0).map(|sum| (sum, Some(true))),
            _ => Ok(descend(view)),
        };
        member.reduce(Contribution { weight: 1.0, ..Default::default() }, apply)
    };
    let both = std::thread::scope(|s| [0, 1].map(|r| s.spawn(move || step(r))).map(|t| t.join().unwrap()));
    let cause = "it did not ask for the sum that others asked for".into();
    let broken = Err(Broken::Left { rank: 1, cause });
    assert_eq!(both, [broken.clone(), broken]);
    assert_eq!(arena.reopen(), Err(ArenaError::Torn));
}

#[test]
fn a_copy_that_not_all_took_part_in_is_none() {
    let arena = Arena::new(64, 0, 2, Duration::from_secs(20));
    let copy = |rank: usize| {
        let mut member = arena.join(rank).unwrap();
        let mine = || Contribution { weight: 1.0, ..Default::default() };
        let mut got = Vec::new();
        // Rank 1 copies a step late the first time.
        for step in 0..4 {
            member.reduce(mine(), |view| Ok(descend(view))).unwrap();
            if rank == 0 {
                got.extend(member.take_snapshot(step).map(|s| s.step));
            }
            if step == 2 || step == rank as u64 {
                assert!(member.copy_slice().unwrap());
            }
        }
        member.leave(4).unwrap();
        got
    };
    let both = std::thread::scope(|s| [0, 1].map(|r| s.spawn(move || copy(r))).map(|t| t.join().unwrap()));
    assert_eq!(both[0][..], [3], "the copy that both took part in, and no other");
}
