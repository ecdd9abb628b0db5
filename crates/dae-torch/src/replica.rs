//! One worker's instance of a model.

use crate::backend::{caught, put};
use crate::model::{Memory, Pass};
use crate::{Model, Params, Samples};
use dae_collective::{Arena, Member};
use dae_train::backend::{BackendError, Replica};
use dae_train::data::Batch;
use std::sync::Arc;
use tch::Tensor;

/// Views of the arena's parameters and of the worker's slot, and a way from one to the other.
pub(crate) struct TorchReplica {
    model: Arc<dyn Model>,
    params: Params,
    grads: Vec<Tensor>,
    sample: Vec<usize>,
    pass: Option<Box<dyn Pass>>,
    /// What the views look at: its parameters, and the slot of this rank.
    arena: Arc<Arena>,
    rank: usize,
}

impl TorchReplica {
    pub(crate) fn new(
        model: Arc<dyn Model>,
        member: &Member,
        params: Params,
        grads: Params,
        sample: Vec<usize>,
        rows: usize,
    ) -> Self {
        let grads: Vec<_> = grads.tensors().iter().map(Tensor::shallow_clone).collect();
        let pass = model.pass(&Memory { params: &params, grads: &grads }, rows);
        let (arena, rank) = (member.arena().clone(), member.rank());
        Self { model, params: params.tracked(), grads, sample, pass, arena, rank }
    }

    /// The gradient by autograd.
    fn differentiate(&mut self, samples: &Samples, first: bool) -> Result<f64, BackendError> {
        let (model, params, grads) = (&self.model, &self.params, &mut self.grads);
        caught(|| {
            // The sum over rows, whose gradients can be added up whatever their number.
            let loss = model.loss(params, samples) * samples.rows as f64;
            let refs: Vec<_> = params.tensors().iter().collect();
            let found = Tensor::f_run_backward(&[&loss], &refs, false, false)?;
            tch::no_grad(|| {
                grads.iter_mut().zip(&found).try_for_each(|(place, gradient)| put(place, gradient, first))
            })?;
            f64::try_from(loss)
        })
    }
}

impl Replica for TorchReplica {
    #[allow(unsafe_code)]
    fn gradient(&mut self, member: &mut Member, batch: &Batch, first: bool) -> Result<f64, BackendError> {
        assert!(
            Arc::ptr_eq(&self.arena, member.arena()) && self.rank == member.rank(),
            "a replica computes for the member it was made for"
        );
        if let Some(broken) = member.broken() {
            return Err(BackendError(broken.to_string()));
        }
        // SAFETY: the batch outlives this call, and so the samples.
        let samples = unsafe { Samples::of(batch, &self.sample) }?;
        match &mut self.pass {
            Some(pass) => pass.run(&samples, first),
            None => self.differentiate(&samples, first),
        }
    }
}
