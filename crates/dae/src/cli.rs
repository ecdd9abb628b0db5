//! Commands and options of a host. `dae-node` has the same and more, and hands these over.

use clap::{Args, Parser, Subcommand};
use dae_train::exit::CODES;
use dae_train::topology::assignment;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Runs topologies on this machine.
#[derive(Debug, Parser)]
#[command(version, after_help = CODES, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a topology
    Run(RunArgs),
    /// Check a topology, its data and its model, running nothing
    Check(TopologyArgs),
    /// Evaluate the model a run has trained
    Eval(EvalArgs),
    /// Run this node's part of a job, for the daemon that started this process
    #[command(hide = true)]
    Serve(ServeArgs),
    /// Measure how fast gradients are summed
    #[command(hide = true)]
    BenchAllreduce(BenchArgs),
    /// Measure how long a gradient takes, and the optimizer
    #[command(hide = true)]
    BenchCompute(BenchComputeArgs),
}

#[derive(Debug, Args)]
pub(crate) struct TopologyArgs {
    /// The topology file
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Override one key, such as data.batch=64
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = assignment)]
    pub(crate) set: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) topology: TopologyArgs,
    /// The folder for checkpoints, metrics and pictures [default: runs/NAME, numbered]
    #[arg(long, value_name = "DIR")]
    pub(crate) run_dir: Option<PathBuf>,
    /// Go on from the newest valid checkpoint of the run's folder
    #[arg(long)]
    pub(crate) resume: bool,
}

#[derive(Debug, Args)]
pub(crate) struct EvalArgs {
    /// The folder of the run
    #[arg(value_name = "RUN")]
    pub(crate) run: PathBuf,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

fn at_least_one(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|n| (1..=1024).contains(n)).ok_or_else(|| "a number from 1 to 1024".to_owned())
}

/// As many as `data.batch` may be.
fn samples(text: &str) -> Result<usize, String> {
    let fine = text.parse().ok().filter(|n| (1..=1_048_576).contains(n));
    fine.ok_or_else(|| "a number from 1 to 1048576".to_owned())
}

#[derive(Debug, Args)]
pub(crate) struct BenchArgs {
    /// Workers of one process, in one arena
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = at_least_one)]
    pub(crate) workers: usize,
    /// Be the first of two hosts, and wait here for the other
    #[arg(long, value_name = "ADDR", conflicts_with = "dial")]
    pub(crate) listen: Option<SocketAddr>,
    /// Be the second of two hosts, and find the first there
    #[arg(long, value_name = "ADDR")]
    pub(crate) dial: Option<SocketAddr>,
    /// Numbers travel between hosts as they are
    #[arg(long)]
    pub(crate) plain: bool,
}

#[derive(Debug, Args)]
pub(crate) struct BenchComputeArgs {
    #[command(flatten)]
    pub(crate) topology: TopologyArgs,
    /// Samples in a gradient, each size by itself [default: a quarter, a half, once and twice data.batch]
    #[arg(long, value_name = "SIZES", value_delimiter = ',', value_parser = samples)]
    pub(crate) batches: Vec<usize>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Write the JSON into this file, for `dae-node schedule cost --measured`
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// The daemon's socket
    #[arg(long, value_name = "PATH")]
    pub(crate) socket: PathBuf,
    /// The job
    #[arg(long, value_name = "ID")]
    pub(crate) job: String,
}
