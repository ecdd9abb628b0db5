//! The dae-node command line.
//!
//! | module | what it holds |
//! |---|---|
//! | `cli`, `cluster_args`, `job_args` | commands and options; parsing does nothing but check them |
//! | `exit` | a failure with its exit code |
//! | `host` | becoming the host process that runs a job |
//! | `check` | a topology looked at before anything is started |
//! | `join`, `key` | the daemon; the key of its cluster |
//! | `nodes`, `status`, `ask` | what a daemon is asked |
//! | `spread` | a topology run over the nodes of a cluster |
//! | `follow`, `interrupts` | a job followed to its end; Ctrl-C meanwhile |
//! | `jobs`, `actors` | jobs listed, read, stopped; actors listed |
//! | `bench`, `bench_args` | what machines and the links between them can do, measured |
//! | `doctor` | what may keep this machine from joining or training |
//! | `plot` | the learning curves of several runs in one picture |
//! | `table` | tables for people, JSON for programs |
//! | `fetch` | datasets brought to this machine |
//! | `schedule`, `schedule_args`, `schedule_problem` | a schedule looked at by itself |
//! | `docs` | shell completions and man pages |
mod actors;
mod ask;
mod bench;
mod bench_args;
mod check;
mod cli;
mod cluster_args;
mod docs;
mod doctor;
mod exit;
mod fetch;
mod follow;
mod host;
mod interrupts;
mod job_args;
mod jobs;
mod join;
mod key;
mod nodes;
mod plot;
mod schedule;
mod schedule_args;
mod schedule_problem;
mod spread;
mod status;
mod table;

use std::io::{ErrorKind, Write};
use std::process::ExitCode;

use clap::Parser;

use cli::{Cli, Command, DataCommand, Dataset, TopologyCommand};
use cluster_args::KeyCommand;
use dae_train::exit::Exit;
use exit::Failure;
use schedule_args::ScheduleCommand;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version come this way too. If the terminal is gone, nobody is left to tell.
            let _ = error.print();
            return if error.use_stderr() { Exit::Usage.into() } else { ExitCode::SUCCESS };
        }
    };
    match perform(cli.command).and_then(|output| print(&output)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            // If nobody reads it any more, the code says it still.
            let _ = writeln!(std::io::stderr(), "{:?}", failure.report);
            failure.exit.into()
        }
    }
}

/// Does what was asked and returns what belongs on stdout.
fn perform(command: Command) -> Result<Vec<u8>, Failure> {
    match command {
        Command::Run(run) => match &run.spread.cluster {
            Some(cluster) => spread::run(&run, cluster),
            None => host::run(&run),
        },
        Command::Check(check) => check::check(&check),
        Command::Eval(eval) => host::eval(&eval),
        Command::Plot(args) => plot::plot(&args),
        Command::Join(join) => join::join(*join),
        Command::Key(KeyCommand::New { file }) => key::new(&file),
        Command::Leave(daemon) => status::leave(&daemon),
        Command::Nodes(show) => nodes::nodes(&show),
        Command::Status(show) => status::status(&show),
        Command::Attach(attach) => follow::attach(&attach),
        Command::Jobs(show) => jobs::jobs(&show),
        Command::Logs(logs) => jobs::logs(&logs),
        Command::Stop(stop) => jobs::stop(&stop),
        Command::Actors(show) => actors::actors(&show),
        Command::Bench(command) => bench::bench(&command),
        Command::Doctor(args) => doctor::doctor(args),
        Command::Data(DataCommand::Fetch { dataset: Dataset::Mnist, to }) => fetch::mnist(to),
        Command::Topology(TopologyCommand::Schema) => check::schema(),
        Command::Schedule(ScheduleCommand::Check(args)) => schedule::check_schedule(&args),
        Command::Schedule(ScheduleCommand::Explain(args)) => schedule::explain::explain(&args),
        Command::Schedule(ScheduleCommand::Cost(args)) => schedule::cost::cost(&args),
        Command::Schedule(ScheduleCommand::Compare(args)) => schedule::compare::compare(&args),
        Command::Completions { shell } => Ok(docs::completions(shell)),
        Command::Man { to } => docs::man(to.as_deref()),
    }
}

/// A reader that has seen enough (`| head`) is no failure.
fn print(output: &[u8]) -> Result<(), Failure> {
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(output).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::new(Exit::Failed, miette::miette!("cannot write to stdout: {error}")))
        }
        _ => Ok(()),
    }
}
