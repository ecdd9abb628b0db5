//! Options of the commands about schedules.

use clap::{Args, Subcommand};

/// `schedule`.
#[derive(Debug, Subcommand)]
pub enum ScheduleCommand {
    /// Check a schedule, with all that is wrong with it, and show its normal form, its workers and its nodes
    Check(ScheduleCheckArgs),
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
