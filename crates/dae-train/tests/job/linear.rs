//! A linear denoising autoencoder, `y = W x + b`, its gradient by hand, and the mischief it can be told to do.

use crate::rig::until;
use dae_collective::Member;
use dae_train::backend::{Backend, BackendError, Replica};
use dae_train::data::{Batch, uniform};
use dae_train::job::JobHandle;
use dae_train::layout::Layout;
use std::sync::{Arc, OnceLock};

/// What a replica does instead of, or beside, computing a gradient.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Act {
    /// It computes.
    Compute,
    /// It says that it cannot.
    Fail(&'static str),
    /// It returns this instead of its loss.
    Loss(f64),
    /// It computes, and then puts this into one place of its gradient.
    Gradient(usize, f32),
}

/// One call of [`Replica::gradient`].
pub struct Moment<'a> {
    pub member: &'a Member,
    pub batch: &'a Batch,
    /// The step it belongs to, counted from 1.
    pub step: u64,
}

impl Moment<'_> {
    pub fn is(&self, rank: usize, step: u64) -> bool {
        self.member.rank() == rank && self.step == step
    }

    /// Waits for the checkpoint that is being written, so that the next one that is due has room.
    pub fn patient(&self) {
        assert!(self.member.rank() != 0 || until(|| self.member.snapshot_free()), "a checkpoint hangs");
    }

    /// Asks the run to stop, and has it seen in this very step.
    pub fn stop(&self, handle: &OnceLock<JobHandle>) {
        handle.get().expect("the handle comes before the first step").stop("asked to");
        assert!(until(|| self.member.stop_requested()), "the request to stop was lost");
    }
}

type Hook = dyn Fn(&Moment<'_>) -> Act + Send + Sync;

/// The model: `features` in, as many out, the mean squared error of each row.
pub struct Linear {
    layout: Layout,
    act: Arc<Hook>,
    /// Asked for each replica, by rank.
    made: Arc<dyn Fn(usize) -> Result<(), BackendError> + Send + Sync>,
}

impl Linear {
    /// A model that behaves.
    pub fn new(features: usize) -> Self {
        let tensors = [("weight".into(), vec![features, features]), ("bias".into(), vec![features])];
        Self { layout: Layout::new(tensors), act: Arc::new(|_| Act::Compute), made: Arc::new(|_| Ok(())) }
    }

    /// The same, asking this at each gradient; it may as well panic or wait.
    pub fn acting(mut self, act: impl Fn(&Moment<'_>) -> Act + Send + Sync + 'static) -> Self {
        self.act = Arc::new(act);
        self
    }

    /// The same, asking this for each replica, by rank.
    pub fn made(mut self, made: impl Fn(usize) -> Result<(), BackendError> + Send + Sync + 'static) -> Self {
        self.made = Arc::new(made);
        self
    }
}

impl Backend for Linear {
    fn layout(&self) -> &Layout {
        &self.layout
    }

    fn initialise(&self, seed: u64, params: &mut [f32]) -> Result<(), BackendError> {
        for (item, tensor) in self.layout.tensors().iter().enumerate() {
            uniform(seed, item as u64, 0.1, &mut params[tensor.range()]);
        }
        Ok(())
    }

    fn replica(&self, member: &Member) -> Result<Box<dyn Replica>, BackendError> {
        (self.made)(member.rank())?;
        let (layout, act) = (self.layout.clone(), self.act.clone());
        let zeros = vec![0.0; layout.len()];
        Ok(Box::new(Copy { params: zeros.clone(), own: zeros, layout, act }))
    }

    fn reconstruct(&self, _: &[f32], _: &Batch, _: &mut [f32]) -> Result<f64, BackendError> {
        Err(BackendError("nobody looks at its pictures".into()))
    }
}

struct Copy {
    layout: Layout,
    params: Vec<f32>,
    own: Vec<f32>,
    act: Arc<Hook>,
}

impl Replica for Copy {
    fn gradient(&mut self, member: &mut Member, batch: &Batch, first: bool) -> Result<f64, BackendError> {
        // No rank is at the apply phase while this one computes, so the count stands still.
        let step = member.arena().committed().expect("all ranks agree between steps") + 1;
        let act = (self.act)(&Moment { member, batch, step });
        if let Act::Fail(cause) = act {
            return Err(BackendError(cause.into()));
        }
        self.params.copy_from_slice(member.params());
        let loss = gradient(&self.layout, &self.params, batch, &mut self.own);
        let slot = member.slot();
        if first {
            slot.copy_from_slice(&self.own);
        } else {
            slot.iter_mut().zip(&self.own).for_each(|(sum, g)| *sum += g);
        }
        match act {
            Act::Loss(instead) => return Ok(instead),
            Act::Gradient(at, value) => slot[at] = value,
            _ => {}
        }
        Ok(loss)
    }
}

/// The finest digit of a gradient: more digits than one of size 1 has, and so few that a sum that is free of order, of 32
/// bits for the largest of its terms, loses none.
const FINEST: f32 = 1.0 / (1 << 26) as f32;

/// The gradient of the sum over the rows, whole multiples of 2^-26; returns the sum of the loss.
pub fn gradient(layout: &Layout, params: &[f32], batch: &Batch, into: &mut [f32]) -> f64 {
    into.fill(0.0);
    let n = batch.features;
    let [weight, bias] = layout.tensors() else { panic!("two tensors") };
    let (w, b) = (&params[weight.range()], &params[bias.range()]);
    let mut loss = 0.0;
    for row in 0..batch.rows {
        let (clean, noisy) = (&batch.clean[row * n..(row + 1) * n], &batch.noisy[row * n..(row + 1) * n]);
        for i in 0..n {
            let dot: f32 = w[i * n..(i + 1) * n].iter().zip(noisy).map(|(w, x)| w * x).sum();
            let error = dot + b[i] - clean[i];
            loss += f64::from(error * error) / n as f64;
            let slope = 2.0 * error / n as f32;
            for (g, x) in into[weight.offset + i * n..].iter_mut().zip(noisy) {
                *g += slope * x;
            }
            into[bias.offset + i] += slope;
        }
    }
    into.iter_mut().for_each(|g| *g = (*g / FINEST).round() * FINEST);
    loss
}
