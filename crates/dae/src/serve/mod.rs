//! The command `serve`: this node's part of a job, for the daemon that started this process.
//!
//! | module | what it holds |
//! |---|---|
//! | `daemon` | [`Daemon`]: the daemon, as its host speaks to it |
//! | `place` | [`Place`]: what it is to do, and with whom |
//! | `part` | [`Part`]: what is trained here, with the other hosts of the job |
//! | `bench` | what is measured between the hosts, in place of training |
//! | `fault` | [`Fault`]: why it failed, and which host's loss it was |
mod bench;
mod daemon;
mod fault;
mod part;
mod place;

use crate::cli::ServeArgs;
use crate::exit::Failure;
use crate::host::Host;
use crate::progress::{self, say};
use crate::signals;
use crate::training::LAST_STEP;
use dae_actor::System;
use dae_cluster::protocol::Work;
use dae_cluster::protocol::hosts::Outcome;
use dae_train::exit::Exit;
use daemon::Daemon;
use fault::Fault;
use indicatif::ProgressBar;
use part::Part;
use place::Place;
use rustix::process::{Signal, set_parent_process_death_signal};

/// Serves the daemon until the job is over.
pub(crate) fn serve(host: &Host, args: &ServeArgs) -> Result<Exit, Failure> {
    // A daemon that has gone before this has taken its socket along.
    set_parent_process_death_signal(Some(Signal::KILL)).map_err(Failure::failed)?;
    progress::log_above(&ProgressBar::hidden());
    let served = System::run_within(LAST_STEP, async |mut system| {
        let daemon = Daemon::dial(args, &mut system).await?;
        let (outcome, failure) = match part(host, &daemon, &mut system).await {
            Ok(outcome) => (outcome, None),
            Err(fault) => (fault.outcome(), Some(fault.failure)),
        };
        daemon.done(outcome.clone()).await;
        Ok((outcome, failure))
    });
    let (served, stuck) = served.map_err(Failure::failed)?;
    let (outcome, failure) = served?;
    let exit = match (&outcome, &failure) {
        (_, Some(failure)) => failure.exit,
        (Outcome::Stopped { .. }, None) => Exit::Interrupted,
        _ => Exit::Done,
    };
    if let Some(failure) = failure {
        say(&format!("{:?}", failure.report));
    }
    if !stuck.is_empty() {
        say(&format!("{} never ended", stuck.join(", ")));
    }
    // Threads that wait for other hosts may still be there.
    signals::leave(exit);
}

/// This host's part of the job, from enlisting to its end.
async fn part(host: &Host, daemon: &Daemon, system: &mut System) -> Result<Outcome, Fault> {
    let begun = async {
        let place = Place::enlist(daemon).await?;
        match place.assignment.work.clone() {
            Work::Train(topology) => Part::begin(host, place, &topology).await.map(Ok),
            Work::Bench(bench) => bench::measure(place, bench, daemon).await.map(Err),
        }
    };
    let begun = tokio::select! {
        begun = begun => begun?,
        why = daemon.stopped() => return Ok(Outcome::Stopped { why }),
    };
    match begun {
        Ok(part) => part.train(host, daemon, system).await,
        Err(measured) => Ok(measured),
    }
}
