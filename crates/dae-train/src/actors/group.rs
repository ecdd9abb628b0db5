//! What all workers of a job share.

use crate::backend::Backend;
use crate::data::Shares;
use crate::optimizer::Rule;
use crate::topology::LearningRate;
use dae_collective::Arena;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

/// The facts of a job that every worker goes by. None of them changes while it runs.
pub struct Group {
    /// The shared memory.
    pub arena: Arc<Arena>,
    /// The model.
    pub backend: Arc<dyn Backend>,
    /// The optimizer.
    pub rule: Rule,
    /// The optimizer's base learning rate, for reports.
    pub base_rate: f32,
    /// Its learning rate as a function of the committed step.
    pub learning_rate: LearningRate,
    /// The bound of the gradient's global norm, if any.
    pub clip: Option<f32>,
    /// Who computes which samples of a step.
    pub shares: Shares,
    /// Where this process took the run up.
    pub taken_up: TakenUp,
    /// Samples of the whole run; the last step may be cut short by it.
    pub total_samples: u64,
    /// Steps of the whole run.
    pub total_steps: u64,
    /// Steps between two checkpoints; 0 for none but the last.
    pub checkpoint_every: u64,
    /// Batches kept ready for each worker.
    pub prefetch: usize,
    /// Values in one sample.
    pub features: usize,
    /// Whether the loss wants to know which values were corrupted.
    pub with_mask: bool,
    /// How long one step may take before the run is called stalled.
    pub stall: Duration,
    /// Whether worker r stays on core r.
    pub pin: bool,
}

/// A place in a run: where it begins, or what a checkpoint says. The two numbers mostly say the same; not after a run
/// that ended on a short step and was made longer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TakenUp {
    /// Committed steps.
    pub step: u64,
    /// Samples consumed by them.
    pub cursor: u64,
}

impl Group {
    /// The positions of micro-batch `micro` of `rank` in `step`, counted from 0: what lies ahead of where the run was
    /// taken up, as [`Shares::grain`] deals it out.
    pub fn grain(&self, step: u64, rank: usize, micro: usize) -> Range<u64> {
        let TakenUp { step: first, cursor } = self.taken_up;
        let ahead = self.total_samples.saturating_sub(cursor);
        let range = self.shares.grain(step.saturating_sub(first), rank, micro, ahead);
        cursor.saturating_add(range.start)..cursor.saturating_add(range.end)
    }

    /// The number of samples consumed by `step` committed steps.
    pub fn cursor(&self, step: u64) -> u64 {
        let TakenUp { step: first, cursor } = self.taken_up;
        let since = step.saturating_sub(first).saturating_mul(self.shares.global_batch());
        cursor.saturating_add(since.min(self.total_samples.saturating_sub(cursor)))
    }

    /// Whether a periodic checkpoint is due once `step` steps are committed.
    pub fn checkpoint_due(&self, step: u64) -> bool {
        self.checkpoint_every > 0 && step.is_multiple_of(self.checkpoint_every) && step < self.total_steps
    }
}
