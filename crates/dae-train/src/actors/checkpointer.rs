//! The checkpointer: writes snapshots while training goes on.

use super::Group;
use crate::checkpoint::{self, CheckpointError, Meta};
use dae_actor::{Actor, Context, Handler, Message};
use dae_collective::Snapshot;
use std::path::PathBuf;
use std::sync::Arc;

/// Writes checkpoints, on a thread of its own. Training never waits for it: while a snapshot is being written there is
/// no room for the next one, which is then left out.
pub struct Checkpointer {
    folder: PathBuf,
    keep: usize,
    /// What is the same in all checkpoints of the run.
    meta: Meta,
    group: Arc<Group>,
}

impl Checkpointer {
    /// Writes into `folder` and keeps the `keep` newest. `meta` is completed for each checkpoint.
    pub fn new(folder: PathBuf, keep: usize, meta: Meta, group: Arc<Group>) -> Self {
        Self { folder, keep, meta, group }
    }
}

impl Actor for Checkpointer {
    const KIND: &'static str = "checkpointer";
}

/// Writes a snapshot.
pub struct Save {
    /// The state.
    pub snapshot: Snapshot,
    /// The loss of its last step.
    pub loss: Option<f64>,
}

impl Message for Save {
    type Reply = Result<PathBuf, CheckpointError>;
}

impl Handler<Save> for Checkpointer {
    fn handle(&mut self, save: Save, _: &mut Context<'_, Self>) -> Result<PathBuf, CheckpointError> {
        let step = save.snapshot.step;
        let scale = self.group.arena.is_exact().then(|| save.snapshot.scale().to_number());
        let cursor = self.group.cursor(step);
        let meta = Meta { step, cursor, loss: save.loss, scale, ..self.meta.clone() };
        let state = save.snapshot.state();
        let names = self.group.rule.state_names();
        let snapshot = checkpoint::Snapshot { params: save.snapshot.params(), state: &state, names };
        checkpoint::write(&self.folder, &meta, snapshot, self.keep)
    }
}
