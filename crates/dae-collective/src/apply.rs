//! What a rank may touch while a step is applied.

use crate::across::of_each;
use crate::arena::{Scalar, cut};
use crate::{Arena, Barrier, Broken, Contribution, Peers};
use std::ops::Range;
use std::sync::atomic::Ordering;

/// A wait for a rank of this node that may itself be waiting for another node, twice in a step, has so many times the
/// bound: the other node is to be blamed then, and not the one that waits for it.
const FOR_NODES: u32 = 3;

/// What became of a step's sum.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Sum {
    None,
    Broken,
    Done,
}

/// What a rank may touch while a step is applied: all gradient slots to read, its own slice of the rest to write.
pub struct Apply<'a> {
    pub(crate) arena: &'a Arena,
    pub(crate) barrier: &'a Barrier,
    /// Of this node.
    pub(crate) rank: usize,
    pub(crate) turn: u64,
    pub(crate) sum: Sum,
    pub(crate) nodes: usize,
    /// The links, where each node moves its own part of the parameters.
    pub(crate) over: Option<&'a mut dyn Peers>,
    /// The terms of an order-free sum could not be added at the scale they were given in: there are no gradients, nobody
    /// applies the step, and all give them again.
    pub again: bool,
    /// To be set, by all ranks or none, where nobody writes anything and the step counts all the same: sums over nodes
    /// keep nothing of it then ([`crate::Member::revocable`]).
    pub skipped: bool,
    /// What every rank of every node contributed, in rank order.
    pub contributions: &'a [Contribution],
    /// This rank's slice of the parameters; where each node moves its own part, that part of the slice, as all that follows.
    pub params: &'a mut [f32],
    /// This rank's slice of each optimizer buffer.
    pub state: Vec<&'a mut [f32]>,
    /// The same slice of every rank's gradient, in rank order; over several nodes, or in an order-free sum, their sum
    /// alone.
    pub grads: Vec<&'a [f32]>,
}

/// How long to wait for ranks of this node within the apply phase, in bounds.
pub(crate) fn patience(nodes: usize) -> u32 {
    if nodes > 1 { FOR_NODES } else { 1 }
}

impl Apply<'_> {
    /// The stretches of this slice whose sums are to be added in order: one for each node whose part is in it. What is summed
    /// over all numbers so comes out the same to the bit on several nodes of one rank as on one node of so many.
    pub fn stretches(&self) -> impl Iterator<Item = Range<usize>> + use<> {
        let nodes = if self.over.is_some() { 1 } else { self.nodes };
        let len = self.params.len();
        (0..nodes).map(move |n| cut(len, nodes, n))
    }

    /// The sum over this node's ranks, in rank order, of one number each, or where nodes have parts of their own over all ranks
    /// of all nodes; a barrier of its own. All ranks ask for it in a step or
    /// none, once, and before they write anything.
    ///
    /// # Errors
    /// If the group breaks meanwhile, for the second sum of a step, or if a rank finished the step without it.
    pub fn sum(&mut self, mine: f64) -> Result<f64, Broken> {
        let all = self.gather(Scalar::Float(mine))?;
        Ok(all.map(Scalar::float).sum())
    }

    /// As [`Apply::sum`], of integers: in whatever order.
    ///
    /// # Errors
    /// As [`Apply::sum`].
    pub fn sum_exact(&mut self, mine: i128) -> Result<i128, Broken> {
        let all = self.gather(Scalar::Integer(mine))?;
        Ok(all.map(Scalar::integer).fold(0, i128::wrapping_add))
    }

    /// One number of each rank of this node, in rank order.
    #[allow(unsafe_code)]
    fn gather(&mut self, mine: Scalar) -> Result<impl Iterator<Item = Scalar> + use<'_>, Broken> {
        if self.sum != Sum::None {
            let rank = self.arena.first_rank() + self.rank;
            return Err(Broken::Left { rank, cause: "it asked for two sums in one step".into() });
        }
        self.sum = Sum::Broken;
        let mine = match &mut self.over {
            None => mine,
            Some(peers) => {
                let all = of_each(&mut **peers, self.turn, mine)?.into_iter();
                match mine {
                    Scalar::Float(_) => Scalar::Float(all.map(Scalar::float).sum()),
                    Scalar::Integer(_) => {
                        Scalar::Integer(all.map(Scalar::integer).fold(0, i128::wrapping_add))
                    }
                }
            }
        };
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
