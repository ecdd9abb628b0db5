//! A prepared run brought to its end, and what is said of it: what a run on one machine and a part of one have in common.

use crate::exit::Failure;
use crate::host::Host;
use crate::prepare::Prepared;
use crate::progress::{say, thousands};
use crate::souvenirs;
use dae_actor::System;
use dae_train::actors::Ended;
use dae_train::job::{Job, JobError, JobHandle, Report};
use dae_train::run_folder::{RunFolder, write_atomic};
use dae_train::topology::Plan;
use std::path::Path;
use std::time::Duration;

/// How long the threads have to come to the end of the step they are at, once training is over.
pub(crate) const LAST_STEP: Duration = Duration::from_secs(10);

/// The folder of a run, with room for one checkpoint more than is there at any time: parameters and two states.
pub(crate) fn folder(prepared: &Prepared, path: &Path, resume: bool) -> Result<RunFolder, Failure> {
    let folder = RunFolder::create(path, resume).map_err(Failure::failed)?;
    let checkpoint = prepared.backend.layout().len() as u64 * 4 * 3;
    folder.check_room(checkpoint).map_err(Failure::failed)?;
    Ok(folder)
}

/// Keeps the topology and says what begins, once a resume can no longer be refused: one that is changes nothing.
pub(crate) fn open(prepared: &Prepared, job: &Job, folder: &RunFolder, resume: bool) -> Result<(), Failure> {
    let Prepared { plan, backend, .. } = prepared;
    write_atomic(&folder.topology_toml(), plan.topology().to_toml().as_bytes()).map_err(Failure::failed)?;
    for (path, why) in &job.skipped {
        say(&format!("passed over {}: {why}", path.display()));
    }
    if resume && job.resumed.is_none() {
        say("there is no checkpoint to go on from: this run begins anew");
    }
    say(&opening(plan, job, backend.layout().parameters(), folder));
    Ok(())
}

/// Trains; `begun` gets the handle once all actors are there.
pub(crate) async fn train(
    host: &Host,
    job: Job,
    plan: &Plan,
    system: &mut System,
    begun: impl FnOnce(&JobHandle),
) -> Result<Report, JobError> {
    let actors = &plan.topology().actors;
    job.run(system, |system, handle| {
        begun(&handle);
        Ok(host.start_actors(system, actors, &handle))
    })
    .await
}

/// Leaves the pictures and the summary, and says how it ended.
pub(crate) fn close(
    host: &Host,
    prepared: &Prepared,
    folder: &RunFolder,
    report: &Report,
    took: Duration,
) -> Result<(), Failure> {
    souvenirs::leave(host, prepared, folder, report, took).map_err(Failure::failed)?;
    say(&closing(report, folder, took));
    Ok(())
}

fn opening(plan: &Plan, job: &Job, parameters: usize, folder: &RunFolder) -> String {
    let topology = plan.topology();
    let verb = match &job.resumed {
        Some(path) => format!("resumes after step {} from {}", job.first(), path.display()),
        None => format!("trains {} parameters", thousands(parameters as f64)),
    };
    format!(
        "{} {verb}: {}, {} samples a step, into {}",
        topology.job.name,
        plan.word(),
        plan.global_batch(),
        folder.root().display()
    )
}

fn closing(report: &Report, folder: &RunFolder, took: Duration) -> String {
    let how = match &report.how {
        Ended::Finished => "finished".to_owned(),
        Ended::Stopped(why) => format!("stopped ({why}), go on with --resume"),
        Ended::Failed(_) => "failed".to_owned(),
    };
    let loss = report.loss.map_or(String::new(), |l| format!(", loss {l:.4}"));
    let speed = report.samples_per_s.map_or(String::new(), |s| format!(", {} samples/s", thousands(s)));
    format!(
        "{how} at step {}{loss}{speed}, {:.1} s; see {}",
        report.step,
        took.as_secs_f64(),
        folder.root().display()
    )
}
