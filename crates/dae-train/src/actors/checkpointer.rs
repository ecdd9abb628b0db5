//! The checkpointer: writes snapshots while training goes on.

use super::Kept;
use crate::checkpoint::{self, CheckpointError, Meta};
use dae_actor::{Actor, Context, Handler, Message};
use std::path::PathBuf;

/// Writes checkpoints, on a thread of its own. Training never waits for it: while a snapshot is being written there is
/// no room for the next one, which is then left out.
pub struct Checkpointer {
    folder: PathBuf,
    keep: usize,
    /// What is the same in all checkpoints of the run.
    meta: Meta,
    /// The names of the buffers besides the parameters.
    names: Vec<String>,
}

impl Checkpointer {
    /// Writes into `folder` and keeps the `keep` newest. `meta` is completed for each checkpoint;
    /// `names` are those of the buffers besides the parameters.
    pub fn new(folder: PathBuf, keep: usize, meta: Meta, names: Vec<String>) -> Self {
        Self { folder, keep, meta, names }
    }
}

impl Actor for Checkpointer {
    const KIND: &'static str = "checkpointer";
}

/// Writes a snapshot.
pub struct Save {
    /// The state.
    pub kept: Kept,
    /// The loss of its last step.
    pub loss: Option<f64>,
}

impl Message for Save {
    type Reply = Result<PathBuf, CheckpointError>;
}

impl Handler<Save> for Checkpointer {
    fn handle(&mut self, save: Save, _: &mut Context<'_, Self>) -> Result<PathBuf, CheckpointError> {
        let Save { kept, loss } = save;
        let (scale, children) = (kept.scale(), kept.children());
        let meta =
            Meta { step: kept.step(), cursor: kept.cursor, loss, scale, children, ..self.meta.clone() };
        let state = kept.state();
        let names: Vec<_> = self.names.iter().map(String::as_str).collect();
        let snapshot = checkpoint::Snapshot { params: kept.params(), state: &state, names: &names };
        checkpoint::write(&self.folder, &meta, snapshot, self.keep)
    }
}
