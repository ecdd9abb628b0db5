//! A lease of steps that a worker runs on its own, and how it ended.

use dae_actor::Message;
use dae_collective::{Broken, Snapshot};

/// The right to run steps with the group, from a step on, until the run is over or the group ends.
#[derive(Debug, Clone, Copy)]
pub struct Lease {
    /// The number of steps committed before.
    pub first: u64,
}

impl Message for Lease {
    type Reply = LeaseEnd;
}

/// How fast a lease went, its first ten steps left out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pace {
    /// Samples of the steps counted.
    pub samples: u64,
    /// Seconds they took.
    pub seconds: f64,
}

/// The step that ended a run for its numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NonFinite {
    /// Counted from 1.
    pub step: u64,
    /// What was not finite.
    pub what: &'static str,
    /// The first worker whose numbers were the bad ones, among those this one knows of.
    pub culprit: Option<usize>,
    /// Steps in a row that had been skipped for such numbers, it included; 0 where none is skipped.
    pub skipped: u64,
}

/// How a lease ended, for one worker.
#[derive(Debug)]
pub enum LeaseEnd {
    /// All ranks left together after `step` committed steps: the run was over, or somebody asked to stop.
    Left {
        /// Steps committed.
        step: u64,
        /// The loss of the last of them.
        loss: Option<f64>,
        /// The state as of that step; the first of a node brings it.
        snapshot: Option<Snapshot>,
        /// How fast it went; the first of a node knows.
        pace: Option<Pace>,
    },
    /// All ranks stopped together: the loss or the gradient of a step was not finite, or of too many.
    NonFinite(NonFinite),
    /// Another rank failed or left.
    Broken(Broken),
    /// This worker could not go on.
    Failed(String),
}
