//! Committed steps, as they are told to who wants to know.

use crate::centre::Taken;
use dae_actor::Message;

/// One committed step: what all ranks decided alike.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StepRecord {
    /// The number of steps committed with it; the first is 1.
    pub step: u64,
    /// The mean loss over its samples, before the update.
    pub loss: f64,
    /// The number of samples consumed since the run began, its own included.
    pub samples: u64,
    /// The learning rate it was applied with.
    pub lr: f32,
}

/// A run of committed steps, in order, told every few milliseconds: a message per step would cost more than some steps.
#[derive(Debug, Clone)]
pub struct Committed {
    /// The steps.
    pub steps: Vec<StepRecord>,
    /// How often each rank was the slowest to compute, in these steps.
    pub slowest: Vec<u64>,
    /// Of a join that does not wait for all: what was taken up meanwhile, in order.
    pub taken: Vec<Taken>,
}

impl Message for Committed {
    type Reply = ();
}
