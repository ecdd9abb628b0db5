//! Waiting until all have come, or somebody has given up.

use super::sync::{
    AWAKE, AtomicBool, AtomicU64, Condvar, Instant, Mutex, MutexGuard, NAP, SPINS, spin_loop, yield_now,
};
use crate::{Broken, Doing, Seen};
use std::sync::atomic::Ordering;
use std::sync::{OnceLock, PoisonError};
use std::time::Duration;

/// One rank's count of arrivals and what it is at, alone on its cache lines so that ranks do not slow each other down.
#[repr(align(128))]
#[derive(Default)]
struct Place {
    arrivals: AtomicU64,
    /// A [`Doing`]. It orders nothing.
    doing: AtomicU64,
}

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
    places: Vec<Place>,
    broken: AtomicBool,
    fate: Mutex<Fate>,
    wake: Condvar,
    stall: Duration,
    /// What its first rank is called.
    first: usize,
    /// What nodes are called, where there are several.
    nodes: OnceLock<Vec<String>>,
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
            places: (0..world).map(|_| Place::default()).collect(),
            broken: AtomicBool::new(false),
            fate: Mutex::new(Fate { cause: None, failed: u64::MAX }),
            wake: Condvar::new(),
            stall,
            nodes: OnceLock::new(),
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
        let before = self.places[rank].arrivals.fetch_add(turns, Ordering::SeqCst);
        let turn = before + turns;
        // It may be the last to come to a turn that it does not wait for itself.
        if self.open(before + 1) {
            // Sleepers exist only after a long wait; the lock is what makes this wake-up impossible to miss.
            drop(self.fate());
            self.wake.notify_all();
            if self.open(turn) {
                return self.pass(turn, rank);
            }
        }
        let (start, bound) = (Instant::now(), self.stall.saturating_mul(patience));
        let mut spins = 0;
        loop {
            if self.open(turn) || self.broken.load(Ordering::SeqCst) {
                return self.pass(turn, rank);
            }
            spins += 1;
            if spins < SPINS {
                spin_loop();
            } else if start.elapsed() < AWAKE {
                yield_now();
            } else {
                let guard = self.fate();
                if self.open(turn) || guard.cause.is_some() {
                    // Not held any longer: who gives up takes it again. Whoever breaks it has yet to say so.
                    drop(guard);
                    yield_now();
                } else {
                    drop(self.wake.wait_timeout(guard, NAP).unwrap_or_else(PoisonError::into_inner));
                }
                if start.elapsed() > bound && !self.open(turn) {
                    self.break_with(self.stalled_at(turn, rank, bound));
                }
            }
        }
    }

    /// An arrival that nobody waits after.
    #[cfg(test)]
    pub(crate) fn arrive(&self, rank: usize) {
        self.places[rank].arrivals.fetch_add(1, Ordering::SeqCst);
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
        let turns = self.turns();
        let turn = *turns.iter().max()?;
        let seen_by = turns.iter().position(|t| *t == turn)?;
        turns.iter().any(|t| *t < turn).then(|| self.stalled_at(turn, seen_by, self.stall))
    }

    /// Notes what a rank is at from now on.
    pub(crate) fn note(&self, rank: usize, doing: Doing) {
        self.places[rank].doing.store(doing.to_word(), Ordering::Relaxed);
    }

    /// What nodes are called; the first to say so is heard.
    pub(crate) fn name_nodes(&self, names: Vec<String>) {
        // Whoever comes later says the same.
        let _ = self.nodes.set(names);
    }

    /// What nodes are called; empty where there is one.
    pub(crate) fn node_names(&self) -> &[String] {
        self.nodes.get().map_or(&[], Vec::as_slice)
    }

    /// Who waits for whom as of now, and what each is at.
    pub(crate) fn look(&self) -> Vec<Seen> {
        let turns = self.turns();
        let most = turns.iter().max().copied().unwrap_or_default();
        let some_wait = turns.iter().any(|turn| *turn < most);
        let seen = |(n, turn): (usize, &u64)| Seen {
            rank: self.first + n,
            missing: *turn < most,
            waits: some_wait && *turn == most,
            doing: self.doing(n),
        };
        turns.iter().enumerate().map(seen).collect()
    }

    fn doing(&self, rank: usize) -> Doing {
        Doing::from_word(self.places[rank].doing.load(Ordering::Relaxed))
    }

    fn turns(&self) -> Vec<u64> {
        self.places.iter().map(|place| place.arrivals.load(Ordering::SeqCst)).collect()
    }

    /// That some have not come to this turn, which `rank` has waited at so long.
    fn stalled_at(&self, turn: u64, rank: usize, waited: Duration) -> Broken {
        let (late, names) = (self.late(turn), self.node_names());
        let said = |n: &usize| format!("rank {} was {}", self.first + n, self.doing(*n).describe(names));
        let doing = late.iter().map(said).collect::<Vec<_>>().join(", ");
        let missing = late.into_iter().map(|n| self.first + n).collect();
        Broken::Stalled { missing, seen_by: self.first + rank, waited, doing }
    }

    fn fate(&self) -> MutexGuard<'_, Fate> {
        self.fate.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn open(&self, turn: u64) -> bool {
        self.places.iter().all(|place| place.arrivals.load(Ordering::SeqCst) >= turn)
    }

    /// Who has not come to this turn, of this node's ranks.
    fn late(&self, turn: u64) -> Vec<usize> {
        let late = |n: &usize| self.places[*n].arrivals.load(Ordering::SeqCst) < turn;
        (0..self.places.len()).filter(late).collect()
    }
}
