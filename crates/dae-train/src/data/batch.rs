//! The buffers of one micro-batch.

use super::AlignedF32;

/// Clean and noisy rows of one micro-batch, row-major `[rows, features]`, reused from step to step.
///
/// The buffers hold as many rows as were asked for at the start; only the first `rows` of them mean anything.
#[derive(Debug, Clone)]
pub struct Batch {
    /// What the model should reconstruct.
    pub clean: AlignedF32,
    /// What the model is given.
    pub noisy: AlignedF32,
    /// 1.0 where a value was corrupted, 0.0 elsewhere; `None` where nobody asked for it.
    pub mask: Option<AlignedF32>,
    /// How many rows are filled; 0 in an empty tail.
    pub rows: usize,
    /// The values in one row.
    pub features: usize,
}

impl Batch {
    /// An empty batch with room for `capacity_rows` rows of `features` values.
    pub fn new(capacity_rows: usize, features: usize, with_mask: bool) -> Self {
        let len = capacity_rows * features;
        Self {
            clean: AlignedF32::new(len),
            noisy: AlignedF32::new(len),
            mask: with_mask.then(|| AlignedF32::new(len)),
            rows: 0,
            features,
        }
    }

    /// The number of rows there is room for.
    pub fn capacity(&self) -> usize {
        self.clean.len().checked_div(self.features).unwrap_or(0)
    }
}
