//! The arena: parameters, optimizer state and a gradient slot per rank, flat and shared by a node's workers.

use crate::{Barrier, Broken, Contribution, FlatBuffer, Member, Scale, Seen, larger};
use std::cell::UnsafeCell;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Slices start at multiples of this many f32, so that no two ranks write to one cache line.
const SLICE_ALIGN: usize = 32;

/// What can go wrong when a group is formed in an arena.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ArenaError {
    /// The rank is still inside from before.
    #[error("rank {0} is already in the group")]
    Occupied(usize),
    /// The rank was inside before; others may be in that group still.
    #[error("rank {0} has left the group; it has to be formed anew first")]
    Gone(usize),
    /// A rank beyond the group.
    #[error("rank {rank} in a group of {world}")]
    NoSuchRank {
        /// The rank asked for.
        rank: usize,
        /// The size of the group.
        world: usize,
    },
    /// A step was cut short while it was being applied: the parameters hold half of it.
    #[error("a step was cut short while it was applied; go back to the last checkpoint")]
    Torn,
}

/// Piece `n` of so many of a stretch: cache lines apart, sizes as equal as that allows.
pub(crate) fn cut(len: usize, pieces: usize, n: usize) -> Range<usize> {
    let blocks = len.div_ceil(SLICE_ALIGN);
    let edge = |n: usize| (n * blocks / pieces * SLICE_ALIGN).min(len);
    edge(n)..edge(n + 1)
}

/// A number that ranks sum in the middle of a step.
#[derive(Clone, Copy)]
pub(crate) enum Scalar {
    Float(f64),
    Integer(i128),
}

impl Scalar {
    pub(crate) fn float(self) -> f64 {
        if let Self::Float(x) = self { x } else { 0.0 }
    }

    pub(crate) fn integer(self) -> i128 {
        if let Self::Integer(x) = self { x } else { 0 }
    }
}

/// What one rank publishes; alone on its cache lines.
#[repr(align(128))]
pub(crate) struct Desk {
    pub(crate) contribution: UnsafeCell<Contribution>,
    pub(crate) scalar: UnsafeCell<Scalar>,
    pub(crate) finite: AtomicBool,
    pub(crate) begun: AtomicU64,
    pub(crate) done: AtomicU64,
    pub(crate) inside: AtomicBool,
    /// The turn of its latest sum, and of its part of each copy: who reads others' parts compares them with its own.
    pub(crate) summed: AtomicU64,
    pub(crate) copied: [AtomicU64; 2],
}

// SAFETY: a desk's cells are written by its own rank before a barrier and read by others after it.
#[allow(unsafe_code)]
unsafe impl Sync for Desk {}

/// Room for one copy of the state.
pub(crate) struct Copy {
    pub(crate) params: FlatBuffer,
    /// The optimizer's state, then what lossy links keep back.
    pub(crate) state: Vec<FlatBuffer>,
    pub(crate) scale: AtomicI32,
    /// How many write to it, or [`TAKEN`] while it is read.
    uses: AtomicUsize,
}

const TAKEN: usize = usize::MAX;

impl Copy {
    /// Lets `write` at it, unless it is taken; whether it did.
    pub(crate) fn written(&self, write: impl FnOnce()) -> bool {
        let one_more = |n| (n != TAKEN).then(|| n + 1);
        let free = self.uses.fetch_update(Ordering::AcqRel, Ordering::Acquire, one_more).is_ok();
        if free {
            write();
            self.uses.fetch_sub(1, Ordering::Release);
        }
        free
    }

