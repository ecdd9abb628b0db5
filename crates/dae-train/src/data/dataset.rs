//! What any source of samples offers.

/// A fixed, numbered set of samples of one shape, which any thread may read in any order.
pub trait Dataset: Send + Sync {
    /// What a person calls it, for logs and reports.
    fn name(&self) -> &str;

    /// The number of samples.
    fn len(&self) -> usize;

    /// The dimensions of one sample, such as `[1, 28, 28]` (channels, height, width) or `[30]`.
    fn shape(&self) -> &[usize];

    /// Writes sample `id` to `out`, row-major, in the range the model is trained on (`[0, 1]` for images).
    ///
    /// # Panics
    /// If `id` is not below [`Dataset::len`], or `out` is not [`Dataset::features`] long.
    fn read(&self, id: usize, out: &mut [f32]);

    /// The number of values in one sample: the product of its shape.
    fn features(&self) -> usize {
        self.shape().iter().product()
    }

    /// Whether there is no sample at all.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
