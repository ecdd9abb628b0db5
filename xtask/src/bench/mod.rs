//! Measurements. Each is one JSON line on standard output; progress and tables go to standard error.
//!
//! | module | what it holds |
//! |---|---|
//! | [`allreduce`] | sums of gradients: ours in one process and between two nodes, gloo's, OpenMPI's, by turns |
//! | [`two_nodes`] | two nodes on this machine |
//! | [`actor`] | messages to an actor in another process: ours, Ray's and Monarch's, by turns |
//! | [`train`] | training speed: ours, a bare loop, and PyTorch DDP, by turns |
//! | [`stragglers`] | what slow workers do to schedules: measured, and predicted |
//! | [`contender`] | how each of them is started and what it answers |
//! | [`table`] | medians and ratios |
mod actor;
mod allreduce;
mod contender;
mod stragglers;
mod table;
mod train;
mod two_nodes;

use clap::Subcommand;

use crate::failure::Outcome;
use crate::workspace::Workspace;

/// What to measure.
#[derive(Subcommand)]
pub enum Bench {
    /// Samples a second of 1 and 2 workers on the MNIST autoencoder, at three sizes
    Train(train::Train),
    /// The time of asks, and the speed of large parts, to an actor in another process
    Actor(actor::Actor),
    /// The time of an all-reduce with two workers, on one node and between two
    Allreduce(allreduce::Allreduce),
    /// What slow workers do to schedules, beside what `dae-node schedule cost` predicts
    Stragglers(stragglers::Stragglers),
}

/// Measures.
pub fn run(workspace: &Workspace, bench: &Bench) -> Outcome {
    match bench {
        Bench::Train(train) => train.run(workspace),
        Bench::Actor(actor) => actor.run(workspace),
        Bench::Allreduce(allreduce) => allreduce.run(workspace),
        Bench::Stragglers(stragglers) => stragglers.run(workspace),
    }
}
