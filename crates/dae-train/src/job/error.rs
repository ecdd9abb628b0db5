//! Why a run could not be started or brought to its end.

use crate::backend::BackendError;
use crate::checkpoint::CheckpointError;
use crate::run_folder::DiskError;
use dae_actor::AskError;
use dae_collective::ArenaError;
use std::path::PathBuf;

/// Why a run could not be started or brought to its end.
#[derive(Debug, thiserror::Error)]
pub enum JobError {
    /// The model.
    #[error("the model cannot compute: {0}")]
    Backend(#[from] BackendError),
    /// The checkpoints.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// The disk.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// A resume under another topology.
    #[error(
        "the checkpoint {} was written under another topology:\n  {}\nput these back to go on from it, or begin anew \
         in another folder with --run-dir",
        .path.display(), .differences.join("\n  ")
    )]
    OtherTopology {
        /// The checkpoint.
        path: PathBuf,
        /// What differs, a line each.
        differences: Vec<String>,
    },
    /// A resume with a model of other tensors.
    #[error("the checkpoint {} holds other tensors than this model: {difference}", .path.display())]
    OtherModel {
        /// The checkpoint.
        path: PathBuf,
        /// The first difference.
        difference: String,
    },
    /// The shared memory.
    #[error(transparent)]
    Arena(#[from] ArenaError),
    /// An actor.
    #[error(transparent)]
    Actor(#[from] AskError),
    /// `model.init` names a folder without a checkpoint.
    #[error("model.init: {} holds no checkpoint that can be read; name the folder of a run", .0.display())]
    NothingToInherit(PathBuf),
    /// All checkpoints are damaged.
    #[error("none of the {} checkpoints can be read, the newest since: {}", .0.len(), .0.first().map_or(String::new(), |(_, e)| e.to_string()))]
    NoneValid(Vec<(PathBuf, CheckpointError)>),
    /// A user's own actor.
    #[error("an actor cannot be started: {0}")]
    UserActor(String),
    /// The operating system.
    #[error("the actors' runtime cannot be started: {0}")]
    Runtime(std::io::Error),
}
