//! [`Model`]: what a word is run on.

use std::ops::Range;

/// A pure function from parameters and samples to a gradient: the same arguments give the same bits.
pub trait Model {
    /// How many parameters there are.
    fn parameters(&self) -> usize;

    /// Overwrites `into` with the gradient of the loss, SUMMED over the samples at these positions of the run; nothing
    /// is divided here, weights are carried. Positions go on counting over epochs. `grain` is never empty, `params`
    /// and `into` are [`Model::parameters`] long.
    fn gradient(&self, params: &[f32], grain: Range<u64>, into: &mut [f32]) -> Grain;
}

/// What a grain adds besides its gradient.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Grain {
    /// Its samples, or whatever else the mean is over.
    pub weight: f64,
    /// The sum of their losses.
    pub loss: f64,
}
