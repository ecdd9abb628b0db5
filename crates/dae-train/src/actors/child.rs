//! What a group that is a child of a join or a gossip goes by.

use super::Seat;
use crate::centre::{Residual, Turns};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A group's place in a join or a gossip.
pub struct Child {
    /// Which of the children.
    pub index: usize,
    /// Steps in a round.
    pub period: u64,
    /// Rounds that others may be behind when it waits for them.
    pub behind: u64,
    /// Steps done before this process took the run up.
    pub steps: u64,
    /// When fragments are due, where they travel by themselves.
    pub turns: Option<Turns>,
    /// The share of its own that it keeps of what it pulls.
    pub mix: f32,
    /// With `step raw`, each rank's slice of what has come together in this round.
    raw: Option<Vec<Mutex<Vec<f32>>>>,
    /// What a lossy wire has kept back of its pushes.
    residual: Option<Mutex<Residual>>,
    /// Each rank's end of the join, until it takes it.
    seats: Vec<Mutex<Option<Seat>>>,
    resting: AtomicBool,
    pulls: AtomicU64,
}

impl Child {
    /// A child that has done so many steps, of ranks that look after these slices. It waits for others of
    /// its own round, and pushes numbers as they are.
    pub fn new(index: usize, period: u64, steps: u64, raw: bool, slices: &[Range<usize>]) -> Self {
        Self {
            index,
            period,
            behind: 1,
            steps,
            turns: None,
            mix: 0.0,
            raw: raw.then(|| slices.iter().map(|slice| Mutex::new(vec![0.0; slice.len()])).collect()),
            residual: None,
            seats: slices.iter().map(|_| Mutex::new(None)).collect(),
            resting: AtomicBool::new(false),
            pulls: AtomicU64::new(0),
        }
    }

    /// The same child, which pushes over a lossy wire that has kept this back.
    pub fn keeping(self, residual: Residual) -> Self {
        Self { residual: Some(Mutex::new(residual)), ..self }
    }

    /// Whether it stands elsewhere than the centre when it begins a round.
    pub(super) fn stands_apart(&self) -> bool {
        self.turns.is_some() || self.mix != 0.0
    }

    /// What a lossy wire has kept back, for as long as it is held.
    pub(super) fn residual(&self) -> Option<MutexGuard<'_, Residual>> {
        self.residual.as_ref().map(lock)
    }

    /// Gives a rank its end.
    pub fn seat(&self, local: usize, seat: Seat) {
        *lock(&self.seats[local]) = Some(seat);
    }

    /// Takes it. It is gone with the lease that had it.
    pub(super) fn take_seat(&self, local: usize) -> Option<Seat> {
        lock(&self.seats[local]).take()
    }

    /// The slice of a rank where the gradients of a round come together, with `step raw`.
    pub(super) fn raw(&self, local: usize) -> Option<MutexGuard<'_, Vec<f32>>> {
        self.raw.as_ref().map(|raw| lock(&raw[local]))
    }

    /// All of them, one after the other.
    pub(super) fn gathered(&self) -> Option<Vec<f32>> {
        Some(self.raw.as_ref()?.iter().flat_map(|slice| lock(slice).clone()).collect())
    }

    /// Notes that the first rank waits for the centre, or has what it waited for.
    pub(super) fn rest(&self, resting: bool) {
        self.resting.store(resting, Ordering::Release);
        self.pulls.fetch_add(1, Ordering::AcqRel);
    }

    /// Whether it waits for the centre: then nobody in the group is to blame that no step is committed.
    pub(super) fn resting(&self) -> bool {
        self.resting.load(Ordering::Acquire)
    }

    /// A number that changes with each wait for the centre.
    pub(super) fn pulls(&self) -> u64 {
        self.pulls.load(Ordering::Acquire)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
