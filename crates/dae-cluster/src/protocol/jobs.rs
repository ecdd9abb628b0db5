//! What a client asks of its daemon about jobs, and what daemons say to each other about them.

use super::Work;
use super::hosts::{ActorLine, Assignment, Enlist, Outcome, Progress};
use dae_actor::{Message, Reply};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What a job needs of the cluster.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Demand {
    /// Hosts, each on a node of its own.
    pub nodes: u32,
    /// Workers in each host.
    pub workers_per_node: u32,
    /// Threads of each worker.
    pub threads_per_worker: u32,
    /// The only nodes that will do; empty means any.
    pub only: Vec<String>,
}

/// Client to daemon: run this. The daemon becomes the job's home.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunJob {
    /// Its name; the job's id begins with it.
    pub name: String,
    /// What its hosts do.
    pub work: Work,
    /// What it needs.
    pub demand: Demand,
    /// The absolute path of the host program, the same on every node.
    pub host: PathBuf,
    /// The absolute path of the run's folder.
    pub run_dir: Option<PathBuf>,
    /// Whether to go on from the newest checkpoint there.
    pub resume: bool,
    /// The folder the hosts start in, for relative paths in the topology; a node that lacks it starts them in `/`.
    pub cwd: PathBuf,
    /// How long hosts that were asked to stop may take to save, before they are killed.
    pub grace_ms: u64,
}

impl Message for RunJob {
    type Reply = Reply<RunAnswer>;
}

/// What comes of [`RunJob`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum RunAnswer {
    /// It was placed, and its hosts are being started.
    Placed {
        /// The job's id.
        job: String,
        /// The nodes it runs on, in the order of their ranks.
        nodes: Vec<String>,
    },
    /// It cannot be placed.
    Refused {
        /// Why, with the arithmetic.
        why: String,
    },
}

/// Client to daemon: what is new of a job. Answered when there is something, or after a second.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Follow {
    /// The job.
    pub job: String,
    /// The number of the last line seen; 0 from the start.
    pub after: u64,
    /// Answer at once, whether there is news or not.
    pub now: bool,
}

impl Message for Follow {
    type Reply = Reply<News>;
}

/// Why nothing can be said or done about a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Missing {
    /// No node knows such a job.
    Unknown {
        /// Whom to ask.
        why: String,
    },
    /// Its home cannot be reached, or may be a node that cannot.
    Unreachable {
        /// Why.
        why: String,
    },
}

/// What is new of a job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum News {
    /// This.
    Of(Box<JobNews>),
    /// There is none.
    Missing(Missing),
}

/// What is new of a job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JobNews {
    /// Lines after the one asked for, oldest first; no more than an answer holds.
    pub lines: Vec<LogLine>,
    /// How many lines after the one asked for are lost, since only the latest are kept.
    pub missed: u64,
    /// The number to ask with next.
    pub next: u64,
    /// Whether there are more lines by now.
    pub more: bool,
    /// The job as it stands.
    pub job: JobRow,
}

/// A line that hosts of a job wrote.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogLine {
    /// Its number in the job's log, from 1.
    pub number: u64,
    /// The nodes whose hosts wrote it.
    pub nodes: Vec<String>,
    /// The line.
    pub text: String,
}

/// A job at a glance.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JobRow {
    /// Its id.
    pub job: String,
    /// The node it was started from, which keeps its log.
    pub home: String,
    /// The nodes it runs on, in the order of their ranks.
    pub nodes: Vec<String>,
    /// Where it is.
    pub state: JobState,
    /// How far it is.
    pub progress: Option<Progress>,
    /// The run's folder, on `home`.
    pub run_dir: Option<PathBuf>,
    /// How long ago it was started.
    pub age_ms: u64,
}

/// Where a job is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum JobState {
    /// Its hosts are being started.
    Starting,
    /// It trains.
    Running,
    /// Its hosts were asked to stop.
    Stopping {
        /// Why.
        why: String,
    },
    /// It is over, and nothing of it is left.
    Ended(Outcome),
}

