//! One micro-batch as tensors.

use crate::params::view;
use dae_train::data::Batch;
use tch::Tensor;

/// One micro-batch, `[rows, ...shape of a sample]`; views of the batch's buffers.
#[derive(Debug)]
pub struct Samples {
    /// What the model should reconstruct.
    pub clean: Tensor,
    /// What it is given.
    pub noisy: Tensor,
    /// 1 where a value was corrupted, if the loss asked for it.
    pub mask: Option<Tensor>,
    /// The number of rows.
    pub rows: usize,
}

impl Samples {
    /// Views of the batch.
    ///
    /// # Safety
    /// They must not be used after the batch has gone or changed.
    #[allow(unsafe_code)]
    pub(crate) unsafe fn of(batch: &Batch, shape: &[usize]) -> Self {
        let mut size = vec![batch.rows];
        size.extend(shape);
        // SAFETY: the buffers hold `rows * features` values, and features is the product of the shape.
        let tensor = |buffer: &[f32]| unsafe { view(buffer.as_ptr(), &size) };
        Self {
            clean: tensor(&batch.clean),
            noisy: tensor(&batch.noisy),
            mask: batch.mask.as_ref().map(|m| tensor(m)),
            rows: batch.rows,
        }
    }
}
