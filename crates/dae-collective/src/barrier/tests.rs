//! The barrier on threads of this machine.

use crate::{Barrier, Broken, Doing};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

#[test]
fn nobody_passes_before_everybody_came() {
    for world in [1, 2, 3, 5] {
        let barrier = Arc::new(Barrier::new(world, Duration::from_secs(20)));
        let count = Arc::new(AtomicUsize::new(0));
        let ranks: Vec<_> = (0..world)
            .map(|rank| {
                let (barrier, count) = (barrier.clone(), count.clone());
                std::thread::spawn(move || {
                    for round in 0..300 {
                        assert_eq!(count.load(Ordering::SeqCst) / world, round);
                        barrier.wait(rank).unwrap();
                        count.fetch_add(1, Ordering::SeqCst);
                        barrier.wait(rank).unwrap();
                    }
                })
            })
            .collect();
        for r in ranks {
            r.join().unwrap();
        }
    }
}

#[test]
fn a_rank_that_leaves_frees_the_others_with_the_first_cause() {
    let barrier = Arc::new(Barrier::new(3, Duration::from_secs(60)));
    let waiting: Vec<_> = (0..2)
        .map(|rank| {
            let barrier = barrier.clone();
            std::thread::spawn(move || barrier.wait(rank))
        })
        .collect();
    barrier.break_with(Broken::Left { rank: 2, cause: "out of cheese".into() });
    barrier.break_with(Broken::Left { rank: 1, cause: "a follower's error".into() });
    for w in waiting {
        assert_eq!(w.join().unwrap(), Err(Broken::Left { rank: 2, cause: "out of cheese".into() }));
    }
}

#[test]
fn a_stall_names_who_is_missing() {
    let barrier = Barrier::new(3, Duration::from_millis(30));
    barrier.arrive(1);
    barrier.note(2, Doing::Data);
    let broken = barrier.wait(0).unwrap_err();
    let want =
        "ranks [2] did not arrive within 30ms; rank 0 waited for them: rank 2 was waiting for its data";
    assert_eq!(broken.to_string(), want);
}

#[test]
fn who_is_waited_for_can_be_asked() {
    let barrier = Barrier::new(3, Duration::from_secs(20));
    assert_eq!(barrier.stalled(), None);
    barrier.arrive(1);
    barrier.note(0, Doing::Gradient);
    barrier.note(2, Doing::exchange([0].into_iter()));
    barrier.name_nodes(vec!["a".into(), "b".into()]);
    let doing = "rank 0 was computing its gradient, rank 2 was in the exchange with a".into();
    let waited = Duration::from_secs(20);
    assert_eq!(barrier.stalled(), Some(Broken::Stalled { missing: vec![0, 2], seen_by: 1, waited, doing }));
    let seen: Vec<_> = barrier.look().iter().map(|seen| (seen.rank, seen.missing, seen.waits)).collect();
    assert_eq!(seen, [(0, true, false), (1, false, true), (2, true, false)]);
}

#[test]
fn who_comes_too_late_fails_as_the_others_did() {
    let barrier = Barrier::new(2, Duration::from_millis(1));
    let stalled = barrier.wait(0);
    assert!(matches!(&stalled, Err(Broken::Stalled { missing, .. }) if missing == &[1]), "{stalled:?}");
    assert_eq!(barrier.wait(1), stalled);
}

#[test]
fn a_turn_is_passed_by_all_or_by_none() {
    for _ in 0..3_000 {
        let barrier = Arc::new(Barrier::new(3, Duration::from_secs(20)));
        let gate = Arc::new(std::sync::Barrier::new(4));
        let ranks: Vec<_> = (0..3)
            .map(|rank| {
                let (barrier, gate) = (barrier.clone(), gate.clone());
                std::thread::spawn(move || {
                    gate.wait();
                    barrier.wait(rank).is_ok()
                })
            })
            .collect();
        gate.wait();
        barrier.break_with(Broken::Left { rank: 3, cause: "in the middle of it".into() });
        let all: Vec<_> = ranks.into_iter().map(|r| r.join().unwrap()).collect();
        assert!(all.iter().all(|ok| *ok == all[0]), "{all:?}");
    }
}