    /// Takes it, unless somebody writes to it or has it.
    pub(crate) fn take(&self) -> bool {
        self.uses.compare_exchange(0, TAKEN, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// Whether it is taken.
    pub(crate) fn taken(&self) -> bool {
        self.uses.load(Ordering::Acquire) == TAKEN
    }

    /// Gives it back; for who took it.
    pub(crate) fn free(&self) {
        self.uses.store(0, Ordering::Release);
    }
}

/// The group since it was last formed. Who enters, and who needs it empty, holds its lock meanwhile.
struct Round {
    barrier: Arc<Barrier>,
    /// Who has entered. A rank enters once: the others may be at a step that it left.
    entered: Vec<bool>,
}

impl Round {
    fn new(first: usize, world: usize, stall: Duration) -> Self {
        Self { barrier: Arc::new(Barrier::from(first, world, stall)), entered: vec![false; world] }
    }
}

/// Which copy is meant.
pub(crate) const PERIODIC: usize = 0;
pub(crate) const FINAL: usize = 1;

/// What sums take that do not depend on the order of their terms.
pub(crate) struct Exact {
    /// A slot for each rank, where it adds up its terms.
    pub(crate) slots: Vec<FlatBuffer<i64>>,
    /// The number of terms in a step's sum, over all ranks of all nodes.
    pub(crate) terms: usize,
    /// The [`Scale`] of the next step.
    pub(crate) scale: AtomicI32,
}

impl Exact {
    /// Whether the terms, of which the contributions tell the largest, have to be given again at another scale; and the
    /// scale to go on with.
    pub(crate) fn judge(&self, scale: Scale, contributions: &[Contribution]) -> (bool, Scale) {
        let peak = contributions.iter().fold(0.0, |peak, c| larger(peak, c.peak));
        if !peak.is_finite() {
            // Nobody applies that step; what follows it is like what went before.
            (false, scale)
        } else if scale.fits(peak, self.terms) {
            (false, scale.after(peak, self.terms))
        } else {
            (true, Scale::for_peak(peak, self.terms))
        }
    }
}

/// The shared memory of a group of workers on one node.
///
/// A step has two phases, each closed by a barrier. *Gradient*: every rank reads the parameters and writes its own
/// slot. *Apply*: every rank reads all slots and writes its own slice of parameters and optimizer state. Losing a rank
/// between steps, or while gradients are computed, loses nothing.
pub struct Arena {
    pub(crate) params: FlatBuffer,
    pub(crate) state: Vec<FlatBuffer>,
    pub(crate) slots: Vec<FlatBuffer>,
    pub(crate) exact: Option<Exact>,
    pub(crate) desks: Vec<Desk>,
    pub(crate) copies: [Copy; 2],
    pub(crate) stop: AtomicBool,
    round: Mutex<Round>,
    base: AtomicU64,
    stall: Duration,
    first: usize,
}

impl Arena {
    /// Zeroed memory for `len` parameters, `states` optimizer buffers and `world` ranks. A rank that lets the others
    /// wait longer than `stall` breaks the group.
    pub fn new(len: usize, states: usize, world: usize, stall: Duration) -> Arc<Self> {
        Self::on_node(0, len, states, world, stall)
    }

    /// As [`Arena::new`], on one of several nodes: its ranks are called `first` and following, of all nodes' ranks.
    pub fn on_node(first: usize, len: usize, states: usize, world: usize, stall: Duration) -> Arc<Self> {
        Arc::new(Self::make(first, len, [states, 0], world, stall))
    }

    /// As [`Arena::on_node`]; its snapshots have `kept` further buffers for what lossy links keep back, one for each node,
    /// and with low rank one for its thin matrices ([`Member::copy_slice`]).
    pub fn keeping(
        first: usize,
        len: usize,
        states: usize,
        kept: usize,
        world: usize,
        stall: Duration,
    ) -> Arc<Self> {
        Arc::new(Self::make(first, len, [states, kept], world, stall))
    }

    /// As [`Arena::on_node`], with sums that do not depend on the order of their terms, of which each step has `terms`
    /// over all ranks of all nodes: [`Member::fold`] adds one.
    pub fn exact(
        first: usize,
        len: usize,
        states: usize,
        world: usize,
        stall: Duration,
        terms: usize,
    ) -> Arc<Self> {
        let slots = (0..world).map(|_| FlatBuffer::zeroed(len)).collect();
        let exact = Exact { slots, terms, scale: AtomicI32::new(Scale::UNKNOWN.to_number()) };
        Arc::new(Self { exact: Some(exact), ..Self::make(first, len, [states, 0], world, stall) })
    }

    fn make(first: usize, len: usize, [states, kept]: [usize; 2], world: usize, stall: Duration) -> Self {
        let buffers = |n: usize| (0..n).map(|_| FlatBuffer::zeroed(len)).collect::<Vec<_>>();
        let copy = || Copy {
            params: FlatBuffer::zeroed(len),
            state: buffers(states + kept),
            scale: AtomicI32::new(0),
            uses: AtomicUsize::new(0),
        };
        Self {
            exact: None,
            params: FlatBuffer::zeroed(len),
            state: buffers(states),
            slots: buffers(world),
            desks: (0..world)
                .map(|_| Desk {
                    contribution: UnsafeCell::default(),
                    scalar: UnsafeCell::new(Scalar::Float(0.0)),
                    finite: AtomicBool::new(true),
                    begun: AtomicU64::new(0),
                    done: AtomicU64::new(0),
                    inside: AtomicBool::new(false),
                    summed: AtomicU64::new(0),
                    copied: [const { AtomicU64::new(0) }; 2],
                })
                .collect(),
            copies: [copy(), copy()],
            stop: AtomicBool::new(false),
            round: Mutex::new(Round::new(first, world, stall)),
            base: AtomicU64::new(0),
            stall,
            first,
        }
    }

    /// Whether its sums do not depend on the order of their terms.
    pub fn is_exact(&self) -> bool {
        self.exact.is_some()
    }

    /// Where the next order-free sum has its binary point; [`Scale::UNKNOWN`] where there are none.
    pub fn scale(&self) -> Scale {
        self.exact
            .as_ref()
            .map_or(Scale::UNKNOWN, |exact| Scale::from_number(exact.scale.load(Ordering::Acquire)))
    }

    /// What its first rank is called: 0, unless other nodes come before.
    pub fn first_rank(&self) -> usize {
        self.first
    }

    /// The number of ranks on this node.
    pub fn world(&self) -> usize {
        self.desks.len()
    }

    /// The number of f32 in the flat parameter buffer.
    pub fn len(&self) -> usize {
        self.params.len()
    }

    /// Whether there is nothing to train.
    pub fn is_empty(&self) -> bool {
        self.params.is_empty()
    }

    /// The range of the flat buffers that a rank reduces: cache lines apart, sizes as equal as that allows.
    pub fn slice_of(&self, rank: usize) -> Range<usize> {
        cut(self.len(), self.world(), rank)
    }

    /// Enters the group as this node's `rank`, counted from 0 on each node.
    ///
    /// # Errors
    /// If that rank does not exist, is inside already, or was inside since the group was formed.
    pub fn join(self: &Arc<Self>, rank: usize) -> Result<Member, ArenaError> {
        let desk = self.desks.get(rank).ok_or(ArenaError::NoSuchRank { rank, world: self.world() })?;
        let mut round = self.round();
        if desk.inside.load(Ordering::Acquire) {
            return Err(ArenaError::Occupied(rank));
        }
        if std::mem::replace(&mut round.entered[rank], true) {
            return Err(ArenaError::Gone(rank));
        }
        desk.inside.store(true, Ordering::Release);
        Ok(Member::new(self.clone(), round.barrier.clone(), rank))
    }

    /// Asks every rank to stop after the step it is in. All of them will stop after the same one.
    pub fn request_stop(&self) {
        self.stop.store(true, Ordering::Release);
    }

    /// Breaks the group: every waiting rank returns with this cause (or an earlier one).
    pub fn break_with(&self, cause: Broken) {
        self.current().break_with(cause);
    }

    /// Who is waited for as of now, and by whom, if somebody waits: the cause to break the group with for one who knows
    /// that it has lasted too long.
    pub fn stalled(&self) -> Option<Broken> {
        self.current().stalled()
    }

    /// Who waits for whom as of now, and what each rank is at.
    pub fn look(&self) -> Vec<Seen> {
        self.current().look()
    }

    /// The same in a sentence, of those that are waited for; of all, where nobody is waited for here.
    pub fn doing(&self) -> String {
        let (barrier, mut seen) = (self.current(), self.look());
        if seen.iter().any(|seen| seen.missing) {
            seen.retain(|seen| seen.missing);
        }
        let said = |s: &Seen| format!("rank {} is {}", s.rank, s.doing.describe(barrier.node_names()));
        seen.iter().map(said).collect::<Vec<_>>().join(", ")
    }

    /// What nodes are called; empty where there is one.
    pub fn node_names(&self) -> Vec<String> {
        self.current().node_names().to_vec()
    }

    /// The first cause, if the group is broken.
    pub fn broken(&self) -> Option<Broken> {
        self.current().broken()
    }

    /// The number of committed steps, [`Arena::load`]'s included.
    ///
    /// # Errors
    /// [`ArenaError::Torn`] if ranks disagree, which only a failure while applying can cause.
    pub fn committed(&self) -> Result<u64, ArenaError> {
        let done = self.desks[0].done.load(Ordering::Acquire);
        let agreed = self
            .desks
            .iter()
            .all(|d| d.done.load(Ordering::Acquire) == done && d.begun.load(Ordering::Acquire) == done);
        if agreed { Ok(self.base.load(Ordering::Acquire) + done) } else { Err(ArenaError::Torn) }
    }

    /// The number of steps that every rank has committed, whatever some have done beyond.
    pub fn committed_by_all(&self) -> u64 {
        let done = self.desks.iter().map(|d| d.done.load(Ordering::Acquire)).min();
        self.base.load(Ordering::Acquire) + done.unwrap_or(0)
    }

    /// How often rank 0 has applied a step since [`Arena::load`]: what a watchdog looks at.
    pub fn progress(&self) -> u64 {
        self.desks.first().map_or(0, |d| d.done.load(Ordering::Acquire))
    }

    /// Forms the group anew after everybody has left: a whole barrier, no request to stop.
    ///
    /// # Errors
    /// If somebody is still inside, or the last step was torn.
    pub fn reopen(&self) -> Result<(), ArenaError> {
        let mut round = self.round();
        self.empty()?;
        self.committed()?;
        self.form(&mut round);
        Ok(())
    }

    /// Sets parameters and optimizer state as of `step` committed steps, and the scale of the next order-free sum,
    /// before anybody joins.
    ///
    /// # Errors
    /// If somebody is inside.
    ///
    /// # Panics
    /// If lengths differ from the arena's; the caller checked them against the layout.
    #[allow(unsafe_code)]
    pub fn load(&self, step: u64, params: &[f32], state: &[&[f32]], scale: Scale) -> Result<(), ArenaError> {
        let mut round = self.round();
        self.empty()?;
        assert_eq!(state.len(), self.state.len(), "one buffer for each of the optimizer's states");
        let fill = |to: &FlatBuffer, from: &[f32]| {
            // SAFETY: nobody is inside (checked above), nor enters (the lock), so nobody reads or writes the buffers.
            unsafe { to.slice_mut(0..to.len()) }.copy_from_slice(from);
        };
        fill(&self.params, params);
        for (to, from) in self.state.iter().zip(state) {
            fill(to, from);
        }
        for desk in &self.desks {
            desk.begun.store(0, Ordering::Release);
            desk.done.store(0, Ordering::Release);
        }
        self.base.store(step, Ordering::Release);
        if let Some(exact) = &self.exact {
            exact.scale.store(scale.to_number(), Ordering::Release);
        }
        self.form(&mut round);
        Ok(())
    }

    fn form(&self, round: &mut Round) {
        self.stop.store(false, Ordering::Release);
        *round = Round::new(self.first, self.world(), self.stall);
    }

    fn round(&self) -> MutexGuard<'_, Round> {
        self.round.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn current(&self) -> Arc<Barrier> {
        self.round().barrier.clone()
    }

    fn empty(&self) -> Result<(), ArenaError> {
        match self.desks.iter().position(|d| d.inside.load(Ordering::Acquire)) {
            Some(rank) => Err(ArenaError::Occupied(rank)),
            None => Ok(()),
        }
    }
}
