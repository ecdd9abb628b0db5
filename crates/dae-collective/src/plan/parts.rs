//! How a vector is cut, a part for each rank.

use crate::arena::cut;
use std::ops::Range;

/// A vector cut into as many parts as there are ranks.
#[derive(Clone, Copy)]
pub(super) struct Parts {
    pub(super) len: usize,
    pub(super) world: usize,
}

impl Parts {
    /// That of one rank.
    pub(super) fn one(self, rank: usize) -> Range<usize> {
        cut(self.len, self.world, rank)
    }

    /// Those of ranks that follow each other; there may be none.
    pub(super) fn some(self, ranks: Range<usize>) -> Range<usize> {
        match ranks.is_empty() {
            true => 0..0,
            false => self.one(ranks.start).start..self.one(ranks.end - 1).end,
        }
    }

    pub(super) fn all(self) -> Range<usize> {
        0..self.len
    }
}
