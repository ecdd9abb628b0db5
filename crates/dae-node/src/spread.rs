//! `dae-node run --cluster`: a topology run over the nodes of a cluster.

use std::path::{Path, absolute};

use dae_cluster::client::Client;
use dae_cluster::protocol::Work;
use dae_cluster::protocol::jobs::{Demand, RunJob};
use dae_train::topology::Plan;

use crate::cli::RunArgs;
use crate::cluster_args::DaemonArgs;
use crate::exit::Failure;
use crate::follow::{self, Followed, say};
use crate::interrupts::Interrupts;
use crate::{ask, check, host};
use dae_train::exit::Exit;

/// Starts a job and follows it to its end.
pub fn run(args: &RunArgs, cluster: &str) -> Result<Vec<u8>, Failure> {
    let plan = match host::checked_by_own(&args.topology, &args.host)? {
        true => check::compile_any(&args.topology)?,
        false => check::compile(&args.topology)?,
    };
    let job = job(args, &plan)?;
    let daemon = DaemonArgs { cluster: cluster.into(), node: args.spread.node.clone() };
    let stop = args.spread.stop_on_interrupt;
    ask::about_jobs(&daemon, async |client: Client| {
        let mut interrupts = Interrupts::listen()?;
        let placed = interrupts.note_while("have started the job", client.run(job)).await?;
        let (job, nodes) = placed.map_err(ask::job_failure)?;
        say(&format!("job {job} on {}", nodes.join(", ")));
        let followed = Followed { job, daemon: daemon.clone(), stop_on_interrupt: stop };
        follow::to_the_end(&client, followed, &mut interrupts).await
    })
}

fn job(args: &RunArgs, plan: &Plan) -> Result<RunJob, Failure> {
    let whole = |path: &Path| {
        absolute(path)
            .map_err(|error| Failure::new(Exit::Failed, miette::miette!("{}: {error}", path.display())))
    };
    let program = host::program(&args.host)
        .map_err(|(what, help)| Failure::new(Exit::Failed, miette::miette!(help = help, "{what}")))?;
    let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    let topology = plan.topology();
    Ok(RunJob {
        name: topology.job.name.clone(),
        work: Work::Train(topology.to_toml()),
        demand: Demand {
            nodes: number(plan.nodes()),
            workers_per_node: number(plan.workers_per_node()),
            threads_per_worker: number(plan.threads_per_worker()),
            only: topology.placement.nodes.clone(),
        },
        host: whole(&program)?,
        run_dir: args.run_dir.as_deref().map(whole).transpose()?,
        resume: args.resume,
        cwd: whole(Path::new("."))?,
        grace_ms: u64::try_from(args.spread.grace.as_millis()).unwrap_or(u64::MAX),
    })
}
