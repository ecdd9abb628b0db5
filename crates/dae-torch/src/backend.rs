//! A model as the training actors see it.

use crate::model::Shape;
use crate::replica::TorchReplica;
use crate::{Init, Model, Params, Samples, threads};
use dae_collective::Member;
use dae_train::backend::{Backend, BackendError, Replica};
use dae_train::data::{AlignedF32, Batch, uniform};
use dae_train::layout::Layout;
use std::sync::Arc;
use tch::Tensor;

/// A model computed with libtorch on the processor.
pub struct TorchBackend {
    model: Arc<dyn Model>,
    shape: Shape,
    /// The shape of one sample.
    sample: Vec<usize>,
    /// Samples in a micro-batch at most.
    rows: usize,
    threads: usize,
}

impl TorchBackend {
    /// A model on samples of a shape, in micro-batches of at most `rows`, with so many threads of libtorch a worker.
    /// It is tried once on zeros, so that what does not fit together is known before step 0.
    ///
    /// # Errors
    /// If parameters clash, or the model cannot compute on such samples.
    pub fn new(
        model: Arc<dyn Model>,
        sample: &[usize],
        rows: usize,
        threads: usize,
    ) -> Result<Self, BackendError> {
        let shape = Shape::of(&*model)?;
        let backend = Self { model, shape, sample: sample.to_vec(), rows, threads };
        backend.attempt()?;
        Ok(backend)
    }

    fn attempt(&self) -> Result<(), BackendError> {
        let params = AlignedF32::new(self.shape.layout.len());
        let features = Samples::features(&self.sample)?;
        let mut batch = Batch::new(1, features, true);
        batch.rows = 1;
        let mut out = vec![0.0; features];
        self.reconstruct(&params, &batch, &mut out).map(drop)
    }

    /// Views of flat parameters.
    ///
    /// # Safety
    /// As for [`Params::views`].
    #[allow(unsafe_code)]
    unsafe fn views(&self, start: *const f32) -> Params {
        // SAFETY: the caller's duty.
        unsafe { Params::views(start, &self.shape.layout, self.shape.names.clone()) }
    }
}

#[allow(unsafe_code)]
impl Backend for TorchBackend {
    fn layout(&self) -> &Layout {
        &self.shape.layout
    }

    fn initialise(&self, seed: u64, params: &mut [f32]) -> Result<(), BackendError> {
        params.fill(0.0);
        let tensors = self.shape.layout.tensors().iter().zip(&self.shape.parameters);
        for (item, (tensor, parameter)) in tensors.enumerate() {
            let out = &mut params[tensor.range()];
            match parameter.init {
                Init::Zeros => out.fill(0.0),
                Init::Uniform(bound) => uniform(seed, item as u64, bound, out),
            }
        }
        Ok(())
    }

    fn replica(&self, member: &Member) -> Result<Box<dyn Replica>, BackendError> {
        let (holds, wants) = (member.arena().len(), self.shape.layout.len());
        if holds != wants {
            return Err(BackendError(format!("an arena of {holds} values for a model of {wants}")));
        }
        threads::prepare(self.threads);
        // SAFETY: parameters and slot are as long as the layout (checked); the replica holds on to the arena, and computes only while it is lent the member.
        let params = unsafe { self.views(member.params_ptr()) };
        // SAFETY: as above.
        let grads = unsafe { self.views(member.slot_ptr()) };
        let replica =
            TorchReplica::new(self.model.clone(), member, params, grads, self.sample.clone(), self.rows);
        Ok(Box::new(replica))
    }

    fn reconstruct(&self, params: &[f32], batch: &Batch, out: &mut [f32]) -> Result<f64, BackendError> {
        assert_eq!(params.len(), self.shape.layout.len(), "flat parameters of this model");
        // SAFETY: the parameters are borrowed for longer than the views live.
        let params = unsafe { self.views(params.as_ptr()) };
        // SAFETY: likewise the batch.
        let samples = unsafe { Samples::of(batch, &self.sample) }?;
        caught(|| {
            tch::no_grad(|| {
                let loss = f64::try_from(self.model.loss(&params, &samples))?;
                let values = self.model.reconstruct(&params, &samples.noisy).f_contiguous()?;
                let count = batch.rows * batch.features;
                if values.numel() != count {
                    let (got, want) = (values.size(), samples.noisy.size());
                    return Err(tch::TchError::Shape(format!(
                        "the model reconstructs samples of shape {want:?} as {got:?}"
                    )));
                }
                values.f_copy_data(&mut out[..count], count)?;
                Ok(loss * batch.rows as f64)
            })
        })
    }
}

/// libtorch's complaints, whether they come as errors or, out of a model's plain operators, as panics.
pub(crate) fn caught<T>(body: impl FnOnce() -> Result<T, tch::TchError>) -> Result<T, BackendError> {
    match std::panic::catch_unwind(std::panic::AssertUnwindSafe(body)) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(e)) => Err(BackendError(first_line(&e.to_string()))),
        Err(panic) => {
            let said = panic.downcast_ref::<String>().map(String::as_str);
            let said = said.or_else(|| panic.downcast_ref::<&str>().copied());
            Err(BackendError(first_line(said.unwrap_or("it panicked without a message"))))
        }
    }
}

/// libtorch appends pages of C++ frames to a sentence.
fn first_line(message: &str) -> String {
    message.lines().next().unwrap_or_default().to_owned()
}

/// Copies or adds a gradient into its place.
pub(crate) fn put(place: &mut Tensor, gradient: &Tensor, first: bool) -> Result<(), tch::TchError> {
    match (gradient.defined(), first) {
        (true, true) => place.f_copy_(gradient),
        (true, false) => place.f_add_(gradient).map(drop),
        // The loss does not depend on this parameter.
        (false, true) => place.f_zero_().map(drop),
        (false, false) => Ok(()),
    }
}
