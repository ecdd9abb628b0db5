//! What each rank sends and receives in a collective, as plain data.
//!
//! | module | what it holds |
//! |---|---|
//! | `direct` | everybody to everybody |
//! | `ring` | round a ring |
//! | `doubling` | with ranks at distances 1, 2, 4, ... |
//! | `tree` | down and up a binomial tree |
//! | `parts` | how a vector is cut, a part for each rank |
mod direct;
mod doubling;
mod parts;
mod ring;
mod tree;

use crate::Algorithm;
use parts::Parts;
use std::ops::Range;

/// What ranks do together with a vector that each of them has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Collective {
    /// All come to have the sum.
    AllReduce,
    /// Each comes to have its own part of the sum; the rest of its vector is spoilt.
    ReduceScatter,
    /// Each has its own part, and all come to have all of them.
    AllGather,
    /// All come to have what one has.
    Broadcast {
        /// That one.
        root: usize,
    },
    /// Nobody comes out before all have come in. The vector is empty.
    Barrier,
}

/// What becomes of what is received.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Take {
    /// It is added to what is there. Several for one place are added in the order of ranks, what is there at this
    /// rank's own turn.
    Add,
    /// It replaces what is there.
    Copy,
}

/// A stretch of the vector that goes to another rank.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Send {
    /// That rank.
    pub to: usize,
    /// Which elements.
    pub range: Range<usize>,
}

/// A stretch of the vector that comes from another rank.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Receive {
    /// That rank.
    pub from: usize,
    /// Which elements.
    pub range: Range<usize>,
    /// What becomes of them.
    pub take: Take,
}

/// What one rank does at a time. At most one message goes to each rank and one comes from each, those that come are in
/// the order of ranks, and nothing is copied to where something is sent from.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Round {
    /// What goes.
    pub sends: Vec<Send>,
    /// What comes.
    pub receives: Vec<Receive>,
}

impl Round {
    fn send(mut self, to: usize, range: Range<usize>) -> Self {
        self.sends.push(Send { to, range });
        self
    }

    fn receive(mut self, from: usize, range: Range<usize>, take: Take) -> Self {
        self.receives.push(Receive { from, range, take });
        self
    }

    /// An empty message says nothing, unless one waits for it.
    fn without_empty(mut self) -> Self {
        self.sends.retain(|send| !send.range.is_empty());
        self.receives.retain(|receive| !receive.range.is_empty());
        self
    }
}

/// What one rank does in a collective, round by round; all ranks have as many rounds. First come those in which sums
/// grow, then those in which finished numbers spread, so that they may be of another kind than what was summed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    adding: Vec<Round>,
    copying: Vec<Round>,
    held: Range<usize>,
}

impl Plan {
    /// That of one rank of `world`, for vectors of `len` elements.
    ///
    /// # Panics
    /// If there is no such rank, or no such root.
    pub fn new(algorithm: Algorithm, collective: Collective, world: usize, rank: usize, len: usize) -> Self {
        assert!(rank < world, "rank {rank} of {world}");
        let parts = Parts { len, world };
        let (mut adding, mut copying, mut held) = (vec![], vec![], sum_held(algorithm, parts, rank));
        match collective {
            Collective::AllReduce => {
                adding = sum(algorithm, parts, rank);
                copying = spread(algorithm, parts, rank);
            }
            Collective::ReduceScatter => {
                adding = sum(algorithm, parts, rank);
                copying = scatter(algorithm, parts, rank);
            }
            Collective::AllGather => {
                copying = collect(algorithm, parts, rank);
                copying.extend(match algorithm {
                    // What is summed by pairs of all is held by all; what is gathered is not.
                    Algorithm::RecursiveDoubling => doubling::spread_parts(parts, rank),
                    _ => spread(algorithm, parts, rank),
                });
            }
            Collective::Broadcast { root } => {
                assert!(root < world, "root {root} of {world}");
                held = if rank == root { 0..len } else { 0..0 };
                copying = match algorithm {
                    Algorithm::Direct => direct::broadcast(parts, rank, root),
                    Algorithm::Ring => ring::broadcast(parts, rank, root),
                    _ => tree::broadcast(parts, rank, root),
                };
            }
            Collective::Barrier => {
                let none = Parts { len: 0, world };
                let algorithm = match algorithm {
                    Algorithm::HalvingDoubling => Algorithm::RecursiveDoubling,
                    other => other,
                };
                adding = sum(algorithm, none, rank);
                if algorithm != Algorithm::Direct {
                    copying = spread(algorithm, none, rank);
                }
                return Self { adding, copying, held: 0..0 };
            }
        }
        let full = |rounds: Vec<Round>| rounds.into_iter().map(Round::without_empty).collect();
        Self { adding: full(adding), copying: full(copying), held }
    }

    /// The rounds in which sums grow.
    pub fn adding(&self) -> &[Round] {
        &self.adding
    }

    /// The rounds in which finished numbers spread, after the others.
    pub fn copying(&self) -> &[Round] {
        &self.copying
    }

    /// The part of the vector that is finished on this rank between the two: every element is on some rank.
    pub fn held(&self) -> Range<usize> {
        self.held.clone()
    }
}

/// Which of the elements a rank comes to have the sum of, before any are spread.
fn sum_held(algorithm: Algorithm, parts: Parts, rank: usize) -> Range<usize> {
    match algorithm {
        Algorithm::Direct | Algorithm::Ring => parts.one(rank),
        Algorithm::HalvingDoubling => doubling::held_by_halves(parts, rank),
        Algorithm::RecursiveDoubling => doubling::held_whole(parts, rank),
        Algorithm::Tree => tree::held(parts, rank),
    }
}

fn sum(algorithm: Algorithm, parts: Parts, rank: usize) -> Vec<Round> {
    match algorithm {
        Algorithm::Direct => direct::sum(parts, rank),
        Algorithm::Ring => ring::sum(parts, rank),
        Algorithm::HalvingDoubling => doubling::sum_by_halves(parts, rank),
        Algorithm::RecursiveDoubling => doubling::sum_whole(parts, rank),
        Algorithm::Tree => tree::sum(parts, rank),
    }
}

/// From those who hold them to all.
fn spread(algorithm: Algorithm, parts: Parts, rank: usize) -> Vec<Round> {
    match algorithm {
        Algorithm::Direct => direct::spread(parts, rank),
        Algorithm::Ring => ring::spread(parts, rank),
        Algorithm::HalvingDoubling => doubling::spread_parts(parts, rank),
        Algorithm::RecursiveDoubling => doubling::give_back(parts, rank),
        Algorithm::Tree => tree::broadcast(parts, rank, 0),
    }
}

/// From those who hold them to those whose parts they are.
fn scatter(algorithm: Algorithm, parts: Parts, rank: usize) -> Vec<Round> {
    match algorithm {
        Algorithm::Direct | Algorithm::Ring => vec![],
        Algorithm::HalvingDoubling | Algorithm::RecursiveDoubling => doubling::scatter(parts, rank),
        Algorithm::Tree => tree::scatter(parts, rank),
    }
}

/// From those whose parts they are to those who spread them.
fn collect(algorithm: Algorithm, parts: Parts, rank: usize) -> Vec<Round> {
    match algorithm {
        Algorithm::Direct | Algorithm::Ring => vec![],
        Algorithm::HalvingDoubling | Algorithm::RecursiveDoubling => doubling::collect(parts, rank),
        Algorithm::Tree => tree::collect(parts, rank),
    }
}

#[cfg(test)]
pub(crate) mod tests;
