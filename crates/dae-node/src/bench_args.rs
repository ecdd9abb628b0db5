//! Options of the commands that measure.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::cli::{HostArgs, TopologyArgs};
use crate::cluster_args::{DaemonArgs, node_name};

/// `bench`.
#[derive(Debug, Subcommand)]
pub enum BenchCommand {
    /// Measure the links between the nodes of a cluster, and sums over them by every algorithm
    Allreduce(LinksArgs),
    /// Measure the links between the nodes of a cluster alone
    Net(LinksArgs),
    /// Measure how long a gradient of a topology's model takes on this machine, by the samples in it, and the optimizer
    Compute(ComputeArgs),
}

/// `bench compute`.
#[derive(Debug, Args)]
pub struct ComputeArgs {
    /// Of what.
    #[command(flatten)]
    pub topology: TopologyArgs,
    /// Samples in a gradient, each size by itself [default: a quarter, a half, once and twice data.batch]
    #[arg(long, value_name = "SIZES", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=1_048_576))]
    pub batches: Vec<u32>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Write the JSON into this file, for `schedule cost --measured`
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// By what.
    #[command(flatten)]
    pub host: HostArgs,
}

/// `bench allreduce`, `bench net`.
#[derive(Debug, Args)]
pub struct LinksArgs {
    /// Between whom.
    #[command(flatten)]
    pub between: BetweenArgs,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Write the JSON into this file, for `schedule cost --measured`
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

/// The nodes between which something is measured.
#[derive(Debug, Args)]
pub struct BetweenArgs {
    /// Whom to ask.
    #[command(flatten)]
    pub daemon: DaemonArgs,
    /// The only nodes to measure, this one among them [default: all of the cluster]
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = node_name)]
    pub on: Vec<String>,
    /// Let numbers travel unsealed, as `placement.bulk = "plain"` does
    #[arg(long)]
    pub plain: bool,
    /// By what.
    #[command(flatten)]
    pub host: HostArgs,
}
