//! The ways a collective can go.

use std::fmt;
use std::str::FromStr;

/// How ranks combine what they have. All of them come to the same sums but for rounding, and all ranks to the same bits.
/// Costs below are of an all-reduce of n bytes over p ranks, with a seconds a message and b seconds a byte.
///
/// Thakur, Rabenseifner, Gropp, "Optimization of collective communication operations in MPICH", 2005.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Algorithm {
    /// Everybody sends each rank that rank's part, which sums it in the order of ranks and sends the total to all: two
    /// rounds, of p - 1 messages each.
    #[default]
    Direct,
    /// Parts go round a ring, and grow by a term at each rank: 2 (p - 1) rounds, 2 n (p - 1) / p bytes.
    Ring,
    /// Halves are exchanged with ranks ever nearer, then sums with ranks ever farther: 2 lg p rounds, 2 n (p - 1) / p
    /// bytes. Where p is no power of two, some ranks lend their sums to a neighbour first.
    HalvingDoubling,
    /// Whole sums are exchanged with ranks ever farther: lg p rounds, n lg p bytes. For what is short.
    RecursiveDoubling,
    /// Sums flow down a tree to the first rank, and from there up again: 2 lg p rounds, 2 n lg p bytes on the longest
    /// way.
    Tree,
}

impl Algorithm {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Direct, Self::Ring, Self::HalvingDoubling, Self::RecursiveDoubling, Self::Tree];

    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Ring => "ring",
            Self::HalvingDoubling => "halving-doubling",
            Self::RecursiveDoubling => "recursive-doubling",
            Self::Tree => "tree",
        }
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A name that no algorithm has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no algorithm is called \"{0}\"; there are {names}", names = Algorithm::ALL.map(Algorithm::name).join(", "))]
pub struct NoSuchAlgorithm(String);

impl FromStr for Algorithm {
    type Err = NoSuchAlgorithm;

    fn from_str(name: &str) -> Result<Self, NoSuchAlgorithm> {
        Self::ALL.into_iter().find(|a| a.name() == name).ok_or_else(|| NoSuchAlgorithm(name.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for algorithm in Algorithm::ALL {
            assert_eq!(algorithm.to_string().parse(), Ok(algorithm));
        }
        let said = "rings".parse::<Algorithm>().unwrap_err().to_string();
        assert!(said.starts_with("no algorithm is called \"rings\"; there are direct, ring,"), "{said}");
    }
}
