//! Commands and options. Parsing does nothing but check them.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::bench_args::BenchCommand;
use crate::cluster_args::{DaemonArgs, DoctorArgs, JoinArgs, KeyCommand, ShowArgs};
use crate::job_args::{AttachArgs, LogsArgs, SpreadArgs, StopArgs};
use crate::schedule_args::ScheduleCommand;
use dae_train::exit::CODES;
use dae_train::picture::Quantity;
use dae_train::topology::assignment;

/// Distributed training as actors.
#[derive(Debug, Parser)]
#[command(name = "dae-node", version, after_help = CODES, arg_required_else_help = true)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a topology on this machine, or over the nodes of a cluster
    Run(Box<RunArgs>),
    /// Check a topology and summarise its plan, running nothing
    Check(CheckArgs),
    /// Evaluate the model a run has trained
    Eval(EvalArgs),
    /// Draw the learning curves of runs in one picture, and print a line for each
    Plot(PlotArgs),
    /// Join this machine to a cluster: start its daemon, which finds the others by itself
    Join(Box<JoinArgs>),
    /// The secret that makes machines one cluster
    #[command(subcommand)]
    Key(KeyCommand),
    /// End the daemon of this machine, and its hosts
    Leave(DaemonArgs),
    /// The nodes of a cluster
    Nodes(ShowArgs),
    /// How the daemon of this machine is, and what happened last
    Status(ShowArgs),
    /// Follow a job that runs, wherever it was started
    Attach(AttachArgs),
    /// The jobs of a cluster
    Jobs(ShowArgs),
    /// What the hosts of a job have written
    Logs(LogsArgs),
    /// End a job in order: its hosts finish their step and save
    Stop(StopArgs),
    /// The actors of all daemons and hosts of a cluster
    Actors(ShowArgs),
    /// Measure what machines and the links between them can do
    #[command(subcommand)]
    Bench(BenchCommand),
    /// Look for what may keep this machine from joining or training; each finding with its fix
    Doctor(DoctorArgs),
    /// Bring datasets to this machine
    #[command(subcommand)]
    Data(DataCommand),
    /// About topology files
    #[command(subcommand)]
    Topology(TopologyCommand),
    /// About schedules: the words of `schedule.word`
    #[command(subcommand)]
    Schedule(ScheduleCommand),
    /// Print a shell's completion script
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the man page
    Man {
        /// Write a page for every command into this folder instead
        #[arg(long, value_name = "DIR")]
        to: Option<PathBuf>,
    },
}

/// The topology a command is about.
#[derive(Debug, Args)]
pub struct TopologyArgs {
    /// The topology file
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Override one key, such as data.batch=64
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = assignment)]
    pub set: Vec<String>,
}

/// The host process a command is done by.
#[derive(Debug, Args)]
pub struct HostArgs {
    /// The host program, for models and actors of your own [default: $DAE_HOST, or else the stock dae-host
    /// beside this program]
    #[arg(long, value_name = "PATH")]
    pub host: Option<PathBuf>,
}

/// `run`.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// What to run.
    #[command(flatten)]
    pub topology: TopologyArgs,
    /// The folder for checkpoints, metrics and pictures
    #[arg(long, value_name = "DIR")]
    pub run_dir: Option<PathBuf>,
    /// Go on from the newest valid checkpoint of the run's folder
    #[arg(long)]
    pub resume: bool,
    /// Where, if not on this machine alone.
    #[command(flatten)]
    pub spread: SpreadArgs,
    /// By what.
    #[command(flatten)]
    pub host: HostArgs,
}

/// `check`.
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// What to check.
    #[command(flatten)]
    pub topology: TopologyArgs,
    /// By what.
    #[command(flatten)]
    pub host: HostArgs,
}

/// `eval`.
#[derive(Debug, Args)]
pub struct EvalArgs {
    /// The folder of the run
    #[arg(value_name = "RUN")]
    pub run: PathBuf,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// By what.
    #[command(flatten)]
    pub host: HostArgs,
}

/// `plot`.
#[derive(Debug, Args)]
pub struct PlotArgs {
    /// The folders of the runs
    #[arg(value_name = "RUN", required = true, num_args = 1..=16)]
    pub runs: Vec<PathBuf>,
    /// What the curves run along
    #[arg(long, value_enum, value_name = "WHAT", default_value_t = Along::Samples)]
    pub x: Along,
    /// With `--x bytes`: as if the workers lay on so many nodes, and what goes between these [default: as many as the
    /// schedule names]
    #[arg(long, value_name = "N")]
    pub nodes: Option<u32>,
    /// What stands above the picture
    #[arg(long, value_name = "TEXT")]
    pub title: Option<String>,
    /// The picture, a .png or .svg file; one that is there is replaced
    #[arg(long, value_name = "FILE", default_value = "curves.png")]
    pub out: PathBuf,
}

/// What learning curves run along.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Along {
    /// Steps; with a join, updates of its centre
    Steps,
    /// Samples that were learnt from, by all workers together
    Samples,
    /// Time, by the pace the run had on average
    Seconds,
    /// Bytes that all workers send: what the schedule comes to, as `schedule cost` predicts it
    Bytes,
}

impl Along {
    /// The axis of the picture.
    pub fn quantity(self) -> Quantity {
        match self {
            Self::Steps => Quantity::Steps,
            Self::Samples => Quantity::Samples,
            Self::Seconds => Quantity::Seconds,
            Self::Bytes => Quantity::Bytes,
        }
    }
}

/// `data`.
#[derive(Debug, Subcommand)]
pub enum DataCommand {
    /// Fetch a dataset, checking every file's SHA-256
    Fetch {
        /// The dataset
        dataset: Dataset,
        /// The folder to put it in [default: dae/DATASET in the user's cache folder]
        #[arg(long, value_name = "DIR")]
        to: Option<PathBuf>,
    },
}

/// What can be fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Dataset {
    /// 70,000 handwritten digits of 28 x 28 pixels (LeCun, Cortes, Burges)
    Mnist,
}

/// `topology`.
#[derive(Debug, Subcommand)]
pub enum TopologyCommand {
    /// Print the JSON schema of topology files, for editors
    Schema,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definition_holds_together() {
        Cli::command().debug_assert();
    }

    #[test]
    fn an_override_without_a_value_is_refused() {
        let parse = |set| Cli::try_parse_from(["dae-node", "run", "t.toml", "--set", set]);
        assert!(parse("data.batch=64").is_ok());
        assert!(parse("a=b=c").is_ok());
        assert_eq!(parse("data.batch").expect_err("no value").exit_code(), 2);
        assert_eq!(parse("=64").expect_err("no key").exit_code(), 2);
    }
}
