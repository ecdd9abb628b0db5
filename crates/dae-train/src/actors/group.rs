//! What all workers of a job share.

use super::Child;
use crate::backend::Backend;
use crate::data::Shares;
use crate::optimizer::Rule;
use crate::topology::LearningRate;
use dae_collective::{Arena, Means, Peers};
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The facts of a job that every worker of this node goes by. None of them changes while it runs.
pub struct Group {
    /// The shared memory of this node's workers.
    pub arena: Arc<Arena>,
    /// Which of the nodes this is. The first writes down what all do.
    pub node: usize,
    /// What the nodes that sum together are called, in order; one entry where there is one, without a name if there are
    /// no others at all.
    pub nodes: Vec<String>,
    /// How the sums over nodes are made.
    pub means: Means,
    /// Each local worker's links to other nodes, until it takes them.
    pub peers: Vec<Links>,
    /// The model.
    pub backend: Arc<dyn Backend>,
    /// The optimizer; none with `step raw`.
    pub rule: Option<Rule>,
    /// The optimizer's base learning rate, for reports.
    pub base_rate: f32,
    /// Its learning rate as a function of the committed step.
    pub learning_rate: LearningRate,
    /// The bound of the gradient's global norm, if any.
    pub clip: Option<f32>,
    /// Whether each node moves its own part of the parameters. Ranks of one node do in any case.
    pub parted: bool,
    /// Whether a step of numbers that are not finite is skipped; otherwise it ends the run.
    pub skips: bool,
    /// Who computes which samples of a step.
    pub shares: Shares,
    /// Where this process took the run up.
    pub taken_up: TakenUp,
    /// Samples of the whole run; the last step may be cut short by it.
    pub total_samples: u64,
    /// Steps of the whole run.
    pub total_steps: u64,
    /// The steps over which the learning rate runs its course: those of the run, whatever a child has of them.
    pub horizon: u64,
    /// Its place in a join, if it is a child of one.
    pub child: Option<Child>,
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

/// What a node keeps back on lossy links where a run goes on, or a worker's slice of it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct KeptBack {
    /// Of what this node sends.
    pub own: Vec<f32>,
    /// The thin matrices of low rank; empty in any other codec.
    pub thin: Vec<f32>,
}

impl KeptBack {
    /// A worker's slice of it.
    pub fn slice(&self, slice: &Range<usize>) -> Self {
        let of = |all: &[f32]| all.get(slice.clone()).unwrap_or_default().to_vec();
        Self { own: of(&self.own), thin: of(&self.thin) }
    }
}

/// A worker's links to other nodes.
pub struct Linked {
    /// The links.
    pub peers: Box<dyn Peers>,
    /// What it had kept back on them, where a run goes on.
    pub kept: Option<KeptBack>,
}

/// Those, to be taken once.
pub struct Links(Mutex<Option<Linked>>);

impl Links {
    /// To be taken once.
    pub fn new(peers: Box<dyn Peers>, kept: Option<KeptBack>) -> Self {
        Self(Mutex::new(Some(Linked { peers, kept })))
    }
}

/// While a step is being done, a wait for another worker of a node may be one for another node, too.
const PATIENCE: u32 = 3;

/// A place in a run: where it begins, or what a checkpoint says. The two numbers mostly say the same; not after a run
/// that ended on a short step and was made longer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TakenUp {
    /// Committed steps.
    pub step: u64,
    /// Samples consumed by them.
    pub cursor: u64,
}

impl Group {
    /// Batches that a worker has in hand at once: where sums are order-free, all of a step, which may have to be given
    /// again at another scale.
    pub fn in_hand(&self) -> usize {
        if self.arena.is_exact() { self.shares.accum } else { 1 }
    }

    /// Whether there are other nodes.
    pub fn across(&self) -> bool {
        self.nodes.len() > 1
    }

    /// The rank, among all nodes' workers, of the first on this node.
    pub fn first_rank(&self) -> usize {
        self.arena.first_rank()
    }

    /// The number of workers on all nodes.
    pub fn world(&self) -> usize {
        self.shares.workers
    }

    /// What a worker is called, by its rank among all.
    pub fn worker(&self, rank: usize) -> String {
        let node = if self.across() { rank / self.arena.world().max(1) } else { 0 };
        let named = self.across() || self.child.is_some();
        match self.nodes.get(node).filter(|name| named && !name.is_empty()) {
            Some(name) => format!("worker {rank} on {name}"),
            None => format!("worker {rank}"),
        }
    }

    /// How long a whole step may take before somebody looks who is to blame.
    pub fn patience(&self) -> Duration {
        self.stall.saturating_mul(if self.across() { PATIENCE } else { 1 })
    }

    /// A number that changes as long as the group goes on, and whether somebody else is waited for.
    pub(super) fn progress(&self) -> (u64, bool) {
        let (pulls, resting) =
            self.child.as_ref().map_or((0, false), |child| (child.pulls(), child.resting()));
        (self.arena.progress() + pulls, resting)
    }

    /// Takes the links of a local worker. They are gone with the member that had them.
    pub fn links(&self, local: usize) -> Option<Linked> {
        self.peers.get(local)?.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

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
