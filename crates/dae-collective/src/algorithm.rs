//! The ways a collective can go.

use std::fmt;

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

    /// What it is called in a schedule.
    pub fn name(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Ring => "ring",
            Self::HalvingDoubling => "halving",
            Self::RecursiveDoubling => "doubling",
            Self::Tree => "tree",
        }
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
