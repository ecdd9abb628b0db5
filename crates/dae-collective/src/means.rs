//! How the sums over nodes are made.

use crate::{Algorithm, Codec, Matrix};
use std::fmt;
use std::sync::Arc;

/// How the sums over nodes are made; the same on all ranks of all nodes.
#[derive(Debug, Clone, PartialEq)]
pub enum Means {
    /// Numbers travel as they are, by this algorithm.
    Plain(Algorithm),
    /// Numbers travel in this codec. What is written so cannot be added without being read, so each part goes straight to
    /// the node that sums it, and its total to all, as in [`Algorithm::Direct`].
    Coded(Codec),
    /// Matrices travel as products of two thin ones, of this rank, wherever those are smaller; all else as it is.
    LowRank {
        /// The columns of a thin matrix, at least 1.
        rank: usize,
        /// All matrices, as they lie in the whole flat vector, one after the other.
        matrices: Arc<[Matrix]>,
        /// How thin matrices are summed.
        algorithm: Algorithm,
    },
}

impl Means {
    /// Whether something is kept back by who sends, and sent later.
    pub fn keeps_back(&self) -> bool {
        match self {
            Self::Plain(_) => false,
            Self::Coded(codec) => codec.loses(),
            Self::LowRank { .. } => true,
        }
    }
}

impl Default for Means {
    fn default() -> Self {
        Self::Plain(Algorithm::default())
    }
}

impl fmt::Display for Means {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plain(algorithm) => write!(f, "{algorithm}"),
            Self::LowRank { rank, algorithm, .. } => write!(f, "{algorithm} in powersgd({rank})"),
            Self::Coded(codec) => write!(f, "{} in {codec}", Algorithm::Direct),
        }
    }
}
