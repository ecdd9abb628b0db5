//! The barrier in orders of events that no machine here would come to by itself.
//!
//! `wait.rs` is compiled once more, made of shuttle's atomics, locks and threads: whatever they do, a scheduler may let
//! another go first. It takes all atomics as `SeqCst`, which those are that decide here; what it explores is the order
//! of things, not the weakness of a memory. A clock goes on whenever somebody looks at it. A schedule that fails is printed, and
//! `shuttle::replay` does it again.

use crate::Broken;
use shuttle::thread;
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use wait::Barrier;

#[allow(dead_code, clippy::duplicate_mod)]
#[path = "wait.rs"]
mod wait;

thread_local! {
    /// All threads of the model are one here.
    static NOW_MS: Cell<u64> = const { Cell::new(0) };
    /// Whether a sleeper wakes by itself; otherwise a wake-up that is missed is a deadlock, and found.
    static WAKES: Cell<bool> = const { Cell::new(false) };
}

mod sync {
    use super::{NOW_MS, WAKES};
    pub(super) use shuttle::hint::spin_loop;
    pub(super) use shuttle::sync::atomic::{AtomicBool, AtomicU64};
    pub(super) use shuttle::sync::{Mutex, MutexGuard};
    pub(super) use shuttle::thread::yield_now;
    use std::sync::LockResult;
    use std::time::Duration;

    pub(super) const SPINS: u32 = 2;
    pub(super) const AWAKE: Duration = Duration::from_millis(2);
    pub(super) const NAP: Duration = Duration::from_millis(1);

    pub(super) struct Instant(u64);

    impl Instant {
        pub(super) fn now() -> Self {
            Self(NOW_MS.get())
        }

        pub(super) fn elapsed(&self) -> Duration {
            NOW_MS.set(NOW_MS.get() + 1);
            Duration::from_millis(NOW_MS.get() - self.0)
        }
    }

    pub(super) struct Condvar(shuttle::sync::Condvar);

    impl Condvar {
        pub(super) fn new() -> Self {
            Self(shuttle::sync::Condvar::new())
        }

        pub(super) fn notify_all(&self) {
            self.0.notify_all();
        }

        pub(super) fn wait_timeout<'a, T>(
            &self,
            guard: MutexGuard<'a, T>,
            _: Duration,
        ) -> LockResult<MutexGuard<'a, T>> {
            if WAKES.get() {
                yield_now();
                Ok(guard)
            } else {
                self.0.wait(guard)
            }
        }
    }
}

/// Runs this in many orders, at random and by few changes of priority.
fn explore(wakes: bool, scenario: fn()) {
    let run = move || {
        NOW_MS.set(0);
        WAKES.set(wakes);
        scenario();
    };
    shuttle::check_random(run, 10_000);
    shuttle::check_pct(run, 10_000, 4);
}

const NEVER: Duration = Duration::from_secs(1 << 30);

/// What became of each of so many ranks that come once.
fn once(barrier: &Arc<Barrier>, world: usize) -> Vec<thread::JoinHandle<Result<(), Broken>>> {
    let come = |rank| {
        let barrier = barrier.clone();
        thread::spawn(move || barrier.wait(rank))
    };
    (0..world).map(come).collect()
}

fn ended(ranks: Vec<thread::JoinHandle<Result<(), Broken>>>) -> Vec<Result<(), Broken>> {
    ranks.into_iter().map(|rank| rank.join().unwrap()).collect()
}

#[test]
fn nobody_passes_before_everybody_came_and_nobody_sleeps_on() {
    explore(false, || {
        let barrier = Arc::new(Barrier::new(3, NEVER));
        let came = Arc::new([const { AtomicUsize::new(0) }; 3]);
        let come = |rank| {
            let (barrier, came) = (barrier.clone(), came.clone());
            thread::spawn(move || {
                // The middle turn is arrived at by one, and not waited for.
                for (turn, skipped) in [(0, 0), (2, u64::from(rank == 1))] {
                    if skipped == 0 && turn == 2 {
                        came[1].fetch_add(1, Ordering::SeqCst);
                        barrier.wait(rank).unwrap();
                    }
                    came[turn].fetch_add(1, Ordering::SeqCst);
                    barrier.wait_turns(rank, 1 + skipped, 1).unwrap();
                    assert_eq!(came[turn].load(Ordering::SeqCst), 3);
                }
            })
        };
        let ranks: Vec<_> = (0..3).map(come).collect();
        ranks.into_iter().for_each(|rank| rank.join().unwrap());
    });
}

#[test]
fn a_turn_is_passed_by_all_or_by_none_when_somebody_breaks_it() {
    explore(false, || {
        let barrier = Arc::new(Barrier::new(3, NEVER));
        let ranks = once(&barrier, 3);
        let cause = Broken::Left { rank: 3, cause: "in the middle of it".into() };
        barrier.break_with(cause.clone());
        let all = ended(ranks);
        assert!(all.iter().all(|end| *end == all[0]), "{all:?}");
        assert!(all[0].is_ok() || all[0] == Err(cause));
        assert!(barrier.wait(0).is_err(), "nobody passes a turn after it");
    });
}

#[test]
fn a_turn_is_passed_by_all_or_by_none_when_it_takes_too_long() {
    explore(true, || {
        let barrier = Arc::new(Barrier::new(3, Duration::from_millis(3)));
        let all = ended(once(&barrier, 3));
        assert!(all.iter().all(|end| *end == all[0]), "{all:?}");
        assert!(matches!(&all[0], Ok(()) | Err(Broken::Stalled { .. })), "{all:?}");
    });
}

#[test]
fn the_first_cause_is_everybodys_when_one_breaks_what_another_finds_too_long() {
    explore(true, || {
        let barrier = Arc::new(Barrier::new(3, Duration::from_millis(3)));
        let ranks = once(&barrier, 2);
        barrier.break_with(Broken::Left { rank: 2, cause: "out of cheese".into() });
        let first = barrier.broken();
        let all = ended(ranks);
        assert!(all.iter().all(|end| end.as_ref().err() == first.as_ref()), "{all:?}, {first:?}");
    });
}
