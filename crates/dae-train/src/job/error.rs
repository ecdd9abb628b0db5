//! Why a run could not be started or brought to its end.

use crate::backend::BackendError;
use crate::checkpoint::CheckpointError;
use crate::run_folder::DiskError;
use dae_actor::{AskError, PublishError};
use dae_collective::{ArenaError, Broken};
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
    /// A plan for another number of nodes.
    #[error(
        "`{word}` is for {wanted} nodes, and {}; run it on a cluster (--cluster NAME), or take the `@cluster` out",
        if *.nodes == 1 { "this is one".to_owned() } else { format!("here are {nodes}") }
    )]
    OtherNodes {
        /// The schedule.
        word: String,
        /// The nodes it names.
        wanted: usize,
        /// The nodes there are.
        nodes: usize,
    },
    /// The links between nodes are not those that a plan needs.
    #[error(
        "node {node} of {nodes} has links for {links} workers where {workers} are to compute on each node; each needs \
         links of its own, to the workers of its number on all other nodes"
    )]
    Links {
        /// Which node.
        node: usize,
        /// Of how many.
        nodes: usize,
        /// The workers of each node.
        workers: usize,
        /// Those that have links.
        links: usize,
    },
    /// The children of a join are on several nodes, and there is no link for actors to one of those.
    #[error(
        "there is no link for the actors of a join to {0}: each node needs one to the first, beside those for sums"
    )]
    Unlinked(String),
    /// Another node could not be given the name of an actor.
    #[error(transparent)]
    Publish(#[from] PublishError),
    /// What children of a join hand over does not fit a message.
    #[error(
        "a child of a join on another node has {state} bytes of optimizer state and pulls shards of {shard} bytes, where \
         {most} may travel in one message; write more `shards`, a smaller model, or an optimizer with less state"
    )]
    TooLargeToTravel {
        /// The bytes of a child's optimizer state.
        state: u64,
        /// The bytes of the largest shard.
        shard: u64,
        /// The bytes of a message, at most.
        most: u64,
    },
    /// The nodes are not about the same run.
    #[error("the nodes differ, and cannot train together:\n  {}\nbring the same files to all of them", .0.join("\n  "))]
    NodesDiffer(Vec<String>),
    /// What nodes compare could not be read.
    #[error(
        "what the nodes compare before the first step cannot be read: {0}; is the same program on all of them?"
    )]
    Facts(String),
    /// Another node was lost before the first step.
    #[error("before the first step: {0}")]
    Lost(#[from] Broken),
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
