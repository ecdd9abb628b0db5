//! The trait a user implements.

use crate::{Parameter, Params, ReconstructionLoss, Samples};
use dae_train::backend::BackendError;
use dae_train::layout::Layout;
use std::collections::HashMap;
use std::sync::Arc;
use tch::Tensor;

/// A model: the tensors it trains, and what it computes from them. It holds no tensors itself, so every worker may
/// share it.
///
/// The least a model needs is [`Model::parameters`] and [`Model::forward`]; its loss is then the mean squared error.
pub trait Model: Send + Sync {
    /// The tensors to train. Their order and names stay the same for the life of a checkpoint.
    fn parameters(&self) -> Vec<Parameter>;

    /// What the last layer puts out for noisy samples `[rows, ...]`, before any function that the loss applies itself
    /// (a sigmoid under BCE).
    fn forward(&self, params: &Params, noisy: &Tensor) -> Tensor;

    /// The mean loss over the rows, a scalar. It must be a mean over rows (of whatever each row comes to): rows are
    /// weighted by their number when micro-batches and workers are put together.
    fn loss(&self, params: &Params, samples: &Samples) -> Tensor {
        ReconstructionLoss::MSE.of(&self.forward(params, &samples.noisy), samples)
    }

    /// The reconstruction of noisy samples, in the range of the clean ones.
    fn reconstruct(&self, params: &Params, noisy: &Tensor) -> Tensor {
        self.forward(params, noisy)
    }

    /// A way to the gradient without autograd, for `rows` rows at most: faster where a model has one. It must compute
    /// what autograd would.
    fn pass(&self, memory: &Memory<'_>, rows: usize) -> Option<Box<dyn Pass>> {
        let _ = (memory, rows);
        None
    }
}

/// The flat memory a [`Pass`] works on, as tensors in the model's order.
pub struct Memory<'a> {
    /// The parameters.
    pub params: &'a Params,
    /// Where the gradient of each goes.
    pub grads: &'a [Tensor],
}

/// A gradient without autograd. See [`Model::pass`].
pub trait Pass {
    /// Adds the gradient of the sum over rows of the loss to the gradients' memory, or, if `first`, overwrites it.
    /// Returns the sum of the loss over the rows.
    ///
    /// # Errors
    /// If libtorch cannot compute.
    fn run(&mut self, samples: &Samples, first: bool) -> Result<f64, BackendError>;
}

/// A model's parameters laid out flat.
pub(crate) struct Shape {
    pub(crate) layout: Layout,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) names: Arc<HashMap<String, usize>>,
}

impl Shape {
    pub(crate) fn of(model: &dyn Model) -> Result<Self, BackendError> {
        let parameters = model.parameters();
        let mut names = HashMap::new();
        for (at, p) in parameters.iter().enumerate() {
            if names.insert(p.name.clone(), at).is_some() {
                return Err(BackendError(format!("two parameters are named `{}`", p.name)));
            }
            if p.shape.contains(&0) {
                return Err(BackendError(format!("parameter `{}` has an empty shape {:?}", p.name, p.shape)));
            }
        }
        if parameters.is_empty() {
            return Err(BackendError("the model declares no parameters".into()));
        }
        let layout = Layout::try_new(parameters.iter().map(|p| (p.name.clone(), p.shape.clone())))
            .map_err(|e| BackendError(e.to_string()))?;
        Ok(Self { layout, parameters, names: Arc::new(names) })
    }
}
