//! Hosts that measure, on the nodes of a cluster: a job like any other, followed to its end.

use std::io::IsTerminal;
use std::path::{Path, absolute};

use dae_cluster::client::Client;
use dae_cluster::protocol::hosts::Progress;
use dae_cluster::protocol::jobs::{Demand, JobNews, RunJob};
use dae_cluster::protocol::{Bench, NodeInfo, NodeState, Work};
use dae_train::exit::Exit;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::Found;
use crate::bench_args::BetweenArgs;
use crate::exit::Failure;
use crate::follow::{labelled, over, say};
use crate::interrupts::Interrupts;
use crate::{ask, host};

/// How long hosts that were asked to stop may take before they are killed: they have nothing to save.
const GRACE_MS: u64 = 2_000;

/// What was measured, and where.
pub struct Measured {
    /// The cluster.
    pub cluster: String,
    /// The nodes, in the order of their ranks.
    pub nodes: Vec<String>,
    /// Whether numbers travelled unsealed.
    pub plain: bool,
    /// What was found; nothing with one node.
    pub found: Found,
}

/// Measures the links between the nodes, and sums of these sizes.
pub fn measure(args: &BetweenArgs, sizes: &[u64]) -> Result<Measured, Failure> {
    let bench = Bench { sizes: sizes.to_vec(), plain: args.plain };
    ask::about_jobs(&args.daemon, async |client: Client| {
        let all = client.nodes().await;
        let all = all.map_err(|error| Failure::new(Exit::Unreachable, miette::miette!("{error}")))?;
        let nodes = chosen(&all.nodes, &args.on)?;
        let measured =
            |nodes, found| Measured { cluster: args.daemon.cluster.clone(), nodes, plain: args.plain, found };
        if let [one] = &nodes[..] {
            return Ok(measured(vec![one.clone()], Found::default()));
        }
        let run = job(args, &nodes, bench.clone())?;
        let mut interrupts = Interrupts::listen()?;
        let placed = interrupts.note_while("have begun to measure", client.run(run)).await?;
        let (job, nodes) = placed.map_err(ask::job_failure)?;
        say(&format!("job {job} measures on {}", nodes.join(", ")));
        let mut view = View::new();
        followed(&client, &job, &mut view, &mut interrupts).await?;
        let found = std::mem::take(&mut view.found);
        match found.missing(nodes.len(), &bench) {
            0 => Ok(measured(nodes, found)),
            many => Err(failed(format!("{many} figures were lost on their way here: measure again"))),
        }
    })
}

/// Follows the job to its end. Ctrl-C stops it; a second one does not wait for that.
async fn followed(
    client: &Client,
    job: &str,
    view: &mut View,
    interrupts: &mut Interrupts,
) -> Result<(), Failure> {
    let bar = view.bar.clone();
    let ended = client.follow(job, 0, |news| view.news(news));
    tokio::pin!(ended);
    let mut stopping = false;
    let outcome = loop {
        tokio::select! {
            outcome = &mut ended => break outcome,
            () = interrupts.next() => {
                if stopping {
                    bar.finish_and_clear();
                    let why = format!("left job {job}, which was told to stop");
                    return Err(Failure::new(Exit::Interrupted, miette::miette!("{why}")));
                }
                stopping = true;
                client.stop(job, "interrupted", false).await.map_err(ask::job_failure)?;
            }
        }
    };
    bar.finish_and_clear();
    over(job, &outcome.map_err(ask::job_failure)?).map(drop)
}

/// The nodes that are there and wanted. All must be of this version: what they say of a measurement may differ otherwise.
fn chosen(all: &[NodeInfo], on: &[String]) -> Result<Vec<String>, Failure> {
    const OWN: &str = env!("CARGO_PKG_VERSION");
    let alive: Vec<_> = all.iter().filter(|node| node.state == NodeState::Alive).collect();
    let names = |nodes: &[&NodeInfo]| nodes.iter().map(|n| n.name.clone()).collect::<Vec<_>>();
    let missing: Vec<_> = on.iter().filter(|name| !alive.iter().any(|node| node.name == **name)).collect();
    if !missing.is_empty() {
        let missing: Vec<_> = missing.into_iter().map(String::as_str).collect();
        let there = names(&alive).join(", ");
        return Err(failed(format!("not in the cluster now: {}; there are: {there}", missing.join(", "))));
    }
    let wanted: Vec<_> = alive.into_iter().filter(|node| on.is_empty() || on.contains(&node.name)).collect();
    let others: Vec<_> = wanted.iter().filter(|node| node.version != OWN).collect();
    if !others.is_empty() {
        let others: Vec<_> = others.iter().map(|n| format!("{} runs {}", n.name, n.version)).collect();
        let others = others.join(", ");
        return Err(failed(format!(
            "this is dae-node {OWN}, but {others}: put the same build on every node"
        )));
    }
    Ok(names(&wanted))
}

