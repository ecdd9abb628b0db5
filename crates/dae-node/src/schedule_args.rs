//! Options of the commands about schedules.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use dae_schedule::cost::{Link, Straggler};

/// `schedule`.
#[derive(Debug, Subcommand)]
pub enum ScheduleCommand {
    /// Check a schedule, with all that is wrong with it, and show its normal form, its workers and its nodes
    Check(ScheduleCheckArgs),
    /// Show what a schedule is: its tree, its actors, what they send and hold, whether it is exact
    Explain(ScheduleExplainArgs),
    /// Predict what a schedule costs: time, bytes on each kind of link, staleness, memory
    Cost(ScheduleCostArgs),
    /// Predict what several schedules cost, side by side
    Compare(ScheduleCompareArgs),
}

/// `schedule explain`.
#[derive(Debug, Args)]
pub struct ScheduleExplainArgs {
    /// The word, in quotes; or a file with a word, or a topology file
    #[arg(value_name = "WORD|FILE")]
    pub schedule: String,
    /// For what.
    #[command(flatten)]
    pub figures: FiguresArgs,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Draw actors and arrows into this file
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
}

/// `schedule cost`.
#[derive(Debug, Args)]
pub struct ScheduleCostArgs {
    /// The word, in quotes; or a file with a word, or a topology file
    #[arg(value_name = "WORD|FILE")]
    pub schedule: String,
    /// For what.
    #[command(flatten)]
    pub figures: FiguresArgs,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `schedule compare`.
#[derive(Debug, Args)]
pub struct ScheduleCompareArgs {
    /// The words, each in quotes; or files with a word, or topology files
    #[arg(value_name = "WORD|FILE", required = true, num_args = 2..=64)]
    pub schedules: Vec<String>,
    /// For what.
    #[command(flatten)]
    pub figures: FiguresArgs,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Draw bars into this file
    #[arg(long, value_name = "FILE")]
    pub plot: Option<PathBuf>,
}

/// What a schedule is priced for.
#[derive(Debug, Args)]
pub struct FiguresArgs {
    /// The nodes there are [default: as many as the schedule needs]
    #[arg(long, value_name = "N")]
    pub nodes: Option<u32>,
    /// Workers that fit on a node [default: the schedule's, spread evenly over --nodes]
    #[arg(long, value_name = "N")]
    pub workers_per_node: Option<u32>,
    /// Links between nodes: 1gbe, 10gbe, 25gbe, 100gbe, loopback, or LATENCY,BANDWIDTH such as 50us,1.2GB/s [default: as
    /// --measured says, or 10gbe]
    #[arg(long, value_name = "LINK", value_parser = Link::parse)]
    pub link: Option<Link>,
    /// What `bench net`, `bench allreduce` or `bench compute` has written; repeatable. Options beside it go before
    #[arg(long, value_name = "FILE")]
    pub measured: Vec<PathBuf>,
    /// Who is slow: none, lognormal:SIGMA (all a little), p:PROBABILITY,FACTOR (any now and then), one:FACTOR (one always)
    #[arg(long, value_name = "WHO", default_value = "none", value_parser = Straggler::parse)]
    pub straggler: Straggler,
    /// Parameters of the model [default: of model.layers in the topology, or of the stock autoencoder]
    #[arg(long, value_name = "N")]
    pub model_params: Option<u64>,
    /// Samples of a worker's micro-batch [default: data.batch of the topology, or 128]
    #[arg(long, value_name = "N")]
    pub batch: Option<u64>,
    /// Milliseconds a worker computes on a micro-batch [default: as --measured says, or 10]
    #[arg(long, value_name = "X")]
    pub compute_ms: Option<f64>,
}

/// `schedule check`.
#[derive(Debug, Args)]
pub struct ScheduleCheckArgs {
    /// The word, in quotes; or a file with a word, or a topology file
    #[arg(value_name = "WORD|FILE")]
    pub schedule: String,
    /// Check it for so many workers
    #[arg(long, value_name = "N")]
    pub workers: Option<u32>,
    /// Check it for so many nodes
    #[arg(long, value_name = "N")]
    pub nodes: Option<u32>,
    /// Check it for a step of so many samples
    #[arg(long, value_name = "SAMPLES")]
    pub batch: Option<u64>,
    /// The samples in a grain, the least a worker computes at once [default: 1]
    #[arg(long, value_name = "SAMPLES", requires = "batch")]
    pub grain: Option<u64>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}