/// Client to daemon: end a job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StopJob {
    /// The job.
    pub job: String,
    /// Why, for its log.
    pub why: String,
    /// Kill the hosts, saving nothing.
    pub now: bool,
}

impl Message for StopJob {
    type Reply = Reply<StopAnswer>;
}

/// What comes of [`StopJob`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum StopAnswer {
    /// Its hosts are asked to stop.
    Stopping,
    /// It had ended before.
    Over,
    /// There is none.
    Missing(Missing),
}

/// The jobs, as this daemon's home (`everywhere: false`) or of the whole cluster.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListJobs {
    /// Ask every daemon.
    pub everywhere: bool,
}

impl Message for ListJobs {
    type Reply = Reply<JobRows>;
}

/// Jobs at a glance.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JobRows {
    /// The jobs, the latest last.
    pub jobs: Vec<JobRow>,
    /// Nodes that did not answer, each with why.
    pub silent: Vec<String>,
}

/// The actors of this daemon and its hosts (`everywhere: false`), or of the whole cluster.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ActorsOf {
    /// Ask every daemon.
    pub everywhere: bool,
}

impl Message for ActorsOf {
    type Reply = Reply<ActorRows>;
}

/// Actors at a glance.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ActorRows {
    /// The actors by process; they travel beside the message.
    #[serde(skip)]
    pub processes: Vec<ProcessActors>,
    /// Nodes and hosts that did not answer, each with why.
    pub silent: Vec<String>,
}

/// The actors of one process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProcessActors {
    /// The node it runs on.
    pub node: String,
    /// The job, for a host; the daemon has none.
    pub job: Option<String>,
    /// Its process.
    pub pid: u32,
    /// Its actors.
    pub actors: Vec<ActorLine>,
}

/// Home to daemon: start a host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StartHost {
    /// The job.
    pub job: String,
    /// The name of the job's home, which is told how the host fares.
    pub home: String,
    /// Which host of the job it is.
    pub index: u32,
    /// The token the host will prove its start with.
    pub token: String,
    /// The absolute path of its program.
    pub program: PathBuf,
    /// The folder it starts in.
    pub cwd: PathBuf,
    /// The threads it computes with: the cores it takes.
    pub threads: u32,
}

impl Message for StartHost {
    type Reply = Reply<StartAnswer>;
}

/// What comes of [`StartHost`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum StartAnswer {
    /// It runs.
    Started {
        /// Its process.
        pid: u32,
    },
    /// It does not.
    Refused {
        /// Why.
        why: String,
    },
}

/// Daemon to home: how a host fares. The next is sent when this one is answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostNews {
    /// The job.
    pub job: String,
    /// Which host.
    pub index: u32,
    /// Which news of this host it is, from 1: one that was sent twice counts once.
    pub batch: u64,
    /// What it wrote since, oldest first.
    pub lines: Vec<String>,
    /// How many lines it wrote that were dropped, since nobody took them in time.
    pub dropped: u64,
    /// It is ready.
    pub enlisted: Option<Enlist>,
    /// How far it is.
    pub progress: Option<Progress>,
    /// How it says its part ended.
    pub outcome: Option<Outcome>,
    /// Its process has ended, so.
    pub exited: Option<String>,
}

impl Message for HostNews {
    type Reply = NewsAnswer;
}

/// What comes of [`HostNews`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum NewsAnswer {
    /// It was taken.
    Taken,
    /// There is no such job any more: end the host.
    Unknown,
}

/// Home to daemon: the host may begin.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Assign {
    /// The job.
    pub job: String,
    /// The part of this daemon's host in it.
    pub assignment: Assignment,
}

impl Message for Assign {
    type Reply = ();
}

/// Home to daemon: end the host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EndHost {
    /// The job.
    pub job: String,
    /// Why, for the host's log.
    pub why: String,
    /// Kill it, instead of asking.
    pub kill: bool,
}

impl Message for EndHost {
    type Reply = ();
}
