//! A barrier that breaks instead of hanging.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
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
}

/// One rank's count of arrivals, alone on its cache lines so that ranks do not slow each other down.
#[repr(align(128))]
struct Arrivals(AtomicU64);

/// A reusable barrier for a fixed number of ranks.
///
/// Everything a rank wrote before [`Barrier::wait`] is visible to every rank after it.
pub struct Barrier {
    arrivals: Vec<Arrivals>,
    broken: AtomicBool,
    cause: Mutex<Option<Broken>>,
    wake: Condvar,
    stall: Duration,
}

impl Barrier {
    /// A barrier for `world` ranks that breaks when one of them lets the others wait longer than `stall`.
    pub fn new(world: usize, stall: Duration) -> Self {
        Self {
            arrivals: (0..world).map(|_| Arrivals(AtomicU64::new(0))).collect(),
            broken: AtomicBool::new(false),
            cause: Mutex::new(None),
            wake: Condvar::new(),
            stall,
        }
    }

    /// Waits until every rank has arrived as often as this one.
    ///
    /// # Errors
    /// [`Broken`] with the first cause, at once, when the barrier was broken or this wait outlasted the bound.
    pub fn wait(&self, rank: usize) -> Result<(), Broken> {
        let turn = self.arrivals[rank].0.fetch_add(1, Ordering::AcqRel) + 1;
        if self.open(turn) {
            // Sleepers exist only after a long wait; the lock is what makes this wake-up impossible to miss.
            drop(self.cause.lock().unwrap_or_else(PoisonError::into_inner));
            self.wake.notify_all();
            return Ok(());
        }
        let start = Instant::now();
        let mut spins = 0;
        loop {
            if self.open(turn) {
                return Ok(());
            }
            if self.broken.load(Ordering::Acquire) {
                return Err(self.first_cause(rank));
            }
            spins += 1;
            if spins < SPINS {
                std::hint::spin_loop();
            } else if start.elapsed() < AWAKE {
                std::thread::yield_now();
            } else {
                let guard = self.cause.lock().unwrap_or_else(PoisonError::into_inner);
                if !self.open(turn) && guard.is_none() {
                    drop(
                        self.wake
                            .wait_timeout(guard, NAP)
                            .unwrap_or_else(PoisonError::into_inner),
                    );
                }
                if start.elapsed() > self.stall && !self.open(turn) {
                    let missing = self.missing(turn);
                    self.break_with(Broken::Stalled {
                        missing,
                        seen_by: rank,
                        waited: self.stall,
                    });
                }
            }
        }
    }

    /// Breaks the barrier for good; only the first cause is kept.
    pub fn break_with(&self, cause: Broken) {
        self.cause
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get_or_insert(cause);
        self.broken.store(true, Ordering::Release);
        self.wake.notify_all();
    }

    /// The first cause, if the barrier is broken.
    pub fn broken(&self) -> Option<Broken> {
        self.cause.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn open(&self, turn: u64) -> bool {
        self.arrivals.iter().all(|a| a.0.load(Ordering::Acquire) >= turn)
    }

    fn missing(&self, turn: u64) -> Vec<usize> {
        let late = |a: &Arrivals| a.0.load(Ordering::Acquire) < turn;
        (0..self.arrivals.len())
            .filter(|r| late(&self.arrivals[*r]))
            .collect()
    }

    fn first_cause(&self, rank: usize) -> Broken {
        self.broken().unwrap_or_else(|| Broken::Left {
            rank,
            cause: "the barrier was broken".into(),
        })
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
        barrier.break_with(Broken::Left {
            rank: 2,
            cause: "out of cheese".into(),
        });
        barrier.break_with(Broken::Left {
            rank: 1,
            cause: "a follower's error".into(),
        });
        for w in waiting {
            assert_eq!(
                w.join().unwrap(),
                Err(Broken::Left {
                    rank: 2,
                    cause: "out of cheese".into()
                })
            );
        }
    }

    #[test]
    fn a_stall_names_who_is_missing() {
        let barrier = Barrier::new(3, Duration::from_millis(30));
        barrier.arrivals[1].0.fetch_add(1, Ordering::AcqRel);
        let Err(Broken::Stalled { missing, seen_by, .. }) = barrier.wait(0) else {
            panic!("not stalled")
        };
        assert_eq!((missing, seen_by), (vec![2], 0));
    }
}
