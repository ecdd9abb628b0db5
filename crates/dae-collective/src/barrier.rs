//! A barrier that breaks instead of hanging.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Rounds of busy waiting before the processor is offered to others: about the length of a reduce's jitter.
const SPINS: u32 = 1_500;
/// How long to go on offering the processor before sleeping: shorter waits are cheaper awake.
const AWAKE: Duration = Duration::from_millis(2);
/// A sleeper looks again this often, which bounds the harm of any missed wake-up.
const NAP: Duration = Duration::from_millis(20);

/// Why a barrier will not open any more; the first cause, the same for every rank.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    /// A rank failed or left while others waited.
    #[error("rank {rank} left the group: {cause}")]
    Left {
        /// The rank that left.
        rank: usize,
        /// What made it leave.
        cause: String,
    },
    /// Some ranks did not arrive in time.
    #[error("ranks {missing:?} did not arrive within {waited:?}; rank {seen_by} waited for them")]
    Stalled {
        /// The ranks that were waited for.
        missing: Vec<usize>,
        /// Who noticed.
        seen_by: usize,
        /// The bound that was passed.
        waited: Duration,
    },
    /// Another node was lost, or has gone with a cause of its own.
    #[error("node {node}: {cause}")]
    Node {
        /// Its name.
        node: String,
        /// What is known of it.
        cause: String,
    },
}

/// One rank's count of arrivals, alone on its cache lines so that ranks do not slow each other down.
#[repr(align(128))]
struct Arrivals(AtomicU64);

/// What became of a broken barrier.
struct Fate {
    /// The first cause.
    cause: Option<Broken>,
    /// The first turn that somebody gave up: it and all later ones fail for every rank.
    failed: u64,
}

/// A reusable barrier for a fixed number of ranks.
///
/// Everything a rank wrote before [`Barrier::wait`] is visible to every rank after it. A turn is passed by all ranks
/// or by none, also by one that arrives after the others have given it up: what they decide next must not differ.
pub struct Barrier {
    arrivals: Vec<Arrivals>,
    broken: AtomicBool,
    fate: Mutex<Fate>,
    wake: Condvar,
    stall: Duration,
    /// What its first rank is called.
    first: usize,
}

impl Barrier {
    /// A barrier for `world` ranks that breaks when one of them lets the others wait longer than `stall`.
    pub fn new(world: usize, stall: Duration) -> Self {
        Self::from(0, world, stall)
    }

    /// As [`Barrier::new`]; its causes call the ranks `first` and following.
    pub(crate) fn from(first: usize, world: usize, stall: Duration) -> Self {
        Self {
            first,
            arrivals: (0..world).map(|_| Arrivals(AtomicU64::new(0))).collect(),
            broken: AtomicBool::new(false),
            fate: Mutex::new(Fate { cause: None, failed: u64::MAX }),
            wake: Condvar::new(),
            stall,
        }
    }

    /// Waits until every rank has arrived as often as this one.
    ///
    /// # Errors
    /// [`Broken`] with the first cause, at once, when the barrier was broken or this wait outlasted the bound.
    pub fn wait(&self, rank: usize) -> Result<(), Broken> {
        self.wait_turns(rank, 1, 1)
    }

