//! How the sums over nodes are made.

use crate::{Algorithm, Codec};
use std::fmt;

/// How the sums over nodes are made; the same on all ranks of all nodes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Means {
    /// Numbers travel as they are, by this algorithm.
    Plain(Algorithm),
    /// Numbers travel in this codec. What is written so cannot be added without being read, so each part goes straight to
    /// the node that sums it, and its total to all, as in [`Algorithm::Direct`].
    Coded(Codec),
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
            Self::Coded(codec) => write!(f, "{} in {codec}", Algorithm::Direct),
        }
    }
}
