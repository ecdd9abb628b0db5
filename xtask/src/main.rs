//! The developer's one door: libtorch, build, demo, test, lint, bench.
//!
//! | module | what it holds |
//! |---|---|
//! | [`libtorch`] | finding or downloading libtorch, and the link to it |
//! | [`tasks`] | build, demo, test, lint: lists of commands |
//! | [`mod@bench`] | our training speed beside that of other tools |
//! | [`workspace`] | where things lie, and how cargo is called |
//! | [`step`] | one command: printed, then run |
//! | [`failure`], [`progress`] | what a person sees |
mod bench;
mod failure;
mod libtorch;
mod progress;
mod step;
mod tasks;
mod workspace;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use failure::{Failure, Outcome};
use libtorch::Flavor;
use workspace::Workspace;

/// The developer's one door
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Link libtorch 2.11.0 into this clone as .libtorch, downloading it if need be
    ///
    /// Taken from $LIBTORCH if you set it; else, with LIBTORCH_USE_PYTORCH=1, from the PyTorch of python3; else from
    /// PyTorch's wheels, downloaded with pip (0.5 GB, once for all clones) into $XDG_CACHE_HOME/dae or ~/.cache/dae.
    Libtorch {
        /// With the CUDA libraries: a download of several GB, and 14 GB of room while it is unpacked
        #[arg(long)]
        cuda: bool,
    },
    /// Build dae-node and dae-host for release
    Build,
    /// Train a small autoencoder on MNIST and leave its pictures in runs/demo
    Demo,
    /// Run all tests
    Test,
    /// Check format, lints, dependencies and documentation; writes nothing
    Lint,
    /// Measure
    #[command(subcommand)]
    Bench(bench::Bench),
}

fn main() -> ExitCode {
    match run(Arguments::parse().task) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("error: {failure}");
            match failure {
                Failure::Status { status, .. } => ExitCode::from(status),
                Failure::Says(_) => ExitCode::FAILURE,
            }
        }
    }
}

fn run(task: Task) -> Outcome {
    let workspace = Workspace::find()?;
    match task {
        Task::Libtorch { cuda } => {
            libtorch::install(&workspace, if cuda { Flavor::Cuda } else { Flavor::Cpu })
        }
        Task::Build => tasks::build(&workspace),
        Task::Demo => tasks::demo(&workspace),
        Task::Test => tasks::test(&workspace),
        Task::Lint => tasks::lint(&workspace),
        Task::Bench(bench) => bench::run(&workspace, &bench),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        use clap::CommandFactory;
        Arguments::command().debug_assert();
    }
}
