//! Who trains on which positions.

use std::ops::Range;

/// How a step's positions are dealt out: a pure function of the step, the rank and the micro-batch.
///
/// Step `s` covers the positions from `s * G` to `(s + 1) * G`, where `G` is [`Shares::global_batch`]. They
/// are cut into grains of `batch` positions; rank `r` owns the `accum` grains from `r * accum` on. The end of
/// the run cuts the last step short: its last grains are smaller or empty. The list of grains depends on
/// `workers * accum` alone, so the same work can be dealt to another number of workers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shares {
    /// The number of ranks.
    pub workers: usize,
    /// The micro-batches a rank accumulates in one step.
    pub accum: usize,
    /// The samples in a micro-batch.
    pub batch: usize,
}

impl Shares {
    /// The samples in a whole step.
    pub fn global_batch(&self) -> u64 {
        (self.workers as u64)
            .saturating_mul(self.accum as u64)
            .saturating_mul(self.batch as u64)
    }

    /// The positions of micro-batch `micro` of `rank` in `step`, of a run over `total` positions.
    ///
    /// Over all steps, ranks and micro-batches the ranges are disjoint and cover `0..total`. A range may be
    /// short, or empty, in the last step; it is empty in every step after it.
    pub fn grain(&self, step: u64, rank: usize, micro: usize, total: u64) -> Range<u64> {
        let index = (rank as u64)
            .saturating_mul(self.accum as u64)
            .saturating_add(micro as u64);
        let start = step
            .saturating_mul(self.global_batch())
            .saturating_add(index.saturating_mul(self.batch as u64));
        let end = start.saturating_add(self.batch as u64);
        start.min(total)..end.min(total)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_tail_is_shared_by_its_true_size() {
        let shares = Shares {
            workers: 2,
            accum: 2,
            batch: 4,
        };
        let last: Vec<_> = [(0, 0), (0, 1), (1, 0), (1, 1)]
            .into_iter()
            .map(|(rank, micro)| shares.grain(1, rank, micro, 16 + 9))
            .collect();
        assert_eq!(last, [16..20, 20..24, 24..25, 25..25]);
    }

    #[test]
    fn numbers_nobody_meant_give_empty_ranges() {
        for shares in [
            Shares {
                workers: usize::MAX,
                accum: usize::MAX,
                batch: usize::MAX,
            },
            Shares {
                workers: 0,
                accum: 0,
                batch: 0,
            },
        ] {
            assert!(shares.grain(u64::MAX, usize::MAX, usize::MAX, 10).is_empty());
        }
    }

    proptest! {
        #[test]
        fn ranges_are_disjoint_and_covering(workers in 1usize..6, accum in 1usize..4, batch in 1usize..9) {
            let shares = Shares { workers, accum, batch };
            let global = shares.global_batch();
            for total in 1..2 * global + 2 {
                let mut next = 0;
                for step in 0..total.div_ceil(global) {
                    for rank in 0..workers {
                        for micro in 0..accum {
                            let range = shares.grain(step, rank, micro, total);
                            prop_assert_eq!(range.start, next);
                            prop_assert!(range.end - range.start <= batch as u64);
                            next = range.end;
                        }
                    }
                }
                prop_assert_eq!(next, total);
            }
        }

        #[test]
        fn another_number_of_workers_gets_the_same_grains(step in 0u64..5, batch in 1usize..9, total in 1u64..400) {
            let list = |workers: usize, accum: usize| -> Vec<_> {
                let shares = Shares { workers, accum, batch };
                (0..workers).flat_map(|r| (0..accum).map(move |m| shares.grain(step, r, m, total))).collect()
            };
            prop_assert_eq!(list(6, 1), list(2, 3));
            prop_assert_eq!(list(6, 1), list(1, 6));
        }
    }
}
