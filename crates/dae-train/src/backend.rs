//! What computes losses and gradients: the seam between the training actors and libtorch.

use crate::data::Batch;
use crate::layout::Layout;
use dae_collective::Member;

/// Why a model could not compute.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BackendError(pub String);

/// A model, ready to be replicated: one per job, shared by its workers.
pub trait Backend: Send + Sync {
    /// Where each parameter tensor lies.
    fn layout(&self) -> &Layout;

    /// Fills the flat parameters for step 0, a function of the seed alone. Gaps between tensors stay zero.
    ///
    /// # Errors
    /// If the model cannot say what they are.
    fn initialise(&self, seed: u64, params: &mut [f32]) -> Result<(), BackendError>;

    /// A replica for the worker that is `member`, made and used on that worker's own thread. It keeps views of the
    /// arena's memory, which outlives it: it holds on to the member's arena.
    ///
    /// # Errors
    /// If the model cannot be made.
    fn replica(&self, member: &Member) -> Result<Box<dyn Replica>, BackendError>;

    /// Reconstructs a batch into `out` (`rows * features` values) with the given flat parameters, and returns the sum
    /// of the loss over its rows.
    ///
    /// # Errors
    /// If the model cannot compute.
    fn reconstruct(&self, params: &[f32], batch: &Batch, out: &mut [f32]) -> Result<f64, BackendError>;
}

/// One worker's instance of a model.
pub trait Replica {
    /// Adds the gradient of the *sum* over the batch's rows of the loss to the member's slot, or, if `first`,
    /// overwrites the slot with it. Returns the sum of the loss over the rows. A loss that is not finite is returned as
    /// such: what follows is decided by all ranks together.
    ///
    /// # Errors
    /// If the model cannot compute.
    fn gradient(&mut self, member: &mut Member, batch: &Batch, first: bool) -> Result<f64, BackendError>;
}
