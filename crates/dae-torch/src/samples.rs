//! One micro-batch as tensors.

use crate::params::view;
use dae_train::backend::BackendError;
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
    /// # Errors
    /// If the batch is of samples of another size, or its buffers hold fewer rows than it says.
    ///
    /// # Safety
    /// They must not be used after the batch has gone or changed.
    #[allow(unsafe_code)]
    pub(crate) unsafe fn of(batch: &Batch, shape: &[usize]) -> Result<Self, BackendError> {
        let (rows, features) = (batch.rows, batch.features);
        if Self::features(shape)? != features {
            let what = format!("samples of shape {shape:?} do not have {features} values, as the batch says");
            return Err(BackendError(what));
        }
        let mut size = vec![rows];
        size.extend(shape);
        let tensor = |buffer: &[f32]| match rows.checked_mul(features) {
            // SAFETY: the buffer holds as many values as the shape has (checked).
            Some(count) if count <= buffer.len() => Ok(unsafe { view(buffer.as_ptr(), &size) }),
            _ => {
                let what = format!("{rows} rows of {features} values are not in {} values", buffer.len());
                Err(BackendError(what))
            }
        };
        let mask = batch.mask.as_ref().map(|m| tensor(m)).transpose()?;
        Ok(Self { clean: tensor(&batch.clean)?, noisy: tensor(&batch.noisy)?, mask, rows })
    }

    /// The values in a sample of a shape.
    ///
    /// # Errors
    /// If they cannot be counted.
    pub(crate) fn features(shape: &[usize]) -> Result<usize, BackendError> {
        let count = shape.iter().try_fold(1usize, |n, d| n.checked_mul(*d));
        count.ok_or_else(|| BackendError(format!("no memory holds a sample of shape {shape:?}")))
    }
}
