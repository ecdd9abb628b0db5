//! The command `run`.

use crate::cli::RunArgs;
use crate::exit::Failure;
use crate::host::Host;
use crate::prepare::{Prepared, plan, prepare};
use crate::progress::{self, say};
use crate::signals::Interrupted;
use crate::training::LAST_STEP;
use crate::{place, signals, training};
use dae_actor::System;
use dae_train::actors::Ended;
use dae_train::exit::Exit;
use dae_train::job::{Job, JobError, JobHandle};
use std::time::Instant;

/// Trains as a topology says, on this machine alone.
pub(crate) fn run(host: &Host, args: &RunArgs) -> Result<Exit, Failure> {
    let prepared = prepare(host, plan(host, &args.topology)?)?;
    let (word, wanted) = (prepared.plan.word().to_string(), prepared.plan.nodes());
    if wanted > 1 {
        let cause = JobError::OtherNodes { word, wanted, nodes: 1 };
        return Err(Failure { exit: Exit::Invalid, report: miette::miette!("{cause}") });
    }
    let name = &prepared.plan.topology().job.name;
    let path = args.run_dir.clone().unwrap_or_else(|| place::folder(name, args.resume));
    let folder = training::folder(&prepared, &path, args.resume)?;
    let Prepared { plan, dataset, backend } = &prepared;
    let job = Job::prepare(plan.clone(), backend.clone(), dataset.clone(), &folder, args.resume)
        .map_err(Failure::failed)?;
    let bar = progress::bar(job.first(), job.total_steps());
    progress::log_above(&bar);
    training::open(&prepared, &job, &folder, args.resume)?;
    let interrupted = Interrupted::default();
    let start = Instant::now();
    let trained = System::run_within(LAST_STEP, async |mut system| {
        let follow = tokio::task::spawn_local(progress::follow(job.board.clone(), bar.clone()));
        let listen = |handle: &JobHandle| interrupted.listen(handle, &bar);
        let report = training::train(host, job, plan, &mut system, listen).await;
        follow.abort();
        bar.finish_and_clear();
        report
    });
    let (report, stuck) = trained.map_err(|e| Failure::failed(JobError::Runtime(e)))?;
    let report = report.map_err(Failure::failed)?;
    training::close(host, &prepared, &folder, &report, start.elapsed())?;
    if let (Ended::Failed(cause), false) = (&report.how, stuck.is_empty()) {
        say(&format!("{:?}", Failure::failed(format!("{cause}; {} never ended", stuck.join(", "))).report));
        signals::leave(Exit::Failed);
    }
    match report.how {
        Ended::Finished => Ok(Exit::Done),
        Ended::Stopped(_) if interrupted.get() => Ok(Exit::Interrupted),
        Ended::Stopped(_) => Ok(Exit::Done),
        Ended::Failed(cause) => Err(Failure::failed(cause)),
    }
}
