//! One rank's hand in the arena.

use crate::across::Across;
use crate::arena::{Desk, FINAL, PERIODIC, Scalar, cut};
use crate::{Arena, Barrier, Broken, Contribution, Means, Peers, Scale, Snapshot};
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

/// A wait for a rank of this node that may itself be waiting for another node, twice in a step, has so many times the
/// bound: the other node is to be blamed then, and not the one that waits for it.
const FOR_NODES: u32 = 3;

/// What became of a step's sum.
#[derive(Clone, Copy, PartialEq)]
enum Sum {
    None,
    Broken,
    Done,
}

/// What a rank may touch while a step is applied: all gradient slots to read, its own slice of the rest to write.
pub struct Apply<'a> {
    arena: &'a Arena,
    barrier: &'a Barrier,
    /// Of this node.
    rank: usize,
    turn: u64,
    sum: Sum,
    nodes: usize,
    /// The terms of an order-free sum could not be added at the scale they were given in: there are no gradients, nobody
    /// applies the step, and all give them again.
    pub again: bool,
    /// To be set, by all ranks or none, where nobody writes anything and the step counts all the same: sums over nodes
    /// keep nothing of it then ([`Member::revocable`]).
    pub skipped: bool,
    /// What every rank of every node contributed, in rank order.
    pub contributions: &'a [Contribution],
    /// This rank's slice of the parameters.
    pub params: &'a mut [f32],
    /// This rank's slice of each optimizer buffer.
    pub state: Vec<&'a mut [f32]>,
    /// The same slice of every rank's gradient, in rank order; over several nodes, or in an order-free sum, their sum
    /// alone.
    pub grads: Vec<&'a [f32]>,
}

/// How long to wait for ranks of this node within the apply phase, in bounds.
fn patience(nodes: usize) -> u32 {
    if nodes > 1 { FOR_NODES } else { 1 }
}

impl Apply<'_> {
    /// The stretches of this slice whose sums are to be added in order: one for each node. What is summed over all
    /// numbers so comes out the same to the bit on several nodes of one rank as on one node of so many.
    pub fn stretches(&self) -> impl Iterator<Item = Range<usize>> + use<> {
        let (len, nodes) = (self.params.len(), self.nodes);
        (0..nodes).map(move |n| cut(len, nodes, n))
    }

    /// The sum over this node's ranks, in rank order, of one number each; a barrier of its own. All ranks ask for it in a step or
    /// none, once, and before they write anything.
    ///
    /// # Errors
    /// If the group breaks meanwhile, for the second sum of a step, or if a rank finished the step without it.
    pub fn sum(&mut self, mine: f64) -> Result<f64, Broken> {
        let all = self.gather(Scalar::Float(mine))?;
        Ok(all.map(|n| if let Scalar::Float(x) = n { x } else { 0.0 }).sum())
    }

    /// As [`Apply::sum`], of integers: in whatever order.
    ///
    /// # Errors
    /// As [`Apply::sum`].
    pub fn sum_exact(&mut self, mine: i128) -> Result<i128, Broken> {
        let all = self.gather(Scalar::Integer(mine))?;
        Ok(all.map(|n| if let Scalar::Integer(x) = n { x } else { 0 }).fold(0, i128::wrapping_add))
    }

    /// One number of each rank of this node, in rank order.
    #[allow(unsafe_code)]
    fn gather(&mut self, mine: Scalar) -> Result<impl Iterator<Item = Scalar> + use<'_>, Broken> {
        if self.sum != Sum::None {
            let rank = self.arena.first_rank() + self.rank;
            return Err(Broken::Left { rank, cause: "it asked for two sums in one step".into() });
        }
        self.sum = Sum::Broken;
        let desk = &self.arena.desks[self.rank];
        // SAFETY: a rank's scalar is written by that rank alone, once a step (checked above), before the barrier, and
        // read by others after it; it is next written in a later step, with more barriers between.
        unsafe { *desk.scalar.get() = mine };
        desk.summed.store(self.turn, Ordering::Release);
        self.barrier.wait_turns(self.rank, 1, patience(self.nodes))?;
        if let Some(rank) =
            self.arena.desks.iter().position(|d| d.summed.load(Ordering::Acquire) != self.turn)
        {
            return Err(Broken::Left {
                rank: self.arena.first_rank() + rank,
                cause: "it did not ask for the sum that others asked for".into(),
            });
        }
        self.sum = Sum::Done;
        // SAFETY: as above.
        Ok(self.arena.desks.iter().map(|d| unsafe { *d.scalar.get() }))
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
        self.across = (peers.nodes() > 1).then(|| Across::new(peers, self.slice.clone(), means));
        self
    }

    /// What a codec has lost so far of this rank's slice and will send later, for a checkpoint to hold and to set: of what
    /// this node sent, and of its part of the totals, or the thin matrices of a low rank. They differ from node to node.
    pub fn residuals(&mut self) -> Option<[&mut [f32]; 2]> {
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
        // SAFETY: as above; every rank has passed its write.
        let mut all: Vec<Contribution> =
            arena.desks.iter().map(|d| unsafe { *d.contribution.get() }).collect();
        let range = || slice.clone();
        let (mut nodes, mut again, mut next) = (1, false, *scale);
        let grads: Vec<&[f32]> = if let Some(exact) = &arena.exact {
            // SAFETY: in the apply phase nobody writes to any rank's terms.
            let terms: Vec<_> = exact.slots.iter().map(|b| unsafe { b.slice(range()) }).collect();
            let sum: &[f32] = match across {
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
                    across.reduced()
                }
            };
            (again, next) = exact.judge(*scale, &all);
            vec![sum]
        } else {
            // SAFETY: in the apply phase nobody writes to any slot.
            let slots: Vec<_> = arena.slots.iter().map(|b| unsafe { b.slice(range()) }).collect();
            match across {
                None => slots,
                Some(across) => {
                    all = across.reduce(turn, &slots, &all)?;
                    nodes = across.nodes();
                    vec![across.reduced()]
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
            again,
            skipped: false,
            contributions: &all,
            // SAFETY: in the apply phase a rank alone touches its slice of parameters and state.
            params: unsafe { arena.params.slice_mut(range()) },
            // SAFETY: as above.
            state: arena.state.iter().map(|b| unsafe { b.slice_mut(range()) }).collect(),
            grads,
        };
        desk.begun.fetch_add(1, Ordering::AcqRel);
        let outcome = apply(&mut view);
        let (sum, skipped) = (view.sum, view.skipped);
        drop(view);
        if let (true, Some(across)) = (skipped, across) {
            across.take_back();
        }
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
            Some(across) => across.first(self.turn, mine)?,
        };
        Ok(node.map(|node| node * self.arena.world() + self.rank))
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

    /// Leaves the group in order, all ranks of all nodes together; the first of each node takes the state along as of
    /// `step` committed steps.
    ///
    /// # Errors
    /// If the group breaks meanwhile, the last final copy has not been written yet, or a rank did not leave with it.
    pub fn leave(mut self, step: u64) -> Result<Option<Snapshot>, Broken> {
        self.check()?;
        if let Some(across) = &mut self.across {
            across.meet(self.turn)?;
        }
        let failed = |cause: &str| Broken::Left { rank: self.rank(), cause: cause.into() };
        if !self.copy_into(FINAL) {
            return Err(failed("the previous final copy is still being read"));
        }
        self.barrier.wait_turns(self.rank, 1, patience(self.nodes()))?;
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
            copy.scale.store(self.scale.to_number(), Ordering::Release);
            arena.desks[self.rank].copied[index].store(self.turn, Ordering::Release);
        })
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