fn job(args: &BetweenArgs, nodes: &[String], bench: Bench) -> Result<RunJob, Failure> {
    let whole = |path: &Path| absolute(path).map_err(|error| failed(format!("{}: {error}", path.display())));
    let program = host::program(&args.host)
        .map_err(|(what, help)| Failure::new(Exit::Failed, miette::miette!(help = help, "{what}")))?;
    Ok(RunJob {
        name: "bench".into(),
        work: Work::Bench(bench),
        demand: Demand {
            nodes: u32::try_from(nodes.len()).unwrap_or(u32::MAX),
            workers_per_node: 1,
            threads_per_worker: 1,
            only: args.on.clone(),
        },
        host: whole(&program)?,
        run_dir: None,
        resume: false,
        cwd: whole(Path::new("."))?,
        grace_ms: GRACE_MS,
    })
}

fn failed(why: String) -> Failure {
    Failure::new(Exit::Failed, miette::miette!("{why}"))
}

/// What was found so far, and the bar that shows how far it is; none where there is no terminal.
struct View {
    found: Found,
    bar: ProgressBar,
}

impl View {
    fn new() -> Self {
        // Nothing is drawn before there is something to draw.
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        // A template that does not parse leaves the bar as it is by default.
        if let Ok(style) = ProgressStyle::with_template("{bar:32} {pos}/{len} measured  {eta} left") {
            bar.set_style(style);
        }
        Self { found: Found::default(), bar }
    }

    fn news(&mut self, news: &JobNews) {
        for line in &news.lines {
            if !self.found.take(&line.text) {
                self.bar.suspend(|| say(&labelled(line)));
            }
        }
        let Some(Progress { step, total, .. }) = news.job.progress else { return };
        if self.bar.length() != Some(total) && std::io::stderr().is_terminal() {
            self.bar.set_length(total);
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        self.bar.set_position(step);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(name: &str, version: &str, state: NodeState) -> NodeInfo {
        NodeInfo {
            name: name.into(),
            id: "ab".repeat(32),
            generation: 1,
            addresses: Vec::new(),
            cores: 8,
            cores_free: 8,
            memory: 0,
            memory_free: 0,
            gpus: Vec::new(),
            state,
            phi: None,
            reason: String::new(),
            since: 0,
            hosts: Vec::new(),
            version: version.into(),
        }
    }

    #[test]
    fn nodes_that_are_alive_and_wanted_are_measured() {
        let own = env!("CARGO_PKG_VERSION");
        let all = [
            node("n1", own, NodeState::Alive),
            node("n2", own, NodeState::Left),
            node("n3", own, NodeState::Alive),
        ];
        let of = |on: &[&str]| chosen(&all, &on.iter().map(|n| (*n).into()).collect::<Vec<_>>());
        assert_eq!(of(&[]).expect("two"), ["n1", "n3"]);
        assert_eq!(of(&["n1"]).expect("one"), ["n1"]);
        let why = of(&["n1", "n2", "n9"]).expect_err("two are not there").report.to_string();
        assert_eq!(why, "not in the cluster now: n2, n9; there are: n1, n3");
    }

    #[test]
    fn a_node_of_another_version_is_named_if_it_would_take_part() {
        let own = env!("CARGO_PKG_VERSION");
        let all = [node("n1", own, NodeState::Alive), node("n2", "0.0.1", NodeState::Alive)];
        let failure = chosen(&all, &[]).expect_err("another version");
        assert!(failure.report.to_string().contains("n2 runs 0.0.1"), "{}", failure.report);
        assert_eq!(failure.exit, Exit::Failed);
        assert!(chosen(&all, &["n1".into()]).is_ok());
    }
}
