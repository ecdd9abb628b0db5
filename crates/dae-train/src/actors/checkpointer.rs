//! The checkpointer: writes snapshots while training goes on.

use super::{Group, Note, Recorder};
use crate::checkpoint::{self, CheckpointError, Meta};
use dae_actor::{Actor, ActorRef, Context, Handler, Message};
use dae_collective::Snapshot;
use serde_json::json;
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
    recorder: ActorRef<Recorder>,
}

impl Checkpointer {
    /// Writes into `folder` and keeps the `keep` newest. `meta` is completed for each checkpoint.
    pub fn new(folder: PathBuf, keep: usize, meta: Meta, group: Arc<Group>, recorder: ActorRef<Recorder>) -> Self {
        Self { folder, keep, meta, group, recorder }
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
        let Save { snapshot, loss } = save;
        let step = snapshot.step;
        let meta = Meta { step, cursor: self.group.cursor(step), loss, ..self.meta.clone() };
        let state = snapshot.state();
        let copy = checkpoint::Snapshot {
            params: snapshot.params(),
            state: &state,
            names: self.group.rule.state_names(),
        };
        let written = checkpoint::write(&self.folder, &meta, copy, self.keep);
        let note = match &written {
            Ok(path) => json!({"type": "checkpoint", "step": step, "path": path}),
            Err(e) => {
                tracing::error!(step, cause = %e, "the checkpoint could not be written; training goes on");
                json!({"type": "checkpoint_failed", "step": step, "cause": e.to_string()})
            }
        };
        // A full recorder misses a note, never a step.
        drop(self.recorder.tell(Note(note)));
        written
    }
}