    /// As [`Barrier::wait`], so many turns at once: those before the last are arrived at, and not waited for. The bound
    /// is `patience` times as long.
    pub(crate) fn wait_turns(&self, rank: usize, turns: u64, patience: u32) -> Result<(), Broken> {
        let turn = self.arrivals[rank].0.fetch_add(turns, Ordering::SeqCst) + turns;
        if self.open(turn) {
            // Sleepers exist only after a long wait; the lock is what makes this wake-up impossible to miss.
            drop(self.fate());
            self.wake.notify_all();
            return self.pass(turn, rank);
        }
        let (start, bound) = (Instant::now(), self.stall.saturating_mul(patience));
        let mut spins = 0;
        loop {
            if self.open(turn) || self.broken.load(Ordering::SeqCst) {
                return self.pass(turn, rank);
            }
            spins += 1;
            if spins < SPINS {
                std::hint::spin_loop();
            } else if start.elapsed() < AWAKE {
                std::thread::yield_now();
            } else {
                let guard = self.fate();
                if !self.open(turn) && guard.cause.is_none() {
                    drop(self.wake.wait_timeout(guard, NAP).unwrap_or_else(PoisonError::into_inner));
                }
                if start.elapsed() > bound && !self.open(turn) {
                    let missing = self.missing(turn);
                    self.break_with(Broken::Stalled { missing, seen_by: self.first + rank, waited: bound });
                }
            }
        }
    }

    /// The outcome of a turn that was found open, or the barrier broken: the same for every rank.
    ///
    /// Who found it open and then the barrier whole passes without the lock. Who gives it up does so with `broken` set,
    /// and finds it not open after that; so whoever completes it later finds `broken` set, and comes to the lock too.
    /// That needs one order of these reads and writes for all ranks: they are all `SeqCst`.
    fn pass(&self, turn: u64, rank: usize) -> Result<(), Broken> {
        if !self.broken.load(Ordering::SeqCst) {
            return Ok(());
        }
        let mut fate = self.fate();
        if turn < fate.failed && self.open(turn) {
            return Ok(());
        }
        fate.failed = fate.failed.min(turn);
        let unknown = || Broken::Left { rank: self.first + rank, cause: "the barrier was broken".into() };
        Err(fate.cause.clone().unwrap_or_else(unknown))
    }

    /// Breaks the barrier for good; only the first cause is kept.
    pub fn break_with(&self, cause: Broken) {
        self.fate().cause.get_or_insert(cause);
        self.broken.store(true, Ordering::SeqCst);
        self.wake.notify_all();
    }

    /// The first cause, if the barrier is broken.
    pub fn broken(&self) -> Option<Broken> {
        self.fate().cause.clone()
    }

    /// Who is waited for as of now, and by whom, if somebody waits: the cause to break it with for one who knows that
    /// it has lasted too long.
    pub fn stalled(&self) -> Option<Broken> {
        let turns: Vec<_> = self.arrivals.iter().map(|a| a.0.load(Ordering::SeqCst)).collect();
        let turn = *turns.iter().max()?;
        let missing = self.missing(turn);
        let seen_by = self.first + turns.iter().position(|t| *t == turn)?;
        (!missing.is_empty()).then_some(Broken::Stalled { missing, seen_by, waited: self.stall })
    }

    fn fate(&self) -> MutexGuard<'_, Fate> {
        self.fate.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn open(&self, turn: u64) -> bool {
        self.arrivals.iter().all(|a| a.0.load(Ordering::SeqCst) >= turn)
    }

    fn missing(&self, turn: u64) -> Vec<usize> {
        let late = |a: &Arrivals| a.0.load(Ordering::SeqCst) < turn;
        (0..self.arrivals.len()).filter(|r| late(&self.arrivals[*r])).map(|r| self.first + r).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::AtomicUsize;

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
        barrier.arrivals[1].0.fetch_add(1, Ordering::AcqRel);
        let Err(Broken::Stalled { missing, seen_by, .. }) = barrier.wait(0) else { panic!("not stalled") };
        assert_eq!((missing, seen_by), (vec![2], 0));
    }

    #[test]
    fn who_is_waited_for_can_be_asked() {
        let barrier = Barrier::new(3, Duration::from_secs(20));
        assert_eq!(barrier.stalled(), None);
        barrier.arrivals[1].0.fetch_add(1, Ordering::AcqRel);
        let waited = Duration::from_secs(20);
        assert_eq!(barrier.stalled(), Some(Broken::Stalled { missing: vec![0, 2], seen_by: 1, waited }));
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
}
