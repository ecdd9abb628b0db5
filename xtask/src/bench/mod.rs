//! Measurements. Each is one JSON line on standard output; progress and tables go to standard error.
//!
//! | module | what it holds |
//! |---|---|
//! | [`train`] | training speed: ours, a bare loop, and PyTorch DDP, by turns |
//! | [`contender`] | how each of them is started and what it answers |
//! | [`table`] | medians and ratios |
mod contender;
mod table;
mod train;

use clap::Subcommand;

use crate::failure::Outcome;
use crate::workspace::Workspace;

/// What to measure.
#[derive(Subcommand)]
pub enum Bench {
    /// Samples a second of 1 and 2 workers on the MNIST autoencoder, at three sizes
    Train(train::Train),
}

/// Measures.
pub fn run(workspace: &Workspace, bench: &Bench) -> Outcome {
    match bench {
        Bench::Train(train) => train.run(workspace),
    }
}
