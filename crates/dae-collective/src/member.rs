//! One rank's hand in the arena.

use crate::arena::{FINAL, PERIODIC};
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
    left: bool,
}

/// What a rank may touch while a step is applied: all gradient slots to read, its own slice of the rest to write.
pub struct Apply<'a> {
    member: &'a Member,
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
    /// The sum over ranks, in rank order, of one number each; a barrier of its own.
    ///
    /// # Errors
    /// If the group breaks meanwhile.
    #[allow(unsafe_code)]
    pub fn sum(&mut self, mine: f64) -> Result<f64, Broken> {
        let m = self.member;
        // SAFETY: a rank's scalar is written by that rank alone, before the barrier, and read by others after it;
        // it is next written in a later step, with more barriers between.
        unsafe { *m.arena.desks[m.rank].scalar.get() = mine };
        m.barrier.wait(m.rank)?;
        // SAFETY: as above.
        Ok(m.arena.desks.iter().map(|d| unsafe { *d.scalar.get() }).sum())
    }
}

#[allow(unsafe_code)]
impl Member {
    pub(crate) fn new(arena: Arc<Arena>, barrier: Arc<Barrier>, rank: usize) -> Self {
        let slice = arena.slice_of(rank);
        Self {
            arena,
            barrier,
            rank,
            slice,
            left: false,
        }
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
    pub fn params(&self) -> &[f32] {
        // SAFETY: parameters are written in the apply phase only, which this rank enters by `reduce(&mut self)`.
        unsafe { self.arena.params.slice(0..self.arena.len()) }
    }

    /// This rank's gradient slot, to be filled with the *sum* over its samples.
    pub fn slot(&mut self) -> &mut [f32] {
        let slot = &self.arena.slots[self.rank];
        // SAFETY: others read this slot in the apply phase only, which this rank enters by `reduce(&mut self)`.
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
        !self.arena.copies[PERIODIC].taken.load(Ordering::Acquire)
    }

    /// Closes the gradient phase, lets `apply` see everybody's gradients and write this rank's slice, and opens the
    /// next step. `apply` decides from the contributions alone, so all ranks decide alike; it returns what it decided
    /// and, if it applied the step, whether all gradients it saw were finite.
    ///
    /// Returns the decision and the first rank in whose slice a gradient was not finite.
    ///
    /// # Errors
    /// [`Broken`], at once, when another rank failed, left, or let the group wait too long.
    pub fn reduce<D>(
        &mut self,
        mine: Contribution,
        apply: impl FnOnce(&mut Apply<'_>) -> Result<(D, Option<bool>), Broken>,
    ) -> Result<(D, Option<usize>), Broken> {
        let desk = &self.arena.desks[self.rank];
        // SAFETY: written by its own rank before the barrier, read by all after it, and written again only after
        // the second barrier below.
        unsafe { *desk.contribution.get() = mine };
        self.barrier.wait(self.rank)?;
        // SAFETY: as above; every rank has passed its write.
        let all: Vec<Contribution> = self
            .arena
            .desks
            .iter()
            .map(|d| unsafe { *d.contribution.get() })
            .collect();
        let range = || self.slice.clone();
        let mut view = Apply {
            member: self,
            contributions: &all,
            // SAFETY: in the apply phase a rank alone touches its slice of parameters and state, and nobody
            // writes to any slot.
            params: unsafe { self.arena.params.slice_mut(range()) },
            // SAFETY: as above.
            state: self
                .arena
                .state
                .iter()
                .map(|b| unsafe { b.slice_mut(range()) })
                .collect(),
            // SAFETY: as above.
            grads: self
                .arena
                .slots
                .iter()
                .map(|b| unsafe { b.slice(range()) })
                .collect(),
        };
        desk.begun.fetch_add(1, Ordering::AcqRel);
        let outcome = apply(&mut view);
        drop(view);
        let (decision, applied) = match outcome {
            Ok(pair) => pair,
            Err(broken) => {
                // Broken in the middle sum, before anything was written: the step was not begun.
                desk.begun.fetch_sub(1, Ordering::AcqRel);
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
        self.barrier.wait(self.rank)?;
        let bad = self
            .arena
            .desks
            .iter()
            .position(|d| !d.finite.load(Ordering::Acquire));
        Ok((decision, bad))
    }

    /// Copies this rank's slice for a periodic checkpoint, after a step on which all ranks agreed to. The copy is
    /// whole when every rank has come to its next reduce; rank 0 then takes it with [`Member::take_snapshot`].
    pub fn copy_slice(&self) {
        self.copy_into(PERIODIC);
    }

    /// The periodic copy, whole once a reduce has followed [`Member::copy_slice`]; `step` committed steps old.
    pub fn take_snapshot(&self, step: u64) -> Snapshot {
        self.snapshot(PERIODIC, step)
    }

    /// Leaves the group in order, all ranks together; rank 0 takes the state along as of `step` committed steps.
    ///
    /// # Errors
    /// If the group breaks meanwhile, or the last final copy has not been written yet.
    pub fn leave(mut self, step: u64) -> Result<Option<Snapshot>, Broken> {
        if self.arena.copies[FINAL].taken.load(Ordering::Acquire) {
            let cause = "the previous final copy is still being read".into();
            return Err(Broken::Left {
                rank: self.rank,
                cause,
            });
        }
        self.copy_into(FINAL);
        self.barrier.wait(self.rank)?;
        self.left = true;
        Ok((self.rank == 0).then(|| self.snapshot(FINAL, step)))
    }

    fn snapshot(&self, index: usize, step: u64) -> Snapshot {
        self.arena.copies[index].taken.store(true, Ordering::Release);
        Snapshot {
            arena: self.arena.clone(),
            index,
            step,
        }
    }

    fn copy_into(&self, index: usize) {
        let (arena, copy, slice) = (&self.arena, &self.arena.copies[index], &self.slice);
        let pairs = arena
            .state
            .iter()
            .zip(&copy.state)
            .chain([(&arena.params, &copy.params)]);
        for (from, to) in pairs {
            // SAFETY: the source is written in the apply phase only, and each rank writes its own slice of the
            // copy, which nobody reads before it is taken.
            unsafe {
                to.slice_mut(slice.clone())
                    .copy_from_slice(from.slice(slice.clone()))
            };
        }
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        if !self.left {
            let cause = if std::thread::panicking() {
                "it panicked"
            } else {
                "it stopped on an error"
            };
            self.barrier.break_with(Broken::Left {
                rank: self.rank,
                cause: cause.into(),
            });
        }
        self.arena.desks[self.rank].inside.store(false, Ordering::Release);
    }
}

#[cfg(test)]
#[allow(unsafe_code)]
mod tests {
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
                                return Err(Broken::Left {
                                    rank,
                                    cause: "told to".into(),
                                });
                            }
                            for (i, g) in member.slot().iter_mut().enumerate() {
                                *g = (rank + 1) as f32 * (i + 1) as f32;
                            }
                            let mine = Contribution {
                                weight: 1.0,
                                ..Default::default()
                            };
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
        arena.load(5, &[1.0; 64], &[]).unwrap();
        assert_eq!(arena.committed(), Ok(5));
    }

    #[test]
    fn a_rank_enters_once() {
        let arena = Arena::new(8, 0, 2, Duration::from_secs(20));
        let member = arena.join(1).unwrap();
        assert_eq!(arena.join(1).err(), Some(ArenaError::Occupied(1)));
        assert_eq!(
            arena.join(2).err(),
            Some(ArenaError::NoSuchRank { rank: 2, world: 2 })
        );
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
            let mine = Contribution {
                weight: 1.0,
                ..Default::default()
            };
            member.reduce(mine, |v| Ok(descend(v))).unwrap();
        };
        step(&mut member);
        member.copy_slice();
        step(&mut member);
        let copy = member.take_snapshot(1);
        assert!(!member.snapshot_free());
        assert!(copy.params().iter().all(|p| *p == -1.0));
        assert!(member.params().iter().all(|p| *p == -2.0));
        drop(copy);
        assert!(member.snapshot_free());
        assert!(
            member
                .leave(2)
                .unwrap()
                .unwrap()
                .params()
                .iter()
                .all(|p| *p == -2.0)
        );
    }
}
