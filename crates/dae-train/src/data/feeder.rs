//! Positions to a filled batch.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use super::{Batch, Corruption, Dataset, Sampler};

/// Gathers and corrupts the samples at given positions. It has no state: two feeders with the same parts fill
/// the same bits, on whatever node and in whatever order they are asked.
#[derive(Clone)]
pub struct Feeder {
    dataset: Arc<dyn Dataset>,
    sampler: Sampler,
    corruption: Corruption,
    seed: u64,
}

impl Feeder {
    /// A feeder of `dataset` in the order of `sampler`, with noise keyed by `seed`.
    ///
    /// # Panics
    /// If the sampler deals in samples the dataset does not have.
    pub fn new(dataset: Arc<dyn Dataset>, sampler: Sampler, corruption: Corruption, seed: u64) -> Self {
        assert!(
            sampler.samples() <= dataset.len(),
            "the sampler goes beyond the dataset"
        );
        Self {
            dataset,
            sampler,
            corruption,
            seed,
        }
    }

    /// The dataset it reads.
    pub fn dataset(&self) -> &Arc<dyn Dataset> {
        &self.dataset
    }

    /// Fills one row per position and sets the number of rows; an empty range gives an empty batch.
    ///
    /// # Panics
    /// If the batch has other features than the dataset, or no room for that many rows.
    pub fn fill(&self, positions: Range<u64>, batch: &mut Batch) {
        let features = self.dataset.features();
        assert_eq!(batch.features, features, "a batch is as wide as its dataset");
        batch.rows = positions.end.saturating_sub(positions.start) as usize;
        assert!(
            batch.rows <= batch.capacity(),
            "{} rows do not fit into {}",
            batch.rows,
            batch.capacity()
        );
        for (row, position) in positions.enumerate() {
            let (epoch, id) = self.sampler.at(position);
            let row = row * features..(row + 1) * features;
            let clean = &mut batch.clean[row.clone()];
            self.dataset.read(id, clean);
            let noisy = &mut batch.noisy[row.clone()];
            let mask = batch.mask.as_mut().map(|mask| &mut mask[row]);
            self.corruption
                .apply(self.seed, epoch, id as u64, clean, noisy, mask);
        }
    }
}

impl fmt::Debug for Feeder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Feeder")
            .field("dataset", &self.dataset.name())
            .field("sampler", &self.sampler)
            .field("corruption", &self.corruption)
            .field("seed", &self.seed)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{CorruptionKind, Shares};

    /// Sample `id` is `id / 10` throughout.
    struct Levels;

    impl Dataset for Levels {
        fn name(&self) -> &str {
            "levels"
        }
        fn len(&self) -> usize {
            10
        }
        fn shape(&self) -> &[usize] {
            &[1, 3, 7]
        }
        fn read(&self, id: usize, out: &mut [f32]) {
            out.fill(id as f32 / 10.0);
        }
    }

    fn feeder() -> Feeder {
        let corruption = Corruption {
            kind: CorruptionKind::Masking,
            level: 0.4,
            fresh: true,
        };
        Feeder::new(Arc::new(Levels), Sampler::new(3, 10, true), corruption, 3)
    }

    /// All noisy rows of a run, by position, however the work is dealt.
    fn run(shares: Shares, total: u64) -> Vec<f32> {
        let feeder = feeder();
        let mut batch = Batch::new(shares.batch, 21, true);
        let mut noisy = vec![f32::NAN; total as usize * 21];
        for step in (0..total.div_ceil(shares.global_batch())).rev() {
            for (rank, micro) in (0..shares.workers).flat_map(|r| (0..shares.accum).map(move |m| (r, m))) {
                let range = shares.grain(step, rank, micro, total);
                feeder.fill(range.clone(), &mut batch);
                assert_eq!(batch.rows as u64, range.end - range.start);
                noisy[range.start as usize * 21..range.end as usize * 21]
                    .copy_from_slice(&batch.noisy[..batch.rows * 21]);
            }
        }
        noisy
    }

    #[test]
    fn the_data_do_not_depend_on_who_computes_them() {
        let one = run(
            Shares {
                workers: 1,
                accum: 1,
                batch: 1,
            },
            37,
        );
        assert!(one.iter().all(|x| !x.is_nan()));
        for (workers, accum, batch) in [(1, 1, 37), (2, 1, 3), (3, 2, 4), (5, 3, 5)] {
            assert_eq!(
                run(
                    Shares {
                        workers,
                        accum,
                        batch
                    },
                    37
                ),
                one
            );
        }
    }

    #[test]
    fn clean_noisy_and_mask_agree() {
        let mut batch = Batch::new(10, 21, true);
        feeder().fill(10..20, &mut batch);
        let mask = batch.mask.as_ref().expect("asked for");
        for ((clean, noisy), mask) in batch.clean.iter().zip(&batch.noisy[..]).zip(&mask[..]) {
            assert_eq!(*noisy, if *mask == 1.0 { 0.0 } else { *clean });
        }
        let mut seen: Vec<_> = (0..10)
            .map(|row| (batch.clean[row * 21] * 10.0).round() as usize)
            .collect();
        seen.sort_unstable();
        assert_eq!(seen, (0..10).collect::<Vec<_>>());
    }
}
