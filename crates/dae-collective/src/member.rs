//! One rank's hand in the arena.

use crate::arena::{Desk, FINAL, PERIODIC};
use crate::{Arena, Barrier, Broken, Contribution, Snapshot};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// One rank inside the group. Dropping it before [`Member::leave`] breaks the group for the others, so that a panic
/// can never leave them waiting.
pub struct Member {
    arena: Arc<Arena>,
    barrier: Arc<Barrier>,
    rank: usize,
    slice: Range<usize>,
    /// Counts the reduces, from 1.
    turn: u64,
    /// Not within a reduce, nor after one that was cut short: the others may be at it still.
    whole: bool,
    left: bool,
}

/// What became of a step's sum.
#[derive(Clone, Copy, PartialEq)]
enum Sum {
    None,
    Broken,
    Done,
}

/// What a rank may touch while a step is applied: all gradient slots to read, its own slice of the rest to write.
pub struct Apply<'a> {
    member: &'a Member,
    sum: Sum,
    /// What every rank contributed, in rank order.
    pub contributions: &'a [Contribution],
    /// This rank's slice of the parameters.
    pub params: &'a mut [f32],
    /// This rank's slice of each optimizer buffer.
    pub state: Vec<&'a mut [f32]>,
    /// The same slice of every rank's gradient, in rank order.
    pub grads: Vec<&'a [f32]>,
}

impl Apply<'_> {
    /// The sum over ranks, in rank order, of one number each; a barrier of its own. All ranks ask for it in a step or
    /// none, once, and before they write anything.
    ///
    /// # Errors
    /// If the group breaks meanwhile, for the second sum of a step, or if a rank finished the step without it.
    #[allow(unsafe_code)]
    pub fn sum(&mut self, mine: f64) -> Result<f64, Broken> {
        let m = self.member;
        if self.sum != Sum::None {
            return Err(Broken::Left { rank: m.rank, cause: "it asked for two sums in one step".into() });
        }
        self.sum = Sum::Broken;
        let desk = &m.arena.desks[m.rank];
        // SAFETY: a rank's scalar is written by that rank alone, once a step (checked above), before the barrier, and
        // read by others after it; it is next written in a later step, with more barriers between.
        unsafe { *desk.scalar.get() = mine };
        desk.summed.store(m.turn, Ordering::Release);
        m.barrier.wait(m.rank)?;
        if let Some(rank) = m.arena.desks.iter().position(|d| d.summed.load(Ordering::Acquire) != m.turn) {
            return Err(Broken::Left {
                rank,
                cause: "it did not ask for the sum that others asked for".into(),
            });
        }
        self.sum = Sum::Done;
        // SAFETY: as above.
        Ok(m.arena.desks.iter().map(|d| unsafe { *d.scalar.get() }).sum())
    }
}

#[allow(unsafe_code)]
impl Member {
    pub(crate) fn new(arena: Arc<Arena>, barrier: Arc<Barrier>, rank: usize) -> Self {
        let slice = arena.slice_of(rank);
        let desk = &arena.desks[rank];
        // Turns are counted anew; those of a group before mean nothing.
        for turn in desk.copied.iter().chain([&desk.summed]) {
            turn.store(0, Ordering::Release);
        }
        Self { arena, barrier, rank, slice, turn: 1, whole: true, left: false }
    }

    /// Why this member can do nothing more but be dropped, once a reduce of its own was cut short.
    pub fn broken(&self) -> Option<Broken> {
        let panicked = || Broken::Left { rank: self.rank, cause: "it panicked in a step".into() };
        (!self.whole).then(|| self.barrier.broken().unwrap_or_else(panicked))
    }

    fn check(&self) -> Result<(), Broken> {
        self.broken().map_or(Ok(()), Err)
    }

    /// This member's rank.
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// The arena it is in.
    pub fn arena(&self) -> &Arc<Arena> {
        &self.arena
    }

    /// The flat parameters, which stand still while this borrow lives.
    ///
    /// # Panics
    /// If a reduce was cut short ([`Member::broken`]): the others may be writing.
    pub fn params(&self) -> &[f32] {
        assert!(self.whole, "the parameters of a group that broke");
        // SAFETY: parameters are written in the apply phase only, which this rank enters by `reduce(&mut self)` and
        // has left (asserted).
        unsafe { self.arena.params.slice(0..self.arena.len()) }
    }

