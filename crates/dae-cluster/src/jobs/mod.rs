//! The jobs and hosts a daemon looks after.
//!
//! | module | what it holds |
//! |---|---|
//! | `engine` | what becomes of a job: inputs in, actions out |
//! | `first_cause` | which of several failures is the cause |
//! | `home` | jobs that were started from this node: their engines, logs, and who follows them |
//! | `home_job` | [`HomeJob`](home_job::HomeJob): one of them |
//! | `hosting` | the hosts on this node, whoever's jobs they are of |
//! | `local_host` | [`LocalHost`](local_host::LocalHost): one of them |
//! | `outbox` | what a host has to say to its job's home |
//! | `questions` | following, stopping and listing jobs and actors, wherever they are |
//! | `wire` | the messages about jobs and hosts as they travel |
mod engine;
mod first_cause;
mod home;
mod home_job;
mod hosting;
mod local_host;
mod outbox;
mod questions;
mod wire;

pub use hosting::HostConnected;
pub(crate) use local_host::LocalHost;
pub(crate) use outbox::Outbox;

use crate::protocol::HostRow;
use crate::{NodeActor, host_process};
use dae_actor::{ActorRef, Context};
use engine::Input;
use home_job::HomeJob;
use std::collections::BTreeMap;
use std::future::Future;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::timeout;

/// How long hosts may take to save when their daemon leaves, before they are killed.
const LEAVE: Duration = Duration::from_secs(8);
/// How long a kill takes at most.
const KILL: Duration = Duration::from_millis(1_500);

/// A host that is ending: its process, how that ended, and something that goes when home was told.
type Ending = (Option<rustix::process::Pid>, watch::Receiver<Option<String>>, watch::Receiver<()>);

/// The jobs and hosts a daemon looks after.
#[derive(Default)]
pub struct Jobs {
    /// The hosts on this node, by job.
    hosts: BTreeMap<String, LocalHost>,
    /// The jobs whose home this is, by id.
    homes: BTreeMap<String, HomeJob>,
    /// Where other jobs were found.
    found: BTreeMap<String, String>,
    /// Whether time is told to the jobs.
    ticks: bool,
    /// Nothing is started any more.
    leaving: bool,
}

impl Jobs {
    /// This daemon's host processes, for tables and placement.
    pub(crate) fn rows(&self) -> Vec<HostRow> {
        let running = self.hosts.iter().filter(|(_, host)| host.process.runs());
        let row = |(job, host): (&String, &LocalHost)| HostRow {
            job: job.clone(),
            pid: host.process.id(),
            threads: host.start.threads,
        };
        running.map(row).collect()
    }
}

/// What the node actor calls at the turns that matter to jobs.
impl NodeActor {
    /// A node has left the cluster: its hosts are gone, and so is the home of its jobs.
    pub(crate) fn on_node_left(&mut self, name: &str, why: &str, context: &mut Context<'_, Self>) {
        for job in self.jobs.homes.keys().cloned().collect::<Vec<_>>() {
            self.input(&job, Input::NodeLeft(name.into(), why.into()), context);
        }
        self.jobs.found.retain(|_, home| home != name);
        let hosts = self.jobs.hosts.iter().filter(|(_, host)| host.start.home == name);
        for job in hosts.map(|(job, _)| job.clone()).collect::<Vec<_>>() {
            self.orphan(&job, &format!("{name}, from which the job was started, has left: {why}"), context);
        }
    }

    /// Ends all hosts of this daemon; the daemon waits for the future, within its patience, before it ends.
    pub(crate) fn end_hosts(&mut self, why: &str) -> impl Future<Output = ()> + 'static {
        self.jobs.leaving = true;
        let mut ends = Vec::new();
        for host in self.jobs.hosts.values_mut() {
            host.end(why, false);
            ends.push((host.process.pid(), host.process.ended(), host.gone.subscribe()));
        }
        async move {
            let all = async |ends: &mut Vec<Ending>| {
                for (_, _, gone) in ends {
                    // Nothing is ever sent: it ends when its end has been told at home.
                    let _ = gone.changed().await;
                }
            };
            if timeout(LEAVE, all(&mut ends)).await.is_err() {
                for (pid, ended, _) in &ends {
                    if let Some(pid) = pid.filter(|_| ended.borrow().is_none()) {
                        host_process::kill_group(pid);
                    }
                }
                let _ = timeout(KILL, all(&mut ends)).await;
            }
        }
    }

    /// The node actor of `name`, this one's own included.
    fn reach(&self, name: &str, context: &Context<'_, Self>) -> Option<ActorRef<Self>> {
        if name == self.me.name { Some(context.me()) } else { self.node(name) }
    }
}
