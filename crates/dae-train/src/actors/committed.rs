//! Committed steps, as they are told to who wants to know.

use crate::centre::Taken;
use dae_actor::{Body, Message};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// One committed step: what all ranks decided alike.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
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

/// A committed step that changed nothing, since numbers in it were not finite.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skipped {
    /// Its number.
    pub step: u64,
    /// The first worker whose numbers were the bad ones; none where only their sum was bad.
    pub worker: Option<String>,
    /// What was not finite: `loss` or `gradient`.
    pub what: Cow<'static, str>,
    /// The first tensor whose gradient held such a number, where that is known.
    pub tensor: Option<String>,
}

/// A run of committed steps, in order, told every few milliseconds: a message per step would cost more than some steps.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Committed {
    /// The steps.
    pub steps: Vec<StepRecord>,
    /// How often each rank was the slowest to compute, in these steps.
    pub slowest: Vec<u64>,
    /// Those of the steps that were skipped.
    pub skipped: Vec<Skipped>,
    /// Of a join that does not wait for all: what was taken up meanwhile, in order.
    pub taken: Vec<Taken>,
}

impl Message for Committed {
    type Reply = ();
}

impl Body for Committed {}