    /// This rank's gradient slot, to be filled with the *sum* over its samples.
    ///
    /// # Panics
    /// If a reduce was cut short ([`Member::broken`]): the others may be reading.
    pub fn slot(&mut self) -> &mut [f32] {
        assert!(self.whole, "the slot of a group that broke");
        let slot = &self.arena.slots[self.rank];
        // SAFETY: others read this slot in the apply phase only, which this rank enters by `reduce(&mut self)` and has
        // left (asserted).
        unsafe { slot.slice_mut(0..slot.len()) }
    }

    /// Where the flat parameters lie, for tensors that are views of them. Valid as long as the arena.
    /// Reading through it is sound exactly while a borrow of [`Member::params`] would be.
    pub fn params_ptr(&self) -> *const f32 {
        self.arena.params.as_ptr()
    }

    /// Where this rank's slot lies, for tensors that are views of it. Valid as long as the arena.
    /// Writing through it is sound exactly while a borrow of [`Member::slot`] would be.
    pub fn slot_ptr(&self) -> *mut f32 {
        self.arena.slots[self.rank].as_ptr()
    }

    /// Whether somebody has asked the group to stop; to be put into the next contribution.
    pub fn stop_requested(&self) -> bool {
        self.arena.stop.load(Ordering::Acquire)
    }

    /// Whether the room for a periodic copy is free; to be put into the next contribution.
    pub fn snapshot_free(&self) -> bool {
        !self.arena.copies[PERIODIC].taken()
    }

