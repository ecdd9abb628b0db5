//! One rank's hand in the arena.

use crate::across::Across;
use crate::apply::{Sum, patience};
use crate::arena::{Desk, FINAL, PERIODIC};
use crate::noted::Noted;
use crate::{Algorithm, Apply, Arena, Barrier, Broken, Contribution, Doing, Means, Peers, Scale, Snapshot};
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
    /// Its links to other nodes, if there are any.
    across: Option<Across>,
    /// Where the terms of this step's order-free sum have their binary point.
    scale: Scale,
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
        let scale = arena.scale();
        Self { arena, barrier, rank, slice, turn: 1, whole: true, left: false, across: None, scale }
    }

    /// The same rank, summing over several nodes: all ranks of all nodes by links of their own, or none.
    ///
    /// # Panics
    /// If the arena's ranks are not called as those of that node are.
    pub fn across(self, peers: Box<dyn Peers>) -> Self {
        self.across_by(peers, Means::default())
    }

    /// As [`Member::across`], by these means; all ranks of all nodes by the same.
    ///
    /// # Panics
    /// If the arena's ranks are not called as those of that node are.
    pub fn across_by(mut self, peers: Box<dyn Peers>, means: Means) -> Self {
        let world = self.arena.world();
        assert_eq!(self.arena.first_rank(), peers.node() * world, "as many ranks on each node, counted on");
        self.across = (peers.nodes() > 1).then(|| {
            let peers = Noted::new(peers, self.barrier.clone(), self.rank);
            Across::new(Box::new(peers), self.slice.clone(), means)
        });
        self
    }

    /// The same rank, which moves only its node's part of its slice of the parameters and takes what other nodes have moved:
    /// each node does its part of the optimizer's work, and has that part of its state. All ranks of all nodes or none;
    /// nothing changes on one node.
    ///
    /// # Panics
    /// If numbers travel in a codec.
    pub fn parted(mut self, algorithm: Algorithm) -> Self {
        self.across.iter_mut().for_each(|across| across.part_by(algorithm));
        self
    }

    /// The same rank where a run goes on: its slice of what this node kept back on lossy links and will send later, and of
    /// the thin matrices of low rank, as a snapshot holds them ([`Arena::keeping`]).
    ///
    /// # Panics
    /// If they are not as long as the slice.
    pub fn keeping_back(mut self, kept: &[f32], thin: &[f32]) -> Self {
        if let Some(across) = &mut self.across {
            across.keep_back(kept, thin);
        }
        self
    }

    #[cfg(test)]
    pub(crate) fn residuals(&mut self) -> Option<[&mut [f32]; 2]> {
        self.across.as_mut()?.residuals()
    }

    /// Lets steps be skipped ([`Apply::skipped`]) over lossy links: costs a copy of what these have kept back, each step.
    pub fn revocable(mut self) -> Self {
        self.across.iter_mut().for_each(Across::revocable);
        self
    }

    fn nodes(&self) -> usize {
        self.across.as_ref().map_or(1, Across::nodes)
    }

    /// Why this member can do nothing more but be dropped, once a reduce of its own was cut short.
    pub fn broken(&self) -> Option<Broken> {
        let panicked = || Broken::Left { rank: self.rank(), cause: "it panicked in a step".into() };
        (!self.whole).then(|| self.barrier.broken().unwrap_or_else(panicked))
    }

    fn check(&self) -> Result<(), Broken> {
        self.broken().map_or(Ok(()), Err)
    }

    /// This member's rank among those of all nodes.
    pub fn rank(&self) -> usize {
        self.arena.first_rank() + self.rank
    }

    /// Says what this rank is at from now on, for whoever asks why others wait.
    pub fn note(&self, doing: Doing) {
        self.barrier.note(self.rank, doing);
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

    /// Adds what is in the slot to this rank's terms of the step's order-free sum, as the first of them or as one more.
    /// Returns its largest magnitude; the largest of all goes into the contribution's `peak`.
    ///
    /// # Panics
    /// If the arena has no order-free sums, or a reduce was cut short ([`Member::broken`]).
    pub fn fold(&mut self, first: bool) -> f32 {
        assert!(self.whole, "the slot of a group that broke");
        let exact = self.arena.exact.as_ref().expect("an arena with order-free sums");
        let (slot, terms) = (&self.arena.slots[self.rank], &exact.slots[self.rank]);
        // SAFETY: as for `slot`; others read the terms in the apply phase only, too.
        let (slot, terms) = unsafe { (slot.slice(0..slot.len()), terms.slice_mut(0..terms.len())) };
        self.scale.fold(first, slot, terms)
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
    /// Over several nodes, `apply` comes once the gradients of all of them are summed, and sees the same numbers on each.
    /// Returns the decision and the first rank of this node in whose slice a gradient was not finite.
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
        &mut self,
        mine: Contribution,
        apply: impl FnOnce(&mut Apply<'_>) -> Result<(D, Option<bool>), Broken>,
    ) -> Result<(D, Option<usize>), Broken> {
        let Self { arena, barrier, rank, slice, turn, across, scale, .. } = self;
        let (rank, turn) = (*rank, *turn);
        let desk = &arena.desks[rank];
        // SAFETY: written by its own rank before the barrier, read by all after it, and written again only after
        // the second barrier below.
        unsafe { *desk.contribution.get() = mine };
        barrier.wait(rank)?;
        barrier.note(rank, Doing::Applying);
        // SAFETY: as above; every rank has passed its write.
        let mut all: Vec<Contribution> =
            arena.desks.iter().map(|d| unsafe { *d.contribution.get() }).collect();
        let range = || slice.clone();
        let (mut nodes, mut again, mut next, mut over) = (1, false, *scale, None);
        let part = across.as_ref().map_or(0..slice.len(), Across::part);
        let part = || slice.start + part.start..slice.start + part.end;
        let grads: Vec<&[f32]> = if let Some(exact) = &arena.exact {
            // SAFETY: in the apply phase nobody writes to any rank's terms.
            let terms: Vec<_> = exact.slots.iter().map(|b| unsafe { b.slice(range()) }).collect();
            let sum: &[f32] = match &mut *across {
                None => {
                    // SAFETY: where sums are order-free nobody reads another rank's slot, and this rank's own is not in
                    // use.
                    let total = unsafe { arena.slots[rank].slice_mut(range()) };
                    scale.total(&terms, total);
                    total
                }
                Some(across) => {
                    all = across.reduce_exact(turn, &terms, *scale, &all)?;
                    nodes = across.nodes();
                    let (sum, peers) = across.reduced();
                    over = peers;
                    sum
                }
            };
            (again, next) = exact.judge(*scale, &all);
            vec![sum]
        } else {
            // SAFETY: in the apply phase nobody writes to any slot.
            let slots: Vec<_> = arena.slots.iter().map(|b| unsafe { b.slice(range()) }).collect();
            match &mut *across {
                None => slots,
                Some(across) => {
                    all = across.reduce(turn, &slots, &all)?;
                    nodes = across.nodes();
                    let (sum, peers) = across.reduced();
                    over = peers;
                    vec![sum]
                }
            }
        };
        let mut view = Apply {
            arena,
            barrier,
            rank,
            turn,
            sum: Sum::None,
            nodes,
            over,
            again,
            skipped: false,
            contributions: &all,
            // SAFETY: in the apply phase a rank alone touches its slice of parameters and state.
            params: unsafe { arena.params.slice_mut(part()) },
            // SAFETY: as above.
            state: arena.state.iter().map(|b| unsafe { b.slice_mut(part()) }).collect(),
            grads,
        };
        desk.begun.fetch_add(1, Ordering::AcqRel);
        let outcome = apply(&mut view);
        let (sum, skipped) = (view.sum, view.skipped);
        drop(view);
        if let (true, Some(across)) = (skipped, &mut *across) {
            across.take_back();
        }
        let (decision, mut applied) = match outcome {
            Ok(pair) => pair,
            Err(broken) => {
                // Broken in the middle sum, before anything was written: the step was not begun.
                if sum == Sum::Broken {
                    desk.begun.fetch_sub(1, Ordering::AcqRel);
                }
                return Err(broken);
            }
        };
        if let (Some(finite), false, Some(across)) = (&mut applied, skipped, across) {
            // SAFETY: as in the view, which is gone.
            *finite = across.spread(turn, unsafe { arena.params.slice_mut(range()) }, *finite)?;
        }
        match applied {
            Some(finite) => {
                desk.finite.store(finite, Ordering::Release);
                if let Some(exact) = &arena.exact {
                    // All ranks write the same.
                    exact.scale.store(next.to_number(), Ordering::Release);
                }
                desk.done.fetch_add(1, Ordering::AcqRel);
            }
            None => {
                desk.finite.store(true, Ordering::Release);
                desk.begun.fetch_sub(1, Ordering::AcqRel);
            }
        }
        // A step has three turns, a sum or not: a rank that did without never takes another's sum for the end.
        barrier.wait_turns(rank, if sum == Sum::None { 2 } else { 1 }, patience(nodes))?;
        let bad = arena.desks.iter().position(|d| !d.finite.load(Ordering::Acquire));
        *scale = next;
        Ok((decision, bad))
    }

    /// The first of the ranks of this number on all nodes that says so; all of them ask or none.
    ///
    /// # Errors
    /// If another node is lost meanwhile.
    pub fn first_to_say(&mut self, mine: bool) -> Result<Option<usize>, Broken> {
        let node = match &mut self.across {
            None => return Ok(mine.then_some(self.rank())),
            Some(across) => {
                let first = across.first(self.turn, mine);
                first.inspect_err(|broken| self.barrier.break_with(broken.clone()))?
            }
        };
        Ok(node.map(|node| node * self.arena.world() + self.rank))
    }

    /// Copies this rank's slice for a periodic checkpoint, after a step on which all ranks agreed to. The copy is
    /// whole when every rank has come to its next reduce; rank 0 then takes it with [`Member::take_snapshot`].
    /// Returns false, and copies nothing, while a snapshot is out.
    ///
    /// Over several nodes only the first copies. With it comes what lossy links of all nodes keep back: so all ranks of
    /// all nodes call this or none.
    ///
    /// # Errors
    /// If another node is lost meanwhile.
    pub fn copy_slice(&mut self) -> Result<bool, Broken> {
        self.collect()?;
        match &mut self.across {
            _ if !self.whole => Ok(false),
            Some(across) if !across.is_first() => across.gather(self.turn, None).map(|()| false),
            _ => self.copy_into(PERIODIC),
        }
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

    /// Leaves the group in order, all ranks of all nodes together; the first of each node takes the state along as of
    /// `step` committed steps.
    ///
    /// # Errors
    /// If the group breaks meanwhile, the last final copy has not been written yet, or a rank did not leave with it.
    pub fn leave(mut self, step: u64) -> Result<Option<Snapshot>, Broken> {
        self.check()?;
        // The first node has all that is to be kept before anybody goes.
        self.collect()?;
        if let Some(across) = &mut self.across {
            across.meet(self.turn).inspect_err(|broken| self.barrier.break_with(broken.clone()))?;
        }
        if !self.copy_into(FINAL)? {
            return Err(self.failed("the previous final copy is still being read"));
        }
        self.barrier.wait_turns(self.rank, 1, patience(self.nodes()))?;
        let snapshot = match self.rank {
            0 => Some(self.snapshot(FINAL, self.turn, step).ok_or_else(|| self.failed("it left alone"))?),
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

    fn failed(&self, cause: &str) -> Broken {
        Broken::Left { rank: self.rank(), cause: cause.into() }
    }

    /// Brings this slice of the optimizer's state to the first node, where each has its own part of it.
    fn collect(&mut self) -> Result<(), Broken> {
        let Self { arena, barrier, across: Some(across), slice, turn, whole: true, .. } = self else {
            return Ok(());
        };
        for (n, buffer) in arena.state.iter().enumerate() {
            // SAFETY: this rank alone touches its slice of the state, in a reduce and here.
            let collected = across.collect(*turn, n, unsafe { buffer.slice_mut(slice.clone()) });
            collected.inspect_err(|broken| barrier.break_with(broken.clone()))?;
        }
        Ok(())
    }

    /// Copies this rank's slice, unless the copy is taken; whether it did. For who holds the member alone.
    fn copy_into(&mut self, index: usize) -> Result<bool, Broken> {
        self.note(Doing::Copy);
        let Self { arena, across, slice, turn, scale, rank, .. } = self;
        let (copy, mut gathered) = (&arena.copies[index], Ok(()));
        let done = copy.written(|| {
            // Only the first node has more than its part of the state.
            let own =
                across.as_ref().filter(|across| !across.is_first()).map_or(0..slice.len(), Across::part);
            let own = slice.start + own.start..slice.start + own.end;
            let state = arena.state.iter().zip(&copy.state).map(|(from, to)| (from, to, &own));
            for (from, to, range) in state.chain([(&arena.params, &copy.params, &*slice)]) {
                // SAFETY: this rank alone writes its slice of the source, in a reduce, and of the copy, here; nobody
                // reads the copy, for it is not taken.
                unsafe { to.slice_mut(range.clone()).copy_from_slice(from.slice(range.clone())) };
            }
            let kept = &copy.state[arena.state.len()..];
            if let Some(across) = across {
                // SAFETY: as above.
                let places = kept.iter().map(|buffer| unsafe { buffer.slice_mut(slice.clone()) });
                gathered = across.gather(*turn, (!kept.is_empty()).then(|| places.collect()));
            }
            copy.scale.store(scale.to_number(), Ordering::Release);
            arena.desks[*rank].copied[index].store(*turn, Ordering::Release);
        });
        if let (false, Some(across)) = (done, across) {
            gathered = across.gather(*turn, None);
        }
        gathered.map(|()| done)
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        if !self.left {
            let cause = if std::thread::panicking() { "it panicked" } else { "it stopped on an error" };
            self.barrier.break_with(Broken::Left { rank: self.rank(), cause: cause.into() });
            if let (Some(across), Some(first)) = (&mut self.across, self.barrier.broken()) {
                across.abort(&first.to_string());
            }
        }
        self.arena.desks[self.rank].inside.store(false, Ordering::Release);
    }
}

#[cfg(test)]
mod exact_tests;
#[cfg(test)]
mod tests;
