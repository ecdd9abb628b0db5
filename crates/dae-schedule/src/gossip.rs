//! [`Gossip`]: peers that mix with their neighbours, without a centre.

use std::fmt;

use crate::place::Place;
use crate::print::{count, unless_default};

/// `gossip n`: after each round a peer mixes its parameters with those of its neighbours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gossip {
    /// Peers, 1 to [`crate::MAX_COUNT`].
    pub n: u32,
    /// How they lie.
    pub place: Option<Place>,
    /// Who is whose neighbour; `graph=`, `ring` when left out.
    pub graph: Graph,
    /// Whether weights travel with the parameters, so that links may be one-way: `push`
    /// (stochastic gradient push; Assran et al. 2019).
    pub push: bool,
    /// Whether peers mix without waiting for each other: `sync=async` (AD-PSGD; Lian et al. 2018). Without it a round
    /// is a round for all: `sync=bsp`.
    pub asynchronous: bool,
}

/// Who is whose neighbour among n peers in a circle.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Graph {
    /// The next and the one before: `ring`.
    #[default]
    Ring,
    /// Those 1, 2, 4, 8 ... places on, one of them in each round: `exp`.
    Exp,
    /// All: `complete`.
    Complete,
    /// Those so many places on and back: `hops(2,3)`; 1 to 8 numbers, each at least 1. Connected when no number above 1
    /// divides n and all of them.
    Hops(Vec<u32>),
}

impl Gossip {
    /// `gossip n` and nothing else.
    pub fn new(n: u32) -> Self {
        Self { n, place: None, graph: Graph::Ring, push: false, asynchronous: false }
    }
}

impl fmt::Display for Gossip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        count(f, "gossip", self.n, self.place)?;
        unless_default(f, "graph", &self.graph.to_string(), &"ring".to_owned())?;
        f.write_str(if self.push { " push" } else { "" })?;
        f.write_str(if self.asynchronous { " sync=async" } else { "" })
    }
}

impl fmt::Display for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ring => f.write_str("ring"),
            Self::Exp => f.write_str("exp"),
            Self::Complete => f.write_str("complete"),
            Self::Hops(hops) => {
                let hops: Vec<String> = hops.iter().map(u32::to_string).collect();
                write!(f, "hops({})", hops.join(","))
            }
        }
    }
}
