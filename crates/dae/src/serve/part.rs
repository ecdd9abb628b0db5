//! What is trained here, with the other hosts of the job.

use super::{Daemon, Fault, Place};
use crate::exit::Failure;
use crate::host::Host;
use crate::prepare::{Prepared, prepare};
use crate::progress::Speed;
use crate::signals::Interrupted;
use crate::{place, training};
use dae_actor::{Peer, System};
use dae_cluster::protocol::hosts::{Assignment, HostSpot, Outcome};
use dae_collective::Peers;
use dae_net::Link;
use dae_train::actors::Ended;
use dae_train::job::{Across, Connect, Job, JobError, Report};
use dae_train::run_folder::RunFolder;
use dae_train::topology::{Plan, Topology};
use indicatif::ProgressBar;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// A part of a job, ready to train.
pub(super) struct Part {
    prepared: Prepared,
    job: Job,
    /// The first host alone has one.
    folder: Option<RunFolder>,
    hosts: Vec<HostSpot>,
    resume: bool,
}

impl Part {
    /// Meets the other hosts, opens data and model, and agrees with the others on where to begin.
    pub(super) async fn begin(host: &Host, mut place: Place, topology: &str) -> Result<Self, Fault> {
        let plan = plan(host, topology)?;
        let (me, names) = (place.me(), place.names());
        // The actors of a join with children on other nodes have a link beside those for sums.
        let mut links = place.meet(plan.linked_workers() + usize::from(plan.apart())).await?;
        let stall = Duration::from_secs(plan.topology().job.stall_timeout_s);
        // All hosts have the job's topology from its home, so all do alike.
        let plain = plan.topology().placement.bulk == "plain";
        let for_actors = if plan.apart() { links.pop() } else { None };
        let connect = for_actors.map(|links| connect(me, links));
        let peers = links.into_iter().map(|links| place.peers(links, stall, plain));
        let mut peers = peers.collect::<Result<Vec<_>, _>>().map_err(Failure::failed)?;
        let Assignment { hosts, run_dir, resume, .. } = place.assignment;
        let opened = open(host, plan, (me == 0).then_some((run_dir, resume)));
        // The others wait for this one, and hear why it does not come.
        let (prepared, folder) =
            opened.inspect_err(|e| peers.iter_mut().for_each(|peers| peers.abort(&e.report.to_string())))?;
        let peers = peers.into_iter().map(|peers| Box::new(peers) as Box<dyn Peers>).collect();
        let across = Across { node: me, names, peers, connect };
        let agreed = agree(&prepared, folder, resume, across).await;
        let (job, folder) = agreed.map_err(|e| Fault::of(e, &hosts))?;
        Ok(Self { prepared, job, folder, hosts, resume })
    }

    /// Trains to its end.
    pub(super) async fn train(
        self,
        host: &Host,
        daemon: &Daemon,
        system: &mut System,
    ) -> Result<Outcome, Fault> {
        let Self { prepared, job, folder, hosts, resume } = self;
        if let Some(folder) = &folder {
            training::open(&prepared, &job, folder, resume)?;
        }
        let (start, interrupted) = (Instant::now(), Interrupted::default());
        let (board, total) = (job.board.clone(), job.total_steps());
        let mut speed = Speed::new();
        let trained = training::train(host, job, &prepared.plan, system, |handle| {
            interrupted.listen(handle, &ProgressBar::hidden());
            let (stopped, handle) = (daemon.stopped(), handle.clone());
            tokio::task::spawn_local(async move { handle.stop(stopped.await) });
        });
        let report = match &folder {
            None => trained.await,
            Some(_) => tokio::select! {
                report = trained => report,
                never = daemon.follow(&board, total, &mut speed) => match never {},
            },
        };
        if folder.is_some() {
            daemon.progress(&board, total, &mut speed);
        }
        let report = report.map_err(|e| Fault::of(e, &hosts))?;
        if let Some(folder) = &folder {
            training::close(host, &prepared, folder, &report, start.elapsed())?;
        }
        ended(report, &hosts, interrupted.get() || daemon.has_stopped())
    }
}

/// How it ended for the daemon: what an actor of its own stopped is done, as in a run on one machine.
fn ended(report: Report, hosts: &[HostSpot], asked: bool) -> Result<Outcome, Fault> {
    match report.how {
        Ended::Finished => Ok(Outcome::Done),
        Ended::Stopped(why) if asked => Ok(Outcome::Stopped { why }),
        Ended::Stopped(_) => Ok(Outcome::Done),
        Ended::Failed(cause) => Err(Fault::felt(Failure::failed(cause), report.lost.as_deref(), hosts)),
    }
}

fn plan(host: &Host, topology: &str) -> Result<Plan, Failure> {
    Topology::from_str("the job's topology", topology, &[])
        .and_then(|loaded| loaded.compile(&host.kinds()))
        .map_err(Failure::invalid)
}

/// Talks to actors of the other hosts: from the first to all, and from all to the first. A link between two others is let go.
fn connect(me: usize, links: Vec<Option<Link>>) -> Connect {
    Box::new(move |registry, limits| {
        let peer = |link| Peer::with_limits(link, registry.clone(), limits);
        let links = links.into_iter().enumerate();
        links.map(|(host, link)| link.filter(|_| me == 0 || host == 0).map(peer)).collect()
    })
}

/// Opens data and model, and on the first host the run's folder.
fn open(
    host: &Host,
    plan: Plan,
    first: Option<(Option<PathBuf>, bool)>,
) -> Result<(Prepared, Option<RunFolder>), Failure> {
    let prepared = prepare(host, plan)?;
    let folder = first.map(|(run_dir, resume)| {
        let name = &prepared.plan.topology().job.name;
        let path = run_dir.unwrap_or_else(|| place::folder(name, resume));
        training::folder(&prepared, &path, resume)
    });
    Ok((prepared, folder.transpose()?))
}

/// Waits for the others and agrees with them on where to begin, on a thread that may wait.
async fn agree(
    prepared: &Prepared,
    folder: Option<RunFolder>,
    resume: bool,
    across: Across,
) -> Result<(Job, Option<RunFolder>), JobError> {
    let Prepared { plan, dataset, backend } = prepared;
    let (plan, dataset, backend) = (plan.clone(), dataset.clone(), backend.clone());
    let (tell, told) = oneshot::channel();
    let agree = move || {
        let job = Job::prepare_across(plan, backend, dataset, folder.as_ref(), resume, across);
        // Nobody waits for it once the job is stopped.
        drop(tell.send(job.map(|job| (job, folder))));
    };
    std::thread::Builder::new().name("agree".into()).spawn(agree).map_err(JobError::Runtime)?;
    told.await.unwrap_or_else(|_| Err(JobError::Facts("the thread that compares them failed".into())))
}
