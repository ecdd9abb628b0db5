//! The command `run`.

use crate::cli::RunArgs;
use crate::exit::Failure;
use crate::host::Host;
use crate::prepare::{Prepared, plan, prepare};
use crate::progress::{self, AboveBar, say, thousands};
use crate::signals::Interrupted;
use crate::{place, signals, souvenirs};
use dae_actor::System;
use dae_train::actors::Ended;
use dae_train::exit::Exit;
use dae_train::job::{Job, JobError, Report};
use dae_train::run_folder::{RunFolder, write_atomic};
use dae_train::topology::Plan;
use indicatif::ProgressBar;
use std::io::IsTerminal;
use std::time::{Duration, Instant};
use tracing_subscriber::EnvFilter;

/// How long the threads have to come to the end of the step they are at, once training is over.
const LAST_STEP: Duration = Duration::from_secs(10);

/// Trains as a topology says.
pub(crate) fn run(host: &Host, args: &RunArgs) -> Result<Exit, Failure> {
    let prepared = prepare(host, plan(host, &args.topology)?)?;
    let name = &prepared.plan.topology().job.name;
    let path = args.run_dir.clone().unwrap_or_else(|| place::folder(name, args.resume));
    let folder = RunFolder::create(&path, args.resume).map_err(Failure::failed)?;
    // Room for one checkpoint more than is there at any time, found out before step 0: parameters and two states.
    let checkpoint = prepared.backend.layout().len() as u64 * 4 * 3;
    folder.check_room(checkpoint).map_err(Failure::failed)?;
    let Prepared { plan, dataset, backend } = &prepared;
    let job = Job::prepare(plan.clone(), backend.clone(), dataset.clone(), &folder, args.resume)
        .map_err(Failure::failed)?;
    // Only now: a resume that was refused has changed nothing.
    write_atomic(&folder.topology_toml(), plan.topology().to_toml().as_bytes()).map_err(Failure::failed)?;
    for (path, why) in &job.skipped {
        say(&format!("passed over {}: {why}", path.display()));
    }
    let bar = progress::bar(job.first(), job.total_steps());
    log_above(&bar);
    if args.resume && job.resumed.is_none() {
        say("there is no checkpoint to go on from: this run begins anew");
    }
    say(&opening(plan, &job, backend.layout().parameters(), &folder));
    let interrupted = Interrupted::default();
    let start = Instant::now();
    let (report, stuck) = train(host, job, plan, &bar, &interrupted).map_err(Failure::failed)?;
    souvenirs::leave(host, &prepared, &folder, &report, start.elapsed()).map_err(Failure::failed)?;
    say(&closing(&report, &folder, start.elapsed()));
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

fn train(
    host: &Host,
    job: Job,
    plan: &Plan,
    bar: &ProgressBar,
    interrupted: &Interrupted,
) -> Result<(Report, Vec<String>), JobError> {
    let run = System::run_within(LAST_STEP, |mut system| async move {
        let (board, actors) = (job.board.clone(), &plan.topology().actors);
        let follow = tokio::task::spawn_local(progress::follow(board, bar.clone()));
        let report = job
            .run(&mut system, |system, handle| {
                interrupted.listen(handle.clone(), bar.clone());
                Ok(host.start_actors(system, actors, &handle))
            })
            .await;
        follow.abort();
        bar.finish_and_clear();
        report
    });
    let (report, stuck) = run.map_err(JobError::Runtime)?;
    Ok((report?, stuck))
}

/// Warnings and errors go to stderr, more of them if `RUST_LOG` says so.
fn log_above(bar: &ProgressBar) {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("warn"));
    let subscriber = tracing_subscriber::fmt().with_env_filter(filter).with_writer(AboveBar(bar.clone()));
    let subscriber = subscriber.with_ansi(std::io::stderr().is_terminal());
    // A program that has set up its own keeps it.
    let _ = subscriber.without_time().with_target(false).try_init();
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