    /// Closes the gradient phase, lets `apply` see everybody's gradients and write this rank's slice, and opens the
    /// next step. `apply` decides from the contributions alone, so all ranks decide alike; it returns what it decided
    /// and, if it applied the step, whether all gradients it saw were finite.
    ///
    /// Returns the decision and the first rank in whose slice a gradient was not finite.
    ///
    /// # Errors
    /// [`Broken`], at once, when another rank failed, left, or let the group wait too long; or what `apply` returns,
    /// which breaks the group. The member is broken from then on, and this returns the first cause again.
    pub fn reduce<D>(
        &mut self,
        mine: Contribution,
        apply: impl FnOnce(&mut Apply<'_>) -> Result<(D, Option<bool>), Broken>,
    ) -> Result<(D, Option<usize>), Broken> {
        self.check()?;
        // Until it comes out in order, which a panic in `apply` prevents.
        self.whole = false;
        let outcome = self.step(mine, apply);
        match &outcome {
            Ok(_) => (self.turn, self.whole) = (self.turn + 1, true),
            Err(broken) => self.barrier.break_with(broken.clone()),
        }
        outcome
    }

    /// One reduce; called once at a time, and never again after it failed.
    fn step<D>(
        &self,
        mine: Contribution,
        apply: impl FnOnce(&mut Apply<'_>) -> Result<(D, Option<bool>), Broken>,
    ) -> Result<(D, Option<usize>), Broken> {
        let desk = &self.arena.desks[self.rank];
        // SAFETY: written by its own rank before the barrier, read by all after it, and written again only after
        // the second barrier below.
        unsafe { *desk.contribution.get() = mine };
        self.barrier.wait(self.rank)?;
        // SAFETY: as above; every rank has passed its write.
        let all: Vec<Contribution> =
            self.arena.desks.iter().map(|d| unsafe { *d.contribution.get() }).collect();
        let range = || self.slice.clone();
        let mut view = Apply {
            member: self,
            sum: Sum::None,
            contributions: &all,
            // SAFETY: in the apply phase a rank alone touches its slice of parameters and state, and nobody
            // writes to any slot.
            params: unsafe { self.arena.params.slice_mut(range()) },
            // SAFETY: as above.
            state: self.arena.state.iter().map(|b| unsafe { b.slice_mut(range()) }).collect(),
            // SAFETY: as above.
            grads: self.arena.slots.iter().map(|b| unsafe { b.slice(range()) }).collect(),
        };
        desk.begun.fetch_add(1, Ordering::AcqRel);
        let outcome = apply(&mut view);
        let sum = view.sum;
        drop(view);
        let (decision, applied) = match outcome {
            Ok(pair) => pair,
            Err(broken) => {
                // Broken in the middle sum, before anything was written: the step was not begun.
                if sum == Sum::Broken {
                    desk.begun.fetch_sub(1, Ordering::AcqRel);
                }
                return Err(broken);
            }
        };
        match applied {
            Some(finite) => {
                desk.finite.store(finite, Ordering::Release);
                desk.done.fetch_add(1, Ordering::AcqRel);
            }
            None => {
                desk.finite.store(true, Ordering::Release);
                desk.begun.fetch_sub(1, Ordering::AcqRel);
            }
        }
        // A step has three turns, a sum or not: a rank that did without never takes another's sum for the end.
        self.barrier.wait_turns(self.rank, if sum == Sum::None { 2 } else { 1 })?;
        let bad = self.arena.desks.iter().position(|d| !d.finite.load(Ordering::Acquire));
        Ok((decision, bad))
    }

    /// Copies this rank's slice for a periodic checkpoint, after a step on which all ranks agreed to. The copy is
    /// whole when every rank has come to its next reduce; rank 0 then takes it with [`Member::take_snapshot`].
    /// Returns false, and copies nothing, while a snapshot is out.
    pub fn copy_slice(&mut self) -> bool {
        self.whole && self.copy_into(PERIODIC)
    }

    /// The periodic copy, as of `step` committed steps: `None` unless every rank took part in it after one and the
    /// same reduce, and another has followed. It can be taken once.
    pub fn take_snapshot(&mut self, step: u64) -> Option<Snapshot> {
        let mark = &self.arena.desks[self.rank].copied[PERIODIC];
        let turn = mark.load(Ordering::Acquire);
        let snapshot = if turn < self.turn { self.snapshot(PERIODIC, turn, step) } else { None };
        if snapshot.is_some() {
            mark.store(0, Ordering::Release);
        }
        snapshot
    }

    /// Leaves the group in order, all ranks together; rank 0 takes the state along as of `step` committed steps.
    ///
    /// # Errors
    /// If the group breaks meanwhile, the last final copy has not been written yet, or a rank did not leave with it.
    pub fn leave(mut self, step: u64) -> Result<Option<Snapshot>, Broken> {
        self.check()?;
        let failed = |cause: &str| Broken::Left { rank: self.rank, cause: cause.into() };
        if !self.copy_into(FINAL) {
            return Err(failed("the previous final copy is still being read"));
        }
        self.barrier.wait(self.rank)?;
        let snapshot = match self.rank {
            0 => Some(self.snapshot(FINAL, self.turn, step).ok_or_else(|| failed("it left alone"))?),
            _ => None,
        };
        self.left = true;
        Ok(snapshot)
    }

    /// Takes a copy, if all ranks' parts of it are of this turn.
    fn snapshot(&self, index: usize, turn: u64, step: u64) -> Option<Snapshot> {
        // Looked at again once it is taken: from there on nobody writes to it. If that fails, the drop gives it back.
        let of_turn = |d: &Desk| turn > 0 && d.copied[index].load(Ordering::Acquire) == turn;
        let complete = || self.arena.desks.iter().all(of_turn);
        let taken = complete() && self.arena.copies[index].take();
        let snapshot = taken.then(|| Snapshot { arena: self.arena.clone(), index, step })?;
        complete().then_some(snapshot)
    }

    /// Copies this rank's slice, unless the copy is taken; whether it did. For who holds the member alone.
    fn copy_into(&self, index: usize) -> bool {
        let (arena, copy, slice) = (&self.arena, &self.arena.copies[index], &self.slice);
        copy.written(|| {
            let pairs = arena.state.iter().zip(&copy.state).chain([(&arena.params, &copy.params)]);
            for (from, to) in pairs {
                // SAFETY: this rank alone writes its slice of the source, in a reduce, and of the copy, here; nobody
                // reads the copy, for it is not taken.
                unsafe { to.slice_mut(slice.clone()).copy_from_slice(from.slice(slice.clone())) };
            }
            arena.desks[self.rank].copied[index].store(self.turn, Ordering::Release);
        })
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        if !self.left {
            let cause = if std::thread::panicking() { "it panicked" } else { "it stopped on an error" };
            self.barrier.break_with(Broken::Left { rank: self.rank, cause: cause.into() });
        }
        self.arena.desks[self.rank].inside.store(false, Ordering::Release);
    }
}

#[cfg(test)]
mod tests;
